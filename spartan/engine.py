"""The compaction engine as a unit of the wake-up wheel, between the L2 channels and DRAM (Dong 2020, section 6.4).

A cycle runs backwards through the pipeline, so that what a stage frees is there for the stage before it: lines leave
the compaction units, DRAM data arrives, lines enter units, look-ups finish, requests are taken, reads are issued.
"""

from gpusim.jit import jit
from memory.address_map import dram_channel
from memory.dram.controller import dram_read
from memory.ports import (
    ENGINE_FROM_DRAM,
    ENGINE_WAITER,
    SPARSE_DEPTH,
    port_ready,
    port_take,
    sparse_taken,
    wait_for_dram,
)
from memory.timeline import ENGINE_DATA, ENGINE_READ, record
from memory.wheel import ENGINE as ENGINE_CLASS
from memory.wheel import wake, wake_at
from spartan.compaction import data_arrived, finish_units, start_units
from spartan.prefetch_buffer import (
    close_if_done,
    close_lane,
    find_filled,
    open_lane,
    queue_issue,
    take_filled,
    unqueue_issue,
    use_lane,
)
from spartan.response import accept_request, send
from spartan.search import ACCURATE, HASTY, PRUDENT, addr_calc, next_read, place_profile_lane, search_mode
from spartan.sib import (
    assign_entry,
    column_complete,
    compacted,
    entry_column,
    entry_to_replace,
    find_entry,
    use_entry,
)
from spartan.state import IN_FLIGHT, LOOKUP_RING, NONE, PROFILE, REPLAY


@jit
def _entry_for(m, region, column):
    """The column's SIB entry, allocated if there is none yet; NONE if no entry can be replaced."""
    e = find_entry(m, region, column)
    if e == NONE:
        e = entry_to_replace(m)
        if e == NONE:
            return NONE
        if e < m.engine.entries_used:
            for kind in range(2):
                if m.engine.entry_lane[e, kind] != NONE:
                    close_lane(m, m.engine.entry_lane[e, kind])
        assign_entry(m, e, region, column)
    use_entry(m, e)
    return e


@jit
def _look_up(m, now, r):
    """Answer a request from what is known, or let it wait at a lane; 0 if no SIB entry or lane can be had now."""
    g = m.engine
    region = g.request_region[r]
    line = g.request_line[r]
    e, lane, slot = NONE, NONE, NONE
    past = 1 if region == NONE or line >= g.region_lines[region] else 0
    if not past:
        e = _entry_for(m, region, g.request_column[r])
        if e == NONE:
            return 0
        past = 1 if line >= compacted(m, e) and column_complete(m, e) else 0
        for kind in range(2):
            if slot == NONE and g.entry_lane[e, kind] != NONE:
                lane = g.entry_lane[e, kind]
                slot = find_filled(m, lane, line)
    if past or slot != NONE:
        last = past
        if slot != NONE and line == compacted(m, e) - 1:
            last = column_complete(m, e)
        send(m, now, r, slot, last)
        if slot != NONE:
            use_lane(m, lane)
            take_filled(m, lane, slot)
            close_if_done(m, lane)
            g.prefetch_buffer_hits += 1
        elif region == NONE:
            g.faults += 1
        else:
            g.past_end += 1
        return 1
    mode = search_mode(m, e, line)
    kind = PROFILE if mode == HASTY else REPLAY
    lane = g.entry_lane[e, kind]
    if lane == NONE:
        lane = open_lane(m, e, kind)
        if lane == NONE:
            return 0
        if kind == PROFILE:
            place_profile_lane(m, lane, e)
    if mode == ACCURATE:
        g.accurate += 1
    elif mode == PRUDENT:
        g.prudent += 1
    else:
        g.hasty += 1
    g.request_next[r] = g.lane_waiter[lane]
    g.lane_waiter[lane] = r
    g.lane_limit[lane] = max(g.lane_limit[lane], g.lane_consumed[lane] + g.demand_window)
    use_lane(m, lane)
    queue_issue(m, lane)
    return 1


