"""Sets compute units and dispatcher up: number, latencies, order, the grid, where the kernel's instructions lie."""

import numpy as np

from gpusim.base.jit import Machine, address_of
from gpusim.model.core.cu.code_table import ACTION_MASK, ACTION_SHIFT, FETCH_BYTES, SET_PRIORITY, FetchTable
from gpusim.model.core.cu.dispatch_order import ORDERS
from gpusim.model.core.cu.dispatch_spec import DispatchSpec
from gpusim.model.core.cu.scheduling import OLDEST, SCHEDULES
from gpusim.model.core.cu.spec import MAX_WAVES_PER_SIMD, SIMDS, ComputeUnitSpec
from gpusim.model.core.cu.state import CU_WORDS, NEVER, NEXT_SLOT, SLOTS
from isa.launch import Launch
from isa.opcodes import ARCHITECTURES
from isa.opcodes.opcode import SMEM, VMEM
from isa.trace import LINE_BYTES
from memory.cache.instruction import set_last_code_line


def configure_cus(m: Machine, spec: ComputeUnitSpec, arrays: int, cus_per_array: int, architecture: str) -> None:
    """Size the CUs of `arrays` shader arrays in the machine record; all their wavefront slots are free.

    Args:
        m: Machine record.
        spec: Configuration of a CU.
        arrays: Shader arrays.
        cus_per_array: CUs of each shader array.
        architecture: A name of ARCHITECTURES.
    """
    c, cus = m.cu, arrays * cus_per_array
    c.cus, c.policy = cus, SCHEDULES[spec.schedule].number
    c.branch_cycles, c.launch_cycles = spec.branch_cycles, spec.launch_cycles
    c.lds_latency, c.lds_backlog = spec.lds_latency_cycles, spec.lds_backlog_cycles
    c.lds_write_passes, c.vm_limit = spec.lds_write_passes, (1 << ARCHITECTURES[architecture].vmcnt_bits) - 1
    c.array[:cus] = [cu // cus_per_array for cu in range(cus)]
    c.bit_in_array[:cus] = [1 << cu % cus_per_array for cu in range(cus)]
    c.simd["free"][: cus * SIMDS] = (1 << spec.waves_per_simd) - 1
    c.simd["next_resume"] = NEVER
    assert spec.waves_per_simd <= MAX_WAVES_PER_SIMD


def configure_dispatch(m: Machine, spec: DispatchSpec, arrays: int, cus_per_array: int) -> None:
    """Share the CUs out to shader engines and put them into the dispatcher's order.

    Args:
        m: Machine record.
        spec: Configuration of the dispatcher.
        arrays: Shader arrays.
        cus_per_array: CUs of each shader array.
    """
    run, cus = m.run, arrays * cus_per_array
    run.engines = engines = min(spec.shader_engines, cus)
    run.launch_interval, run.dispatch_order = spec.wavefront_cycles, ORDERS[spec.order].number
    order = cu_order(engines, cus, cus_per_array)
    run.cu_order[:cus], run.position[order] = order, range(cus)
    engine_of = [engine_of_cu(cu, engines, cus) for cu in range(cus)]
    run.engine_of[:cus] = engine_of
    masks = np.zeros((engines, CU_WORDS), np.uint64)
    for cu in range(cus):
        word, bit = divmod(int(run.position[cu]), 64)
        masks[engine_of[cu], word] |= np.uint64(1 << bit)
    run.engine_cus[:engines] = masks.view(np.int64)
    run.may_have_space[:] = np.bitwise_or.reduce(masks).view(np.int64)


def engine_of_cu(cu: int, engines: int, cus: int) -> int:
    """Return the shader engine of a CU: consecutive CUs share one, and engines differ by one CU at most."""
    return cu * engines // cus


def cu_order(engines: int, cus: int, cus_per_array: int) -> list[int]:
    """Return the CUs in an order in which the engines take turns, and within an engine its shader arrays."""

    def turn(cu: int) -> tuple[int, int]:
        return cu % cus_per_array, cu // cus_per_array

    rows: dict[int, list[int]] = {}
    for engine in range(engines):
        own = sorted((cu for cu in range(cus) if engine_of_cu(cu, engines, cus) == engine), key=turn)
        for row, cu in enumerate(own):
            rows.setdefault(row, []).append(cu)
    return [cu for row in sorted(rows) for cu in sorted(rows[row], key=turn)]


def configure_grid(m: Machine, launch: Launch, waves_per_simd: int, workgroups_per_cu: int) -> None:
    """Tell the dispatcher the launch's grid and how much of its kernel fits on a SIMD and a CU.

    Args:
        m: Machine record.
        launch: The launch.
        waves_per_simd: Wavefronts that fit a SIMD.
        workgroups_per_cu: Workgroups that fit a CU.
    """
    run = m.run
    x, y, z = launch.workgroups
    run.workgroups = x * y * z
    run.workgroup_waves = launch.wavefronts_per_workgroup
    run.waves_per_simd, run.workgroups_per_cu = waves_per_simd, workgroups_per_cu


def set_fetch_table(m: Machine, table: FetchTable, buffer_bytes: int) -> None:
    """Tell the machine where the kernel's instructions lie; `table` must outlive it.

    Args:
        m: Machine record.
        table: Bytes of the instructions.
        buffer_bytes: Size of an instruction buffer.
    """
    run, granule_bytes = m.run, table.granule_bytes
    run.granules_of, run.granule_ends = address_of(table.granules_of), address_of(table.ends)
    run.granules, run.code_line = len(table.ends), table.first_line
    run.line_granule_bits = (LINE_BYTES // granule_bytes).bit_length() - 1
    set_last_code_line(m, table.last_line)
    m.cu.buffer_granules, m.cu.fetch_granules = buffer_bytes // granule_bytes, FETCH_BYTES // granule_bytes


def set_code_table(m: Machine, table: np.ndarray) -> None:
    """Tell the machine what its units know of the kernel's instructions; `table` must outlive it.

    Args:
        m: Machine record.
        table: A word for each instruction.
    """
    m.run.code = address_of(table)
    sets_priorities = bool(np.any(table >> ACTION_SHIFT & ACTION_MASK == SET_PRIORITY))
    m.cu.by_age = int(m.cu.policy == OLDEST and not sets_priorities)


def perturb_cus(m: Machine, random: "np.random.Generator") -> None:
    """Draw each CU's first places: wavefront to fetch for, SIMDs at the memory queues; and the dispatcher's CU.

    Args:
        m: Machine record.
        random: Generator to draw from.
    """
    cus = int(m.cu.cus)
    m.cu.fetch[:cus, NEXT_SLOT] = random.integers(0, SLOTS, cus)
    m.cu.served[:cus, [VMEM, SMEM]] = random.integers(0, SIMDS, (cus, 2))
    m.run.cu_next = int(random.integers(0, cus))


def delay_dispatch(m: Machine, cycles: int) -> None:
    """Have no workgroup of a launch that is about to begin be placed for as many cycles.

    Args:
        m: Machine record.
        cycles: How many.
    """
    if cycles:
        m.run.engine_free[: int(m.run.engines)] = int(m.wheel.now) + cycles
