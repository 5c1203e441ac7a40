// HIP's interface as far as gpusim's runtime library has it. Declared here and not taken from AMD's headers: those need
// not be installed to run a program. Layouts are those of ROCm 5.7 and 6.4 (hip_runtime_api.h, driver_types.h).
#pragma once
#include <cstddef>
#include <cstdint>

#include "generated.h"

#define API extern "C" __attribute__((visibility("default")))

using hipError_t = int;
using hipDevice_t = int;

struct dim3 {
  uint32_t x, y, z;
};

enum hipMemcpyKind { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice, Default };

struct ihipStream_t;
struct ihipEvent_t;
struct ihipModule_t;
struct ihipModuleSymbol_t;
using hipStream_t = ihipStream_t*;
using hipEvent_t = ihipEvent_t*;
using hipModule_t = ihipModule_t*;
using hipFunction_t = ihipModuleSymbol_t*;
using hipDeviceptr_t = void*;
using hipMemPool_t = void*;
using hipStreamCallback_t = void (*)(hipStream_t, hipError_t, void*);
using hipHostFn_t = void (*)(void*);

struct hipPointerAttribute_t {
  int type, device;
  void *devicePointer, *hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

struct hipFuncAttributes {
  int binaryVersion, cacheModeCA;
  size_t constSizeBytes, localSizeBytes;
  int maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
  size_t sharedSizeBytes;
};

struct hipExtent {
  size_t width, height, depth;
};

struct hipPitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
};

struct hipChannelFormatDesc {
  int x, y, z, w;
  int kind;
};

// Up to `pitch` as programs of ROCm 5 see it; rows of a linear image, in slices or layers one after another.
struct hipArray {
  void* data;
  hipChannelFormatDesc desc;
  unsigned type, width, height, depth;  // depth: slices or layers
  int Format;
  unsigned NumChannels;
  bool isDrv;
  unsigned textureType;
  size_t pitch;
  unsigned flags;

  size_t element() const { return size_t(desc.x + desc.y + desc.z + desc.w) / 8; }
  unsigned rows() const { return height ? height : 1; }
  hipPitchedPtr pitched() const { return {data, pitch, width, rows()}; }
  bool holds(size_t x, size_t y, size_t z, const hipExtent& e) const {
    unsigned slices = depth ? depth : 1;
    return x <= width && e.width <= width - x && y <= rows() && e.height <= rows() - y && z <= slices && e.depth <= slices - z;
  }
  bool holds_bytes(size_t x, size_t y, size_t width_bytes, size_t count) const {
    size_t all = width * element();
    return x <= all && width_bytes <= all - x && y <= rows() && count <= rows() - y;
  }
};

struct hipMemcpy3DParms {
  hipArray* srcArray;
  struct { size_t x, y, z; } srcPos;
  hipPitchedPtr srcPtr;
  hipArray* dstArray;
  struct { size_t x, y, z; } dstPos;
  hipPitchedPtr dstPtr;
  hipExtent extent;
  hipMemcpyKind kind;
};

struct hip_Memcpy2D {
  size_t srcXInBytes, srcY;
  int srcMemoryType;
  const void* srcHost;
  hipDeviceptr_t srcDevice;
  hipArray* srcArray;
  size_t srcPitch, dstXInBytes, dstY;
  int dstMemoryType;
  void* dstHost;
  hipDeviceptr_t dstDevice;
  hipArray* dstArray;
  size_t dstPitch, WidthInBytes, Height;
};

struct hipMemsetParams {
  void* dst;
  unsigned elementSize;
  size_t height, pitch;
  unsigned value;
  size_t width;
};

struct hipHostNodeParams {
  hipHostFn_t fn;
  void* userData;
};

struct hipLaunchParams {
  void* func;
  dim3 gridDim, blockDim;
  void** args;
  size_t sharedMem;
  hipStream_t stream;
};

// what a launch is asked for beside its sizes
struct hipLaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int cooperative;
    unsigned cluster[3];
  } value;
};
enum { hipLaunchAttributeCooperative = 2, LAUNCH_CLUSTER = 4 };

struct hipLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  hipStream_t stream;
  hipLaunchAttribute* attrs;
  unsigned numAttrs;
};
struct HIP_LAUNCH_CONFIG {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  hipStream_t hStream;
  hipLaunchAttribute* attrs;
  unsigned numAttrs;
};

// ends of the list that a launch's `extra` is
#define HIP_LAUNCH_PARAM_BUFFER_POINTER ((void*)1)
#define HIP_LAUNCH_PARAM_BUFFER_SIZE ((void*)2)
#define HIP_LAUNCH_PARAM_END ((void*)3)
