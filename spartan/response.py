"""Requests from L2 and their answers; every answer is compared with the packed matrix."""

from gpusim.jit import jit, ld_i64, ld_u32
from isa.trace import LINE_ADDRESS_MASK
from memory.ports import L2_FROM_ENGINE, deliver
from memory.timeline import ENGINE_ANSWERED, record
from spartan.counters import LATENCY_BUCKETS
from spartan.engine_spec import LINE_ELEMENTS
from spartan.state import NONE


@jit
def accept_request(m, arrival, channel, line, mshr):
    """Note a sparse miss: which compacted line of which column it wants. Returns the request; one must be free."""
    g = m.engine
    r = g.request_free
    g.request_free = g.request_next[r]
    g.requests_held += 1
    g.requests += 1
    g.request_channel[r] = channel
    g.request_mshr[r] = mshr
    g.request_arrival[r] = arrival
    g.request_covered[r] = 0
    g.request_next[r] = NONE
    g.request_region[r] = NONE
    plain = line & LINE_ADDRESS_MASK
    for region in range(g.regions):
        if g.region_line[region] <= plain < g.region_end[region]:
            offset = plain - g.region_line[region]
            column = offset // g.region_stride[region]
            g.request_region[r] = region
            g.request_column[r] = column
            g.request_line[r] = offset - column * g.region_stride[region]
    return r


@jit
def _matches(m, r, slot, last):
    """1 if the answer is bit for bit what the functional part computed with."""
    g = m.engine
    region = g.request_region[r]
    if region == NONE:
        return 0
    column = g.request_column[r]
    line = g.request_line[r]
    lines = ld_i64(g.region_counts[region], column)
    if last != (1 if line >= lines - 1 else 0):
        return 0
    if slot == NONE and line >= g.region_lines[region]:
        return 1  # behind the column: in the padding of the leading dimension, where no image is kept
    first = (column * g.region_stride[region] + line) * LINE_ELEMENTS
    image = g.region_image[region]
    for k in range(LINE_ELEMENTS):
        if ld_u32(image, first + k) != (0 if slot == NONE else g.slot_bundles[slot, k]):
            return 0
    return 1


@jit
def send(m, now, r, slot, last):
    """Answer request `r` with the buffer line `slot` (NONE: zero bundles); one line a cycle and L2 channel."""
    g = m.engine
    if not _matches(m, r, slot, last):
        g.response_mismatches += 1
    channel = g.request_channel[r]
    t = max(now + g.buffer_read, g.output_free[channel])
    g.output_free[channel] = t + 1
    deliver(m, t, L2_FROM_ENGINE + channel, g.request_mshr[r])
    if m.timeline.on:
        where = channel | g.request_line[r] << 8 | g.request_column[r] << 32
        record(m, ENGINE_ANSWERED, where, g.request_arrival[r], t)
    latency = t - g.request_arrival[r]
    g.responses += 1
    g.latency_cycles += latency
    bucket = 0
    while latency > 1 and bucket < LATENCY_BUCKETS - 1:
        latency >>= 1
        bucket += 1
    g.latency_histogram[bucket] += 1
    g.request_next[r] = g.request_free
    g.request_free = r
    g.requests_held -= 1


@jit
def answer_waiting(m, now, lane, line, slot, last):
    """Answer the lane's requests for compacted line `line` (NONE: all of them); returns how many there were."""
    g = m.engine
    answered = 0
    before = NONE
    r = g.lane_waiter[lane]
    while r != NONE:
        after = g.request_next[r]
        if line == NONE or g.request_line[r] == line:
            if before == NONE:
                g.lane_waiter[lane] = after
            else:
                g.request_next[before] = after
            send(m, now, r, slot, last)
            answered += 1
        else:
            before = r
        r = after
    return answered
