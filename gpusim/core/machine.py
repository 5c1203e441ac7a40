"""The machine: one record that holds the state of every unit, configured from a GPU's specification."""

from functools import cache, lru_cache
from typing import Any

import numpy as np

from gpusim.core.cu.configure import configure_cus, configure_grid
from gpusim.core.cu.state import CU, RUN
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.occupancy import Occupancy
from gpusim.jit import Template, new_record, record_dtype
from isa.launch import Launch
from memory.address_map import ADDRESS_MAP, configure_address_map
from memory.cache.instruction import INSTRUCTION_CACHE, configure_instruction_cache
from memory.cache.l1_state import L1, configure_l1
from memory.cache.l2_state import L2, configure_l2
from memory.cache.scalar import SCALAR_CACHE, configure_scalar_cache
from memory.dram.controller import DRAM, configure_dram
from memory.dram.state import decide_no_clock_ahead
from memory.network.state import CROSSBAR, configure_crossbar
from memory.ports import PORTS
from memory.timeline import TIMELINE
from memory.translation.state import TRANSLATION_STATE, configure_translation
from memory.waiting import WAITING
from memory.wheel import DISPATCH, WHEEL, wake_at_start
from spartan.state import ENGINE

MACHINE = (
    WHEEL,
    TIMELINE,
    ADDRESS_MAP,
    WAITING,
    PORTS,
    CROSSBAR,
    TRANSLATION_STATE,
    L1,
    SCALAR_CACHE,
    INSTRUCTION_CACHE,
    L2,
    DRAM,
    ENGINE,
    CU,
    RUN,
)


@cache
def machine_dtype() -> np.dtype:
    """Structured dtype of the machine record: the same for every configuration."""
    return record_dtype(MACHINE)


def new_machine(
    gpu: GpuSpec, launch: Launch, fit: Occupancy, uses_engine: bool, again: bool = False, huge_pages: bool = False
) -> Any:
    """A machine record ready for the launch, apart from the producer's addresses and the engine's regions.

    again: keep what the GPU alone decides for its next machine, which is then made in a fraction of the time;
    huge_pages: for a long run (see `new_record`).
    """
    if again and Template.AVAILABLE:
        m = _template(gpu, uses_engine).copy()
    else:
        m = new_record(machine_dtype(), huge_pages)
        _configure(m, gpu, uses_engine)
    configure_grid(m, launch, fit.waves_per_simd, fit.workgroups_per_cu)
    return m


@lru_cache(maxsize=4)
def _template(gpu: GpuSpec, uses_engine: bool) -> Template:
    template = Template(machine_dtype())
    _configure(template.record, gpu, uses_engine)
    return template


def _configure(m: Any, gpu: GpuSpec, uses_engine: bool) -> None:
    """Set up a zeroed record as a machine of the GPU, empty and before its first cycle."""
    m.wheel.running = -1
    configure_address_map(m, gpu.l2.channels, gpu.dram.channels, gpu.l2.interleave_bytes, gpu.l2.hash_channels)
    configure_crossbar(m, gpu.crossbar, gpu.l2.channels, gpu.l2.latency_cycles, gpu.l2.mshr_targets_per_channel)
    configure_translation(m, gpu.translation, gpu.replacement_seed)
    configure_l1(m, gpu.l1, gpu.cus, gpu.replacement_seed)
    configure_scalar_cache(m, gpu.scalar_cache, gpu.shader_arrays, gpu.cus_per_array, gpu.replacement_seed)
    configure_instruction_cache(m, gpu.instruction_cache, gpu.shader_arrays, gpu.replacement_seed)
    configure_l2(m, gpu.l2, uses_engine, gpu.replacement_seed)
    configure_dram(m, gpu.dram, gpu.clock_hz)
    configure_cus(m, gpu.cu, gpu.shader_arrays, gpu.cus_per_array)
    m.run.engine_on = int(uses_engine)
    if uses_engine:
        decide_no_clock_ahead(m)  # a kernel may end before a prefetch is answered
    m.wheel.now = 0
    wake_at_start(m, DISPATCH)
