"""What a configuration may say about the compaction engine."""

from itertools import pairwise

from pydantic import field_validator, model_validator

from gpusim.base.formats import GENERAL
from gpusim.base.spec import Spec, param
from isa.region import MAX_ROWS
from isa.trace import LINE_BYTES
from memory.l2_share import L2_PARTITIONS, SETS, L2Share
from spartan.replacement import CMI_REPLACEMENT, REPLACEMENT

METADATA_BYTES = 6
METADATA_BITS = 8 * METADATA_BYTES
TAIL_BITS = 4  # set bits after the last complete mapping entry: at most 15
OFFSET_BITS = 4  # offset of the mapping entry that left the window last

# fixed maxima of the engine's state
MAX_SIB_KIB = 4096
MAX_BUFFER_KIB = 4096
MAX_UNITS = 62  # one bit each in a mask
MAX_SHIFTERS = 32
MAX_READS = 1024  # also what a port from DRAM can hold
MAX_LOOKUPS = 16
MAX_STAGE_CYCLES = 60
MIN_ENTRY_BYTES = 32
MAX_REGIONS = 8
MAX_BANKS = 64

_GUESS = "assumed"
FIXED, BY_LAUNCH = "fixed", "launch"
SIZING = {
    FIXED: "the engine's memories and share of L2 are as configured",
    BY_LAUNCH: "they are what a launch's columns need, at most as configured, in ways of L2",
}
ON_READ, ON_WRITE = "on_read", "on_write"
COMPACT = {
    ON_READ: "B lies dense in DRAM, and a request for a compacted line has its sparse lines read",
    ON_WRITE: "B lies compacted in DRAM: lines are compacted when they are written back from L2, before the launch's "
    "first workgroup, and a request is one read",
}
LEAST_WRITE_LINES = 2  # of the prefetch buffer: one under construction, and one on its way to DRAM
COUNT_BYTES = 2  # of a column in the SIB where B lies compacted: how many lines it has
NEARER_END, COLUMN_START = "nearer_end", "column_start"
SUMS_FROM = {NEARER_END: 0, COLUMN_START: 1}


