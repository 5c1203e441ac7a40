// A function of HIP's interface that gpusim does not have.
#pragma once
int gpusim_unsupported(const char* name);
// no parameters are declared: none is looked at, and C's calling convention leaves them to the caller
#define STUB(function, name) \
  extern "C" __attribute__((visibility("default"))) int function() { return gpusim_unsupported(name); }
