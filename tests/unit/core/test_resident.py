"""Does each wavefront say what it waits for, and a run that was stopped where all of them stand?"""

from pathlib import Path

import numpy as np
import pytest

from gpusim.model.core import simulator
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.resident import standing
from gpusim.model.core.simulator import DeadlockError, simulate
from isa.execution.faults import FAULT_LIMIT, ExecutionFault
from isa.launch import Launch
from isa.object.code_object import load_code_object
from tests.support.functional import Device
from tests.support.machines import LINE, altered, simple
from tests.support.scripted import Script, ScriptedRun

LINES = Path(__file__).resolve().parents[2] / "data" / "lines" / "lines_dwarf5.hsaco"
ONE_CU = simple(shader_arrays=1, cus_per_array=1)
AT_BARRIER = "waiting at the barrier for the others of its workgroup"


def states(scripts: list[Script], cycles: int = 40) -> list[tuple[int, str]]:
    """Where the wavefronts of one workgroup stand in a cycle; none has its memory's answers by then."""
    run = ScriptedRun(ONE_CU, [[s.end() for s in scripts]])
    run.go(cycles)
    return sorted(standing(run.m))


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (Script().load([LINE]).wait(vm=0), "waiting for vector memory"),
        (Script().load([LINE]).load([LINE + 1]).wait(vm=1), "waiting for vector memory"),
        (Script().scalar_load([LINE]).wait(lgkm=0), "waiting for scalar memory"),
        (Script().lds(32).wait(lgkm=0), "waiting for LDS"),
        (Script().lds(32).scalar_load([LINE]).wait(lgkm=0), "waiting for LDS and scalar memory"),
        (Script().load([LINE]).scalar_load([LINE]).wait(0, 0), "waiting for vector memory and scalar memory"),
        (Script().load([LINE], flat=True).wait(lgkm=0), "waiting for flat memory"),
        (Script().nop(1024), "waiting for wait states to pass (execution dependency)"),
    ],
    ids=lambda value: value.replace(" ", "_") if isinstance(value, str) else "",
)
def test_what_a_wavefront_waits_for(script: Script, state: str) -> None:
    ((pc, found),) = states([script])
    assert found == state
    assert pc == len(script.words) - (1 if state.startswith("waiting for wait states") else 2)


def test_wavefronts_of_a_workgroup_stand_apart() -> None:
    found = states([Script().barrier(), Script().barrier(), Script().load([LINE]).wait(vm=0).barrier()])
    assert [state for _, state in found] == [AT_BARRIER, AT_BARRIER, "waiting for vector memory"]
    assert [pc for pc, _ in found] == [0, 2, 5]


def over_time(script: Script, cycles: int) -> set[str]:
    """What the only wavefront waits for in any of the first cycles, on a CU that queues eight memory instructions."""
    gpu = altered(ONE_CU, l1={"queue_instructions": 8})
    run, found = ScriptedRun(gpu, [[script.end()]]), set()
    for cycle in range(1, cycles):
        run.go(cycle)
        found |= {state for _, state in standing(run.m)}
    return found


def test_a_wavefront_that_cannot_issue_names_what_is_full() -> None:
    loads = Script()
    for n in range(18):
        loads.load([LINE + 64 * n + line for line in range(24)])
    assert over_time(loads, 360) == {
        "being launched",
        "ready to issue",
        "waiting for a slot of the vector memory queue",
        "waiting for the oldest of 15 vector memory instructions in flight",
    }
    reads = Script().lds_reads(17, 8).wait(lgkm=0)
    assert over_time(reads, 150) == {"being launched", "ready to issue", "waiting for the LDS banks", "waiting for LDS"}


def waiting_launch() -> Launch:
    """Three wavefronts that come to a barrier and one that never does."""
    device = Device()
    device.put("flag", np.zeros(4, np.int32))
    return device.launch(load_code_object(LINES).kernels["waits"], 256, 256, "flag")


def test_a_run_that_is_stopped_in_a_cycle_says_where_it_stands() -> None:
    facts = simulate(waiting_launch(), ONE_CU, max_cycles=2000)
    assert facts.partial and facts.cycles == 2000
    at_barrier, looping = facts.resident
    assert (at_barrier.count, str(at_barrier.source), at_barrier.state) == (3, "lines.cl:16", AT_BARRIER)
    assert looping.count == 1 and str(looping.source) in ("lines.cl:14", "lines.cl:15")
    assert simulate(waiting_launch(), ONE_CU, max_cycles=2000).resident == facts.resident


def test_a_run_that_ends_before_is_whole() -> None:
    device = Device()
    device.put("a", np.ones(64, np.float32)), device.put("c", np.zeros(64, np.float32))
    scale = load_code_object(LINES).kernels["scale"]
    whole = simulate(device.launch(scale, 64, 64, "a", "c"), ONE_CU, hotspots=True)
    assert not whole.partial and whole.resident == []
    lines = {str(h.source) for h in whole.hotspots if h.source is not None}
    assert {"lines.cl:6", "lines.cl:7", "scale.h:3"} <= lines
    assert not simulate(device.launch(scale, 64, 64, "a", "c"), ONE_CU, max_cycles=whole.cycles + 1000).partial
    assert simulate(device.launch(scale, 64, 64, "a", "c"), ONE_CU, max_cycles=whole.cycles - 1).partial


def test_an_endless_loop_says_where_all_wavefronts_stand() -> None:
    with pytest.raises(ExecutionFault) as caught:
        simulate(waiting_launch(), ONE_CU, max_instructions=300)
    assert caught.value.code == FAULT_LIMIT
    assert sum(group.count for group in caught.value.resident) == 4
    assert "s_barrier [lines.cl:16]: " + AT_BARRIER in caught.value.__notes__[0]


def test_an_interrupt_in_a_script_says_where_all_wavefronts_stand() -> None:
    def observer(_: object) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        simulate(waiting_launch(), ONE_CU, observer=observer)
    assert caught.value.__notes__[0].startswith("where the wavefronts stand:\n")


def test_a_deadlock_says_where_all_wavefronts_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    new_machine = simulator.new_machine

    def broken(gpu: GpuSpec, *rest: object) -> object:
        m = new_machine(gpu, *rest)
        m.l1.store_limit = 0  # a store may never be sent
        return m

    monkeypatch.setattr(simulator, "new_machine", broken)
    with pytest.raises(DeadlockError, match=r"deadlock: cycle .*: 4 wavefronts resident, none can go on") as caught:
        simulate(waiting_launch(), ONE_CU)
    first, *rest = str(caught.value).splitlines()[1:]
    assert first.startswith("  3 wavefronts at ") and first.endswith(f"s_barrier [lines.cl:16]: {AT_BARRIER}")
    assert "[lines.cl:15]: waiting for vector memory" in rest[0]
    assert "  waited for: a store's answer, vector L1 0" in rest
    assert sum(group.count for group in caught.value.resident) == 4
