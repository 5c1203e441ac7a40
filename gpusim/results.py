"""What a simulated kernel leaves behind: plain counts, from which every reported metric is computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypeVar

T = TypeVar("T")
Number = TypeVar("Number", int, float)

# Why a resident wavefront did not issue in a cycle; exclusive, together they tile its whole residence.
STALL_REASONS: tuple[str, ...] = (
    "issued",
    "not_selected",
    "execution_dependency",
    "memory_dependency",
    "memory_throttle",
    "synchronisation",
    "instruction_fetch",
    "idle",
)

# Kinds of instruction as the metrics report them; every instruction is of exactly one kind.
INSTRUCTION_KINDS: tuple[str, ...] = ("valu", "salu", "vmem", "lds", "smem", "branch", "other")


@dataclass
class Progress:
    """What the simulation tells its observer a few times a second."""

    cycles: int
    workgroups_done: int
    workgroups_total: int
    wavefront_instructions: int


@dataclass
class CacheFacts:
    """Counts of one cache level, summed over its instances; hits + misses + mshr_merges = transactions.

    read_latency_total_cycles: over `reads_answered` reads, from the access's issue at the cache to its response.
    """

    transactions: int = 0
    hits: int = 0
    misses: int = 0
    mshr_merges: int = 0
    reads_answered: int = 0
    read_latency_total_cycles: int = 0
    write_transactions: int = 0
    write_backs: int = 0
    prefetches: int = 0
    full_stall_cycles: int = 0  # cycles an instance's head request waited for an MSHR, a way or a queue below


@dataclass
class TranslationFacts:
    """Counts of address translation, summed over the L1 TLBs; hits + misses + merges = lookups."""

    lookups: int = 0
    hits: int = 0
    misses: int = 0
    merges: int = 0
    early_requests: int = 0  # pages asked for ahead of look-up
    requests: int = 0  # misses + early_requests
    l2_hits: int = 0
    l2_merges: int = 0
    walks: int = 0
    request_latency_total_cycles: int = 0
    stall_cycles: int = 0


@dataclass
class DramFacts:
    """Counts of the DRAM, summed over its channels; one read or write moves one 64-byte line."""

    reads: int = 0
    writes: int = 0
    engine_reads: int = 0  # those of `reads` that the compaction engine issued
    bytes: int = 0
    row_hits: int = 0
    row_misses: int = 0  # bank was closed
    row_conflicts: int = 0  # another row was open
    refreshes: int = 0
    read_latency_total_cycles: int = 0
    bus_busy_cycles: int = 0  # core cycles of data transfer, summed over the channels
    bus_available_cycles: int = 0  # kernel cycles times channels


@dataclass
class ActivityFacts:
    """Cycles summed over the compute units: all, those with a resident workgroup, those with an instruction issued."""

    compute_unit_cycles: int = 0
    active_cycles: int = 0
    issue_cycles: int = 0


@dataclass
class OccupancyFacts:
    """How full the machine was. `limiter` names what bounds workgroups per compute unit."""

    resident_wavefront_cycles: int = 0
    wavefront_slot_cycles: int = 0  # kernel cycles times all wavefront slots of the machine
    workgroups_per_compute_unit: int = 0
    limiter: str = ""


@dataclass(frozen=True)
class Hotspot:
    """A static instruction and the wavefront-cycles spent in front of it and on its issue, by stall reason."""

    kernel: str
    address: int
    instruction: str
    stalls: dict[str, int]

    @property
    def cycles(self) -> int:
        """All wavefront-cycles of the instruction."""
        return sum(self.stalls.values())


@dataclass
class RunFacts:
    """Everything `simulate` counted for one launch.

    instructions: kind (INSTRUCTION_KINDS) → wavefront instructions issued; stalls: reason (STALL_REASONS) →
    wavefront-cycles, stalls_by_cu: the same for each compute unit; roofline: bound → the fewest cycles that bound
    allows; engine: the compaction engine's counters by name, None without engine; wall_s, cpu_s: functional and
    timing part alone; compile_s: compiling the core, 0 from a complete cache; partial: the observer stopped the run
    before its end.
    """

    kernel: str
    clock_ghz: float
    cycles: int = 0
    workgroups: int = 0
    workgroups_total: int = 0
    wavefronts: int = 0
    wavefront_instructions: int = 0
    instructions: dict[str, int] = field(default_factory=dict)
    l1: CacheFacts = field(default_factory=CacheFacts)
    scalar_cache: CacheFacts = field(default_factory=CacheFacts)
    instruction_cache: CacheFacts = field(default_factory=CacheFacts)
    translation: TranslationFacts = field(default_factory=TranslationFacts)
    l2: CacheFacts = field(default_factory=CacheFacts)
    dram: DramFacts = field(default_factory=DramFacts)
    activity: ActivityFacts = field(default_factory=ActivityFacts)
    occupancy: OccupancyFacts = field(default_factory=OccupancyFacts)
    stalls: dict[str, int] = field(default_factory=dict)
    stalls_by_cu: dict[str, list[int]] = field(default_factory=dict)
    roofline: dict[str, float] = field(default_factory=dict)
    engine: dict[str, int] | None = None
    engine_latency_histogram: list[int] | None = None  # answers by latency: bucket b holds 2^b to 2^(b+1) - 1 cycles
    wall_s: float = 0.0
    cpu_s: float = 0.0
    compile_s: float = 0.0
    partial: bool = False
    hotspots: list[Hotspot] = field(default_factory=list)  # costliest first; empty unless asked for

    @property
    def time_us(self) -> float:
        """Simulated time of the kernel."""
        return self.cycles / (self.clock_ghz * 1e3)


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
class VerificationFacts:
    """Comparison of the result with NumPy: largest absolute error, and the bound the arithmetic allows."""

    passed: bool
    max_error: float
    bound: float


@dataclass
class RunRecord:
    """One run of a configuration: its launches, the time on the host's clock, and what it cost to simulate.

    engine: 'on' or 'off'; kernels: the kernels' configured name; host_time_us: from the first packet written to
    the last completion signal; verification: None when it was skipped or the run is partial; timed: False where the
    kernel was executed without the timing model, so that only what execution counts is known; zero_fraction,
    zero_line_fraction: of the activation matrix's elements and of its sparse lines, None without such a matrix.
    """

    engine: str
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

    @property
    def total(self) -> RunFacts:
        """All launches as one."""
        return combined(self.launches)
