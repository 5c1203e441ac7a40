"""The compaction engine as a unit of the wake-up wheel, between the L2 channels and DRAM (Dong 2020, section 6.4).

A cycle runs backwards through the pipeline, so that what a stage frees is there for the stage before it: lines leave
the compaction units, DRAM data arrives, lines enter units, look-ups finish, requests are taken, reads are issued.
"""

from gpusim.base.jit import Machine, jit
from memory.address_map import dram_channel
from memory.dram.controller import dram_read
from memory.ports import (
    ENGINE_FROM_DRAM,
    SPARSE_DEPTH,
    port_ready,
    port_take,
    sparse_taken,
)
from memory.timeline import ENGINE_DATA, ENGINE_READ, record
from memory.unit_classes import ENGINE as ENGINE_CLASS
from memory.waiting import DRAM_READ_SLOT, ENGINE_WAITER, wait_for, waits
from memory.wheel import wake, wake_at
from spartan.compaction import data_arrived, finish_units, start_units
from spartan.prefetch_buffer import (
    close_if_done,
    close_lane,
    find_filled,
    open_lane,
    take_filled,
    use_lane,
)
from spartan.reads import queue_issue, unit_of, unqueue_issue, wait_for_unit
from spartan.response import accept_request, send
from spartan.search import ACCURATE, HASTY, PRUDENT, addr_calc, next_read, place_profile_lane, search_mode
from spartan.sib import (
    assign_entry,
    column_complete,
    compacted,
    entry_column,
    entry_in_use,
    entry_to_replace,
    find_entry,
    use_entry,
)
from spartan.state import IN_FLIGHT, LOOKUP_RING, NONE, PROFILE, REPLAY
from spartan.write_phase import write_phase
from spartan.written import fetch_written, line_fetched, look_up_written


@jit
def _entry_for(m: Machine, region, column):
    """Return the column's SIB entry, allocated if there is none yet; NONE if no entry can be replaced."""
    entry = find_entry(m, region, column)
    if entry == NONE:
        entry = entry_to_replace(m, region, column)
        if entry == NONE:
            return NONE
        if entry_in_use(m, entry):
            for kind in range(2):
                if m.engine.entry_lane[entry, kind] != NONE:
                    close_lane(m, m.engine.entry_lane[entry, kind])
        assign_entry(m, entry, region, column)
    use_entry(m, entry)
    return entry


@jit
def _look_up(m: Machine, now, request):
    """Answer a request from what is known, or let it wait at a lane; returns 0 if no SIB entry or lane is free."""
    engine = m.engine
    if engine.on_write:
        look_up_written(m, now, request)
        return 1
    region = engine.request_region[request]
    line = engine.request_line[request]
    entry, lane, slot = NONE, NONE, NONE
    past = 1 if region == NONE or line >= engine.region_lines[region] else 0
    if not past:
        entry = _entry_for(m, region, engine.request_column[request])
        if entry == NONE:
            return 0
        past = 1 if line >= compacted(m, entry) and column_complete(m, entry) else 0
        for kind in range(2):
            if slot == NONE and engine.entry_lane[entry, kind] != NONE:
                lane = engine.entry_lane[entry, kind]
                slot = find_filled(m, lane, line)
    if past or slot != NONE:
        last = past
        if slot != NONE and line == compacted(m, entry) - 1:
            last = column_complete(m, entry)
        send(m, now, request, slot, last)
        if slot != NONE:
            use_lane(m, lane)
            take_filled(m, lane, slot)
            close_if_done(m, lane)
            engine.prefetch_buffer_hits += 1
        elif region == NONE:
            engine.faults += 1
        else:
            engine.past_end += 1
        return 1
    mode = search_mode(m, entry, line)
    kind = PROFILE if mode == HASTY else REPLAY
    lane = engine.entry_lane[entry, kind]
    if lane == NONE:
        lane = open_lane(m, entry, kind)
        if lane == NONE:
            return 0
        if kind == PROFILE:
            place_profile_lane(m, lane, entry)
    if mode == ACCURATE:
        engine.accurate += 1
    elif mode == PRUDENT:
        engine.prudent += 1
    else:
        engine.hasty += 1
    engine.request_next[request] = engine.lane_waiter[lane]
    engine.lane_waiter[lane] = request
    engine.lane_limit[lane] = max(engine.lane_limit[lane], engine.lane_consumed[lane] + engine.demand_window)
    use_lane(m, lane)
    queue_issue(m, lane)
    return 1


@jit
def _look_ups(m: Machine, now):
    engine = m.engine
    done = 0
    while done < engine.lookups_per_cycle and engine.lookup_count and engine.lookup_ready[engine.lookup_head] <= now:
        if not _look_up(m, now, engine.lookup_request[engine.lookup_head]):
            if engine.lookup_since == NONE:
                engine.lookup_since = now
            return
        if engine.lookup_since != NONE:
            engine.lookup_blocked_cycles += now - engine.lookup_since
            engine.lookup_since = NONE
        engine.lookup_head = (engine.lookup_head + 1) & (LOOKUP_RING - 1)
        engine.lookup_count -= 1
        done += 1


