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
  struct Argument {
    uint32_t offset, size;
  };
  std::vector<Argument> arguments;
  std::map<std::array<uint32_t, 4>, uint32_t> fits;  // workgroups at a time, by work-items and dynamic LDS; as asked
};

// The kernel behind a host function of the program; null: there is none, or its code cannot be used (said why).
Function* function_of(const void* host, hipError_t* error);
