"""When a program's work would happen on the simulated GPU: streams side by side, on one GPU and one link.

Work of a stream starts when the stream's work before it has ended and not before the host asks for it. The default
stream waits for all streams but the non-blocking ones, and they for it. Copies over the link go one after another,
beside kernels. The host takes no time but for what it waits, and nothing is decided before it waits for it: what it
asks for until then may run beside what it asked for before. Times are microseconds since the first request.

Kernels of several streams run at a time, as many as there are hardware queues. Each was simulated alone; together they
share the GPU as work that is divisible: a kernel needs of each unit what its roofline says, and of the places for
workgroups what its grid takes; where the sum of what runs is more than there is, all of it is slowed in proportion. So
no unit ever does more than its rate, kernels that leave room for one another overlap, and what fills the GPU takes as
long as one after another. What they do to each other's caches and DRAM rows is not in it.
"""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

DEFAULT = 0
HARDWARE_QUEUES = 4  # of a process, which its streams share (ROCm: GPU_MAX_HW_QUEUES)
PLACES = "places"  # for workgroups, among what kernels demand of the GPU
_LINK, _GPU = "link", "gpu"
_ENDED_US = 1e-9  # of work left: none

Demands = Mapping[str, float]
Ended = Callable[[float, float], None]


@dataclass(eq=False)
class _Work:
    """Something that a stream does. unit: that does it, None: nothing is done, it is waited for; left_us: of its time
    alone; demands: of each part of the GPU, as a share; waits_for: of the work before it, how much has not ended."""

    unit: str | None = None
    launch_us: float = 0.0
    left_us: float = 0.0
    demands: Demands = field(default_factory=dict)
    ended: Ended | None = None
    waits_for: int = 0
    started_us: float = 0.0
    ended_us: float | None = None
    followers: "list[_Work]" = field(default_factory=list)


@dataclass
class _Stream:
    last: _Work
    blocking: bool = True


