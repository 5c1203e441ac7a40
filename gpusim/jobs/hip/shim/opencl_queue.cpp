// OpenCL's queues, buffers, commands and events. A queue is a stream: its commands are done in the order of the calls, an
// event is the stream's work that the command was, whose times the simulated clock knows. A command that waits for a user
// event, and what comes after it in its queue, is done by the thread that sets the event.
#include <algorithm>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <list>
#include <mutex>
#include <tuple>

#include "launch.h"
#include "memory.h"
#include "opencl.h"
#include "streams.h"

API hipError_t hipMalloc(void** pointer, size_t size);
API hipError_t hipFreeAsync(void* pointer, hipStream_t stream);
API hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
API hipError_t hipStreamDestroy(hipStream_t stream);
API hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by,
                                        uint32_t bz, size_t lds, hipStream_t stream, void** params, void** extra,
                                        hipEvent_t before, hipEvent_t after, uint32_t flags);

namespace {
enum : uint64_t { OUT_OF_ORDER = 1, PROFILING = 2 };
enum : uint64_t { ACCESS_OF_KERNELS = 7, ACCESS_OF_HOST = 7 << 7 };
constexpr unsigned NON_BLOCKING = 1;  // of a stream: HIP's default stream does not wait for it
constexpr size_t ALIGNMENT = 256, LOCAL_ALIGNMENT = 16, MOST_WORK_ITEMS = 1024, CHOSEN_WORK_ITEMS = 256;

uint64_t handle(const void* object) { return reinterpret_cast<uint64_t>(object); }

// A command that waits for a user event, or for one that does.
struct Deferred {
  std::shared_ptr<ClEvent> event;
  std::vector<std::shared_ptr<ClEvent>> waits;
  std::function<int()> act;
};
// Of events that are not complete, and commands that are not done, in the order of the calls.
std::mutex states;
std::condition_variable state_changed;
std::list<Deferred> deferred;

bool has_deferred(const ClQueue* queue) {
  return std::any_of(deferred.begin(), deferred.end(), [=](const Deferred& one) { return one.event->queue == queue; });
}

int status_of(ClEvent* event) {
  std::lock_guard<std::mutex> locked(states);
  return event->status;
}

// Tells the simulated clock of the command that the queue was told of last, or of a command that is nothing but a time.
void mark(ClEvent* event) {
  bool timeless = event->command == MARKER || event->command == BARRIER || event->command == MIGRATE;
  tell(Request(timeless ? OP_RECORD : OP_COMMAND).put(handle(event)).put(number(event->queue->stream)));
}

void wait_for_others(ClQueue* queue, ClEvent* event) {
  if (event->queue && event->queue != queue) tell(Request(OP_WAIT).put(number(queue->stream)).put(handle(event)));
}

using Calls = std::vector<std::tuple<std::shared_ptr<ClEvent>, int, ClEvent::Callback, void*>>;

void set_status(const std::shared_ptr<ClEvent>& event, int status, Calls* calls) {
  event->status = status;
  for (auto [call, data] : event->callbacks) calls->push_back({event, status, call, data});
  event->callbacks.clear();
}

// The first command that waits for nothing any more.
std::list<Deferred>::iterator find_ready() {
  std::vector<const ClQueue*> before;
  for (auto one = deferred.begin(); one != deferred.end(); ++one) {
    bool first = std::find(before.begin(), before.end(), one->event->queue) == before.end();
    if (first && std::all_of(one->waits.begin(), one->waits.end(), [](auto& event) { return event->status <= 0; })) return one;
    before.push_back(one->event->queue);
  }
  return deferred.end();
}

void do_deferred(Calls* calls) {
  for (auto one = find_ready(); one != deferred.end(); one = find_ready()) {
    Deferred command = std::move(*one);
    deferred.erase(one);
    bool failed = std::any_of(command.waits.begin(), command.waits.end(), [](auto& event) { return event->status < 0; });
    for (auto& event : command.waits) wait_for_others(command.event->queue, event.get());
    int code = failed ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : command.act();
    if (!code) mark(command.event.get());
    set_status(command.event, code, calls);
  }
}
}  // namespace

