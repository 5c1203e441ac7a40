"""Rooflines: the fewest cycles that each resource allows for what a kernel did; no run can be faster."""

from typing import Any

from gpusim.core.cu_spec import SIMDS
from gpusim.core.gpu_spec import GpuSpec
from isa.instruction import SALU, SMEM
from memory.dram import dram_totals


def roofline(m: Any, gpu: GpuSpec) -> dict[str, float]:
    """Bound → cycles, each resource working all the time on all its instances.

    valu: SIMD occupancy; salu: one scalar instruction a CU and cycle; lds: bank cycles; l1: one line looked up and
    64 bytes returned a CU and cycle; l2: one request a channel and cycle; dram: data-bus occupancy.
    """
    cus = gpu.cus
    dram = dram_totals(m)
    return {
        "valu": float(m.cu.valu_busy) / (cus * SIMDS),
        "salu": float(m.cu.issued[SALU] + m.cu.issued[SMEM]) / cus,
        "lds": float(m.cu.lds_busy) / cus,
        "l1": max(float(m.l1.busy), float(m.l1.return_busy)) / cus,
        "l2": float(m.xbar.requests) / gpu.l2.channels,
        "dram": dram["bus_busy_cycles"] / gpu.dram.channels,
    }
