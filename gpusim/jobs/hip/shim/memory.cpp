// Memory: allocated by the simulator, read and written by the program itself. Copies are the program's own moves of
// bytes, done once the device has done what it was told before; the simulator hears how many bytes took which way.
#include "memory.h"

#include <map>
#include <mutex>
#include <set>

#include "graph.h"
#include "streams.h"

extern "C" const int gpusim_hip_major;  // of the library's name: the numbers of memory types changed in ROCm 6

namespace {
std::mutex mutex;
std::map<uint64_t, Allocation> allocations;
std::map<uint64_t, size_t> variables;

hipError_t allocate(void** pointer, size_t size, Kind kind, unsigned flags = 0) {
  CONNECT();
  if (!pointer) return fail(hipErrorInvalidValue);
  *pointer = nullptr;
  if (!size) return hipSuccess;
  Answer answer = ask(Request(OP_ALLOCATE).put<uint64_t>(size).put<uint32_t>(uint32_t(kind)));
  if (answer.status) return fail(answer.status);
  auto address = answer.get<uint64_t>();
  std::lock_guard<std::mutex> held(mutex);
  allocations[address] = {address, size, kind, flags};
  *pointer = reinterpret_cast<void*>(address);
  return hipSuccess;
}

// waits: for all streams, as hipFree does
hipError_t release(void* pointer, bool waits = true) {
  CONNECT();
  if (!pointer) return hipSuccess;
  auto address = reinterpret_cast<uint64_t>(pointer);
  {
    std::lock_guard<std::mutex> held(mutex);
    if (!allocations.erase(address)) return fail(hipErrorInvalidValue);
  }
  hipError_t before = waits ? finish() : hipSuccess;
  tell(Request(OP_FREE).put(address));
  return fail(before);
}

bool on_device(const void* p) {
  auto a = reinterpret_cast<uint64_t>(p);
  return a >= GPUSIM_BASE && a < GPUSIM_BASE + device().capacity && allocation_at(p).kind != Kind::HOST;
}

// Whether `size` bytes lie in one allocation or variable; else says once for each of these what is wrong.
bool fits(const char* what, const void* at, size_t size) {
  auto address = reinterpret_cast<uint64_t>(at);
  std::lock_guard<std::mutex> held(mutex);
  static std::set<std::pair<uint64_t, uint64_t>> said;
  uint64_t start = 0, held_bytes = 0;
  const char* kind = "allocation";
  auto after = allocations.upper_bound(address);
  if (after != allocations.begin()) start = std::prev(after)->first, held_bytes = std::prev(after)->second.size;
  auto later = variables.upper_bound(address);
  if (later != variables.begin() && std::prev(later)->first >= start)
    start = std::prev(later)->first, held_bytes = std::prev(later)->second, kind = "variable";
  uint64_t left = address - start < held_bytes ? held_bytes - (address - start) : 0;
  if (size <= left) return true;
  if (!said.insert({start, held_bytes}).second) return false;
  if (left || (held_bytes && address == start + held_bytes))
    complain("%s of %zu bytes at %p reaches beyond the %s of %zu bytes at %#zx: not done", what, size, at, kind,
             size_t(held_bytes), size_t(start));
  else
    complain("%s of %zu bytes at %p, which lies in no allocation: not done", what, size, at);
  return false;
}

// The same of bytes that a copy reads or writes, which may be the program's own.
bool copyable(const char* what, const void* at, size_t size) {
  auto address = reinterpret_cast<uint64_t>(at);
  return address < GPUSIM_BASE || address >= GPUSIM_BASE + device().capacity || fits(what, at, size);
}

// From the first to the last byte of rows in slices.
size_t span(size_t row, size_t slice, size_t width, size_t rows, size_t slices) {
  return (slices - 1) * slice + (rows - 1) * row + width;
}

Copied way_of(const void* to, const void* from) {
  if (on_device(from)) return on_device(to) ? COPIED_WITHIN_DEVICE : COPIED_FROM_DEVICE;
  return on_device(to) ? COPIED_TO_DEVICE : COPIED_ON_HOST;
}

// Fills bytes with a pattern of `width` bytes.
void repeat(char* to, const char* pattern, size_t width, size_t bytes) {
  if (width == 1) memset(to, *pattern, bytes);
  else for (size_t i = 0; i < bytes; i += width) memcpy(to + i, pattern, width);
}

void tell_copied(size_t size, Copied way, hipStream_t stream, bool blocking) {
  tell(Request(OP_COPIED).put(number(stream)).put<uint64_t>(size).put<uint32_t>(way).put<uint32_t>(blocking));
}

}  // namespace

