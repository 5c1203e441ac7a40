"""Does `gpusim run` do what it says: every kernel verified, JSON complete, same metrics twice, files kept whole?"""

import json
import signal
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import yaml

from gpusim.cli.main import invoke
from gpusim.config.run import load_run
from gpusim.jobs.running import operators
from tests.support.interrupted import interrupted
from workloads.operators.operator import Operator
from workloads.operators.verify import Verification, verify

SMALL = {
    "workload.batch": 2,
    "workload.data": "synthetic",
    "workload.layer.input_channels": 16,
    "workload.layer.output_channels": 64,
}


def small(*arguments: str) -> list[str]:
    sets = [text for path, value in SMALL.items() for text in ("--set", f"{path}={value}")]
    return ["run", "layerB.yaml", "--checked", *sets, *arguments]


def result(folder: Path, *arguments: str) -> dict:
    path = folder / "result.json"
    assert invoke(small("--quiet", "--json", str(path), *arguments)) == 0
    return json.loads(path.read_text())


def without_simulator(run: dict) -> dict:
    """Of the run and of each of its launches."""
    kept = {key: value for key, value in run.items() if key != "simulator"}
    return {**kept, **({"launches": [without_simulator(one) for one in run["launches"]]} if "launches" in run else {})}


def test_a_cycle_limit_ends_the_run_in_its_first_variant(tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    assert invoke(small("--quiet", "--engine", "both", "--max-cycles", "2000", "--json", str(path))) == 1
    run = json.loads(path.read_text())
    assert (run["partial"], run["stopped_by"], run["sparse"]) == (True, "cycle limit", None)
    assert run["dense"]["kernel"]["cycles"] == 2000 and run["dense"]["verification"] is None
    assert sum(row["count"] for row in run["dense"]["resident_wavefronts"]) > 0


@pytest.mark.parametrize(
    ("engine", "kernel"),
    [
        ("off", "kernels.dense=sgemm"),
        ("off", "kernels.dense=sgemm_4x4"),
        ("off", "kernels.dense=sgemm_tiled16"),
        ("on", "kernels.sparse=sgemm_dib_tiled"),
        ("off", "kernels.dense=mmm_local"),
        ("on", "kernels.sparse=sgemm_dib_gather"),
        ("on", "kernels.sparse=dib_algorithm3"),
        ("on", "kernels.sparse=software"),
    ],
)
def test_every_kernel_is_verified_and_its_counts_obey_the_laws(engine: str, kernel: str, tmp_path: Path) -> None:
    run = result(tmp_path, "--engine", engine, "--set", kernel)
    assert run["verification"]["passed"] is True
    assert run["verification"]["max_error"] <= run["verification"]["bound"]
    assert run["partial"] is False
    for level in ("l1", "l2"):
        cache = run[level]
        assert cache["hits"] + cache["misses"] + cache["mshr_merges"] == cache["transactions"]
    instructions = run["instruction_cache"]["misses"] + run["instruction_cache"]["prefetches"]
    assert run["l1"]["misses"] + run["scalar_cache"]["misses"] + instructions == run["l2"]["transactions"]
    assert 0 < run["dram"]["bytes"] <= 64 * (run["dram"]["reads"] + run["dram"]["writes"])
    kernel_ = run["kernel"]
    kinds = ("valu", "salu", "vmem", "lds", "smem", "branch", "other")
    assert sum(kernel_[f"{k}_instructions"] for k in kinds) == kernel_["wavefront_instructions"]
    assert kernel_["workgroups"] == kernel_["workgroups_total"]
    assert max(run["roofline"].values()) <= kernel_["cycles"]
    launches = 2 if kernel in ("kernels.sparse=software", "kernels.dense=sgemm") else 1  # converted; in parts
    assert run["host"]["launches"] == launches
    overhead = launches * run["config"]["gpu"]["kernel_launch_us"]
    assert run["host"]["time_us"] == pytest.approx(kernel_["time_us"] + overhead)
    uses_engine = engine == "on" and "software" not in kernel
    assert (run["engine"] is not None) == uses_engine
    if uses_engine:
        counts = run["engine"]
        assert counts["lines_needed"] + counts["lines_wasted"] == counts["lines_fetched"]
        assert counts["response_mismatches"] == 0
        assert sum(counts["latency_histogram"]) == counts["responses"]


def test_same_metrics_twice(tmp_path: Path) -> None:
    runs = [without_simulator(result(tmp_path, "--engine", "on")) for _ in range(2)]
    assert runs[0] == runs[1]


def test_both_is_the_two_runs_and_their_ratio(tmp_path: Path) -> None:
    both = result(tmp_path, "--engine", "both")
    dense = result(tmp_path, "--engine", "off")
    sparse = result(tmp_path, "--engine", "on")
    for one, alone in ((both["dense"], dense), (both["sparse"], sparse)):
        of_variant = without_simulator(one)
        assert of_variant == {group: value for group, value in without_simulator(alone).items() if group in of_variant}
    assert both["normalized"]["kernel.cycles"] == sparse["kernel"]["cycles"] / dense["kernel"]["cycles"]


def test_config_in_the_result_runs_again_to_the_same_result(tmp_path: Path) -> None:
    first = result(tmp_path, "--engine", "off", "--set", "gpu.l2.size_kib=1024")
    again = tmp_path / "again.yaml"
    again.write_text(yaml.safe_dump(first["config"]))
    path = tmp_path / "again.json"
    assert invoke(["run", str(again), "--quiet", "--json", str(path)]) == 0
    second = json.loads(path.read_text())
    assert without_simulator(second) == without_simulator(first)


def test_output_folder_report_and_quiet(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "deep" / "out"
    assert invoke(small("--engine", "off", "--out", str(out), "--no-verify")) == 0
    captured = capfd.readouterr()
    assert "cycles    " in captured.out and "\nmore: --details" in captured.out
    assert "preparing layerB" in captured.err
    assert captured.out == (out / "report.txt").read_text()
    run = json.loads((out / "result.json").read_text())
    assert run["verification"] is None
    config = load_run(str(out / "config.yaml"))
    assert config.resolved() == run["config"]
    assert invoke(small("--engine", "off", "--quiet")) == 0
    assert capfd.readouterr() == ("", "")


def test_wrong_result_ends_with_code_1(monkeypatch, capfd) -> None:  # type: ignore[no-untyped-def]
    def spoiled(operator: Operator, inputs: Mapping[str, np.ndarray]) -> Verification:
        operator.outputs["C"][0, 0] += 1.0
        return verify(operator, inputs)

    monkeypatch.setattr(operators, "verify", spoiled)
    assert invoke(small("--engine", "off", "--set", "kernels.dense=sgemm")) == 1
    assert "sgemm: C: 1 of 2048 elements differ by more than allowed; first at [0, 0]" in capfd.readouterr().err


def test_a_product_by_itself_is_a_kind_of_workload(tmp_path: Path) -> None:
    product = "workload={kind: gemm, m: 64, n: 32, k: 144, sparsity: 0.7, seed: 1}"
    alone = result(tmp_path, "--engine", "both", "--set", product)
    layer = result(tmp_path, "--engine", "both")
    assert alone["config"]["workload"]["kind"] == "gemm"
    for variant in ("dense", "sparse"):  # layer B cut down is the same product of the same random numbers
        assert without_simulator(alone[variant]) == without_simulator(layer[variant])


def test_a_convolution_as_a_whole_is_a_kind_of_workload(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    layer = "{name: tiny, input_channels: 64, output_channels: 8, input_height: 3, input_width: 3, padding: 1}"
    whole = ["--set", f"workload={{kind: convolution, layer: {layer}, batch: 2, sparsity: 0.7}}", "--engine", "both"]
    kernels = ["--set", "kernels={dense: winograd_2x2, sparse: ellpack_dib_fused}"]
    found = result(tmp_path, *whole, *kernels)
    launched = {way: [one["kernel"]["name"] for one in found[way]["launches"]] for way in ("dense", "sparse")}
    assert launched["dense"][0] == "winograd_filters_2" and "im2col_bundles_small" in launched["sparse"]
    assert found["sparse"]["data"]["zero_fraction"] > 0.7  # with those of the padding
    capfd.readouterr()
    assert invoke(small(*whole)) == 2
    assert "kernels.dense: 'auto' does not compute a workload of kind convolution; allowed: implicit" in (
        capfd.readouterr().err
    )


def test_broken_and_missing_code_objects_are_told(tmp_path: Path, monkeypatch, capfd) -> None:  # type: ignore[no-untyped-def]
    from workloads.operators import launching

    for content in (b"no ELF", None):
        launching._kernels.cache_clear()
        path = tmp_path / "k.hsaco"
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)
        monkeypatch.setattr(launching, "code_object", lambda source, _, gpu, path=path: path)
        assert invoke(small("--engine", "off", "--quiet")) == 2
        err = capfd.readouterr().err
        assert err.startswith("gpusim: error: ")
        assert err.count("\n") == 1
        assert "k.hsaco" in err
    launching._kernels.cache_clear()


def test_activation_file_that_does_not_fit_is_told(capfd, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("gpusim.jobs.gemm.choose_dense", None)  # before kernels are measured
    real = ["run", "layerB.yaml", "--engine", "off", "--quiet"]
    for sets, part in (
        (["workload.layer.input_channels=16"], "layerB.npz"),
        (["workload.batch=257"], "257 images"),
        (["workload.activations=layerX.npz"], "layerX"),
    ):
        assert invoke([*real, *(t for s in sets for t in ("--set", s))]) == 2
        err = capfd.readouterr().err
        assert err.startswith("gpusim: error: ")
        assert err.count("\n") == 1
        assert part in err


def test_memory_too_small_for_an_image_is_told(capfd) -> None:  # type: ignore[no-untyped-def]
    large = ("gpu.memory_mib=1", "workload.layer.input_channels=512", "workload.layer.output_channels=512")
    assert invoke(small("--engine", "off", "--quiet", *(text for each in large for text in ("--set", each)))) == 2
    assert "the smallest block of columns" in capfd.readouterr().err


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.nightly), signal.SIGTERM])
def test_interrupt_ends_the_run_with_partial_results(tmp_path: Path, number: int) -> None:
    path = tmp_path / "partial.json"
    arguments = ["run", "layerB.yaml", "--engine", "off", "--set", "workload.data=synthetic", "--json", str(path)]
    assert "partial" in interrupted(arguments, number)
    run = json.loads(path.read_text())
    assert run["partial"] is True
    assert run["kernel"]["workgroups"] < run["kernel"]["workgroups_total"]
    assert run["kernel"]["wavefront_instructions"] > 0
