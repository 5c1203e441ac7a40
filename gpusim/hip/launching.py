"""Launches of HIP programs: simulated or executed, and what is kept of each."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from gpusim.base.progress import Progress, Reporter
from gpusim.core.facts import RunFacts
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.recording import Watcher
from gpusim.host.command_processor import CommandProcessor, LaunchCommand, RunOptions, executed
from gpusim.results import metrics
from gpusim.results.record import RunRecord
from gpusim.sampling.spec import SamplingSpec
from isa.execution.context_pool import ContextPool
from isa.launch import MAX_WAVEFRONT_INSTRUCTIONS, Launch
from isa.object.names import short

LATENCY = "latency"  # of the rooflines: what no unit's rate bounds


@dataclass(frozen=True)
class Options:
    """How launches are run.

    timing: through the timing model; kernels: only those of which a part of the name, as written or as linked, matches
    it, the others are executed alone; sampling: how much of a timed launch is simulated, None: all; keep: every
    launch's metrics, for JSON; exact: an allocation ends with its last byte, not with its page.
    """

    gpu: GpuSpec
    timing: bool = True
    kernels: re.Pattern[str] | None = None
    sampling: SamplingSpec | None = None
    timeline: Watcher | None = None
    keep: bool = False
    exact: bool = False

    def timed(self, name: str) -> bool:
        """Whether a kernel is simulated."""
        if not self.timing or self.kernels is None:
            return self.timing
        return bool(self.kernels.search(name) or self.kernels.search(short(name)))


@dataclass
class KernelTotals:
    """All launches of a kernel together; those with timing are `timed`, of which alone are cycles and rooflines.

    squared_half_width: of the cycles, where launches were sampled; simulated: instructions of the timed launches that
    were simulated, of `timed_instructions`.
    """

    launches: int = 0
    timed: int = 0
    cycles: int = 0
    time_us: float = 0.0
    instructions: int = 0
    timed_instructions: int = 0
    simulated: float = 0.0
    squared_half_width: float = 0.0
    workgroups: int = 0
    roofline: Counter[str] = field(default_factory=Counter)

    @property
    def bound(self) -> str:
        """The unit whose roofline is the highest, empty where nothing was timed."""
        bounds = {name: cycles for name, cycles in self.roofline.items() if name != LATENCY}
        return max(bounds, key=lambda name: bounds[name]) if bounds else ""

    @property
    def half_width(self) -> float:
        """Of the cycles: launches are independent of one another."""
        return sqrt(self.squared_half_width)

    def add(self, facts: RunFacts) -> None:
        """Count a launch in."""
        self.launches += 1
        self.instructions += facts.kernel.wavefront_instructions
        self.workgroups += facts.kernel.workgroups
        if facts.roofline is not None:
            self.timed += 1
            self.cycles += facts.cycles
            self.time_us += facts.time_us
            self.timed_instructions += facts.kernel.wavefront_instructions
            self.simulated += facts.sampling.simulated if facts.sampling else facts.kernel.wavefront_instructions
            if facts.sampling is not None:
                self.squared_half_width += facts.sampling.half_width("kernel", "cycles") ** 2
            self.roofline.update(dict(facts.roofline))


@dataclass
class Launches:
    """What was launched, over all of a program's processes: totals by kernel, and each launch if it is kept.

    confidence: of the half-widths, where launches are sampled.
    """

    confidence: float | None = None
    totals: dict[str, KernelTotals] = field(default_factory=dict)
    kept: list[dict[str, Any]] = field(default_factory=list)
    partial: bool = False


class Launcher:
    """Runs the launches of one process on one GPU, one after another; between them L2 keeps what it held."""

    def __init__(self, options: Options, launches: Launches, reporter: Reporter) -> None:
        self._options, self._launches = options, launches
        self._processor = CommandProcessor(options.gpu, reporter, timing=True)
        self._timed: dict[str, bool] = {}
        self._pool = ContextPool()

    def run(self, launch: Launch, observer: Callable[[Progress], bool], serve: Callable[[], None] | None) -> RunFacts:
        """Run a launch to its end, or until the observer ends it; raises what `simulate` raises.

        serve: does what the kernel asks of the host, if it can.
        """
        name = launch.kernel.name
        if name not in self._timed:
            self._timed[name] = self._options.timed(name)
        if self._timed[name]:
            record = RunRecord(False, name, [])
            run_options = RunOptions(timeline=self._options.timeline, sampling=self._options.sampling)
            self._processor.run([LaunchCommand(launch, serve=serve)], record, run_options, observer)
            facts = record.launches[0]
        else:
            facts = executed(launch, self._options.gpu, MAX_WAVEFRONT_INSTRUCTIONS, observer, self._pool, serve)
        return facts

    def note(self, launch: Launch, facts: RunFacts, **more: Any) -> Callable[[float, float], None]:
        """Keep what a launch came to; returns what takes its start and end when they are known. more: of the launch's
        place in the program."""
        self._launches.partial |= facts.partial
        self._launches.totals.setdefault(launch.kernel.name, KernelTotals()).add(facts)
        if self._options.keep:
            place = {**LaunchCommand(launch).described(self._options.gpu), **more}
            self._launches.kept.append({"launch": place, **metrics.launch_tree(facts)})
            return lambda start, end: place.update(started_us=start, ended_us=end)
        return lambda start, end: None

    def bytes_moved(self) -> None:
        """The program has written or read device memory: what L2 held has been written back and dropped before."""
        self._processor.flush_l2()
