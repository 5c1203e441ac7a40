"""One run as results keep it: its launches' facts, their sum, and what the host and the comparison with NumPy said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeVar

from gpusim.core.facts import RunFacts

T = TypeVar("T")
Number = TypeVar("Number", int, float)


def _summed(parts: Sequence[T]) -> T:
    """Field-wise sum of count records of one class; text and per-launch maxima are the first's / largest."""
    total = {}
    for f in fields(parts[0]):  # type: ignore[arg-type]
        values = [getattr(p, f.name) for p in parts]
        if isinstance(values[0], str):
            total[f.name] = " + ".join(dict.fromkeys(values))
        elif f.name == "workgroups_per_compute_unit":
            total[f.name] = max(values)
        else:
            total[f.name] = sum(values)
    return type(parts[0])(**total)


def _summed_maps(maps: Sequence[Mapping[str, Number]]) -> dict[str, Number]:
    total: dict[str, Number] = {}
    for one in maps:
        for key, value in one.items():
            total[key] = total[key] + value if key in total else value
    return total


def combined(launches: Sequence[RunFacts]) -> RunFacts:
    """The facts of several launches that ran one after another, as one."""
    if len(launches) == 1:
        return launches[0]
    first = launches[0]
    engines = [r.engine for r in launches if r.engine is not None]
    histograms = [r.engine_latency_histogram for r in launches if r.engine_latency_histogram is not None]
    return RunFacts(
        kernel=" + ".join(r.kernel for r in launches),
        clock_ghz=first.clock_ghz,
        cycles=sum(r.cycles for r in launches),
        workgroups=sum(r.workgroups for r in launches),
        workgroups_total=sum(r.workgroups_total for r in launches),
        wavefronts=sum(r.wavefronts for r in launches),
        wavefront_instructions=sum(r.wavefront_instructions for r in launches),
        instructions=_summed_maps([r.instructions for r in launches]),
        l1=_summed([r.l1 for r in launches]),
        scalar_cache=_summed([r.scalar_cache for r in launches]),
        instruction_cache=_summed([r.instruction_cache for r in launches]),
        translation=_summed([r.translation for r in launches]),
        l2=_summed([r.l2 for r in launches]),
        dram=_summed([r.dram for r in launches]),
        activity=_summed([r.activity for r in launches]),
        occupancy=_summed([r.occupancy for r in launches]),
        stalls=_summed_maps([r.stalls for r in launches]),
        stalls_by_cu={
            reason: [sum(n) for n in zip(*(r.stalls_by_cu.get(reason, []) for r in launches), strict=True)]
            for reason in first.stalls_by_cu
        },
        roofline=_summed_maps([r.roofline for r in launches]),
        engine=_summed_maps(engines) if engines else None,
        engine_latency_histogram=[sum(b) for b in zip(*histograms, strict=True)] if histograms else None,
        wall_s=sum(r.wall_s for r in launches),
        cpu_s=sum(r.cpu_s for r in launches),
        compile_s=sum(r.compile_s for r in launches),
        partial=any(r.partial for r in launches),
        hotspots=sorted((h for r in launches for h in r.hotspots), key=lambda h: -h.cycles),
    )


@dataclass(frozen=True)
class CommandTimes:
    """When one command of the host's queue happened, in microseconds: its turn, its start and its end.

    name: the kernel's, or what was copied; copied_bytes: 0 for a kernel.
    """

    name: str
    launched_us: float
    started_us: float
    ended_us: float
    copied_bytes: int = 0


@dataclass(frozen=True)
class VerificationFacts:
    """Comparison of the result with NumPy: largest absolute error, and the bound the arithmetic allows."""

    passed: bool
    max_error: float
    bound: float


@dataclass
class RunRecord:
    """One run of a configuration: its launches, the time on the host's clock, and what it cost to simulate.

    uses_engine: whether the compaction engine serves its sparse loads; kernel: the kernels' configured name; variant:
    which one of a job's variants it is, empty where there is one alone; commands: when each launch and copy happened,
    in order; host_time_us: from the first packet written to the last completion signal; verification: None when it was
    skipped or the run is partial; timed: False where the kernel was executed without the timing model, so that only
    what execution counts is known; zero_fraction, zero_line_fraction: of the activation matrix's elements and of its
    sparse lines, None without such a matrix.
    """

    uses_engine: bool
    kernel: str
    launches: list[RunFacts]
    host_time_us: float = 0.0
    verification: VerificationFacts | None = None
    setup_s: float = 0.0
    verify_s: float = 0.0
    peak_memory_mb: float | None = None
    partial: bool = False
    timed: bool = True
    zero_fraction: float | None = None
    zero_line_fraction: float | None = None
    variant: str = ""
    commands: list[CommandTimes] = field(default_factory=list)

    @property
    def title(self) -> str:
        """For the head of a column."""
        return f"{self.kernel}, engine {'on' if self.uses_engine else 'off'}" + (" (partial)" if self.partial else "")

    @property
    def total(self) -> RunFacts:
        """All launches as one; zeros where none ran, whose times are zero at any clock."""
        return combined(self.launches or [RunFacts(self.kernel, clock_ghz=1.0)])
