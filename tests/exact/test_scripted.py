"""Exact cases that no short kernel brings about: scripted traces in place of machine code."""

import pytest

from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.cu.state import MEMORY
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.loop import FINISHED
from isa.opcodes.opcode import VMEM
from memory.wheel import SIZE
from tests.exact.machine import TURN, after_wait, finished, first_issue, l1_miss_data, l2_miss, turn
from tests.support.machines import LINE, altered
from tests.support.scripted import Script, ScriptedRun


def run(script: Script, gpu: GpuSpec) -> ScriptedRun:
    """One wavefront's run."""
    ended = ScriptedRun(gpu, [[script.end()]])
    assert ended.go() == FINISHED
    return ended


def load_and_wait(gpu: GpuSpec, flat: bool, **limits: int) -> int:
    """Cycles of a kernel that waits for a load as s_waitcnt with these limits does."""
    return run(Script().load([LINE], flat=flat).wait(**limits), gpu).cycles


def test_a_flat_load_counts_in_both_counters(gpu: GpuSpec) -> None:
    data = l1_miss_data(gpu, l2_miss(gpu, first_issue(gpu) + 1))
    assert load_and_wait(gpu, True, vm=0) == load_and_wait(gpu, True, lgkm=0) == finished(after_wait(data))
    assert load_and_wait(gpu, False, vm=0) == finished(after_wait(data))
    # s_waitcnt lgkmcnt(0) does not wait for another load
    passed = run(Script().load([LINE]).wait(lgkm=0).valu(50), gpu)
    assert int(passed.m.cu.stalls[0, MEMORY]) == 0


def test_greedy_goes_back_to_the_oldest_when_the_last_issuer_has_ended(gpu: GpuSpec) -> None:
    # wavefronts 0, 4 and 8 share SIMD 0; 8 issues and ends while the others pause for 16 cycles; then 0 issues its five
    # and after them a load, whose cycle shows when
    first = Script().nop(15).valu(5).load([LINE]).end()
    others = [Script().end() for _ in range(3)]
    group = [first, *others, Script().nop(15).valu(5).end(), *others, Script().valu(2).end()]
    greedy = ScriptedRun(altered(gpu, cu={"schedule": "greedy"}), [group])
    while int(greedy.m.cu.issued[VMEM]) == 0:
        greedy.go(greedy.cycles + 1)
    assert greedy.cycles == turn(first_issue(gpu) + 1 + 15) + 5 * TURN + 1


def test_a_dram_slower_than_the_wake_up_wheel_reaches(gpu: GpuSpec) -> None:
    fixed = altered(gpu, dram={"ideal_latency_ns": 9000.0})
    data = l1_miss_data(fixed, l2_miss(fixed, first_issue(fixed) + 1))
    assert data > SIZE
    assert load_and_wait(fixed, False, vm=0) == finished(after_wait(data))


@pytest.mark.parametrize("latency_ns", [2000.0, 9000.0])
def test_a_dram_channel_slower_than_the_wake_up_wheel_reaches(gpu: GpuSpec, latency_ns: float) -> None:
    slow = altered(gpu, dram={"model": "cycle", "request_latency_ns": latency_ns})
    assert load_and_wait(slow, False, vm=0) > latency_ns * gpu.clock_ghz


def test_a_cu_holds_a_workgroup_in_each_wavefront_slot(gpu: GpuSpec) -> None:
    # 40 workgroups of a wavefront each, all resident before the first one ends
    one = gpu.model_copy(update={"shader_arrays": 1, "cus_per_array": 1})
    groups = [[Script().nop(1000).end()] for _ in range(SIMDS * one.cu.waves_per_simd)]
    full = ScriptedRun(one, groups, workgroups_per_cu=len(groups))
    full.go(len(groups) * one.dispatch.wavefront_cycles + 1)
    assert int(full.m.run.waves_left) == int(full.m.cu.wg_used[0].sum()) == len(groups) == 40
    assert full.go() == FINISHED