@jit
def _take_requests(m: Machine, now):
    """Take sparse misses, at most one of a channel, round robin; returns 1 if more could have been taken."""
    engine = m.engine
    ports = m.ports
    channels = m.map.l2_channels
    start = engine.next_channel
    taken = 0
    more = 0
    for n in range(channels):
        channel = (start + n) & (channels - 1)
        count = ports.sparse_count[channel]
        head = ports.sparse_head[channel]
        if count == 0 or ports.sparse_ready[channel, head] > now:
            continue
        if (
            taken == engine.lookups_per_cycle
            or engine.lookup_count >= engine.lookup_capacity
            or engine.request_free == NONE
        ):
            return 1
        if count >= ports.sparse_limit:
            full_since = ports.sparse_ready[channel, (head + count - 1) & (SPARSE_DEPTH - 1)]
            engine.l2_stall_cycles += max(0, now - full_since)
        request = accept_request(
            m,
            ports.sparse_ready[channel, head],
            channel,
            ports.sparse_line[channel, head],
            ports.sparse_mshr[channel, head],
        )
        sparse_taken(m, now, channel)
        q = (engine.lookup_head + engine.lookup_count) & (LOOKUP_RING - 1)
        engine.lookup_ready[q] = now + engine.lookup_cycles
        engine.lookup_request[q] = request
        engine.lookup_count += 1
        engine.next_channel = (channel + 1) & (channels - 1)
        taken += 1
        if count > 1:
            more = 1
    return more


@jit
def _block(m: Machine, lane, channel):
    """Let the lane wait until the DRAM channel's queue has space."""
    engine = m.engine
    wait_for(m, DRAM_READ_SLOT + channel, ENGINE_WAITER)
    if engine.lane_blocked[lane]:
        return
    engine.lane_blocked[lane] = 1
    engine.lane_blocked_next[lane] = NONE
    if engine.blocked_first[channel] == NONE:
        engine.blocked_first[channel] = lane
    else:
        engine.lane_blocked_next[engine.blocked_last[channel]] = lane
    engine.blocked_last[channel] = lane


@jit
def _line_of(m: Machine, lane, location):
    entry = m.engine.lane_entry[lane]
    region = m.engine.entry_region[entry]
    return addr_calc(m, region, entry_column(m, entry) - m.engine.region_column[region], location)


@jit
def _issue(m: Machine, now, lane, location):
    """Ask DRAM for a sparse line of the lane's column; a read record and an address calculator must be free.

    Returns 0 if the channel's queue, or the data buffer of the lane's unit, is full: the lane then waits for space.
    """
    engine = m.engine
    unit = unit_of(m, lane)
    if engine.unit_lines_held[unit] >= engine.unit_lines:
        wait_for_unit(m, lane, unit)
        return 0
    line = _line_of(m, lane, location)
    channel = dram_channel(m, line)
    read = engine.read_free
    waiting = waits(m, DRAM_READ_SLOT + channel, ENGINE_WAITER)
    if waiting or not dram_read(m, now, channel, line, ENGINE_FROM_DRAM + channel, read):
        _block(m, lane, channel)
        return 0
    engine.read_free = engine.read_next[read]
    engine.reads_held += 1
    engine.read_unit[read] = unit
    engine.unit_lines_held[unit] += 1
    engine.addresses_left -= 1
    engine.lines_fetched += 1
    if m.timeline.on:
        record(m, ENGINE_READ, read, line, lane | location << 16)
    engine.read_line[read] = location
    engine.read_lane[read] = lane
    engine.read_serial[read] = engine.lane_serial[lane]
    engine.read_state[read] = IN_FLIGHT
    engine.read_restart[read] = engine.lane_restart[lane]
    engine.read_skip[read] = engine.lane_skip[lane]
    engine.read_next[read] = NONE
    if engine.lane_restart[lane] != NONE:
        engine.lane_restarts[lane] += 1
        engine.lane_restart[lane] = NONE
        engine.lane_skip[lane] = 0
    if engine.lane_read_first[lane] == NONE:
        engine.lane_read_first[lane] = read
    else:
        engine.read_next[engine.lane_read_last[lane]] = read
    engine.lane_read_last[lane] = read
    engine.lane_position[lane] = location + 1
    engine.lane_issued[lane] += 1
    if engine.lane_todo[lane]:
        engine.lane_todo[lane] -= 1
    return 1


