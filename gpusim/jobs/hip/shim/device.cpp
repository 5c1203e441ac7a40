// The device, what it can, contexts of the driver interface, errors, and what fits a compute unit.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "code.h"

extern "C" const int gpusim_hip_major;

namespace {
constexpr int MAJOR = 23, MINOR = 61;  // hipDeviceAttributeComputeCapabilityMajor, Minor
constexpr size_t UUID_BYTES = 16;
constexpr int VERSIONS[] = {50731921, 60443484};  // of the releases whose interface this is: 5.7.31921, 6.4.43484

hipError_t check(int number) {
  CONNECT();
  return number ? fail(hipErrorInvalidDevice) : hipSuccess;
}

hipError_t attribute(int wanted, int* value) {
  for (const auto& known : device().attributes)
    if (known.first == wanted) {
      *value = known.second;
      return hipSuccess;
    }
  std::string name = "number " + std::to_string(wanted);
  for (const auto& refused : device().refused_attributes)
    if (refused.first == wanted) name = refused.second;
  complain_of_missing("attribute " + name + " of hipDeviceGetAttribute");
  return fail(hipErrorInvalidValue);
}

hipError_t properties(void* to, int number, int layout) {
  if (hipError_t error = check(number)) return error;
  if (!to) return fail(hipErrorInvalidValue);
  memcpy(to, device().properties[layout].data(), device().properties[layout].size());
  return hipSuccess;
}

const char* name_of(hipError_t error) {
  switch (error) {
#define NAME(code, text) \
  case code:             \
    return #code;
    GPUSIM_ERRORS(NAME)
  }
  return "hipErrorUnknown";
}

const char* text_of(hipError_t error) {
  switch (error) {
#define TEXT(code, text) \
  case code:             \
    return text;
    GPUSIM_ERRORS(TEXT)
  }
  return "unknown";
}

hipError_t occupancy(Function* f, hipError_t error, int* blocks, int threads, size_t lds) {
  if (!f) return fail(error);
  if (!blocks || threads < 1) return fail(hipErrorInvalidValue);
  Answer answer = ask(Request(OP_OCCUPANCY).put(f->id).put<uint32_t>(threads).put<uint32_t>(lds));
  *blocks = answer.get<uint32_t>();
  return fail(answer.status);
}

hipError_t block_size(Function* f, hipError_t error, int* grid, int* block, size_t lds, int limit) {
  if (!f) return fail(error);
  if (!grid || !block || limit < 0) return fail(hipErrorInvalidValue);
  Answer answer = ask(Request(OP_BLOCK_SIZE).put(f->id).put<uint32_t>(lds).put<uint32_t>(limit));
  *block = answer.get<uint32_t>();
  *grid = answer.get<uint32_t>();
  return fail(answer.status);
}

Function* found(const void* host, hipError_t* error) {
  if (connected()) return function_of(host, error);
  *error = hipErrorNoDevice;
  return nullptr;
}
Function* given(hipFunction_t f) { return connected() ? reinterpret_cast<Function*>(f) : nullptr; }
}  // namespace

