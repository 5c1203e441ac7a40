"""What the live view sees of a machine: the machine is not changed by it, and the numbers are the machine's."""

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from gpusim.model.core.cu.counters import STALL_REASONS
from gpusim.model.core.loop import FINISHED, RUNNING
from gpusim.results.live.snapshot import RATES, STATES, MachineSnapshot, compute_units, queues, rates
from tests.support.machines import LINE, tight
from tests.support.scripted import Script, ScriptedRun

GPU = tight()


def script(wave: int) -> Script:
    s = Script()
    for n in range(6):
        s.load([LINE + 64 * (7 * n + wave), LINE + 640 * n]).store([LINE + 3 * n + wave]).valu(3)
    return s.wait(vm=0).barrier().valu(20).end()


def at(cycle: int) -> ScriptedRun:
    r = ScriptedRun(GPU, [[script(0), script(1)], [script(2), script(3)]])
    r.go(cycle)
    return r


def looked_at(m: Any) -> MachineSnapshot:
    compute_units(m)
    queues(m)
    return MachineSnapshot.of(m, 1.0)


def test_looking_writes_nothing() -> None:
    r = at(1)
    for cycle in (40, 300, 900):
        r.go(cycle)
        before = r.m.tobytes()
        looked_at(r.m)
        assert r.m.tobytes() == before


@settings(max_examples=4 if JIT_DISABLED else 20, suppress_health_check=list(HealthCheck))
@given(st.lists(st.integers(1, 400), max_size=8))
def test_a_run_that_is_looked_at_is_the_same(steps: list[int]) -> None:
    seen, alone = at(1), at(1)
    for cycle in accumulate(steps):
        if seen.go(cycle) != RUNNING:
            break
        looked_at(seen.m)
    assert seen.go() == alone.go() == FINISHED
    assert seen.cycles == alone.cycles
    assert looked_at(seen.m).counts == looked_at(alone.m).counts


@pytest.mark.parametrize("cycle", [1, 40, 200, 400])
def test_the_wavefronts_of_the_compute_units_are_the_resident_ones(cycle: int) -> None:
    m = at(cycle).m
    units = compute_units(m)
    assert len(units) == int(m.cu.cus)
    assert sum(sum(unit["states"]) for unit in units) == int(m.run.waves_left) == looked_at(m).wavefronts
    assert sum(unit["workgroups"] for unit in units) == int(m.run.next_workgroup - m.run.done)
    assert sum(sum(unit["stalls"]) for unit in units) == sum(looked_at(m).counts[f"stalls.{r}"] for r in STALL_REASONS)
    assert all(len(unit["states"]) == len(STATES) for unit in units)


def test_queues_hold_something_in_the_middle_and_nothing_at_the_end() -> None:
    r = at(300)
    assert {queue["name"] for queue in queues(r.m) if queue["entries"]} >= {"loads not returned"}
    assert all(queue["entries"] >= queue["fullest"] >= (queue["units"] > 0) for queue in queues(r.m))
    assert r.go() == FINISHED
    left = {queue["name"] for queue in queues(r.m) if queue["entries"]}
    assert left <= {"requests in DRAM"}, "a channel frees its slots when somebody looks"


def test_rates_are_those_of_the_interval() -> None:
    first, second = looked_at(at(100).m), looked_at(at(300).m)
    between = rates(first, second)
    issued = second.counts["kernel.wavefront_instructions"] - first.counts["kernel.wavefront_instructions"]
    cycles = second.cycle - first.cycle
    assert list(between) == list(RATES)
    assert between["instructions"] == pytest.approx(issued / cycles)
    assert between["DRAM data bus"] == pytest.approx(
        100 * (second.bus_busy - first.bus_busy) / (cycles * GPU.dram.channels)
    )
    assert between["simulated cycles"] is None, "no time has passed"
    lookups = sum(second.counts[f"l2.{n}"] - first.counts[f"l2.{n}"] for n in ("hits", "misses", "mshr_merges"))
    hits = second.counts["l2.hits"] - first.counts["l2.hits"]
    assert between["L2 hit rate"] == (pytest.approx(100 * hits / lookups) if lookups else None)
    assert set(rates(first, first).values()) == {None, float(first.wavefronts)}


def test_counts_are_plain_numbers_of_known_names() -> None:
    counts = looked_at(at(200).m).counts
    assert counts["l1.hits"] + counts["l1.misses"] + counts["l1.mshr_merges"] > 0
    assert all(isinstance(value, int) for value in counts.values())
