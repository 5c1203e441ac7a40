"""Exact cases of the vector L1 and the way to it: coalescing, hits, misses, merges, order, the look-up port, bypass."""

from pathlib import Path

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from tests.exact.machine import (
    BUFFER_LOW,
    END,
    LOAD,
    MI6,
    ONE_LINE,
    ONE_LINE_TURNS,
    TURN,
    WAIT,
    after_wait,
    cases,
    finished,
    first_issue,
    l1_hit_data,
    l1_miss_data,
    l2_hit,
    l2_miss,
    turn,
)
from tests.support.assembly import Assembly
from tests.support.machines import altered

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "l1.hsaco")
case = cases(ASSEMBLY)
GLC_LOAD = "    flat_load_dword v4, v[1:2] glc\n"

ASSEMBLY.kernel("load", ONE_LINE + LOAD + WAIT + END)


def test_a_load_that_misses_everywhere(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    facts = case("load", gpu)
    data = l1_miss_data(gpu, l2_miss(gpu, look))
    assert facts.cycles == finished(after_wait(data))
    assert (facts.l1.misses, facts.l1.hits, facts.l2.misses, facts.dram.reads) == (1, 0, 1, 1)
    # from the turn after the load's issue to the data; s_waitcnt's own turn may come some cycles later
    assert facts.stalls["memory_dependency"] == data - (look - 1 + TURN)


ASSEMBLY.kernel("load_again", ONE_LINE + LOAD + WAIT + LOAD + WAIT + END)


def test_a_load_that_hits_l1(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    second = after_wait(l1_miss_data(gpu, l2_miss(gpu, look))) + 1
    facts = case("load_again", gpu)
    assert facts.cycles == finished(after_wait(l1_hit_data(gpu, second)))
    assert (facts.l1.misses, facts.l1.hits) == (1, 1)


ASSEMBLY.kernel("invalidated", ONE_LINE + LOAD + WAIT + "    buffer_wbinvl1\n" + WAIT + LOAD + WAIT + END)


def test_after_an_invalidation_a_load_hits_l2(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    invalidation = after_wait(l1_miss_data(gpu, l2_miss(gpu, look))) + 1
    third = after_wait(invalidation + 1) + 1  # the invalidation looks nothing up; its answer takes a beat
    facts = case("invalidated", gpu)
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, l2_hit(gpu, third))))
    assert (facts.l1.misses, facts.l1.hits, facts.l2.hits, facts.l2.misses) == (2, 0, 1, 1)


def test_on_mi6_a_load_that_hits_l2_takes_about_200_cycles() -> None:
    issue = 0
    assert 190 < l1_miss_data(MI6, l2_hit(MI6, issue + 1)) - issue < 210


ASSEMBLY.kernel("glc", ONE_LINE + LOAD + WAIT + GLC_LOAD + WAIT + LOAD + WAIT + END)


def test_a_glc_load_goes_past_l1(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    second = after_wait(l1_miss_data(gpu, l2_miss(gpu, look))) + 1
    third = after_wait(l1_miss_data(gpu, l2_hit(gpu, second))) + 1
    facts = case("glc", gpu)
    assert facts.cycles == finished(after_wait(l1_hit_data(gpu, third)))  # the line is still there
    assert (facts.l1.misses, facts.l1.hits, facts.l2.hits) == (2, 1, 1)


def test_an_l1_that_is_bypassed_keeps_nothing(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    second = after_wait(l1_miss_data(gpu, l2_miss(gpu, look))) + 1
    facts = case("load_again", altered(gpu, l1={"bypass": True}))
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, l2_hit(gpu, second))))


# --- coalescing: 64 lanes apart by `stride` bytes, from `offset` on ---

