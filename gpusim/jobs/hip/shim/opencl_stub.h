// A function of OpenCL's interface that gpusim does not have: it says so once, and gives CL_INVALID_OPERATION.
#pragma once
int gpusim_no_opencl(const char* name);
// no parameters are declared where none is looked at: C's calling convention leaves them to the caller
#define REFUSED(function) \
  extern "C" __attribute__((visibility("default"))) int function() { return gpusim_no_opencl(#function); }
// one that returns an object: all parameters are words, and the last one says where the code goes
#define REFUSED_OBJECT(function, parameters, where)                             \
  extern "C" __attribute__((visibility("default"))) void* function parameters { \
    int* to = where;                                                            \
    int result = gpusim_no_opencl(#function);                                   \
    if (to) *to = result;                                                       \
    return nullptr;                                                             \
  }
