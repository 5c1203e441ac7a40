// Work that is kept in a graph and done when that is launched: what a captured stream is given, and nodes added one by one.
#pragma once
#include <functional>

#include "connection.h"

enum class NodeType { KERNEL, MEMCPY, MEMSET, HOST, GRAPH, EMPTY, WAIT_EVENT, RECORD_EVENT };  // hipGraphNodeType
using Work = std::function<hipError_t(hipStream_t)>;

bool capturing(hipStream_t stream);
hipError_t capture(hipStream_t stream, NodeType type, Work work);  // the next node of the graph that the stream becomes
// Events tie streams to a capture: one that a captured stream records, and others wait for.
void record_in_capture(hipEvent_t event, hipStream_t stream);
bool join_capture(hipStream_t stream, hipEvent_t event);  // false: the event is of no capture
