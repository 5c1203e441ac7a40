"""What a simulated kernel leaves behind: plain counts, from which every reported metric is computed."""

from dataclasses import dataclass, field

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