class StreamClock:
    """The times of one process's streams and events. launch_us: from a kernel's packet to its first workgroup."""

    def __init__(self, launch_us: float) -> None:
        self._launch_us = launch_us
        self.host_us = 0.0
        self._streams: dict[int, _Stream] = {DEFAULT: _Stream(_Work(ended_us=0.0))}
        self._events: dict[int, _Work] = {}
        self._now_us = 0.0  # never beyond the host's time
        self._number = 0  # of work, in the order in which it can start
        self._waiting: dict[str, list[tuple[float, int, _Work]]] = {_LINK: [], _GPU: []}
        self._running: dict[str, list[_Work]] = {_LINK: [], _GPU: []}

    def new_stream(self, stream: int, blocking: bool) -> None:
        """A stream that has nothing to do yet; its handle may be one of an earlier stream."""
        self._streams[stream] = _Stream(_Work(ended_us=self.host_us), blocking)

    def kernel(self, stream: int, time_us: float, demands: Demands, ended: Ended | None = None) -> None:
        """A kernel that alone runs for `time_us`. demands: shares of the GPU's units and places that it needs then;
        ended: called with its start and end when they are known. Its launch hides behind other streams' kernels."""
        self._append(stream, _Work(_GPU, self._launch_us, time_us, demands, ended))

    def copy(self, stream: int, time_us: float, over_link: bool, blocking: bool) -> None:
        """Bytes moved for `time_us`, over the link or, with all that DRAM can do, within the device; blocking: the
        host waits."""
        demands = {} if over_link else {"dram": 1.0}
        work = self._append(stream, _Work(_LINK if over_link else _GPU, 0.0, time_us, demands))
        if blocking:
            self._wait_for(work)

    def record(self, event: int, stream: int) -> None:
        """The event happens when the stream's work so far has ended."""
        self._events[event] = self._append(stream, _Work())

    def wait(self, stream: int, event: int) -> None:
        """What follows in the stream waits for the event; one that was never recorded has happened."""
        if event in self._events:
            self._append(stream, _Work(), self._events[event])

    def elapsed_ms(self, first: int, last: int) -> float:
        """Between two events that were recorded, for which the host waits; KeyError for others."""
        return (self._wait_for(self._events[last]) - self._wait_for(self._events[first])) / 1e3

    def wait_for(self, event: int) -> None:
        """The host waits for an event."""
        if event in self._events:
            self._wait_for(self._events[event])

    def synchronize(self, stream: int | None = None) -> None:
        """The host waits for a stream, None: for all."""
        for held in list(self._streams.values()) if stream is None else self._before(stream):
            self._wait_for(held.last)

    def finish(self) -> None:
        """Let all that was asked for end; the host asks for nothing any more."""
        while any((*self._waiting.values(), *self._running.values())):
            self._start()
            self._go_on()

    # -- what waits for what

    def _of(self, stream: int) -> _Stream:
        return self._streams.setdefault(stream, _Stream(_Work(ended_us=self.host_us)))

    def _before(self, stream: int) -> list[_Stream]:
        """The stream and those whose work it waits for."""
        held = self._of(stream)
        if stream == DEFAULT:
            return [s for s in self._streams.values() if s.blocking]
        return [held, self._streams[DEFAULT]] if held.blocking else [held]

    def _append(self, stream: int, work: _Work, *more: _Work) -> _Work:
        """`work` is what the stream does next. more: what it waits for besides."""
        for before in (*(held.last for held in self._before(stream)), *more):
            if before.ended_us is None:
                before.followers.append(work)
                work.waits_for += 1
        self._of(stream).last = work
        if not work.waits_for:
            self._can_start(work)
        return work

    def _can_start(self, work: _Work) -> None:
        """All that `work` waits for has ended."""
        if work.unit is None:
            self._end(work)
        else:
            self._number += 1
            heapq.heappush(self._waiting[work.unit], (self._now_us + work.launch_us, self._number, work))

    def _end(self, work: _Work) -> None:
        work.ended_us = self._now_us
        if work.ended is not None:
            work.ended(work.started_us, work.ended_us)
        followers, work.followers = work.followers, []
        for follower in followers:
            follower.waits_for -= 1
            if not follower.waits_for:
                self._can_start(follower)

    # -- what happens when

    def _wait_for(self, work: _Work) -> float:
        """Let the GPU go on until `work` has ended; returns when that was."""
        while work.ended_us is None:
            self._start()
            self._go_on()
        self.host_us = max(self.host_us, work.ended_us)
        return work.ended_us

    def _start(self) -> None:
        """What can start now does."""
        for unit, most in ((_LINK, 1), (_GPU, HARDWARE_QUEUES)):
            waiting, running = self._waiting[unit], self._running[unit]
            while waiting and waiting[0][0] <= self._now_us and len(running) < most:
                _, _, work = heapq.heappop(waiting)
                work.started_us = self._now_us
                running.append(work)

    def _go_on(self) -> None:
        """Time passes until the next piece of work ends or can start."""
        rates = {_LINK: 1.0, _GPU: 1 / max(1.0, *_sums(self._running[_GPU]))}
        steps = [work.left_us / rates[unit] for unit, running in self._running.items() for work in running]
        starts = [waiting[0][0] - self._now_us for waiting in self._waiting.values() if waiting]
        passed = min([*steps, *(step for step in starts if step > 0)])
        self._now_us += passed
        for unit, running in self._running.items():
            for work in running:
                work.left_us -= passed * rates[unit]
            ended = [work for work in running if work.left_us <= _ENDED_US]
            running[:] = [work for work in running if work.left_us > _ENDED_US]
            for work in ended:
                self._end(work)


def _sums(running: list[_Work]) -> list[float]:
    """Of each part of the GPU, what all kernels that run demand of it."""
    sums: dict[str, float] = {}
    for work in running:
        for part, share in work.demands.items():
            sums[part] = sums.get(part, 0.0) + share
    return [*sums.values(), 0.0]
