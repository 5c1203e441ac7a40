"""Requests where the matrix lies compacted in DRAM (`compact: on_write`): each is one read, without a search.

The look-up finds in the SIB how many lines the column has, which tells `last`, and a line past the end. The line comes
from DRAM through a data buffer of the engine to L2.
"""

from gpusim.base.jit import Machine, jit, ld_i32
from memory.address_map import dram_channel
from memory.dram.controller import dram_read
from memory.ports import ENGINE_FROM_DRAM
from memory.timeline import ENGINE_COMPACTED, ENGINE_FETCH, record
from memory.waiting import DRAM_READ_SLOT, ENGINE_WAITER, wait_for, waits
from spartan.response import send, send_written
from spartan.search import addr_calc
from spartan.state import IN_FLIGHT, NONE


@jit
def _lines_of(m: Machine, request):
    engine = m.engine
    region = engine.request_region[request]
    return ld_i32(engine.lines_of_column, engine.region_column[region] + engine.request_column[request])


@jit
def look_up_written(m: Machine, now, request):
    """Answer a request for a line past its column's end, which is zero; queue any other one to be read."""
    engine = m.engine
    region = engine.request_region[request]
    if region == NONE or engine.request_line[request] >= _lines_of(m, request):
        if region == NONE:
            engine.faults += 1
        else:
            engine.past_end += 1
        send(m, now, request, NONE, 1)
        return
    channel = dram_channel(m, addr_calc(m, region, engine.request_column[request], engine.request_line[request]))
    engine.request_next[request] = NONE
    if engine.fetch_first[channel] == NONE:
        engine.fetch_first[channel] = request
    else:
        engine.request_next[engine.fetch_last[channel]] = request
    engine.fetch_last[channel] = request


@jit
def fetch_written(m: Machine, now):
    """Read the lines asked for, in order in each DRAM channel; the channels' order rotates with the cycle."""
    engine = m.engine
    for n in range(m.map.dram_channels):
        channel = (now + n) & (m.map.dram_channels - 1)
        while (
            engine.fetch_first[channel] != NONE
            and engine.read_free != NONE
            and not waits(m, DRAM_READ_SLOT + channel, ENGINE_WAITER)
        ):
            request = engine.fetch_first[channel]
            location = engine.request_line[request]
            line = addr_calc(m, engine.request_region[request], engine.request_column[request], location)
            read = engine.read_free
            if not dram_read(m, now, channel, line, ENGINE_FROM_DRAM + channel, read):
                wait_for(m, DRAM_READ_SLOT + channel, ENGINE_WAITER)
                break
            engine.fetch_first[channel] = engine.request_next[request]
            engine.read_free = engine.read_next[read]
            engine.reads_held += 1
            engine.read_request[read] = request
            engine.read_lane[read] = NONE
            engine.read_line[read] = location
            engine.read_state[read] = IN_FLIGHT
            engine.compacted_fetched += 1
            if m.timeline.on:
                record(m, ENGINE_FETCH, read, line, location)


@jit
def line_fetched(m: Machine, now, read):
    """Take DRAM's answer to a read, and send the line to L2."""
    engine = m.engine
    request = engine.read_request[read]
    engine.read_next[read] = engine.read_free
    engine.read_free = read
    engine.reads_held -= 1
    if m.timeline.on:
        record(m, ENGINE_COMPACTED, read, 0, 0)
    send_written(m, now, request, 1 if engine.request_line[request] == _lines_of(m, request) - 1 else 0)