bool within(const ClBuffer* buffer, size_t offset, size_t size) {
  return offset <= buffer->size && size <= buffer->size - offset;
}

int code_of_flags(uint64_t flags, const void* host) {
  if (flags & ~(ACCESS_OF_KERNELS | USE_HOST_PTR | ALLOC_HOST_PTR | COPY_HOST_PTR | ACCESS_OF_HOST) ||
      (flags & USE_HOST_PTR && flags & (ALLOC_HOST_PTR | COPY_HOST_PTR)))
    return CL_INVALID_VALUE;
  return !host != !(flags & (USE_HOST_PTR | COPY_HOST_PTR)) ? CL_INVALID_HOST_PTR : CL_SUCCESS;
}

int check_waits(ClQueue* queue, unsigned count, ClEvent* const* events) {
  if (!valid(queue)) return CL_INVALID_COMMAND_QUEUE;
  if (!count != !events) return CL_INVALID_EVENT_WAIT_LIST;
  for (unsigned i = 0; i < count; i++)
    if (!valid(events[i])) return CL_INVALID_EVENT_WAIT_LIST;
  for (unsigned i = 0; i < count; i++)
    if (status_of(events[i]) < 0) return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  return CL_SUCCESS;
}

int submit(ClQueue* queue, Command what, bool blocking, unsigned count, ClEvent* const* events, ClEvent** event,
           std::function<int()> act) {
  std::unique_lock<std::mutex> locked(states);
  bool waits = has_deferred(queue) || std::any_of(events, events + count, [](ClEvent* one) { return one->status > 0; });
  if (waits) {
    auto command = std::shared_ptr<ClEvent>(new ClEvent(held(queue), what), [](ClEvent* one) { release(one); });
    command->status = ClEvent::QUEUED;
    deferred.push_back({command, {}, std::move(act)});
    for (unsigned i = 0; i < count; i++) deferred.back().waits.push_back(kept(events[i]));
    if (event) *event = held(command.get());
    if (blocking) state_changed.wait(locked, [&] { return command->status <= 0; });
    return std::min(command->status, 0);
  }
  locked.unlock();
  for (unsigned i = 0; i < count; i++) wait_for_others(queue, events[i]);
  if (int code = act()) return code;
  if (event) mark(*event = new ClEvent(held(queue), what));
  return CL_SUCCESS;
}

void went_over_link(ClQueue* queue, size_t size, Copied way, bool blocking) {
  tell(Request(OP_COPIED).put(number(queue->stream)).put<uint64_t>(size).put<uint32_t>(way).put<uint32_t>(blocking));
}

namespace {
// A command that is nothing but a time in its queue.
int pass(ClQueue* queue, Command what, unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  return submit(queue, what, false, count, events, event, [] { return CL_SUCCESS; });
}

int finish_of(ClQueue* queue) {
  std::unique_lock<std::mutex> locked(states);
  state_changed.wait(locked, [=] { return !has_deferred(queue); });
  locked.unlock();
  return code_of(finish(number(queue->stream)));
}

int wait_for(ClEvent* event) {
  std::unique_lock<std::mutex> locked(states);
  state_changed.wait(locked, [=] { return event->status <= 0; });
  locked.unlock();
  if (!event->queue || event->status) return event->status;
  tell(Request(OP_EVENT_WAITED).put(handle(event)));
  return code_of(settle());
}

struct Rectangle {
  Triple origin, region;
  size_t row, slice;

