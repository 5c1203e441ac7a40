"""Cycle counts of small scripted kernels, each derived by hand from the specification."""

import pytest

from gpusim.core.cu.spec import ComputeUnitSpec
from gpusim.core.cu.state import MEMORY
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.loop import FINISHED
from isa.encoding.instruction import VMEM
from memory.cache.instruction import InstructionCacheSpec
from memory.dram.spec import DramSpec
from memory.translation.tlb import TranslationSpec
from tests.support.scripted import Script, ScriptedRun

LAUNCH = 20  # ComputeUnitSpec.launch_cycles; wavefront 0 sits on SIMD 0, whose turns are multiples of 4
LINE = 0x4000000


def gpu(**parts: object) -> GpuSpec:
    """MI6 with DRAM of fixed latency, free translation and instructions always there: cases that depend on neither."""
    dram = DramSpec(model="ideal", ideal_latency_ns=100.0)
    rest = {"translation": TranslationSpec(model="off"), "instruction_cache": InstructionCacheSpec(model="ideal")}
    return GpuSpec(**{"dram": dram, **rest, **parts})  # type: ignore[arg-type]


def cycles(groups: list[list[Script]], spec: GpuSpec | None = None, **limits: int) -> int:
    run = ScriptedRun(spec or gpu(), groups, **limits)
    assert run.go() == FINISHED
    return run.cycles


def test_a_wavefront_issues_its_first_instruction_after_the_launch_latency() -> None:
    # s_endpgm issues in cycle 20; the grid is seen to be done in the next cycle
    assert cycles([[Script().end()]]) == LAUNCH + 1


@pytest.mark.parametrize(("rate", "occupied"), [(1, 4), (2, 8), (4, 16), (16, 64)])
def test_a_wavefront_issues_vector_instructions_as_fast_as_their_rate(rate: int, occupied: int) -> None:
    # the n-th issues at 20 + (n - 1) * occupied; s_endpgm needs no vector ALU and follows one turn later
    assert cycles([[Script().valu(10, rate).end()]]) == LAUNCH + 9 * occupied + 4 + 1


def test_two_wavefronts_of_a_simd_share_its_vector_unit() -> None:
    # workgroup 1 is dispatched a cycle after workgroup 0 to another shader array; five wavefronts of one workgroup
    # put a second one on SIMD 0: 20 vector instructions in turn, oldest first, then both end
    group = [Script().valu(10).end(), *(Script().end() for _ in range(3)), Script().valu(10).end()]
    assert cycles([group]) == LAUNCH + 20 * 4 + 1


def test_wavefronts_of_different_simds_do_not_share_it() -> None:
    # SIMD 3's turn comes three cycles after SIMD 0's
    assert cycles([[Script().valu(10).end() for _ in range(4)]]) == LAUNCH + 3 + 9 * 4 + 4 + 1


def test_scalar_and_vector_instructions_of_two_wavefronts_issue_together() -> None:
    group = [Script().valu(10).end(), *(Script().end() for _ in range(3)), Script().salu(10).end()]
    assert cycles([group]) == LAUNCH + 10 * 4 + 1


