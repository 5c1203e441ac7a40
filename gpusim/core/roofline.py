"""Rooflines: the fewest cycles that each resource allows for what a kernel did; no run can be faster."""

from typing import Any

from gpusim.core.cu.spec import SIMDS
from gpusim.core.cu.state import BRANCH_LATENCY, FETCH, ISSUED, MEMORY
from gpusim.core.gpu_spec import GpuSpec
from isa.opcodes.opcode import SALU, SMEM
from memory.dram.controller import bus_busy_cycles


def roofline(m: Any, gpu: GpuSpec, kernel_cycles: int) -> dict[str, float]:
    """Return the fewest cycles by resource, if busy all the time on all its instances. kernel_cycles: those measured.

    valu: SIMD occupancy; salu: one scalar instruction a CU and cycle; lds: bank cycles; l1: one line looked up and 64
    bytes returned a CU and cycle; l2: one request a channel and cycle; dram: data-bus occupancy; fetch: one fetch a CU
    and cycle, and one line of the busiest bank (code addresses decide which bank holds a line); dispatch: to the launch
    of the last workgroup, as many at a time as there are shader engines; latency: what the wavefronts' own issue turns,
    taken branches and waits for data and instructions take, with the latencies of this run, at the number of wavefronts
    that were resident.
    """
    cus = gpu.cus
    fetches = float(m.icache.hits + m.icache.misses + m.icache.merges)
    rounds = -(-int(m.run.next_workgroup) // int(m.run.engines))
    spent = m.cu.stalls.sum(axis=0)
    resident = max(float(spent.sum()), 1.0) / max(kernel_cycles, 1)
    return {
        "valu": float(m.cu.valu_busy) / (cus * SIMDS),
        "salu": float(m.cu.issued[SALU] + m.cu.issued[SMEM]) / cus,
        "lds": float(m.cu.lds_busy) / cus,
        "l1": max(float(m.l1.busy), float(m.l1.return_busy)) / cus,
        "l2": float(m.xbar.requests) / gpu.l2.channels,
        "dram": bus_busy_cycles(m) / gpu.dram.channels,
        "fetch": max(fetches / cus, float(m.icache.bank_reads.max()) / gpu.shader_arrays),
        "dispatch": float(max(rounds - 1, 0) * m.run.workgroup_waves * m.run.launch_interval),
        "latency": float(spent[[ISSUED, MEMORY, FETCH, BRANCH_LATENCY]].sum()) / resident,
    }