@jit
def _look_ups(m, now):
    g = m.engine
    done = 0
    while done < g.lookups_per_cycle and g.lookup_count and g.lookup_ready[g.lookup_head] <= now:
        if not _look_up(m, now, g.lookup_request[g.lookup_head]):
            if g.lookup_since == NONE:
                g.lookup_since = now
            return
        if g.lookup_since != NONE:
            g.lookup_blocked_cycles += now - g.lookup_since
            g.lookup_since = NONE
        g.lookup_head = (g.lookup_head + 1) & (LOOKUP_RING - 1)
        g.lookup_count -= 1
        done += 1


@jit
def _take_requests(m, now):
    """Take sparse misses, at most one of a channel, round robin; returns 1 if more could have been taken."""
    g = m.engine
    p = m.ports
    channels = m.map.l2_channels
    start = g.next_channel
    taken = 0
    more = 0
    for n in range(channels):
        channel = (start + n) & (channels - 1)
        count = p.sparse_count[channel]
        head = p.sparse_head[channel]
        if count == 0 or p.sparse_ready[channel, head] > now:
            continue
        if taken == g.lookups_per_cycle or g.lookup_count >= g.lookup_capacity or g.request_free == NONE:
            return 1
        if count >= p.sparse_limit:
            full_since = p.sparse_ready[channel, (head + count - 1) & (SPARSE_DEPTH - 1)]
            g.l2_stall_cycles += max(0, now - full_since)
        r = accept_request(
            m, p.sparse_ready[channel, head], channel, p.sparse_line[channel, head], p.sparse_mshr[channel, head]
        )
        sparse_taken(m, now, channel)
        q = (g.lookup_head + g.lookup_count) & (LOOKUP_RING - 1)
        g.lookup_ready[q] = now + g.lookup_cycles
        g.lookup_request[q] = r
        g.lookup_count += 1
        g.next_channel = (channel + 1) & (channels - 1)
        taken += 1
        if count > 1:
            more = 1
    return more


@jit
def _block(m, lane, channel):
    """The lane waits until the DRAM channel's queue has space."""
    g = m.engine
    wait_for_dram(m, channel, ENGINE_WAITER)
    if g.lane_blocked[lane]:
        return
    g.lane_blocked[lane] = 1
    g.lane_blocked_next[lane] = NONE
    if g.blocked_first[channel] == NONE:
        g.blocked_first[channel] = lane
    else:
        g.lane_blocked_next[g.blocked_last[channel]] = lane
    g.blocked_last[channel] = lane


@jit
def _line_of(m, lane, location):
    """DRAM line of a sparse line of the lane's column."""
    e = m.engine.lane_entry[lane]
    region = m.engine.entry_region[e]
    return addr_calc(m, region, entry_column(m, e) - m.engine.region_column[region], location)


@jit
def _issue(m, now, lane, location):
    """Ask DRAM for a sparse line of the lane's column; a read record must be free. 0 if the channel is full."""
    g = m.engine
    line = _line_of(m, lane, location)
    channel = dram_channel(m, line)
    r = g.read_free
    waiting = (m.ports.dram_waiters[channel] >> ENGINE_WAITER) & 1
    if waiting or not dram_read(m, now, channel, line, ENGINE_FROM_DRAM + channel, r):
        _block(m, lane, channel)
        return 0
    g.read_free = g.read_next[r]
    g.reads_held += 1
    g.lines_fetched += 1
    if m.timeline.on:
        record(m, ENGINE_READ, r, line, lane | location << 16)
    g.read_line[r] = location
    g.read_lane[r] = lane
    g.read_serial[r] = g.lane_serial[lane]
    g.read_state[r] = IN_FLIGHT
    g.read_restart[r] = g.lane_restart[lane]
    g.read_skip[r] = g.lane_skip[lane]
    g.read_next[r] = NONE
    if g.lane_restart[lane] != NONE:
        g.lane_restarts[lane] += 1
        g.lane_restart[lane] = NONE
        g.lane_skip[lane] = 0
    if g.lane_read_first[lane] == NONE:
        g.lane_read_first[lane] = r
    else:
        g.read_next[g.lane_read_last[lane]] = r
    g.lane_read_last[lane] = r
    g.lane_position[lane] = location + 1
    g.lane_issued[lane] += 1
    if g.lane_todo[lane]:
        g.lane_todo[lane] -= 1
    return 1


