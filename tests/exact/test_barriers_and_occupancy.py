"""Exact cases of barriers, and of the dispatcher at the edges of what a compute unit holds."""

from pathlib import Path

import pytest

from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.gpu_spec import GpuSpec
from tests.exact.machine import TURN, cases, condition, finished, first_issue, turn
from tests.support.assembly import Assembly

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "barriers_and_occupancy.hsaco")
case = cases(ASSEMBLY)


# --- barriers: wavefront 0 has less to do than the others ---

ADDS = 20
ASSEMBLY.kernel(
    "barrier",
    f"""
    v_cmp_gt_u32 vcc, 64, v0
    s_cbranch_vccnz .Lbarrier
    .rept {ADDS}
    v_add_f32 v1, v1, v0
    .endr
.Lbarrier:
    s_barrier
    v_add_f32 v1, v1, v0
    s_endpgm
    """,
)


@pytest.mark.parametrize("wavefronts", [2, 3, 4])
def test_all_leave_a_barrier_in_their_first_turn_after_the_last_arrival(gpu: GpuSpec, wavefronts: int) -> None:
    # the branch waits for VCC from the compare
    arrivals = {0: turn(first_issue(gpu) + condition(gpu) + gpu.cu.branch_cycles)}
    for simd in range(1, wavefronts):
        arrivals[simd] = first_issue(gpu, simd) + condition(gpu) + (1 + ADDS) * TURN
    last = max(arrivals.values())
    leave = {simd: turn(last + 1, simd) for simd in arrivals}
    facts = case("barrier", gpu, wavefronts=wavefronts)
    assert facts.cycles == finished(max(leave.values()) + TURN)
    # each waits from the turn after its arrival to the cycle after the last one's, the last ones not at all
    waits = sum(max(last + 1 - (arrival + TURN), 0) for arrival in arrivals.values())
    assert facts.stalls["synchronization"] == waits


def test_a_wavefront_alone_in_its_workgroup_passes_a_barrier(gpu: GpuSpec) -> None:
    arrival = turn(first_issue(gpu) + condition(gpu) + gpu.cu.branch_cycles)
    assert case("barrier", gpu).cycles == finished(arrival + 2 * TURN)


ASSEMBLY.kernel(
    "ended",
    f"""
    v_cmp_gt_u32 vcc, 64, v0
    s_cbranch_vccnz .Lwaits
    .rept {ADDS}
    v_add_f32 v1, v1, v0
    .endr
    s_endpgm
.Lwaits:
    s_barrier
    s_endpgm
    """,
)


def test_a_barrier_does_not_wait_for_who_has_ended(gpu: GpuSpec) -> None:
    ended = first_issue(gpu, 1) + condition(gpu) + (1 + ADDS) * TURN
    assert case("ended", gpu, wavefronts=2).cycles == finished(turn(ended + 1))


# --- occupancy: kernels that sleep, on one CU; the workgroup that does not fit comes when the first one ends ---

SLEEPS = 20
SLEEP = f"    s_sleep {SLEEPS}\n    s_endpgm"
SLEEP_CYCLES = 1 + 64 * SLEEPS
# kernel: (resources, wavefronts of a workgroup, workgroups that a CU holds, what limits them)
EDGES = {
    "vgprs_84": ({"vgprs": 84}, 1, 256 // 84 * SIMDS, "VGPRs"),
    "vgprs_88": ({"vgprs": 85}, 1, 256 // 88 * SIMDS, "VGPRs"),
    "vgprs_128": ({"vgprs": 128}, 4, 2, "VGPRs"),
    "sgprs_96": ({"sgprs": 96}, 4, 800 // 96, "SGPRs"),
    "sgprs_102": ({"sgprs": 102}, 4, 800 // 112, "SGPRs"),
    "lds_half": ({"lds_bytes": 32768}, 1, 2, "LDS"),
    "lds_more": ({"lds_bytes": 21504 + 512}, 1, 2, "LDS"),
    "lds_third": ({"lds_bytes": 21504}, 1, 3, "LDS"),
    "slots": ({}, 1, 40, "wavefront slots"),
    "barriers": ({}, 2, 16, "barriers"),
}
for _name, (_resources, *_) in EDGES.items():
    ASSEMBLY.kernel(_name, SLEEP, **_resources)


@pytest.mark.parametrize("name", EDGES)
def test_the_workgroup_that_just_fits_and_the_next(gpu: GpuSpec, name: str) -> None:
    _, wavefronts, fitting, limiter = EDGES[name]
    gpu = gpu.model_copy(update={"shader_arrays": 1, "cus_per_array": 1})
    interval = gpu.dispatch.wavefront_cycles
    fits = case(name, gpu, workgroups=fitting, wavefronts=wavefronts)
    assert fits.kernel.occupancy_limiter == limiter
    assert fits.kernel.workgroups_per_compute_unit == fitting
    # wavefront n, counted over all workgroups, goes to SIMD n % 4, all before the first one ends
    ends: list[list[int]] = []
    for group in range(fitting):
        simds = [(group * wavefronts + k) % SIMDS for k in range(wavefronts)]
        dispatched = group * wavefronts * interval
        starts = [turn(dispatched + gpu.cu.launch_cycles, simd) for simd in simds]
        ends.append([turn(start + SLEEP_CYCLES, simd) for start, simd in zip(starts, simds, strict=True)])
    first_end = max(ends[0])
    assert fitting * wavefronts * interval < min(ends[0])
    assert fits.cycles == finished(max(max(group) for group in ends))
    # one more: dispatched in the cycle in which the first workgroup's last wavefront ends, to the SIMDs it leaves
    one_more = case(name, gpu, workgroups=fitting + 1, wavefronts=wavefronts)
    simds = range(wavefronts)
    starts = [turn(first_end + gpu.cu.launch_cycles, simd) for simd in simds]
    last = max(turn(start + SLEEP_CYCLES, simd) for start, simd in zip(starts, simds, strict=True))
    assert one_more.cycles == finished(last)