hipError_t fill(void* to, const void* pattern, size_t width, size_t count, hipStream_t stream, bool blocking) {
  CONNECT();
  if (!count) return hipSuccess;
  if (!to || !fits("a fill", to, width * count)) return fail(hipErrorInvalidValue);
  if (capturing(stream)) {
    std::string kept(static_cast<const char*>(pattern), width);
    return capture(stream, NodeType::MEMSET, [=](hipStream_t s) { return fill(to, kept.data(), width, count, s, false); });
  }
  if (hipError_t error = settle()) return fail(error);
  repeat(static_cast<char*>(to), static_cast<const char*>(pattern), width, width * count);
  tell_copied(width * count, COPIED_WITHIN_DEVICE, stream, blocking);
  return hipSuccess;
}

hipError_t copy_rows(char* to, size_t to_row, size_t to_slice, const char* from, size_t from_row, size_t from_slice,
                     size_t width, size_t rows, size_t slices, hipStream_t stream, bool blocking) {
  CONNECT();
  if (!width || !rows || !slices) return hipSuccess;
  if (!to || !from) return fail(hipErrorInvalidValue);
  if (width > to_row || width > from_row) return fail(hipErrorInvalidPitchValue);
  if (!copyable("a copy", to, span(to_row, to_slice, width, rows, slices)) ||
      !copyable("a copy", from, span(from_row, from_slice, width, rows, slices)))
    return fail(hipErrorInvalidValue);
  if (capturing(stream))
    return capture(stream, NodeType::MEMCPY, [=](hipStream_t s) {
      return copy_rows(to, to_row, to_slice, from, from_row, from_slice, width, rows, slices, s, false);
    });
  if (hipError_t error = settle()) return fail(error);
  for (size_t z = 0; z < slices; z++)
    for (size_t y = 0; y < rows; y++) memmove(to + z * to_slice + y * to_row, from + z * from_slice + y * from_row, width);
  tell_copied(width * rows * slices, way_of(to, from), stream, blocking);
  return hipSuccess;
}

namespace {
hipError_t fill_bytes(hipPitchedPtr to, int value, hipExtent extent, hipStream_t stream, bool blocking) {
  return fill_rows(to, std::string(1, char(value)), extent, stream, blocking);
}
}  // namespace

hipError_t fill_rows(hipPitchedPtr to, const std::string& pattern, hipExtent extent, hipStream_t stream, bool blocking) {
  CONNECT();
  if (!extent.width || !extent.height || !extent.depth) return hipSuccess;
  if (extent.width > to.pitch) return fail(hipErrorInvalidValue);
  size_t reached = span(to.pitch, to.pitch * to.ysize, extent.width, extent.height, extent.depth);
  if (!to.ptr || !fits("a fill", to.ptr, reached)) return fail(hipErrorInvalidValue);
  if (capturing(stream))
    return capture(stream, NodeType::MEMSET, [=](hipStream_t s) { return fill_rows(to, pattern, extent, s, false); });
  if (hipError_t error = settle()) return fail(error);
  for (size_t z = 0; z < extent.depth; z++)
    for (size_t y = 0; y < extent.height; y++)
      repeat(static_cast<char*>(to.ptr) + (z * to.ysize + y) * to.pitch, pattern.data(), pattern.size(), extent.width);
  tell_copied(extent.width * extent.height * extent.depth, COPIED_WITHIN_DEVICE, stream, blocking);
  return hipSuccess;
}

