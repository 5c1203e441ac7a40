// OpenCL's programs and kernels: compiled by the simulator's side as hiprtc's are, loaded as any module.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "opencl.h"

namespace {
enum : int { BUILD_SUCCESS = 0, BUILD_ERROR = -2 };

// The words of a program's options; what is between quotes is one. Folders of headers are made absolute, for they are
// relative to where the program runs.
std::vector<std::string> words_of(const std::string& options) {
  std::vector<std::string> words;
  std::string word;
  bool begun = false;
  char quote = 0;
  for (char c : options) {
    if (quote) {
      if (c == quote) quote = 0;
      else word += c;
    } else if (c == '"' || c == '\'') {
      quote = c, begun = true;
    } else if (isspace(static_cast<unsigned char>(c))) {
      if (begun) words.push_back(word);
      word.clear(), begun = false;
    } else {
      word += c, begun = true;
    }
  }
  if (begun) words.push_back(word);
  char folder[4096];
  if (!getcwd(folder, sizeof folder)) return words;
  bool names_folder = false;
  for (std::string& one : words) {
    std::string named = names_folder ? one : one.rfind("-I", 0) == 0 ? one.substr(2) : "";
    if (!named.empty() && named[0] != '/') one = (names_folder ? "" : "-I") + std::string(folder) + "/" + named;
    names_folder = one == "-I";
  }
  words.push_back("-I" + std::string(folder));
  return words;
}

using Files = std::vector<std::pair<std::string, std::string>>;  // names, contents

// Compiles the source of a program, or links the bitcode that the files are, into its code. files: headers, or bitcode.
bool compile(ClProgram* program, Source what, const Files& files) {
  settle();  // a kernel's error is its own, and stays
  Request request(OP_COMPILE);
  request.put<uint32_t>(what).put<uint32_t>(0).text(program->source).text("program.cl");
  request.put<uint32_t>(files.size());
  for (const auto& file : files) request.text(file.first).text(file.second);
  std::vector<std::string> words = words_of(program->options);
  request.put<uint32_t>(words.size());
  for (const std::string& word : words) request.text(word);
  Answer answer = ask(request);
  program->log = answer.text();
  program->code = answer.text();
  return answer.status == hipSuccess;
}

bool is_whole(const std::string& code) {
  return code.size() >= 64 && !code.compare(0, 4, "\177ELF") && elf_bytes(code.data()) <= code.size();
}
bool is_bitcode(const std::string& code) { return !code.compare(0, 4, "BC\xC0\xDE"); }

// Loads the code of a program, of which its kernels are then known.
int load(ClProgram* program) {
  if (!is_whole(program->code)) return CL_INVALID_BINARY;
  if (hipModuleLoadData(&program->module, program->code.data())) return CL_INVALID_BINARY;
  program->binary_type = ClProgram::EXECUTABLE;
  return code_of(kernel_names(program->module, &program->kernels));
}

// What is wrong with the devices, and with whom to notify.
int code_of_call(unsigned count, ClDevice* const* devices, bool notifies, const void* data) {
  if (!count != !devices || (!notifies && data)) return CL_INVALID_VALUE;
  for (unsigned i = 0; i < count; i++)
    if (devices[i] != &the_device) return CL_INVALID_DEVICE;
  return CL_SUCCESS;
}

// What a program was before it is built or compiled again.
void forget(ClProgram* program, const char* options) {
  if (program->module) hipModuleUnload(program->module);
  program->module = nullptr;
  program->binary_type = 0;
  program->kernels.clear();
  program->options = options ? options : "";
}

ClKernel* kernel_called(ClProgram* program, const char* name, int* code) {
  hipFunction_t found;
  hipError_t error = hipModuleGetFunction(&found, program->module, name);
  *code = error == hipErrorNotFound ? CL_INVALID_KERNEL_NAME : code_of(error);
  if (error) return nullptr;
  program->attached++;
  return new ClKernel(held(program), reinterpret_cast<Function*>(found));
}

// An argument's bytes that are an address.
std::string bytes_of(const void* address) { return std::string(reinterpret_cast<const char*>(&address), sizeof address); }

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ";") + name;
  return text;
}
}  // namespace

void release(ClProgram* program) {
  if (--program->held) return;
  if (program->module) hipModuleUnload(program->module);
  release(program->context);
  delete program;
}

void release(ClKernel* kernel) {
  if (--kernel->held) return;
  kernel->program->attached--;
  release(kernel->program);
  delete kernel;
}

