// Streams and events. The simulator does what it is told in the order in which it is told, whatever the stream; when it
// would have happened on the simulated GPU, streams side by side, is the queue's business (gpusim/jobs/host/queue.py).
#include "streams.h"

#include "graph.h"

#include <atomic>
#include <cstdlib>

struct ihipStream_t {
  unsigned flags;
  int priority;
};
struct ihipEvent_t {
  std::atomic<bool> recorded{false};
  unsigned flags = 0;
};

namespace {
constexpr unsigned NON_BLOCKING = 1, DISABLE_TIMING = 2;

hipError_t create(hipStream_t* stream, unsigned flags, int priority) {
  CONNECT();
  if (!stream) return fail(hipErrorInvalidValue);
  *stream = new ihipStream_t{flags, priority};
  tell(Request(OP_NEW_STREAM).put(number(*stream)).put<uint32_t>(flags & NON_BLOCKING));
  return hipSuccess;
}

hipError_t synchronize(hipStream_t stream) {
  CONNECT();
  if (capturing(stream)) return fail(hipErrorStreamCaptureUnsupported);
  return fail(finish(number(stream)));
}

}  // namespace

hipError_t wait(hipStream_t stream, hipEvent_t event) {
  CONNECT();
  if (!event) return fail(hipErrorInvalidHandle);
  if (join_capture(stream, event)) return hipSuccess;
  if (capturing(stream)) return capture(stream, NodeType::WAIT_EVENT, [=](hipStream_t s) { return wait(s, event); });
  if (event->recorded) tell(Request(OP_WAIT).put(number(stream)).put<uint64_t>(uint64_t(event)));
  return hipSuccess;
}

// 1 and 2 are handles for the default stream, and for a thread's
uint64_t number(hipStream_t stream) { return uint64_t(stream) <= 2 ? 0 : uint64_t(stream); }

bool launches_block() {
  static const bool block = [] {
    const char* said = getenv("HIP_LAUNCH_BLOCKING");
    return said && atoi(said);
  }();
  return block;
}

hipError_t record(hipEvent_t event, hipStream_t stream) {
  CONNECT();
  if (!event) return fail(hipErrorInvalidHandle);
  if (capturing(stream)) {
    record_in_capture(event, stream);
    return hipSuccess;
  }
  event->recorded = true;
  tell(Request(OP_RECORD).put<uint64_t>(uint64_t(event)).put(number(stream)));
  return hipSuccess;
}

