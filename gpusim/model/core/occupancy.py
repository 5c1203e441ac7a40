"""Occupancy: how many workgroups of a kernel a compute unit holds, and which resource sets the limit."""

from typing import NamedTuple

from gpusim.base.errors import UserError
from gpusim.model.core.cu.spec import SIMDS, ComputeUnitSpec
from gpusim.model.core.cu.state import MAX_WORKGROUP_WAVES, MAX_WORKGROUPS, SLOTS
from gpusim.model.core.gpu_spec import GpuSpec
from isa.launch import Launch, Residency


class OccupancyError(UserError):
    """A kernel that no compute unit can hold."""


class Occupancy(NamedTuple):
    """Resident wavefronts and workgroups, and the resource that limits them."""

    waves_per_simd: int
    """Wavefronts that a SIMD can hold."""
    workgroups_per_cu: int
    """Workgroups that a compute unit can hold."""
    limiter: str
    """Resource that limits `workgroups_per_cu`."""


def _blocks(amount: int, granularity: int) -> int:
    return -(-max(amount, 1) // granularity) * granularity


def occupancy(launch: Launch, cu: ComputeUnitSpec) -> Occupancy:
    """Return how much of the launch's kernel fits a compute unit.

    The limits are wavefront slots, VGPRs, SGPRs, LDS and barriers (GCN3 ISA manual, chapter 3; LLVM AMDGPU guide).

    Args:
        launch: The launch.
        cu: The compute unit.

    Raises:
        OccupancyError: A workgroup does not fit.
    """
    kernel = launch.kernel
    waves = launch.wavefronts_per_workgroup
    if waves > MAX_WORKGROUP_WAVES:
        raise OccupancyError(
            f"kernel '{kernel.name}': {waves} wavefronts in a workgroup; at most {MAX_WORKGROUP_WAVES} "
            f"({64 * MAX_WORKGROUP_WAVES} work-items) are allowed"
        )
    lds = kernel.lds_bytes + launch.dynamic_lds_bytes
    per_simd = {
        "wavefront slots": cu.waves_per_simd,
        "VGPRs": cu.vgprs_per_lane // _blocks(kernel.vgprs, cu.vgpr_granularity),
        "SGPRs": cu.sgprs_per_simd // _blocks(kernel.sgprs, cu.sgpr_granularity),
    }
    by_waves = min(per_simd, key=lambda k: per_simd[k])
    waves_per_simd = per_simd[by_waves]
    workgroups = {by_waves: waves_per_simd * SIMDS // waves}
    if lds:
        workgroups["LDS"] = cu.lds_kib * 1024 // _blocks(lds, cu.lds_granularity_bytes)
    workgroups["barriers"] = cu.barriers if waves > 1 else MAX_WORKGROUPS
    limiter = min(workgroups, key=lambda k: workgroups[k])
    if workgroups[limiter] == 0:
        raise OccupancyError(
            f"kernel '{kernel.name}': a workgroup of {waves} wavefronts with {kernel.vgprs} VGPRs, {kernel.sgprs} "
            f"SGPRs and {lds} bytes of LDS does not fit a compute unit (limit: {limiter})"
        )
    return Occupancy(waves_per_simd, min(workgroups[limiter], MAX_WORKGROUPS), limiter)


def residency(launch: Launch, gpu: GpuSpec) -> Residency:
    """Return how much of the launch the GPU holds at a time, with the timing model or without.

    Args:
        launch: The launch.
        gpu: The GPU.
    """
    return Residency(occupancy(launch, gpu.cu).workgroups_per_cu * gpu.cus, gpu.cus * SLOTS, gpu.cus * MAX_WORKGROUPS)
