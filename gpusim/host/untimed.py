"""Executing a launch for its results alone, its sparse loads answered as the compaction engine answers them."""

from collections.abc import Callable

import numpy as np

from gpusim.base.progress import Progress
from isa.device_memory import VIRTUAL_BASE
from isa.execution.context_pool import ContextPool
from isa.execution.emulator import FunctionalResult, run_functional
from isa.launch import MAX_WAVEFRONT_INSTRUCTIONS, Launch
from spartan.format import pack


def execute(
    launch: Launch,
    max_instructions: int = MAX_WAVEFRONT_INSTRUCTIONS,
    observer: Callable[[Progress], bool] | None = None,
    pool: ContextPool | None = None,
    serve: Callable[[], None] | None = None,
) -> FunctionalResult:
    """Execute a launch on its device memory, whose sparse regions are compacted as they are now.

    pool: of contexts, for launches without such regions; serve, raises: see `isa.execution.emulator.run_functional`.
    """
    shadows = [_packed(launch, number) for number in range(len(launch.regions))]
    return run_functional(
        launch, max_instructions, shadows or None, observer, pool=None if shadows else pool, serve=serve
    )


def _packed(launch: Launch, number: int) -> tuple[np.ndarray, np.ndarray]:
    region = launch.regions[number]
    start = region.address - VIRTUAL_BASE
    dense = launch.memory.image[start : start + region.column_bytes * region.columns].view(np.float32)
    return pack(dense, region.rows, region.columns, region.leading_dimension)
