// What a program does at the edges of the runtime, one case a run: edges CASE. Prints what it found; exit code 0 if it
// was right. The kernels need what AMD's device library does for them: grid.sync(), malloc, calls through pointers.
#include <hip/hip_runtime.h>

#include <hip/hip_cooperative_groups.h>  // stands on the one above

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                       \
  do {                                                    \
    hipError_t status = (call);                           \
    if (status != hipSuccess) {                           \
      printf("%s: %s\n", #call, hipGetErrorName(status)); \
      return 1;                                           \
    }                                                     \
  } while (0)
#define EXPECT(condition)                            \
  do {                                               \
    if (!(condition)) {                              \
      printf("line %d: %s\n", __LINE__, #condition); \
      return 1;                                      \
    }                                                \
  } while (0)

__device__ int variable[10];

// every step reads what other workgroups wrote in the step before
__global__ void rotate(int* x, int* y, int steps, int absent) {
  auto grid = cooperative_groups::this_grid();
  int all = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  if (int(blockIdx.x) == absent) return;
  for (int s = 0; s < steps; s++) {
    y[i] = x[(i + 64 + s) % all] + 1;
    grid.sync();
    int* held = x;
    x = y, y = held;
  }
}
__device__ __attribute__((noinline)) int ackermann(int m, int n) {
  return m ? ackermann(m - 1, n ? ackermann(m, n - 1) : 1) : n + 1;
}
__global__ void recurse(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = ackermann(2, threadIdx.x % 4); }
__global__ void take(int** out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int* mine = static_cast<int*>(malloc(n * sizeof(int)));
  for (int k = 0; mine && k < n; k++) mine[k] = i * n + k;
  out[i] = mine;
}
__global__ void give_back(int** in, int n, int* wrong) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; k++)
    if (!in[i] || in[i][k] != i * n + k) atomicAdd(wrong, 1);
  free(in[i]);
}
__global__ void store(int* p, int first) { p[first + threadIdx.x] = 7; }
__global__ void wait_for(volatile int* flag) {
  while (!*flag) __builtin_amdgcn_s_sleep(1);
}
__global__ void shared(int* out) {
  extern __shared__ int part[];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = part[threadIdx.x ^ 1];
}

