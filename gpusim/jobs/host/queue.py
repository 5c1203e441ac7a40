"""When work happens on the GPU: streams and events, a command processor, a copy engine, kernels side by side.

Work of a stream starts when the stream's work before it has ended and not before the host asks for it. The default
stream waits for all streams but the non-blocking ones, and they for it. Copies over the link go one after another,
while kernels run. The host takes no time but for what it waits, and nothing is decided before it waits: what it asks
for until then may run at the same time as what it asked for before. Times are microseconds since the first request.
A queue of launches and copies, each after the one before, is one stream.

Kernels of several streams run at a time, as many as there are hardware queues. Each was simulated alone; together they
share the GPU as work that is divisible: a kernel needs of each unit what its roofline says, and of the slots for
workgroups what its grid takes; where the sum of what runs is more than there is, all of it is slowed in proportion. So
no unit ever does more than its rate, kernels that leave space for one another overlap, and what fills the GPU takes as
long as one after another. What they do to each other's caches and DRAM rows is not modelled.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import simpy
from simpy.resources.resource import Request

from gpusim.results.records.record import CommandTimes

DEFAULT = 0
HARDWARE_QUEUES = 4  # of a process, which its streams share (ROCm: GPU_MAX_HW_QUEUES)
SLOTS = "slots"  # for workgroups, among what kernels demand of the GPU
_ENDED_US = 1e-9  # work with less time left has ended

Demands = Mapping[str, float]
Ended = Callable[[float, float], None]


@dataclass(eq=False)
class _Work:
    """A kernel, copy or event of a stream."""

    name: str = ""
    """Name shown to people."""
    stream: int = DEFAULT
    """Number of the stream."""
    unit: simpy.Resource | None = None
    """Resource whose slot the work occupies; None: it only orders other work."""
    launch_us: float = 0.0
    """Delay from the packet to the first workgroup in microseconds."""
    left_us: float = 0.0
    """Remaining time in microseconds if it ran alone."""
    demands: Demands = field(default_factory=dict)
    """Share of each part of the GPU that it uses."""
    copied_bytes: int = 0
    """Bytes of a copy; 0: a kernel."""
    direction: str = ""
    """Direction of a copy; empty: no copy."""
    place: str = ""
    """Layer's pass, or other place, to which the work belongs."""
    number: int = 0
    """Number of the launch, from 1; 0: no kernel."""
    ended: Ended | None = None
    """Called with the start and end of the work, in microseconds."""
    waits_for: int = 0
    """Number of preceding works that have not ended."""
    slot: Request | None = None
    """Granted slot of `unit`."""
    asked_us: float = 0.0
    """Time of the host's request in microseconds."""
    turn_us: float = 0.0
    """Time at which all preceding work had ended, in microseconds."""
    started_us: float = 0.0
    """Time of its start in microseconds."""
    ended_us: float | None = None
    """Time of its end in microseconds; None: not ended."""
    followers: "list[_Work]" = field(default_factory=list)
    """Works that wait for this one."""


@dataclass
class _Stream:
    last: _Work
    blocking: bool = True