// --- device
API hipError_t hipInit(unsigned) { return check(0); }
API hipError_t hipGetDeviceCount(int* n) {
  if (!n) return fail(hipErrorInvalidValue);
  *n = 0;
  CONNECT();
  *n = 1;
  return hipSuccess;
}
API hipError_t hipGetDevice(int* n) {
  if (n) *n = 0;
  return n ? check(0) : fail(hipErrorInvalidValue);
}
API hipError_t hipSetDevice(int n) { return check(n); }
API hipError_t hipSetValidDevices(int* list, int count) { return check(list && count ? *list : 0); }
API hipError_t hipSetDeviceFlags(unsigned) { return check(0); }
API hipError_t hipGetDeviceFlags(unsigned* flags) {
  if (flags) *flags = 0;
  return check(0);
}
API hipError_t hipDeviceGet(hipDevice_t* device, int n) {
  if (hipError_t error = check(n)) return error;
  *device = n;
  return hipSuccess;
}
API hipError_t hipDeviceSynchronize() {
  CONNECT();
  return fail(finish());
}
API hipError_t hipDeviceReset() { return hipDeviceSynchronize(); }
API hipError_t hipGetDeviceProperties(void* p, int n) { return properties(p, n, 0); }
API hipError_t hipGetDevicePropertiesR0000(void* p, int n) { return properties(p, n, 0); }
API hipError_t hipGetDevicePropertiesR0600(void* p, int n) { return properties(p, n, 1); }
static hipError_t choose(int* n) {
  if (n) *n = 0;
  return n ? check(0) : fail(hipErrorInvalidValue);
}
API hipError_t hipChooseDevice(int* n, const void*) { return choose(n); }
API hipError_t hipChooseDeviceR0000(int* n, const void*) { return choose(n); }
API hipError_t hipChooseDeviceR0600(int* n, const void*) { return choose(n); }
API hipError_t hipDeviceGetAttribute(int* value, int wanted, int n) {
  if (hipError_t error = check(n)) return error;
  return value ? attribute(wanted, value) : fail(hipErrorInvalidValue);
}
API hipError_t hipDeviceGetName(char* name, int size, hipDevice_t n) {
  if (hipError_t error = check(n)) return error;
  if (!name || size < 1) return fail(hipErrorInvalidValue);
  snprintf(name, size, "%s", device().properties[0].c_str());  // a structure whose first member is the name
  return hipSuccess;
}
API hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t n) {
  if (hipError_t error = check(n)) return error;
  *bytes = device().capacity;
  return hipSuccess;
}
API hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t n) {
  if (hipError_t error = check(n)) return error;
  hipError_t error = attribute(MAJOR, major);
  return error ? error : attribute(MINOR, minor);
}
API hipError_t hipDeviceGetUuid(void* uuid, hipDevice_t n) {
  if (hipError_t error = check(n)) return error;
  std::string text = "gpusim " + device().architecture + " #0";  // as hipDeviceProp_t of ROCm 6 has it
  text.resize(UUID_BYTES);
  memcpy(uuid, text.data(), UUID_BYTES);
  return hipSuccess;
}
API hipError_t hipDeviceGetPCIBusId(char* text, int size, int n) {
  if (hipError_t error = check(n)) return error;
  snprintf(text, size, "0000:01:00.0");
  return hipSuccess;
}
API hipError_t hipDeviceGetByPCIBusId(int* n, const char*) { return choose(n); }
API hipError_t hipDeviceCanAccessPeer(int* can, int, int) {
  if (can) *can = 0;
  return check(0);
}
API hipError_t hipDeviceEnablePeerAccess(int, unsigned) { return fail(hipErrorInvalidDevice); }
API hipError_t hipDeviceDisablePeerAccess(int) { return fail(hipErrorPeerAccessNotEnabled); }
API hipError_t hipDeviceGetLimit(size_t* value, int limit) {
  if (hipError_t error = check(0)) return error;
  if (!value || limit < 0 || limit > 2) return fail(hipErrorUnsupportedLimit);
  // stack of a work-item, printf's buffer, the heap: libraries ask for it to know what memory there is
  const size_t limits[] = {16 << 10, 1 << 20, device().capacity};
  *value = limits[limit];
  return hipSuccess;
}
API hipError_t hipDeviceSetLimit(int, size_t) { return check(0); }
API hipError_t hipDeviceGetStreamPriorityRange(int* least, int* most) {
  if (least) *least = 0;
  if (most) *most = 0;
  return check(0);
}
// a cache or an LDS that cannot be divided otherwise
API hipError_t hipDeviceGetCacheConfig(int* c) {
  if (c) *c = 0;
  return check(0);
}
API hipError_t hipDeviceSetCacheConfig(int) { return check(0); }
API hipError_t hipDeviceGetSharedMemConfig(int* c) {
  if (c) *c = 1;  // banks of four bytes
  return check(0);
}
API hipError_t hipDeviceSetSharedMemConfig(int) { return check(0); }
API hipError_t hipFuncSetCacheConfig(const void*, int) { return check(0); }
API hipError_t hipFuncSetSharedMemConfig(const void*, int) { return check(0); }
API hipError_t hipFuncSetAttribute(const void*, int, int) { return check(0); }
API hipError_t hipRuntimeGetVersion(int* v) {
  if (!v) return fail(hipErrorInvalidValue);
  *v = VERSIONS[gpusim_hip_major >= 6];
  return hipSuccess;
}
API hipError_t hipDriverGetVersion(int* v) { return hipRuntimeGetVersion(v); }
API hipError_t hipGetProcAddress(const char* symbol, void** function, int version, uint64_t, int* status) {
  enum { FOUND, NOT_FOUND };
  if (!symbol || !function) return fail(hipErrorInvalidValue);
  Dl_info here;
  dladdr(reinterpret_cast<void*>(&hipGetProcAddress), &here);
  void* library = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  // release 6 gave two functions new structures, under names of their own that its header hides
  bool newer = version >= 600 && (!strcmp(symbol, "hipGetDeviceProperties") || !strcmp(symbol, "hipChooseDevice"));
  *function = library ? dlsym(library, (std::string(symbol) + (newer ? "R0600" : "")).c_str()) : nullptr;
  if (library) dlclose(library);
  if (status) *status = *function ? FOUND : NOT_FOUND;
  return *function ? hipSuccess : fail(hipErrorInvalidValue);
}
API hipError_t hipProfilerStart() { return hipSuccess; }
API hipError_t hipProfilerStop() { return hipSuccess; }

