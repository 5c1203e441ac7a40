"""The machine: one record that holds the state of every unit, configured from a GPU's specification."""

from functools import cache
from typing import Any

import numpy as np

from gpusim.core.cu.code_table import FETCH_BYTES, FetchTable
from gpusim.core.cu.spec import MAX_WAVES_PER_SIMD, SIMDS
from gpusim.core.cu.state import CU, GREEDY, NEVER, OLDEST, ROUND_ROBIN, RUN
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.occupancy import Occupancy
from gpusim.jit import address_of, new_record, record_dtype
from isa.launch import Launch
from isa.trace import LINE_BYTES
from memory.address_map import ADDRESS_MAP
from memory.cache.instruction import INSTRUCTION_CACHE, configure_instruction_cache
from memory.cache.l1 import L1, configure_l1
from memory.cache.l2 import L2, configure_l2
from memory.cache.scalar import SCALAR_CACHE, configure_scalar_cache
from memory.dram.controller import DRAM, configure_dram
from memory.network.state import CROSSBAR, configure_crossbar
from memory.ports import PORTS
from memory.timeline import TIMELINE
from memory.translation.tlb import TRANSLATION_STATE, configure_translation
from memory.wheel import DISPATCH, WHEEL, wake
from spartan.state import ENGINE

MACHINE = (
    WHEEL,
    TIMELINE,
    ADDRESS_MAP,
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

_POLICIES = {"oldest": OLDEST, "round_robin": ROUND_ROBIN, "greedy": GREEDY}


@cache
def machine_dtype() -> np.dtype:
    """Structured dtype of the machine record: the same for every configuration."""
    return record_dtype(MACHINE)


def _configure_map(m: Any, gpu: GpuSpec) -> None:
    a = m.map
    a.l2_channels, a.dram_channels = gpu.l2.channels, gpu.dram.channels
    a.l2_channel_bits = gpu.l2.channels.bit_length() - 1
    a.dram_channel_bits = gpu.dram.channels.bit_length() - 1
    a.interleave_lines_bits = (gpu.l2.interleave_bytes // 64).bit_length() - 1
    a.hash_channels = int(gpu.l2.hash_channels)


def _configure_cus(m: Any, gpu: GpuSpec) -> None:
    c, spec = m.cu, gpu.cu
    c.cus, c.policy = gpu.cus, _POLICIES[spec.schedule]
    c.branch_cycles, c.launch_cycles = spec.branch_cycles, spec.launch_cycles
    c.lds_latency, c.lds_backlog = spec.lds_latency_cycles, spec.lds_backlog_cycles
    c.array[: gpu.cus] = [cu // gpu.cus_per_array for cu in range(gpu.cus)]
    c.bit_in_array[: gpu.cus] = [1 << cu % gpu.cus_per_array for cu in range(gpu.cus)]
    c.simd["free"][: gpu.cus * SIMDS] = (1 << spec.waves_per_simd) - 1
    c.simd["next_resume"] = NEVER
    assert spec.waves_per_simd <= MAX_WAVES_PER_SIMD


def _configure_run(m: Any, gpu: GpuSpec, launch: Launch, fit: Occupancy) -> None:
    run = m.run
    x, y, z = launch.workgroups
    run.workgroups = x * y * z
    run.workgroup_waves = launch.wavefronts_per_workgroup
    run.waves_per_simd, run.workgroups_per_cu = fit.waves_per_simd, fit.workgroups_per_cu
    run.dispatch_interval = gpu.cu.dispatch_interval_cycles
    order = [a * gpu.cus_per_array + k for k in range(gpu.cus_per_array) for a in range(gpu.shader_arrays)]
    run.cu_order[: gpu.cus] = order


def set_fetch_table(m: Any, table: FetchTable, buffer_bytes: int) -> None:
    """Tell the machine where the kernel's instructions lie; `table` must outlive it."""
    run, granule_bytes = m.run, table.granule_bytes
    run.granules_of, run.granule_ends = address_of(table.granules_of), address_of(table.ends)
    run.granules, run.code_line = len(table.ends), table.first_line
    run.line_granule_bits = (LINE_BYTES // granule_bytes).bit_length() - 1
    m.icache.last_line = table.last_line
    m.cu.buffer_granules, m.cu.fetch_granules = buffer_bytes // granule_bytes, FETCH_BYTES // granule_bytes


def new_machine(gpu: GpuSpec, launch: Launch, fit: Occupancy, engine_on: bool) -> Any:
    """A machine record ready for the launch, apart from the producer's addresses and the engine's regions."""
    m = new_record(machine_dtype())
    m.wheel.running = -1
    _configure_map(m, gpu)
    configure_crossbar(m, gpu.crossbar, gpu.l2.channels, gpu.l2.latency_cycles, gpu.l2.mshr_targets_per_channel)
    configure_translation(m, gpu.translation, gpu.replacement_seed)
    configure_l1(m, gpu.l1, gpu.cus, gpu.replacement_seed)
    configure_scalar_cache(m, gpu.scalar_cache, gpu.shader_arrays, gpu.cus_per_array, gpu.replacement_seed)
    configure_instruction_cache(m, gpu.instruction_cache, gpu.shader_arrays, gpu.replacement_seed)
    configure_l2(m, gpu.l2, engine_on, gpu.replacement_seed)
    configure_dram(m, gpu.dram, gpu.clock_hz)
    _configure_cus(m, gpu)
    _configure_run(m, gpu, launch, fit)
    m.run.engine_on = int(engine_on)
    if engine_on:
        m.dram.look_ahead = 0  # a kernel may end before a prefetch is answered
    m.wheel.now = 0
    wake(m, DISPATCH, 0, 0)
    return m
