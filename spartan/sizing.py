"""The engine's memories and its share of L2 by launch: the command processor knows the launch's sparse regions.

A launch with few columns needs few SIB entries, and few lines of the prefetch buffer; what they leave caches lines.
"""

from collections.abc import Sequence

from gpusim.base.formats import GENERAL
from isa.region import SparseRegion
from memory.l2_share import WAYS
from spartan.engine_spec import FIXED, LINE_BYTES, EngineSpec
from spartan.sib_layout import sib_layout

LINES_A_COLUMN = 8  # assumed: two lines under construction, and what prefetch_length brings at 65 % zeros


def sized_for(spec: EngineSpec, regions: Sequence[SparseRegion], l2_kib: int, l2_ways: int) -> EngineSpec:
    """Return the engine for a launch with these regions (at least one), on an L2 of `l2_kib` KiB and `l2_ways` ways.

    With `l2_sizing` fixed it is `spec`. Else its SIB has an entry for every column and its prefetch buffer
    LINES_A_COLUMN lines for each (for each under way, where the write phase alone has any), no more than in `spec`, and
    it takes as many ways of L2 as that fills.

    Args:
        spec: The engine as configured.
        regions: The launch's sparse regions.
        l2_kib: Size of L2.
        l2_ways: Its ways.

    Raises:
        ValueError: As for `sib_layout`, or the engine would take all ways.
    """
    if spec.l2_sizing == FIXED:
        return spec
    columns, layout = sum(region.columns for region in regions), sib_layout(spec, regions)
    ways, open_columns = (1, spec.compaction_units) if spec.compacts_on_write else (spec.sib_ways or 1, columns)
    step = max(1024, layout.entry_bytes * ways)
    sib_kib = min(spec.sib_kib, -(-columns * layout.entry_bytes // step) * step // 1024)
    buffer_kib = min(spec.prefetch_buffer_kib, open_columns * LINES_A_COLUMN * LINE_BYTES / 1024)
    sized = spec.model_copy(update={"sib_kib": sib_kib, "prefetch_buffer_kib": buffer_kib})
    taken = -int(-sized.sram_kib // (l2_kib / l2_ways))
    if taken >= l2_ways:
        raise ValueError(f"engine: {GENERAL(sized.sram_kib)} KiB leave nothing of an L2 of {l2_kib} KiB")
    share = taken / l2_ways if spec.l2_share else 0.0
    return sized.model_copy(update={"l2_share": share, "l2_partition": WAYS})
