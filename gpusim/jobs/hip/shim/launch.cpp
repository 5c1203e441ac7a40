// Launches: arguments packed as the kernel's metadata says, then told to the simulator without waiting.
#include "launch.h"

#include <array>
#include <vector>

#include "code.h"
#include "python.h"
#include "streams.h"

namespace {
constexpr uint32_t MOST_THREADS = 1024;

struct Configuration {
  dim3 grid, block;
  size_t lds;
  hipStream_t stream;
  std::string arguments;  // of the launch interface before ROCm 3, one call each
};
thread_local std::vector<Configuration> configurations;

// The argument block that `extra` points to; its size is the caller's.
hipError_t block_of(void** extra, std::string* block) {
  const void* data = nullptr;
  size_t size = 0;
  for (; *extra != HIP_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == HIP_LAUNCH_PARAM_BUFFER_POINTER) data = extra[1];
    else if (*extra == HIP_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t*>(extra[1]);
    else return hipErrorInvalidValue;
  }
  if (size && !data) return hipErrorInvalidValue;
  if (size > block->size()) block->resize(size);
  memcpy(&(*block)[0], data, size);
  return hipSuccess;
}

// Whether the GPU can run the kernel in workgroups of this size at all; most: how many of these at a time. Asked once.
hipError_t runnable(Function* f, dim3 block, size_t lds, uint32_t* most) {
  if (lds > UINT32_MAX) return hipErrorLaunchOutOfResources;
  std::array<uint32_t, 4> key{block.x, block.y, block.z, uint32_t(lds)};
  auto found = f->fits.find(key);
  if (found == f->fits.end()) {
    Request request(OP_PREPARE);
    request.put(f->id).put(block).put(uint32_t(lds));
    Answer answer = ask(request);
    if (answer.status) return answer.status;
    found = f->fits.insert({key, answer.get<uint32_t>()}).first;
  }
  *most = found->second;
  return hipSuccess;
}

// The launch with its arguments as they are now. grid: in work-items, as the device counts them.
hipError_t prepare(Function* f, const uint64_t grid[3], dim3 block, size_t lds, void** params, void** extra, Work* work) {
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  for (int i = 0; i < 3; i++)
    if (!grid[i] || grid[i] > UINT32_MAX) return fail(hipErrorInvalidConfiguration);
  if (!threads || threads > MOST_THREADS) return fail(hipErrorInvalidConfiguration);
  if (f->most_threads && threads > f->most_threads) return fail(hipErrorLaunchFailure);
  uint32_t most;
  if (hipError_t error = runnable(f, block, lds, &most)) return fail(error);
  std::string arguments(f->argument_bytes, '\0');
  if (params) {
    for (size_t i = 0; i < f->arguments.size(); i++)
      memcpy(&arguments[f->arguments[i].offset], params[i], f->arguments[i].size);
  } else if (extra) {
    if (hipError_t error = block_of(extra, &arguments)) return fail(error);
  } else if (!f->arguments.empty()) {
    return fail(hipErrorInvalidValue);
  }
  Request rest(OP_LAUNCH);
  for (int i = 0; i < 3; i++) rest.put<uint32_t>(grid[i]);
  rest.put(block).put<uint32_t>(lds).put(python_line()).bytes(arguments.data(), arguments.size());
  *work = [id = f->id, body = std::move(rest.body)](hipStream_t stream) {
    Request request(OP_LAUNCH);
    request.put(id).put(number(stream)).bytes(body.data(), body.size());
    start(request);
    return launches_block() ? fail(finish()) : hipSuccess;
  };
  return hipSuccess;
}

hipError_t launch(Function* f, const uint64_t grid[3], dim3 block, size_t lds, hipStream_t stream, void** params, void** extra) {
  Work work;
  if (hipError_t error = prepare(f, grid, block, lds, params, extra, &work)) return error;
  hipError_t error = capturing(stream) ? capture(stream, NodeType::KERNEL, work) : work(stream);
  // AMD's hipGetLastError, up to ROCm 6, says what the last call returned: an error before a launch is gone after it
  if (!error) take_last_error(false);
  return error;
}

std::array<uint64_t, 3> in_items(dim3 grid, dim3 block) {
  return {uint64_t(grid.x) * block.x, uint64_t(grid.y) * block.y, uint64_t(grid.z) * block.z};
}

hipError_t launch_blocks(Function* f, dim3 grid, dim3 block, size_t lds, hipStream_t stream, void** params, void** extra) {
  return launch(f, in_items(grid, block).data(), block, lds, stream, params, extra);
}

hipError_t launch_host(const void* host, dim3 grid, dim3 block, void** args, size_t lds, hipStream_t stream) {
  CONNECT();
  hipError_t error;
  Function* f = function_of(host, &error);
  return f ? launch_blocks(f, grid, block, lds, stream, args, nullptr) : fail(error);
}

// All workgroups of a cooperative launch are resident at once, or it is refused.
hipError_t cooperative(Function* f, dim3 grid, dim3 block, size_t lds) {
  uint64_t threads = uint64_t(block.x) * block.y * block.z, workgroups = uint64_t(grid.x) * grid.y * grid.z;
  if (!threads || threads > MOST_THREADS || !workgroups) return fail(hipErrorInvalidConfiguration);
  uint32_t most;
  if (hipError_t error = runnable(f, block, lds, &most)) return fail(error);
  if (workgroups <= most) return hipSuccess;
  complain("a cooperative launch of %s with %zu workgroups: the GPU holds %u of them at a time", f->name.c_str(),
           size_t(workgroups), most);
  return fail(hipErrorCooperativeLaunchTooLarge);
}

hipError_t launch_cooperative(const void* host, dim3 grid, dim3 block, void** args, size_t lds, hipStream_t stream) {
  CONNECT();
  hipError_t error;
  Function* f = function_of(host, &error);
  if (!f) return fail(error);
  if ((error = cooperative(f, grid, block, lds))) return error;
  return launch_blocks(f, grid, block, lds, stream, args, nullptr);
}

// Of what a launch asks for, being cooperative decides whether it can be; priorities and cache policies are hints. These
// GPUs have no clusters of workgroups.
hipError_t launch_asked(Function* f, dim3 grid, dim3 block, size_t lds, hipStream_t stream, const hipLaunchAttribute* asked,
                        unsigned count, void** params, void** extra) {
  for (unsigned i = 0; i < count; ++i) {
    const auto& value = asked[i].value;
    bool one = value.cluster[0] <= 1 && value.cluster[1] <= 1 && value.cluster[2] <= 1;
    if (asked[i].id == LAUNCH_CLUSTER && !one) return fail(hipErrorNotSupported);
    if (asked[i].id != hipLaunchAttributeCooperative || !value.cooperative) continue;
    if (hipError_t error = cooperative(f, grid, block, lds)) return error;
  }
  return launch_blocks(f, grid, block, lds, stream, params, extra);
}
}  // namespace