class StreamQueue:
    """The streams and events of one process on one GPU.

    Args:
        launch_us: Microseconds from a kernel's packet to its first workgroup.

    Attributes:
        host_us: When the host has waited last.
        times: Times of the kernels and copies that have ended, in the order of their ends.
        launches: How many kernels were added.
    """

    def __init__(self, launch_us: float) -> None:
        self._launch_us = launch_us
        self.host_us = 0.0
        self.times: list[CommandTimes] = []
        self._environment = simpy.Environment()
        self._link = simpy.Resource(self._environment, capacity=1)
        self._gpu = simpy.Resource(self._environment, capacity=HARDWARE_QUEUES)
        self._streams: dict[int, _Stream] = {DEFAULT: _Stream(_Work(ended_us=0.0))}
        self._events: dict[int, _Work] = {}
        self._stream_numbers = {DEFAULT: 0}
        self.launches = 0
        self._shared: list[_Work] = []  # kernels that run
        self._pace, self._paced_us = 1.0, 0.0  # the pace of each of them, and since when
        self._look: simpy.Event | None = None  # when the first of them ends

    def new_stream(self, stream: int, blocking: bool) -> None:
        """Create a stream without work; its handle may be that of an earlier stream."""
        self._streams[stream] = _Stream(_Work(ended_us=self.host_us), blocking)

    def stream_number(self, stream: int) -> int:
        """Return the number of a stream: 0 is the default one, the others count by their first commands."""
        return self._stream_numbers.setdefault(stream, len(self._stream_numbers))

    def kernel(
        self,
        stream: int,
        time_us: float,
        demands: Demands | None = None,
        ended: Ended | None = None,
        name: str = "",
        place: str = "",
    ) -> None:
        """Add a kernel that alone runs for `time_us`; its launch hides behind other streams' kernels.

        Args:
            demands: Shares of the GPU's units and slots that it needs then.
            ended: Called with its start and end when they are known.
            name: What it is, for people.
            place: What it belongs to, such as a layer's pass.
        """
        self.launches += 1
        self.stream_number(stream)
        self._append(
            _Work(
                name=name,
                number=self.launches,
                stream=stream,
                unit=self._gpu,
                launch_us=self._launch_us,
                left_us=time_us,
                demands=demands or {},
                copied_bytes=0,
                place=place,
                ended=ended,
            )
        )

    def copy(
        self,
        stream: int,
        time_us: float,
        over_link: bool,
        blocking: bool,
        name: str = "",
        copied_bytes: int = 1,
        direction: str = "",
    ) -> None:
        """Move bytes for `time_us`, over the link or, with all that DRAM can do, within the device.

        Args:
            blocking: The host waits for it.
            direction: Direction for people, such as 'to the device', where it is known.
        """
        self.stream_number(stream)
        unit, demands = (self._link, {}) if over_link else (self._gpu, {"dram": 1.0})
        work = self._append(
            _Work(
                name=name,
                stream=stream,
                unit=unit,
                launch_us=0.0,
                left_us=time_us,
                demands=demands,
                copied_bytes=copied_bytes,
                direction=direction or ("over the link" if over_link else "within the device"),
            )
        )
        if blocking:
            self._wait_for(work)

    def record(self, event: int, stream: int) -> None:
        """Let the event happen when the stream's work so far has ended."""
        self._events[event] = self._append(_Work(stream=stream))

    def mark(self, event: int, stream: int) -> None:
        """Let the event be what the stream was last asked for; it happens when that has ended."""
        self._events[event] = self._of(stream).last

    def times_us(self, event: int) -> tuple[float, float, float, float]:
        """Wait for an event that is a stream's work, and return its times; raises KeyError for another.

        When the host asked for it, when all before it had ended and its launch began, when it started, when it ended.
        """
        ended = self._wait_for(work := self._events[event])
        return work.asked_us, work.turn_us, work.started_us if work.unit else ended, ended

    def wait(self, stream: int, event: int) -> None:
        """Let what follows in the stream wait for the event; one that was never recorded has happened."""
        if event in self._events:
            self._append(_Work(stream=stream), self._events[event])

    def elapsed_ms(self, first: int, last: int) -> float:
        """Wait for two recorded events and return the time between them; raises KeyError for others."""
        return (self._wait_for(self._events[last]) - self._wait_for(self._events[first])) / 1e3

    def wait_for(self, event: int) -> None:
        """Let the host wait for an event."""
        if event in self._events:
            self._wait_for(self._events[event])

    def synchronize(self, stream: int | None = None) -> None:
        """Let the host wait for a stream, None: for all."""
        for held in list(self._streams.values()) if stream is None else self._before(stream):
            self._wait_for(held.last)

    def finish(self) -> None:
        """Let all work end; the host asks for nothing more."""
        self._environment.run()

    # -- what waits for what

    def _of(self, stream: int) -> _Stream:
        return self._streams.setdefault(stream, _Stream(_Work(ended_us=self.host_us)))

    def _before(self, stream: int) -> list[_Stream]:
        """Return the stream and those whose work it waits for."""
        held = self._of(stream)
        if stream == DEFAULT:
            return [s for s in self._streams.values() if s.blocking]
        return [held, self._streams[DEFAULT]] if held.blocking else [held]

    def _append(self, work: _Work, *more: _Work) -> _Work:
        """Make `work` what its stream does next. more: what it waits for besides."""
        work.asked_us = self.host_us
        for before in (*(held.last for held in self._before(work.stream)), *more):
            if before.ended_us is None:
                before.followers.append(work)
                work.waits_for += 1
        self._of(work.stream).last = work
        if not work.waits_for:
            self._take_turn(work)
        return work

    def _take_turn(self, work: _Work) -> None:
        """Begin a launch, or ask for the copy engine: all that `work` waits for has ended."""
        work.turn_us = self._environment.now
        if work.unit is None:
            self._end(work)
            return
        launched = self._environment.timeout(work.launch_us)
        launched.callbacks.append(lambda _: self._request(work))

    def _request(self, work: _Work) -> None:
        assert work.unit is not None
        work.slot = work.unit.request()
        work.slot.callbacks.append(lambda _: self._start(work))

    def _start(self, work: _Work) -> None:
        work.started_us = self._environment.now
        if work.unit is self._gpu:
            self._settle()
            self._shared.append(work)
            self._share()
        else:
            done = self._environment.timeout(work.left_us)
            done.callbacks.append(lambda _: self._end(work))

    def _end(self, work: _Work) -> None:
        work.ended_us = self._environment.now
        if work.unit is not None and work.slot is not None:
            work.unit.release(work.slot)
            self.times.append(
                CommandTimes(
                    name=work.name,
                    launched_us=work.turn_us,
                    started_us=work.started_us,
                    ended_us=work.ended_us,
                    copied_bytes=work.copied_bytes,
                    stream=self.stream_number(work.stream),
                    place=work.place,
                    number=work.number,
                    direction=work.direction,
                )
            )
        if work.ended is not None:
            work.ended(work.started_us, work.ended_us)
        followers, work.followers = work.followers, []
        for follower in followers:
            follower.waits_for -= 1
            if not follower.waits_for:
                self._take_turn(follower)

    def _wait_for(self, work: _Work) -> float:
        """Let the GPU go on until `work` has ended; returns when that was."""
        while work.ended_us is None:
            self._environment.step()
        self.host_us = max(self.host_us, work.ended_us)
        return work.ended_us

    # -- kernels that share the GPU

    def _settle(self) -> None:
        """Subtract the progress of the kernels since their pace was set."""
        now = self._environment.now
        for work in self._shared:
            work.left_us -= (now - self._paced_us) * self._pace
        self._paced_us = now

    def _share(self) -> None:
        """Set the pace of the running kernels, and again when the first of them ends."""
        sums: dict[str, float] = {}
        for work in self._shared:
            for part, share in work.demands.items():
                sums[part] = sums.get(part, 0.0) + share
        self._pace = 1 / max([1.0, *sums.values()])
        self._look = None
        if self._shared:
            least = min(work.left_us for work in self._shared)
            self._look = self._environment.timeout(max(least, 0.0) / self._pace)
            self._look.callbacks.append(lambda look: self._end_first(look, least))

    def _end_first(self, look: simpy.Event, least: float) -> None:
        """End the kernels that had `least` left when the pace was set, unless it has been set again since then."""
        if look is not self._look:
            return
        ending = [work for work in self._shared if work.left_us <= least + _ENDED_US]
        self._settle()
        self._shared = [work for work in self._shared if work not in ending]
        self._share()
        for work in ending:
            self._end(work)