hipError_t copy_3d(const hipMemcpy3DParms* p, hipStream_t stream, bool blocking) {
  if (!p) return fail(hipErrorInvalidValue);
  // with an array on either side the extent's width, and positions in arrays, count elements
  const hipArray* array = p->dstArray ? p->dstArray : p->srcArray;
  size_t element = array ? array->element() : 1;
  hipPitchedPtr d = p->dstArray ? p->dstArray->pitched() : p->dstPtr, s = p->srcArray ? p->srcArray->pitched() : p->srcPtr;
  size_t to_x = p->dstPos.x * (p->dstArray ? element : 1), from_x = p->srcPos.x * (p->srcArray ? element : 1);
  if ((p->dstArray && !p->dstArray->holds(p->dstPos.x, p->dstPos.y, p->dstPos.z, p->extent)) ||
      (p->srcArray && !p->srcArray->holds(p->srcPos.x, p->srcPos.y, p->srcPos.z, p->extent)))
    return fail(hipErrorInvalidValue);
  auto to = static_cast<char*>(d.ptr) + to_x + (p->dstPos.y + p->dstPos.z * d.ysize) * d.pitch;
  auto from = static_cast<const char*>(s.ptr) + from_x + (p->srcPos.y + p->srcPos.z * s.ysize) * s.pitch;
  return copy_rows(to, d.pitch, d.pitch * d.ysize, from, s.pitch, s.pitch * s.ysize, p->extent.width * element,
                   p->extent.height, p->extent.depth, stream, blocking);
}

namespace {
hipError_t copy_param_2d(const hip_Memcpy2D* p, hipStream_t stream, bool blocking) {
  if (!p) return fail(hipErrorInvalidValue);
  auto from = static_cast<const char*>(p->srcDevice ? p->srcDevice : p->srcHost);
  auto to = static_cast<char*>(p->dstDevice ? p->dstDevice : p->dstHost);
  size_t to_row = p->dstPitch, from_row = p->srcPitch;
  if (const hipArray* a = p->dstArray) {
    if (!a->holds_bytes(p->dstXInBytes, p->dstY, p->WidthInBytes, p->Height)) return fail(hipErrorInvalidValue);
    to = static_cast<char*>(a->data), to_row = a->pitch;
  }
  if (const hipArray* a = p->srcArray) {
    if (!a->holds_bytes(p->srcXInBytes, p->srcY, p->WidthInBytes, p->Height)) return fail(hipErrorInvalidValue);
    from = static_cast<const char*>(a->data), from_row = a->pitch;
  }
  return copy_rows(to + p->dstXInBytes + p->dstY * to_row, to_row, 0, from + p->srcXInBytes + p->srcY * from_row,
                   from_row, 0, p->WidthInBytes, p->Height, 1, stream, blocking);
}
}  // namespace

Allocation allocation_at(const void* address) {
  auto wanted = reinterpret_cast<uint64_t>(address);
  std::lock_guard<std::mutex> held(mutex);
  auto after = allocations.upper_bound(wanted);
  if (after == allocations.begin()) return {};
  const Allocation& found = std::prev(after)->second;
  return wanted < found.address + found.size ? found : Allocation{};
}

void add_variable(uint64_t address, size_t size) {
  std::lock_guard<std::mutex> held(mutex);
  variables[address] = size;
}

void remove_variable(uint64_t address) {
  std::lock_guard<std::mutex> held(mutex);
  variables.erase(address);
}

