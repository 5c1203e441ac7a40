"""Address translation: exact cycles of each way to a page, TLBs against reference caches, back-pressure, fairness."""

import pytest
from hypothesis import strategies as st
from pydantic import ValidationError

from gpusim.base.jit import JIT_DISABLED, new_record
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.laws import laws, who_waits
from gpusim.model.core.loop import FINISHED
from gpusim.model.core.machine import machine_dtype
from isa.trace import LINE_SPARSE
from memory.cache.l1_state import L1Spec
from memory.sets.replacement import POLICIES
from memory.translation import l2_tlb
from memory.translation.l1_tlb import page_of, translated
from memory.translation.spec import TranslationSpec
from memory.translation.state import (
    FIRST_INSTRUCTION_USER,
    FIRST_SCALAR_USER,
    L2_TLB_DRAW,
    MAX_TLBS,
)
from tests.support.daily import given_daily
from tests.support.machines import LINE, simple
from tests.support.reference_cache import ReferenceCache, lines_of
from tests.support.scripted import Script, ScriptedRun

PAGE = 64 * 1024 // 64  # lines of a page
BLOCK = 256 // 64  # lines of an L2 channel that follow one another
L2_HIT = 1 + 69  # at the L2 TLB a cycle after the look-up, its latency
WALK_CYCLES = 250
WALK = L2_HIT + WALK_CYCLES  # 320, a whole number of turns


def machine(groups: list[list[Script]], l1: L1Spec | None = None, **translation: object) -> ScriptedRun:
    """A run on an MI6 whose DRAM has a fixed latency and whose instructions are always there."""
    gpu = simple(
        l1=l1 or L1Spec(),
        translation=TranslationSpec(**{"page_kib": 64, **translation}),  # type: ignore[arg-type]
    )
    return ScriptedRun(gpu, groups)


def finished(run: ScriptedRun) -> ScriptedRun:
    assert run.go() == FINISHED
    for law, left, right in laws(run.m, run.instructions):
        assert left == right, law
    return run


def counts(run: ScriptedRun) -> dict[str, int]:
    names = ("lookups", "hits", "misses", "merges", "early", "l2_hits", "l2_merges", "walks", "stall_cycles")
    return {name: int(getattr(run.m.translation, name)) for name in names}


def delay(script: Script, **translation: object) -> int:
    """Cycles that translation adds to a one-wavefront kernel; a multiple of four if nothing else does."""
    return finished(machine([[script]], **translation)).cycles - finished(machine([[script]], model="off")).cycles


