"""Whole launches on the whole machine: results right, laws kept, and independent of how the simulator runs them."""

from typing import Any

import pytest

from gpusim.lab.checks.bench.bench import chosen_cases, load
from gpusim.model.core import simulator
from gpusim.model.core.cu.dispatch_spec import DispatchSpec
from gpusim.model.core.cu.spec import ComputeUnitSpec
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.machine import new_machine
from gpusim.model.core.simulator import simulate
from memory.cache.instruction import InstructionCacheSpec
from memory.cache.l1_state import L1Spec
from memory.cache.l2_state import L2Spec
from memory.cache.scalar import ScalarCacheSpec
from memory.cache.write_policy import WRITE_POLICIES
from memory.dram.spec import DramSpec
from memory.sets.replacement import POLICIES
from memory.translation.spec import TranslationSpec
from spartan.engine_spec import EngineSpec
from tests.support.compiled import compiled_versions
from tests.support.gemm import random_gemm
from workloads.operators.verify import verify

MI6 = GpuSpec()
ONE_LINE = EngineSpec(sib_kib=1, prefetch_buffer_kib=0.0625, outstanding_columns=4, reads_in_flight=8)
CASES = [
    ("sgemm_dib_tiled", (256, 64, 256), 0.7, EngineSpec()),
    ("sgemm_dib_gather", (64, 64, 300), 0.6, EngineSpec()),
    ("sgemm_dib_registers", (260, 70, 150), 0.6, EngineSpec()),  # edges: of rows, of columns, of a block of B
    ("software", (64, 128, 256), 0.6, None),
    ("software_registers", (260, 70, 150), 0.6, None),
    ("sgemm_wide", (256, 64, 128), 0.6, None),
    ("sgemm_tiled16", (64, 64, 100), 0.6, None),
    ("sgemm_4x4", (64, 64, 100), 0.6, None),
    ("sgemm_dib_tiled", (64, 70, 500), 0.9, ONE_LINE),
]


def run(
    kernel: str,
    shape: tuple[int, int, int],
    sparsity: float,
    engine: EngineSpec | None,
    gpu: GpuSpec = MI6,
    skip_idle: bool = True,
) -> list[dict[str, Any]]:
    """Facts of the launches, apart from host times; the result is checked against NumPy, the laws are asserted."""
    operator = random_gemm(kernel, shape, gpu, sparsity)
    facts = []
    for launch in operator.launches:
        one = simulate(launch, gpu, engine, checked=True, skip_idle=skip_idle)
        facts.append({section: one[section] for section in one if section != "simulator"})
    assert verify(operator).passed
    return facts


@pytest.mark.parametrize(("kernel", "shape", "sparsity", "engine"), CASES)
def test_running_idle_units_or_running_again_changes_nothing(
    kernel: str, shape: tuple[int, int, int], sparsity: float, engine: EngineSpec | None
) -> None:
    first = run(kernel, shape, sparsity, engine)
    assert run(kernel, shape, sparsity, engine) == first
    assert run(kernel, shape, sparsity, engine, skip_idle=False) == first


@pytest.mark.parametrize(
    ("share", "by", "left"),
    [(0.5, "sets", {"size_kib": 32}), (0.875, "sets", {"size_kib": 8}), (0.75, "ways", {"size_kib": 16, "ways": 4})],
)
def test_an_l2_without_the_engines_share_is_a_smaller_l2(share: float, by: str, left: dict[str, int]) -> None:
    own = EngineSpec(l2_share=0)
    with_share = EngineSpec(l2_share=share, l2_partition=by)
    smaller = GpuSpec(l2=L2Spec(channels=4, **left))
    case = "sgemm_dib_gather", (64, 64, 300), 0.6
    small = run(*case, own, smaller)
    assert run(*case, with_share, GpuSpec(l2=L2Spec(channels=4, size_kib=64))) == small
    assert (
        run(*case, own, GpuSpec(l2=L2Spec(channels=4, size_kib=64)))[0]["kernel"]["cycles"]
        < small[0]["kernel"]["cycles"]
    )


def test_another_configuration_does_not_recompile() -> None:
    run("sgemm_dib_tiled", (64, 64, 128), 0.7, EngineSpec())
    before = compiled_versions("timing"), compiled_versions("isa")
    other = GpuSpec(
        shader_arrays=4,
        cus_per_array=4,
        dispatch=DispatchSpec(shader_engines=2, wavefront_cycles=3, order="emptiest"),
        cu=ComputeUnitSpec(schedule="greedy", lds_write_passes=1),
        l1=L1Spec(size_kib=32, ways=8, mshrs=16, replacement="fifo", write="back", write_allocate=True),
        l2=L2Spec(size_kib=4096, channels=32, ways=8, replacement="plru", write="through", write_allocate=False),
        scalar_cache=ScalarCacheSpec(replacement="random"),
        instruction_cache=InstructionCacheSpec(replacement="random"),
        translation=TranslationSpec(l1_replacement="fifo", l2_replacement="plru"),
        dram=DramSpec(standard="hbm2", channels=32, refresh="per_bank", page_policy="timeout"),
    )
    run("sgemm_dib_tiled", (64, 64, 128), 0.7, EngineSpec(sib_kib=64, prefetch_buffer_kib=32), other)
    run("sgemm_4x4", (32, 32, 64), 0.0, None, other)
    assert (compiled_versions("timing"), compiled_versions("isa")) == before