hipError_t copy(void* to, const void* from, size_t size, hipStream_t stream, bool blocking) {
  CONNECT();
  if (!size) return hipSuccess;
  if (!to || !from || !copyable("a copy", to, size) || !copyable("a copy", from, size)) return fail(hipErrorInvalidValue);
  if (capturing(stream))
    return capture(stream, NodeType::MEMCPY, [=](hipStream_t s) { return copy(to, from, size, s, false); });
  if (hipError_t error = settle()) return fail(error);
  memmove(to, from, size);
  tell_copied(size, way_of(to, from), stream, blocking);
  return hipSuccess;
}

// --- allocation
API hipError_t hipMalloc(void** p, size_t n) { return allocate(p, n, Kind::DEVICE); }
API hipError_t hipExtMallocWithFlags(void** p, size_t n, unsigned flags) { return allocate(p, n, Kind::DEVICE, flags); }
API hipError_t hipMallocManaged(void** p, size_t n, unsigned flags) { return allocate(p, n, Kind::MANAGED, flags); }
API hipError_t hipHostMalloc(void** p, size_t n, unsigned flags) { return allocate(p, n, Kind::HOST, flags); }
API hipError_t hipHostAlloc(void** p, size_t n, unsigned flags) { return allocate(p, n, Kind::HOST, flags); }
API hipError_t hipMallocHost(void** p, size_t n) { return allocate(p, n, Kind::HOST); }
API hipError_t hipMemAllocHost(void** p, size_t n) { return allocate(p, n, Kind::HOST); }
API hipError_t hipMallocAsync(void** p, size_t n, hipStream_t) { return allocate(p, n, Kind::DEVICE); }
API hipError_t hipMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
  if (!pitch) return fail(hipErrorInvalidValue);
  *pitch = (width + 255) / 256 * 256;
  return allocate(p, *pitch * height, Kind::DEVICE);
}
API hipError_t hipMemAllocPitch(void** p, size_t* pitch, size_t width, size_t height, unsigned) {
  return hipMallocPitch(p, pitch, width, height);
}
API hipError_t hipMalloc3D(hipPitchedPtr* p, hipExtent extent) {
  if (!p) return fail(hipErrorInvalidValue);
  p->xsize = extent.width, p->ysize = extent.height;
  return hipMallocPitch(&p->ptr, &p->pitch, extent.width, extent.height * extent.depth);
}
API hipError_t hipFree(void* p) { return release(p); }
API hipError_t hipFreeAsync(void* p, hipStream_t) { return release(p, false); }
API hipError_t hipHostFree(void* p) { return release(p); }
API hipError_t hipFreeHost(void* p) { return release(p); }
API hipError_t hipMemGetInfo(size_t* available, size_t* total) {
  CONNECT();
  size_t used = 0;
  std::lock_guard<std::mutex> held(mutex);
  for (const auto& entry : allocations) used += entry.second.size;
  if (available) *available = device().capacity - used;
  if (total) *total = device().capacity;
  return hipSuccess;
}

// --- pools: one, from which nothing is kept when it is freed
static char the_pool;
API hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t* pool, int number) {
  CONNECT();
  if (!pool || number) return fail(pool ? hipErrorInvalidDevice : hipErrorInvalidValue);
  *pool = &the_pool;
  return hipSuccess;
}
API hipError_t hipDeviceGetMemPool(hipMemPool_t* pool, int number) { return hipDeviceGetDefaultMemPool(pool, number); }
API hipError_t hipDeviceSetMemPool(int number, hipMemPool_t pool) {
  return number ? fail(hipErrorInvalidDevice) : pool ? hipSuccess : fail(hipErrorInvalidValue);
}
API hipError_t hipMemPoolCreate(hipMemPool_t* pool, const void*) { return hipDeviceGetDefaultMemPool(pool, 0); }
API hipError_t hipMemPoolDestroy(hipMemPool_t) { return hipSuccess; }
API hipError_t hipMemPoolTrimTo(hipMemPool_t, size_t) { return hipSuccess; }
API hipError_t hipMemPoolSetAttribute(hipMemPool_t, int, void*) { return hipSuccess; }
API hipError_t hipMemPoolGetAttribute(hipMemPool_t, int, void* value) {
  if (!value) return fail(hipErrorInvalidValue);
  *static_cast<uint64_t*>(value) = 0;  // nothing is held
  return hipSuccess;
}
API hipError_t hipMallocFromPoolAsync(void** p, size_t n, hipMemPool_t, hipStream_t) { return allocate(p, n, Kind::DEVICE); }