def test_a_load_that_misses_everywhere() -> None:
    # issue 20, look-up 21, crossbar 35, served by the channel one cycle after it is taken (57), DRAM 100 ns = 124
    # cycles, L2 fill 70, crossbar 35, L1 fill 40, four beats; s_waitcnt in the next turn, then s_endpgm
    served = 21 + 35 + 1
    data = served + 124 + 70 + 35 + 40 + 4
    turn = -(-data // 4) * 4
    assert cycles([[Script().load([LINE]).wait(vm=0).end()]]) == turn + 4 + 1


def test_a_load_that_hits_l1() -> None:
    # the second load is looked up one cycle after its issue; 100 cycles to the first beat, four beats
    cold = Script().load([LINE]).wait(vm=0)
    once = cycles([[cold.end()]])
    issue = once - 1  # in place of s_endpgm
    data = issue + 1 + 100 + 4
    turn = -(-data // 4) * 4
    assert cycles([[Script().load([LINE]).wait(vm=0).load([LINE]).wait(vm=0).end()]]) == turn + 4 + 1


def test_a_load_that_hits_l2_takes_about_190_cycles() -> None:
    # workgroup 0 brings the line into L2; workgroup 1, dispatched a cycle later to another shader array, loads it
    # after 100 vector instructions: issue 24 + 400 (its launch ends at 21, its SIMD's turn is 24), look-up, crossbar
    # 35, served a cycle after it is taken, 70 in the channel, crossbar 35, L1 fill 40, four beats
    issue = 24 + 400
    data = issue + 1 + 35 + 1 + 70 + 35 + 40 + 4
    assert 180 < data - issue < 200
    turn = -(-data // 4) * 4
    groups = [[Script().load([LINE]).wait(vm=0).end()], [Script().valu(100).load([LINE]).wait(vm=0).end()]]
    assert cycles(groups) == turn + 4 + 1


def test_a_flat_load_counts_in_both_counters() -> None:
    # s_waitcnt lgkmcnt(0) waits for a FLAT load as vmcnt(0) does, and not for another load
    def waits(flat: bool, **limits: int) -> int:
        return cycles([[Script().load([LINE], flat=flat).wait(**limits).end()]])

    assert waits(True, lgkm=0) == waits(True, vm=0) == waits(False, vm=0)
    once = ScriptedRun(gpu(), [[Script().load([LINE]).wait(lgkm=0).valu(50).end()]])
    assert once.go() == FINISHED
    assert int(once.m.cu.stalls[0, MEMORY]) == 0


def test_lds_reads_are_as_fast_as_their_bank_cycles() -> None:
    # ten reads of 8 bank cycles: issued while the backlog is below 32 cycles; data of the last 56 cycles after its
    # last bank cycle; first issue at 20, banks busy from 20 to 100
    data = LAUNCH + 10 * 8 + 56
    turn = -(-data // 4) * 4
    assert cycles([[Script().lds_reads(10, 8).wait(lgkm=0).end()]]) == turn + 4 + 1


def test_a_scalar_load_that_misses_and_one_that_hits() -> None:
    # issue 20, look-up 21, crossbar 35, served a cycle after it is taken, DRAM 124, L2 fill 70, crossbar 35, then 50
    data = 21 + 35 + 1 + 124 + 70 + 35 + 50
    turn = -(-data // 4) * 4
    assert cycles([[Script().scalar_load([LINE]).wait(lgkm=0).end()]]) == turn + 4 + 1
    # the second is issued in place of s_endpgm and looked up a cycle later
    again = turn + 4 + 1 + 50
    turn = -(-again // 4) * 4
    script = Script().scalar_load([LINE]).wait(lgkm=0).scalar_load([LINE]).wait(lgkm=0).end()
    assert cycles([[script]]) == turn + 4 + 1


def test_a_barrier_releases_all_when_the_last_arrives() -> None:
    # wavefront 0 arrives at 20 + 40; the other, on SIMD 1, leaves in its first turn after that, at 61, and ends
    slow, fast = Script().valu(10).barrier().end(), Script().barrier().end()
    assert cycles([[slow, fast]]) == LAUNCH + 40 + 4 + 1


def test_a_wavefront_slot_is_used_again_after_its_end() -> None:
    # one slot a SIMD and one workgroup a CU: the 37th workgroup follows the first
    groups = [[Script().valu(100).end()] for _ in range(37)]
    one = cycles(groups[:36], waves_per_simd=1, workgroups_per_cu=1)
    both = cycles(groups, waves_per_simd=1, workgroups_per_cu=1)
    assert one < both < 2 * one


def test_an_invalidation_empties_l1() -> None:
    plain = Script().load([LINE]).wait(vm=0).load([LINE]).wait(vm=0).end()
    emptied = Script().load([LINE]).wait(vm=0).invalidate().wait(vm=0).load([LINE]).wait(vm=0).end()
    counts = []
    for script in (plain, emptied):
        run = ScriptedRun(gpu(), [[script]])
        assert run.go() == FINISHED
        counts.append((int(run.m.l1.hits), int(run.m.l1.misses)))
    assert counts == [(1, 1), (0, 2)]


@pytest.mark.parametrize(
    ("schedule", "first_ends"),
    [
        ("oldest", 10),  # the oldest issues all its ten, then the other
        ("round_robin", 19),  # in turn: its tenth is the nineteenth
        ("greedy", 10),  # who issued last goes on
    ],
)
def test_scheduling_policies_share_a_vector_unit(schedule: str, first_ends: int) -> None:
    # wavefronts 0 and 4 share SIMD 0; wavefront 0 starts a load behind its vector instructions, whose cycle tells when
    group = [Script().valu(10).load([LINE]).end(), *(Script().end() for _ in range(3)), Script().valu(10).end()]
    run = ScriptedRun(gpu(cu=ComputeUnitSpec(schedule=schedule)), [group])
    while int(run.m.cu.issued[VMEM]) == 0:
        run.go(run.cycles + 1)
    assert run.cycles == LAUNCH + 4 * first_ends + 1


def test_greedy_goes_back_to_the_oldest_when_the_last_issuer_has_ended() -> None:
    # wavefronts 0, 4 and 8 share SIMD 0; 8 issues and ends while the others pause until 36; then 0 issues its five
    late = [Script().nop(15).valu(5).load([LINE]).end(), Script().nop(15).valu(5).end()]
    others = [Script().end() for _ in range(3)]
    group = [late[0], *others, late[1], *others, Script().valu(2).end()]
    run = ScriptedRun(gpu(cu=ComputeUnitSpec(schedule="greedy")), [group])
    while int(run.m.cu.issued[VMEM]) == 0:
        run.go(run.cycles + 1)
    assert run.cycles == 36 + 5 * 4 + 1


def test_s_nop_waits_its_cycles() -> None:
    # s_nop 7 waits 8 cycles: the next instruction issues two turns later
    assert cycles([[Script().nop(7).end()]]) == LAUNCH + 8 + 1


def test_s_nop_of_up_to_four_cycles_costs_its_turn() -> None:
    assert cycles([[Script().nop(3).end()]]) == LAUNCH + 4 + 1


def test_a_sleep_longer_than_the_wake_up_wheel_reaches() -> None:
    # issue 20, awake from 20 + 1 + 8128, which is 1 past a turn of SIMD 0
    awake = LAUNCH + 1 + 8128
    assert cycles([[Script().nop(8128).end()]]) == -(-awake // 4) * 4 + 1


def test_a_barrier_does_not_wait_for_a_wavefront_that_has_ended() -> None:
    # wavefront 1, on SIMD 1, ends at 21 + 10 * 4; wavefront 0 is released in the next cycle and leaves in its next turn
    ends = LAUNCH + 1 + 10 * 4
    assert cycles([[Script().barrier().end(), Script().valu(10).end()]]) == -(-(ends + 1) // 4) * 4 + 1


def test_a_dram_slower_than_the_wake_up_wheel_reaches() -> None:
    slow = gpu(dram=DramSpec(request_latency_ns=2000.0))
    assert cycles([[Script().load([LINE]).wait(vm=0).end()]], slow) > 2000 * 1.237
