"""Exact cases of L2: stores, atomics, partly held lines, write-backs, MSHR limits, channels shared by two CUs."""

from pathlib import Path

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from tests.exact.machine import (
    BUFFER_LOW,
    END,
    LANES,
    LOAD,
    ONE_LINE,
    ONE_LINE_TURNS,
    TURN,
    WAIT,
    after_wait,
    cases,
    dram_cycles,
    finished,
    first_issue,
    l1_hit_data,
    l1_miss_data,
    l2_hit,
    l2_miss,
    served,
)
from tests.support.assembly import Assembly
from tests.support.machines import altered

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "l2.hsaco")
case = cases(ASSEMBLY)


# v[1:2] = address of the buffer, the same in all lanes, or lane after lane a dword further on: four lines
FOUR_LINES = f"    v_mov_b32 v2, 1\n    v_lshlrev_b32 v1, 2, v0\n    v_or_b32 v1, {BUFFER_LOW:#x}, v1\n"
FOUR_LINES_TURNS = 3 * TURN
STORE = "    flat_store_dword v[1:2], v0\n"
STORE_PATH = 64 // 4  # cycles of the address and data path that a store or an atomic takes: a quad of lanes a cycle


# --- stores and atomics ---

ASSEMBLY.kernel("store", ONE_LINE + STORE + WAIT + END)
ASSEMBLY.kernel("store_four", FOUR_LINES + STORE + WAIT + END)


def test_a_store_is_acknowledged_by_l2(gpu: GpuSpec) -> None:
    # L2 takes the bytes without a fetch; the acknowledgement needs no fill and no return path
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    facts = case("store", gpu)
    assert facts.cycles == finished(after_wait(l2_hit(gpu, look)))
    assert (facts.l1.write_transactions, facts.l2.misses, facts.dram.reads) == (1, 1, 0)


def test_a_store_of_four_lines_is_four_packets(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + FOUR_LINES_TURNS + 1
    facts = case("store_four", gpu)
    assert facts.cycles == finished(after_wait(l2_hit(gpu, look + 3)))
    assert facts.l1.write_transactions == 4


ASSEMBLY.kernel("store_then_load", ONE_LINE + STORE + WAIT + LOAD + WAIT + END)


def test_a_load_of_a_line_written_in_part_fetches_the_rest(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    second = after_wait(l2_hit(gpu, look)) + 1
    facts = case("store_then_load", gpu)
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, second))))
    assert (facts.l1.hits, facts.dram.reads) == (0, 1)  # L1 allocates no line for a store


ASSEMBLY.kernel("store_four_then_load", FOUR_LINES + STORE + WAIT + LOAD + WAIT + END)


def test_a_load_of_lines_written_whole_hits_l2(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + FOUR_LINES_TURNS + 1
    second = after_wait(l2_hit(gpu, look + 3)) + 1
    facts = case("store_four_then_load", gpu)
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, l2_hit(gpu, second + 3))))
    assert (facts.l2.hits, facts.l2.read_hits, facts.dram.reads) == (4, 4, 0)


# a store, and a load of a line that L1 holds, which is ready before the store's acknowledgement
ASSEMBLY.kernel(
    "store_and_load",
    ONE_LINE
    + f"    v_mov_b32 v7, 1\n    v_mov_b32 v6, {BUFFER_LOW + 4096:#x}\n    flat_load_dword v5, v[6:7]\n"
    + WAIT
    + STORE
    + "    flat_load_dword v5, v[6:7]\n"
    + WAIT
    + END,
)


