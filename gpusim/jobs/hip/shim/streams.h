// Streams and events: handles here, their times with the simulator.
#pragma once
#include "connection.h"

uint64_t number(hipStream_t stream);  // as the simulator knows it: that of the default stream is 0
hipError_t wait(hipStream_t stream, hipEvent_t event);
hipError_t record(hipEvent_t event, hipStream_t stream);
bool launches_block();  // HIP_LAUNCH_BLOCKING: each launch is waited for, so that its error is its own