@jit
def _retry_blocked(m: Machine, now):
    """Retry lanes whose DRAM channel has had space since: the first keeps its turn for all that it reads next there.

    Neighbouring lines of a column lie in one DRAM row; between those of hundreds of columns the row would be lost. The
    channels' order rotates with the cycle, since read records may be scarce.
    """
    engine = m.engine
    for n in range(m.map.dram_channels):
        channel = (now + n) & (m.map.dram_channels - 1)
        while (
            engine.blocked_first[channel] != NONE
            and not waits(m, DRAM_READ_SLOT + channel, ENGINE_WAITER)
            and engine.read_free != NONE
            and engine.addresses_left
        ):
            lane = engine.blocked_first[channel]
            location = next_read(m, lane)
            space = engine.unit_lines_held[unit_of(m, lane)] < engine.unit_lines
            if location != NONE and space and dram_channel(m, _line_of(m, lane, location)) == channel:
                _issue(m, now, lane, location)
            else:
                engine.blocked_first[channel] = engine.lane_blocked_next[lane]
                engine.lane_blocked[lane] = 0
                if location != NONE:
                    queue_issue(m, lane)


@jit
def _search_cycles(m: Machine):
    engine = m.engine
    scan = (engine.scanned + engine.scan_bits - 1) // engine.scan_bits
    return max(1, scan + (engine.summed + engine.mapping_sums - 1) // engine.mapping_sums)


@jit
def _run_shifters(m: Machine, now):
    """Let shifters find and issue reads.

    A shifter stays with a lane until that has nothing more to read: neighbours in a DRAM row are read together.
    """
    engine = m.engine
    for k in range(engine.shifters):
        if engine.shifter_ready[k] > now:
            continue
        while engine.read_free != NONE:
            lane = engine.shifter_lane[k]
            if lane == NONE:
                lane = unqueue_issue(m)
                if lane == NONE:
                    break
            searched = engine.shifter_found[k]
            engine.shifter_lane[k] = NONE
            engine.shifter_found[k] = 0
            location = next_read(m, lane)
            if location == NONE:
                continue
            cycles = _search_cycles(m)
            busy = 1
            if searched == 0 and cycles > 1:
                engine.shifter_found[k] = 1
                engine.shifter_lane[k] = lane
                busy = cycles - 1
            elif engine.addresses_left == 0:
                engine.shifter_found[k] = 1
                engine.shifter_lane[k] = lane
            elif _issue(m, now, lane, location):
                engine.shifter_lane[k] = lane
            engine.shifter_ready[k] = now + busy
            engine.shifter_busy_cycles += busy
            break


@jit
def _wake_again(m: Machine, now, more_requests):
    """Wake the engine for events known in advance; data, requests and DRAM space wake it themselves."""
    engine = m.engine
    if engine.unit_mask:
        wake_at(m, ENGINE_CLASS, now + 1, 0)
    if engine.pipe_count:
        wake(m, ENGINE_CLASS, engine.pipe_ready[engine.pipe_head], 0)
    if engine.lookup_count and (engine.lookup_since == NONE):
        wake(m, ENGINE_CLASS, engine.lookup_ready[engine.lookup_head], 0)
    if engine.addresses_left == 0:
        wake_at(m, ENGINE_CLASS, now + 1, 0)
    if more_requests and engine.lookup_count < engine.lookup_capacity and engine.request_free != NONE:
        wake_at(m, ENGINE_CLASS, now + 1, 0)
    if engine.read_free != NONE:
        queued = engine.issue_first[0] != NONE or engine.issue_first[1] != NONE
        for k in range(engine.shifters):
            if queued or engine.shifter_lane[k] != NONE:
                wake(m, ENGINE_CLASS, engine.shifter_ready[k], 0)


@jit(outline=True)
def engine_tick(m: Machine, now):
    """Run the engine in cycle `now`."""
    engine = m.engine
    if engine.writing:
        write_phase(m, now)
        return
    engine.addresses_left = engine.addresses_per_cycle
    finish_units(m, now)
    for channel in range(m.map.dram_channels):
        port = ENGINE_FROM_DRAM + channel
        while port_ready(m, now, port):
            read = port_take(m, port)
            if m.timeline.on:
                record(m, ENGINE_DATA, read, 0, 0)
            if engine.on_write:
                line_fetched(m, now, read)
            else:
                data_arrived(m, read)
        if m.ports.count[port]:
            wake(m, ENGINE_CLASS, m.ports.ready[port, m.ports.head[port]], 0)
    start_units(m, now)
    if engine.lookup_count:
        _look_ups(m, now)
    more = _take_requests(m, now)
    if engine.on_write:
        fetch_written(m, now)
    else:
        _retry_blocked(m, now)
        _run_shifters(m, now)
    _wake_again(m, now, more)


@jit
def engine_finish(m: Machine, now) -> None:
    """Close all lanes at a kernel's end, as what they hold was never needed: lines fetched = needed + wasted."""
    engine = m.engine
    while engine.lane_first != NONE:
        close_lane(m, engine.lane_first)
    if not engine.on_write:
        engine.lines_wasted += engine.reads_held
    for k in range(engine.shifters):  # of searches that are not over, which were counted in whole
        engine.shifter_busy_cycles -= max(engine.shifter_ready[k] - now, 0)
    if engine.lookup_since != NONE:
        engine.lookup_blocked_cycles += now - engine.lookup_since
        engine.lookup_since = NONE
