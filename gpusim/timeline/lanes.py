"""Tracks for things that overlap in time: each takes one that is free, all are shown as one."""

from bisect import bisect_right, insort

from gpusim.timeline.trace_file import TraceFile


class Lanes:
    """Tracks of one name below one parent; created when needed."""

    def __init__(self, out: TraceFile, name: str, parent: int, rank: int = 0) -> None:
        self._out, self._name, self._parent, self._rank = out, name, parent, rank
        self._free: list[tuple[int, int]] = []  # cycle from which a track is free, track

    def take(self, begin: int, end: int) -> int:
        """Return a track that is free for [begin, end): of those the one that has been free for the shortest time."""
        at = bisect_right(self._free, (begin, 1 << 62)) - 1
        track = self._free.pop(at)[1] if at >= 0 else self._out.track(self._name, self._parent, self._rank)
        insort(self._free, (end, track))
        return track
