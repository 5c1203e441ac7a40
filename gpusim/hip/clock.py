"""When a program's work would happen on the simulated GPU: streams side by side, on one GPU and one link.

Work of a stream starts when the stream's work before it has ended, when the unit that does it is free, and not before
the host asks for it. Kernels take the whole GPU, one after another in the order of their launches; copies over the link
and kernels go on side by side. The default stream waits for all streams but the non-blocking ones, and they for it. The
host takes no time but for what it waits. Times are microseconds since the first request.
"""

from dataclasses import dataclass

DEFAULT = 0


@dataclass
class _Stream:
    free_us: float = 0.0  # when its work so far has ended
    blocking: bool = True


class StreamClock:
    """The times of one process's streams and events. launch_us: from a kernel's packet to its first workgroup."""

    def __init__(self, launch_us: float) -> None:
        self._launch_us = launch_us
        self._streams: dict[int, _Stream] = {DEFAULT: _Stream()}
        self._events: dict[int, float] = {}
        self._gpu_free_us = 0.0
        self._link_free_us = 0.0
        self.host_us = 0.0

    def new_stream(self, stream: int, blocking: bool) -> None:
        """A stream that has nothing to do yet; its handle may be one of an earlier stream."""
        self._streams[stream] = _Stream(self.host_us, blocking)

    def kernel(self, stream: int, time_us: float) -> tuple[float, float]:
        """A kernel that runs for `time_us`; returns when it starts and ends.

        Its launch hides behind the kernel before, unless it has to wait for what its own stream did last.
        """
        start = max(self._ready(stream) + self._launch_us, self._gpu_free_us)
        self._gpu_free_us = end = start + time_us
        self._ended(stream, end)
        return start, end

    def copy(self, stream: int, time_us: float, over_link: bool, blocking: bool) -> None:
        """Bytes moved for `time_us`, over the link or within the device; blocking: the host waits."""
        if over_link:
            start = max(self._ready(stream), self._link_free_us)
            self._link_free_us = end = start + time_us
        else:
            start = max(self._ready(stream), self._gpu_free_us)
            self._gpu_free_us = end = start + time_us
        self._ended(stream, end)
        if blocking:
            self.host_us = max(self.host_us, end)

    def record(self, event: int, stream: int) -> None:
        """The event happens when the stream's work so far has ended."""
        self._events[event] = self._ready(stream)

    def wait(self, stream: int, event: int) -> None:
        """What follows in the stream waits for the event; one that was never recorded has happened."""
        held = self._of(stream)
        held.free_us = max(held.free_us, self._events.get(event, 0.0))

    def elapsed_ms(self, first: int, last: int) -> float:
        """Between two events that were recorded; KeyError for others."""
        return (self._events[last] - self._events[first]) / 1e3

    def synchronize(self, stream: int | None = None) -> None:
        """The host waits for a stream, None: for all."""
        held = self._streams.values() if stream is None else [self._of(stream)]
        self.host_us = max(self.host_us, *(s.free_us for s in held))

    def _of(self, stream: int) -> _Stream:
        return self._streams.setdefault(stream, _Stream())

    def _with(self, stream: int) -> list[_Stream]:
        """The stream and those whose work it waits for."""
        held = self._of(stream)
        if stream == DEFAULT:
            return [s for s in self._streams.values() if s.blocking]
        return [held, self._streams[DEFAULT]] if held.blocking else [held]

    def _ready(self, stream: int) -> float:
        return max(self.host_us, *(s.free_us for s in self._with(stream)))

    def _ended(self, stream: int, end_us: float) -> None:
        self._of(stream).free_us = end_us
