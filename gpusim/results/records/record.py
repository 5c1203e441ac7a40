"""One run as results keep it: its launches' facts, their sum, and what the host and the comparison with NumPy said."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpusim.model.core.facts import RunFacts, combined
from gpusim.model.energy.model import EnergyModel


@dataclass(frozen=True)
class CommandTimes:
    """The times of one command of the host's queue, in microseconds: its turn, its start and its end.

    name: the kernel's, or what was copied; copied_bytes: 0 for a kernel; place: what it belongs to, such as a layer's
    pass.
    """

    name: str
    launched_us: float
    started_us: float
    ended_us: float
    copied_bytes: int = 0
    stream: int = 0
    place: str = ""


def stream_numbers(times: Iterable[CommandTimes]) -> dict[tuple[str, int], int]:
    """Return the number of each process's streams by its place and its own name of them: 0 is the default stream.

    The others are counted in the order in which they began.
    """
    numbers: dict[tuple[str, int], int] = {}
    begun: Counter[str] = Counter()
    for one in sorted(times, key=lambda one: one.started_us):
        if (one.place, one.stream) not in numbers:
            begun[one.place] += one.stream != 0
            numbers[one.place, one.stream] = begun[one.place] if one.stream else 0
    return numbers


@dataclass(frozen=True)
class VerificationFacts:
    """Comparison of the result with NumPy: largest absolute error, and the bound the arithmetic allows."""

    passed: bool
    max_error: float
    bound: float


@dataclass(frozen=True)
class KernelChoice:
    """A kernel that was chosen by shape, or the algorithm of a network's layer in one pass.

    cycles: of each that was measured, the fastest first; none where bounds and estimates were enough; at_least: of the
    others: a bound, an estimate's lower end, or what the fastest took when they were stopped; estimated: of those whose
    estimate is a single figure; zeros: the share of zeros for which it was estimated.
    """

    kernel: str
    cycles: Mapping[str, int]
    at_least: Mapping[str, int]
    estimated: Mapping[str, int] = field(default_factory=dict)
    zeros: float | None = None


class PartLaunch(NamedTuple):
    """A launch of a part. simulated: whether it was; False: it counts as an equal one that was; known: False of one
    that a stopped run did not come to."""

    kernel: str
    facts: RunFacts | None = None
    simulated: bool = True
    known: bool = True


@dataclass(frozen=True)
class PartRecord:
    """A named part of a run: a network's layer and pass, or a program's kernel.

    name: the layer's, or the kernel's; what: the pass, empty where there is none; values: further values of the run's
    kind as plain data; facts: the sum of all its launches, None where not all are known; verification: None where its
    result was not compared.
    """

    name: str
    what: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    launches: Sequence[PartLaunch] = ()
    facts: RunFacts | None = None
    verification: VerificationFacts | None = None


@dataclass
class RunRecord:
    """One run of a configuration: its launches, the time on the host's clock, and what it cost to simulate.

    uses_engine: whether the compaction engine serves its sparse loads; kernel: the kernels' configured name; variant:
    which of a job's variants it is, empty where there is only one; commands: when each launch and copy happened, in
    order; host_time_us: from the first packet written to the last completion signal, None where the kernel was executed
    without the timing model; stopped_by: why a partial run was stopped, empty for the observer of a script;
    verification: None when it was skipped or the run is partial; zero_fraction, zero_line_fraction: of the activation
    matrix's elements and of its sparse lines, None without such a matrix; column_blocks: number of blocks of a product
    that exceeds the GPU's memory, None for any other; energy: of the machine's events, None where energies are not
    reported; choice: how the kernel was chosen, None where it was named; parts: a network's layers and passes or a
    program's kernels, in order, whose sum the run is; values: further values of the run's kind, as plain data; places:
    for each of a program's launches, where it happened; launch_count: of a run that does not keep its launches;
    exit_code: the program's own.
    """

    uses_engine: bool
    kernel: str
    launches: list[RunFacts]
    host_time_us: float | None = None
    verification: VerificationFacts | None = None
    setup_s: float = 0.0
    verify_s: float = 0.0
    peak_memory_mb: float | None = None
    partial: bool = False
    zero_fraction: float | None = None
    zero_line_fraction: float | None = None
    column_blocks: int | None = None
    variant: str = ""
    commands: list[CommandTimes] = field(default_factory=list)
    stopped_by: str = ""
    energy: EnergyModel | None = None
    choice: KernelChoice | None = None
    parts: list[PartRecord] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    places: list[dict[str, Any]] = field(default_factory=list)
    launch_count: int | None = None
    exit_code: int | None = None
    _total: tuple[Any, RunFacts] | None = field(default=None, init=False, repr=False, compare=False)
    _made: dict[int, tuple[RunFacts, Any]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def incomplete_results(self) -> bool:
        """Whether skipped workgroups of a sampled launch have left their results uncomputed."""
        return any(facts.sampling is not None and not facts.sampling.complete for facts in self.launches)

    @property
    def launched(self) -> int:
        """The number of kernel launches."""
        return len(self.launches) if self.launch_count is None else self.launch_count

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
