"""The compaction engine on the timeline: L2's requests to it, and its reads of sparse lines."""

from dataclasses import dataclass

from gpusim.timeline.lanes import Lanes
from gpusim.timeline.trace_file import TraceFile

LINE_SHIFT = 6
PENDING = -1


@dataclass(slots=True)
class _Read:
    begin: int
    line: int
    lane: int
    location: int
    data: int = PENDING


class Engine:
    """Two tracks below `parent`: requests, and reads from DRAM up to their leaving the compaction unit."""

    def __init__(self, out: TraceFile, parent: int, limit: int) -> None:
        self._out, self._limit = out, limit
        self._requests = Lanes(out, "requests", parent, 0)
        self._lanes = Lanes(out, "reads", parent, 1)
        self._reads: dict[int, _Read] = {}
        self._begin = 0

    def open(self, cycle: int) -> None:
        """From `cycle` on everything is drawn; requests that came before, from there on."""
        self._begin = cycle

    def answered(self, channel: int, line: int, column: int, arrival: int, leaves: int) -> None:
        """A compacted line goes to L2: the request came in cycle `arrival`, its answer leaves in cycle `leaves`."""
        begin, end = max(arrival, self._begin), min(leaves, self._limit)
        track = self._requests.take(begin, end)
        notes = {"column": column, "compacted line": line, "L2 channel": channel}
        self._out.slice(track, begin, end, "compacted line", "engine request", notes)

    def read(self, cycle: int, number: int, line: int, lane: int, location: int) -> None:
        """The engine asks DRAM for a sparse line."""
        if number in self._reads:  # nobody needed it any more
            self._draw(number, cycle)
        self._reads[number] = _Read(cycle, line, lane, location)

    def data(self, cycle: int, number: int) -> None:
        """DRAM has answered."""
        if number in self._reads:
            self._reads[number].data = cycle

    def compacted(self, cycle: int, number: int) -> None:
        """The sparse line has left its compaction unit."""
        if number in self._reads:
            self._draw(number, cycle, compacted=True)

    def close(self, cycle: int) -> None:
        """Nothing is drawn from `cycle` on: reads under way are cut off."""
        for number in list(self._reads):
            self._draw(number, cycle)

    def _draw(self, number: int, end: int, compacted: bool = False) -> None:
        read = self._reads.pop(number)
        arrived = read.data if read.data != PENDING else end
        last = end if compacted else arrived
        track = self._lanes.take(read.begin, last)
        notes: dict[str, int | str] = {
            "address": hex(read.line << LINE_SHIFT),
            "sparse line": read.location,
            "lane": read.lane,
        }
        name = "sparse line" if compacted else "sparse line not compacted"
        self._out.begin(track, read.begin, name, "engine read", notes)
        if arrived > read.begin:
            self._out.slice(track, read.begin, arrived, "DRAM", "engine read step")
        if last > arrived:
            self._out.slice(track, arrived, last, "compaction", "engine read step")
        self._out.end(track, last)
