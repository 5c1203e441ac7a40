// What the runtime library has to do, one case a run: runtime CASE. Prints what it found; exit code 0 if it was right.
#include <hip/hip_runtime.h>
#include <hip/hiprtc.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call)                                                        \
  do {                                                                     \
    hipError_t status = (call);                                            \
    if (status != hipSuccess) {                                            \
      printf("%s: %s\n", #call, hipGetErrorName(status));                  \
      return 1;                                                            \
    }                                                                      \
  } while (0)
#define EXPECT(condition)                           \
  do {                                              \
    if (!(condition)) {                             \
      printf("line %d: %s\n", __LINE__, #condition); \
      return 1;                                     \
    }                                               \
  } while (0)

#ifndef __managed__  // in the headers since ROCm 5.5
#define __managed__ __attribute__((managed))
#endif

constexpr int N = 1000;
__constant__ float factor;
__device__ unsigned counter;
__device__ int table[64];
__managed__ int managed_value = 41;

__global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = factor * x[i];
    atomicAdd(&counter, 1u);
  }
}
__global__ void sum(const double* x, double* out, int n) {
  extern __shared__ double part[];
  double s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[i];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int w = blockDim.x / 2; w >= 64; w /= 2) {
    if (threadIdx.x < w) part[threadIdx.x] += part[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x < 64) {
    s = part[threadIdx.x];
    for (int w = 32; w; w /= 2) s += __shfl_down(s, w);
    if (!threadIdx.x) *out = s;
  }
}
__global__ void add_one(int* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
__global__ void iterate(float* x, int n) {
  float* mine = x + blockIdx.x * blockDim.x + threadIdx.x;
  float v = *mine;
  for (int i = 0; i < n; i++) v += 1;
  *mine = v;
}
__global__ void bump_managed() { managed_value++; }
__global__ void read_table(int* out) { out[threadIdx.x] = table[threadIdx.x]; }
__global__ void store(int* p) { p[threadIdx.x] = 7; }
__global__ void spin(const volatile int* p) {
  while (!*p) __builtin_amdgcn_s_sleep(1);
}
__global__ void greet(int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) printf("lane %d of %s: %.2f\n", i, "kernel", i * 0.5);
}
__global__ void insist(const int* x) { assert(x[threadIdx.x] == 0); }
extern "C" __global__ void __launch_bounds__(256) by_name(int* x, short a, double b) { x[threadIdx.x] = a + int(b); }

static int basic() {
  float *x, *y, host[N];
  for (int i = 0; i < N; i++) host[i] = i;
  CHECK(hipMalloc((void**)&x, sizeof host));
  CHECK(hipMalloc((void**)&y, sizeof host));
  CHECK(hipMemcpy(x, host, sizeof host, hipMemcpyHostToDevice));
  float two = 2;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factor), &two, sizeof two));
  scale<<<(N + 255) / 256, 256>>>(x, y, N);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(host, y, sizeof host, hipMemcpyDeviceToHost));
  for (int i = 0; i < N; i++) EXPECT(host[i] == 2 * i);
  unsigned counted = 0;
  CHECK(hipMemcpyFromSymbol(&counted, HIP_SYMBOL(counter), sizeof counted));
  EXPECT(counted == N);
  double *d, *out, pinned_sum = 0;
  CHECK(hipHostMalloc((void**)&d, N * sizeof *d, 0));
  CHECK(hipHostMalloc((void**)&out, sizeof *out, 0));
  for (int i = 0; i < N; i++) pinned_sum += d[i] = i * 0.5;
  sum<<<1, 256, 256 * sizeof(double)>>>(d, out, N);
  CHECK(hipDeviceSynchronize());
  EXPECT(*out == pinned_sum);
  hipPointerAttribute_t a, b;
  CHECK(hipPointerGetAttributes(&a, x + 3));
  CHECK(hipPointerGetAttributes(&b, d));
  EXPECT(a.devicePointer == x + 3 && b.hostPointer == d);
#if HIP_VERSION_MAJOR >= 6
  EXPECT(a.type == hipMemoryTypeDevice && b.type == hipMemoryTypeHost);
