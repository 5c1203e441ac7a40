// Textures and surfaces of every kind of memory: textures FILE writes what it sampled, and of what, as floats: parts of
// [what, numbers of x, numbers that follow], each after these three. Exit code 0 if every call was answered as it should.
#include <hip/hip_runtime.h>

#include <cstdio>
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

constexpr int W = 37, H = 21, D = 5, N = 512;

__global__ void sample_2d(float* out, hipTextureObject_t t, const float* x, const float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = tex2D<float>(t, x[i], y[i]);
}
__global__ void sample_3d(float* out, hipTextureObject_t t, const float* x, const float* y, const float* z) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = tex3D<float>(t, x[i], y[i], z[i]);
}
__global__ void sample_layer(float* out, hipTextureObject_t t, const float* x, const float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = tex2DLayered<float>(t, x[i], y[i], i % D);
}
__global__ void fetch(float4* out, hipTextureObject_t t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = tex1Dfetch<float4>(t, (i * 5) % N);
}
__global__ void move(hipSurfaceObject_t from, hipSurfaceObject_t to) {
  int x = threadIdx.x, y = blockIdx.x;
  float value = 0;
  surf2Dread(&value, from, x * int(sizeof(float)), y);
  surf2Dwrite(2 * value + y, to, x * int(sizeof(float)), y);
}

static FILE* file;
template <typename T>
static void put(float what, const T* values, size_t count) {
  float head[3] = {what, float(W), float(count)};
  fwrite(head, sizeof(float), 3, file);
  for (size_t i = 0; i < count; i++) {
    float one = float(values[i]);
    fwrite(&one, sizeof one, 1, file);
  }
}
template <typename T>
static T* on_device(const std::vector<T>& host) {
  T* p = nullptr;
  (void)hipMalloc(&p, host.size() * sizeof(T));
  (void)hipMemcpy(p, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice);
  return p;
}
template <typename T>
static std::vector<T> back(const T* p, size_t n) {
  std::vector<T> host(n);
  (void)hipMemcpy(host.data(), p, n * sizeof(T), hipMemcpyDeviceToHost);
  return host;
}

