"""A launch's sparse regions, compacted from device memory as it is when the launch begins."""

import numpy as np

from isa.device_memory import VIRTUAL_BASE
from isa.launch import Launch
from spartan.format import pack

Shadows = list[tuple[np.ndarray, np.ndarray]]


def shadows_of(launch: Launch) -> Shadows:
    """Return each sparse region of a launch packed by `spartan.format.pack`: sparse loads are answered from it."""
    found: Shadows = []
    for region in launch.regions:
        start = region.address - VIRTUAL_BASE
        dense = launch.memory.image[start : start + region.column_bytes * region.columns].view(np.float32)
        found.append(pack(dense, region.rows, region.columns, region.leading_dimension))
    return found
