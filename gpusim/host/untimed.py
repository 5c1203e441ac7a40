"""Executing a launch for its results alone, its sparse loads answered as the compaction engine answers them."""

from collections.abc import Callable

from gpusim.base.progress import Progress
from isa.execution.context_pool import ContextPool
from isa.execution.emulator import FunctionalResult, run_functional
from isa.launch import MAX_WAVEFRONT_INSTRUCTIONS, Launch, Residency
from spartan.shadows import shadows_of


def execute(
    launch: Launch,
    max_instructions: int = MAX_WAVEFRONT_INSTRUCTIONS,
    observer: Callable[[Progress], bool] | None = None,
    pool: ContextPool | None = None,
    serve: Callable[[], None] | None = None,
    residency: Residency | None = None,
) -> FunctionalResult:
    """Execute a launch on its device memory, whose sparse regions are compacted as they are now.

    pool: of contexts, for launches without such regions; serve, residency, raises: see
    `isa.execution.emulator.run_functional`.
    """
    shadows = shadows_of(launch) or None
    return run_functional(
        launch,
        max_instructions,
        shadows,
        observer,
        pool=None if shadows else pool,
        serve=serve,
        residency=residency,
    )
