"""Arbitration: who meets at a full queue gets equal shares of it, whatever the numbers of the units."""

from itertools import product

import pytest

from gpusim.base.jit import JIT_DISABLED
from gpusim.model.core.loop import FINISHED
from memory.address_map import l2_channel
from memory.cache.l1_state import L1Spec
from memory.cache.l2_state import L2Spec
from memory.dram.spec import DramSpec
from memory.ports import DRAM_WRITES, dram_space_freed, dram_turn
from memory.waiting import slot_taken, wait_for
from tests.support.cycle_laws import step
from tests.support.machines import LINE, ready
from tests.support.scripted import Script, ScriptedRun

SHARED_LINES = 150 if JIT_DISABLED else 600


def machine(groups: list[list[Script]], cus: int, **parts: object) -> ScriptedRun:
    """A run on CUs of one shader array."""
    return ScriptedRun(ready(shader_arrays=1, cus_per_array=cus, **parts), groups)


def ends(run: ScriptedRun) -> list[int]:
    """Cycles in which the workgroups end, in order, to the next ten."""
    found: list[int] = []
    while len(found) < int(run.m.run.workgroups):
        run.go(run.cycles + 10)
        found += [run.cycles] * (int(run.m.run.done) - len(found))
    assert run.go() == FINISHED
    return found


@pytest.mark.parametrize(
    ("channels", "kind"),
    [
        # without the compiler each kind once
        pytest.param(channels, kind, marks=[] if number in (0, 3) else pytest.mark.compiled_tier)
        for number, (channels, kind) in enumerate(product([(0, 1), (1, 2), (0, 3)], ["load", "store"]))
    ],
)
def test_l2_channels_get_equal_shares_of_a_dram_channel(channels: tuple[int, int], kind: str) -> None:
    l2 = L2Spec(channels=4, size_kib=64, ways=2, interleave_bytes=256)
    dram = DramSpec(channels=1, read_queue=2, write_queue=2, write_high=2, write_low=1)
    groups = []
    for channel in channels:
        mine = [LINE + k // 4 * 16 + 4 * channel + k % 4 for k in range(SHARED_LINES)]
        script = Script()
        for k in range(0, SHARED_LINES, 30):
            getattr(script, kind)(mine[k : k + 30])
        groups.append([script.wait(vm=0).end()])
    first, last = ends(machine(groups, 2, l2=l2, dram=dram))
    assert last - first < 0.05 * last


def test_who_waits_for_dram_goes_round_robin_and_before_who_comes_then() -> None:
    m = machine([[Script().end()]], 1).m
    queue = 3
    for channel in (1, 4, 9):
        wait_for(m, queue, channel)
    m.wheel.now = 10
    dram_space_freed(m, 10, queue)
    assert not dram_turn(m, 11, queue, 15)  # comes then: 1, 4 and 9 are before it
    assert dram_turn(m, 11, queue, 1)
    slot_taken(m, 11, queue, 1)
    assert not dram_turn(m, 11, queue, 4)
    assert dram_turn(m, 12, queue, 4)  # nobody who waited tries in this cycle
    assert dram_turn(m, 11, queue + DRAM_WRITES, 4)  # the write queue is another
    for channel in (1, 4, 9):
        wait_for(m, queue, channel)
    dram_space_freed(m, 20, queue)
    dram_space_freed(m, 20, queue)
    assert not dram_turn(m, 21, queue, 1)  # two slots; the pointer is at 2: 4 and 9 go first
    assert dram_turn(m, 21, queue, 9)
    slot_taken(m, 21, queue, 9)
    assert dram_turn(m, 21, queue, 4)


def test_a_cu_with_one_wavefront_gets_its_share_of_the_scalar_cache() -> None:
    # 40 wavefronts of CU 0 look up more lines than the cache serves; a load of CU 1's wavefront waits for one of theirs
    def loads(count: int) -> Script:
        script = Script().scalar_load([LINE, LINE + 1]).wait(lgkm=0)
        for _ in range(count):
            script.scalar_load([LINE, LINE + 1])
        return script.wait(lgkm=0).end()

    crowd = [loads(40) for _ in range(16)]
    single = [loads(40), *(Script().end() for _ in range(15))]
    alone = ends(machine([[Script().end()] * 16, single], 2))[-1]
    together = ends(machine([crowd, single], 2))
    assert together[0] < alone + 2 * 41 + 30
    assert together[1] > 16 * 40 * 2


@pytest.mark.compiled_tier  # of L2 channels without it, too
def test_cus_get_equal_shares_of_an_l2_channel() -> None:
    # eight CUs load lines of one channel that are in L2, past their L1s
    l2 = L2Spec(channels=4, interleave_bytes=256)
    mine = [LINE + k // 4 * 16 + k % 4 for k in range(256)]
    script = Script()
    for k in range(0, 256, 32):
        script.load(mine[k : k + 32])
    run = machine([[script.wait(vm=0).end()]] * 8, 8, l2=l2, l1=L1Spec(bypass=True), dram=DramSpec(model="ideal"))
    found = ends(run)
    assert found[-1] > 8 * 256
    assert found[-1] - found[0] < 0.05 * found[-1]


def test_a_fill_lets_a_request_that_dram_refused_be_looked_up_again() -> None:
    # another way may be the victim then, whose line goes to another queue or needs no write-back
    run = machine([[Script().load([LINE]).wait(vm=0).end()]], 1)
    l2, channel = run.m.l2, int(l2_channel(run.m, LINE))

    def refuse_while_missing() -> None:
        if l2.missing["lines"][channel]:
            l2.waits_for[channel] = 1

    assert step(run.m, refuse_while_missing) == FINISHED
    assert l2.missing["lines"][channel] == 0
    assert l2.waits_for[channel] == 0