def with_policies(replacement: str, l1: tuple[str, bool], l2: tuple[str, bool]) -> GpuSpec:
    """MI6 with caches so small that they replace lines all the time."""
    return GpuSpec(
        l1=L1Spec(size_kib=1, replacement=replacement, write=l1[0], write_allocate=l1[1]),
        l2=L2Spec(size_kib=16, channels=4, replacement=replacement, write=l2[0], write_allocate=l2[1]),
        scalar_cache=ScalarCacheSpec(size_kib=1, replacement=replacement),
        instruction_cache=InstructionCacheSpec(size_kib=1, replacement=replacement),
        translation=TranslationSpec(
            page_kib=4, l1_entries=4, l2_entries=32, l2_ways=4, l1_replacement=replacement, l2_replacement=replacement
        ),
    )


WRITES = [(write, allocate) for write in WRITE_POLICIES for allocate in (False, True)]


@pytest.mark.parametrize("kernel", ["sgemm_tiled16", "software"])  # the latter has atomics
@pytest.mark.parametrize("replacement", POLICIES)
def test_replacement_policies_keep_laws_and_results(kernel: str, replacement: str) -> None:
    gpu = with_policies(replacement, ("through", False), ("back", True))
    assert all(facts["l2"]["write_backs"] > 0 for facts in run(kernel, (64, 128, 96), 0.6, None, gpu))


@pytest.mark.parametrize("l1", WRITES)
@pytest.mark.parametrize("l2", WRITES)
def test_write_policies_keep_laws_and_results(l1: tuple[str, bool], l2: tuple[str, bool]) -> None:
    found = run("software", (64, 128, 96), 0.6, None, with_policies("lru", l1, l2))
    # the kernel loads nothing that it stores to: without allocation no store finds its line
    assert any(facts["l1"]["write_backs"] for facts in found) == (l1 == ("back", True))
    assert all(bool(facts["l2"]["write_throughs"]) == (l2 != ("back", True)) for facts in found)


def test_each_replacement_policy_gives_cycles_of_its_own() -> None:
    cycles = {
        policy: run("sgemm_tiled16", (64, 128, 96), 0.6, None, with_policies(policy, *WRITES[:2]))[0]["kernel"][
            "cycles"
        ]
        for policy in POLICIES
    }
    assert len(set(cycles.values())) == len(POLICIES), cycles


IDEAL = {
    "instruction_cache": {"model": "ideal"},
    "translation": {"model": "ideal"},
    "crossbar": {"model": "ideal"},
    "dram": {"model": "ideal"},
}


@pytest.mark.parametrize("parts", [IDEAL, {"dram": {"model": "ideal", "ideal_bandwidth_gb_s": 20}}])
def test_ideal_parts_keep_laws_and_rooflines(parts: dict[str, Any]) -> None:
    gpu = GpuSpec.model_validate(parts)
    (facts,) = run("sgemm_4x4", (64, 64, 100), 0.6, None, gpu)
    limited = "ideal_bandwidth_gb_s" in parts["dram"]
    assert (facts["roofline"]["dram"] > 0) == limited
    assert facts["kernel"]["cycles"] != run("sgemm_4x4", (64, 64, 100), 0.6, None)[0]["kernel"]["cycles"]


def decide_no_clock_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    def looking_at_each(*arguments: Any) -> Any:
        m = new_machine(*arguments)
        m.dram.look_ahead = 0
        return m

    monkeypatch.setattr(simulator, "new_machine", looking_at_each)


@pytest.mark.parametrize("standard", ["gddr5", "hbm1"])
def test_dram_channels_that_decide_no_clock_ahead_change_nothing(
    standard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = GpuSpec(dram=DramSpec(standard=standard), l2=L2Spec(size_kib=64))
    expected = run("software", (64, 128, 256), 0.6, None, gpu)
    decide_no_clock_ahead(monkeypatch)
    assert run("software", (64, 128, 256), 0.6, None, gpu) == expected


def test_dram_channels_that_decide_no_clock_ahead_change_nothing_where_writes_crowd(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # long enough for refreshes that fall due between the last write listed and a request under way
    config = load([])
    (case,) = chosen_cases(["transpose_direct"])
    expected = simulate(case.build(config, case.size).launch, config.gpu)
    assert expected.dram.refreshes > 100
    decide_no_clock_ahead(monkeypatch)
    facts = simulate(case.build(config, case.size).launch, config.gpu)
    assert (facts.cycles, facts.dram, facts.l2) == (expected.cycles, expected.dram, expected.l2)
