"""What a configuration may say about the compaction engine, and the SIB layout that follows for a matrix."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import field_validator, model_validator

from gpusim.base.spec import Spec, param
from isa.region import LINE_ELEMENTS, MAX_ROWS, SparseRegion
from isa.trace import LINE_BYTES
from memory.l2_share import L2_PARTITIONS, SETS, L2Share
from spartan.replacement import REPLACEMENT

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

_GUESS = "assumed"


class EngineSpec(Spec):
    """The compaction engine (Dong 2020, section 6.4). All cycles are core clock cycles."""

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
    compaction_units: int = param(32, "compaction processing units", "Dong 2020, table 6.4", ge=1, le=MAX_UNITS)
    entry_sizes: tuple[tuple[int, int], ...] = param(
        ((1023, 32), (2047, 64), (4096, 128), (MAX_ROWS, 256)),
        "SIB entry sizes: (largest number of rows, bytes), ascending; doubled while bitmask and one mapping do not fit",
        "Dong 2020, section 6.4.2.2",
    )
    sib_replacement: str = param(
        "lru",
        "which column's SIB entry makes room for another",
        f"{_GUESS}: not specified by Dong 2020",
        among=REPLACEMENT,
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

    @property
    def buffer_lines(self) -> int:
        """Compacted lines that the prefetch buffer holds."""
        return int(self.prefetch_buffer_kib * 1024) // LINE_BYTES

    @property
    def l2_taken(self) -> L2Share:
        """What L2 gives up to the engine."""
        return L2Share(self.l2_share, self.l2_partition)

    @property
    def sram_kib(self) -> float:
        """SRAM that must fit the share of L2, if there is one: SIB and prefetch buffer."""
        return self.sib_kib + self.prefetch_buffer_kib


@dataclass(frozen=True)
class SibLayout:
    """How the SIB is divided for a launch's sparse regions.

    entry_bytes: metadata, bitmask and mapping bytes of a column; bitmask_bytes; mappings: capacity of the sliding
    window; entries: columns held; line_bits: width of a count of lines in the metadata.
    """

    entry_bytes: int
    bitmask_bytes: int
    mappings: int
    entries: int
    line_bits: int


def sib_layout(spec: EngineSpec, regions: Sequence[SparseRegion]) -> SibLayout:
    """Divide the SIB for `regions`, all with the entry size that the tallest one needs.

    ValueError if one entry exceeds the SIB, or the 48-bit metadata cannot number every column.
    """
    rows = max(r.rows for r in regions)
    columns = sum(r.columns for r in regions)
    bitmask = -(-rows // 128)
    size = next(size for most, size in spec.entry_sizes if rows <= most)
    while size < METADATA_BYTES + bitmask + 1:
        size *= 2
    entries = spec.sib_kib * 1024 // size
    if not entries:
        raise ValueError(f"engine.sib_kib: {spec.sib_kib} KiB hold no entry of {size} bytes ({rows} rows)")
    line_bits = (-(-rows // LINE_ELEMENTS)).bit_length()
    column_bits = (columns - 1).bit_length()
    if column_bits + 2 * line_bits + TAIL_BITS + OFFSET_BITS > METADATA_BITS:
        most = 1 << (METADATA_BITS - 2 * line_bits - TAIL_BITS - OFFSET_BITS)
        raise ValueError(f"{columns} sparse columns of up to {rows} rows: the SIB's metadata numbers at most {most}")
    return SibLayout(size, bitmask, size - METADATA_BYTES - bitmask, entries, line_bits)