  void complete() {
    if (!row) row = region[0];
    if (!slice) slice = region[1] * row;
  }
  size_t begin() const { return origin[2] * slice + origin[1] * row + origin[0]; }
  size_t span() const { return (region[2] - 1) * slice + (region[1] - 1) * row + region[0]; }
  bool usable() const {
    return region[0] && region[1] && region[2] && row >= region[0] && slice >= region[1] * row && slice % row == 0;
  }
};

// buffer: which side's bounds are known; null: memory of the program.
int copy_rectangle(ClQueue* queue, Command what, char* to, ClBuffer* to_buffer, Rectangle t, const char* from,
                   ClBuffer* from_buffer, Rectangle f, bool blocking, unsigned count, ClEvent* const* events, ClEvent** event) {
  t.complete(), f.complete();
  if (!t.usable() || !f.usable()) return CL_INVALID_VALUE;
  if (to_buffer && !within(to_buffer, t.begin(), t.span())) return CL_INVALID_VALUE;
  if (from_buffer && !within(from_buffer, f.begin(), f.span())) return CL_INVALID_VALUE;
  hipMemcpy3DParms how{};
  how.dstPtr = {to, t.row, t.region[0], t.slice / t.row};
  how.dstPos = {t.origin[0], t.origin[1], t.origin[2]};
  how.srcPtr = {const_cast<char*>(from), f.row, f.region[0], f.slice / f.row};
  how.srcPos = {f.origin[0], f.origin[1], f.origin[2]};
  how.extent = {t.region[0], t.region[1], t.region[2]};
  auto one = to_buffer ? kept(to_buffer) : nullptr, other = from_buffer ? kept(from_buffer) : nullptr;
  return submit(queue, what, blocking, count, events, event,
                [=, one = one, other = other] { return code_of(copy_3d(&how, queue->stream, blocking)); });
}

// The largest divisor of a number of work-items that is not larger than `most`.
size_t divisor(size_t items, size_t most) {
  for (size_t one = std::min(items, most); one > 1; one--)
    if (items % one == 0) return one;
  return 1;
}

// The argument block, and the bytes of local memory that its pointers share after the kernel's own.
int arguments_of(const ClKernel* kernel, const size_t offset[3], std::string* block, size_t* local) {
  const Function* f = kernel->function;
  block->assign(f->argument_bytes, '\0');
  size_t end = f->lds_bytes;
  for (size_t i = 0; i < kernel->values.size(); i++) {
    const ClKernel::Value& value = kernel->values[i];
    const Function::Argument& argument = f->arguments[i];
    if (!value.set) return CL_INVALID_KERNEL_ARGS;
    if (argument.kind != ARGUMENT_LOCAL) {
      memcpy(&(*block)[argument.offset], value.bytes.data(), std::min<size_t>(argument.size, value.bytes.size()));
      continue;
    }
    size_t alignment = std::max<size_t>(LOCAL_ALIGNMENT, argument.alignment);
    uint64_t start = (end + alignment - 1) / alignment * alignment;
    memcpy(&(*block)[argument.offset], &start, std::min<size_t>(argument.size, sizeof start));
    end = start + value.local;
  }
  *local = end - f->lds_bytes;
  for (int i = 0; i < 3; i++)  // a kernel without a place for it does not ask for it
    if (f->global_offsets[i] != NO_OFFSET) memcpy(&(*block)[f->global_offsets[i]], &offset[i], sizeof offset[i]);
  return CL_SUCCESS;
}

ClQueue* new_queue(ClContext* context, ClDevice* device, uint64_t properties, int* error) {
  if (!valid(context)) return made<ClQueue>(nullptr, CL_INVALID_CONTEXT, error);
  if (device != &the_device) return made<ClQueue>(nullptr, CL_INVALID_DEVICE, error);
  if (properties & OUT_OF_ORDER) complain("queues out of order are not supported: CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE");
  if (properties & ~PROFILING) return made<ClQueue>(nullptr, CL_INVALID_QUEUE_PROPERTIES, error);
  hipStream_t stream;
  if (hipError_t failed = hipStreamCreateWithFlags(&stream, NON_BLOCKING)) return made<ClQueue>(nullptr, code_of(failed), error);
  auto queue = new ClQueue(held(context));
  queue->stream = stream, queue->properties = properties;
  return made(queue, CL_SUCCESS, error);
}
}  // namespace

void release(ClQueue* queue) {
  if (--queue->held) return;
  hipStreamDestroy(queue->stream);
  release(queue->context);
  delete queue;
}

void release(ClBuffer* buffer) {
  if (--buffer->held) return;
  if (buffer->parent) release(buffer->parent);
  else hipFreeAsync(buffer->address, nullptr);
  if (buffer->image) hipFreeAsync(buffer->image->words, nullptr);
  release(buffer->context);
  if (buffer->image) delete buffer->image;
  else delete buffer;
}