// --- what a pointer is
API hipError_t hipPointerGetAttributes(hipPointerAttribute_t* a, const void* p) {
  CONNECT();
  if (!a || !p) return fail(hipErrorInvalidValue);
  static const int types[2][3] = {{1, 0, 4}, {2, 1, 3}};  // device, host, managed
  bool six = gpusim_hip_major >= 6;
  Allocation found = allocation_at(p);
  if (!found.size) {
    static const bool described = getenv(GPUSIM_HOST_POINTERS) != nullptr;
    if (!six && !described) return fail(hipErrorInvalidValue);
    *a = {};  // hipMemoryTypeUnregistered
    if (!six) a->type = 3;  // release 5 has no such type, and 0 is pinned memory: hipMemoryTypeUnified, of no allocation
    a->device = -2;
    return hipSuccess;
  }
  *a = {types[six][int(found.kind)], 0, const_cast<void*>(p), nullptr, found.kind == Kind::MANAGED, found.flags};
  if (found.kind != Kind::DEVICE) a->hostPointer = const_cast<void*>(p);
  return hipSuccess;
}
API hipError_t hipPointerGetAttribute(void* data, int attribute, hipDeviceptr_t p) {
  enum { MEMORY_TYPE = 2, DEVICE_POINTER, HOST_POINTER, IS_MANAGED = 8, DEVICE_ORDINAL, RANGE_START = 11, RANGE_SIZE, MAPPED };
  CONNECT();
  Allocation found = allocation_at(p);
  hipPointerAttribute_t all;
  if (!data || !found.size || hipPointerGetAttributes(&all, p) != hipSuccess) return fail(hipErrorInvalidValue);
  void* start = reinterpret_cast<void*>(found.address);
  switch (attribute) {
    case MEMORY_TYPE: return *static_cast<int*>(data) = all.type, hipSuccess;
    case DEVICE_POINTER: return *static_cast<void**>(data) = all.devicePointer, hipSuccess;
    case HOST_POINTER: return *static_cast<void**>(data) = all.hostPointer, hipSuccess;
    case IS_MANAGED: return *static_cast<bool*>(data) = all.isManaged, hipSuccess;
    case DEVICE_ORDINAL: return *static_cast<int*>(data) = all.device, hipSuccess;
    case RANGE_START: return *static_cast<void**>(data) = start, hipSuccess;
    case RANGE_SIZE: return *static_cast<size_t*>(data) = found.size, hipSuccess;
    case MAPPED: return *static_cast<bool*>(data) = true, hipSuccess;
  }
  complain("hipPointerGetAttribute: attribute %d is not supported", attribute);
  return fail(hipErrorNotSupported);
}
API hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* size, hipDeviceptr_t p) {
  CONNECT();
  Allocation found = allocation_at(p);
  if (!found.size) return fail(hipErrorNotFound);
  if (base) *base = reinterpret_cast<void*>(found.address);
  if (size) *size = found.size;
  return hipSuccess;
}
API hipError_t hipMemPtrGetInfo(void* p, size_t* size) { return hipMemGetAddressRange(nullptr, size, p); }
API hipError_t hipHostGetDevicePointer(void** to, void* host, unsigned) {
  CONNECT();
  if (!to || !allocation_at(host).size) return fail(hipErrorInvalidValue);
  *to = host;
  return hipSuccess;
}
API hipError_t hipHostGetFlags(unsigned* flags, void* host) {
  CONNECT();
  Allocation found = allocation_at(host);
  if (!flags || !found.size || found.kind != Kind::HOST) return fail(hipErrorInvalidValue);
  *flags = found.flags;
  return hipSuccess;
}
// managed memory is where it is: advice and prefetches have nothing to move
API hipError_t hipMemAdvise(const void*, size_t, int, int) { return hipSuccess; }
API hipError_t hipMemPrefetchAsync(const void*, size_t, int, hipStream_t) { return hipSuccess; }

