"""Exact cases of scalar loads: cold, hit in the shared cache, merges, two lines, invalidation, two CUs of an array."""

from pathlib import Path

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from tests.exact.machine import END, TURN, after_wait, cases, finished, first_issue, l2_hit, l2_miss, turn
from tests.support.assembly import Assembly
from tests.support.machines import altered

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "scalar_cache.hsaco")
case = cases(ASSEMBLY)


# s[2:3] = machine.BUFFER
ADDRESS = "    s_mov_b32 s3, 1\n    s_mov_b32 s2, 0x100000\n"
ADDRESS_TURNS = 2 * TURN
LOAD = "    s_load_dword s4, s[2:3], 0x0\n"
WAIT = "    s_waitcnt lgkmcnt(0)\n"


def miss_data(gpu: GpuSpec, answer: int) -> int:
    """When the scalar registers hold the data of a load whose last answer arrives in cycle `answer`."""
    return answer + gpu.scalar_cache.hit_latency_cycles


ASSEMBLY.kernel("load", ADDRESS + LOAD + WAIT + END)


def test_a_load_that_misses_everywhere(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ADDRESS_TURNS + 1
    facts = case("load", gpu)
    assert facts.cycles == finished(after_wait(miss_data(gpu, l2_miss(gpu, look))))
    assert (facts.scalar_cache.misses, facts.l2.misses) == (1, 1)


ASSEMBLY.kernel("load_again", ADDRESS + LOAD + WAIT + LOAD + WAIT + END)


def test_a_load_that_hits(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ADDRESS_TURNS + 1
    second = after_wait(miss_data(gpu, l2_miss(gpu, look))) + 1
    facts = case("load_again", gpu)
    assert facts.cycles == finished(after_wait(second + gpu.scalar_cache.hit_latency_cycles))
    assert (facts.scalar_cache.hits, facts.scalar_cache.misses) == (1, 1)


ASSEMBLY.kernel("invalidated", ADDRESS + LOAD + WAIT + "    s_dcache_inv\n" + WAIT + LOAD + WAIT + END)


def test_after_an_invalidation_a_load_hits_l2(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ADDRESS_TURNS + 1
    invalidation = after_wait(miss_data(gpu, l2_miss(gpu, look))) + 1
    third = after_wait(invalidation + gpu.scalar_cache.hit_latency_cycles) + 1
    facts = case("invalidated", gpu)
    assert facts.cycles == finished(after_wait(miss_data(gpu, l2_hit(gpu, third))))
    assert (facts.scalar_cache.misses, facts.l2.hits) == (2, 1)


def test_each_array_empties_its_own_cache(gpu: GpuSpec) -> None:
    facts = case("invalidated", gpu, workgroups=2)
    assert gpu.shader_arrays == 2
    assert (facts.scalar_cache.misses, facts.scalar_cache.hits) == (4, 0)


ASSEMBLY.kernel(
    "a_line_in_parts",
    ADDRESS
    + "    s_load_dwordx8 s[4:11], s[2:3], 0x0\n    s_load_dwordx4 s[4:7], s[2:3], 0x20\n"
    + "    s_load_dwordx2 s[4:5], s[2:3], 0x30\n"
    + WAIT
    + END,
)


def test_loads_of_a_missing_line_ask_l2_once(gpu: GpuSpec) -> None:
    # the answer serves all three in one cycle
    look = first_issue(gpu) + ADDRESS_TURNS + 1
    facts = case("a_line_in_parts", gpu)
    assert facts.cycles == finished(after_wait(miss_data(gpu, l2_miss(gpu, look))))
    assert (facts.scalar_cache.misses, facts.scalar_cache.mshr_merges, facts.l2.read_transactions) == (1, 2, 1)


def test_the_bound_of_scalar_issue_counts_scalar_loads(gpu: GpuSpec) -> None:
    # a wavefront's two s_mov_b32 and three loads, one a cycle on each of four CUs; s_waitcnt and s_endpgm need no unit
    for wavefronts in (1, 3):
        assert case("a_line_in_parts", gpu, wavefronts=wavefronts).roofline.salu == wavefronts * (2 + 3) / 4


ASSEMBLY.kernel("two_lines", ADDRESS + "    s_load_dwordx16 s[4:19], s[2:3], 0x20\n" + WAIT + END, sgprs=24)


def test_a_load_over_a_border_takes_two_look_ups(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ADDRESS_TURNS + 1
    facts = case("two_lines", gpu)
    assert facts.cycles == finished(after_wait(miss_data(gpu, l2_miss(gpu, look + 1))))
    assert facts.scalar_cache.misses == 2


@pytest.mark.parametrize("shared", [True, False])
def test_the_cus_of_an_array_share_a_cache(gpu: GpuSpec, shared: bool) -> None:
    # workgroups 0 and 1 go to two CUs: of one array, where the second load joins the first one's miss, or of two
    # arrays, where L2 answers one after the other
    gpu = gpu.model_copy(update={"shader_arrays": 1 if shared else 2})
    starts = [first_issue(gpu, workgroup=k) for k in range(2)]
    answer = l2_miss(gpu, starts[0] + ADDRESS_TURNS + 1)
    facts = case("load", gpu, workgroups=2)
    data = miss_data(gpu, answer if shared else answer + 1)
    assert facts.cycles == finished(after_wait(data))
    assert facts.scalar_cache.misses == (1 if shared else 2)
    assert facts.scalar_cache.mshr_merges == (1 if shared else 0)
    assert (facts.l2.misses, facts.l2.mshr_merges) == (1, 0 if shared else 1)


ASSEMBLY.kernel("store", ADDRESS + "    s_store_dword s2, s[2:3], 0x0\n" + WAIT + END)


def test_a_scalar_store_is_written_through_to_l2(gpu: GpuSpec) -> None:
    # L2 allocates without a fetch; its acknowledgement comes back as an answer does
    look = first_issue(gpu) + ADDRESS_TURNS + 1
    facts = case("store", gpu)
    assert facts.cycles == finished(after_wait(miss_data(gpu, l2_hit(gpu, look))))
    assert (facts.scalar_cache.write_transactions, facts.dram.reads) == (1, 0)


LOADS = 10
ASSEMBLY.kernel("row_of_loads", ADDRESS + LOAD + WAIT + LOAD * LOADS + WAIT + END)


def test_hits_in_a_row_issue_every_turn(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ADDRESS_TURNS + 1
    first = after_wait(miss_data(gpu, l2_miss(gpu, look)))
    last = first + (LOADS - 1) * TURN
    facts = case("row_of_loads", gpu)
    assert facts.cycles == finished(after_wait(last + 1 + gpu.scalar_cache.hit_latency_cycles))


ASSEMBLY.kernel("too_many", ADDRESS + LOAD + WAIT + LOAD * 16 + END)


def test_the_sixteenth_load_in_flight_waits_for_the_first(gpu: GpuSpec) -> None:
    # lgkmcnt has four bits; with a cache of 100 cycles the first is back after the fifteenth has issued
    gpu = altered(gpu, scalar_cache={"hit_latency_cycles": 100})
    look = first_issue(gpu) + ADDRESS_TURNS + 1
    first = after_wait(miss_data(gpu, l2_miss(gpu, look)))
    back = first + 1 + 100
    facts = case("too_many", gpu)
    assert facts.cycles == finished(turn(back) + TURN)
    assert facts.stalls["memory_throttle"] == back - (first + 15 * TURN)
