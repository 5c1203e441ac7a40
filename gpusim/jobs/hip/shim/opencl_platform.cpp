// OpenCL's platform, device and contexts, and what a loader (ICD) asks for. The device is the simulated GPU.
#include <cstdlib>

#include "opencl.h"

extern const void* const gpusim_opencl_functions[];  // generated from opencl.txt
extern const char* const gpusim_opencl_names[];
extern const int gpusim_opencl_count;

ClObject::ClObject(ClKind of) : dispatch(gpusim_opencl_functions), kind(of) {}
ClPlatform the_platform;
ClDevice the_device;

namespace {
// hipDeviceAttribute_t
enum Attribute { CLOCK_KHZ = 5, L2_BYTES = 19, CUS = 63, LDS_BYTES = 74 };
enum : uint64_t { TYPE_DEFAULT = 1, TYPE_GPU = 4 };
constexpr intptr_t CONTEXT_PLATFORM = 0x1084;
constexpr char VERSION[] = "OpenCL 1.2 gpusim " GPUSIM_VERSION;
constexpr char EXTENSIONS[] =
    "cl_khr_icd cl_khr_byte_addressable_store cl_khr_fp64 cl_khr_fp16 cl_khr_int64_base_atomics "
    "cl_khr_int64_extended_atomics cl_khr_global_int32_base_atomics cl_khr_global_int32_extended_atomics "
    "cl_khr_local_int32_base_atomics cl_khr_local_int32_extended_atomics cl_khr_3d_image_writes";
constexpr size_t MOST_WORK_ITEMS = 256;  // of a workgroup whose size the kernel does not require, as AMD's compiler assumes
constexpr unsigned IMAGE_ARGUMENTS = 128, LANES = 64, LINE_BYTES = 64, ALIGNMENT_BITS = 2048;
// denormals, infinities and NaNs, the four ways to round, fused multiply-add
constexpr uint64_t ALL_OF_FLOAT = 0x3F, WITHOUT_DENORMALS = 0x3E;

uint64_t attribute(Attribute wanted) {
  for (auto [number, value] : device().attributes)
    if (number == wanted) return value;
  return 0;
}

std::string device_name() {
  const std::string& properties = device().properties[1];
  return std::string(properties.c_str(), strnlen(properties.c_str(), 256));
}

// A function by its name; what the ICD's loader asks for first is not part of its table.
int icd_platforms(unsigned place, ClPlatform** platforms, unsigned* count);
void* function_called(const char* name) {
  if (!name) return nullptr;
  if (!strcmp(name, "clIcdGetPlatformIDsKHR")) return reinterpret_cast<void*>(icd_platforms);
  for (int i = 0; i < gpusim_opencl_count; i++)
    if (gpusim_opencl_names[i] && !strcmp(name, gpusim_opencl_names[i])) return const_cast<void*>(gpusim_opencl_functions[i]);
  return nullptr;
}

int icd_platforms(unsigned place, ClPlatform** platforms, unsigned* count) {
  if ((!place && platforms) || (!platforms && !count)) return CL_INVALID_VALUE;
  if (!connected()) return CL_PLATFORM_NOT_FOUND;
  if (platforms) *platforms = &the_platform;
  if (count) *count = 1;
  return CL_SUCCESS;
}

ClContext* context_with(const intptr_t* properties, int* error) {
  if (!connected()) return made<ClContext>(nullptr, CL_DEVICE_NOT_FOUND, error);
  auto context = new ClContext;
  for (; properties && *properties; properties += 2) {
    bool known = properties[0] == CONTEXT_PLATFORM;
    if (!known || reinterpret_cast<ClPlatform*>(properties[1]) != &the_platform) {
      delete context;
      return made<ClContext>(nullptr, known ? CL_INVALID_PLATFORM : CL_INVALID_PROPERTY, error);
    }
    context->properties.insert(context->properties.end(), properties, properties + 2);
  }
  if (properties) context->properties.push_back(0);
  return made(context, CL_SUCCESS, error);
}
}  // namespace

int gpusim_no_opencl(const char* name) {
  complain_of_missing(name);
  return CL_INVALID_OPERATION;
}

int code_of(hipError_t error) {
  switch (error) {
    case hipSuccess: return CL_SUCCESS;
    case hipErrorInvalidValue: return CL_INVALID_VALUE;
    case hipErrorOutOfMemory: return CL_MEM_OBJECT_ALLOCATION_FAILURE;
    case hipErrorNotFound: return CL_INVALID_KERNEL_NAME;
    case hipErrorInvalidConfiguration: return CL_INVALID_WORK_GROUP_SIZE;
    case hipErrorNoBinaryForGpu: return CL_INVALID_PROGRAM_EXECUTABLE;
    default: return CL_OUT_OF_RESOURCES;  // a fault, a limit, too much local memory
  }
}