TOGETHER, APART = 64 // 16, 64 // 4  # cycles on the address and data path: 16 lanes a cycle, or a quad
COALESCING = {
    # instruction, stride, offset: lines of 64 bytes that 64 lanes touch, cycles on the path
    ("dword", 4, 0): (4, TOGETHER),
    ("dword", 4, 32): (5, TOGETHER),
    ("dword", 0, 0): (1, TOGETHER),
    ("dword", 8, 0): (8, APART),
    ("dword", 64, 0): (64, APART),
    ("dword", 64, 62): (65, APART),  # each lane over a border into the next one's line
    ("dwordx2", 8, 0): (8, APART),
    ("dwordx3", 12, 0): (12, APART),
    ("dwordx4", 16, 0): (16, APART),
    ("dwordx4", 64, 0): (64, APART),
    ("ubyte", 1, 0): (1, TOGETHER),
    ("ushort", 2, 0): (2, TOGETHER),
}


def coalescing_name(access: tuple[str, int, int]) -> str:
    return "coalesced_{}_{}_{}".format(*access)


for _access in COALESCING:
    _width, _stride, _offset = _access
    _target = {"dwordx2": "v[4:5]", "dwordx3": "v[4:6]", "dwordx4": "v[4:7]"}.get(_width, "v4")
    _load = f"    flat_load_{_width} {_target}, v[1:2]\n"
    ASSEMBLY.kernel(
        coalescing_name(_access),
        f"""
    v_mov_b32 v2, 1
    v_mul_u32_u24 v1, {_stride}, v0
    v_add_u32 v1, vcc, {BUFFER_LOW + _offset:#x}, v1
{_load}{WAIT}    s_sleep 16
{_load}{WAIT}{END}""",
    )


@pytest.mark.parametrize("access", COALESCING, ids=coalescing_name)
def test_a_load_takes_a_look_up_for_each_line(gpu: GpuSpec, access: tuple[str, int, int]) -> None:
    # the first load brings the lines into L1; the sleep leaves the run's cycles to the second. Its lines are looked up
    # one a cycle, and after the last the data returns over the path
    lines, path = COALESCING[access]
    facts = case(coalescing_name(access), gpu)
    assert (facts.l1.hits, facts.l1.misses) == (lines, lines)
    wait = [h for h in facts.hotspots if h.instruction.startswith("s_waitcnt")]
    second = max(wait, key=lambda h: h.address)
    data = 1 + lines - 1 + gpu.l1.hit_latency_cycles + path  # from its issue
    assert second.stalls["memory_dependency"] == data - TURN


@pytest.mark.parametrize(
    ("access", "look_ups", "returns"),
    [
        (("dword", 64, 0), 64, 4),  # each lane has a line of its own
        (("dword", 0, 0), 1, 4),  # 64 lanes of 4 bytes from one line: four times 64 bytes
        (("dwordx4", 16, 0), 16, 16),
    ],
)
def test_the_bound_of_l1_is_its_look_ups_or_its_return_path(
    gpu: GpuSpec, access: tuple[str, int, int], look_ups: int, returns: int
) -> None:
    facts = case(coalescing_name(access), gpu)  # two loads; four CUs
    assert facts.roofline.l1 == 2 * max(look_ups, returns) / 4


# --- a set whose ways are all being filled: 64 lines at once for 16 slots, and then the last four lines of each set ---

SMALL = {"size_kib": 1, "ways": 4}  # four sets
FILLED = 48  # the first of the lines that such a cache can still hold
ASSEMBLY.kernel(
    "full_sets",
    f"""
    v_mov_b32 v2, 1
    v_lshlrev_b32 v1, 6, v0
    v_add_u32 v1, vcc, {BUFFER_LOW:#x}, v1
{LOAD}{WAIT}    v_cmp_le_u32 vcc, {FILLED}, v0
    s_and_b64 exec, exec, vcc
{LOAD}{WAIT}{END}""",
)


def test_a_miss_takes_the_way_that_is_filled_longest(gpu: GpuSpec) -> None:
    # as many lines are asked for in as many cycles as where all have a slot; the lines asked for last are kept
    replacing = case("full_sets", altered(gpu, l1={**SMALL, "full_set": "replace"}))
    roomy = case("full_sets", gpu)
    assert replacing.cycles == roomy.cycles and replacing.l1.full_stall_cycles == roomy.l1.full_stall_cycles
    assert (replacing.l1.misses, replacing.l1.hits) == (roomy.l1.misses, roomy.l1.hits) == (64, 64 - FILLED)