void release(ClEvent* event) {
  if (--event->held) return;
  if (event->queue) release(event->queue);
  else release(event->context);
  delete event;
}

// --- queues
API ClQueue* clCreateCommandQueue(ClContext* context, ClDevice* device, uint64_t properties, int* error) {
  return new_queue(context, device, properties, error);
}
API ClQueue* clCreateCommandQueueWithProperties(ClContext* context, ClDevice* device, const uint64_t* properties, int* error) {
  uint64_t wanted = 0;
  for (; properties && *properties; properties += 2) {
    if (properties[0] != 0x1093) return made<ClQueue>(nullptr, CL_INVALID_VALUE, error);  // CL_QUEUE_PROPERTIES alone
    wanted = properties[1];
  }
  return new_queue(context, device, wanted, error);
}
API int clRetainCommandQueue(ClQueue* q) { return retain_if_valid(q); }
API int clReleaseCommandQueue(ClQueue* q) { return release_if_valid(q); }
API int clGetCommandQueueInfo(ClQueue* queue, unsigned name, size_t place, void* to, size_t* size) {
  if (!valid(queue)) return CL_INVALID_COMMAND_QUEUE;
  Wanted wanted{place, to, size};
  switch (name) {
    case 0x1090: return wanted.value<ClContext*>(queue->context);
    case 0x1091: return wanted.value<ClDevice*>(&the_device);
    case 0x1092: return wanted.value<unsigned>(queue->held);
    case 0x1093: return wanted.value<uint64_t>(queue->properties);
    default: return CL_INVALID_VALUE;
  }
}
API int clFlush(ClQueue* q) { return valid(q) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE; }
API int clFinish(ClQueue* q) { return valid(q) ? finish_of(q) : CL_INVALID_COMMAND_QUEUE; }

// --- buffers
API ClBuffer* clCreateBuffer(ClContext* context, uint64_t flags, size_t size, void* host, int* error) {
  if (!valid(context)) return made<ClBuffer>(nullptr, CL_INVALID_CONTEXT, error);
  if (!size || size > device().capacity) return made<ClBuffer>(nullptr, CL_INVALID_BUFFER_SIZE, error);
  if (int wrong = code_of_flags(flags, host)) return made<ClBuffer>(nullptr, wrong, error);
  void* address;
  if (hipError_t failed = hipMalloc(&address, size)) return made<ClBuffer>(nullptr, code_of(failed), error);
  auto buffer = new ClBuffer(held(context));
  buffer->flags = flags, buffer->size = size;
  buffer->address = static_cast<char*>(address);
  buffer->host = flags & USE_HOST_PTR ? static_cast<char*>(host) : nullptr;
  if (!host) return made(buffer, CL_SUCCESS, error);
  int code = code_of(copy(address, host, size, nullptr, true));
  if (!code) return made(buffer, code, error);
  release(buffer);
  return made<ClBuffer>(nullptr, code, error);
}
API ClBuffer* clCreateSubBuffer(ClBuffer* parent, uint64_t flags, unsigned kind, const void* region, int* error) {
  if (!is_buffer(parent) || parent->parent) return made<ClBuffer>(nullptr, CL_INVALID_MEM_OBJECT, error);
  if (kind != 0x1220 || !region) return made<ClBuffer>(nullptr, CL_INVALID_VALUE, error);  // CL_BUFFER_CREATE_TYPE_REGION
  auto [origin, size] = *static_cast<const std::pair<size_t, size_t>*>(region);
  if (!size) return made<ClBuffer>(nullptr, CL_INVALID_BUFFER_SIZE, error);
  if (!within(parent, origin, size)) return made<ClBuffer>(nullptr, CL_INVALID_VALUE, error);
  if (origin % ALIGNMENT) return made<ClBuffer>(nullptr, CL_MISALIGNED_SUB_BUFFER_OFFSET, error);
  auto buffer = new ClBuffer(held(parent->context));
  buffer->parent = held(parent);
  buffer->flags = flags ? flags : parent->flags;
  buffer->size = size, buffer->origin = origin;
  buffer->address = parent->address + origin;
  buffer->host = parent->host ? parent->host + origin : nullptr;
  return made(buffer, CL_SUCCESS, error);
}
API int clRetainMemObject(ClBuffer* b) { return retain_if_valid(b); }
API int clReleaseMemObject(ClBuffer* b) { return release_if_valid(b); }
API int clGetMemObjectInfo(ClBuffer* buffer, unsigned name, size_t place, void* to, size_t* size) {
  if (!valid(buffer)) return CL_INVALID_MEM_OBJECT;
  Wanted wanted{place, to, size};
  switch (name) {
    case 0x1100: return wanted.value<unsigned>(buffer->image ? buffer->image->type : 0x10F0);  // CL_MEM_OBJECT_BUFFER
    case 0x1101: return wanted.value<uint64_t>(buffer->flags);
    case 0x1102: return wanted.value<size_t>(buffer->size);
    case 0x1103: return wanted.value<void*>(buffer->host);
    case 0x1104: return wanted.value<unsigned>(buffer->mapped.size());
    case 0x1105: return wanted.value<unsigned>(buffer->held);
    case 0x1106: return wanted.value<ClContext*>(buffer->context);
    case 0x1107: return wanted.value<ClBuffer*>(buffer->parent);
    case 0x1108: return wanted.value<size_t>(buffer->origin);
    default: return CL_INVALID_VALUE;
  }
}

