// Device memory as the program sees it.
#pragma once
#include "connection.h"

enum class Kind : uint32_t { DEVICE, HOST, MANAGED };
struct Allocation {
  uint64_t address = 0, size = 0;
  Kind kind = Kind::DEVICE;
  unsigned flags = 0;
};

// The allocation that holds an address; size 0: none does.
Allocation allocation_at(const void* address);
// A variable of the program's code: memory that copies reach, and that nobody allocated.
void add_variable(uint64_t address, size_t size);
void remove_variable(uint64_t address);
// Moves bytes for a stream, once what the device was told before is done; blocking: the host waits for it.
// In a stream that is captured they become a node instead.
hipError_t copy(void* to, const void* from, size_t size, hipStream_t stream, bool blocking);
// Rows of `width` bytes in `slices` slices, each side with its own distances of rows and slices.
hipError_t copy_rows(char* to, size_t to_row, size_t to_slice, const char* from, size_t from_row, size_t from_slice,
                     size_t width, size_t rows, size_t slices, hipStream_t stream, bool blocking);
// Fills rows of `extent.width` bytes with a pattern whose size divides them.
hipError_t fill_rows(hipPitchedPtr to, const std::string& pattern, hipExtent extent, hipStream_t stream, bool blocking);
hipError_t copy_3d(const hipMemcpy3DParms* how, hipStream_t stream, bool blocking);
// `count` times a pattern of `width` bytes.
hipError_t fill(void* to, const void* pattern, size_t width, size_t count, hipStream_t stream, bool blocking);
