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
// Moves bytes for a stream, once what the device was told before is done; blocking: the host waits for it.
hipError_t copy(void* to, const void* from, size_t size, hipStream_t stream, bool blocking);