// --- copies
API int clEnqueueReadBuffer(ClQueue* queue, ClBuffer* buffer, unsigned blocking, size_t offset, size_t size, void* to,
                            unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  if (!is_buffer(buffer)) return CL_INVALID_MEM_OBJECT;
  if (!to || !within(buffer, offset, size)) return CL_INVALID_VALUE;
  return submit(queue, READ, blocking, count, events, event, [=, memory = kept(buffer)] {
    return code_of(copy(to, memory->address + offset, size, queue->stream, blocking));
  });
}
API int clEnqueueWriteBuffer(ClQueue* queue, ClBuffer* buffer, unsigned blocking, size_t offset, size_t size,
                             const void* from, unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  if (!is_buffer(buffer)) return CL_INVALID_MEM_OBJECT;
  if (!from || !within(buffer, offset, size)) return CL_INVALID_VALUE;
  return submit(queue, WRITE, blocking, count, events, event, [=, memory = kept(buffer)] {
    return code_of(copy(memory->address + offset, from, size, queue->stream, blocking));
  });
}
API int clEnqueueCopyBuffer(ClQueue* queue, ClBuffer* from, ClBuffer* to, size_t from_offset, size_t to_offset, size_t size,
                            unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  if (!is_buffer(from) || !is_buffer(to)) return CL_INVALID_MEM_OBJECT;
  if (!within(from, from_offset, size) || !within(to, to_offset, size)) return CL_INVALID_VALUE;
  return submit(queue, COPY, false, count, events, event, [=, source = kept(from), target = kept(to)] {
    return code_of(copy(target->address + to_offset, source->address + from_offset, size, queue->stream, false));
  });
}
API int clEnqueueReadBufferRect(ClQueue* queue, ClBuffer* buffer, unsigned blocking, const size_t* origin,
                                const size_t* host_origin, const size_t* region, size_t row, size_t slice, size_t host_row,
                                size_t host_slice, void* to, unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  if (!is_buffer(buffer)) return CL_INVALID_MEM_OBJECT;
  if (!to || !origin || !host_origin || !region) return CL_INVALID_VALUE;
  return copy_rectangle(queue, READ_RECT, static_cast<char*>(to), nullptr,
                        {triple(host_origin), triple(region), host_row, host_slice}, buffer->address, buffer,
                        {triple(origin), triple(region), row, slice}, blocking, count, events, event);
}
API int clEnqueueWriteBufferRect(ClQueue* queue, ClBuffer* buffer, unsigned blocking, const size_t* origin,
                                 const size_t* host_origin, const size_t* region, size_t row, size_t slice, size_t host_row,
                                 size_t host_slice, const void* from, unsigned count, ClEvent* const* events,
                                 ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  if (!is_buffer(buffer)) return CL_INVALID_MEM_OBJECT;
  if (!from || !origin || !host_origin || !region) return CL_INVALID_VALUE;
  return copy_rectangle(queue, WRITE_RECT, buffer->address, buffer, {triple(origin), triple(region), row, slice},
                        static_cast<const char*>(from), nullptr,
                        {triple(host_origin), triple(region), host_row, host_slice}, blocking, count, events, event);
}
API int clEnqueueCopyBufferRect(ClQueue* queue, ClBuffer* from, ClBuffer* to, const size_t* from_origin,
                                const size_t* to_origin, const size_t* region, size_t from_row, size_t from_slice,
                                size_t to_row, size_t to_slice, unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  if (!is_buffer(from) || !is_buffer(to)) return CL_INVALID_MEM_OBJECT;
  if (!from_origin || !to_origin || !region) return CL_INVALID_VALUE;
  return copy_rectangle(queue, COPY_RECT, to->address, to, {triple(to_origin), triple(region), to_row, to_slice},
                        from->address, from, {triple(from_origin), triple(region), from_row, from_slice}, false, count,
                        events, event);
}
API int clEnqueueFillBuffer(ClQueue* queue, ClBuffer* buffer, const void* pattern, size_t width, size_t offset, size_t size,
                            unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  if (!is_buffer(buffer)) return CL_INVALID_MEM_OBJECT;
  if (!pattern || !width || width > 128 || width & (width - 1) || offset % width || size % width || !within(buffer, offset, size))
    return CL_INVALID_VALUE;
  std::string bytes(static_cast<const char*>(pattern), width);
  return submit(queue, FILL, false, count, events, event, [=, memory = kept(buffer)] {
    return code_of(fill(memory->address + offset, bytes.data(), width, size / width, queue->stream, false));
  });
}
// Memory of the device is memory of this process: what is mapped is the buffer itself, or a copy in the program's memory
// that it stands for. As on a card, the bytes go over the link where one of both sides reads what the other wrote.
API void* clEnqueueMapBuffer(ClQueue* queue, ClBuffer* buffer, unsigned blocking, uint64_t flags, size_t offset, size_t size,
                             unsigned count, ClEvent* const* events, ClEvent** event, int* error) {
  if (int code = check_waits(queue, count, events)) return made<void>(nullptr, code, error);
  if (!is_buffer(buffer)) return made<void>(nullptr, CL_INVALID_MEM_OBJECT, error);
  if (!size || !within(buffer, offset, size) || flags & ~(MAP_READ | MAP_WRITE | MAP_WRITE_INVALIDATE))
    return made<void>(nullptr, CL_INVALID_VALUE, error);
  char *device_bytes = buffer->address + offset, *bytes = buffer->host ? buffer->host + offset : device_bytes;
  int code = submit(queue, MAP, blocking, count, events, event, [=, memory = kept(buffer)] {
    if (memory->host && !(flags & MAP_WRITE_INVALIDATE)) return code_of(copy(bytes, device_bytes, size, queue->stream, blocking));
    int settled = code_of(settle());
    if (!settled && !(flags & MAP_WRITE_INVALIDATE)) went_over_link(queue, size, COPIED_FROM_DEVICE, blocking);
    return settled;
  });
  if (code) return made<void>(nullptr, code, error);
  buffer->mapped.insert({bytes, {offset, size, flags, {}, {}}});
  return made<void>(bytes, CL_SUCCESS, error);
}
API int clEnqueueUnmapMemObject(ClQueue* queue, ClBuffer* buffer, void* bytes, unsigned count, ClEvent* const* events,
                                ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  if (!valid(buffer)) return CL_INVALID_MEM_OBJECT;
  auto found = buffer->mapped.find(bytes);
  if (found == buffer->mapped.end()) return CL_INVALID_VALUE;
  const ClBuffer::Mapping mapping = found->second;
  buffer->mapped.erase(found);
  return submit(queue, UNMAP, false, count, events, event, [=, memory = kept(buffer)]() -> int {
    if (!(mapping.flags & (MAP_WRITE | MAP_WRITE_INVALIDATE))) return CL_SUCCESS;
    if (memory->host && memory->image) return unmap_image(queue, memory->image, mapping);
    if (memory->host) return code_of(copy(memory->address + mapping.offset, bytes, mapping.size, queue->stream, false));
    went_over_link(queue, mapping.size, COPIED_TO_DEVICE, false);
    return CL_SUCCESS;
  });
}
API int clEnqueueMigrateMemObjects(ClQueue* queue, unsigned buffers, ClBuffer* const* list, uint64_t, unsigned count,
                                   ClEvent* const* events, ClEvent** event) {
  if (!buffers || !list) return CL_INVALID_VALUE;
  return pass(queue, MIGRATE, count, events, event);  // there is one device, which has them all
}

