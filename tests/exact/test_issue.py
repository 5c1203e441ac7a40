"""Exact cases of issue: one wavefront, several on a SIMD, all SIMDs, co-issue of five kinds, scheduling policies."""

from pathlib import Path

import pytest

from gpusim.model.core.cu.scheduling import SCHEDULES
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.gpu_spec import GpuSpec
from tests.exact.machine import TURN, cases, condition, finished, first_issue, l2_miss, machine, turn
from tests.support.assembly import Assembly
from tests.support.machines import altered

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "issue.hsaco")
case = cases(ASSEMBLY)
VALU_CYCLES = 64 // 16  # a wavefront's 64 lanes on a SIMD's 16


def last_simd(gpu: GpuSpec) -> int:
    """First issue on the SIMD whose turn comes last after the launch latency."""
    return max(first_issue(gpu, simd) for simd in range(SIMDS))


ASSEMBLY.kernel("end", "    s_endpgm")


def test_an_empty_kernel(gpu: GpuSpec) -> None:
    assert case("end", gpu).cycles == finished(first_issue(gpu))


def test_empty_workgroups_are_dispatched_one_after_another(gpu: GpuSpec) -> None:
    # four workgroups of three wavefronts, each finds its CU empty; the last wavefront of the last one is on SIMD 2
    last = max(first_issue(gpu, simd, 3, 3) for simd in range(3))
    assert case("end", gpu, workgroups=4, wavefronts=3).cycles == finished(last)


def test_the_bound_of_dispatch_is_the_launch_of_the_last_workgroup(gpu: GpuSpec) -> None:
    # four CUs have space for all of them as they come: nothing else takes nearly as long
    groups, wavefronts = 100, 3
    facts = case("end", gpu, workgroups=groups, wavefronts=wavefronts)
    bound = facts.roofline.dispatch
    assert bound == (groups - 1) * wavefronts * gpu.dispatch.wavefront_cycles
    assert bound == max(cycles for name, cycles in facts.roofline.items() if name != "latency")
    assert bound < facts.cycles <= bound + wavefronts * gpu.dispatch.wavefront_cycles + gpu.cu.launch_cycles + 2 * TURN


ADDS = 12
ASSEMBLY.kernel("adds", f"    .rept {ADDS}\n    v_add_f32 v1, v1, v0\n    .endr\n    s_endpgm")


def test_one_wavefront_issues_a_dependent_chain_every_turn(gpu: GpuSpec) -> None:
    # a result is forwarded to the next instruction: a chain is as fast as independent instructions
    assert case("adds", gpu).cycles == finished(first_issue(gpu) + ADDS * VALU_CYCLES)


def test_wavefronts_of_four_simds_do_not_wait_for_one_another(gpu: GpuSpec) -> None:
    assert case("adds", gpu, wavefronts=4).cycles == finished(last_simd(gpu) + ADDS * VALU_CYCLES)


@pytest.mark.parametrize("workgroups", [1, 2, 4])
def test_a_cu_is_active_from_the_dispatch_of_its_workgroup_on(gpu: GpuSpec, workgroups: int) -> None:
    # each workgroup of two wavefronts has a CU of its own, up to the turn after its last s_endpgm
    active = 0
    for k in range(workgroups):
        last = max(first_issue(gpu, simd, k, 2) for simd in range(2)) + ADDS * VALU_CYCLES
        active += last + TURN - k * 2 * gpu.dispatch.wavefront_cycles
    assert case("adds", gpu, workgroups=workgroups, wavefronts=2).cu.active_cycles == active


@pytest.mark.parametrize("sharing", [2, 3, 4])
def test_wavefronts_of_one_simd_share_its_vector_alu(gpu: GpuSpec, sharing: int) -> None:
    # 4 n wavefronts are n on each SIMD, which issues n chains over one vector ALU; who issues the last add ends a turn
    # later
    facts = case("adds", gpu, wavefronts=4 * sharing)
    assert facts.cycles == finished(last_simd(gpu) + sharing * ADDS * VALU_CYCLES)
    # oldest first: the wavefront of age k waits while the k older ones issue all theirs
    waits = sum(k * ADDS * TURN for k in range(sharing)) * SIMDS
    assert facts.stalls["not_selected"] == waits


SCALAR = 9
ASSEMBLY.kernel("scalar_adds", f"    .rept {SCALAR}\n    s_add_u32 s1, s1, s0\n    .endr\n    s_endpgm")


def test_a_scalar_chain_issues_every_turn(gpu: GpuSpec) -> None:
    assert case("scalar_adds", gpu).cycles == finished(first_issue(gpu) + SCALAR * TURN)


ASSEMBLY.kernel(
    "vector_then_scalar",
    f"""
    .rept {ADDS}
    v_add_f32 v1, v1, v0
    .endr
    .rept {ADDS}
    s_add_u32 s1, s1, s0
    .endr
    s_endpgm
    """,
)