// --- copies. _spt: a default stream for each thread; there is one for all of them.
API hipError_t hipMemcpy(void* d, const void* s, size_t n, hipMemcpyKind) { return copy(d, s, n, nullptr, true); }
API hipError_t hipMemcpy_spt(void* d, const void* s, size_t n, hipMemcpyKind) { return copy(d, s, n, nullptr, true); }
API hipError_t hipMemcpyAsync(void* d, const void* s, size_t n, hipMemcpyKind, hipStream_t q) { return copy(d, s, n, q, false); }
API hipError_t hipMemcpyAsync_spt(void* d, const void* s, size_t n, hipMemcpyKind, hipStream_t q) {
  return copy(d, s, n, q, false);
}
API hipError_t hipMemcpyWithStream(void* d, const void* s, size_t n, hipMemcpyKind, hipStream_t q) { return copy(d, s, n, q, true); }
API hipError_t hipMemcpyHtoD(hipDeviceptr_t d, void* s, size_t n) { return copy(d, s, n, nullptr, true); }
API hipError_t hipMemcpyDtoH(void* d, hipDeviceptr_t s, size_t n) { return copy(d, s, n, nullptr, true); }
API hipError_t hipMemcpyDtoD(hipDeviceptr_t d, hipDeviceptr_t s, size_t n) { return copy(d, s, n, nullptr, true); }
API hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t d, void* s, size_t n, hipStream_t q) { return copy(d, s, n, q, false); }
API hipError_t hipMemcpyDtoHAsync(void* d, hipDeviceptr_t s, size_t n, hipStream_t q) { return copy(d, s, n, q, false); }
API hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t d, hipDeviceptr_t s, size_t n, hipStream_t q) { return copy(d, s, n, q, false); }
API hipError_t hipMemcpyPeer(void* d, int to, const void* s, int from, size_t n) {
  return to || from ? fail(hipErrorInvalidDevice) : copy(d, s, n, nullptr, true);
}
API hipError_t hipMemcpyPeerAsync(void* d, int to, const void* s, int from, size_t n, hipStream_t q) {
  return to || from ? fail(hipErrorInvalidDevice) : copy(d, s, n, q, false);
}
#define COPY_2D(name, parameters, stream, blocking)                                                       \
  API hipError_t name parameters {                                                                        \
    return copy_rows(static_cast<char*>(d), dp, 0, static_cast<const char*>(s), sp, 0, w, h, 1, stream, blocking); \
  }
COPY_2D(hipMemcpy2D, (void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h, hipMemcpyKind), nullptr, true)
COPY_2D(hipMemcpy2D_spt, (void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h, hipMemcpyKind), nullptr, true)
COPY_2D(hipMemcpy2DAsync, (void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h, hipMemcpyKind, hipStream_t q), q, false)
COPY_2D(hipMemcpy2DAsync_spt, (void* d, size_t dp, const void* s, size_t sp, size_t w, size_t h, hipMemcpyKind, hipStream_t q), q, false)
API hipError_t hipMemcpy3D(const hipMemcpy3DParms* p) { return copy_3d(p, nullptr, true); }
API hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms* p) { return copy_3d(p, nullptr, true); }
API hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms* p, hipStream_t q) { return copy_3d(p, q, false); }
API hipError_t hipMemcpy3DAsync_spt(const hipMemcpy3DParms* p, hipStream_t q) { return copy_3d(p, q, false); }
API hipError_t hipMemcpyParam2D(const hip_Memcpy2D* p) { return copy_param_2d(p, nullptr, true); }
API hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D* p, hipStream_t q) { return copy_param_2d(p, q, false); }
API hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D* p) { return copy_param_2d(p, nullptr, true); }