class EngineSpec(Spec):
    """The compaction engine (Dong 2020, section 6.4). All cycles are core clock cycles."""

    compact: str = param(
        ON_READ,
        "; ".join(f"{name}: {meaning}" for name, meaning in COMPACT.items()),
        "Dong 2020, section 6.4.1: on reads only; on_write: docs/explanation/engine.md",
        among=COMPACT,
    )
    sib_kib: int = param(512, "sparsity information block, KiB", "Dong 2020, table 6.4", ge=1, le=MAX_SIB_KIB)
    prefetch_buffer_kib: float = param(
        512,
        "prefetch buffer, KiB; 0.0625 is one line",
        "Dong 2020, table 6.4",
        ge=0.0625,
        le=MAX_BUFFER_KIB,
        multiple_of=0.0625,
    )
    l2_share: float = param(
        0.5,
        "part of L2 that the engine's SRAM takes while a launch uses it, down to 0: SRAM of its own beside L2",
        "Dong 2020, section 6.5: half, as SIB and prefetch buffer of table 6.4 have 1 of 2 MiB",
        ge=0,
        lt=1,
    )
    l2_partition: str = param(
        SETS,
        "what is divided: " + "; ".join(f"{name}: {meaning}" for name, meaning in L2_PARTITIONS.items()),
        f"{_GUESS}: L2 keeps its associativity; not specified by Dong 2020",
        among=L2_PARTITIONS,
    )
    l2_sizing: str = param(
        FIXED,
        "; ".join(f"{name}: {meaning}" for name, meaning in SIZING.items()),
        "Dong 2020, section 6.5: static; section 8.1: dynamic as future work",
        among=SIZING,
    )
    compaction_units: int = param(32, "compaction processing units", "Dong 2020, table 6.4", ge=1, le=MAX_UNITS)
    entry_sizes: tuple[tuple[int, int], ...] = param(
        ((1023, 32), (2047, 64), (4096, 128), (MAX_ROWS, 256)),
        "SIB entry sizes: (largest number of rows, bytes), ascending; doubled while bitmask and one mapping do not fit",
        "Dong 2020, section 6.4.2.2",
    )
    sib_replacement: str = param(
        "lru",
        "which column's SIB entry makes space for another",
        f"{_GUESS}: not specified by Dong 2020",
        among=REPLACEMENT,
    )
    sib_ways: int = param(
        0,
        "ways of the SIB's directory, whose sets are chosen by the column's number; 0: any column has any entry",
        f"{_GUESS}: ideal; not specified by Dong 2020",
        ge=0,
        le=4096,
    )
    cmi_replacement: str = param(
        "sliding",
        "which mappings a column's full window keeps: sliding: the newest; first: the first ones and the newest",
        "Dong 2020, section 6.4.2.2: a sliding window",
        among=CMI_REPLACEMENT,
    )
    lane_replacement: str = param(
        "lru",
        "which lane without a waiting request is closed when space is needed",
        f"{_GUESS}: as SIB",
        among=REPLACEMENT,
    )
    prefetch_length: int = param(
        16,
        "sparse lines read ahead of the last demanded one, prudent and hasty mode",
        f"{_GUESS}: about the next four compacted lines of a wavefront at 70 % sparsity",
        ge=0,
        le=MAX_READS,
    )
    demand_window_lines: int = param(
        16,
        "sparse lines of a column in flight while the end of a demanded compacted line is not known",
        f"{_GUESS}: a compacted line needs at most 16 sparse lines with non-zeros",
        ge=1,
        le=MAX_READS,
    )
    sib_lookups_per_cycle: int = param(
        4, "requests that the SIB looks up a cycle", f"{_GUESS}: a quarter of the L2 channels", ge=1, le=MAX_LOOKUPS
    )
    sib_lookup_cycles: int = param(
        4,
        "from taking a request to its SIB entry and lane being known",
        f"{_GUESS}: tag match and read of a 512 KiB SRAM at 1.2 GHz",
        ge=1,
        le=MAX_STAGE_CYCLES,
    )
    shifters: int = param(
        8, "bit searches at a time, each issues one read", f"{_GUESS}: one per DRAM channel", ge=1, le=MAX_SHIFTERS
    )
    scan_bits_per_cycle: int = param(
        64,
        "bitmask bits that a shifter searches a cycle",
        f"{_GUESS}: a 64-bit shifter; Dong 2020 names shifts as the main operation",
        ge=1,
        le=4096,
    )
    mappings_per_cycle: int = param(
        16, "mapping entries that a shifter adds up a cycle", f"{_GUESS}: a 16-byte read of the SIB", ge=1, le=4096
    )
    mapping_sums_from: str = param(
        NEARER_END,
        "where mappings are added up from: nearer_end: the column's start or the profiled end; column_start: the "
        "start, where the window has not slid",
        f"{_GUESS}: whichever is less work; Dong 2020, algorithm 4: column_start",
        among=SUMS_FROM,
    )
    address_calculators: int = param(
        0,
        "multipliers with adders, each of which gives the address of a read a cycle; 0: as many as are of use",
        f"{_GUESS}: never short; Dong 2020, section 6.6.3: one",
        ge=0,
        le=MAX_READS,
    )
    compu_latency_cycles: int = param(
        4,
        "from a sparse line entering a compaction unit to its bundles in the lane; one line a cycle enters a unit",
        f"{_GUESS}: convert and compare, prefix count, select, write",
        ge=1,
        le=MAX_STAGE_CYCLES,
    )
    buffer_read_cycles: int = param(
        2, "from a finished line to its leaving for L2", f"{_GUESS}: SRAM read", ge=1, le=MAX_STAGE_CYCLES
    )
    buffer_banks: int = param(
        0,
        "banks of the prefetch buffer, among which its lines are dealt out; 0: accesses never conflict",
        f"{_GUESS}: 32 units and 16 L2 channels use far less than a line each a cycle",
        ge=0,
        le=MAX_BANKS,
    )
    buffer_bank_ports: int = param(
        1, "lines that a bank of the prefetch buffer reads or writes a cycle", f"{_GUESS}: one port", ge=1, le=8
    )
    outstanding_columns: int = param(
        4096,
        "lanes open at a time (a column has at most two: one profiles, one replays what is profiled)",
        f"{_GUESS}: two per SIB entry at the default sizes and more than 4096 rows",
        ge=1,
        le=MAX_BUFFER_KIB * 16,
    )
    reads_in_flight: int = param(
        1024,
        "sparse lines requested from DRAM and not yet compacted (the data buffers of all units)",
        f"{_GUESS}: covers 300 cycles at 2.8 lines a cycle (224 GB/s)",
        ge=1,
        le=MAX_READS,
    )
    data_buffer_lines: int = param(
        0,
        "sparse lines of a compaction unit's own data buffer; 0: the units share reads_in_flight",
        f"{_GUESS}: shared; Dong 2020, figure 6.12, draws a buffer for each unit and gives no size",
        ge=0,
        le=MAX_READS,
    )
    data_buffers_in_l2: bool = param(
        False,
        "whether the data buffers' SRAM is part of what the engine takes of L2",
        f"{_GUESS}: registers of the units, counted with the area; Dong 2020, section 6.6.3, has all storage in L2",
    )
    sparse_queue_depth: int = param(
        16, "sparse misses that wait for the engine in an L2 channel's queue", f"{_GUESS}", ge=1, le=256
    )

    @field_validator("entry_sizes")
    @classmethod
    def _ascending(cls, sizes: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        if not sizes or any(a[0] >= b[0] for a, b in pairwise(sizes)) or sizes[-1][0] < MAX_ROWS:
            raise ValueError(f"largest numbers of rows must ascend and end with {MAX_ROWS}")
        if any(size < MIN_ENTRY_BYTES for _, size in sizes):
            raise ValueError(f"an entry has at least {MIN_ENTRY_BYTES} bytes")
        return sizes

    @model_validator(mode="after")
    def _an_entry_fits(self) -> "EngineSpec":
        largest = max(size for _, size in self.entry_sizes)
        if largest > self.sib_kib * 1024:
            raise ValueError(f"a SIB entry of {largest} bytes does not fit {self.sib_kib} KiB")
        return self

    @model_validator(mode="after")
    def _lines_can_be_written(self) -> "EngineSpec":
        if self.compacts_on_write and self.buffer_lines < LEAST_WRITE_LINES:
            least = LEAST_WRITE_LINES * LINE_BYTES / 1024
            raise ValueError(
                f"prefetch_buffer_kib: {GENERAL(self.prefetch_buffer_kib)}; with compact: {ON_WRITE} it must be at "
                f"least {GENERAL(least)}: a line under construction, and one on its way to DRAM"
            )
        return self

    @property
    def compacts_on_write(self) -> bool:
        """Whether the sparse matrix B lies compacted in DRAM."""
        return self.compact == ON_WRITE

    @property
    def buffer_lines(self) -> int:
        """Compacted lines that the prefetch buffer holds."""
        return int(self.prefetch_buffer_kib * 1024) // LINE_BYTES

    @property
    def l2_taken(self) -> L2Share:
        """The share of L2 that the engine takes."""
        return L2Share(self.l2_share, self.l2_partition)

    @property
    def most_reads(self) -> int:
        """Sparse lines that the data buffers hold, and so reads in flight at most."""
        own = self.data_buffer_lines * self.compaction_units
        return min(self.reads_in_flight, own) if own else self.reads_in_flight

    @property
    def data_buffer_kib(self) -> float:
        """SRAM of all data buffers."""
        lines = self.data_buffer_lines * self.compaction_units or self.reads_in_flight
        return lines * LINE_BYTES / 1024

    @property
    def sram_kib(self) -> float:
        """SRAM that must fit the share of L2, if there is one: SIB, prefetch buffer, data buffers that are there."""
        data_kib = self.data_buffer_kib if self.data_buffers_in_l2 else 0
        return self.sib_kib + self.prefetch_buffer_kib + data_kib