#else
  EXPECT(a.memoryType == hipMemoryTypeDevice && b.memoryType == hipMemoryTypeHost);
#endif
  CHECK(hipFree(x));
  CHECK(hipFree(y));
  CHECK(hipHostFree(d));
  EXPECT(hipFree(y) == hipErrorInvalidValue);
  EXPECT(hipGetLastError() == hipErrorInvalidValue && hipGetLastError() == hipSuccess);
  printf("sum %.1f\n", pinned_sum);
  return 0;
}

static int device() {
  hipDeviceProp_t p;
  int count = 0, cus = 0, warp = 0, clock = 0, dim = 0;
  CHECK(hipGetDeviceCount(&count));
  CHECK(hipGetDeviceProperties(&p, 0));
  CHECK(hipDeviceGetAttribute(&cus, hipDeviceAttributeMultiprocessorCount, 0));
  CHECK(hipDeviceGetAttribute(&warp, hipDeviceAttributeWarpSize, 0));
  CHECK(hipDeviceGetAttribute(&clock, hipDeviceAttributeClockRate, 0));
  CHECK(hipDeviceGetAttribute(&dim, hipDeviceAttributeMaxGridDimZ, 0));
  EXPECT(count == 1 && cus == p.multiProcessorCount && warp == p.warpSize && clock == p.clockRate && dim == p.maxGridSize[2]);
#ifdef GFX9
  EXPECT(!strncmp(p.gcnArchName, "gfx90", 5) && p.major == 9 && p.maxThreadsPerBlock == 1024);
#else
  EXPECT(!strcmp(p.gcnArchName, "gfx803") && p.major == 8 && p.maxThreadsPerBlock == 1024);
#endif
  EXPECT(hipSetDevice(1) == hipErrorInvalidDevice);
  size_t heap = 0, total = 0;
  CHECK(hipDeviceGetLimit(&heap, hipLimitMallocHeapSize));
  CHECK(hipDeviceTotalMem(&total, 0));
  EXPECT(heap == total && total == p.totalGlobalMem);
  printf("%s, %s, %d CUs, %d MHz, %zu MiB, %d KiB of L2, %.0f GB/s\n", p.name, p.gcnArchName, p.multiProcessorCount,
         p.clockRate / 1000, p.totalGlobalMem >> 20, p.l2CacheSize >> 10, 2e3 * p.memoryClockRate * p.memoryBusWidth / 8e9);
  return 0;
}

static int streams() {
  const size_t n = 64 << 10;
  int *a, *b, *host;
  hipStream_t s, t;
  hipEvent_t start, kernels, copied, both;
  CHECK(hipMalloc((void**)&a, n * 4));
  CHECK(hipMalloc((void**)&b, n * 4));
  CHECK(hipHostMalloc((void**)&host, n * 4, 0));
  CHECK(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
  CHECK(hipStreamCreateWithFlags(&t, hipStreamNonBlocking));
  for (hipEvent_t* e : {&start, &kernels, &copied, &both}) CHECK(hipEventCreate(e));
  CHECK(hipMemset(a, 0, n * 4));
  CHECK(hipDeviceSynchronize());
  CHECK(hipEventRecord(start, s));
  for (int i = 0; i < 4; i++) add_one<<<n / 256, 256, 0, s>>>(a);
  CHECK(hipEventRecord(kernels, s));
  CHECK(hipMemcpyAsync(b, host, n * 4, hipMemcpyHostToDevice, t));
  CHECK(hipEventRecord(copied, t));
  CHECK(hipStreamWaitEvent(t, kernels, 0));
  add_one<<<n / 256, 256, 0, t>>>(a);
  CHECK(hipEventRecord(both, t));
  CHECK(hipEventSynchronize(both));
  float k, c, all;
  CHECK(hipEventElapsedTime(&k, start, kernels));
  CHECK(hipEventElapsedTime(&c, start, copied));
  CHECK(hipEventElapsedTime(&all, start, both));
  CHECK(hipMemcpy(host, a, n * 4, hipMemcpyDeviceToHost));
  for (size_t i = 0; i < n; i++) EXPECT(host[i] == 5);
  printf("kernels %.4f ms, copy beside them %.4f ms, all %.4f ms\n", k, c, all);
  EXPECT(all > k && all < k + c);
  CHECK(hipStreamDestroy(s));
  return 0;
}

// A grid of `blocks` workgroups whose every result is looked at.
static int grid(int blocks) {
  float* x;
  CHECK(hipMalloc((void**)&x, blocks * 1024));
  for (int i = 0; i < 2; i++) iterate<<<blocks, 256>>>(x, 150);
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < blocks * 256; i++) EXPECT(x[i] == 300);
  return 0;
}

