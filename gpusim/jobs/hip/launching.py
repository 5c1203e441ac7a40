"""Launches of HIP programs: simulated or executed, and what is kept of each."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gpusim.base.launch_selector import ALL_LAUNCHES, LaunchIdentity, LaunchSelector, ProgramLine
from gpusim.base.progress import Progress, Reporter
from gpusim.jobs.hip.launch_files import LaunchRecorder
from gpusim.jobs.host.checking import check_launch
from gpusim.jobs.host.command_processor import CommandProcessor, LaunchCommand, RunOptions, executed
from gpusim.model.core.facts import RunFacts, combined
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.results.records.record import CommandTimes, LaunchGroup, RunRecord, grid_class
from isa.checking.findings import CheckFinding
from isa.device_memory import StrayAccess
from isa.execution.context_pool import ContextPool
from isa.launch import MAX_WAVEFRONT_INSTRUCTIONS, Launch
from spartan.engine_spec import EngineSpec

FAULT, TIME_LIMIT = "a kernel's fault", "time limit"  # that end a launch, beside gpusim.jobs.running.runner.CYCLE_LIMIT
AllocationBounds = Literal["page", "exact", "loose"]
GpusThatRun = Callable[[Iterable[str]], Sequence[str]]
_COMBINED_AT = 64  # launches of a kernel whose facts wait to be added up


@dataclass(frozen=True)
class LaunchOptions:
    """Options for the launches of a program."""

    gpu: GpuSpec
    """GPU."""
    timing: bool = True
    """Simulate with the timing model."""
    selector: LaunchSelector = ALL_LAUNCHES
    """Selects the launches that are timed, checked or recorded; the others are executed alone."""
    launches: RunOptions = field(default_factory=RunOptions)
    """Options of timed launches."""
    keep: bool = False
    """Keep the metrics of every launch."""
    bounds: AllocationBounds = "loose"
    """End of an allocation: 'page', 'exact' (its last byte) or 'loose' (the driver's block)."""
    check: bool = False
    """Check launches for races and other faults, without timing."""
    max_seconds: float | None = None
    """Wall time limit of a launch in seconds; None: no limit."""
    max_instructions: int = MAX_WAVEFRONT_INSTRUCTIONS
    """Instructions of one wavefront before it counts as an endless loop."""
    engine: EngineSpec | None = None
    """Compaction engine that serves the program's sparse regions; None: there is none."""
    recorder: LaunchRecorder | None = None
    """Records the launches; None: no recording."""
    gpus_that_run: GpusThatRun | None = None
    """Returns the names of GPUs that execute code for given architectures."""


@dataclass
class KernelSums:
    """The sum of all launches of a kernel; `timed` of them were simulated with timing: cycles and rooflines are of
    these alone.
    """

    launches: int = 0
    """Launches of the kernel."""
    timed: int = 0
    """Launches with timing."""
    faulted: int = 0
    """Launches that ended with a fault, and are without facts."""
    cycles: int = 0
    """Cycles of the timed launches."""
    instructions: int = 0
    """Wavefront instructions of all launches."""
    workgroups: int = 0
    """Workgroups of all launches."""
    strays: Counter[str] = field(default_factory=Counter)
    """Lanes' accesses that a GPU does not stop, by kind."""
    serial_reason: str = ""
    """Why the first launch that has a reason ran its workgroups one after another (see RunFacts)."""
    _timed: dict[int, list[RunFacts]] = field(default_factory=dict)
    """Facts of timed launches."""
    _timed_counts: Counter[int] = field(default_factory=Counter)
    """How often each of them counts."""
    _executed: list[RunFacts] = field(default_factory=list)
    """Facts of launches without timing."""

    def add(self, facts: RunFacts) -> None:
        """Add the facts of a launch."""
        self.launches += 1
        self.instructions += facts.kernel.wavefront_instructions
        self.workgroups += facts.kernel.workgroups
        self.serial_reason = self.serial_reason or facts.serial_reason
        group = self._executed
        if facts.roofline is not None:
            self.timed += 1
            self.cycles += facts.cycles
            grid = grid_class(facts)[1]
            self._timed_counts[grid] += 1
            group = self._timed.setdefault(grid, [])
        group.append(facts)
        if len(group) >= _COMBINED_AT:
            group[:] = [combined(group)]

    def add_fault(self) -> None:
        """Count a launch that a fault has ended."""
        self.launches += 1
        self.faulted += 1

    @property
    def facts(self) -> RunFacts | None:
        """Return the facts of the timed launches as a sum; if none was timed, of all launches; None: all had faults."""
        known = [facts for group in self._timed.values() for facts in group] or self._executed
        return combined(known) if known else None

    @property
    def groups(self) -> list[LaunchGroup]:
        """The timed launches by their grids; empty: all are of one group."""
        groups = [LaunchGroup(self._timed_counts[grid], combined(facts)) for grid, facts in self._timed.items()]
        return groups if len(groups) > 1 else []


@dataclass
class ProgramLaunches:
    """Launches of all processes of a program."""

    sums: dict[str, KernelSums] = field(default_factory=dict)
    """Sums by kernel."""
    lines: dict[ProgramLine, dict[str, KernelSums]] = field(default_factory=dict)
    """Sums by line of a Python program and kernel; empty: no launch came from such a line."""
    kept: list[RunFacts] = field(default_factory=list)
    """Facts of each launch, if launches are kept."""
    places: list[dict[str, Any]] = field(default_factory=list)
    """Origin of each launch in `kept`."""
    times: list[CommandTimes] = field(default_factory=list)
    """Times of kernels and copies."""
    partial: bool = False
    """Some launch did not run to its end."""
    stopped_by: str = ""
    """Limit or fault that ended a launch first; empty: none did."""
    findings: dict[CheckFinding, int] = field(default_factory=dict)
    """Number of occurrences of each fault that the checks report."""
    unselected: dict[LaunchIdentity, None] | None = field(default_factory=dict)
    """Launches that the selector has passed over; None: it has selected some."""

    def found(self, findings: Sequence[CheckFinding]) -> None:
        """Add what was found in a launch; what is the same in several counts as often."""
        for one in findings:
            key = replace(one, count=0)
            self.findings[key] = self.findings.get(key, 0) + one.count


class Launcher:
    """Runs the launches of one process on one GPU, one after another; L2 keeps its contents between them."""

    def __init__(self, options: LaunchOptions, launches: ProgramLaunches, reporter: Reporter) -> None:
        self._options, self._launches = options, launches
        self._processor = CommandProcessor(options.gpu, reporter, timing=True, engine_spec=options.engine)
        self._pool = ContextPool()

    def selects(self, launch: LaunchIdentity) -> bool:
        """Tell whether a launch is one of those that are timed, checked or recorded."""
        selected = self._options.selector.selects(launch)
        if selected:
            self._launches.unselected = None
        elif self._launches.unselected is not None:
            self._launches.unselected[launch] = None
        return selected

    def run(
        self,
        launch: Launch,
        selected: bool,
        observer: Callable[[Progress], bool],
        serve: Callable[[], None] | None,
    ) -> RunFacts:
        """Run a launch to its end, or until the observer ends it; raises what `simulate` raises.

        Args:
            selected: It is timed or checked, if any are, and else executed alone.
            serve: Carries out the kernel's calls to the host, if it can make any.
        """
        command = LaunchCommand(launch, serve=serve, max_instructions=self._options.max_instructions)
        if self._options.check and selected:
            facts, checked = check_launch(command, self._options.gpu, observer)
            self._launches.found(checked.findings)
            if checked.fault is not None:
                raise checked.fault
            return facts
        if self._options.timing and selected:
            record = RunRecord(False, launch.kernel.name, [])
            self._processor.run([command], record, self._options.launches, observer)
            facts = record.launches[0]
        else:
            facts = executed(launch, self._options.gpu, command.max_instructions, observer, self._pool, serve)
        return facts

    def note(
        self, launch: Launch, facts: RunFacts, line: ProgramLine | None = None, **more: Any
    ) -> Callable[[float, float], None]:
        """Store the facts of a launch, and return a function that is called with its start and end once they are known.

        line: of the Python program from which the kernel was launched; more: further keys for the launch's place in the
        program.
        """
        self._launches.partial |= facts.partial
        kinds = (
            [self._launches.sums] if line is None else [self._launches.sums, self._launches.lines.setdefault(line, {})]
        )
        for sums in kinds:
            sums.setdefault(launch.kernel.name, KernelSums()).add(
                replace(facts, series=None)
            )  # by kernel they were out of order
        if self._options.keep:
            place = {**LaunchCommand(launch).described(self._options.gpu), **more}
            if line is not None:
                place["line"] = {"file": line.file, "line": line.number, "function": line.function}
            self._launches.kept.append(facts)
            self._launches.places.append(place)
            return lambda start, end: place.update(started_us=start, ended_us=end)
        return lambda start, end: None

    def note_fault(self, launch: Launch) -> None:
        """Count a launch that a fault has ended."""
        self._launches.partial = True
        self._launches.sums.setdefault(launch.kernel.name, KernelSums()).add_fault()
        self.note_stop(FAULT)

    def is_first_stray(self, kernel: str, stray: StrayAccess) -> bool:
        """Count accesses that a GPU does not stop, and tell whether they are the kernel's first ones of their kind."""
        strays = self._launches.sums.setdefault(kernel, KernelSums()).strays
        strays[stray.kind] += stray.lanes
        return strays[stray.kind] == stray.lanes

    def note_stop(self, reason: str) -> None:
        """Store what ended a launch before its end."""
        self._launches.stopped_by = self._launches.stopped_by or reason

    def ended(self, times: Sequence[CommandTimes], process: int) -> None:
        """Store when a process's kernels and copies happened."""
        self._launches.times += [replace(one, place=f"process {process}") for one in times]

    def bytes_moved(self) -> None:
        """Flush L2: the program has written or read device memory, before which L2's contents are written back and
        dropped.
        """
        self._processor.flush_l2()
