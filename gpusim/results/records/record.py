"""One run as results keep it: its launches' facts, their sum, and what the host and the comparison with NumPy said."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from gpusim.model.core.facts import RunFacts, combined
from gpusim.model.energy.model import EnergyModel


@dataclass(frozen=True)
class CommandTimes:
    """Times of a command in the host's queue."""

    name: str
    """Name of the kernel or of the copied data."""
    launched_us: float
    """Time at which the command's turn came, in microseconds."""
    started_us: float
    """Start in microseconds."""
    ended_us: float
    """End in microseconds."""
    copied_bytes: int = 0
    """Bytes of a copy; 0: a kernel."""
    stream: int = 0
    """Number of the stream in its process, in the order of their first commands; 0: the default stream."""
    place: str = ""
    """Origin of the command, such as a layer's pass."""
    number: int = 0
    """Number of the launch in its process, from 1, in the order of the calls; 0: a copy."""
    direction: str = ""
    """Direction of a copy, such as 'to the device'; empty: a kernel."""


@dataclass(frozen=True)
class VerificationFacts:
    """Comparison of the result with NumPy."""

    passed: bool
    """The error is within the bound."""
    max_error: float
    """Largest absolute error."""
    bound: float
    """Bound that the arithmetic allows."""


@dataclass(frozen=True)
class KernelChoice:
    """A kernel that was selected by shape, or the algorithm of a layer's pass."""

    kernel: str
    """Name of the selected kernel or algorithm."""
    cycles: Mapping[str, int]
    """Cycles of the measured candidates, the fastest first; empty: bounds and estimates were sufficient."""
    at_least: Mapping[str, int]
    """Lower bound on the cycles of other candidates: a bound, an estimate, or the limit at which they were stopped."""
    estimated: Mapping[str, int] = field(default_factory=dict)
    """Cycles of candidates with an exact estimate."""
    zeros: float | None = None
    """Share of zeros behind the estimates; None: dense."""


class PartLaunch(NamedTuple):
    """A launch of a part."""

    kernel: str
    """Name of the kernel."""
    facts: RunFacts | None = None
    """Facts; None: unknown."""
    simulated: bool = True
    """The launch itself was simulated; otherwise an equal one was."""
    known: bool = True
    """The run reached the launch before it was stopped."""


class LaunchGroup(NamedTuple):
    """Launches of one kernel with about as many workgroups: as many bits in their number."""

    launches: int
    """Number of launches."""
    facts: RunFacts
    """Their sum."""


def group_launches(launches: Iterable[RunFacts]) -> list[LaunchGroup]:
    """Sum up launches by kernel and grid, within a factor of two in workgroups; those without timing are left out.

    Empty where all are of one group, of which the sum over all launches tells as much.

    What is judged launch by launch, such as whether a grid fills the machine, is judged by such groups: a sum over
    small grids looks like a large one.
    """
    groups: dict[tuple[str, int], list[RunFacts]] = {}
    for facts in launches:
        if facts.roofline is not None:
            groups.setdefault(grid_class(facts), []).append(facts)
    return [LaunchGroup(len(group), combined(group)) for group in groups.values() if len(groups) > 1]


def grid_class(facts: RunFacts) -> tuple[str, int]:
    """Return what launches of a group have in common: the kernel, and the bits of the number of workgroups."""
    return facts.kernel.name, int(facts.kernel.get("workgroups_total", 0)).bit_length()


@dataclass(frozen=True)
class PartRecord:
    """A named part of a run: a network's layer and pass, or a program's kernel."""

    name: str
    """Name of the layer or kernel."""
    what: str = ""
    """Pass; empty where there is none."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Further plain data of the run's kind."""
    launches: Sequence[PartLaunch] = ()
    """Launches."""
    facts: RunFacts | None = None
    """Sum of all launches; None: some are unknown."""
    verification: VerificationFacts | None = None
    """Comparison with NumPy; None: not compared."""
    groups: list[LaunchGroup] = field(default_factory=list)
    """Timed launches by kernel and grid; empty: all are of one group."""


