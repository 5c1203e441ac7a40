"""Requests from L2 and their answers; every answer is compared with the packed matrix."""

from gpusim.base.jit import Machine, jit, ld_i64, ld_u32
from isa.region import LINE_ELEMENTS
from isa.trace import LINE_ADDRESS_MASK
from memory.ports import L2_FROM_ENGINE, deliver
from memory.timeline import ENGINE_ANSWERED, record
from spartan.banks import access_line
from spartan.counters import LATENCY_BUCKETS
from spartan.state import NONE


@jit
def accept_request(m: Machine, arrival, channel, line, mshr):
    """Note which compacted line of which column a sparse miss wants; returns the request: one must be free."""
    engine = m.engine
    request = engine.request_free
    engine.request_free = engine.request_next[request]
    engine.requests_held += 1
    engine.requests += 1
    engine.request_channel[request] = channel
    engine.request_mshr[request] = mshr
    engine.request_arrival[request] = arrival
    engine.request_covered[request] = 0
    engine.request_next[request] = NONE
    engine.request_region[request] = NONE
    plain = line & LINE_ADDRESS_MASK
    for region in range(engine.regions):
        if engine.region_line[region] <= plain < engine.region_end[region]:
            offset = plain - engine.region_line[region]
            column = offset // engine.region_stride[region]
            engine.request_region[request] = region
            engine.request_column[request] = column
            engine.request_line[request] = offset - column * engine.region_stride[region]
    return request


@jit
def _matches(m: Machine, request, slot, last):
    """Return 1 if the answer is bit for bit what the functional part computed with, else 0."""
    engine = m.engine
    region = engine.request_region[request]
    if region == NONE:
        return 0
    column = engine.request_column[request]
    line = engine.request_line[request]
    lines = ld_i64(engine.region_counts[region], column)
    if last != (1 if line >= lines - 1 else 0):
        return 0
    if slot == NONE and line >= engine.region_lines[region]:
        return 1  # past the column: in the padding of the leading dimension, where no image is kept
    first = (column * engine.region_stride[region] + line) * LINE_ELEMENTS
    image = engine.region_image[region]
    for k in range(LINE_ELEMENTS):
        if ld_u32(image, first + k) != (0 if slot == NONE else engine.slot_bundles[slot, k]):
            return 0
    numbers = engine.region_numbers[region]
    if slot == NONE or numbers == 0:
        return 1
    return 1 if ld_u32(numbers, first // LINE_ELEMENTS) == engine.slot_number[slot] else 0


@jit
def _written_matches(m: Machine, request, last):
    """Compare as `_matches` does, for a line that the write phase has written."""
    engine = m.engine
    region, line = engine.request_region[request], engine.request_line[request]
    if last != (1 if line == ld_i64(engine.region_counts[region], engine.request_column[request]) - 1 else 0):
        return 0
    first = (engine.request_column[request] * engine.region_stride[region] + line) * LINE_ELEMENTS
    for k in range(LINE_ELEMENTS):
        if ld_u32(engine.region_image[region], first + k) != ld_u32(engine.region_written[region], first + k):
            return 0
    return 1


@jit
def _leave(m: Machine, read, request):
    """Send a request's answer to L2, one line a cycle and channel. read: when the line can be read from the buffer."""
    engine = m.engine
    channel = engine.request_channel[request]
    t = max(read + engine.buffer_read, engine.output_free[channel])
    engine.output_free[channel] = t + 1
    deliver(m, t, L2_FROM_ENGINE + channel, engine.request_mshr[request])
    if m.timeline.on:
        where = channel | engine.request_line[request] << 8 | engine.request_column[request] << 32
        record(m, ENGINE_ANSWERED, where, engine.request_arrival[request], t)
    latency = t - engine.request_arrival[request]
    engine.responses += 1
    engine.latency_cycles += latency
    bucket = 0
    while latency > 1 and bucket < LATENCY_BUCKETS - 1:
        latency >>= 1
        bucket += 1
    engine.latency_histogram[bucket] += 1
    engine.request_next[request] = engine.request_free
    engine.request_free = request
    engine.requests_held -= 1


@jit
def send(m: Machine, now, request, slot, last):
    """Answer a request with the buffer line `slot` (NONE: zero bundles)."""
    if not _matches(m, request, slot, last):
        m.engine.response_mismatches += 1
    _leave(m, now if slot == NONE else access_line(m, now, slot), request)


@jit
def send_written(m: Machine, now, request, last):
    """Answer a request with the line that it asks for, which has come from DRAM."""
    if not _written_matches(m, request, last):
        m.engine.response_mismatches += 1
    _leave(m, now, request)


@jit
def answer_waiting(m: Machine, now, lane, line, slot, last):
    """Answer the lane's requests for compacted line `line` (NONE: all of them); returns how many there were."""
    engine = m.engine
    answered = 0
    before = NONE
    request = engine.lane_waiter[lane]
    while request != NONE:
        after = engine.request_next[request]
        if line == NONE or engine.request_line[request] == line:
            if before == NONE:
                engine.lane_waiter[lane] = after
            else:
                engine.request_next[before] = after
            send(m, now, request, slot, last)
            answered += 1
        else:
            before = request
        request = after
    return answered
