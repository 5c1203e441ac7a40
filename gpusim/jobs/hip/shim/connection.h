// The program's line to the simulator: requests over a socket, and the device's memory mapped at its own addresses.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "hip.h"

// One request: values in the order of its operation (gpusim/jobs/hip/protocol.py), then bytes.
struct Request {
  Op op;
  std::string body;

  explicit Request(Op operation) : op(operation) {}
  template <typename T>
  Request& put(T value) {
    body.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Request& bytes(const void* data, size_t size) {
    body.append(static_cast<const char*>(data), size);
    return *this;
  }
  Request& text(const std::string& s) { return put<uint32_t>(s.size()).bytes(s.data(), s.size()); }
};

// An answer, read from its beginning.
struct Answer {
  hipError_t status = hipErrorUnknown;
  std::string body;
  size_t at = 0;

  template <typename T>
  T get() {
    T value{};
    if (at + sizeof value <= body.size()) memcpy(&value, body.data() + at, sizeof value);
    at += sizeof value;
    return value;
  }
  std::string text() {
    size_t size = get<uint32_t>(), from = at;
    at += size;
    return from + size <= body.size() ? body.substr(from, size) : std::string();
  }
};

// What the simulator said of its GPU.
struct Device {
  uint64_t capacity;
  std::string architecture;
  std::vector<std::pair<int, int>> attributes;
  std::vector<std::pair<int, std::string>> refused_attributes;  // names of those that have no value
  std::string properties[2];  // hipDeviceProp_t as of ROCm 5 and of ROCm 6
};

bool connected();         // connects at the first call; false where there is no simulator: why was said
const Device& device();   // of a connected program
Answer ask(const Request& request);
void tell(const Request& request);   // not answered: done before the next that is asked, sent no later than that
void start(const Request& request);  // the same of what the device then works at: sent at once
hipError_t settle();                 // what was started is done and its bytes are there; the first error of it
// The same, and the host waits on the simulated clock: for a stream, by default for all.
hipError_t finish(uint64_t stream = ~0ull);
hipError_t fail(hipError_t error);           // keeps an error for hipGetLastError
hipError_t take_last_error(bool keep);
void complain(const char* format, ...) __attribute__((format(printf, 1, 2)));
void complain_of_missing(const std::string& name);  // once for each name

// The first thing in a function that needs the GPU.
#define CONNECT() \
  if (!connected()) return fail(hipErrorNoDevice)
