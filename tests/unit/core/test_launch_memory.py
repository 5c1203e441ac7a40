"""Where a launch's arguments lie decides which DRAM rows they meet, and must follow from the launches before alone."""

import gc
from operator import sub

import pytest

from gpusim.model.core.cu.state import NEVER
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.simulator import simulate
from gpusim.model.core.steering import SteeredLaunch
from isa.checking.checker import checked
from isa.execution.counting import executed_blocks
from isa.execution.emulator import run_functional
from isa.execution.survey import surveyed_accesses
from tests.unit.core.test_side_by_side import FAR, counts, of_corpus


class SelfReferringSteering:
    """A policy that is garbage only the collector finds, as one with a generator over itself is."""

    limit = NEVER

    def attach(self, launch: SteeredLaunch) -> "SelfReferringSteering":
        self.launch, self.itself = launch, self
        return self

    def look(self) -> None: ...

    def finish(self, facts: RunFacts) -> None: ...


class LineCounts(SelfReferringSteering):
    """A policy that looks every fifty cycles at the lines that were issued, were looked up and are finished."""

    def __init__(self) -> None:
        self.limit, self.seen = 0, list[tuple[int, int, int]]()

    def look(self) -> None:
        looked_up = int(self.launch.m.l1.reads + self.launch.m.l1.writes)
        self.seen.append((self.launch.issued_lines, looked_up, self.launch.finished_lines))
        self.limit = self.launch.now + 50


@pytest.mark.compiled_tier
@pytest.mark.parametrize("program", ["transpose", "histogram_global", "softmax"])
def test_every_line_that_is_issued_is_finished_later(program: str) -> None:
    steering = LineCounts()
    facts = simulate(of_corpus(program)[1], FAR, steerer=steering)
    issued, looked_up, finished = (list(each) for each in zip(*steering.seen, strict=True))
    assert issued == sorted(issued) and finished == sorted(finished)
    assert min(map(sub, issued, looked_up)) == 0 < max(map(sub, issued, looked_up)), "instructions wait for L1"
    assert min(map(sub, looked_up, finished)) == 0 < max(map(sub, looked_up, finished)), "stores wait for L2"
    lines = facts.l1.read_transactions + facts.l1.write_transactions
    assert 0.9 * lines < issued[-1] <= lines


@pytest.mark.compiled_tier
def test_a_launch_gives_its_memory_back_before_anything_is_collected() -> None:
    device, launch = of_corpus("transpose")
    gc.disable()
    try:
        facts = simulate(launch, FAR, steerer=SelfReferringSteering())
        simulate(launch, FAR, max_cycles=900, steerer=SelfReferringSteering())
        run_functional(launch)
        checked(launch, launch.workgroup_at_a_time)
        executed_blocks(launch)
        surveyed_accesses(launch, [0])
        again = simulate(launch, FAR, steerer=SelfReferringSteering())
    finally:
        gc.enable()
    assert [a.name for a in device.memory.allocations].count("kernel arguments and dispatch packet") == 1
    assert counts(facts) == counts(again)
