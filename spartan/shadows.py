"""A launch's sparse regions, compacted from device memory as it is when the launch begins."""

import numpy as np

from isa.device_memory import VIRTUAL_BASE
from isa.launch import Launch
from isa.region import PackedMatrix, SparseRegion
from spartan.formats import FORMATS, LIST_BITS, pack_matrix

Shadows = list[PackedMatrix]


def shadows_of(launch: Launch) -> Shadows:
    """Return each sparse region of a launch in its format: sparse loads are answered from it."""
    found: Shadows = []
    for region in launch.regions:
        start = region.address - VIRTUAL_BASE
        dense = launch.memory.image[start : start + region.column_bytes * region.columns].view(np.float32)
        found.append(pack_matrix(region.format, dense, region.rows, region.leading_dimension, _list_of(launch, region)))
    return found


def _list_of(launch: Launch, region: SparseRegion) -> np.ndarray | None:
    """Return which lines of a region its list names; None for a format without one."""
    if not FORMATS[region.format].listed:
        return None
    words = launch.memory.image[region.list_address - VIRTUAL_BASE :][: 4 * -(-region.line_count // LIST_BITS)]
    return np.unpackbits(words, bitorder="little")[: region.line_count].astype(bool)
