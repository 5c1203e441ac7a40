"""Exact cases of `s_setprio`: priority before every scheduling policy, age among equals, and what it leaves alone."""

import pytest

from gpusim.model.core.cu.scheduling import SCHEDULES
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.loop import FINISHED
from isa.opcodes.opcode import VMEM
from tests.exact.machine import TURN, first_issue
from tests.support.machines import LINE, altered
from tests.support.scripted import Script, ScriptedRun

OLD, YOUNG = 10, 24


def old_is_done(gpu: GpuSpec, old: Script, young: Script) -> int:
    """Cycles from the first issue of wavefronts 0 and 4, which share SIMD 0, to that of the old one's last: a load."""
    others = [Script().end() for _ in range(3)]
    run = ScriptedRun(gpu, [[old.load([LINE]).end(), *others, young.end()]])
    while int(run.m.cu.issued[VMEM]) == 0:
        run.go(run.cycles + 1)
    return run.cycles - 1 - first_issue(gpu)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("priority", [0, 1, 3])
def test_priority_comes_before_the_policy(gpu: GpuSpec, schedule: str, priority: int) -> None:
    # the young one takes a turn for s_setprio and begins its chain after 60 cycles, a turn before the old one
    gpu = altered(gpu, cu={"schedule": schedule})
    young_first = 60 + YOUNG * TURN + OLD * TURN
    by_policy = {"oldest": 64 + OLD * TURN, "round_robin": 64 + 2 * OLD * TURN - TURN, "greedy": young_first}
    found = old_is_done(gpu, Script().nop(60).valu(OLD), Script().priority(priority).nop(55).valu(YOUNG))
    assert found == (young_first if priority else by_policy[schedule])


def test_among_equals_age_decides(gpu: GpuSpec) -> None:
    # each spends a turn on s_setprio: the old one begins after 68 cycles, while the young one is at it
    for first, second in ((2, 2), (2, 1)):
        old, young = Script().priority(first).nop(60).valu(OLD), Script().priority(second).nop(55).valu(YOUNG)
        assert old_is_done(gpu, old, young) == 68 + OLD * TURN


def test_it_holds_between_the_scalar_alu_and_scalar_memory(gpu: GpuSpec) -> None:
    # one scalar instruction a turn: the old one's load waits for the young one's chain of scalar additions
    old, young = Script().nop(60).scalar_load(), Script().nop(59).salu(YOUNG)
    assert old_is_done(gpu, old, young) == 64 + TURN
    old, young = Script().nop(60).scalar_load(), Script().priority(1).nop(55).salu(YOUNG)
    assert old_is_done(gpu, old, young) == 60 + YOUNG * TURN + TURN


def test_a_wavefront_that_ended_leaves_no_priority_behind(gpu: GpuSpec) -> None:
    # one CU that holds one workgroup: the second wavefront takes the first one's slot
    one = gpu.model_copy(update={"shader_arrays": 1, "cus_per_array": 1})
    run = ScriptedRun(one, [[Script().priority(3).end()], [Script().nop(0).end()]], workgroups_per_cu=1)
    priorities = []
    while run.go(run.cycles + 1) != FINISHED:
        priorities.append(int(run.m.cu.priority[0]))
    assert sorted(set(priorities)) == [0, 3]
    assert priorities[-1] == 0
