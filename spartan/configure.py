"""Setting the engine up for a launch."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpusim.jit import address_of
from isa.device_memory import VIRTUAL_BASE
from isa.region import SparseRegion
from spartan.engine_spec import LINE_BYTES, LINE_ELEMENTS, MAX_READS, MAX_REGIONS, EngineSpec, SibLayout, sib_layout
from spartan.state import (
    ENGINE,
    MAX_LANES,
    MAX_REQUESTS,
    NONE,
)

# scalars and short arrays that begin as NONE
_NONE_FIELDS = (
    "entry_first",
    "entry_last",
    "lane_first",
    "lane_last",
    "lookup_since",
    "issue_first",
    "shifter_lane",
    "blocked_first",
    "unit_first",
)


_SMALL = MAX_REQUESTS  # elements


@dataclass(frozen=True)
class EngineBuffers:
    """What the record keeps only addresses of: hold it as long as the record is used. `layout`: the SIB's."""

    layout: SibLayout
    entry_of_column: np.ndarray
    shadows: tuple[tuple[np.ndarray, np.ndarray], ...]


def configure_engine(
    m: Any,
    spec: EngineSpec,
    regions: Sequence[SparseRegion],
    shadows: Sequence[tuple[np.ndarray, np.ndarray]],
    memory_image_address: int,
) -> EngineBuffers:
    """Set `m.engine` up, empty, for a launch with these sparse regions (at least one); returns what to keep alive.

    shadows: of each region what `spartan.format.pack` gives; every answer is compared with it.
    memory_image_address: host address of the device memory image's first byte. Raises ValueError for regions that
    overlap, are too many or exceed the SIB.
    """
    if not 1 <= len(regions) <= MAX_REGIONS or len(shadows) != len(regions):
        raise ValueError(
            f"{len(regions)} sparse regions with {len(shadows)} packed images; allowed are 1 to {MAX_REGIONS}"
        )
    ordered = sorted(regions, key=lambda r: r.address)
    for low, high in pairwise(ordered):
        if low.end > high.address:
            raise ValueError(f"sparse regions at {low.address:#x} and {high.address:#x} overlap")
    layout = sib_layout(spec, regions)
    g = m.engine
    _reset(g)
    _set_sizes(m, spec, layout, memory_image_address)
    first_column = 0
    for n, (region, (image, lines)) in enumerate(zip(regions, shadows, strict=True)):
        if image.dtype != np.uint32 or lines.dtype != np.int64 or lines.size != region.columns:
            raise ValueError(f"sparse region at {region.address:#x}: its packed image has another shape")
        g.region_line[n] = region.address // LINE_BYTES
        g.region_end[n] = region.end // LINE_BYTES
        g.region_stride[n] = region.column_bytes // LINE_BYTES
        g.region_rows[n] = region.rows
        g.region_lines[n] = -(-region.rows // LINE_ELEMENTS)
        g.region_column[n] = first_column
        g.region_image[n] = address_of(image)
        g.region_counts[n] = address_of(lines)
        first_column += region.columns
    g.regions = len(regions)
    entry_of_column = np.zeros(first_column, np.int32)
    g.entry_of_column = address_of(entry_of_column)
    return EngineBuffers(layout, entry_of_column, tuple(shadows))


def _reset(g: Any) -> None:
    """Clear what is not written when it is taken into use; large arrays keep their untouched pages."""
    for name, field in ENGINE.fields.items():
        value = NONE if name in _NONE_FIELDS else 0
        if field.shape == ():
            setattr(g, name, value)
        elif np.prod(field.shape) <= _SMALL:
            getattr(g, name)[...] = value


def _set_sizes(m: Any, spec: EngineSpec, layout: SibLayout, memory_image_address: int) -> None:
    g = m.engine
    m.ports.sparse_limit = spec.sparse_queue_depth
    g.prefetch_length = spec.prefetch_length
    g.demand_window = spec.demand_window_lines
    g.lookups_per_cycle = spec.sib_lookups_per_cycle
    g.lookup_cycles = spec.sib_lookup_cycles
    g.lookup_capacity = spec.sib_lookups_per_cycle * (spec.sib_lookup_cycles + 1)
    g.shifters = spec.shifters
    g.scan_bits = spec.scan_bits_per_cycle
    g.mapping_sums = spec.mappings_per_cycle
    g.units = spec.compaction_units
    g.compu_latency = spec.compu_latency_cycles
    g.buffer_read = spec.buffer_read_cycles
    g.sib_fifo = int(spec.sib_replacement == "fifo")
    g.lane_fifo = int(spec.lane_replacement == "fifo")
    g.entries = layout.entries
    g.mappings = layout.mappings
    g.bitmask_words = -(-layout.bitmask_bytes // 4)
    g.line_bits = layout.line_bits
    g.memory = memory_image_address - VIRTUAL_BASE
    slots = spec.buffer_lines
    lanes = min(spec.outstanding_columns, MAX_LANES)
    g.lane_entry[:lanes] = NONE
    g.lane_in_issue[:, :lanes] = 0
    g.lane_in_unit[:lanes] = 0
    g.lane_blocked[:lanes] = 0
    g.lane_free = _chain(g.lane_next, lanes)
    g.slot_free = _chain(g.slot_next, slots)
    g.slots_free = slots
    g.request_free = _chain(g.request_next, MAX_REQUESTS)
    g.read_free = _chain(g.read_next, min(spec.reads_in_flight, MAX_READS))


def _chain(links: np.ndarray, count: int) -> int:
    """Link elements 0 to count - 1 to a free list; returns its head."""
    links[:count] = np.arange(1, count + 1)
    links[count - 1] = NONE
    return 0


def engine_pending(m: Any) -> int:
    """Requests that the engine has taken and not answered, for a report of who waits for whom."""
    return int(m.engine.requests_held)