// --- fills
static hipError_t fill_bytes(void* p, int value, size_t n, hipStream_t q, bool blocking) {
  char byte = char(value);
  return fill(p, &byte, 1, n, q, blocking);
}
API hipError_t hipMemset(void* p, int v, size_t n) { return fill_bytes(p, v, n, nullptr, false); }
API hipError_t hipMemset_spt(void* p, int v, size_t n) { return fill_bytes(p, v, n, nullptr, false); }
API hipError_t hipMemsetAsync(void* p, int v, size_t n, hipStream_t q) { return fill_bytes(p, v, n, q, false); }
API hipError_t hipMemsetAsync_spt(void* p, int v, size_t n, hipStream_t q) { return fill_bytes(p, v, n, q, false); }
API hipError_t hipMemsetD8(hipDeviceptr_t p, unsigned char v, size_t n) { return fill(p, &v, 1, n, nullptr, false); }
API hipError_t hipMemsetD8Async(hipDeviceptr_t p, unsigned char v, size_t n, hipStream_t q) { return fill(p, &v, 1, n, q, false); }
API hipError_t hipMemsetD16(hipDeviceptr_t p, unsigned short v, size_t n) { return fill(p, &v, 2, n, nullptr, false); }
API hipError_t hipMemsetD16Async(hipDeviceptr_t p, unsigned short v, size_t n, hipStream_t q) { return fill(p, &v, 2, n, q, false); }
API hipError_t hipMemsetD32(hipDeviceptr_t p, int v, size_t n) { return fill(p, &v, 4, n, nullptr, false); }
API hipError_t hipMemsetD32Async(hipDeviceptr_t p, int v, size_t n, hipStream_t q) { return fill(p, &v, 4, n, q, false); }
#define FILL_2D(name, parameters, stream) \
  API hipError_t name parameters { return fill_bytes({p, pitch, w, h}, v, {w, h, 1}, stream, false); }
FILL_2D(hipMemset2D, (void* p, size_t pitch, int v, size_t w, size_t h), nullptr)
FILL_2D(hipMemset2D_spt, (void* p, size_t pitch, int v, size_t w, size_t h), nullptr)
FILL_2D(hipMemset2DAsync, (void* p, size_t pitch, int v, size_t w, size_t h, hipStream_t q), q)
FILL_2D(hipMemset2DAsync_spt, (void* p, size_t pitch, int v, size_t w, size_t h, hipStream_t q), q)
API hipError_t hipMemset3D(hipPitchedPtr p, int v, hipExtent e) { return fill_bytes(p, v, e, nullptr, false); }
API hipError_t hipMemset3D_spt(hipPitchedPtr p, int v, hipExtent e) { return fill_bytes(p, v, e, nullptr, false); }
API hipError_t hipMemset3DAsync(hipPitchedPtr p, int v, hipExtent e, hipStream_t q) { return fill_bytes(p, v, e, q, false); }
API hipError_t hipMemset3DAsync_spt(hipPitchedPtr p, int v, hipExtent e, hipStream_t q) { return fill_bytes(p, v, e, q, false); }

// Declares a dense FP32 matrix, column by column, whose marked loads the compaction engine serves; rows: 0 ends it.
// serves: whether there is an engine. Called by gpusim_spartan.py.
API hipError_t gpusim_sparse_region(uint64_t address, uint64_t rows, uint64_t columns, uint64_t leading, uint32_t* serves) {
  CONNECT();
  if (hipError_t before = settle()) return fail(before);
  Answer answer = ask(Request(OP_REGION).put(address).put(rows).put(columns).put(leading));
  if (!answer.status && serves) *serves = answer.get<uint32_t>();
  return fail(answer.status);
}