@jit
def _retry_blocked(m, now):
    """Lanes whose DRAM channel has had space since: the first keeps its turn for all that it reads next there.

    Neighbouring lines of a column lie in one DRAM row; between those of hundreds of columns the row would be lost.
    The channels' order rotates with the cycle: read records may be short.
    """
    g = m.engine
    for n in range(m.map.dram_channels):
        channel = (now + n) & (m.map.dram_channels - 1)
        while (
            g.blocked_first[channel] != NONE
            and (m.ports.dram_waiters[channel] >> ENGINE_WAITER) & 1 == 0
            and g.read_free != NONE
        ):
            lane = g.blocked_first[channel]
            location = next_read(m, lane)
            if location != NONE and dram_channel(m, _line_of(m, lane, location)) == channel:
                _issue(m, now, lane, location)
            else:
                g.blocked_first[channel] = g.lane_blocked_next[lane]
                g.lane_blocked[lane] = 0
                if location != NONE:
                    queue_issue(m, lane)


@jit
def _search_cycles(m):
    """Cycles of the last search."""
    g = m.engine
    scan = (g.scanned + g.scan_bits - 1) // g.scan_bits
    return max(1, scan + (g.summed + g.mapping_sums - 1) // g.mapping_sums)


@jit
def _run_shifters(m, now):
    """A shifter stays with a lane until that has nothing more to read: neighbours in a DRAM row are read together."""
    g = m.engine
    for k in range(g.shifters):
        if g.shifter_ready[k] > now:
            continue
        while g.read_free != NONE:
            lane = g.shifter_lane[k]
            if lane == NONE:
                lane = unqueue_issue(m)
                if lane == NONE:
                    break
            found = g.shifter_found[k]
            g.shifter_lane[k] = NONE
            g.shifter_found[k] = 0
            location = next_read(m, lane)
            if location == NONE:
                continue
            cycles = _search_cycles(m)
            if found == 0 and cycles > 1:
                g.shifter_found[k] = 1
                g.shifter_lane[k] = lane
                g.shifter_ready[k] = now + cycles - 1
            else:
                if _issue(m, now, lane, location):
                    g.shifter_lane[k] = lane
                g.shifter_ready[k] = now + 1
            break


@jit
def _wake_again(m, now, more_requests):
    """Wake the engine for what it knows to come; data, requests and DRAM space wake it themselves."""
    g = m.engine
    if g.unit_mask:
        wake_at(m, ENGINE_CLASS, now + 1, 0)
    if g.pipe_count:
        wake(m, ENGINE_CLASS, g.pipe_ready[g.pipe_head], 0)
    if g.lookup_count and (g.lookup_since == NONE):
        wake(m, ENGINE_CLASS, g.lookup_ready[g.lookup_head], 0)
    if more_requests and g.lookup_count < g.lookup_capacity and g.request_free != NONE:
        wake_at(m, ENGINE_CLASS, now + 1, 0)
    if g.read_free != NONE:
        queued = g.issue_first[0] != NONE or g.issue_first[1] != NONE
        for k in range(g.shifters):
            if queued or g.shifter_lane[k] != NONE:
                wake(m, ENGINE_CLASS, g.shifter_ready[k], 0)


@jit(outline=True)
def engine_tick(m, now):
    """Run the engine in cycle `now`."""
    g = m.engine
    finish_units(m, now)
    for channel in range(m.map.dram_channels):
        port = ENGINE_FROM_DRAM + channel
        while port_ready(m, now, port):
            r = port_take(m, port)
            if m.timeline.on:
                record(m, ENGINE_DATA, r, 0, 0)
            data_arrived(m, r)
        if m.ports.count[port]:
            wake(m, ENGINE_CLASS, m.ports.ready[port, m.ports.head[port]], 0)
    start_units(m, now)
    if g.lookup_count:
        _look_ups(m, now)
    more = _take_requests(m, now)
    _retry_blocked(m, now)
    _run_shifters(m, now)
    _wake_again(m, now, more)


@jit
def engine_finish(m, now) -> None:
    """At a kernel's end: what the engine still holds was never needed; afterwards fetched = needed + wasted."""
    g = m.engine
    while g.lane_first != NONE:
        close_lane(m, g.lane_first)
    g.lines_wasted += g.reads_held
    if g.lookup_since != NONE:
        g.lookup_blocked_cycles += now - g.lookup_since
        g.lookup_since = NONE