def test_a_miss_may_wait_for_a_way(gpu: GpuSpec) -> None:
    waiting = case("full_sets", altered(gpu, l1={**SMALL, "full_set": "wait"}))
    # of 16 lines a set, four at a time are on their way
    assert waiting.l1.full_stall_cycles > 3 * gpu.l2.latency_cycles
    assert (waiting.l1.misses, waiting.l1.hits) == (64, 64 - FILLED)


# --- several loads: merges, order, the look-up port, limits ---

ASSEMBLY.kernel("twice", ONE_LINE + LOAD + LOAD + WAIT + END)


def test_two_loads_of_a_missing_line_ask_l2_once(gpu: GpuSpec) -> None:
    # the second joins the first one's MSHR; its data follows the first one's on the return path
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    facts = case("twice", gpu)
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, look)) + 4))
    assert (facts.l1.misses, facts.l1.mshr_merges, facts.l2.read_transactions) == (1, 1, 1)


def test_two_wavefronts_load_a_missing_line_once(gpu: GpuSpec) -> None:
    # on two SIMDs, a cycle or more apart; both wait for the answer to the first, the second one a return longer
    starts = sorted((first_issue(gpu, simd), simd) for simd in (0, 1))
    (first, _), (_, later_simd) = starts
    data = l1_miss_data(gpu, l2_miss(gpu, first + ONE_LINE_TURNS + 1)) + 4
    facts = case("load", gpu, wavefronts=2)
    assert facts.cycles == finished(after_wait(data, later_simd))
    assert (facts.l1.misses, facts.l1.mshr_merges, facts.l2.read_transactions) == (1, 1, 1)


def test_two_cus_load_a_line_each_and_l2_fetches_it_once(gpu: GpuSpec) -> None:
    # the second CU's packet joins L2's MSHR; the fill answers the older one first, the other a cycle later
    facts = case("load", gpu, workgroups=2)
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, look) + 1)))
    assert (facts.l1.misses, facts.l2.misses, facts.l2.mshr_merges, facts.dram.reads) == (2, 1, 1, 1)


# v[6:7]: a line 4 KiB further on, which the first load brings into L1; then a cold line and the warm one
ASSEMBLY.kernel(
    "in_order",
    ONE_LINE
    + f"    v_mov_b32 v7, 1\n    v_mov_b32 v6, {BUFFER_LOW + 4096:#x}\n"
    + "    flat_load_dword v5, v[6:7]\n"
    + WAIT
    + LOAD
    + "    flat_load_dword v5, v[6:7]\n"
    + "    s_waitcnt vmcnt(1)\n    s_nop 0\n"
    + WAIT
    + END,
)


