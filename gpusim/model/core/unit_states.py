"""Written by `tests.support.write_units` from the table in `units` beside it: change that, not this."""

from gpusim.base.jit import Machine
from gpusim.model.core.cu.configure import configure_cus, configure_dispatch
from gpusim.model.core.cu.state import CU, RUN
from gpusim.model.core.gpu_spec import GpuSpec
from memory.cache.instruction import INSTRUCTION_CACHE, configure_instruction_cache
from memory.cache.l1_state import L1, configure_l1
from memory.cache.l2_state import L2, configure_l2
from memory.cache.scalar import SCALAR_CACHE, configure_scalar_cache
from memory.dram.state import DRAM, configure_dram
from memory.l2_share import L2Share
from memory.translation.state import TRANSLATION_STATE, configure_translation
from spartan.state import ENGINE

STATES = (
    TRANSLATION_STATE,
    L1,
    SCALAR_CACHE,
    INSTRUCTION_CACHE,
    L2,
    ENGINE,
    DRAM,
    CU,
    RUN,
)


def configure_units(m: Machine, gpu: GpuSpec, l2_taken: L2Share | None) -> None:
    """Set up the units' parts of a zeroed machine record. l2_taken: the share of L2 that caches nothing."""
    configure_translation(m, gpu.translation, gpu.replacement_seed)
    configure_l1(m, gpu.l1, gpu.cus, gpu.replacement_seed)
    configure_scalar_cache(m, gpu.scalar_cache, gpu.shader_arrays, gpu.cus_per_array, gpu.replacement_seed)
    configure_instruction_cache(m, gpu.instruction_cache, gpu.shader_arrays, gpu.replacement_seed)
    configure_l2(m, gpu.l2, l2_taken, gpu.replacement_seed)
    configure_dram(m, gpu.dram, gpu.clock_hz)
    configure_cus(m, gpu.cu, gpu.shader_arrays, gpu.cus_per_array, gpu.architecture)
    configure_dispatch(m, gpu.dispatch, gpu.shader_arrays, gpu.cus_per_array)