// --- launches
static int launch_range(Command what, ClQueue* queue, ClKernel* kernel, unsigned dimensions, const size_t* offset,
                        const size_t* global, const size_t* local, unsigned count, ClEvent* const* events, ClEvent** event) {
  if (int code = check_waits(queue, count, events)) return code;
  if (!valid(kernel)) return CL_INVALID_KERNEL;
  if (!dimensions || dimensions > 3) return CL_INVALID_WORK_DIMENSION;
  if (!global) return CL_INVALID_GLOBAL_WORK_SIZE;
  const Function* f = kernel->function;
  size_t items[3] = {1, 1, 1}, group[3] = {1, 1, 1}, first[3] = {};
  size_t most = f->most_threads ? f->most_threads : MOST_WORK_ITEMS, left = std::min(most, CHOSEN_WORK_ITEMS), all = 1;
  for (unsigned i = 0; i < dimensions; i++) {
    items[i] = global[i];
    if (!items[i] || items[i] > UINT32_MAX) return CL_INVALID_GLOBAL_WORK_SIZE;
    if (offset) first[i] = offset[i];
    if (first[i] > SIZE_MAX - items[i]) return CL_INVALID_GLOBAL_OFFSET;
    group[i] = local ? local[i] : f->required[0] ? f->required[i] : divisor(items[i], left);
    if (!group[i] || items[i] % group[i] || (f->required[0] && group[i] != f->required[i])) return CL_INVALID_WORK_GROUP_SIZE;
    all *= group[i];
    if (all > most) return CL_INVALID_WORK_GROUP_SIZE;
    left = std::max<size_t>(left / group[i], 1);
  }
  std::string block;
  size_t local_bytes;
  if (int code = arguments_of(kernel, first, &block, &local_bytes)) return code;
  Triple n = triple(items), g = triple(group);
  return submit(queue, what, false, count, events, event, [=, code = kept(kernel)]() mutable {
    size_t size = block.size();
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &block[0], HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    auto function = reinterpret_cast<hipFunction_t>(code->function);
    return code_of(hipExtModuleLaunchKernel(function, n[0], n[1], n[2], g[0], g[1], g[2], local_bytes, queue->stream, nullptr,
                                            extra, nullptr, nullptr, 0));
  });
}
API int clEnqueueNDRangeKernel(ClQueue* queue, ClKernel* kernel, unsigned dimensions, const size_t* offset,
                               const size_t* global, const size_t* local, unsigned count, ClEvent* const* events,
                               ClEvent** event) {
  return launch_range(NDRANGE, queue, kernel, dimensions, offset, global, local, count, events, event);
}
API int clEnqueueTask(ClQueue* queue, ClKernel* kernel, unsigned count, ClEvent* const* events, ClEvent** event) {
  const size_t one = 1;
  return launch_range(TASK, queue, kernel, 1, nullptr, &one, &one, count, events, event);
}