void release(ClContext* context) {
  if (!--context->held) delete context;
}

API int clGetPlatformIDs(unsigned place, ClPlatform** platforms, unsigned* count) { return icd_platforms(place, platforms, count); }
API int clGetPlatformInfo(ClPlatform* platform, unsigned name, size_t place, void* to, size_t* size) {
  Wanted wanted{place, to, size};
  if (platform && platform != &the_platform) return CL_INVALID_PLATFORM;
  switch (name) {
    case 0x0900: return wanted.text("FULL_PROFILE");
    case 0x0901: return wanted.text(VERSION);
    case 0x0902: return wanted.text("gpusim");
    case 0x0903: return wanted.text("gpusim");
    case 0x0904: return wanted.text(EXTENSIONS);
    case 0x0920: return wanted.text("GPUSIM");  // CL_PLATFORM_ICD_SUFFIX_KHR
    default: return CL_INVALID_VALUE;
  }
}
API int clGetDeviceIDs(ClPlatform* platform, uint64_t type, unsigned place, ClDevice** devices, unsigned* count) {
  if (platform && platform != &the_platform) return CL_INVALID_PLATFORM;
  if ((!place && devices) || (!devices && !count)) return CL_INVALID_VALUE;
  if (!connected() || !(type & (TYPE_DEFAULT | TYPE_GPU))) {
    if (count) *count = 0;
    return CL_DEVICE_NOT_FOUND;
  }
  if (devices) *devices = &the_device;
  if (count) *count = 1;
  return CL_SUCCESS;
}
API int clGetDeviceInfo(ClDevice* wanted_of, unsigned name, size_t place, void* to, size_t* size) {
  if (wanted_of != &the_device) return CL_INVALID_DEVICE;
  if (!connected()) return CL_INVALID_DEVICE;
  Wanted wanted{place, to, size};
  const size_t sizes[3] = {MOST_WORK_ITEMS, MOST_WORK_ITEMS, MOST_WORK_ITEMS};
  const uint64_t memory = device().capacity;
  switch (name) {
    case 0x1000: return wanted.value<uint64_t>(TYPE_GPU);
    case 0x1001: return wanted.value<unsigned>(0x1002);  // CL_DEVICE_VENDOR_ID: AMD's, whose GPU is simulated
    case 0x1002: return wanted.value<unsigned>(attribute(CUS));
    case 0x1003: return wanted.value<unsigned>(3);
    case 0x1004: return wanted.value<size_t>(MOST_WORK_ITEMS);
    case 0x1005: return wanted.bytes(sizes, sizeof sizes);
    case 0x1006: case 0x1036: return wanted.value<unsigned>(4);  // widths of vectors that the hardware loads: char
    case 0x1007: case 0x1037: return wanted.value<unsigned>(2);  // short
    case 0x1034: case 0x103C: return wanted.value<unsigned>(1);  // half
    case 0x1008: case 0x1038: case 0x1009: case 0x1039: return wanted.value<unsigned>(1);  // int, long
    case 0x100A: case 0x103A: case 0x100B: case 0x103B: return wanted.value<unsigned>(1);  // float, double
    case 0x100C: return wanted.value<unsigned>(attribute(CLOCK_KHZ) / 1000);
    case 0x100D: return wanted.value<unsigned>(64);
    case 0x100E: case 0x100F: return wanted.value<unsigned>(IMAGE_ARGUMENTS);
    case 0x1010: return wanted.value<uint64_t>(memory);
    case 0x1011: case 0x1012: case 0x1013: case 0x1014: return wanted.value<size_t>(MOST_TEXELS);
    case 0x1015: case 0x1041: return wanted.value<size_t>(MOST_LAYERS);
    case 0x1016: return wanted.value<unsigned>(1);  // CL_DEVICE_IMAGE_SUPPORT
    case 0x1017: return wanted.value<size_t>(4096);
    case 0x1018: return wanted.value<unsigned>(16);  // samplers, as OpenCL asks for at least
    case 0x1019: return wanted.value<unsigned>(ALIGNMENT_BITS);
    case 0x101A: return wanted.value<unsigned>(128);
    case 0x101B: return wanted.value<uint64_t>(device().architecture == "gfx803" ? WITHOUT_DENORMALS : ALL_OF_FLOAT);
    case 0x101C: return wanted.value<unsigned>(2);  // CL_READ_WRITE_CACHE
    case 0x101D: return wanted.value<unsigned>(LINE_BYTES);
    case 0x101E: return wanted.value<uint64_t>(attribute(L2_BYTES));
    case 0x101F: return wanted.value<uint64_t>(memory);
    case 0x1020: return wanted.value<uint64_t>(memory);
    case 0x1021: return wanted.value<unsigned>(8);
    case 0x1022: return wanted.value<unsigned>(1);  // CL_LOCAL
    case 0x1023: return wanted.value<uint64_t>(attribute(LDS_BYTES));
    case 0x1024: return wanted.value<unsigned>(0);
    case 0x1025: return wanted.value<size_t>(1);  // nanoseconds of a profiling counter
    case 0x1026: case 0x1027: case 0x1028: return wanted.value<unsigned>(1);  // little endian, available, compiler
    case 0x1029: return wanted.value<uint64_t>(1);  // CL_EXEC_KERNEL
    case 0x102A: return wanted.value<uint64_t>(2);  // CL_QUEUE_PROFILING_ENABLE
    case 0x102B: return wanted.text(device_name());
    case 0x102C: return wanted.text("gpusim");
    case 0x102D: return wanted.text(GPUSIM_VERSION);
    case 0x102E: return wanted.text("FULL_PROFILE");
    case 0x102F: return wanted.text(VERSION);
    case 0x1030: return wanted.text(EXTENSIONS);
    case 0x1031: return wanted.value<ClPlatform*>(&the_platform);
    case 0x1032: return wanted.value<uint64_t>(ALL_OF_FLOAT);  // double
    case 0x1033: return wanted.value<uint64_t>(ALL_OF_FLOAT);  // half
    case 0x1035: return wanted.value<unsigned>(0);             // one memory with the host
    case 0x103D: return wanted.text("OpenCL C 1.2 ");
    case 0x103E: return wanted.value<unsigned>(1);  // CL_DEVICE_LINKER_AVAILABLE
    case 0x103F: return wanted.text("");
    case 0x1040: return wanted.value<size_t>(0);  // texels of an image that is a buffer: there is none
    case 0x1042: return wanted.value<ClDevice*>(nullptr);
    case 0x1043: return wanted.value<unsigned>(0);
    case 0x1044: return wanted.bytes("", 0);
    case 0x1045: return wanted.value<uint64_t>(0);
    case 0x1046: return wanted.bytes("", 0);
    case 0x1047: return wanted.value<unsigned>(1);
    case 0x1048: return wanted.value<unsigned>(1);
    case 0x1049: return wanted.value<size_t>(1 << 20);
    default: return CL_INVALID_VALUE;
  }
}
API int clRetainDevice(ClDevice* d) { return d == &the_device ? CL_SUCCESS : CL_INVALID_DEVICE; }
API int clReleaseDevice(ClDevice* d) { return d == &the_device ? CL_SUCCESS : CL_INVALID_DEVICE; }

