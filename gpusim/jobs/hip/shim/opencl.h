// OpenCL's interface as far as gpusim has it, over the same device memory, modules, launches and streams as HIP's.
// Declared here and not taken from Khronos's headers, which need not be installed; values are those of CL/cl.h 3.0.
#pragma once
#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "code.h"

enum Code : int {
  CL_SUCCESS = 0,
  CL_DEVICE_NOT_FOUND = -1,
  CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
  CL_OUT_OF_RESOURCES = -5,
  CL_PROFILING_INFO_NOT_AVAILABLE = -7,
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
  CL_PLATFORM_NOT_FOUND = -1001,
};

// What a handle points to. The ICD's loader calls through the first member; kind tells a wrong handle.
enum class ClKind { PLATFORM, DEVICE, CONTEXT, QUEUE, BUFFER, PROGRAM, KERNEL, EVENT };
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
struct ClBuffer : ClObject {
  static constexpr Code INVALID = CL_INVALID_MEM_OBJECT;
  static constexpr ClKind KIND = ClKind::BUFFER;
  ClContext* context;
  ClBuffer* parent = nullptr;  // of a sub-buffer
  uint64_t flags = 0;
  size_t size = 0, origin = 0;
  char* address = nullptr;  // on the device, and in this process
  char* host = nullptr;     // the program's memory that the buffer stands for (CL_MEM_USE_HOST_PTR)
  struct Mapping {
    size_t offset, size;
    uint64_t flags;
  };
  std::multimap<void*, Mapping> mapped;
  explicit ClBuffer(ClContext* of) : ClObject(KIND), context(of) {}
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
  using Callback = void (*)(ClEvent*, int, void*);
  ClQueue* queue;  // null: a user event
  ClContext* context;
  unsigned command;
  int status = 0;  // of a user event: 2 (CL_SUBMITTED) until the program sets it to 0 or to an error
  std::vector<std::pair<Callback, void*>> callbacks;  // of a user event that is not complete
  ClEvent(ClQueue* of, unsigned what) : ClObject(KIND), queue(of), context(of->context), command(what) {}
  explicit ClEvent(ClContext* of) : ClObject(KIND), queue(nullptr), context(of), command(USER), status(2) {}
};

extern ClPlatform the_platform;
extern ClDevice the_device;

void release(ClContext* context);
void release(ClQueue* queue);
void release(ClBuffer* buffer);
void release(ClProgram* program);
void release(ClKernel* kernel);
void release(ClEvent* event);

template <typename T>
T* held(T* object) {
  object->held++;
  return object;
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