// The host writes between launches that add to what is there.
static int rewrite() {
  int *x, host[64];
  CHECK(hipMalloc((void**)&x, 256));
  CHECK(hipMemset(x, 0, 256));
  add_one<<<1, 64>>>(x);
  CHECK(hipDeviceSynchronize());
  x[5] = 100;
  add_one<<<1, 64>>>(x);
  CHECK(hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost));
  EXPECT(host[4] == 2 && host[5] == 101);
  CHECK(hipFree(x));
  return 0;
}

// Kernels of one workgroup each, one after another in one stream and beside one another in four.
static int overlap() {
  constexpr int STREAMS = 4;
  hipStream_t s[STREAMS];
  hipEvent_t start, one, last[STREAMS];
  float *x, serial, all, at;
  CHECK(hipMalloc((void**)&x, STREAMS * 256));
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&one));
  for (int i = 0; i < STREAMS; i++) {
    CHECK(hipStreamCreateWithFlags(&s[i], hipStreamNonBlocking));
    CHECK(hipEventCreate(&last[i]));
  }
  CHECK(hipEventRecord(start, s[0]));
  for (int i = 0; i < STREAMS; i++) iterate<<<1, 64, 0, s[0]>>>(x + 64 * i, 2000);
  CHECK(hipEventRecord(one, s[0]));
  CHECK(hipEventElapsedTime(&serial, start, one));
  CHECK(hipEventRecord(start, s[0]));
  for (int i = 0; i < STREAMS; i++) {
    iterate<<<1, 64, 0, s[i]>>>(x + 64 * i, 2000);
    CHECK(hipEventRecord(last[i], s[i]));
  }
  all = 0;
  for (int i = 0; i < STREAMS; i++) {
    CHECK(hipEventElapsedTime(&at, start, last[i]));
    all = at > all ? at : all;
  }
  for (int i = 0; i < STREAMS * 64; i++) EXPECT(x[i] == 4000);
  printf("serial %.4f ms, overlapped %.4f ms\n", serial, all);
  // an asynchronous copy is not waited for, nor does it wait for another stream's kernels
  int *b, *host;
  CHECK(hipMalloc((void**)&b, 4096));
  CHECK(hipHostMalloc((void**)&host, 4096, 0));
  CHECK(hipDeviceSynchronize());
  CHECK(hipEventRecord(start, s[0]));
  iterate<<<1, 64, 0, s[0]>>>(x, 20000);
  CHECK(hipEventRecord(one, s[0]));
  CHECK(hipMemcpyAsync(b, host, 4096, hipMemcpyHostToDevice, s[1]));
  CHECK(hipEventRecord(last[1], s[1]));
  CHECK(hipEventElapsedTime(&at, start, last[1]));
  CHECK(hipEventElapsedTime(&serial, start, one));
  printf("kernel %.4f ms, copy beside it %.4f ms\n", serial, at);
  EXPECT(at < serial);
  return 0;
}