static int copies() {
  char *p, *q, host[4096] = {};
  CHECK(hipMalloc((void**)&p, 1000));
  CHECK(hipMalloc((void**)&q, 8192));
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipMemcpy(p, host, 1000, hipMemcpyHostToDevice));
  EXPECT(hipMemcpy(p, host, 1001, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  EXPECT(hipMemcpy(host, p + 1, 1000, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  EXPECT(hipMemcpyDtoD(q, p, 1001) == hipErrorInvalidValue);
  EXPECT(hipMemcpyHtoDAsync(p + 1000, host, 1, stream) == hipErrorInvalidValue);
  EXPECT(hipMemcpyAsync(p - 1, host, 1, hipMemcpyHostToDevice, stream) == hipErrorInvalidValue);
  CHECK(hipMemcpy2D(p, 100, host, 128, 100, 10, hipMemcpyHostToDevice));
  CHECK(hipMemcpy2D(p + 50, 100, host, 128, 50, 10, hipMemcpyHostToDevice));
  EXPECT(hipMemcpy2D(p + 51, 100, host, 128, 50, 10, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  EXPECT(hipMemcpy2DAsync(host, 128, p, 100, 100, 11, hipMemcpyDeviceToHost, stream) == hipErrorInvalidValue);
  CHECK(hipMemset(p, 1, 1000));
  EXPECT(hipMemset(p, 1, 1001) == hipErrorInvalidValue);
  EXPECT(hipMemsetAsync(p + 999, 1, 2, stream) == hipErrorInvalidValue);
  EXPECT(hipMemsetD32((hipDeviceptr_t)p, 1, 251) == hipErrorInvalidValue);
  EXPECT(hipMemset2D(p, 100, 1, 100, 11) == hipErrorInvalidValue);
  EXPECT(hipMemset(host, 1, 1) == hipErrorInvalidValue);
  int ints[11] = {};
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(variable), ints, 40));
  EXPECT(hipMemcpyToSymbol(HIP_SYMBOL(variable), ints, 40, 4) == hipErrorInvalidValue);
  void* at;
  CHECK(hipGetSymbolAddress(&at, HIP_SYMBOL(variable)));
  CHECK(hipMemcpy(at, ints, 40, hipMemcpyHostToDevice));
  EXPECT(hipMemcpy(at, ints, 44, hipMemcpyHostToDevice) == hipErrorInvalidValue);
  CHECK(hipMemcpy(host, p, 1000, hipMemcpyDeviceToHost));
  for (int i = 0; i < 1000; i++) EXPECT(host[i] == 1);
  CHECK(hipFree(p));
  EXPECT(hipMemcpy(host, p, 1, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  hipChannelFormatDesc format = hipCreateChannelDesc(32, 16, 8, 4, hipChannelFormatKindFloat);
  EXPECT(format.x == 32 && format.y == 16 && format.z == 8 && format.w == 4 && format.f == hipChannelFormatKindFloat);
  return 0;
}

static int launches() {
  int* out;
  CHECK(hipMalloc((void**)&out, 256));
  void* args[] = {&out};
  EXPECT(hipLaunchKernel((void*)shared, dim3(1), dim3(64), args, 1 << 20, nullptr) == hipErrorLaunchOutOfResources);
  EXPECT(hipGetLastError() == hipErrorLaunchOutOfResources);
  CHECK(hipLaunchKernel((void*)shared, dim3(1), dim3(64), args, 32 << 10, nullptr));
  CHECK(hipDeviceSynchronize());
  int host[64];
  CHECK(hipMemcpy(host, out, 256, hipMemcpyDeviceToHost));
  for (int i = 0; i < 64; i++) EXPECT(host[i] == (i ^ 1));
  return 0;
}

static int grid(int blocks, int absent) {
  int steps = 5, all = blocks * 256, *x, *y;
  CHECK(hipMalloc((void**)&x, all * sizeof(int)));
  CHECK(hipMalloc((void**)&y, all * sizeof(int)));
  std::vector<int> wanted(all), next(all);
  for (int i = 0; i < all; i++) wanted[i] = i * 7 % 1000;
  CHECK(hipMemcpy(x, wanted.data(), all * sizeof(int), hipMemcpyHostToDevice));
  void* args[] = {&x, &y, &steps, &absent};
  hipError_t status = hipLaunchCooperativeKernel((void*)rotate, dim3(blocks), dim3(256), args, 0, nullptr);
  if (!status) status = hipDeviceSynchronize();
  printf("%s\n", hipGetErrorName(status));
  if (status) return 0;
  for (int s = 0; s < steps; s++, wanted.swap(next))
    for (int i = 0; i < all; i++) next[i] = wanted[(i + 64 + s) % all] + 1;
  CHECK(hipMemcpy(next.data(), y, all * sizeof(int), hipMemcpyDeviceToHost));
  EXPECT(next == wanted);
  return 0;
}

static int deep() {
  int *out, host[64];
  CHECK(hipMalloc((void**)&out, sizeof host));
  for (int launch = 0; launch < 2; launch++) {
    recurse<<<1, 64>>>(out);
    CHECK(hipMemcpy(host, out, sizeof host, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) EXPECT(host[i] == 2 * (i % 4) + 3);
  }
  return 0;
}

static int heap() {
  constexpr int ITEMS = 128;
  int **out, *wrong;
  CHECK(hipMalloc((void**)&out, ITEMS * sizeof(int*)));
  CHECK(hipMalloc((void**)&wrong, sizeof(int)));
  CHECK(hipMemset(wrong, 0, sizeof(int)));
  for (int n : {3, 1000, 3}) {  // of the library's own heap, and more than it has blocks for
    take<<<2, ITEMS / 2>>>(out, n);
    give_back<<<2, ITEMS / 2>>>(out, n, wrong);
  }
  int found = -1;
  CHECK(hipMemcpy(&found, wrong, sizeof found, hipMemcpyDeviceToHost));
  EXPECT(found == 0);
  return 0;
}

// a store beyond the page of an allocation, within the driver's block, or beyond that too
static int beyond(int first) {
  int* p;
  CHECK(hipMalloc((void**)&p, 400));
  for (int i = 0; i < 3; i++) store<<<1, 64>>>(p, first);
  printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
  return 0;
}

static int waiting() {
  int* flag;
  CHECK(hipMalloc((void**)&flag, sizeof(int)));
  CHECK(hipMemset(flag, 0, sizeof(int)));
  wait_for<<<1, 64>>>(flag);
  printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
  return 0;
}

int main(int count, char** words) {
  const char* name = count > 1 ? words[1] : "";
  int first = count > 2 ? atoi(words[2]) : 0;
  if (!strcmp(name, "copies")) return copies();
  if (!strcmp(name, "launches")) return launches();
  if (!strcmp(name, "grid")) return grid(first, count > 3 ? atoi(words[3]) : -1);
  if (!strcmp(name, "deep")) return deep();
  if (!strcmp(name, "heap")) return heap();
  if (!strcmp(name, "beyond")) return beyond(first);
  if (!strcmp(name, "waiting")) return waiting();
  printf("no such case: %s\n", name);
  return 2;
}