def test_a_vector_and_a_scalar_instruction_issue_in_one_turn(gpu: GpuSpec) -> None:
    # two wavefronts on each SIMD: the younger one's vector part beside the older one's scalar part, so that three
    # parts take the time, not four
    facts = case("vector_then_scalar", gpu, wavefronts=8)
    assert facts.cycles == finished(last_simd(gpu) + 3 * ADDS * TURN)


ROUNDS = 20
# Wavefronts of workgroups 0, 4, 8, 12 and 16 come to SIMD 0 one turn after another; the others end at once. Each then
# goes through the five kinds in the same order, so that in every turn each of the five is at another kind. The first
# two rounds make the load's address.
ASSEMBLY.kernel(
    "five_kinds",
    f"""
    .macro round vector:vararg
    s_and_b32 s1, s0, 3
    \\vector
    s_cbranch_scc1 .Lend
    .endm
    round v_mov_b32 v1, 0x100000
    buffer_wbinvl1
    ds_read_b32 v5, v6
    round v_mov_b32 v2, 1
    buffer_wbinvl1
    ds_read_b32 v5, v6
    .rept {ROUNDS}
    round v_add_f32 v3, v3, v0
    flat_load_dword v4, v[1:2]
    ds_read_b32 v5, v6
    .endr
.Lend:
    s_endpgm
    """,
    lds_bytes=4,
)


def test_five_instructions_of_five_kinds_issue_in_one_turn() -> None:
    # one CU, a wavefront dispatched a cycle: five on SIMD 0, four cycles (one turn) apart. A DRAM fast enough that at
    # most 15 loads, one every five turns, are outstanding
    gpu = altered(machine(shader_arrays=1, cus_per_array=1), dram={"ideal_latency_ns": 10.0})
    assert gpu.dispatch.wavefront_cycles == 1
    load = l2_miss(gpu, 1) + gpu.l1.fill_latency_cycles + 4
    assert load < 15 * 5 * TURN
    facts = case("five_kinds", gpu, workgroups=5 * SIMDS)
    youngest = first_issue(gpu, 0, 4 * SIMDS)
    assert youngest == first_issue(gpu) + 4 * TURN
    assert facts.cycles == finished(youngest + 5 * (2 + ROUNDS) * TURN)


# Wavefronts 0 and 4 share SIMD 0 (wavefronts 1 to 3 do as 0 does, each alone on its SIMD). The old one has a pause in
# its middle and a long one at its end, which make its progress visible in the run's cycles.
OLD, YOUNG, SLEEPS = 10, 24, 8
SLEEP_UNIT = 64  # GCN3 ISA manual: s_sleep waits about 64 cycles x its operand
ASSEMBLY.kernel(
    "policy",
    f"""
    v_cmp_lt_u32 vcc, 0xff, v0
    s_cbranch_vccnz .Lyoung
    s_nop 15
    .rept {OLD}
    v_add_f32 v1, v1, v0
    .endr
    s_sleep {SLEEPS}
    s_endpgm
.Lyoung:
    .rept {YOUNG}
    v_add_f32 v1, v1, v0
    .endr
    s_endpgm
    """,
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_scheduling_policies(gpu: GpuSpec, schedule: str) -> None:
    gpu = altered(gpu, cu={"schedule": schedule})
    # wavefront 0: compare, branch not taken, s_nop; wavefront 4: compare a turn later, then the branch, taken
    start = first_issue(gpu)
    to_the_branch = condition(gpu)  # from the compare
    old_begins = turn(start + to_the_branch + TURN + 1 + 15)  # s_nop 15: 16 cycles
    young_begins = turn(start + TURN + to_the_branch + gpu.cu.branch_cycles)
    # MI6: both want the vector ALU from one turn on, and the young one's compare was the last to issue. ODD: the old
    # one has issued some adds when the young one comes
    old_before = (young_begins - old_begins) // VALU_CYCLES
    assert 0 <= old_before < OLD
    left = OLD - old_before
    old_was_last = old_before > 0
    turns = {
        "oldest": left,
        "round_robin": 2 * left if old_was_last else 2 * left - 1,  # alternating, first the one that was not last
        "greedy": left if old_was_last else YOUNG + left,  # the last one goes on until it has nothing more
    }
    old_done = young_begins + turns[schedule] * VALU_CYCLES
    ends = [turn(old_done + 1 + SLEEPS * SLEEP_UNIT)]
    for simd in (1, 2, 3):  # the same without a young one
        begins = turn(first_issue(gpu, simd) + to_the_branch + TURN + 1 + 15, simd)
        ends.append(turn(begins + OLD * VALU_CYCLES + 1 + SLEEPS * SLEEP_UNIT, simd))
    assert case("policy", gpu, wavefronts=5).cycles == finished(max(ends))
