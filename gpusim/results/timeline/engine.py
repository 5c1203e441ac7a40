"""The compaction engine on the timeline: L2's requests to it, and its reads of sparse lines."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gpusim.base.jit import Machine
from gpusim.results.timeline.trace_file import CUT_OFF, TraceFile, TrackGroup
from memory.ports import SPARSE_DEPTH
from spartan.state import IN_FLIGHT, NONE

LINE_SHIFT = 6
PENDING = UNKNOWN = -1


def _held(links: np.ndarray, free: int, count: int) -> list[int]:
    """Return the `count` elements of a pool that are not in its free list, which begins with `free`."""
    unused = set()
    while free != NONE:
        unused.add(free)
        free = int(links[free])
    return [element for element in range(len(unused) + count) if element not in unused]


@dataclass(slots=True)
class _Read:
    begin: int
    line: int
    lane: int
    location: int
    data: int = PENDING


class EngineTracks:
    """Two tracks below `parent`: requests, and reads from DRAM until they leave the compaction unit."""

    def __init__(self, out: TraceFile, parent: int, limit: int) -> None:
        self._out, self._limit = out, limit
        self._requests = TrackGroup(out, "requests", parent, 0)
        self._lanes = TrackGroup(out, "reads", parent, 1)
        self._reads: dict[int, _Read] = {}
        self._begin = 0

    def open(self, m: Machine, cycle: int) -> None:
        """Begin to draw in `cycle`; requests and reads that came before are drawn from there on."""
        self._begin = cycle
        g = m.engine
        for number in _held(g.read_next, int(g.read_free), int(g.reads_held)):
            data = PENDING if g.read_state[number] == IN_FLIGHT else cycle
            self._reads[number] = _Read(cycle, UNKNOWN, int(g.read_lane[number]), int(g.read_line[number]), data)

    def answered(self, channel: int, line: int, column: int, arrival: int, leaves: int) -> None:
        """Draw a request that came in cycle `arrival` and whose compacted line leaves for L2 in cycle `leaves`."""
        notes = {"L2 channel": channel, "column": column, "compacted line": line}
        self._request(arrival, min(leaves, self._limit), notes)

    def read(self, cycle: int, number: int, line: int, lane: int, location: int) -> None:
        """Begin a read with which the engine asks DRAM for a sparse line."""
        if number in self._reads:  # nobody needed it any more
            self._draw(number, cycle)
        self._reads[number] = _Read(cycle, line, lane, location)

    def fetch(self, cycle: int, number: int, line: int, location: int) -> None:
        """Begin a read with which the engine asks DRAM for a compacted line."""
        self._reads[number] = _Read(cycle, line, NONE, location)

    def data(self, cycle: int, number: int) -> None:
        """Note the cycle in which DRAM has answered a read."""
        if number in self._reads:
            self._reads[number].data = cycle

    def compacted(self, cycle: int, number: int) -> None:
        """Draw a read whose sparse line has left its compaction unit."""
        if number in self._reads:
            self._draw(number, cycle, compacted=True)

    def close(self, m: Machine, cycle: int) -> None:
        """Stop drawing in `cycle`, where requests and reads under way are cut off."""
        g = m.engine
        held = set(_held(g.read_next, int(g.read_free), int(g.reads_held)))
        for number in list(self._reads):
            self._draw(number, cycle, cut=number in held)
        for arrival, notes in sorted(self._under_way(m, cycle), key=lambda request: request[0]):
            self._request(arrival, cycle, {**notes, **CUT_OFF})

    @staticmethod
    def _under_way(m: Machine, cycle: int) -> Iterator[tuple[int, Mapping[str, int]]]:
        """Yield the cycle of arrival and the notes of each request without an answer, taken by the engine or not."""
        g, p = m.engine, m.ports
        for r in _held(g.request_next, int(g.request_free), int(g.requests_held)):
            notes = {"L2 channel": int(g.request_channel[r]), "column": int(g.request_column[r])}
            yield int(g.request_arrival[r]), {**notes, "compacted line": int(g.request_line[r])}
        for channel in range(int(m.map.l2_channels)):
            for n in range(int(p.sparse_count[channel])):
                arrival = int(p.sparse_ready[channel, (int(p.sparse_head[channel]) + n) % SPARSE_DEPTH])
                if arrival < cycle:
                    yield arrival, {"L2 channel": channel}

    def _request(self, begin: int, end: int, notes: Mapping[str, int | str]) -> None:
        begin = max(begin, self._begin)
        self._out.slice(self._requests.take(begin, end), begin, end, "compacted line", "engine request", notes)

    def _draw(self, number: int, end: int, compacted: bool = False, cut: bool = False) -> None:
        read = self._reads.pop(number)
        arrived = read.data if read.data != PENDING else end
        last = end if compacted or cut else arrived
        if last <= read.begin:  # nobody needed it any more when the window began
            return
        track = self._lanes.take(read.begin, last)
        kind = "compacted line" if read.lane == NONE and read.line != UNKNOWN else "sparse line"
        notes: dict[str, int | str] = {kind: read.location}
        if read.line != UNKNOWN:
            notes["address"] = hex(read.line << LINE_SHIFT)
        if read.lane != NONE:
            notes["lane"] = read.lane
        if cut:
            notes.update(CUT_OFF)
        name = kind if compacted or cut else f"{kind} not compacted"
        self._out.begin(track, read.begin, name, "engine read", notes)
        if arrived > read.begin:
            self._out.slice(track, read.begin, arrived, "DRAM", "engine read step")
        if last > arrived:
            self._out.slice(track, arrived, last, "compaction", "engine read step")
        self._out.end(track, last)