static int memory() {
  int *m, host[4][8] = {}, back[4][8] = {};
  CHECK(hipMallocManaged((void**)&m, 256 * 4, hipMemAttachGlobal));
  for (int i = 0; i < 256; i++) m[i] = i;
  add_one<<<1, 256>>>(m);
  CHECK(hipDeviceSynchronize());
  for (int i = 0; i < 256; i++) EXPECT(m[i] == i + 1);
  EXPECT(managed_value == 41);
  bump_managed<<<1, 1>>>();
  CHECK(hipDeviceSynchronize());
  EXPECT(managed_value == 42);
  void* address;
  size_t size, base_size;
  CHECK(hipGetSymbolAddress(&address, HIP_SYMBOL(table)));
  CHECK(hipGetSymbolSize(&size, HIP_SYMBOL(table)));
  EXPECT(size == sizeof table);
  CHECK(hipMemsetD32((hipDeviceptr_t)address, 5, 64));
  read_table<<<1, 64>>>(m);
  CHECK(hipDeviceSynchronize());
  EXPECT(m[0] == 5 && m[63] == 5 && m[64] == 65);
  int* pitched;
  size_t pitch;
  CHECK(hipMallocPitch((void**)&pitched, &pitch, 8 * 4, 4));
  for (int i = 0; i < 32; i++) host[i / 8][i % 8] = i;
  CHECK(hipMemcpy2D(pitched, pitch, host, 32, 32, 4, hipMemcpyHostToDevice));
  CHECK(hipMemcpy2D(back, 32, pitched, pitch, 32, 4, hipMemcpyDeviceToHost));
  EXPECT(!memcmp(host, back, sizeof host));
  hipDeviceptr_t base;
  CHECK(hipMemGetAddressRange(&base, &base_size, (hipDeviceptr_t)(m + 9)));
  EXPECT(base == m && base_size == 1024);
  size_t available, total;
  CHECK(hipMemGetInfo(&available, &total));
  void *huge = nullptr, *pool;
  EXPECT(hipMalloc(&huge, total + 1) == hipErrorOutOfMemory && !huge);
  hipMemPool_t held;
  CHECK(hipDeviceGetDefaultMemPool(&held, 0));
  CHECK(hipMallocAsync(&pool, 1 << 20, 0));
  CHECK(hipFreeAsync(pool, 0));
  // what is given back is zeroed, and given to the next
  void *first, *second;
  CHECK(hipMalloc(&first, 1 << 20));
  memset(first, 1, 1 << 20);
  CHECK(hipFree(first));
  CHECK(hipMalloc(&second, 1 << 20));
  EXPECT(first == second && !*(int*)second && !((char*)second)[(1 << 20) - 1]);
  printf("%zu bytes in all\n", total);
  return 0;
}

static int occupancy() {
  int blocks, grid, block, most;
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void*)by_name, 256, 0));
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&most, (const void*)by_name, 256, 32 << 10));
  CHECK(hipOccupancyMaxPotentialBlockSize(&grid, &block, (const void*)by_name, 0, 0));
  hipFuncAttributes a;
  CHECK(hipFuncGetAttributes(&a, (const void*)by_name));
  printf("%d blocks of 256 a CU, %d with 32 KiB of LDS; best %d x %d; at most %d threads\n", blocks, most, grid, block, a.maxThreadsPerBlock);
  EXPECT(blocks == 10 && most == 2 && a.maxThreadsPerBlock == 256);
  void* args[1];
  EXPECT(hipLaunchKernel((const void*)store, dim3(1), dim3(2048), args, 0, 0) == hipErrorInvalidConfiguration);
  EXPECT(hipLaunchKernel((const void*)store, dim3(0), dim3(64), args, 0, 0) == hipErrorInvalidConfiguration);
  int* x;
  CHECK(hipMalloc((void**)&x, 4096));
  args[0] = &x;
  CHECK(hipLaunchCooperativeKernel((const void*)store, dim3(1), dim3(64), args, 0, 0));
  EXPECT(hipLaunchCooperativeKernel((const void*)store, dim3(1 << 20), dim3(64), args, 0, 0) == hipErrorCooperativeLaunchTooLarge);
  CHECK(hipDeviceSynchronize());
  return 0;
}