int main(int count, char** arguments) {
  file = count > 1 ? fopen(arguments[1], "wb") : nullptr;
  if (!file) return 2;
  std::vector<float> image(W * H), volume(W * H * D), x(N), y(N), z(N);
  std::vector<unsigned char> bytes(W * H);
  for (int i = 0; i < W * H * D; i++) volume[i] = (i * 37 % 101) / 7.0f - 5;
  for (int i = 0; i < W * H; i++) image[i] = volume[i], bytes[i] = i * 29;
  for (int i = 0; i < N; i++) x[i] = (i * 97 % N) / 200.0f - 0.8f, y[i] = (i * 61 % N) / 190.0f - 0.9f, z[i] = (i * 13 % N) / 300.0f;
  put(0, image.data(), image.size()), put(1, bytes.data(), bytes.size()), put(2, volume.data(), volume.size());
  put(3, x.data(), N), put(4, y.data(), N), put(5, z.data(), N);
  float *dx = on_device(x), *dy = on_device(y), *dz = on_device(z), *out = on_device(x);

  // 10: an array of floats, repeated, filtered
  hipChannelFormatDesc floats = hipCreateChannelDesc<float>();
  hipArray_t array, other;
  CHECK(hipMallocArray(&array, &floats, W, H, hipArraySurfaceLoadStore));
  CHECK(hipMemcpy2DToArray(array, 0, 0, image.data(), W * 4, W * 4, H, hipMemcpyHostToDevice));
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeArray, resource.res.array.array = array;
  hipTextureDesc texture{};
  texture.addressMode[0] = hipAddressModeWrap, texture.addressMode[1] = hipAddressModeMirror;
  texture.filterMode = hipFilterModeLinear, texture.normalizedCoords = 1;
  hipTextureObject_t object;
  CHECK(hipCreateTextureObject(&object, &resource, &texture, nullptr));
  sample_2d<<<N / 64, 64>>>(out, object, dx, dy);
  put(10, back(out, N).data(), N);
  hipTextureDesc told{};
  CHECK(hipGetTextureObjectTextureDesc(&told, object));
  EXPECT(told.filterMode == hipFilterModeLinear && told.normalizedCoords == 1);
  CHECK(hipDestroyTextureObject(object));

  // 11: bytes with a pitch as fractions of 255, by coordinates in texels
  unsigned char* pitched;
  size_t pitch;
  CHECK(hipMallocPitch(reinterpret_cast<void**>(&pitched), &pitch, W, H));
  CHECK(hipMemcpy2D(pitched, pitch, bytes.data(), W, W, H, hipMemcpyHostToDevice));
  std::vector<float> in_texels(N);
  for (int i = 0; i < N; i++) in_texels[i] = x[i] * W;
  float* dt = on_device(in_texels);
  put(6, in_texels.data(), N);
  resource = {};
  resource.resType = hipResourceTypePitch2D;
  resource.res.pitch2D = {pitched, hipCreateChannelDesc<unsigned char>(), W, H, pitch};
  texture = {};
  texture.addressMode[0] = texture.addressMode[1] = hipAddressModeClamp;
  texture.filterMode = hipFilterModeLinear, texture.readMode = hipReadModeNormalizedFloat;
  CHECK(hipCreateTextureObject(&object, &resource, &texture, nullptr));
  sample_2d<<<N / 64, 64>>>(out, object, dt, dt);
  put(11, back(out, N).data(), N);
  CHECK(hipDestroyTextureObject(object));
  resource.res.pitch2D.pitchInBytes = W;  // refused: not aligned
  EXPECT(hipCreateTextureObject(&object, &resource, &texture, nullptr) == hipErrorInvalidValue);
  resource.res.pitch2D.pitchInBytes = pitch, texture.readMode = hipReadModeElementType;  // refused: a filter of integers
  EXPECT(hipCreateTextureObject(&object, &resource, &texture, nullptr) == hipErrorInvalidValue);

  // 12: three dimensions; 13: layers. Nearest texels beyond the edge are zeros
  hipArray_t deep, layers;
  hipExtent extent{W, H, D};
  CHECK(hipMalloc3DArray(&deep, &floats, extent, 0));
  CHECK(hipMalloc3DArray(&layers, &floats, extent, hipArrayLayered));
  for (hipArray_t to : {deep, layers}) {
    hipMemcpy3DParms all{};
    all.srcPtr = {volume.data(), W * 4, W, H};
    all.dstArray = to, all.extent = extent, all.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&all));
  }
  resource = {};
  resource.resType = hipResourceTypeArray, resource.res.array.array = deep;
  texture = {};
  for (auto& mode : texture.addressMode) mode = hipAddressModeClamp;
  texture.filterMode = hipFilterModeLinear, texture.normalizedCoords = 1;
  CHECK(hipCreateTextureObject(&object, &resource, &texture, nullptr));
  sample_3d<<<N / 64, 64>>>(out, object, dx, dy, dz);
  put(12, back(out, N).data(), N);
  CHECK(hipDestroyTextureObject(object));
  resource.res.array.array = layers;
  for (auto& mode : texture.addressMode) mode = hipAddressModeBorder;
  texture.filterMode = hipFilterModePoint;
  CHECK(hipCreateTextureObject(&object, &resource, &texture, nullptr));
  sample_layer<<<N / 64, 64>>>(out, object, dx, dy);
  put(13, back(out, N).data(), N);
  CHECK(hipDestroyTextureObject(object));

  // 14: a linear texture of four floats
  float* four = on_device(volume);
  resource = {};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear = {four, hipCreateChannelDesc<float4>(), (N - 100) * sizeof(float4)};
  texture = {};
  CHECK(hipCreateTextureObject(&object, &resource, &texture, nullptr));
  float4* wide;
  CHECK(hipMalloc(reinterpret_cast<void**>(&wide), N * sizeof(float4)));
  fetch<<<N / 64, 64>>>(wide, object);
  put(14, back(reinterpret_cast<float*>(wide), 4 * N).data(), 4 * N);
  CHECK(hipDestroyTextureObject(object));

  // 15: surfaces, and what is read back of one
  CHECK(hipMallocArray(&other, &floats, W, H, hipArraySurfaceLoadStore));
  hipSurfaceObject_t from, to;
  resource = {};
  resource.resType = hipResourceTypeArray, resource.res.array.array = array;
  CHECK(hipCreateSurfaceObject(&from, &resource));
  resource.res.array.array = other;
  CHECK(hipCreateSurfaceObject(&to, &resource));
  move<<<H, 64>>>(from, to);  // lanes beyond the row read zeros and write nothing
  std::vector<float> rows(W * H);
  CHECK(hipMemcpy2DFromArray(rows.data(), W * 4, other, 0, 0, W * 4, H, hipMemcpyDeviceToHost));
  put(15, rows.data(), rows.size());
  CHECK(hipDestroySurfaceObject(from));
  CHECK(hipDestroySurfaceObject(to));
  CHECK(hipMemcpyFromArray(rows.data(), array, 8, 1, W * 4, hipMemcpyDeviceToHost));
  EXPECT(!memcmp(rows.data(), image.data() + W + 2, W * 4));
  EXPECT(hipMemcpy2DFromArray(rows.data(), W * 4, other, 4, 0, W * 4, H, hipMemcpyDeviceToHost) == hipErrorInvalidValue);
  hipChannelFormatDesc three = hipCreateChannelDesc(8, 8, 8, 0, hipChannelFormatKindUnsigned);
  EXPECT(hipMallocArray(&other, &three, W, H, 0) == hipErrorInvalidValue);
  CHECK(hipFreeArray(array));
  CHECK(hipFreeArray(deep));
  CHECK(hipFreeArray(layers));
  fclose(file);
  return 0;
}
