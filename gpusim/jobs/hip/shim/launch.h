// Launches, at once or later.
#pragma once
#include "graph.h"

struct KernelNodeParams {  // hipKernelNodeParams
  dim3 blockDim;
  void** extra;
  void* func;
  dim3 gridDim;
  void** kernelParams;
  unsigned sharedMemBytes;
};

// The launch of a host function's kernel, or of a module's function, its arguments read now. grid: in workgroups.
hipError_t kernel_work(const void* host, dim3 grid, dim3 block, void** params, void** extra, size_t lds, Work* work);