static int module(const char* path) {
  hipModule_t m;
  hipFunction_t f;
  int *x, host[64];
  CHECK(hipModuleLoad(&m, path));
  CHECK(hipModuleGetFunction(&f, m, "by_name"));
  CHECK(hipMalloc((void**)&x, sizeof host));
  short a = 3;
  double b = 4.5;
  void* params[] = {&x, &a, &b};
  CHECK(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, 0, params, nullptr));
  CHECK(hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost));
  EXPECT(host[63] == 7);
  struct {
    int* x;
    short a;
    double b;
  } block{x, 10, 20};
  size_t size = sizeof block;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &block, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  CHECK(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, 0, nullptr, extra));
  CHECK(hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost));
  EXPECT(host[63] == 30);
  hipDeviceptr_t global;
  CHECK(hipModuleGetGlobal(&global, &size, m, "counter"));
  EXPECT(size == 4);
  CHECK(hipMemsetD32(global, 9, 1));
  EXPECT(hipModuleGetFunction(&f, m, "no_such_kernel") == hipErrorNotFound);
  CHECK(hipModuleUnload(m));
  CHECK(hipModuleLoad(&m, path));  // begins anew
  CHECK(hipModuleGetGlobal(&global, &size, m, "counter"));
  int value = -1;
  CHECK(hipMemcpy(&value, (void*)global, 4, hipMemcpyDeviceToHost));
  EXPECT(value == 0);
  return 0;
}

static int fault() {
  int* x;
  CHECK(hipMalloc((void**)&x, 64));
  store<<<1, 64>>>(x);  // 256 bytes
  hipError_t status = hipDeviceSynchronize();
  printf("%s\n", hipGetErrorName(status));
  EXPECT(status == hipErrorLaunchFailure);
  EXPECT(hipDeviceSynchronize() == hipErrorLaunchFailure);
  int host;
  EXPECT(hipMemcpy(&host, x, 4, hipMemcpyDeviceToHost) == hipErrorLaunchFailure);
  return 3;
}

static int forked() {
  int *x, status;
  CHECK(hipMalloc((void**)&x, 256));
  pid_t child = fork();
  if (!child) _exit(hipMalloc((void**)&x, 256) == hipErrorNoDevice ? 0 : 1);
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && !WEXITSTATUS(status));
  child = fork();
  if (!child) {
    execl("/proc/self/exe", "runtime", "device", (char*)nullptr);
    _exit(9);
  }
  waitpid(child, &status, 0);
  EXPECT(WIFEXITED(status) && !WEXITSTATUS(status));
  store<<<1, 64>>>(x);
  CHECK(hipDeviceSynchronize());
  return 0;
}

static void add_ten(void* x) { *(int*)x += 10; }

// What two streams are given, captured, then launched twice.
static int captured() {
  hipStream_t s, t;
  hipEvent_t fork, join;
  hipGraph_t graph;
  hipGraphExec_t launched;
  int *x, *y, *from, host = 0;
  CHECK(hipMalloc((void**)&x, 256));
  CHECK(hipMalloc((void**)&y, 256));
  CHECK(hipHostMalloc((void**)&from, 256, 0));
  for (int i = 0; i < 64; i++) from[i] = 40;
  CHECK(hipStreamCreate(&s));
  CHECK(hipStreamCreate(&t));
  CHECK(hipEventCreate(&fork));
  CHECK(hipEventCreate(&join));
  EXPECT(hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal) == hipErrorStreamCaptureUnsupported);
  CHECK(hipStreamBeginCapture(s, hipStreamCaptureModeRelaxed));
  hipStreamCaptureStatus phase;
  CHECK(hipStreamIsCapturing(s, &phase));
  EXPECT(phase == hipStreamCaptureStatusActive);
  EXPECT(hipStreamSynchronize(s) == hipErrorStreamCaptureUnsupported);
  CHECK(hipMemcpyAsync(x, from, 256, hipMemcpyHostToDevice, s));
  add_one<<<1, 64, 0, s>>>(x);
  CHECK(hipEventRecord(fork, s));
  CHECK(hipStreamWaitEvent(t, fork, 0));
  CHECK(hipMemcpyAsync(y, x, 256, hipMemcpyDeviceToDevice, t));
  add_one<<<1, 64, 0, t>>>(y);
  CHECK(hipEventRecord(join, t));
  CHECK(hipStreamWaitEvent(s, join, 0));
  CHECK(hipLaunchHostFunc(s, add_ten, &host));
  EXPECT(hipStreamEndCapture(t, &graph) == hipErrorStreamCaptureUnmatched);
  CHECK(hipStreamEndCapture(s, &graph));
  CHECK(hipStreamIsCapturing(t, &phase));
  EXPECT(phase == hipStreamCaptureStatusNone);
  CHECK(hipDeviceSynchronize());
  EXPECT(x[0] == 0 && !host);  // nothing is done yet
  size_t nodes = 0;
  CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 5);
  CHECK(hipGraphInstantiate(&launched, graph, nullptr, nullptr, 0));
  CHECK(hipGraphDestroy(graph));
  for (int i = 1; i <= 2; i++) {
    from[0] = 40 + i;
    CHECK(hipGraphLaunch(launched, s));
    CHECK(hipStreamSynchronize(s));
    EXPECT(x[0] == 41 + i && y[0] == 42 + i && x[63] == 41 && y[63] == 42 && host == 10 * i);
  }
  CHECK(hipGraphExecDestroy(launched));
  return 0;
}

