"""Setting the engine up for a launch."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gpusim.base.jit import Machine, address_of
from isa.device_memory import VIRTUAL_BASE
from isa.region import LINE_ELEMENTS, PackedMatrix, SparseRegion
from memory.ports import limit_sparse_misses
from spartan.engine_spec import LINE_BYTES, MAX_READS, MAX_REGIONS, SUMS_FROM, EngineSpec
from spartan.formats import FORMATS
from spartan.replacement import CMI_REPLACEMENT, REPLACEMENT
from spartan.sib_layout import SibLayout, sib_layout
from spartan.state import (
    ENGINE,
    MAX_LANES,
    MAX_REQUESTS,
    NONE,
)

# scalars and short arrays that begin as NONE
_NONE_FIELDS = (
    "lane_first",
    "lane_last",
    "lookup_since",
    "issue_first",
    "shifter_lane",
    "blocked_first",
    "unit_first",
    "unit_full_first",
    "unit_line",
    "unit_slot",
    "out_first",
    "fetch_first",
)


_SMALL = MAX_REQUESTS  # elements
UNLIMITED = 2 * MAX_READS  # more reads than there can be


class EngineBuffers(NamedTuple):
    """Buffers whose addresses the machine record contains; they must outlive the record."""

    layout: SibLayout
    """Layout of the SIB."""
    by_column: np.ndarray
    """Number of each column's SIB entry or, with regions compacted in DRAM, of its compacted lines."""
    shadows: tuple[PackedMatrix, ...]
    """Expected compacted contents of each region."""
    written: tuple[np.ndarray, ...]
    """Compacted image of each region that lies compacted in DRAM."""


