"""Rooflines: the fewest cycles that each resource allows for what a kernel did, or will do; no run can be faster."""

from typing import NamedTuple

from gpusim.base.jit import Machine
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.cu.state import BRANCH_LATENCY, FETCH, ISSUED, MEMORY
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.laws import accesses, packets_to_l2
from gpusim.model.core.levels import BETWEEN
from isa.opcodes.opcode import SALU, SMEM
from isa.trace import LINE_BYTES
from memory.dram.controller import bus_busy_cycles


class Demand(NamedTuple):
    """Total demand of a launch on each resource."""

    valu_cycles: float
    """SIMD cycles."""
    matrix_cycles: float
    """Cycles of the SIMDs' matrix units."""
    scalar_instructions: float
    """Scalar instructions."""
    lds_cycles: float
    """LDS bank cycles."""
    l1_cycles: float
    """Cycles of the vector L1s: look-ups or returned data, whichever is larger."""
    l2_requests: float
    """Requests to L2."""
    dram_cycles: float
    """Cycles of all channels' data buses."""
    workgroups: int
    """Launched workgroups."""
    wavefronts: int
    """Wavefronts of a workgroup."""


def fewest_cycles(asked: Demand, gpu: GpuSpec) -> dict[str, float]:
    """Return the fewest cycles by resource, if busy all the time on all its instances.

    valu: SIMD occupancy; matrix: that of the SIMDs' matrix units; salu: one scalar instruction a CU and cycle; lds:
    bank cycles; l1: one line looked up and 64 bytes returned a CU and cycle; l2: 64 bytes a request, `l2.port_bytes` a
    channel and cycle; dram: data-bus occupancy; dispatch: to the launch of the last workgroup, as many at a time as
    there are shader engines.

    Args:
        asked: Work of the launch by resource.
        gpu: The GPU.
    """
    rounds = -(-asked.workgroups // min(gpu.dispatch.shader_engines, gpu.cus))
    return {
        "valu": asked.valu_cycles / (gpu.cus * SIMDS),
        "matrix": asked.matrix_cycles / (gpu.cus * SIMDS),
        "salu": asked.scalar_instructions / gpu.cus,
        "lds": asked.lds_cycles / gpu.cus,
        "l1": asked.l1_cycles / gpu.cus,
        "l2": asked.l2_requests * LINE_BYTES / gpu.l2.port_bytes / gpu.l2.channels,
        "dram": asked.dram_cycles / gpu.dram.channels,
        "dispatch": float(max(rounds - 1, 0) * asked.wavefronts * gpu.dispatch.wavefront_cycles),
    }


def roofline(m: Machine, gpu: GpuSpec, kernel_cycles: int) -> dict[str, float]:
    """Return the fewest cycles by resource (`fewest_cycles`) for what was counted. kernel_cycles: those measured.

    Besides: search: the engine's, on all its shifters, for searches in the order that they had; fetch: one fetch a CU
    and cycle, and one line of the busiest bank (code addresses decide which bank holds a line); latency: what the
    wavefronts' own issue turns, taken branches and waits for data and instructions take, with the latencies of this
    run, at the number of wavefronts that were resident.
    """
    fetches = float(m.icache.hits + m.icache.misses + m.icache.merges)
    spent = m.cu.stalls.sum(axis=0)
    resident = max(float(spent.sum()), 1.0) / max(kernel_cycles, 1)
    asked = Demand(
        valu_cycles=float(m.cu.valu_busy),
        matrix_cycles=float(m.cu.matrix_busy),
        scalar_instructions=float(m.cu.issued[SALU] + m.cu.issued[SMEM]),
        lds_cycles=float(m.cu.lds_busy),
        l1_cycles=max(float(m.l1.busy), float(m.l1.return_busy)),
        l2_requests=float(packets_to_l2(m)),
        dram_cycles=bus_busy_cycles(m),
        workgroups=int(m.run.next_workgroup),
        wavefronts=int(m.run.workgroup_waves),
    )
    bounds = fewest_cycles(asked, gpu)
    dispatch = bounds.pop("dispatch")
    return {
        **bounds,
        **{level.section: accesses(m, level) / gpu.caches_of(level.owner) for level in BETWEEN},
        "search": float(m.engine.shifter_busy_cycles) / max(int(m.engine.shifters), 1),
        "fetch": max(fetches / gpu.cus, float(m.icache.bank_reads.max()) / gpu.shader_arrays),
        "dispatch": dispatch,
        "latency": float(spent[[ISSUED, MEMORY, FETCH, BRANCH_LATENCY]].sum()) / resident,
    }
