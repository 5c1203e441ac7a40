"""Area of the compaction engine: the storage and the logic that Dong 2020 lists (section 6.6.3), and what ours adds.

The list: SIB and prefetch buffer in L2's SRAM, so no storage of its own, unless the engine takes no share of L2; for
the SIB one 1-bit shifter and one address calculator (a multiplier and an adder); for each compaction unit 16
comparators, 16 FP16 converters, a 16-bit register, a selector and a multiplexer. The configured engine has more: wider
shifters and more of them, data buffers for the lines in flight, a directory. Order of magnitude only: cells are
counted, wires are not.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpusim.base.sums import plain_sum
from gpusim.model.energy.spec import EnergySpec
from spartan.engine_spec import MIN_ENTRY_BYTES, EngineSpec

LANES = 16  # of a compaction unit, an FP32 element each
BUNDLE_BITS = 32
CELL_UM2 = 0.16  # at CELL_NM
CELL_NM = 28.0
ARRAY_EFFICIENCY = 0.6
DIRECTORY_BYTES = 3  # of an entry: docs/explanation/engine.md


@dataclass(frozen=True)
class LogicCell:
    """A block of logic."""

    um2: float
    """Area in square micrometres at 45 nm."""
    source: str
    """Source of the area."""


_DALLY = "Dally, tutorial at NIPS 2015, from Horowitz's figures of 45 nm, quoted by heart"
CELLS: Mapping[str, LogicCell] = {
    "adder, 32 bits": LogicCell(137, _DALLY),
    "multiplier, 32 bits": LogicCell(3495, _DALLY),
    "comparator": LogicCell(137, f"assumed: a 32-bit adder; {_DALLY}"),
    "FP16 converter": LogicCell(680, f"assumed: half an FP16 adder of 1360 um2, its shifter and rounding; {_DALLY}"),
    "register bit": LogicCell(6, "assumed: six two-input gates of 1 um2 at 45 nm"),
    "2-to-1 multiplexer bit": LogicCell(2, "assumed: two two-input gates of 1 um2 at 45 nm"),
}
SRAM_SOURCE = "0.16 um2 a bit: the AMD Radeon HD 7970's 28 nm SRAM by Chipworks (2012); 60 % of an array: assumed"


@dataclass(frozen=True)
class AreaRow:
    """A row of the engine's area table."""

    where: str
    """Unit that contains the part."""
    what: str
    """Part that is counted."""
    count: float
    """Number of parts, or bytes of storage."""
    um2: float
    """Total area in square micrometres."""
    in_source: bool
    """Listed by Dong 2020."""
    extra: bool = True
    """Adds to the area of L2."""


def engine_area(engine: EngineSpec, spec: EnergySpec | None = None) -> list[AreaRow]:
    """Return the engine's parts, Dong 2020's first.

    Args:
        engine: the engine.
        spec: process and energies; None: the defaults.

    Returns:
        A row for each part, areas in um2.
    """
    spec = spec or EnergySpec()
    logic = spec.scale**2
    bit = CELL_UM2 * (spec.process_nm / CELL_NM) ** 2 / ARRAY_EFFICIENCY

    def cells(where: str, what: str, cell: str, count: float, in_source: bool = True) -> AreaRow:
        return AreaRow(where, what, count, count * CELLS[cell].um2 * logic, in_source)

    def storage(where: str, what: str, size_bytes: float, in_source: bool, extra: bool) -> AreaRow:
        return AreaRow(where, what, size_bytes, 8 * size_bytes * bit, in_source, extra)

    units = engine.compaction_units
    select_bits = LANES * BUNDLE_BITS * (LANES - 1)  # each of 16 places takes one of 16 bundles
    calculators = engine.address_calculators or engine.shifters
    further = max(0, engine.shifters * engine.scan_bits_per_cycle - 1)
    data_bytes = engine.data_buffer_kib * 1024
    own = not engine.l2_share
    sram = "of its own" if own else "in L2's SRAM"
    entries = engine.sib_kib * 1024 / MIN_ENTRY_BYTES
    return [
        storage("SIB", f"bytes {sram}", engine.sib_kib * 1024, True, own),
        storage("prefetch buffer", f"bytes {sram}", engine.prefetch_buffer_kib * 1024, True, own),
        cells("SIB", "1-bit shifter", "register bit", 1),
        cells("SIB", "multiplier of the address calculator", "multiplier, 32 bits", 1),
        cells("SIB", "adder of the address calculator", "adder, 32 bits", 1),
        cells("compaction units", "comparators", "comparator", LANES * units),
        cells("compaction units", "FP16 converters", "FP16 converter", LANES * units),
        cells("compaction units", "bits of bitmask registers", "register bit", LANES * units),
        cells("compaction units", "bits of selectors and multiplexers", "2-to-1 multiplexer bit", select_bits * units),
        cells("SIB", "further bits of shifters", "register bit", further, False),
        cells("SIB", "further address calculators", "multiplier, 32 bits", calculators - 1, False),
        storage("SIB", "bytes of a directory", entries * DIRECTORY_BYTES, False, True),
        storage("compaction units", "bytes of data buffers", data_bytes, False, not engine.data_buffers_in_l2),
    ]


def added_um2(parts: list[AreaRow], source_alone: bool = False) -> float:
    """Return the area added to L2's.

    Args:
        parts: rows of `engine_area`.
        source_alone: count Dong 2020's list alone; otherwise the configured engine.

    Returns:
        The area in um2.
    """
    return plain_sum(part.um2 for part in parts if part.extra and (part.in_source or not source_alone))