API ClProgram* clCreateProgramWithSource(ClContext* context, unsigned count, const char** texts, const size_t* sizes, int* error) {
  if (!valid(context)) return made<ClProgram>(nullptr, CL_INVALID_CONTEXT, error);
  if (!count || !texts) return made<ClProgram>(nullptr, CL_INVALID_VALUE, error);
  std::string source;
  for (unsigned i = 0; i < count; i++) {
    if (!texts[i]) return made<ClProgram>(nullptr, CL_INVALID_VALUE, error);
    source.append(texts[i], sizes && sizes[i] ? sizes[i] : strlen(texts[i]));
  }
  auto program = new ClProgram(held(context));
  program->source = source;
  return made(program, CL_SUCCESS, error);
}
API ClProgram* clCreateProgramWithBinary(ClContext* context, unsigned count, ClDevice* const* devices, const size_t* sizes,
                                         const unsigned char** binaries, int* status, int* error) {
  if (!valid(context)) return made<ClProgram>(nullptr, CL_INVALID_CONTEXT, error);
  if (count != 1 || !devices || !sizes || !binaries || !sizes[0] || !binaries[0])
    return made<ClProgram>(nullptr, CL_INVALID_VALUE, error);
  if (devices[0] != &the_device) return made<ClProgram>(nullptr, CL_INVALID_DEVICE, error);
  if (status) *status = CL_SUCCESS;
  auto program = new ClProgram(held(context));
  program->code.assign(reinterpret_cast<const char*>(binaries[0]), sizes[0]);
  program->from_binary = true;
  if (is_bitcode(program->code)) program->binary_type = ClProgram::OBJECT;
  return made(program, CL_SUCCESS, error);
}
API int clRetainProgram(ClProgram* p) { return retain_if_valid(p); }
API int clReleaseProgram(ClProgram* p) { return release_if_valid(p); }

using Notify = void (*)(ClProgram*, void*);
API int clBuildProgram(ClProgram* program, unsigned count, ClDevice* const* devices, const char* options, Notify notify, void* data) {
  if (!valid(program)) return CL_INVALID_PROGRAM;
  if (int wrong = code_of_call(count, devices, notify, data)) return wrong;
  if (program->attached) return CL_INVALID_OPERATION;
  forget(program, options);
  bool compiled = true;
  if (!program->from_binary) compiled = compile(program, SOURCE_OPENCL, {});
  else if (is_bitcode(program->code)) compiled = compile(program, SOURCE_OBJECTS, {{"0.bc", program->code}});
  int code = compiled ? load(program) : CL_BUILD_PROGRAM_FAILURE;
  program->status = code ? BUILD_ERROR : BUILD_SUCCESS;
  if (notify) notify(program, data);
  return code;
}
API int clCompileProgram(ClProgram* program, unsigned count, ClDevice* const* devices, const char* options, unsigned headers,
                         ClProgram* const* sources, const char** names, Notify notify, void* data) {
  if (!valid(program)) return CL_INVALID_PROGRAM;
  if (!headers != !sources || !headers != !names) return CL_INVALID_VALUE;
  if (int wrong = code_of_call(count, devices, notify, data)) return wrong;
  if (program->attached || program->source.empty()) return CL_INVALID_OPERATION;
  Files files;
  for (unsigned i = 0; i < headers; i++) {
    if (!valid(sources[i])) return CL_INVALID_PROGRAM;
    if (!names[i]) return CL_INVALID_VALUE;
    files.emplace_back(names[i], sources[i]->source);
  }
  forget(program, options);
  int code = compile(program, SOURCE_OPENCL_OBJECT, files) ? CL_SUCCESS : CL_COMPILE_PROGRAM_FAILURE;
  if (!code) program->binary_type = ClProgram::OBJECT;
  program->status = code ? BUILD_ERROR : BUILD_SUCCESS;
  if (notify) notify(program, data);
  return code;
}
API ClProgram* clLinkProgram(ClContext* context, unsigned count, ClDevice* const* devices, const char* options, unsigned inputs,
                             ClProgram* const* programs, Notify notify, void* data, int* error) {
  if (!valid(context)) return made<ClProgram>(nullptr, CL_INVALID_CONTEXT, error);
  if (int wrong = code_of_call(count, devices, notify, data)) return made<ClProgram>(nullptr, wrong, error);
  if (!inputs || !programs) return made<ClProgram>(nullptr, CL_INVALID_VALUE, error);
  Files files;
  for (unsigned i = 0; i < inputs; i++) {
    if (!valid(programs[i])) return made<ClProgram>(nullptr, CL_INVALID_PROGRAM, error);
    if (!is_bitcode(programs[i]->code)) return made<ClProgram>(nullptr, CL_INVALID_OPERATION, error);
    files.emplace_back(std::to_string(i) + ".bc", programs[i]->code);
  }
  std::string given;
  bool library = false;
  for (const std::string& word : words_of(options ? options : "")) {
    if (word == "-create-library") library = true;
    else if (word != "-enable-link-options" && word.rfind("-I", 0)) given += (given.empty() ? "" : " ") + word;
  }
  auto program = new ClProgram(held(context));
  program->options = given;
  bool linked = compile(program, library ? SOURCE_LIBRARY : SOURCE_OBJECTS, files);
  program->options = options ? options : "";
  int code = !linked ? CL_LINK_PROGRAM_FAILURE : library ? CL_SUCCESS : load(program);
  if (!code && library) program->binary_type = ClProgram::LIBRARY;
  program->status = code ? BUILD_ERROR : BUILD_SUCCESS;
  if (notify) notify(program, data);
  return made(program, code, error);
}
API int clGetProgramInfo(ClProgram* program, unsigned name, size_t place, void* to, size_t* size) {
  if (!valid(program)) return CL_INVALID_PROGRAM;
  Wanted wanted{place, to, size};
  switch (name) {
    case 0x1160: return wanted.value<unsigned>(program->held);
    case 0x1161: return wanted.value<ClContext*>(program->context);
    case 0x1162: return wanted.value<unsigned>(1);
    case 0x1163: return wanted.value<ClDevice*>(&the_device);
    case 0x1164: return wanted.text(program->source);
    case 0x1165: return wanted.value<size_t>(program->code.size());
    case 0x1166:  // into the places that the caller's list names
      if (to && place < sizeof(char*)) return CL_INVALID_VALUE;
      if (to && *static_cast<char**>(to)) memcpy(*static_cast<char**>(to), program->code.data(), program->code.size());
      if (size) *size = sizeof(char*);
      return CL_SUCCESS;
    case 0x1167: return program->module ? wanted.value<size_t>(program->kernels.size()) : CL_INVALID_PROGRAM_EXECUTABLE;
    case 0x1168: return program->module ? wanted.text(joined(program->kernels)) : CL_INVALID_PROGRAM_EXECUTABLE;
    default: return CL_INVALID_VALUE;
  }
}
API int clGetProgramBuildInfo(ClProgram* program, ClDevice* device, unsigned name, size_t place, void* to, size_t* size) {
  if (!valid(program)) return CL_INVALID_PROGRAM;
  if (device != &the_device) return CL_INVALID_DEVICE;
  Wanted wanted{place, to, size};
  switch (name) {
    case 0x1181: return wanted.value<int>(program->status);
    case 0x1182: return wanted.text(program->options);
    case 0x1183: return wanted.text(program->log);
    case 0x1184: return wanted.value<unsigned>(program->binary_type);
    default: return CL_INVALID_VALUE;
  }
}