@dataclass
class RunRecord:
    """Results of one run of a configuration: launches, time on the host's clock, and cost of the simulation."""

    uses_engine: bool
    """The compaction engine serves the sparse loads."""
    kernel: str
    """Configured name of the kernel."""
    launches: list[RunFacts]
    """Facts of the launches."""
    host_time_us: float | None = None
    """Time from the first packet to the last completion signal in microseconds; None: no timing."""
    verification: VerificationFacts | None = None
    """Comparison with NumPy; None: skipped, or a partial run."""
    setup_s: float = 0.0
    """Preparation time in seconds."""
    verify_s: float = 0.0
    """Verification time in seconds."""
    peak_memory_mb: float | None = None
    """Peak memory of the process in megabytes; None: unknown."""
    partial: bool = False
    """The run was stopped before its end."""
    zero_fraction: float | None = None
    """Share of zeros in the activation matrix; None: no such matrix."""
    zero_line_fraction: float | None = None
    """Share of its lines of 16 elements that are all zero; None: no such matrix."""
    column_blocks: int | None = None
    """Number of blocks of a product that exceeds the GPU's memory; None: not blocked."""
    variant: str = ""
    """Name of the job's variant; empty where there is one."""
    commands: list[CommandTimes] = field(default_factory=list)
    """Times of launches and copies, in order."""
    stopped_by: str = ""
    """Reason for an early stop; empty: the observer of a script."""
    energy: EnergyModel | None = None
    """Energies of the machine's events; None: energy is not reported."""
    choice: KernelChoice | None = None
    """Selection of the kernel; None: named by the user."""
    parts: list[PartRecord] = field(default_factory=list)
    """Layers and passes of a network, or kernels of a program, in order; the run is their sum."""
    lines: list[PartRecord] = field(default_factory=list)
    """Lines of a Python program that launched kernels; empty: unknown."""
    values: dict[str, Any] = field(default_factory=dict)
    """Further plain data of the run's kind."""
    places: list[dict[str, Any]] = field(default_factory=list)
    """Origin of each launch of a program."""
    launch_count: int | None = None
    """Number of launches of a run that does not store them; None: length of `launches`."""
    exit_code: int | None = None
    """Exit code of the program; None: no program."""
    _total: tuple[Any, RunFacts] | None = field(default=None, init=False, repr=False, compare=False)
    """Cached sum of the launches with its key."""
    _made: dict[int, tuple[RunFacts, Any]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Cached results of `once` with their facts, by identity of the facts."""

    @property
    def incomplete_results(self) -> bool:
        """Whether skipped workgroups of a sampled launch have left their results uncomputed."""
        return any(facts.sampling is not None and not facts.sampling.complete for facts in self.launches)

    @property
    def launched(self) -> int:
        """The number of kernel launches."""
        return len(self.launches) if self.launch_count is None else self.launch_count

    def add_commands(self, times: Sequence[CommandTimes], begin_us: float = 0.0) -> None:
        """Add the commands of another queue, whose launches are counted on from those of earlier queues.

        Args:
            times: Commands of the queue.
            begin_us: Begin of the queue in microseconds.
        """
        launched = max((command.number for command in self.commands), default=0)
        self.commands += [
            replace(
                command,
                launched_us=begin_us + command.launched_us,
                started_us=begin_us + command.started_us,
                ended_us=begin_us + command.ended_us,
                number=command.number and launched + command.number,
            )
            for command in times
        ]

    def once(self, facts: RunFacts, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return what `make` finds out about facts of this run, which it is asked once: half-widths take a while."""
        if id(facts) not in self._made:
            self._made[id(facts)] = facts, make()
        found: dict[str, Any] = self._made[id(facts)][1]
        return found

    @property
    def total(self) -> RunFacts:
        """The sum of all launches; zeros where none ran, whose times are zero at any clock."""
        held = [part.facts for part in self.parts if part.facts is not None]
        held = [facts for facts in held if facts.roofline is not None] or held or self.launches
        if held:
            key = (len(held), id(held[-1]))
            if self._total is None or self._total[0] != key:  # with half-widths it takes a while
                self._total = key, combined(held)
            return self._total[1]
        return RunFacts.of(self.partial, kernel={"name": self.kernel, "cycles": 0, "clock_ghz": 1.0})
