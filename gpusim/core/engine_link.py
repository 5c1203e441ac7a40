"""What the command processor does at launch with the compaction engine on: registers the sparse regions."""

from typing import Any

import numpy as np

from gpusim.jit import address_of
from isa.device_memory import VIRTUAL_BASE
from isa.execution.executor import FunctionalContext
from isa.launch import Launch
from spartan.configure import configure_engine
from spartan.engine_spec import EngineSpec
from spartan.format import pack

Shadows = list[tuple[np.ndarray, np.ndarray]]


def attach_engine(m: Any, spec: EngineSpec, launch: Launch, context: FunctionalContext) -> tuple[object, Shadows]:
    """Set the engine up for the launch's sparse regions.

    Returns what must stay alive while the machine runs, and of each region what `spartan.format.pack` gives.

    The functional part answers sparse loads from the packed matrices; the engine builds its own lines from the
    memory image, and each is compared with the packed matrix.
    """
    shadows: Shadows = []
    for region in launch.regions:
        start = region.address - VIRTUAL_BASE
        dense = launch.memory.image[start : start + region.column_bytes * region.columns].view(np.float32)
        shadows.append(pack(dense, region.rows, region.columns, region.leading_dimension))
    context.register_regions(shadows)
    return configure_engine(m, spec, launch.regions, shadows, address_of(launch.memory.image)), shadows