API hipError_t hipStreamCreate(hipStream_t* s) { return create(s, 0, 0); }
API hipError_t hipStreamCreateWithFlags(hipStream_t* s, unsigned flags) { return create(s, flags, 0); }
API hipError_t hipStreamCreateWithPriority(hipStream_t* s, unsigned flags, int priority) { return create(s, flags, priority); }
API hipError_t hipExtStreamCreateWithCUMask(hipStream_t* s, uint32_t, const uint32_t*) { return create(s, 0, 0); }
API hipError_t hipStreamDestroy(hipStream_t s) {
  CONNECT();
  if (!number(s)) return fail(hipErrorInvalidHandle);
  hipError_t error = settle();
  delete s;
  return fail(error);
}
API hipError_t hipStreamSynchronize(hipStream_t s) { return synchronize(s); }
API hipError_t hipStreamSynchronize_spt(hipStream_t s) { return synchronize(s); }
API hipError_t hipStreamQuery(hipStream_t s) { return synchronize(s); }  // asked again and again otherwise
API hipError_t hipStreamQuery_spt(hipStream_t s) { return synchronize(s); }
API hipError_t hipStreamWaitEvent(hipStream_t s, hipEvent_t e, unsigned) { return wait(s, e); }
API hipError_t hipStreamWaitEvent_spt(hipStream_t s, hipEvent_t e, unsigned) { return wait(s, e); }
API hipError_t hipStreamGetFlags(hipStream_t s, unsigned* flags) {
  if (!flags) return fail(hipErrorInvalidValue);
  *flags = number(s) ? s->flags : 0;
  return hipSuccess;
}
API hipError_t hipStreamGetFlags_spt(hipStream_t s, unsigned* flags) { return hipStreamGetFlags(s, flags); }
API hipError_t hipStreamGetPriority(hipStream_t s, int* priority) {
  if (!priority) return fail(hipErrorInvalidValue);
  *priority = number(s) ? s->priority : 0;
  return hipSuccess;
}
API hipError_t hipStreamGetPriority_spt(hipStream_t s, int* priority) { return hipStreamGetPriority(s, priority); }
API hipError_t hipStreamGetDevice(hipStream_t, hipDevice_t* number) {
  if (!number) return fail(hipErrorInvalidValue);
  *number = 0;
  return hipSuccess;
}
API int hipGetStreamDeviceId(hipStream_t) { return 0; }
API hipError_t hipStreamAttachMemAsync(hipStream_t, void*, size_t, unsigned) { return hipSuccess; }
API hipError_t hipStreamAddCallback(hipStream_t s, hipStreamCallback_t call, void* data, unsigned) {
  CONNECT();
  if (!call) return fail(hipErrorInvalidValue);
  call(s, finish(number(s)), data);
  return hipSuccess;
}
API hipError_t hipStreamAddCallback_spt(hipStream_t s, hipStreamCallback_t call, void* data, unsigned flags) {
  return hipStreamAddCallback(s, call, data, flags);
}
API hipError_t hipLaunchHostFunc(hipStream_t s, hipHostFn_t call, void* data) {
  CONNECT();
  if (!call) return fail(hipErrorInvalidValue);
  if (capturing(s)) return capture(s, NodeType::HOST, [=](hipStream_t on) { return hipLaunchHostFunc(on, call, data); });
  if (hipError_t error = finish(number(s))) return fail(error);
  call(data);
  return hipSuccess;
}
API hipError_t hipLaunchHostFunc_spt(hipStream_t s, hipHostFn_t call, void* data) { return hipLaunchHostFunc(s, call, data); }
API hipError_t hipEventCreateWithFlags(hipEvent_t* e, unsigned flags) {
  CONNECT();
  if (!e) return fail(hipErrorInvalidValue);
  *e = new ihipEvent_t;
  (*e)->flags = flags;
  return hipSuccess;
}
API hipError_t hipEventCreate(hipEvent_t* e) { return hipEventCreateWithFlags(e, 0); }
API hipError_t hipEventDestroy(hipEvent_t e) {
  if (!e) return fail(hipErrorInvalidHandle);
  delete e;
  return hipSuccess;
}
API hipError_t hipEventRecord(hipEvent_t e, hipStream_t s) { return record(e, s); }
API hipError_t hipEventRecord_spt(hipEvent_t e, hipStream_t s) { return record(e, s); }
API hipError_t hipEventRecordWithFlags(hipEvent_t e, hipStream_t s, unsigned) { return record(e, s); }
API hipError_t hipEventSynchronize(hipEvent_t e) {
  CONNECT();
  if (!e) return fail(hipErrorInvalidHandle);
  if (e->recorded) tell(Request(OP_EVENT_WAITED).put<uint64_t>(uint64_t(e)));
  return fail(settle());
}
API hipError_t hipEventQuery(hipEvent_t e) { return hipEventSynchronize(e); }
API hipError_t hipEventElapsedTime(float* ms, hipEvent_t from, hipEvent_t to) {
  CONNECT();
  if (!ms) return fail(hipErrorInvalidValue);
  if (!from || !to || !from->recorded || !to->recorded) return fail(hipErrorInvalidHandle);
  if ((from->flags | to->flags) & DISABLE_TIMING) return fail(hipErrorInvalidHandle);
  if (hipError_t error = settle()) return fail(error);
  Answer answer = ask(Request(OP_ELAPSED).put<uint64_t>(uint64_t(from)).put<uint64_t>(uint64_t(to)));
  *ms = answer.get<float>();
  return fail(answer.status);
}