def test_vmcnt_counts_down_in_order_over_stores_and_loads(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + 2 * ONE_LINE_TURNS + 1
    store = after_wait(l1_miss_data(gpu, l2_miss(gpu, look))) + 1
    acknowledged = l2_hit(gpu, store)
    assert l1_hit_data(gpu, store + STORE_PATH) < acknowledged
    assert case("store_and_load", gpu).cycles == finished(after_wait(acknowledged))


ASSEMBLY.kernel("atomic", ONE_LINE + "    flat_atomic_add v[1:2], v0\n" + WAIT + END)
ASSEMBLY.kernel("atomic_return", ONE_LINE + "    flat_atomic_add v4, v[1:2], v0 glc\n" + WAIT + END)
ASSEMBLY.kernel("atomic_warm", ONE_LINE + LOAD + WAIT + "    flat_atomic_add v[1:2], v0\n" + WAIT + END)
ASSEMBLY.kernel("atomic_return_warm", ONE_LINE + LOAD + WAIT + "    flat_atomic_add v4, v[1:2], v0 glc\n" + WAIT + END)
ASSEMBLY.kernel("atomic_four", FOUR_LINES + "    flat_atomic_add v[1:2], v0\n" + WAIT + END)


@pytest.mark.parametrize("returns", [False, True])
@pytest.mark.parametrize("warm", [False, True])
def test_an_atomic_is_done_at_l2(gpu: GpuSpec, returns: bool, warm: bool) -> None:
    # the line is fetched if it is not there; an old value comes back through fill and return path, an acknowledgement
    # does not. All lanes change one dword: a packet for each lane, one a cycle on the way there and on the way back
    issue = first_issue(gpu) + ONE_LINE_TURNS
    answer = l2_miss(gpu, issue + 1)
    if warm:
        issue = after_wait(l1_miss_data(gpu, answer))
        answer = l2_hit(gpu, issue + 1)
    answer += LANES - 1
    facts = case("atomic" + "_return" * returns + "_warm" * warm, gpu)
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, answer, STORE_PATH) if returns else answer))
    assert (facts.dram.reads, facts.l1.write_transactions) == (1, LANES)
    assert (facts.l2.read_transactions, facts.l2.store_transactions) == (int(warm), 0)
    assert facts.l2.atomic_transactions == LANES


def test_an_atomic_of_four_lines_is_four_packets(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + FOUR_LINES_TURNS + 1
    assert case("atomic_four", gpu).cycles == finished(after_wait(l2_miss(gpu, look + 3)))


# --- limits: each of four lines waits for the one before ---

ASSEMBLY.kernel("load_four", FOUR_LINES + LOAD + WAIT + END)


def test_four_lines_are_fetched_together(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + FOUR_LINES_TURNS + 1
    assert case("load_four", gpu).cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, look + 3))))


def test_in_lines_of_128_bytes_the_second_half_follows_the_first(gpu: GpuSpec) -> None:
    # of each pair the first misses, DRAM is asked for its half, and in the next cycle for the other, for which the
    # second request waits, too; the two answers of the last pair leave one after the other
    look = first_issue(gpu) + FOUR_LINES_TURNS + 1
    facts = case("load_four", altered(gpu, l2={"line_bytes": 128}))
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, look + 3 + 1))))
    assert (facts.l2.misses, facts.l2.mshr_merges, facts.l2.paired_fetches, facts.dram.reads) == (2, 2, 2, 4)


def test_with_one_mshr_in_l2_they_are_fetched_one_after_another(gpu: GpuSpec) -> None:
    # a fill frees the MSHR for the request that waits, which is served in the same cycle
    look = first_issue(gpu) + FOUR_LINES_TURNS + 1
    facts = case("load_four", altered(gpu, l2={"mshrs_per_channel": 1}))
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, look) + 3 * dram_cycles(gpu))))
    # the oldest request waits from the cycle after it follows to the fill
    assert facts.l2.full_stall_cycles == 3 * (dram_cycles(gpu) - 1)


def test_with_one_mshr_in_l1_they_are_asked_for_one_after_another(gpu: GpuSpec) -> None:
    # an answer frees the MSHR for the line that waits, which is looked up in the same cycle
    look = first_issue(gpu) + FOUR_LINES_TURNS + 1
    round_trip = l2_miss(gpu, look) - look
    facts = case("load_four", altered(gpu, l1={"mshrs": 1}))
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, look + 4 * round_trip)))
    assert facts.l1.full_stall_cycles == 3 * (round_trip - 1)