// --- contexts: there is one
static char the_context;
API hipError_t hipCtxCreate(void** c, unsigned, hipDevice_t n) {
  if (c) *c = &the_context;
  return check(n);
}
API hipError_t hipCtxDestroy(void*) { return hipSuccess; }
API hipError_t hipCtxGetCurrent(void** c) { return hipCtxCreate(c, 0, 0); }
API hipError_t hipCtxSetCurrent(void*) { return check(0); }
API hipError_t hipCtxPushCurrent(void*) { return check(0); }
API hipError_t hipCtxPopCurrent(void** c) { return hipCtxCreate(c, 0, 0); }
API hipError_t hipCtxGetDevice(hipDevice_t* n) { return hipGetDevice(n); }
API hipError_t hipCtxSynchronize() { return hipDeviceSynchronize(); }
API hipError_t hipDevicePrimaryCtxRetain(void** c, hipDevice_t n) { return hipCtxCreate(c, 0, n); }
API hipError_t hipDevicePrimaryCtxRelease(hipDevice_t n) { return check(n); }
API hipError_t hipDevicePrimaryCtxReset(hipDevice_t n) { return check(n); }
API hipError_t hipDevicePrimaryCtxSetFlags(hipDevice_t n, unsigned) { return check(n); }
API hipError_t hipDevicePrimaryCtxGetState(hipDevice_t n, unsigned* flags, int* active) {
  if (flags) *flags = 0;
  if (active) *active = 1;
  return check(n);
}

// --- errors
API hipError_t hipGetLastError() { return take_last_error(false); }
API hipError_t hipExtGetLastError() { return take_last_error(false); }
API hipError_t hipPeekAtLastError() { return take_last_error(true); }
API const char* hipGetErrorName(hipError_t e) { return name_of(e); }
API const char* hipGetErrorString(hipError_t e) { return text_of(e); }
API hipError_t hipDrvGetErrorName(hipError_t e, const char** name) {
  *name = name_of(e);
  return hipSuccess;
}
API hipError_t hipDrvGetErrorString(hipError_t e, const char** text) {
  *text = text_of(e);
  return hipSuccess;
}
API const char* hipApiName(uint32_t) { return "unknown"; }
API const char* hipGetCmdName(unsigned) { return "unknown"; }

// --- what a kernel is, and how many workgroups of it fit
API hipError_t hipFuncGetAttributes(hipFuncAttributes* a, const void* host) {
  hipError_t error;
  Function* f = found(host, &error);
  if (!f || !a) return fail(f ? hipErrorInvalidValue : error);
  *a = {};
  a->binaryVersion = a->ptxVersion = 80;
  a->localSizeBytes = f->private_bytes, a->sharedSizeBytes = f->lds_bytes, a->numRegs = f->vgprs;
  a->maxThreadsPerBlock = f->most_threads ? f->most_threads : 1024;
  a->maxDynamicSharedSizeBytes = 65536 - f->lds_bytes;
  return hipSuccess;
}
API hipError_t hipFuncGetAttribute(int* value, int wanted, hipFunction_t function) {
  Function* f = given(function);
  if (!f || !value) return fail(hipErrorInvalidValue);
  uint32_t most = f->most_threads ? f->most_threads : 1024;
  const uint32_t facts[] = {most, f->lds_bytes, 0, f->private_bytes, f->vgprs, 80, 80, 0, 65536 - f->lds_bytes, 0};
  if (wanted < 0 || wanted >= int(sizeof facts / sizeof *facts)) return fail(hipErrorInvalidValue);
  *value = facts[wanted];
  return hipSuccess;
}
API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* n, const void* host, int threads, size_t lds) {
  hipError_t error;
  Function* f = found(host, &error);
  return occupancy(f, error, n, threads, lds);
}
API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, const void* host, int threads, size_t lds, unsigned) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(n, host, threads, lds);
}
API hipError_t hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* host, size_t lds, int limit) {
  hipError_t error;
  Function* f = found(host, &error);
  return block_size(f, error, grid, block, lds, limit);
}
API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* n, hipFunction_t f, int threads, size_t lds) {
  return occupancy(given(f), hipErrorInvalidHandle, n, threads, lds);
}
API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* n, hipFunction_t f, int threads, size_t lds, unsigned) {
  return occupancy(given(f), hipErrorInvalidHandle, n, threads, lds);
}
API hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, hipFunction_t f, size_t lds, int limit) {
  return block_size(given(f), hipErrorInvalidHandle, grid, block, lds, limit);
}
API hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, hipFunction_t f, size_t lds, int limit, unsigned) {
  return block_size(given(f), hipErrorInvalidHandle, grid, block, lds, limit);
}