hipError_t kernel_work(const void* host, dim3 grid, dim3 block, void** params, void** extra, size_t lds, Work* work) {
  CONNECT();
  hipError_t error;
  Function* f = function_of_node(host, &error);
  return f ? prepare(f, in_items(grid, block).data(), block, lds, params, extra, work) : fail(error);
}

// --- kernels of the program itself
API hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t lds, hipStream_t stream) {
  configurations.push_back({grid, block, lds, stream, {}});
  return hipSuccess;
}
API hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* lds, hipStream_t* stream) {
  if (configurations.empty()) return fail(hipErrorMissingConfiguration);
  const Configuration& c = configurations.back();
  *grid = c.grid, *block = c.block, *lds = c.lds, *stream = c.stream;
  configurations.pop_back();
  return hipSuccess;
}
API hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t lds, hipStream_t stream) {
  return __hipPushCallConfiguration(grid, block, lds, stream);
}
API hipError_t hipSetupArgument(const void* argument, size_t size, size_t offset) {
  if (configurations.empty()) return fail(hipErrorMissingConfiguration);
  std::string& block = configurations.back().arguments;
  if (block.size() < offset + size) block.resize(offset + size);
  memcpy(&block[offset], argument, size);
  return hipSuccess;
}
API hipError_t hipLaunchByPtr(const void* host) {
  CONNECT();
  if (configurations.empty()) return fail(hipErrorMissingConfiguration);
  Configuration c = configurations.back();
  configurations.pop_back();
  hipError_t error;
  Function* f = function_of(host, &error);
  if (!f) return fail(error);
  size_t size = c.arguments.size();
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &c.arguments[0], HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  return launch_blocks(f, c.grid, c.block, c.lds, c.stream, nullptr, extra);
}
API hipError_t hipLaunchKernel(const void* host, dim3 grid, dim3 block, void** args, size_t lds, hipStream_t stream) {
  return launch_host(host, grid, block, args, lds, stream);
}
API hipError_t hipLaunchKernel_spt(const void* host, dim3 grid, dim3 block, void** args, size_t lds, hipStream_t stream) {
  return launch_host(host, grid, block, args, lds, stream);
}
API hipError_t hipLaunchKernelExC(const hipLaunchConfig_t* c, const void* host, void** args) {
  CONNECT();
  if (!c) return fail(hipErrorInvalidValue);
  hipError_t error;
  Function* f = function_of(host, &error);
  if (!f) return fail(error);
  return launch_asked(f, c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream, c->attrs, c->numAttrs, args, nullptr);
}
API hipError_t hipExtLaunchKernel(const void* host, dim3 grid, dim3 block, void** args, size_t lds, hipStream_t stream,
                                  hipEvent_t before, hipEvent_t after, int) {
  if (before) record(before, stream);
  hipError_t error = launch_host(host, grid, block, args, lds, stream);
  if (after) record(after, stream);
  return error;
}
API hipError_t hipLaunchCooperativeKernel(const void* host, dim3 grid, dim3 block, void** args, unsigned lds, hipStream_t stream) {
  return launch_cooperative(host, grid, block, args, lds, stream);
}
API hipError_t hipLaunchCooperativeKernel_spt(const void* host, dim3 grid, dim3 block, void** args, uint32_t lds, hipStream_t stream) {
  return launch_cooperative(host, grid, block, args, lds, stream);
}
API hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams* list, int count, unsigned) {
  if (!list || count != 1) return fail(hipErrorInvalidValue);  // there is one device
  return launch_cooperative(list->func, list->gridDim, list->blockDim, list->args, list->sharedMem, list->stream);
}
API hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams* list, int count, unsigned) {
  if (!list || count != 1) return fail(hipErrorInvalidValue);
  return launch_host(list->func, list->gridDim, list->blockDim, list->args, list->sharedMem, list->stream);
}

