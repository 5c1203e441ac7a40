"""Exact cases of an L1.5 for each shader array: cold, hit, merges, what the scalar cache finds there, stores."""

from pathlib import Path

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.results.metrics import launch_tree
from gpusim.results.report import topology
from memory.cache.l15 import L15Spec
from tests.exact.machine import (
    END,
    LOAD,
    MACHINES,
    ONE_LINE,
    ONE_LINE_TURNS,
    WAIT,
    after_wait,
    cases,
    finished,
    first_issue,
    l1_miss_data,
    l2_hit,
    l2_miss,
)
from tests.support.assembly import Assembly
from tests.support.machines import altered

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "l15.hsaco")
case = cases(ASSEMBLY)
SPECS = {
    "mi6": L15Spec(model="cycle"),
    "odd": L15Spec(model="cycle", link_cycles=5, hit_latency_cycles=23, fill_latency_cycles=17),
}


@pytest.fixture(params=MACHINES)
def gpu(request: pytest.FixtureRequest) -> GpuSpec:
    """Each machine with an L1.5."""
    return MACHINES[request.param].model_copy(update={"l15": SPECS[request.param]})


def missed(gpu: GpuSpec, look: int) -> int:
    """When the answer of a line that neither L1.5 nor L2 holds arrives at the cache that asked in cycle `look`."""
    return l2_miss(gpu, look + gpu.l15.link_cycles) + gpu.l15.fill_latency_cycles + gpu.l15.link_cycles


def hit(gpu: GpuSpec, look: int) -> int:
    """The same of a line that the L1.5 holds."""
    return look + gpu.l15.link_cycles + gpu.l15.hit_latency_cycles + gpu.l15.link_cycles


ASSEMBLY.kernel("load", ONE_LINE + LOAD + WAIT + END)


def test_a_load_that_misses_everywhere(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    facts = case("load", gpu)
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, missed(gpu, look))))
    assert (facts.l15.misses, facts.l15.read_transactions, facts.l2.misses) == (1, 1, 1)


ASSEMBLY.kernel("invalidated", ONE_LINE + LOAD + WAIT + "    buffer_wbinvl1\n" + WAIT + LOAD + WAIT + END)


def test_what_l1_has_lost_the_l15_still_holds(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    invalidation = after_wait(l1_miss_data(gpu, missed(gpu, look))) + 1
    third = after_wait(invalidation + 1) + 1  # the invalidation looks nothing up; its answer takes a beat
    facts = case("invalidated", gpu)
    assert facts.cycles == finished(after_wait(l1_miss_data(gpu, hit(gpu, third))))
    assert (facts.l15.hits, facts.l15.misses, facts.l2.read_transactions) == (1, 1, 1)
    without = case("invalidated", altered(gpu, l15={"model": "none"}))
    assert without.l15 is None and without.l2.read_transactions == 2


@pytest.mark.parametrize("shared", [True, False])
def test_the_cus_of_an_array_share_it(gpu: GpuSpec, shared: bool) -> None:
    # workgroups 0 and 1 go to two CUs: of one array, where the second's miss joins the first's, or of two arrays
    gpu = gpu.model_copy(update={"shader_arrays": 1 if shared else 2})
    facts = case("load", gpu, workgroups=2)
    assert (facts.l1.misses, facts.l15.misses, facts.l15.mshr_merges) == ((2, 1, 1) if shared else (2, 2, 0))
    assert facts.l2.read_transactions == facts.l15.misses


SCALAR = "    s_mov_b32 s3, 1\n    s_mov_b32 s2, 0x100000\n    s_load_dword s4, s[2:3], 0x0\n    s_waitcnt lgkmcnt(0)\n"
ASSEMBLY.kernel("both", ONE_LINE + LOAD + WAIT + SCALAR + END)


def test_a_scalar_load_finds_there_what_a_vector_load_has_fetched(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    scalar = after_wait(l1_miss_data(gpu, missed(gpu, look))) + 2 * 4 + 1
    facts = case("both", gpu)
    assert facts.cycles == finished(after_wait(hit(gpu, scalar) + gpu.scalar_cache.hit_latency_cycles))
    assert (facts.l15.hits, facts.l15.misses, facts.l2.read_transactions) == (1, 1, 1)


ASSEMBLY.kernel("store", ONE_LINE + "    flat_store_dword v[1:2], v2\n" + WAIT + END)


def test_a_store_goes_on_to_l2_which_answers_through_it(gpu: GpuSpec) -> None:
    look = first_issue(gpu) + ONE_LINE_TURNS + 1
    answer = l2_hit(gpu, look + gpu.l15.link_cycles) + gpu.l15.fill_latency_cycles + gpu.l15.link_cycles
    facts = case("store", gpu)
    assert facts.cycles == finished(after_wait(answer))
    assert (facts.l15.write_transactions, facts.l15.misses, facts.l2.store_transactions) == (1, 1, 1)


def test_its_column_and_its_place(gpu: GpuSpec) -> None:
    tree = launch_tree(case("invalidated", gpu))
    assert tree["l15"]["hit_rate"] == 0.5 and tree["roofline"]["l15"] == 2 / gpu.shader_arrays
    graph = topology.build(gpu)
    topology.check_reach(graph)
    assert list(graph.successors("l1.3")) == list(graph.successors("scalar_cache.1")) == ["l15.1"]
    assert list(graph.successors("l15.1")) == ["crossbar"]
