"""Exact cases of instruction fetch: cold and warm code, prefetch, taken branches, CUs that share a cache or L2."""

from pathlib import Path
from typing import Any

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from tests.exact.machine import MACHINES, TURN, cases, condition, finished, first_issue, l2_miss, turn
from tests.support.assembly import Assembly
from tests.support.machines import altered

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "fetch.hsaco")
case = cases(ASSEMBLY)
FETCH = 1  # cycles from a redirection, or from space in the buffer, to the look-up


def fetching(gpu: GpuSpec, **values: Any) -> GpuSpec:
    """The machine with instruction fetch."""
    return altered(gpu, instruction_cache={"model": "cycle", **values})


@pytest.fixture(params=MACHINES)
def gpu(request: pytest.FixtureRequest) -> GpuSpec:
    return fetching(MACHINES[request.param])


def missed(gpu: GpuSpec, look: int) -> int:
    """When code whose line is nowhere near, looked up in cycle `look`, is in the instruction buffer."""
    return l2_miss(gpu, look) + gpu.instruction_cache.hit_latency_cycles


def found(gpu: GpuSpec, look: int) -> int:
    """The same for a line that the instruction cache holds."""
    return look + gpu.instruction_cache.hit_latency_cycles


# 64 KiB of LDS: a CU holds one workgroup, the next one comes when it has ended
ASSEMBLY.kernel("end", "    s_endpgm", lds_bytes=65536)


def test_cold_code(gpu: GpuSpec) -> None:
    facts = case("end", gpu)
    issue = turn(missed(gpu, FETCH))
    assert issue > first_issue(gpu)
    assert facts.cycles == finished(issue)
    # to the turn after the launch latency it is idle, then it waits for the instruction
    assert facts.stalls["instruction_fetch"] == issue - first_issue(gpu)
    assert (facts.instruction_cache.misses, facts.l2.misses) == (1, 1)


@pytest.mark.parametrize("hit_latency", [5, 60])
def test_warm_code(gpu: GpuSpec, hit_latency: int) -> None:
    # one CU; the second workgroup is dispatched in the cycle in which the first one ends. Its fetch hides behind the
    # launch latency, if it is shorter
    gpu = fetching(gpu, hit_latency_cycles=hit_latency).model_copy(update={"shader_arrays": 1, "cus_per_array": 1})
    ended = turn(missed(gpu, FETCH))
    issue = turn(ended + max(gpu.cu.launch_cycles, found(gpu, FETCH)))
    facts = case("end", gpu, workgroups=2)
    assert facts.cycles == finished(issue)
    assert (facts.instruction_cache.misses, facts.instruction_cache.hits) == (1, 1)


def test_two_cus_of_an_array_ask_l2_once(gpu: GpuSpec) -> None:
    # the line that comes goes to both
    gpu = gpu.model_copy(update={"shader_arrays": 1})
    facts = case("end", gpu, workgroups=2)
    assert facts.cycles == finished(turn(missed(gpu, FETCH)))
    assert (facts.instruction_cache.misses, facts.instruction_cache.mshr_merges, facts.l2.read_transactions) == (
        1,
        1,
        1,
    )


def test_two_arrays_ask_l2_each(gpu: GpuSpec) -> None:
    # the second request joins L2's MSHR; its answer leaves a cycle after the first one's
    facts = case("end", gpu, workgroups=2)
    assert facts.cycles == finished(turn(missed(gpu, FETCH) + 1))
    assert (facts.instruction_cache.misses, facts.l2.misses, facts.l2.mshr_merges) == (2, 1, 1)


LINES, LINE_INSTRUCTIONS = 5, 8  # instructions of 8 bytes; two granules of 32 bytes a line
GRANULE_INSTRUCTIONS = 4
# the last line ends with s_endpgm as its eighth instruction
ASSEMBLY.kernel(
    "straight",
    f"""
    .rept {LINES * LINE_INSTRUCTIONS - 1}
    v_add_f32 v1, 0x3f8ccccd, v0
    .endr
    s_endpgm
    """,
)


@pytest.mark.parametrize("prefetch", [0, 1, 2, 4])
def test_straight_cold_code(gpu: GpuSpec, prefetch: int) -> None:
    # the buffer holds two granules: when the wavefront issues the last instruction of a line's first one, there is
    # space for the next line's first. A missing line brings the `prefetch` lines after it, a cycle or more after it:
    # they are there in time
    gpu = fetching(gpu, prefetch_lines=prefetch)
    start = turn(missed(gpu, FETCH))
    for line in range(1, LINES):
        look = start + (GRANULE_INSTRUCTIONS - 1) * TURN + FETCH
        there = found(gpu, look) if line % (1 + prefetch) else missed(gpu, look)
        start = max(start + LINE_INSTRUCTIONS * TURN, turn(there))
    facts = case("straight", gpu)
    assert facts.cycles == finished(start + (LINE_INSTRUCTIONS - 1) * TURN)
    misses = -(-LINES // (1 + prefetch))
    assert (facts.instruction_cache.misses, facts.instruction_cache.prefetches) == (misses, LINES - misses)


PASSES = 6
ASSEMBLY.kernel(
    "loop",
    f"""
    s_movk_i32 s1, {PASSES}
.Lagain:
    s_sub_u32 s1, s1, 1
    s_cmp_lg_u32 s1, 0
    s_cbranch_scc1 .Lagain
    s_endpgm
    """,
)


@pytest.mark.parametrize("hit_latency", [5, 17, 60])
def test_a_taken_branch_waits_for_the_branch_or_for_the_fetch(gpu: GpuSpec, hit_latency: int) -> None:
    # a taken branch empties the instruction buffer; its target is in the cache, looked up a cycle after the issue. A
    # fetch that takes no longer than the branch costs nothing
    gpu = fetching(gpu, hit_latency_cycles=hit_latency)
    taken = turn(max(gpu.cu.branch_cycles, found(gpu, FETCH)))
    start = turn(missed(gpu, FETCH))
    facts = case("loop", gpu)
    to_the_branch = TURN + condition(gpu)
    assert facts.cycles == finished(start + TURN + PASSES * to_the_branch + (PASSES - 1) * taken + TURN)


ASSEMBLY.kernel("far", "    s_cbranch_scc0 .Lfar\n    s_nop 0\n    .p2align 8\n.Lfar:\n    s_endpgm")


def test_a_branch_to_cold_code(gpu: GpuSpec) -> None:
    # four lines further on, past what is prefetched
    branch = turn(missed(gpu, FETCH))
    assert case("far", gpu).cycles == finished(turn(missed(gpu, branch + FETCH)))
