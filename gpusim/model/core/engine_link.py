"""What the command processor does at launch with the compaction engine on: registers the sparse regions."""

from gpusim.base.jit import Machine, address_of
from isa.execution.executor import FunctionalContext
from isa.launch import Launch
from spartan.configure import configure_engine
from spartan.engine_spec import EngineSpec
from spartan.shadows import Shadows, shadows_of


def attach_engine(m: Machine, spec: EngineSpec, launch: Launch, context: FunctionalContext) -> tuple[object, Shadows]:
    """Set the engine up for the launch's sparse regions.

    Returns what must stay alive while the machine runs, and of each region what `spartan.format.pack` gives.

    The functional part answers sparse loads from the packed matrices; the engine builds its own lines from the
    memory image, and each is compared with the packed matrix.
    """
    shadows = shadows_of(launch)
    context.register_regions(shadows)
    return configure_engine(m, spec, launch.regions, shadows, address_of(launch.memory.image)), shadows
