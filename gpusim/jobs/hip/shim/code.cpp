// Fat binaries, modules, kernels and variables. Code goes to the simulator when something of it is first used: a library
// may hold a hundred bundles of a megabyte each.
#include "code.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "memory.h"

namespace {
constexpr char BUNDLE[] = "__CLANG_OFFLOAD_BUNDLE__";
std::recursive_mutex mutex;

struct Managed {
  std::string name;
  void* address;
};

// One fat binary or module: what of it is the GPU's, and what the simulator made of it.
struct Module {
  const char* data = nullptr;  // the bundle or code object; which GPU there is is known once the program is connected
  const char* code = nullptr;
  size_t size = 0;
  std::string others;  // GPUs it has code for
  std::unique_ptr<char[]> file;
  uint64_t id = 0;
  hipError_t refused = hipSuccess;  // why it cannot be loaded
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::vector<Managed> managed;
  std::set<uint64_t> variables;  // addresses of those that were asked for
};

struct Variable {
  Module* module;
  std::string name;
  size_t size;
};

// objects with static lifetime that constructors of other libraries use before this one's would have run
std::map<const void*, std::pair<Module*, std::string>>& host_functions() {
  static auto* all = new std::map<const void*, std::pair<Module*, std::string>>;
  return *all;
}
std::map<const void*, Variable>& host_variables() {
  static auto* all = new std::map<const void*, Variable>;
  return *all;
}

// Functions of modules, by which a graph's node may name its kernel.
std::set<const void*> module_functions;

template <typename T>
T read(const char* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

// Finds the GPU's part of a bundle (clang-offload-bundler's format), an ELF file alone, or a compressed bundle. Of several
// parts for one GPU, one without page faults that are replayed (xnack+) is taken, which no simulated GPU has.
void find_code(Module* m) {
  const char* data = m->data;
  const std::string& gpu = device().architecture;
  bool replays = false;
  if (!memcmp(data, "\177ELF", 4)) {
    m->code = data, m->size = elf_bytes(data);
  } else if (!memcmp(data, "CCOB", 4)) {
    auto version = read<uint16_t>(data + 4);
    if (version == 2) m->code = data, m->size = read<uint32_t>(data + 8);
    if (version == 3) m->code = data, m->size = read<uint64_t>(data + 8);
    if (!m->code) m->others = "a compressed bundle of version " + std::to_string(version) + ", whose size is not told";
  } else if (!memcmp(data, BUNDLE, sizeof BUNDLE - 1)) {
    const char* entry = data + sizeof BUNDLE - 1 + 8;
    for (auto n = read<uint64_t>(data + sizeof BUNDLE - 1); n; n--) {
      auto start = read<uint64_t>(entry), size = read<uint64_t>(entry + 8), length = read<uint64_t>(entry + 16);
      std::string target(entry + 24, length);
      entry += 24 + length;
      size_t at = target.rfind("gfx");
      if (at == std::string::npos || !size) continue;
      std::string name = target.substr(at);
      m->others += (m->others.empty() ? "" : ", ") + name;
      if (name.substr(0, name.find(':')) != gpu || (m->code && !replays)) continue;
      m->code = data + start, m->size = size;
      replays = name.find("xnack+") != std::string::npos;
    }
  } else {
    m->others = "neither a code object nor a bundle of some";
  }
}

hipError_t hand_over(Module* m) {
  find_code(m);
  if (!m->code) return ask(Request(OP_NO_CODE).bytes(m->others.data(), m->others.size())).status;
  Answer answer = ask(Request(OP_LOAD).bytes(m->code, m->size));
  if (answer.status) return answer.status;
  m->id = answer.get<uint64_t>();
  for (const Managed& variable : m->managed) {
    Answer found = ask(Request(OP_SYMBOL).put(m->id).bytes(variable.name.data(), variable.name.size()));
    if (found.status) return found.status;
    memcpy(reinterpret_cast<void*>(found.get<uint64_t>()), &variable.address, sizeof variable.address);
  }
  return hipSuccess;
}

// Hands a module's code to the simulator, once: what it refuses, which may be hundreds of megabytes, it would again.
hipError_t load(Module* m) {
  if (!m->id && !m->refused) m->refused = hand_over(m);
  return m->refused;
}

hipError_t find_function(Module* m, const std::string& name, Function** found) {
  std::lock_guard<std::recursive_mutex> held(mutex);
  auto& slot = m->functions[name];
  if (!slot) {
    if (hipError_t error = load(m)) return error;
    Answer answer = ask(Request(OP_FUNCTION).put(m->id).bytes(name.data(), name.size()));
    if (answer.status) return answer.status;
    slot = std::make_unique<Function>();
    module_functions.insert(slot.get());
    slot->name = name;
    slot->id = answer.get<uint64_t>();
    for (uint32_t* fact : {&slot->argument_bytes, &slot->most_threads, &slot->lds_bytes, &slot->private_bytes,
                           &slot->vgprs, &slot->sgprs})
      *fact = answer.get<uint32_t>();
    for (uint32_t& size : slot->required) size = answer.get<uint32_t>();
    for (uint32_t& offset : slot->global_offsets) offset = answer.get<uint32_t>();
    for (uint32_t n = answer.get<uint32_t>(); n; n--) {
      Function::Argument argument;
      for (uint32_t* fact : {&argument.offset, &argument.size, &argument.kind, &argument.alignment})
        *fact = answer.get<uint32_t>();
      argument.name = answer.text();
      argument.type = answer.text();
      slot->arguments.push_back(argument);
    }
  }
  *found = slot.get();
  return hipSuccess;
}

hipError_t find_symbol(Module* m, const std::string& name, void** address, size_t* size) {
  std::lock_guard<std::recursive_mutex> held(mutex);
  if (hipError_t error = load(m)) return error;
  Answer answer = ask(Request(OP_SYMBOL).put(m->id).bytes(name.data(), name.size()));
  if (answer.status) return answer.status;
  auto at = answer.get<uint64_t>(), bytes = answer.get<uint64_t>();
  m->variables.insert(at);
  add_variable(at, bytes);
  if (address) *address = reinterpret_cast<void*>(at);
  if (size) *size = bytes;
  return hipSuccess;
}

hipError_t variable(const void* host, void** address, size_t* size) {
  CONNECT();
  auto found = host_variables().find(host);
  if (found == host_variables().end()) return fail(hipErrorInvalidSymbol);
  if (hipError_t before = settle()) return fail(before);
  hipError_t error = find_symbol(found->second.module, found->second.name, address, nullptr);
  if (size) *size = found->second.size;
  return fail(error == hipErrorNotFound ? hipErrorInvalidSymbol : error);
}

hipError_t copy_to_symbol(const void* symbol, const void* from, size_t n, size_t offset, hipStream_t stream, bool blocking) {
  void* at;
  size_t size;
  if (hipError_t error = variable(symbol, &at, &size)) return error;
  if (offset + n > size) return fail(hipErrorInvalidValue);
  return copy(static_cast<char*>(at) + offset, from, n, stream, blocking);
}

hipError_t copy_from_symbol(void* to, const void* symbol, size_t n, size_t offset, hipStream_t stream, bool blocking) {
  void* at;
  size_t size;
  if (hipError_t error = variable(symbol, &at, &size)) return error;
  if (offset + n > size) return fail(hipErrorInvalidValue);
  return copy(to, static_cast<char*>(at) + offset, n, stream, blocking);
}
}  // namespace

Function* function_of(const void* host, hipError_t* error) {
  auto found = host_functions().find(host);
  Function* function = nullptr;
  *error = hipErrorInvalidDeviceFunction;
  if (found != host_functions().end()) *error = find_function(found->second.first, found->second.second, &function);
  return function;
}

Function* function_of_node(const void* host, hipError_t* error) {
  Function* function = function_of(host, error);
  std::lock_guard<std::recursive_mutex> held(mutex);
  if (function || *error != hipErrorInvalidDeviceFunction || !module_functions.count(host)) return function;
  *error = hipSuccess;
  return static_cast<Function*>(const_cast<void*>(host));
}

size_t elf_bytes(const char* elf) {
  return read<uint64_t>(elf + 40) + size_t(read<uint16_t>(elf + 58)) * read<uint16_t>(elf + 60);
}

hipError_t kernel_names(hipModule_t module, std::vector<std::string>* names) {
  Answer answer = ask(Request(OP_KERNELS).put(reinterpret_cast<Module*>(module)->id));
  names->clear();
  for (uint32_t n = answer.get<uint32_t>(); n; n--) names->push_back(answer.text());
  return answer.status;
}

// --- what the compiler has called before main begins
API void** __hipRegisterFatBinary(const void* data) {
  struct Wrapper {
    uint32_t magic, version;
    const char* binary;
  };
  auto m = new Module;
  m->data = static_cast<const Wrapper*>(data)->binary;
  return reinterpret_cast<void**>(m);
}
API void __hipRegisterFunction(void** m, const void* host, char*, const char* name, unsigned, void*, void*, void*, void*, int*) {
  host_functions()[host] = {reinterpret_cast<Module*>(m), name};
}
API void __hipRegisterVar(void** m, void* host, char*, const char* name, int, size_t size, int, int) {
  host_variables()[host] = {reinterpret_cast<Module*>(m), name, size};
}
API void __hipRegisterManagedVar(void* m, void** host, void* initial, const char* name, size_t size, unsigned) {
  auto module = static_cast<Module*>(m);
  if (hipError_t error = hipError_t(connected() ? hipSuccess : hipErrorNoDevice)) {
    fail(error);
    return;
  }
  Answer answer = ask(Request(OP_ALLOCATE).put<uint64_t>(size).put<uint32_t>(uint32_t(Kind::MANAGED)));
  if (answer.status) {
    complain("no device memory for the managed variable %s", name);
    return;
  }
  *host = reinterpret_cast<void*>(answer.get<uint64_t>());
  add_variable(reinterpret_cast<uint64_t>(*host), size);
  memcpy(*host, initial, size);
  module->managed.push_back({name, *host});
  host_variables()[host] = {module, name, size};
}
API void __hipUnregisterFatBinary(void**) {
  if (connected()) finish();  // what kernels printed is shown
}

// --- modules
API hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  CONNECT();
  if (!module || !image) return fail(hipErrorInvalidValue);
  auto m = std::make_unique<Module>();
  m->data = static_cast<const char*>(image);
  if (hipError_t before = settle()) return fail(before);
  if (hipError_t error = load(m.get())) return fail(error);
  *module = reinterpret_cast<hipModule_t>(m.release());
  return hipSuccess;
}
API hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned, int*, void**) {
  return hipModuleLoadData(module, image);
}
API hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
  CONNECT();
  if (!module || !path) return fail(hipErrorInvalidValue);
  FILE* file = fopen(path, "rb");
  if (!file) return fail(hipErrorFileNotFound);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  std::unique_ptr<char[]> data(size > 64 ? new char[size] : nullptr);
  bool whole = data && fread(data.get(), 1, size, file) == size_t(size);
  fclose(file);
  return whole ? hipModuleLoadData(module, data.get()) : fail(hipErrorInvalidImage);
}
API hipError_t hipModuleUnload(hipModule_t module) {
  CONNECT();
  auto m = reinterpret_cast<Module*>(module);
  if (!m) return fail(hipErrorInvalidHandle);
  hipError_t before = settle();
  hipError_t error = ask(Request(OP_UNLOAD).put(m->id)).status;
  for (uint64_t address : m->variables) remove_variable(address);
  delete m;
  return fail(before ? before : error);
}
API hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  CONNECT();
  if (!function || !module || !name) return fail(hipErrorInvalidValue);
  if (hipError_t before = settle()) return fail(before);
  Function* found;
  if (hipError_t error = find_function(reinterpret_cast<Module*>(module), name, &found)) return fail(error);
  *function = reinterpret_cast<hipFunction_t>(found);
  return hipSuccess;
}
API hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, size_t* size, hipModule_t module, const char* name) {
  CONNECT();
  if (!module || !name) return fail(hipErrorInvalidValue);
  if (hipError_t before = settle()) return fail(before);
  return fail(find_symbol(reinterpret_cast<Module*>(module), name, address, size));
}
API hipError_t hipGetFuncBySymbol(hipFunction_t* function, const void* host) {
  CONNECT();
  hipError_t error;
  Function* found = function_of(host, &error);
  if (!error) *function = reinterpret_cast<hipFunction_t>(found);
  return fail(error);
}
API const char* hipKernelNameRef(const hipFunction_t f) { return f ? reinterpret_cast<Function*>(f)->name.c_str() : nullptr; }
API const char* hipKernelNameRefByPtr(const void* host, hipStream_t) {
  auto found = host_functions().find(host);
  return found == host_functions().end() ? nullptr : found->second.second.c_str();
}