def test_with_one_store_in_flight_they_are_written_one_after_another(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + FOUR_LINES_TURNS + 1
    round_trip = l2_hit(gpu, look) - look
    facts = case("store_four", altered(gpu, l1={"stores_in_flight": 1}))
    assert facts.cycles == finished(after_wait(look + 4 * round_trip))


# --- write-backs: an L2 of one way, 1 KiB; a second line of the set throws the first one out ---

TINY = {"size_kib": 1, "channels": 1, "ways": 1}
LINE_CYCLES = 10  # of the DRAM's bandwidth
ASSEMBLY.kernel(
    "evict_dirty",
    ONE_LINE + STORE + WAIT + f"    v_mov_b32 v1, {BUFFER_LOW + 1024:#x}\n" + LOAD + WAIT + END,
)
ASSEMBLY.kernel(
    "evict_clean",
    ONE_LINE + LOAD + WAIT + f"    v_mov_b32 v1, {BUFFER_LOW + 1024:#x}\n" + LOAD + WAIT + END,
)


@pytest.mark.parametrize("dirty", [True, False])
def test_a_dirty_line_is_written_back_before_the_fetch(gpu: GpuSpec, dirty: bool) -> None:
    # a DRAM of one channel in which each line takes LINE_CYCLES: the fetch of the second line follows the write-back
    bandwidth = 64 / LINE_CYCLES * gpu.clock_ghz
    gpu = altered(gpu, l2=TINY, dram={"channels": 1, "ideal_bandwidth_gb_s": bandwidth})
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    if dirty:
        issue = after_wait(l2_hit(gpu, look)) + TURN
    else:
        issue = after_wait(l1_miss_data(gpu, l2_miss(gpu, look) + LINE_CYCLES)) + TURN
    lines = 2 if dirty else 1
    facts = case("evict_dirty" if dirty else "evict_clean", gpu)
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, issue + 1) + lines * LINE_CYCLES)))
    assert (facts.l2.write_backs, facts.dram.writes) == (dirty, dirty)


# --- two CUs: 16 lines each, of one channel or of two ---

LINES = 16
BLOCK = LINES * 64
for _name, _apart in (("one_channel", 16 * BLOCK), ("two_channels", BLOCK)):
    ASSEMBLY.kernel(
        _name,
        f"""
    s_mul_i32 s1, s0, {_apart}
    v_mov_b32 v2, 1
    v_lshlrev_b32 v1, 4, v0
    v_or_b32 v1, {BUFFER_LOW:#x}, v1
    v_add_u32 v1, vcc, s1, v1
    flat_load_dwordx4 v[4:7], v[1:2]
{WAIT}{END}""",
    )


@pytest.mark.parametrize("shared", [True, False])
def test_a_channel_serves_one_packet_a_cycle(gpu: GpuSpec, shared: bool) -> None:
    gpu = altered(gpu, l2={"interleave_bytes": BLOCK})
    looks = [first_issue(gpu, workgroup=k) + 5 * TURN + 1 for k in range(2)]
    assert 0 <= looks[1] - looks[0] < LINES
    if shared:
        # the channel never rests: the last of both CUs' packets is the 32nd; it is the second CU's if that one came
        # later. If both came together the channel takes them alternately, first the lower port
        last = l2_miss(gpu, looks[0] + 2 * LINES - 1)
    else:
        last = l2_miss(gpu, looks[1] + LINES - 1)
    facts = case("one_channel" if shared else "two_channels", gpu, workgroups=2)
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, last, beats=16)))
    assert served(gpu, looks[0]) < served(gpu, looks[1]) + LINES
    assert facts.l2.misses == 2 * LINES


for _name, _apart in (("one_channel_stores", 16 * BLOCK), ("two_channels_stores", BLOCK)):
    ASSEMBLY.kernel(
        _name,
        f"""
    s_mul_i32 s1, s0, {_apart}
    v_mov_b32 v2, 1
    v_lshlrev_b32 v1, 4, v0
    v_or_b32 v1, {BUFFER_LOW:#x}, v1
    v_add_u32 v1, vcc, s1, v1
    flat_store_dwordx4 v[1:2], v[4:7]
{WAIT}{END}""",
    )


@pytest.mark.parametrize("name", ["one_channel_stores", "two_channels_stores"])
@pytest.mark.parametrize("port_bytes", [64, 128])
def test_a_channel_of_128_bytes_serves_both_halves_of_a_line_in_a_cycle(
    gpu: GpuSpec, name: str, port_bytes: int
) -> None:
    gpu = altered(gpu, l2={"interleave_bytes": BLOCK, "line_bytes": 128, "port_bytes": port_bytes})
    looks = [first_issue(gpu, workgroup=k) + 5 * TURN + 1 for k in range(2)]
    if name == "one_channel_stores" and port_bytes == 64:
        last = l2_hit(gpu, looks[0] + 2 * LINES - 1)
    else:
        # two CUs send a packet a cycle each, and a channel that takes a pair of one and of the other in turn keeps up
        last = l2_hit(gpu, looks[1] + LINES - 1)
    assert case(name, gpu, workgroups=2).cycles == finished(after_wait(last))
