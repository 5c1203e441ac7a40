"""Whole launches on the whole machine: results right, laws kept, and independent of how the simulator runs them."""

import dataclasses
from typing import Any

import pytest

from gpusim.bench.bench import chosen_cases, load
from gpusim.core import simulator
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.machine import new_machine
from gpusim.core.simulator import simulate
from gpusim.jit import compiled_versions
from isa.device_memory import DeviceMemory
from memory.cache.l1 import L1Spec
from memory.cache.l2 import L2Spec
from memory.dram.spec import DramSpec
from spartan.engine_spec import EngineSpec
from workloads.data.patterns import fill_synthetic, fill_weights
from workloads.operators.gemm import GemmBuffers, GemmShape, gemm_run

MI6 = GpuSpec()
ONE_LINE = EngineSpec(sib_kib=1, prefetch_buffer_kib=0.0625, outstanding_columns=4, reads_in_flight=8)
CASES = [
    ("sgemm_dib_tiled", (256, 64, 256), 0.7, EngineSpec()),
    ("sgemm_dib_gather", (64, 64, 300), 0.6, EngineSpec()),
    ("software", (64, 128, 256), 0.6, None),
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
    gemm = GemmShape(*shape)
    buffers = GemmBuffers.allocate(gemm, DeviceMemory(1 << 28))
    fill_weights(buffers.a_stored, gemm, 1)
    fill_synthetic(buffers.b_stored, gemm, sparsity, 1)
    buffers.seal()
    job = gemm_run(kernel, buffers, gpu.cus)
    facts = []
    for launch in job.launches:
        one = dataclasses.asdict(simulate(launch, gpu, engine, checked=True, skip_idle=skip_idle))
        facts.append({k: v for k, v in one.items() if k not in ("wall_s", "cpu_s", "compile_s")})
    assert job.verify().passed
    return facts


@pytest.mark.parametrize(("kernel", "shape", "sparsity", "engine"), CASES)
def test_running_idle_units_or_running_again_changes_nothing(
    kernel: str, shape: tuple[int, int, int], sparsity: float, engine: EngineSpec | None
) -> None:
    first = run(kernel, shape, sparsity, engine)
    assert run(kernel, shape, sparsity, engine) == first
    assert run(kernel, shape, sparsity, engine, skip_idle=False) == first


def test_another_configuration_does_not_recompile() -> None:
    run("sgemm_dib_tiled", (64, 64, 128), 0.7, EngineSpec())
    before = compiled_versions("timing"), compiled_versions("isa")
    other = GpuSpec(
        shader_arrays=4,
        cus_per_array=4,
        l1=L1Spec(size_kib=32, ways=8, mshrs=16),
        l2=L2Spec(size_kib=4096, channels=32, ways=8),
        dram=DramSpec(standard="hbm1", channels=32),
    )
    run("sgemm_dib_tiled", (64, 64, 128), 0.7, EngineSpec(sib_kib=64, prefetch_buffer_kib=32), other)
    run("sgemm_4x4", (32, 32, 64), 0.0, None, other)
    assert (compiled_versions("timing"), compiled_versions("isa")) == before


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
    assert facts["cycles"] != run("sgemm_4x4", (64, 64, 100), 0.6, None)[0]["cycles"]


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
