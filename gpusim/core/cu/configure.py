"""Sets the compute units up: their number and latencies, the grid they run, where the kernel's instructions lie."""

from typing import Any

from gpusim.core.cu.code_table import FETCH_BYTES, FetchTable
from gpusim.core.cu.scheduling import SCHEDULES
from gpusim.core.cu.spec import MAX_WAVES_PER_SIMD, SIMDS, ComputeUnitSpec
from gpusim.core.cu.state import NEVER
from gpusim.jit import address_of
from isa.launch import Launch
from isa.trace import LINE_BYTES
from memory.cache.instruction import set_last_code_line


def configure_cus(m: Any, spec: ComputeUnitSpec, arrays: int, cus_per_array: int) -> None:
    """Size the CUs of `arrays` shader arrays in the machine record; all their wavefront slots are free."""
    c, cus = m.cu, arrays * cus_per_array
    c.cus, c.policy = cus, SCHEDULES[spec.schedule].number
    c.branch_cycles, c.launch_cycles = spec.branch_cycles, spec.launch_cycles
    c.lds_latency, c.lds_backlog = spec.lds_latency_cycles, spec.lds_backlog_cycles
    c.array[:cus] = [cu // cus_per_array for cu in range(cus)]
    c.bit_in_array[:cus] = [1 << cu % cus_per_array for cu in range(cus)]
    c.simd["free"][: cus * SIMDS] = (1 << spec.waves_per_simd) - 1
    c.simd["next_resume"] = NEVER
    assert spec.waves_per_simd <= MAX_WAVES_PER_SIMD
    m.run.dispatch_interval = spec.dispatch_interval_cycles
    # one of each shader array in turn
    m.run.cu_order[:cus] = [a * cus_per_array + k for k in range(cus_per_array) for a in range(arrays)]


def configure_grid(m: Any, launch: Launch, waves_per_simd: int, workgroups_per_cu: int) -> None:
    """Tell the dispatcher the launch's grid and how much of its kernel fits on a SIMD and a CU."""
    run = m.run
    x, y, z = launch.workgroups
    run.workgroups = x * y * z
    run.workgroup_waves = launch.wavefronts_per_workgroup
    run.waves_per_simd, run.workgroups_per_cu = waves_per_simd, workgroups_per_cu


def set_fetch_table(m: Any, table: FetchTable, buffer_bytes: int) -> None:
    """Tell the machine where the kernel's instructions lie; `table` must outlive it."""
    run, granule_bytes = m.run, table.granule_bytes
    run.granules_of, run.granule_ends = address_of(table.granules_of), address_of(table.ends)
    run.granules, run.code_line = len(table.ends), table.first_line
    run.line_granule_bits = (LINE_BYTES // granule_bytes).bit_length() - 1
    set_last_code_line(m, table.last_line)
    m.cu.buffer_granules, m.cu.fetch_granules = buffer_bytes // granule_bytes, FETCH_BYTES // granule_bytes
