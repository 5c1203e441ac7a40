// OpenCL's interface as far as gpusim has it, over the same device memory, modules, launches and streams as HIP's.
// Declared here and not taken from Khronos's headers, which need not be installed; values are those of CL/cl.h 3.0.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "code.h"

enum Code : int {
  CL_SUCCESS = 0,
  CL_DEVICE_NOT_FOUND = -1,
  CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
  CL_OUT_OF_RESOURCES = -5,
  CL_PROFILING_INFO_NOT_AVAILABLE = -7,
  CL_IMAGE_FORMAT_MISMATCH = -9,
  CL_IMAGE_FORMAT_NOT_SUPPORTED = -10,
  CL_BUILD_PROGRAM_FAILURE = -11,
  CL_MISALIGNED_SUB_BUFFER_OFFSET = -13,
  CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST = -14,
  CL_COMPILE_PROGRAM_FAILURE = -15,
  CL_LINK_PROGRAM_FAILURE = -17,
  CL_KERNEL_ARG_INFO_NOT_AVAILABLE = -19,
  CL_INVALID_VALUE = -30,
  CL_INVALID_PLATFORM = -32,
  CL_INVALID_DEVICE = -33,
  CL_INVALID_CONTEXT = -34,
  CL_INVALID_QUEUE_PROPERTIES = -35,
  CL_INVALID_COMMAND_QUEUE = -36,
  CL_INVALID_HOST_PTR = -37,
  CL_INVALID_MEM_OBJECT = -38,
  CL_INVALID_IMAGE_FORMAT_DESCRIPTOR = -39,
  CL_INVALID_IMAGE_SIZE = -40,
  CL_INVALID_SAMPLER = -41,
  CL_INVALID_BINARY = -42,
  CL_INVALID_PROGRAM = -44,
  CL_INVALID_PROGRAM_EXECUTABLE = -45,
  CL_INVALID_KERNEL_NAME = -46,
  CL_INVALID_KERNEL = -48,
  CL_INVALID_ARG_INDEX = -49,
  CL_INVALID_ARG_VALUE = -50,
  CL_INVALID_ARG_SIZE = -51,
  CL_INVALID_KERNEL_ARGS = -52,
  CL_INVALID_WORK_DIMENSION = -53,
  CL_INVALID_WORK_GROUP_SIZE = -54,
  CL_INVALID_GLOBAL_OFFSET = -56,
  CL_INVALID_EVENT_WAIT_LIST = -57,
  CL_INVALID_EVENT = -58,
  CL_INVALID_OPERATION = -59,
  CL_INVALID_BUFFER_SIZE = -61,
  CL_INVALID_GLOBAL_WORK_SIZE = -63,
  CL_INVALID_PROPERTY = -64,
  CL_INVALID_IMAGE_DESCRIPTOR = -65,
  CL_PLATFORM_NOT_FOUND = -1001,
};