// --- events
API int clEnqueueMarkerWithWaitList(ClQueue* q, unsigned count, ClEvent* const* events, ClEvent** event) {
  return pass(q, MARKER, count, events, event);
}
API int clEnqueueBarrierWithWaitList(ClQueue* q, unsigned count, ClEvent* const* events, ClEvent** event) {
  return pass(q, BARRIER, count, events, event);
}
API int clEnqueueMarker(ClQueue* q, ClEvent** event) { return event ? pass(q, MARKER, 0, nullptr, event) : CL_INVALID_VALUE; }
API int clEnqueueBarrier(ClQueue* q) { return pass(q, BARRIER, 0, nullptr, nullptr); }
API int clEnqueueWaitForEvents(ClQueue* q, unsigned count, ClEvent* const* events) {
  return count ? pass(q, MARKER, count, events, nullptr) : CL_INVALID_VALUE;
}
API int clWaitForEvents(unsigned count, ClEvent* const* events) {
  if (!count || !events) return CL_INVALID_VALUE;
  for (unsigned i = 0; i < count; i++)
    if (!valid(events[i])) return CL_INVALID_EVENT;
  for (unsigned i = 0; i < count; i++)
    if (wait_for(events[i])) return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  return CL_SUCCESS;
}
API ClEvent* clCreateUserEvent(ClContext* context, int* error) {
  if (!valid(context)) return made<ClEvent>(nullptr, CL_INVALID_CONTEXT, error);
  return made(new ClEvent(held(context)), CL_SUCCESS, error);
}
API int clSetUserEventStatus(ClEvent* event, int status) {
  if (!valid(event) || event->queue) return CL_INVALID_EVENT;
  if (status > 0) return CL_INVALID_VALUE;
  Calls calls;
  {
    std::lock_guard<std::mutex> locked(states);
    if (event->status <= 0) return CL_INVALID_OPERATION;
    set_status(kept(event), status, &calls);
    do_deferred(&calls);
  }
  state_changed.notify_all();
  for (auto& [one, reached, call, data] : calls) call(one.get(), reached, data);
  return CL_SUCCESS;
}
API int clRetainEvent(ClEvent* e) { return retain_if_valid(e); }
API int clReleaseEvent(ClEvent* e) { return release_if_valid(e); }
API int clGetEventInfo(ClEvent* event, unsigned name, size_t place, void* to, size_t* size) {
  if (!valid(event)) return CL_INVALID_EVENT;
  Wanted wanted{place, to, size};
  switch (name) {
    case 0x11D0: return wanted.value<ClQueue*>(event->queue);
    case 0x11D1: return wanted.value<unsigned>(event->command);
    case 0x11D2: return wanted.value<unsigned>(event->held);
    case 0x11D3:
      if (int status = status_of(event); status || !event->queue) return wanted.value<int>(status);
      return wanted.value<int>(wait_for(event));  // asked again and again otherwise: CL_COMPLETE is 0
    case 0x11D4: return wanted.value<ClContext*>(event->context);
    default: return CL_INVALID_VALUE;
  }
}
API int clSetEventCallback(ClEvent* event, int status, void (*call)(ClEvent*, int, void*), void* data) {
  if (!valid(event)) return CL_INVALID_EVENT;
  if (!call || status < 0 || status > 2) return CL_INVALID_VALUE;
  if (event->queue || status < ClEvent::SUBMITTED) {  // which a user event is from the start
    std::lock_guard<std::mutex> locked(states);
    if (event->status > 0) {
      event->callbacks.push_back({call, data});
      return CL_SUCCESS;
    }
  }
  int code = event->queue ? wait_for(event) : std::min(status_of(event), 0);
  call(event, code ? code : status, data);
  return CL_SUCCESS;
}
API int clGetEventProfilingInfo(ClEvent* event, unsigned name, size_t place, void* to, size_t* size) {
  if (!valid(event)) return CL_INVALID_EVENT;
  if (name < 0x1280 || name > 0x1284) return CL_INVALID_VALUE;
  if (!event->queue || !(event->queue->properties & PROFILING) || status_of(event) || settle()) return CL_PROFILING_INFO_NOT_AVAILABLE;
  Answer answer = ask(Request(OP_TIMES).put(handle(event)));
  uint64_t times[5];
  for (int i = 0; i < 4; i++) times[i] = answer.get<uint64_t>();
  times[4] = times[3];  // CL_PROFILING_COMMAND_COMPLETE: no command starts others
  return Wanted{place, to, size}.value<uint64_t>(times[name - 0x1280]);
}