def configure_engine(
    m: Machine,
    spec: EngineSpec,
    regions: Sequence[SparseRegion],
    shadows: Sequence[PackedMatrix],
    memory_image_address: int,
) -> EngineBuffers:
    """Set `m.engine` up, empty, for a launch with these sparse regions (at least one); returns what to keep alive.

    Where it compacts on writing, the write phase comes first: the engine has to be woken for it.

    Args:
        m: Machine record.
        spec: The engine.
        regions: The launch's sparse regions.
        shadows: Of each region what `spartan.formats.pack_matrix` gives; every answer is compared with it.
        memory_image_address: Host address of the device memory image's first byte.

    Raises:
        ValueError: Regions overlap, are too many or exceed the SIB.
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
    engine = m.engine
    _reset(engine)
    _set_sizes(m, spec, layout, memory_image_address)
    first_column = 0
    for n, (region, (image, lines, numbers)) in enumerate(zip(regions, shadows, strict=True)):
        if image.dtype != np.uint32 or lines.dtype != np.int64 or lines.size != region.columns:
            raise ValueError(f"sparse region at {region.address:#x}: its packed image has another shape")
        engine.region_line[n] = region.address // LINE_BYTES
        engine.region_end[n] = region.end // LINE_BYTES
        engine.region_stride[n] = region.column_bytes // LINE_BYTES
        engine.region_rows[n] = region.rows
        engine.region_lines[n] = -(-region.rows // LINE_ELEMENTS)
        engine.region_column[n] = first_column
        engine.region_image[n] = address_of(image)
        engine.region_counts[n] = address_of(lines)
        engine.region_format[n] = FORMATS[region.format].code
        engine.region_list[n] = engine.memory + region.list_address if FORMATS[region.format].listed else 0
        engine.region_numbers[n] = address_of(numbers) if numbers is not None else 0
        first_column += region.columns
    engine.regions = len(regions)
    by_column = np.zeros(first_column, np.int32)
    written: tuple[np.ndarray, ...] = ()
    if spec.compacts_on_write:
        written = tuple(np.empty(region.column_bytes // 4 * region.columns, np.uint32) for region in regions)
        engine.region_written[: len(regions)] = [address_of(each) for each in written]
        engine.lines_of_column = address_of(by_column)
        engine.on_write, engine.writing, engine.unwritten = 1, 1, first_column
    else:
        engine.entry_of_column = address_of(by_column)
    return EngineBuffers(layout, by_column, tuple(shadows), written)


def _reset(engine: Any) -> None:
    """Clear the fields that are not written when they are first used; large arrays keep their untouched pages."""
    for name, field in ENGINE.fields.items():
        value = NONE if name in _NONE_FIELDS else 0
        if field.shape == ():
            setattr(engine, name, value)
        elif np.prod(field.shape) <= _SMALL:
            getattr(engine, name)[...] = value


def _set_sizes(m: Machine, spec: EngineSpec, layout: SibLayout, memory_image_address: int) -> None:
    engine = m.engine
    limit_sparse_misses(m, spec.sparse_queue_depth)
    engine.prefetch_length = spec.prefetch_length
    engine.demand_window = spec.demand_window_lines
    engine.lookups_per_cycle = spec.sib_lookups_per_cycle
    engine.lookup_cycles = spec.sib_lookup_cycles
    engine.lookup_capacity = spec.sib_lookups_per_cycle * (spec.sib_lookup_cycles + 1)
    engine.shifters = spec.shifters
    engine.scan_bits = spec.scan_bits_per_cycle
    engine.mapping_sums = spec.mappings_per_cycle
    engine.units = spec.compaction_units
    engine.compu_latency = spec.compu_latency_cycles
    engine.buffer_read = spec.buffer_read_cycles
    engine.sib_replacement = REPLACEMENT[spec.sib_replacement]
    engine.lane_replacement = REPLACEMENT[spec.lane_replacement]
    engine.cmi_replacement = CMI_REPLACEMENT[spec.cmi_replacement]
    engine.sum_from = SUMS_FROM[spec.mapping_sums_from]
    engine.sets, engine.ways = layout.sets, layout.ways
    engine.set_first[: layout.sets] = NONE
    engine.set_last[: layout.sets] = NONE
    engine.set_used[: layout.sets] = 0
    engine.addresses_per_cycle = spec.address_calculators or UNLIMITED
    engine.unit_lines = spec.data_buffer_lines or UNLIMITED
    engine.banks = spec.buffer_banks
    engine.bank_ports = spec.buffer_bank_ports
    engine.write_units = min(spec.compaction_units, spec.outstanding_columns, spec.buffer_lines - 1)
    engine.mappings = layout.mappings
    engine.bitmask_words = -(-layout.bitmask_bytes // 4)
    engine.line_bits = layout.line_bits
    engine.memory = memory_image_address - VIRTUAL_BASE
    slots = spec.buffer_lines
    lanes = min(spec.outstanding_columns, MAX_LANES)
    engine.lane_entry[:lanes] = NONE
    engine.lane_in_issue[:, :lanes] = 0
    engine.lane_in_unit[:lanes] = 0
    engine.lane_blocked[:lanes] = 0
    engine.lane_unit_full[:lanes] = 0
    engine.lane_free = _chain(engine.lane_next, lanes)
    engine.slot_free = _chain(engine.slot_next, slots)
    engine.slots_free = slots
    engine.request_free = _chain(engine.request_next, MAX_REQUESTS)
    engine.read_free = _chain(engine.read_next, spec.most_reads)


def _chain(links: np.ndarray, count: int) -> int:
    """Link elements 0 to count - 1 to a free list; returns its head."""
    links[:count] = np.arange(1, count + 1)
    links[count - 1] = NONE
    return 0


def engine_pending(m: Machine) -> int:
    """Return the number of requests that the engine has taken and not answered, for a deadlock's report."""
    return int(m.engine.requests_held)


def perturb_engine(m: Machine, random: "np.random.Generator", channels: int) -> None:
    """Draw which L2 channel the engine asks first.

    Args:
        m: Machine record.
        random: Generator to draw from.
        channels: Number of channels.
    """
    m.engine.next_channel = int(random.integers(0, channels))