// What a handle points to. The ICD's loader calls through the first member; kind tells a wrong handle.
enum class ClKind { PLATFORM, DEVICE, CONTEXT, QUEUE, BUFFER, PROGRAM, KERNEL, EVENT, SAMPLER };
struct ClObject {
  const void* const* dispatch;
  ClKind kind;
  std::atomic<unsigned> held{1};  // by the program, and by objects that need it
  explicit ClObject(ClKind of);
};
struct ClPlatform : ClObject {
  ClPlatform() : ClObject(ClKind::PLATFORM) {}
};
struct ClDevice : ClObject {
  ClDevice() : ClObject(ClKind::DEVICE) {}
};
struct ClContext : ClObject {
  static constexpr Code INVALID = CL_INVALID_CONTEXT;
  static constexpr ClKind KIND = ClKind::CONTEXT;
  std::vector<intptr_t> properties;
  ClContext() : ClObject(KIND) {}
};
struct ClQueue : ClObject {
  static constexpr Code INVALID = CL_INVALID_COMMAND_QUEUE;
  static constexpr ClKind KIND = ClKind::QUEUE;
  ClContext* context;
  hipStream_t stream = nullptr;
  uint64_t properties = 0;
  explicit ClQueue(ClContext* of) : ClObject(KIND), context(of) {}
};
struct ClImage;
// A buffer, or the memory of an image.
struct ClBuffer : ClObject {
  static constexpr Code INVALID = CL_INVALID_MEM_OBJECT;
  static constexpr ClKind KIND = ClKind::BUFFER;
  ClContext* context;
  ClBuffer* parent = nullptr;  // of a sub-buffer
  uint64_t flags = 0;
  size_t size = 0, origin = 0;
  char* address = nullptr;  // on the device, and in this process
  char* host = nullptr;     // the program's memory that the buffer stands for (CL_MEM_USE_HOST_PTR)
  ClImage* image = nullptr;  // itself, if it is one
  struct Mapping {
    size_t offset, size;
    uint64_t flags;
    size_t origin[3] = {}, region[3] = {};  // of an image
  };
  std::multimap<void*, Mapping> mapped;
  explicit ClBuffer(ClContext* of) : ClObject(KIND), context(of) {}
};
struct ClImageFormat {
  unsigned order, type;
};
// Rows of a linear image, in slices or layers one after another. The layers of a 1D array are its rows.
struct ClImage : ClBuffer {
  ClImageFormat format{};
  unsigned type = 0;                                // CL_MEM_OBJECT_IMAGE...
  size_t element = 0, row = 0, slice = 0;           // bytes: of a texel, from row to row, from slice to slice
  size_t width = 0, height = 0, depth = 0, layers = 0;  // as the program gave them; 0: it has none
  size_t host_row = 0, host_slice = 0;              // of the program's memory that the image stands for
  void* words = nullptr;                            // what a kernel's argument points to
  explicit ClImage(ClContext* of) : ClBuffer(of) { image = this; }
  bool is_line_array() const { return layers && !height; }
  size_t extent(int axis) const {
    if (axis == 0) return width;
    size_t lines = is_line_array() ? layers : height, slices = is_line_array() ? 0 : depth + layers;
    return std::max<size_t>(axis == 1 ? lines : slices, 1);
  }
};
struct ClSampler : ClObject {
  static constexpr Code INVALID = CL_INVALID_SAMPLER;
  static constexpr ClKind KIND = ClKind::SAMPLER;
  ClContext* context;
  unsigned normalized, addressing, filter;
  void* words = nullptr;
  ClSampler(ClContext* of, unsigned n, unsigned a, unsigned f)
      : ClObject(KIND), context(of), normalized(n), addressing(a), filter(f) {}
};
struct ClProgram : ClObject {
  static constexpr Code INVALID = CL_INVALID_PROGRAM;
  static constexpr ClKind KIND = ClKind::PROGRAM;
  ClContext* context;
  std::string source, options, log, code;
  int status = -1;  // CL_BUILD_NONE; CL_BUILD_ERROR is -2, CL_BUILD_SUCCESS 0
  bool from_binary = false;
  unsigned binary_type = 0;  // CL_PROGRAM_BINARY_TYPE: none, compiled object, library, executable (ClProgram::OBJECT ...)
  static constexpr unsigned OBJECT = 1, LIBRARY = 2, EXECUTABLE = 4;
  hipModule_t module = nullptr;
  std::vector<std::string> kernels;
  std::atomic<unsigned> attached{0};  // kernel objects
  explicit ClProgram(ClContext* of) : ClObject(KIND), context(of) {}
};
struct ClKernel : ClObject {
  static constexpr Code INVALID = CL_INVALID_KERNEL;
  static constexpr ClKind KIND = ClKind::KERNEL;
  ClProgram* program;
  Function* function;
  struct Value {
    bool set = false;
    std::string bytes;
    size_t local = 0;  // bytes of local memory, for a pointer to such
  };
  std::vector<Value> values;
  ClKernel(ClProgram* of, Function* f) : ClObject(KIND), program(of), function(f), values(f->arguments.size()) {}
};
struct ClEvent : ClObject {
  static constexpr Code INVALID = CL_INVALID_EVENT;
  static constexpr ClKind KIND = ClKind::EVENT;
  static constexpr unsigned USER = 0x1204;  // CL_COMMAND_USER
  static constexpr int SUBMITTED = 2, QUEUED = 3;
  using Callback = void (*)(ClEvent*, int, void*);
  ClQueue* queue;  // null: a user event
  ClContext* context;
  unsigned command;
  // Above 0 until a user event is set, or a command that waits for one is done; errors are below 0.
  int status = 0;
  std::vector<std::pair<Callback, void*>> callbacks;  // of an event that is not complete
  ClEvent(ClQueue* of, unsigned what) : ClObject(KIND), queue(of), context(of->context), command(what) {}
  explicit ClEvent(ClContext* of) : ClObject(KIND), queue(nullptr), context(of), command(USER), status(SUBMITTED) {}
};