// A graph made node by node, in another order than it has to run.
static int graph() {
  hipGraph_t made;
  hipGraphExec_t launched;
  hipGraphNode_t add, set, read;
  int *x, *y, host[64] = {};
  CHECK(hipMalloc((void**)&x, 256));
  CHECK(hipMalloc((void**)&y, 256));
  CHECK(hipGraphCreate(&made, 0));
  hipKernelNodeParams kernel{};
  void* arguments[] = {&x};
  kernel.func = (void*)add_one, kernel.gridDim = dim3(1), kernel.blockDim = dim3(64), kernel.kernelParams = arguments;
  CHECK(hipGraphAddKernelNode(&add, made, nullptr, 0, &kernel));
  hipMemsetParams fill{};
  fill.dst = x, fill.elementSize = 4, fill.value = 7, fill.width = 64, fill.height = 1;
  CHECK(hipGraphAddMemsetNode(&set, made, nullptr, 0, &fill));
  CHECK(hipGraphAddMemcpyNode1D(&read, made, &add, 1, host, x, sizeof host, hipMemcpyDeviceToHost));
  CHECK(hipGraphAddDependencies(made, &set, &add, 1));
  hipGraphNode_t roots[2];
  size_t count = 2;
  CHECK(hipGraphGetRootNodes(made, roots, &count));
  EXPECT(count == 1 && roots[0] == set);
  hipGraphNodeType type;
  CHECK(hipGraphNodeGetType(read, &type));
  EXPECT(int(type) == 1);  // a copy; headers before ROCm 5.5 number them otherwise
  CHECK(hipGraphInstantiate(&launched, made, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(launched, 0));
  CHECK(hipDeviceSynchronize());
  EXPECT(host[0] == 8 && host[63] == 8);
  arguments[0] = &y;  // the executable graph alone
  CHECK(hipGraphExecKernelNodeSetParams(launched, add, &kernel));
  CHECK(hipGraphLaunch(launched, 0));
  CHECK(hipDeviceSynchronize());
  EXPECT(host[0] == 7 && y[63] == 1);
  CHECK(hipGraphExecDestroy(launched));
  CHECK(hipGraphAddDependencies(made, &read, &set, 1));
  EXPECT(hipGraphInstantiate(&launched, made, nullptr, nullptr, 0) == hipErrorInvalidValue);  // a cycle
  CHECK(hipGraphDestroy(made));
  return 0;
}

static int unsupported() {
  hipIpcMemHandle_t handle;
  EXPECT(hipIpcGetMemHandle(&handle, nullptr) == hipErrorNotSupported);
  EXPECT(hipIpcGetMemHandle(&handle, nullptr) == hipErrorNotSupported);
  EXPECT(hipGetLastError() == hipErrorNotSupported);
  printf("%s\n", hipGetErrorString(hipErrorNotSupported));
  return 0;
}

static int compile() {
  const char* source = "#include \"more.h\"\ntemplate <typename T> __global__ void twice(T* x) { x[threadIdx.x] *= MORE; }\n";
  const char *header = "#define MORE 2\n", *header_name = "more.h", *options[] = {"--std=c++14", "--gpu-architecture=gfx803"};
  hiprtcProgram program;
  EXPECT(!hiprtcCreateProgram(&program, source, "twice.hip", 1, &header, &header_name));
  EXPECT(!hiprtcAddNameExpression(program, "twice<int>"));
  hiprtcResult result = hiprtcCompileProgram(program, 2, options);
  size_t size;
  EXPECT(!hiprtcGetProgramLogSize(program, &size));
  char* log = (char*)malloc(size);
  EXPECT(!hiprtcGetProgramLog(program, log));
  printf("%s", log);
  EXPECT(result == HIPRTC_SUCCESS);
  const char* name;
  EXPECT(!hiprtcGetLoweredName(program, "twice<int>", &name));
  EXPECT(!hiprtcGetCodeSize(program, &size));
  char* code = (char*)malloc(size);
  EXPECT(!hiprtcGetCode(program, code));
  hipModule_t m;
  hipFunction_t f;
  int *x, host[64];
  CHECK(hipModuleLoadData(&m, code));
  CHECK(hipModuleGetFunction(&f, m, name));
  CHECK(hipMalloc((void**)&x, sizeof host));
  CHECK(hipMemsetD32((hipDeviceptr_t)x, 21, 64));
  void* params[] = {&x};
  CHECK(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, 0, params, nullptr));
  CHECK(hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost));
  EXPECT(host[0] == 42 && host[63] == 42);
  printf("%s\n", name);
  return 0;
}

