// Streams and events: handles here, their times with the simulator.
#pragma once
#include "connection.h"

hipError_t record(hipEvent_t event, hipStream_t stream);
bool launches_block();  // HIP_LAUNCH_BLOCKING: each launch is waited for, so that its error is its own
