"""Exact cases of address translation: page walks, hits in the L2 TLB and in the L1 TLB, pages of one load, fetch."""

from pathlib import Path
from typing import Any

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from tests.exact.machine import (
    BUFFER_LOW,
    END,
    MACHINES,
    TURN,
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

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "translation.hsaco")
case = cases(ASSEMBLY)
PAGE_BYTES = 0x10000
TO_L2_TLB = 1  # cycles from a miss in an L1 TLB to the look-up in the L2 TLB


def translating(gpu: GpuSpec, **values: Any) -> GpuSpec:
    """The machine with address translation."""
    return altered(gpu, translation={"model": "cycle", "page_kib": 64, **values})


@pytest.fixture(params=MACHINES)
def gpu(request: pytest.FixtureRequest) -> GpuSpec:
    # other latencies on the other machine
    values = {"l2_latency_cycles": 53, "walk_cycles": 411} if request.param == "odd" else {}
    return translating(MACHINES[request.param], **values)


def walked(gpu: GpuSpec, look: int) -> int:
    """When a line may be looked up that is first tried in cycle `look`, in a page that no TLB holds."""
    return found_in_l2_tlb(gpu, look) + gpu.translation.walk_cycles


def found_in_l2_tlb(gpu: GpuSpec, look: int) -> int:
    """The same for a page that the L2 TLB holds."""
    return look + TO_L2_TLB + gpu.translation.l2_latency_cycles


def address(offset: int) -> str:
    return f"    v_mov_b32 v2, 1\n    v_mov_b32 v1, {BUFFER_LOW + offset:#x}\n"


ADDRESS_TURNS = 2 * TURN
LOAD = "    flat_load_dword v4, v[1:2]\n    s_waitcnt vmcnt(0)\n"
ASSEMBLY.kernel("load", address(0) + LOAD + END)


def test_the_first_load_waits_for_a_page_walk(gpu: GpuSpec) -> None:
    look = walked(gpu, first_issue(gpu) + ADDRESS_TURNS + 1)
    assert case("load", gpu).cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, look))))


def test_the_ideal_model_takes_its_latency(gpu: GpuSpec) -> None:
    gpu = altered(gpu, translation={"model": "ideal", "ideal_latency_cycles": 77})
    look = first_issue(gpu) + ADDRESS_TURNS + 1 + 77
    assert case("load", gpu).cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, look))))


ASSEMBLY.kernel("back_and_forth", "".join(address(offset) + LOAD for offset in (0, PAGE_BYTES, 0)) + END)


@pytest.mark.parametrize("entries", [1, 2])
def test_an_l1_tlb_of_one_page_and_of_two(gpu: GpuSpec, entries: int) -> None:
    # the third load's line is in L1; its page is in the L1 TLB, or, after the other page took its place, in the L2 TLB
    gpu = translating(gpu, l1_entries=entries)
    issue = first_issue(gpu) + ADDRESS_TURNS
    for _ in range(2):
        look = walked(gpu, issue + 1)
        issue = after_wait(l1_miss_data(gpu, l2_miss(gpu, look))) + ADDRESS_TURNS
    look = issue + 1 if entries == 2 else found_in_l2_tlb(gpu, issue + 1)
    assert case("back_and_forth", gpu).cycles == finished(after_wait(l1_hit_data(gpu, look)))


ASSEMBLY.kernel("next_4_kib", address(0) + LOAD + address(4096) + LOAD + END)


@pytest.mark.parametrize("page_kib", [4, 64, 2048])
def test_a_line_4_kib_further_on(gpu: GpuSpec, page_kib: int) -> None:
    gpu = translating(gpu, page_kib=page_kib)
    look = walked(gpu, first_issue(gpu) + ADDRESS_TURNS + 1)
    second = after_wait(l1_miss_data(gpu, l2_miss(gpu, look))) + ADDRESS_TURNS + 1
    if page_kib == 4:
        second = walked(gpu, second)
    assert case("next_4_kib", gpu).cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, second))))


# lanes 32 to 63 load from the next page
ASSEMBLY.kernel(
    "two_pages",
    f"""
    v_mov_b32 v2, 1
    v_lshrrev_b32 v1, 5, v0
    v_lshlrev_b32 v1, 16, v1
    v_add_u32 v1, vcc, {BUFFER_LOW:#x}, v1
{LOAD}{END}""",
)


@pytest.mark.parametrize("walkers", [1, 2])
def test_two_pages_of_one_load(gpu: GpuSpec, walkers: int) -> None:
    # while the first line waits for its page, the second one's is asked for, a cycle later; its walk follows the first
    # one's on a single walker, and takes place beside it on two
    gpu = translating(gpu, walkers=walkers)
    first = walked(gpu, first_issue(gpu) + 4 * TURN + 1)
    second = first + (gpu.translation.walk_cycles if walkers == 1 else 1)
    assert case("two_pages", gpu).cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, second))))


def test_two_cus_share_a_walk(gpu: GpuSpec) -> None:
    # the second CU's request joins the first one's walk; both look the line up in the cycle in which it is done, and L2
    # answers one after the other
    look = walked(gpu, first_issue(gpu) + ADDRESS_TURNS + 1)
    facts = case("load", gpu, workgroups=2)
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, l2_miss(gpu, look) + 1)))
    assert (facts.l2.misses, facts.l2.mshr_merges) == (1, 1)


ASSEMBLY.kernel(
    "scalar",
    "    s_mov_b32 s3, 1\n    s_mov_b32 s2, 0x100000\n    s_load_dword s4, s[2:3], 0x0\n    s_waitcnt lgkmcnt(0)\n"
    + END,
)


def test_a_scalar_load_waits_for_a_page_walk(gpu: GpuSpec) -> None:
    look = walked(gpu, first_issue(gpu) + 2 * TURN + 1)
    data = l2_miss(gpu, look) + gpu.scalar_cache.hit_latency_cycles
    assert case("scalar", gpu).cycles == finished(after_wait(data))


ASSEMBLY.kernel("end", END)


def test_cold_code_waits_for_a_page_walk(gpu: GpuSpec) -> None:
    # fetch looks the first line up a cycle after the dispatch
    gpu = altered(gpu, instruction_cache={"model": "cycle"})
    there = l2_miss(gpu, walked(gpu, 1)) + gpu.instruction_cache.hit_latency_cycles
    assert case("end", gpu).cycles == finished(turn(there))


# workgroup 0 loads at once, workgroup 1, on another CU, after a sleep
ASSEMBLY.kernel(
    "load_later",
    f"""
    s_cmp_eq_u32 s0, 0
    s_nop 15
    s_cbranch_scc1 .Lnow
    s_sleep 40
.Lnow:
{address(0)}{LOAD}{END}""",
)


def test_a_line_that_l2_holds_in_a_page_that_the_l2_tlb_holds(gpu: GpuSpec) -> None:
    # workgroup 1 comes when the page is in the L2 TLB and the line in L2; nothing of it is on its own CU
    nop = first_issue(gpu, workgroup=1) + TURN
    sleep = turn(nop + 16) + TURN
    look = turn(sleep + 1 + 64 * 40) + ADDRESS_TURNS + 1
    facts = case("load_later", gpu, workgroups=2)
    data = l1_miss_data(gpu, l2_hit(gpu, found_in_l2_tlb(gpu, look)))
    assert facts.cycles == finished(after_wait(data))
    assert (facts.l2.hits, facts.l2.misses) == (1, 1)