// --- variables
API hipError_t hipGetSymbolAddress(void** p, const void* symbol) { return p ? variable(symbol, p, nullptr) : fail(hipErrorInvalidValue); }
API hipError_t hipGetSymbolSize(size_t* n, const void* symbol) {
  void* ignored;
  return n ? variable(symbol, &ignored, n) : fail(hipErrorInvalidValue);
}
API hipError_t hipMemcpyToSymbol(const void* s, const void* from, size_t n, size_t offset, hipMemcpyKind) {
  return copy_to_symbol(s, from, n, offset, nullptr, true);
}
API hipError_t hipMemcpyToSymbol_spt(const void* s, const void* from, size_t n, size_t offset, hipMemcpyKind) {
  return copy_to_symbol(s, from, n, offset, nullptr, true);
}
API hipError_t hipMemcpyToSymbolAsync(const void* s, const void* from, size_t n, size_t offset, hipMemcpyKind, hipStream_t q) {
  return copy_to_symbol(s, from, n, offset, q, false);
}
API hipError_t hipMemcpyToSymbolAsync_spt(const void* s, const void* from, size_t n, size_t offset, hipMemcpyKind, hipStream_t q) {
  return copy_to_symbol(s, from, n, offset, q, false);
}
API hipError_t hipMemcpyFromSymbol(void* to, const void* s, size_t n, size_t offset, hipMemcpyKind) {
  return copy_from_symbol(to, s, n, offset, nullptr, true);
}
API hipError_t hipMemcpyFromSymbol_spt(void* to, const void* s, size_t n, size_t offset, hipMemcpyKind) {
  return copy_from_symbol(to, s, n, offset, nullptr, true);
}
API hipError_t hipMemcpyFromSymbolAsync(void* to, const void* s, size_t n, size_t offset, hipMemcpyKind, hipStream_t q) {
  return copy_from_symbol(to, s, n, offset, q, false);
}
API hipError_t hipMemcpyFromSymbolAsync_spt(void* to, const void* s, size_t n, size_t offset, hipMemcpyKind, hipStream_t q) {
  return copy_from_symbol(to, s, n, offset, q, false);
}
