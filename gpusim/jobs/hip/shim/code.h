// Code of the program: modules, kernels and variables in them.
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "connection.h"

// A kernel as the simulator described it.
struct Function {
  uint64_t id = 0;
  std::string name;
  uint32_t argument_bytes = 0, most_threads = 0, lds_bytes = 0, private_bytes = 0, vgprs = 0, sgprs = 0;
  uint32_t required[3] = {};  // workgroup; 0: any
  uint32_t global_offsets[3] = {NO_OFFSET, NO_OFFSET, NO_OFFSET};  // where these go in the argument block
  struct Argument {
    uint32_t offset, size, kind, alignment;
    std::string name, type;
  };
  std::vector<Argument> arguments;
  std::map<std::array<uint32_t, 4>, uint32_t> fits;  // workgroups at a time, by work-items and dynamic LDS; as asked
};

// The kernel behind a host function of the program; null: there is none, or its code cannot be used (said why).
Function* function_of(const void* host, hipError_t* error);
// The same of a graph's node, which names a host function or, as XLA's do, a module's function.
Function* function_of_node(const void* host, hipError_t* error);
// The bytes of an ELF file, as its first 64 say: to the end of its section headers, which are last.
size_t elf_bytes(const char* elf);
// The names of the kernels of a module.
hipError_t kernel_names(hipModule_t module, std::vector<std::string>* names);

API hipError_t hipModuleLoadData(hipModule_t* module, const void* image);
API hipError_t hipModuleUnload(hipModule_t module);
API hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name);