static int many(int count) {
  int* x;
  CHECK(hipMalloc((void**)&x, 256));
  for (int i = 0; i < count; i++) add_one<<<1, 64>>>(x);
  int host[64];
  CHECK(hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost));
  EXPECT(host[0] == count && host[63] == count);
  return 0;
}

static int print() {
  printf("before\n");
  greet<<<2, 64>>>(66);
  CHECK(hipDeviceSynchronize());
  printf("after\n");
  return 0;
}

static int asserted() {
  int* x;
  CHECK(hipMalloc((void**)&x, 256));
  CHECK(hipMemset(x, 0, 256));
  insist<<<1, 64>>>(x);
  CHECK(hipDeviceSynchronize());
  x[3] = 1;
  insist<<<1, 64>>>(x);
  hipError_t status = hipDeviceSynchronize();
  printf("%s\n", hipGetErrorName(status));
  return status == hipErrorLaunchFailure ? 0 : 1;
}

static int endless() {
  int* x;
  CHECK(hipMalloc((void**)&x, 256));
  spin<<<1, 64>>>(x);
  printf("%s\n", hipGetErrorName(hipDeviceSynchronize()));
  return 0;
}

int main(int count, char** arguments) {
  const char* name = count > 1 ? arguments[1] : "";
  if (!strcmp(name, "basic")) return basic();
  if (!strcmp(name, "device")) return device();
  if (!strcmp(name, "streams")) return streams();
  if (!strcmp(name, "grid")) return grid(atoi(arguments[2]));
  if (!strcmp(name, "rewrite")) return rewrite();
  if (!strcmp(name, "overlap")) return overlap();
  if (!strcmp(name, "memory")) return memory();
  if (!strcmp(name, "occupancy")) return occupancy();
  if (!strcmp(name, "module")) return module(arguments[2]);
  if (!strcmp(name, "fault")) return fault();
  if (!strcmp(name, "fork")) return forked();
  if (!strcmp(name, "unsupported")) return unsupported();
  if (!strcmp(name, "captured")) return captured();
  if (!strcmp(name, "graph")) return graph();
  if (!strcmp(name, "compile")) return compile();
  if (!strcmp(name, "many")) return many(atoi(arguments[2]));
  if (!strcmp(name, "print")) return print();
  if (!strcmp(name, "assert")) return asserted();
  if (!strcmp(name, "endless")) return endless();
  printf("no case '%s'\n", name);
  return 9;
}