def ends(looked_up: int) -> int:
    """End of a kernel that waits for a line looked up in this cycle that is in no cache, and then ends.

    35 cycles to L2, served a cycle later, DRAM 124, 70 in L2, 35 back, 56 in L1, four beats; s_waitcnt and s_endpgm.
    """
    data = looked_up + 35 + 1 + 124 + 70 + 35 + 56 + 4
    return -(-data // 4) * 4 + 4 + 1


@pytest.mark.parametrize("kind", ["load", "store", "scalar_load"])
def test_the_first_access_to_a_page_waits_for_its_walk(kind: str) -> None:
    script = getattr(Script(), kind)([LINE]).wait(vm=0, lgkm=0).end()
    assert delay(script) == WALK
    assert counts(finished(machine([[script]])))["stall_cycles"] == WALK


def test_the_ideal_model_answers_every_miss_after_its_latency() -> None:
    # two pages of one load, missed one after the other: the second is asked for ahead, a cycle later, and found
    script = Script().load([LINE, LINE + PAGE]).wait(vm=0).end()
    assert delay(script, model="ideal", ideal_latency_cycles=400) == 400
    found = counts(finished(machine([[script]], model="ideal", ideal_latency_cycles=400)))
    assert (found["lookups"], found["hits"], found["misses"], found["early"], found["walks"]) == (2, 1, 1, 1, 0)


def test_no_translation_costs_nothing() -> None:
    run = finished(machine([[Script().load([LINE, LINE + PAGE]).wait(vm=0).end()]], model="off"))
    assert set(counts(run).values()) == {0}


def test_a_page_held_by_the_l1_tlb_costs_nothing() -> None:
    pages = [LINE, LINE + PAGE]
    warm = Script().load([pages[0]]).wait(vm=0).load([pages[1]]).wait(vm=0)
    assert delay(warm.load([pages[0] + 1]).wait(vm=0).end()) == 2 * WALK
    assert counts(finished(machine([[warm]])))["hits"] == 1


def test_a_line_in_the_page_of_the_line_before_is_no_look_up() -> None:
    run = finished(machine([[Script().load([LINE, LINE + 1, LINE + 2]).wait(vm=0).store([LINE + 3]).wait(vm=0).end()]]))
    assert counts(run)["lookups"] == 1


def test_a_page_held_by_the_l2_tlb() -> None:
    # workgroup 1, on another CU, loads a line that is in L2 in a page that is in the L2 TLB: issue 24 + 4000, look-up a
    # cycle later, then 70 for the page, 35 to L2, served a cycle later, 70 there, 35 back, 56 and four beats
    data = 24 + 4000 + 1 + L2_HIT + 35 + 1 + 70 + 35 + 56 + 4
    first, second = Script().load([LINE]).wait(vm=0).end(), Script().valu(1000).load([LINE]).wait(vm=0).end()
    run = finished(machine([[first], [second]]))
    assert run.cycles == -(-data // 4) * 4 + 4 + 1
    found = counts(run)
    assert (found["misses"], found["l2_hits"], found["walks"]) == (2, 1, 1)
    assert found["stall_cycles"] == WALK + L2_HIT


def test_two_cus_that_ask_for_one_page_share_its_walk() -> None:
    # the second workgroup is dispatched a cycle later and issues in the next turn: it waits four cycles less
    run = finished(machine([[Script().load([LINE]).wait(vm=0).end()] for _ in range(2)]))
    found = counts(run)
    assert (found["misses"], found["l2_merges"], found["walks"]) == (2, 1, 1)
    assert int(run.m.translation.request_latency) == WALK + WALK - 4


def test_a_scalar_and_an_instruction_user_share_a_tlb_and_its_misses() -> None:
    run = machine([[Script().valu(400).end()]])
    scalar, instruction = FIRST_SCALAR_USER + 2, FIRST_INSTRUCTION_USER + 2
    assert not translated(run.m, 0, scalar, LINE)
    assert not translated(run.m, 0, instruction, LINE)
    finished(run)
    now = run.cycles
    assert translated(run.m, now, scalar, LINE)
    assert translated(run.m, now, instruction, LINE + 5)
    found = counts(run)
    assert (found["misses"], found["merges"], found["walks"]) == (1, 1, 1)
    assert found["stall_cycles"] == 2 * WALK


def test_a_sparse_line_lies_in_the_page_of_its_address() -> None:
    run = finished(machine([[Script().load([LINE]).wait(vm=0).end()]]))
    assert translated(run.m, run.cycles, 0, LINE_SPARSE | (LINE + 7))
    assert page_of(run.m, LINE_SPARSE | (LINE + 7)) == page_of(run.m, LINE) == LINE // PAGE


def test_walks_of_one_instruction_overlap() -> None:
    # asked for one a cycle while the first is waited for, they are there one a cycle, as look-up needs them
    lines = [LINE + k * PAGE for k in range(10)]
    assert delay(Script().load(lines).wait(vm=0).end()) == WALK
    found = counts(finished(machine([[Script().load(lines).wait(vm=0).end()]])))
    assert (found["misses"], found["early"], found["walks"], found["merges"] + found["hits"]) == (1, 9, 10, 9)


def test_look_ahead_reaches_the_instructions_behind() -> None:
    script = Script()
    for k in range(4):
        script.load([LINE + k * PAGE])
    assert counts(finished(machine([[script.wait(vm=0).end()]])))["early"] == 3


def test_looking_ahead_goes_on_while_lines_are_looked_up() -> None:
    # four pages are waited for, the first from cycle c, the others a cycle after one another; page 4 is asked for in
    # c + 100, when look-up has page 0, not in c + 104, when look-up comes to it. So page 4k + j is there in
    # c + 100(k + 1) + j, page 15 in c + 403 and not in c + 15
    script = Script().load([LINE + k * (PAGE + 1) for k in range(16)]).wait(vm=0).end()
    ideal = {"model": "ideal", "ideal_latency_cycles": 100, "l1_mshrs": 4}
    assert delay(script, **ideal) == 403 - 15
    found = counts(finished(machine([[script]], **ideal)))
    assert (found["misses"], found["early"], found["merges"] + found["hits"]) == (1, 15, 15)


def test_looking_ahead_ends_with_the_misses() -> None:
    # all pages but the first are there again: nothing is looked ahead for when look-up does not wait
    script = Script().load([LINE + k * PAGE for k in range(6)]).wait(vm=0)
    script.load([LINE + k * PAGE for k in range(6)]).wait(vm=0).end()
    run = finished(machine([[script]]))
    assert (counts(run)["early"], counts(run)["hits"] + counts(run)["merges"]) == (5, 11)
    assert int(run.m.translation.ahead[0]) == 0


def test_one_mshr_walks_for_one_page_after_the_other() -> None:
    lines = [LINE + k * PAGE for k in range(4)]
    # each is looked up in the cycle after the one before it was
    assert delay(Script().load(lines).wait(vm=0).end(), l1_mshrs=1) == 4 * WALK
    assert counts(finished(machine([[Script().load(lines).wait(vm=0).end()]], l1_mshrs=1)))["early"] == 0


def test_one_walker_walks_for_one_page_after_the_other() -> None:
    script = Script().load([LINE + k * PAGE for k in range(3)]).wait(vm=0).end()
    assert finished(machine([[script]], walkers=1)).cycles == ends(21 + WALK + 2 * WALK_CYCLES)


def test_a_full_l2_tlb_and_a_full_port_hold_the_requests_back() -> None:
    # one walk at a time: the next page is looked up when the walk before is done, with 69 cycles and a walk before it;
    # its successor waits in the port, which holds one, and the last waits in the L1
    lines = [LINE + k * PAGE for k in range(4)]
    script = Script().load(lines).wait(vm=0).end()
    assert finished(machine([[script]], l2_mshrs=1, port_queue=1)).cycles == ends(21 + WALK + 3 * (69 + WALK_CYCLES))
    run = machine([[script]], l2_mshrs=1, port_queue=1)
    run.go(200)
    t = run.m.translation
    assert (int(t.requests), int(t.w_count), int(t.r_count[0])) == (2, 1, 1)
    report = who_waits(run.m)
    assert "requests at the L2 TLB: 1 (0:1)" in report
    assert "waited for: a translation, vector L1 0" in report
    assert "waited for: an MSHR or a slot of the L2 TLB's queue, L1 TLB 0" in report
    assert "waited for: an MSHR for a page walk, L2 TLB 0" in report
    assert counts(finished(run))["walks"] == 4
    assert "waited for" not in who_waits(run.m)


@given_daily(25, 100, st.sets(st.integers(0, MAX_TLBS - 1)), st.integers(0, MAX_TLBS - 1))
def test_the_l2_tlb_goes_round_all_tlbs(asking: set[int], first: int) -> None:
    m = new_record(machine_dtype())
    for number in asking:
        m.translation.asking[number >> 5] |= 1 << (number & 31)
    m.translation.next_tlb = first
    around = (number % MAX_TLBS for number in range(first, first + MAX_TLBS))
    assert l2_tlb._next_port(m, 0) == next((number for number in around if number in asking), -1)


@pytest.mark.compiled_tier  # `test_the_l2_tlb_goes_round_all_tlbs` runs without it
def test_cus_get_equal_shares_of_the_l2_tlb() -> None:
    # each CU loads 64 pages of its own, over all L2 channels, and the L2 TLB takes one request a cycle
    lines = [LINE + page * PAGE + page % 16 * BLOCK for page in range(8 * 64)]
    groups = [[Script().load(lines[64 * g : 64 * (g + 1)]).wait(vm=0).end()] for g in range(8)]
    run = machine(groups, l2_lookups_per_cycle=1, walkers=256, l2_mshrs=256, walk_cycles=1)
    ends = []
    while len(ends) < 8:
        run.go(run.cycles + 1)
        ends += [run.cycles] * (int(run.m.run.done) - len(ends))
    assert int(run.m.translation.walks) == 8 * 64
    assert ends[-1] - ends[0] < 40 < 8 * 64 < ends[-1]


@given_daily(
    *((8, 20) if JIT_DISABLED else (20, 60)),
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=60),
    st.sampled_from([4, 64, 2048]),
    st.sampled_from(sorted(POLICIES)),
    st.sampled_from(sorted(POLICIES)),
)
def test_the_tlbs_hold_what_reference_ones_hold(
    accesses: list[tuple[int, bool]], page_kib: int, l1_policy: str, l2_policy: str
) -> None:
    script = Script()
    for page, store in accesses:
        line = LINE + page * page_kib * 16 + page
        (script.store if store else script.load)([line])
        script.wait(vm=0)
    entries = 4 if POLICIES[l1_policy].power_of_two else 3
    sizes = {"l1_entries": entries, "l2_entries": 8, "l2_ways": 2, "walk_cycles": 3}
    run = finished(
        machine([[script.end()]], page_kib=page_kib, l1_replacement=l1_policy, l2_replacement=l2_policy, **sizes)
    )
    l1, l2 = ReferenceCache(1, entries, l1_policy), ReferenceCache(4, 2, l2_policy, number=L2_TLB_DRAW)
    expected = {"hits": 0, "misses": 0, "l2_hits": 0, "walks": 0}
    last = None
    for page, _ in accesses:
        number = (LINE >> 4) // page_kib + page
        if number == last:
            continue
        last = number
        if l1.use(number)[0]:
            expected["hits"] += 1
        else:
            expected["misses"] += 1
            expected["l2_hits" if l2.use(number)[0] else "walks"] += 1
    found = counts(run)
    assert expected == {name: found[name] for name in expected}
    t = run.m.translation
    assert lines_of(t.l1_rows, 1, entries) == [row.lines for row in l1.sets]
    assert lines_of(t.l2_rows, 4, 2) == [row.lines for row in l2.sets]


@pytest.mark.parametrize(("policy", "misses"), [("lru", 5), ("fifo", 6), ("plru", 5)])
def test_the_evicted_page_is_the_one_that_the_policy_chooses(policy: str, misses: int) -> None:
    # an L1 TLB of four pages; 0 is used again before 4 comes. FIFO lets it go for that; the others let 1 and 2 go
    script = Script()
    for page in (0, 1, 2, 3, 0, 4, 0):
        script.load([LINE + page * PAGE]).wait(vm=0)
    found = counts(finished(machine([[script.end()]], l1_entries=4, l1_replacement=policy)))
    assert (found["misses"], found["hits"]) == (misses, 7 - misses)


def test_a_tree_over_the_tlbs_needs_a_power_of_two_of_ways() -> None:
    with pytest.raises(ValidationError, match="replacement 'plru' of 3 ways"):
        TranslationSpec(l1_entries=3, l1_replacement="plru")
    with pytest.raises(ValidationError, match="replacement 'plru' of 24 ways"):
        TranslationSpec(l2_entries=24 * 64, l2_ways=24, l2_replacement="plru")


@given_daily(
    *((4, 10) if JIT_DISABLED else (10, 30)),
    st.lists(st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=12), max_size=6), min_size=1, max_size=5),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from(["cycle", "ideal"]),
)
def test_every_page_asked_for_is_answered_however_small_the_queues(
    kernels: list[list[list[int]]], mshrs: int, entries: int, model: str
) -> None:
    groups = []
    for loads in kernels:
        script = Script()
        for pages in loads:
            script.load([LINE + page * PAGE for page in pages])
        groups.append([script.end()])
    finished(
        machine(
            groups,
            l1=L1Spec(queue_instructions=2, return_entries=2),
            model=model,
            l1_entries=entries,
            l1_mshrs=mshrs,
            port_queue=1,
            l2_entries=4,
            l2_ways=2,
            l2_mshrs=2,
            walkers=1,
            walk_cycles=5,
            ideal_latency_cycles=7,
        )
    )


def test_a_kernel_that_stores_and_ends_is_over_when_its_stores_are() -> None:
    run = finished(machine([[Script().store([LINE + k * PAGE for k in range(3)]).end()]]))
    assert int(run.m.l1.writes) == 3
    assert run.cycles > WALK


def test_the_l2_tlb_has_a_power_of_two_of_sets() -> None:
    with pytest.raises(ValidationError, match="TLB entries"):
        GpuSpec(translation=TranslationSpec(l2_entries=96, l2_ways=32))
