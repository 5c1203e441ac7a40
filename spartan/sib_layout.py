"""How the sparsity information block is divided for a matrix: the size of an entry, and how many there are."""

from collections.abc import Sequence
from typing import NamedTuple

from isa.region import LINE_ELEMENTS, SparseRegion
from spartan.engine_spec import COUNT_BYTES, METADATA_BITS, METADATA_BYTES, OFFSET_BITS, TAIL_BITS, EngineSpec
from spartan.formats import FORMATS


class SibLayout(NamedTuple):
    """Division of the SIB for a launch's sparse regions.

    With a matrix compacted in DRAM, an entry is a count of lines only.
    """

    entry_bytes: int
    """Bytes of a column: metadata, bitmask and mapping."""
    bitmask_bytes: int
    """Bytes of a column's bitmask."""
    mappings: int
    """Capacity of the sliding window in mappings."""
    entries: int
    """Number of columns that fit."""
    sets: int
    """Number of sets."""
    ways: int
    """Number of ways."""
    line_bits: int
    """Width in bits of a count of lines in the metadata."""


def sib_layout(spec: EngineSpec, regions: Sequence[SparseRegion]) -> SibLayout:
    """Divide the SIB for `regions`, all with the entry size that the tallest one needs.

    Args:
        spec: The engine.
        regions: The launch's sparse regions.

    Raises:
        ValueError: One entry exceeds the SIB, entries are no whole sets, the 48-bit metadata cannot number every
            column, or, where the matrix lies compacted in DRAM, the SIB cannot hold the line counts of all columns.
    """
    rows = max(r.rows for r in regions)
    columns = sum(r.columns for r in regions)
    line_bits = (-(-rows // LINE_ELEMENTS)).bit_length()
    if spec.compacts_on_write:
        if numbered := sorted({r.format for r in regions if FORMATS[r.format].numbered}):
            allowed = ", ".join(name for name, kind in FORMATS.items() if not kind.numbered)
            raise ValueError(
                f"engine.compact: {spec.compact} keeps no numbers of lines, which format {numbered[0]} has; allowed "
                f"with it are {allowed}"
            )
        entries = spec.sib_kib * 1024 // COUNT_BYTES
        if columns > entries:
            raise ValueError(
                f"engine.sib_kib: {spec.sib_kib} KiB hold the line counts of {entries} columns, not of {columns}, "
                f"which engine.compact: {spec.compact} needs; allowed are at least "
                f"{-(-columns * COUNT_BYTES // 1024)} KiB"
            )
        return SibLayout(
            entry_bytes=COUNT_BYTES,
            bitmask_bytes=0,
            mappings=0,
            entries=entries,
            sets=1,
            ways=entries,
            line_bits=line_bits,
        )
    bitmask = -(-rows // 128)
    size = next(size for most, size in spec.entry_sizes if rows <= most)
    while size < METADATA_BYTES + bitmask + 1:
        size *= 2
    entries = spec.sib_kib * 1024 // size
    if not entries:
        raise ValueError(f"engine.sib_kib: {spec.sib_kib} KiB hold no entry of {size} bytes ({rows} rows)")
    ways = spec.sib_ways or entries
    if entries % ways:
        raise ValueError(
            f"engine.sib_ways: {entries} entries of {size} bytes in {spec.sib_kib} KiB are no whole number of sets of "
            f"{ways} ways; allowed is a divisor of {entries}, or 0: any column has any entry"
        )
    column_bits = (columns - 1).bit_length()
    if column_bits + 2 * line_bits + TAIL_BITS + OFFSET_BITS > METADATA_BITS:
        most = 1 << (METADATA_BITS - 2 * line_bits - TAIL_BITS - OFFSET_BITS)
        raise ValueError(f"{columns} sparse columns of up to {rows} rows: the SIB's metadata numbers at most {most}")
    return SibLayout(
        entry_bytes=size,
        bitmask_bytes=bitmask,
        mappings=size - METADATA_BYTES - bitmask,
        entries=entries,
        sets=entries // ways,
        ways=ways,
        line_bits=line_bits,
    )