def test_data_returns_in_the_order_of_the_loads(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + 2 * ONE_LINE_TURNS + 1
    cold = after_wait(l1_miss_data(gpu, l2_miss(gpu, look))) + 1
    # the hit is ready long before the miss, but leaves after it, in the four beats that follow
    first = l1_miss_data(gpu, l2_miss(gpu, cold))
    second = first + 4
    nop = after_wait(first)
    facts = case("in_order", gpu)
    assert facts.cycles == finished(max(after_wait(second), nop + 2 * TURN))
    assert (facts.l1.hits, facts.l1.misses) == (1, 2)


LOADS = 12
ASSEMBLY.kernel("row_of_loads", ONE_LINE + LOAD + WAIT + LOAD * LOADS + WAIT + END)


def test_loads_occupy_the_look_up_for_their_addresses(gpu: GpuSpec) -> None:
    # a load of one line takes the look-up for as long as 64 addresses need, and at least a turn passes between two
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    first = after_wait(l1_miss_data(gpu, l2_miss(gpu, look))) + 1
    last = first + (LOADS - 1) * max(gpu.l1.address_cycles, TURN)
    facts = case("row_of_loads", gpu)
    assert facts.cycles == finished(after_wait(l1_hit_data(gpu, last)))


ASSEMBLY.kernel(
    "eight_lines",
    f"""
    v_mov_b32 v2, 1
    v_lshlrev_b32 v1, 3, v0
    v_and_b32 v1, 0x1ff, v1
    v_or_b32 v1, {BUFFER_LOW:#x}, v1
{LOAD}{WAIT}    s_barrier
{LOAD}{WAIT}{END}""",
)


def test_loads_of_two_wavefronts_are_looked_up_in_turn(gpu: GpuSpec) -> None:
    # a barrier after the first loads, which bring the eight lines into L1; it is left in the first turns after the
    # last arrival. Each load takes eight look-ups and the path for as long as its lanes, eight bytes apart, need
    facts = case("eight_lines", gpu, wavefronts=2)
    simds = (0, 1)
    starts = {simd: first_issue(gpu, simd) + 4 * TURN for simd in simds}
    earlier = min(simds, key=lambda simd: starts[simd])
    later = 1 - earlier
    # cold: lines of the earlier one look-up by look-up, L2's answers follow one another at the same pace: the eight
    # lie in two channels, whose answers meet at the CU, one a cycle
    look = starts[earlier] + 1
    answers = cold_answers(gpu, look, 8)
    data = {earlier: l1_miss_data(gpu, max(answers), APART)}
    data[later] = data[earlier] + APART  # all merged
    barrier = {simd: after_wait(data[simd], simd) for simd in simds}
    arrived = max(barrier.values())
    issue = {simd: turn(arrived + 1, simd) for simd in simds}
    order = sorted(simds, key=lambda simd: issue[simd])
    first_look = issue[order[0]] + 1
    second_look = max(first_look + APART, issue[order[1]] + 1)
    ends = [
        after_wait(l1_hit_data(gpu, first_look + 7, APART), order[0]),
        after_wait(l1_hit_data(gpu, second_look + 7, APART), order[1]),
    ]
    assert facts.cycles == finished(max(ends))
    assert (facts.l1.hits, facts.l1.misses, facts.l1.mshr_merges) == (16, 8, 8)


def cold_answers(gpu: GpuSpec, look: int, lines: int) -> list[int]:
    """Arrivals of the answers for successive lines looked up from cycle `look` on, one a cycle."""
    return [l2_miss(gpu, look + n) for n in range(lines)]


ASSEMBLY.kernel(
    "row_of_strided_loads",
    f"""
    v_mov_b32 v2, 1
    v_lshlrev_b32 v1, 3, v0
    v_or_b32 v1, {BUFFER_LOW:#x}, v1
{LOAD}{WAIT}
    .rept {LOADS}
{LOAD}    .endr
{WAIT}{END}""",
)


def test_loads_whose_lanes_lie_apart_take_a_quad_a_cycle(gpu: GpuSpec) -> None:
    # eight lines each, all hits after the first: 16 cycles of the path for each load
    look = first_issue(gpu) + 3 * TURN + 1
    first = after_wait(l1_miss_data(gpu, max(cold_answers(gpu, look, 8)), APART)) + 1
    last = first + (LOADS - 1) * APART
    facts = case("row_of_strided_loads", gpu)
    assert facts.cycles == finished(after_wait(l1_hit_data(gpu, last + 7, APART)))


ASSEMBLY.kernel(
    "many_strided_loads",
    f"""
    v_lshlrev_b32 v1, 3, v0
    v_and_b32 v1, 0x1ff, v1
    v_or_b32 v1, {BUFFER_LOW:#x}, v1
    v_mov_b32 v2, 1
{LOAD}{WAIT}    s_barrier
    .rept 60
{LOAD}    .endr
{WAIT}{END}""",
)


def test_four_simds_share_the_vector_memory_path_in_turn(gpu: GpuSpec) -> None:
    # all want to issue a load all the time: served in turn, each has its last load among the last four, so that the
    # wavefronts end within three loads' times of one another
    facts = case("many_strided_loads", gpu, wavefronts=4)
    missing = 4 * facts.cycles - sum(facts.stalls.values())
    assert missing <= (1 + 2 + 3) * APART + 4 * 2 * TURN


FULL = 15  # vmcnt has four bits
ASSEMBLY.kernel("too_many", ONE_LINE + LOAD + WAIT + LOAD * (FULL + 1) + END)


def test_the_sixteenth_load_waits_for_the_first(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    first = after_wait(l1_miss_data(gpu, l2_miss(gpu, look)))
    returned = l1_hit_data(gpu, first + 1)
    assert returned > first + FULL * TURN
    facts = case("too_many", gpu)
    # nobody waits for the loads, but the run ends only when the last one is looked up
    last_look = max(turn(returned) + 1, first + 1 + FULL * gpu.l1.address_cycles)
    assert facts.cycles == finished(max(turn(returned) + TURN, last_look))
    assert facts.stalls["memory_throttle"] == returned - (first + FULL * TURN)


QUEUE, LONG_LOADS = 2, 9
SLEEPS, SLEEP_UNIT = 8, 64  # long enough that all loads are looked up, and all lines there, before the end
ASSEMBLY.kernel(
    "long_loads",
    f"""
    v_mov_b32 v2, 1
    v_lshlrev_b32 v1, 6, v0
    v_or_b32 v1, {BUFFER_LOW:#x}, v1
    .rept {LONG_LOADS}
{LOAD}    .endr
    s_sleep {SLEEPS}
{END}""",
)


def test_a_full_queue_in_front_of_l1_holds_the_next_load_back(gpu: GpuSpec) -> None:
    # loads of 64 lines, 64 look-ups each; the queue holds the one that is looked up and one more. A load issues when
    # the last line of the one QUEUE before it is looked up, in that cycle or in the turn after it
    gpu = altered(gpu, l1={"queue_instructions": QUEUE})
    first = first_issue(gpu) + 3 * TURN
    last = turn(first + (LONG_LOADS - QUEUE) * 64)
    facts = case("long_loads", gpu)
    assert facts.cycles == finished(turn(last + TURN + 1 + SLEEPS * SLEEP_UNIT))
    assert facts.l1.misses == 64


ASSEMBLY.kernel(
    "store_behind_loads",
    f"""
    v_mov_b32 v2, 1
    v_lshlrev_b32 v1, 6, v0
    v_or_b32 v1, {BUFFER_LOW:#x}, v1
{LOAD}{WAIT}
    .rept 3
{LOAD}    .endr
    flat_store_dword v[1:2], v0
{END}""",
)


def test_a_run_ends_when_its_last_store_is_written(gpu: GpuSpec) -> None:
    # s_endpgm issues while the three loads, which hit, are looked up; the store's 64 lines are still to come
    facts = case("store_behind_loads", gpu)
    assert facts.l1.write_transactions == 64


# Five lines, each a whole L1 of one way (4 KiB: 64 sets) after the one before: they share a set of four ways
ASSEMBLY.kernel(
    "five_in_a_set",
    "".join(
        f"    v_mov_b32 v2, 1\n    v_mov_b32 v1, {BUFFER_LOW + 4096 * n:#x}\n{LOAD}{WAIT}"
        for n in (0, 1, 2, 3, 0, 4, 0, 1)
    )
    + END,
)


def test_the_least_recently_used_of_a_set_goes(gpu: GpuSpec) -> None:
    # 0 is used again before 4 comes, so that 4 takes the place of 1: 0 hits, 1 misses and hits L2
    issue = first_issue(gpu)
    path = {"cold": l2_miss, "l1": None, "l2": l2_hit}
    for way in ("cold", "cold", "cold", "cold", "l1", "cold", "l1", "l2"):
        look = issue + ONE_LINE_TURNS + 1
        answer = path[way]
        data = l1_hit_data(gpu, look) if answer is None else l1_miss_data(gpu, answer(gpu, look))
        issue = after_wait(data)
    facts = case("five_in_a_set", gpu)
    assert facts.cycles == finished(issue)
    assert (facts.l1.hits, facts.l1.misses, facts.l2.hits) == (2, 6, 1)