using Notify = void (*)(const char*, const void*, size_t, void*);
API ClContext* clCreateContext(const intptr_t* properties, unsigned count, ClDevice* const* devices, Notify, void*, int* error) {
  if (!count || !devices) return made<ClContext>(nullptr, CL_INVALID_VALUE, error);
  for (unsigned i = 0; i < count; i++)
    if (devices[i] != &the_device) return made<ClContext>(nullptr, CL_INVALID_DEVICE, error);
  return context_with(properties, error);
}
API ClContext* clCreateContextFromType(const intptr_t* properties, uint64_t type, Notify, void*, int* error) {
  if (!(type & (TYPE_DEFAULT | TYPE_GPU))) return made<ClContext>(nullptr, CL_DEVICE_NOT_FOUND, error);
  return context_with(properties, error);
}
API int clRetainContext(ClContext* c) { return retain_if_valid(c); }
API int clReleaseContext(ClContext* c) { return release_if_valid(c); }
API int clGetContextInfo(ClContext* context, unsigned name, size_t place, void* to, size_t* size) {
  if (!valid(context)) return CL_INVALID_CONTEXT;
  Wanted wanted{place, to, size};
  switch (name) {
    case 0x1080: return wanted.value<unsigned>(context->held);
    case 0x1081: return wanted.value<ClDevice*>(&the_device);
    case 0x1082: return wanted.bytes(context->properties.data(), context->properties.size() * sizeof(intptr_t));
    case 0x1083: return wanted.value<unsigned>(1);
    default: return CL_INVALID_VALUE;
  }
}
API void* clGetExtensionFunctionAddress(const char* name) { return function_called(name); }
API void* clGetExtensionFunctionAddressForPlatform(ClPlatform*, const char* name) { return function_called(name); }
API int clUnloadCompiler() { return CL_SUCCESS; }
API int clUnloadPlatformCompiler(ClPlatform* p) { return p == &the_platform ? CL_SUCCESS : CL_INVALID_PLATFORM; }