API ClKernel* clCreateKernel(ClProgram* program, const char* name, int* error) {
  if (!valid(program)) return made<ClKernel>(nullptr, CL_INVALID_PROGRAM, error);
  if (!program->module) return made<ClKernel>(nullptr, CL_INVALID_PROGRAM_EXECUTABLE, error);
  if (!name) return made<ClKernel>(nullptr, CL_INVALID_VALUE, error);
  int code;
  ClKernel* kernel = kernel_called(program, name, &code);
  return made(kernel, code, error);
}
API int clCreateKernelsInProgram(ClProgram* program, unsigned place, ClKernel** kernels, unsigned* count) {
  if (!valid(program)) return CL_INVALID_PROGRAM;
  if (!program->module) return CL_INVALID_PROGRAM_EXECUTABLE;
  if (kernels && place < program->kernels.size()) return CL_INVALID_VALUE;
  if (count) *count = program->kernels.size();
  for (size_t i = 0; kernels && i < program->kernels.size(); i++) {
    int code;
    kernels[i] = kernel_called(program, program->kernels[i].c_str(), &code);
    if (!kernels[i]) {
      while (i) release(kernels[--i]);
      return code;
    }
  }
  return CL_SUCCESS;
}
API int clRetainKernel(ClKernel* k) { return retain_if_valid(k); }
API int clReleaseKernel(ClKernel* k) { return release_if_valid(k); }
API int clSetKernelArg(ClKernel* kernel, unsigned index, size_t size, const void* value) {
  if (!valid(kernel)) return CL_INVALID_KERNEL;
  if (index >= kernel->values.size()) return CL_INVALID_ARG_INDEX;
  const Function::Argument& argument = kernel->function->arguments[index];
  ClKernel::Value given;
  given.set = true;
  switch (argument.kind) {
    case ARGUMENT_LOCAL:
      if (value) return CL_INVALID_ARG_VALUE;
      if (!size) return CL_INVALID_ARG_SIZE;
      given.local = size;
      break;
    case ARGUMENT_GLOBAL: {
      if (size != sizeof(ClBuffer*)) return CL_INVALID_ARG_SIZE;
      auto buffer = value ? *static_cast<ClBuffer* const*>(value) : nullptr;
      if (buffer && !is_buffer(buffer)) return CL_INVALID_MEM_OBJECT;
      given.bytes = bytes_of(buffer ? buffer->address : nullptr);
      break;
    }
    case ARGUMENT_VALUE:
      if (!value) return CL_INVALID_ARG_VALUE;
      if (size != argument.size) return CL_INVALID_ARG_SIZE;
      given.bytes.assign(static_cast<const char*>(value), size);
      break;
    case ARGUMENT_IMAGE: {
      if (size != sizeof(ClBuffer*)) return CL_INVALID_ARG_SIZE;
      auto memory = value ? *static_cast<ClBuffer* const*>(value) : nullptr;
      if (!valid(memory) || !memory->image) return CL_INVALID_MEM_OBJECT;
      if (argument.type != image_type(memory->image)) {
        complain("argument %u of kernel %s is of type %s: the image given is an %s", index,
                 kernel->function->name.c_str(), argument.type.c_str(), image_type(memory->image));
        return CL_INVALID_ARG_VALUE;
      }
      given.bytes = bytes_of(memory->image->words);
      break;
    }
    case ARGUMENT_SAMPLER: {
      if (size != sizeof(ClSampler*)) return CL_INVALID_ARG_SIZE;
      auto sampler = value ? *static_cast<ClSampler* const*>(value) : nullptr;
      if (!valid(sampler)) return CL_INVALID_SAMPLER;
      given.bytes = bytes_of(sampler->words);
      break;
    }
    default:
      complain("argument %u of kernel %s is not supported: a pipe or a queue", index, kernel->function->name.c_str());
      return CL_INVALID_ARG_VALUE;
  }
  kernel->values[index] = given;
  return CL_SUCCESS;
}
API int clGetKernelInfo(ClKernel* kernel, unsigned name, size_t place, void* to, size_t* size) {
  if (!valid(kernel)) return CL_INVALID_KERNEL;
  Wanted wanted{place, to, size};
  switch (name) {
    case 0x1190: return wanted.text(kernel->function->name);
    case 0x1191: return wanted.value<unsigned>(kernel->values.size());
    case 0x1192: return wanted.value<unsigned>(kernel->held);
    case 0x1193: return wanted.value<ClContext*>(kernel->program->context);
    case 0x1194: return wanted.value<ClProgram*>(kernel->program);
    case 0x1195: return wanted.text("");  // attributes: not kept by the compiler
    default: return CL_INVALID_VALUE;
  }
}
API int clGetKernelArgInfo(ClKernel* kernel, unsigned index, unsigned name, size_t place, void* to, size_t* size) {
  if (!valid(kernel)) return CL_INVALID_KERNEL;
  if (index >= kernel->values.size()) return CL_INVALID_ARG_INDEX;
  const Function::Argument& argument = kernel->function->arguments[index];
  Wanted wanted{place, to, size};
  switch (name) {
    case 0x1196:  // which of global and constant memory is not in what the simulator reads of the metadata
      if (argument.kind == ARGUMENT_LOCAL) return wanted.value<unsigned>(0x119C);
      if (argument.kind == ARGUMENT_IMAGE) return wanted.value<unsigned>(0x119B);
      if (argument.kind == ARGUMENT_VALUE || argument.kind == ARGUMENT_SAMPLER) return wanted.value<unsigned>(0x119E);
      return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
    case 0x1197:  // of an image it is not in what the simulator reads of the metadata
      return argument.kind == ARGUMENT_OTHER || argument.kind == ARGUMENT_IMAGE ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : wanted.value<unsigned>(0x11A3);
    case 0x1198: return argument.type.empty() ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : wanted.text(argument.type);
    case 0x1199: return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;  // const, restrict, volatile
    case 0x119A: return argument.name.empty() ? CL_KERNEL_ARG_INFO_NOT_AVAILABLE : wanted.text(argument.name);
    default: return CL_INVALID_VALUE;
  }
}
API int clGetKernelWorkGroupInfo(ClKernel* kernel, ClDevice* device, unsigned name, size_t place, void* to, size_t* size) {
  if (!valid(kernel)) return CL_INVALID_KERNEL;
  if (device && device != &the_device) return CL_INVALID_DEVICE;
  const Function* f = kernel->function;
  const size_t required[3] = {f->required[0], f->required[1], f->required[2]};
  uint64_t local = f->lds_bytes;
  for (const ClKernel::Value& value : kernel->values) local += value.local;
  Wanted wanted{place, to, size};
  switch (name) {
    case 0x11B0: return wanted.value<size_t>(f->most_threads ? f->most_threads : 256);
    case 0x11B1: return wanted.bytes(required, sizeof required);
    case 0x11B2: return wanted.value<uint64_t>(local);
    case 0x11B3: return wanted.value<size_t>(64);  // work-items of a wavefront
    case 0x11B4: return wanted.value<uint64_t>(f->private_bytes);
    default: return CL_INVALID_VALUE;
  }
}