// --- kernels of modules
API hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                     unsigned bz, unsigned lds, hipStream_t stream, void** params, void** extra) {
  CONNECT();
  if (!f) return fail(hipErrorInvalidHandle);
  return launch_blocks(reinterpret_cast<Function*>(f), {gx, gy, gz}, {bx, by, bz}, lds, stream, params, extra);
}
API hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                                unsigned by, unsigned bz, unsigned lds, hipStream_t stream, void** params) {
  CONNECT();
  if (!f) return fail(hipErrorInvalidHandle);
  auto function = reinterpret_cast<Function*>(f);
  if (hipError_t error = cooperative(function, {gx, gy, gz}, {bx, by, bz}, lds)) return error;
  return launch_blocks(function, {gx, gy, gz}, {bx, by, bz}, lds, stream, params, nullptr);
}
API hipError_t hipDrvLaunchKernelEx(const HIP_LAUNCH_CONFIG* c, hipFunction_t f, void** params, void** extra) {
  CONNECT();
  if (!c || !f) return fail(c ? hipErrorInvalidHandle : hipErrorInvalidValue);
  dim3 grid{c->gridDimX, c->gridDimY, c->gridDimZ}, block{c->blockDimX, c->blockDimY, c->blockDimZ};
  return launch_asked(reinterpret_cast<Function*>(f), grid, block, c->sharedMemBytes, c->hStream, c->attrs, c->numAttrs, params,
                      extra);
}
// sizes in work-items: of a workgroup that would reach over the grid's end, only what lies within
static hipError_t launch_items(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                               size_t lds, hipStream_t stream, void** params, void** extra, hipEvent_t before, hipEvent_t after) {
  CONNECT();
  if (!f) return fail(hipErrorInvalidHandle);
  uint64_t items[3] = {gx, gy, gz};
  if (before) record(before, stream);
  hipError_t error = launch(reinterpret_cast<Function*>(f), items, {bx, by, bz}, lds, stream, params, extra);
  if (after) record(after, stream);
  return error;
}
API hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by,
                                        uint32_t bz, size_t lds, hipStream_t stream, void** params, void** extra,
                                        hipEvent_t before, hipEvent_t after, uint32_t) {
  return launch_items(f, gx, gy, gz, bx, by, bz, lds, stream, params, extra, before, after);
}
API hipError_t hipHccModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by,
                                        uint32_t bz, size_t lds, hipStream_t stream, void** params, void** extra,
                                        hipEvent_t before, hipEvent_t after) {
  return launch_items(f, gx, gy, gz, bx, by, bz, lds, stream, params, extra, before, after);
}
// the same two as C++ names them
#define MANGLED(name, symbol) asm(".globl " symbol "\n.type " symbol ", @function\n.set " symbol ", " name);
MANGLED("hipExtModuleLaunchKernel", "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j")
MANGLED("hipHccModuleLaunchKernel", "_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_")