extern ClPlatform the_platform;
extern ClDevice the_device;

void release(ClContext* context);
void release(ClQueue* queue);
void release(ClBuffer* buffer);
void release(ClProgram* program);
void release(ClKernel* kernel);
void release(ClEvent* event);
void release(ClSampler* sampler);

template <typename T>
T* held(T* object) {
  object->held++;
  return object;
}
// An object that a command needs until it is done.
template <typename T>
std::shared_ptr<T> kept(T* object) {
  return {held(object), [](T* one) { release(one); }};
}
template <typename T>
bool valid(const T* object) {
  return object && object->kind == T::KIND;
}
template <typename T>
int retain_if_valid(T* object) {
  if (!valid(object)) return T::INVALID;
  object->held++;
  return CL_SUCCESS;
}
template <typename T>
int release_if_valid(T* object) {
  if (!valid(object)) return T::INVALID;
  release(object);
  return CL_SUCCESS;
}

int code_of(hipError_t error);  // as OpenCL says it

inline bool is_buffer(const ClBuffer* memory) { return valid(memory) && !memory->image; }

// --- what commands share
enum : uint64_t { USE_HOST_PTR = 8, ALLOC_HOST_PTR = 16, COPY_HOST_PTR = 32 };  // cl_mem_flags
constexpr size_t MOST_TEXELS = 1 << 14, MOST_LAYERS = 1 << 13;  // in x and y; in z, and layers: isa/image_resource.py
enum : uint64_t { MAP_READ = 1, MAP_WRITE = 2, MAP_WRITE_INVALIDATE = 4 };
enum Command : unsigned {
  NDRANGE = 0x11F0, TASK, READ = 0x11F3, WRITE, COPY, READ_IMAGE, WRITE_IMAGE, COPY_IMAGE, COPY_IMAGE_TO_BUFFER,
  COPY_BUFFER_TO_IMAGE, MAP, MAP_IMAGE, UNMAP, MARKER, READ_RECT = 0x1201, WRITE_RECT, COPY_RECT, BARRIER = 0x1205,
  MIGRATE, FILL, FILL_IMAGE
};
const char* image_type(const ClImage* image);  // in OpenCL C
// What is wrong with the flags of a memory object and the memory that the program gives for it.
int code_of_flags(uint64_t flags, const void* host);
bool within(const ClBuffer* buffer, size_t offset, size_t size);
// What is wrong with a command's queue and the events that it waits for.
int check_waits(ClQueue* queue, unsigned count, ClEvent* const* events);
// Does a command, once the queue's earlier ones and what it waits for are done; then at the latest it returns if it blocks.
int submit(ClQueue* queue, Command what, bool blocking, unsigned count, ClEvent* const* events, ClEvent** event,
           std::function<int()> act);
using Triple = std::array<size_t, 3>;  // an origin or a region, which the program may change after the call
inline Triple triple(const size_t* values) { return {values[0], values[1], values[2]}; }
// Bytes that the program itself has read or written in a mapped buffer: they have gone over the link.
void went_over_link(ClQueue* queue, size_t size, Copied way, bool blocking);
// Brings what the program wrote into a mapped image back, where it stands for the program's memory.
int unmap_image(ClQueue* queue, ClImage* image, const ClBuffer::Mapping& mapping);

// The result of a function that gives an object, and where it puts its code.
template <typename T>
T* made(T* object, int code, int* where) {
  if (where) *where = code;
  return object;
}

// How information is given: what is asked for, if there is place for it, and its size.
struct Wanted {
  size_t place;
  void* to;
  size_t* size;

  int bytes(const void* data, size_t n) const {
    if (to && place < n) return CL_INVALID_VALUE;
    if (to && n) memcpy(to, data, n);
    if (size) *size = n;
    return CL_SUCCESS;
  }
  int text(const std::string& s) const { return bytes(s.c_str(), s.size() + 1); }
  template <typename T>
  int value(T v) const {
    return bytes(&v, sizeof v);
  }
};
