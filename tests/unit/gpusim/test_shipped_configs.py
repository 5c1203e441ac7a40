"""Do the shipped configurations load, say what the specifications say, and resolve as their paths suggest?"""

from pathlib import Path

import pytest
import yaml

from gpusim.base.errors import UserError
from gpusim.config import files
from gpusim.config.describe import annotated
from gpusim.config.gpu import load_gpu
from gpusim.config.models import collect_kinds
from gpusim.config.run import RunConfig, load_run
from gpusim.model.core.gpu_spec import GpuSpec
from workloads.shapes import GemmShape, gemm_shape

LAYERS = ("layerA.yaml", "layerB.yaml", "layerC.yaml")


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_full_size(name: str) -> None:
    config = load_run(name)
    layer = config.workload.layer
    assert (layer.input_channels, layer.output_channels, layer.filter_size) == (512, 512, 3)
    assert config.workload.batch == 128
    pixels = 2 * 2 if name == "layerC.yaml" else 4 * 4
    assert gemm_shape(layer, config.workload.batch) == GemmShape(512, 128 * pixels, 4608)


@pytest.mark.generated
def test_mi6_is_what_the_specifications_say() -> None:
    text = (files.SHIPPED / "gpus" / "mi6.yaml").read_text(encoding="utf-8")
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("# "))
    assert body == annotated(GpuSpec()), "renew it with .ci/generate"
    assert load_gpu("mi6") == GpuSpec()


def test_r9_nano_is_the_data_sheet() -> None:
    gpu = load_gpu("r9nano")
    assert gpu.cus == 64
    assert gpu.clock_ghz == 1.0
    assert gpu.dram.bytes_per_s == pytest.approx(512e9)


@pytest.mark.parametrize(
    ("name", "cus", "tflops", "gb_s", "gib"),  # AMD's product pages
    [
        ("mi25", 64, 12.3, 484, 16),
        ("vega56", 56, 10.5, 410, 8),
        ("mi50", 60, 13.3, 1024, 16),
        ("mi60", 64, 14.7, 1024, 32),
        ("mi100", 120, 23.1, 1229, 32),
        ("mi210", 104, 22.6, 1638, 64),
        ("mi250x_die", 110, 23.9, 1638, 64),
    ],
)
def test_a_card_is_its_product_pages(name: str, cus: int, tflops: float, gb_s: float, gib: int) -> None:
    gpu = load_gpu(name)
    assert gpu.cus == cus
    assert 2 * 64 * cus * gpu.clock_hz == pytest.approx(tflops * 1e12, rel=0.005)
    assert gpu.dram.bytes_per_s == pytest.approx(gb_s * 1e9, rel=0.002)
    assert gpu.memory_mib == gib << 10


def test_values_read_back(tmp_path: Path) -> None:
    config = load_run("layerB.yaml", ["gpu=r9nano", "engine.prefetch_buffer_kib=0.0625", "workload.batch=3"])
    copy = tmp_path / "copy.yaml"
    copy.write_text(annotated(config), encoding="utf-8")
    assert load_run(str(copy)) == config
    copy.write_text(yaml.safe_dump(config.resolved()), encoding="utf-8")
    assert load_run(str(copy)) == config


def test_set_reaches_every_section_in_order() -> None:
    sets = [
        "workload.batch=256",
        "gpu.l2.size_kib=4096",
        "gpu=r9nano",
        "engine.sib_kib=256",
        "kernels.dense=sgemm_tiled16",
    ]
    config = load_run("layerB.yaml", [*sets, "workload.batch=64"])
    assert config.gpu.name == "R9 Nano"
    assert config.gpu.l2.size_kib == 4096
    assert config.engine.sib_kib == 256
    assert config.kernels.dense == "sgemm_tiled16"
    assert config.workload.batch == 64


def run_file(folder: Path, gpu: str) -> str:
    data = yaml.safe_load((files.SHIPPED / "layerB.yaml").read_text())
    data["gpu"] = yaml.safe_load(gpu)
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(data))
    return str(path)


def test_gpu_by_own_file_and_by_base(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("base: r9nano\nname: mine\nl2: {size_kib: 4096}\n")
    gpu = load_run(run_file(tmp_path, "{base: mine.yaml, clock_ghz: 0.5}")).gpu
    assert (gpu.name, gpu.l2.size_kib, gpu.clock_ghz, gpu.cus) == ("mine", 4096, 0.5, 64)
    assert load_run(run_file(tmp_path, "mine.yaml")).gpu.clock_ghz == 1.0


@pytest.mark.parametrize(
    ("gpu", "sets", "parts"),
    [
        ("m6", [], ["m6: no such configuration file", "did you mean 'mi6'"]),
        ("{base: mi6, l2: {sise_kib: 1}}", [], ["run.yaml: gpu.l2.sise_kib: unknown key", "'size_kib'"]),
        ("{base: 3}", [], ["run.yaml: gpu.base: must be the name"]),
        ("3", [], ["run.yaml: gpu: 3 is not allowed"]),
        ("mi6", ["gpu.l2.size_kib=1000"], ["125 sets", "(after --set gpu.l2.size_kib=1000)"]),
        ("mi6", ["gpu.dram.standard=hbm4"], ['"hbm4" is not allowed; did you mean \'hbm', "(allowed: gddr5, "]),
        ("mi6", ["gpu.dram.scheduler=fr_fcf"], ["did you mean 'fr_fcfs'", "(allowed: fr_fcfs, fcfs, fr_fcfs_cap)"]),
        ("mi6", ["gpu.dram.page_policy=close"], ["did you mean 'closed'", "open_adaptive"]),
        # a key that is not there, with a value that only one key takes
        ("mi6", ["gpu.dram.row_policy=timeout"], ["unknown key; did you mean 'page_policy'?"]),
        # a value that several keys take, or none
        ("mi6", ["gpu.l1.wriet=write_back"], ["unknown key; did you mean 'write'?"]),
        ("mi6", ["gpu.dram.timings=3"], ["unknown key; did you mean 'timing'?"]),
        (
            "mi6",
            ["workload.layer.input_channels=65536", "workload.layer.filter_size=5"],
            ["1638400 rows", "at most 1048576"],
        ),
        ("mi6", ["workload.layer.padding=0", "workload.layer.input_height=2"], ["3x3 filter does not fit"]),
        ("mi6", ["workload.activations=null"], ["data: real needs an activation file"]),
        ("mi6", ["kernels.dense=sgemm_4x5"], ["unknown dense kernel 'sgemm_4x5'", "did you mean 'sgemm_4x4'"]),
        (
            "mi6",
            ["workload.data=reel"],
            ["did you mean 'real'", "(allowed: synthetic, synthetic_maps, real, resampled, transposed)"],
        ),
        (
            "mi6",
            ["workload.kind=gem"],
            ['workload.kind=gem: "gem" is not allowed', "did you mean 'gemm'", "layer, convolution, gemm"],
        ),
        ("mi6", ["workload.kind=3"], ["workload.kind=3: 3 is not allowed (allowed: layer, convolution, gemm)"]),
        ("mi6", ["workload=null"], ["workload=null: null is not allowed: must be a mapping"]),
        ("mi6", ["workload={kind: gemm, m: 1, n: 1, kk: 1}"], ["unknown key; did you mean 'k'"]),
        ("mi6", ["workload={kind: gemm, m: 0, n: 1, k: 1}"], ["m: 0 is not allowed: must be at least 1"]),
        ("mi6", ["workload.bach=2"], ["workload.bach=2: unknown key; did you mean 'batch'"]),
        ("mi6", ["workload.layer.stride=0"], ["workload.layer.stride=0: 0 is not allowed: must be at least 1"]),
        ("mi6", ["workload.sparsity=1.5"], ["workload.sparsity=1.5: 1.5 is not allowed: must be at most 1"]),
        ("mi6", ["engine.entry_sizes=[[10, 32]]"], ["must ascend and end with 65536"]),
        ("mi6", ["workload.zero_block_rows=2"], ["2 and 1, of made-up zeros, but data: real has those of its maps"]),
        ("mi6", ["workload.zero_block_columns=0"], ["0 is not allowed: must be at least 1"]),
        ("mi6", ["engine.compact=on_write", "engine.prefetch_buffer_kib=0.0625"], ["must be at least 0.125"]),
    ],
)
def test_bad_values_are_told(tmp_path: Path, gpu: str, sets: list[str], parts: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        load_run(run_file(tmp_path, gpu), sets)
    for part in parts:
        assert part in str(caught.value)
    assert all("\n" not in problem for problem in caught.value.problems)


def test_base_that_refers_to_itself_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("base: b.yaml\n")
    (tmp_path / "b.yaml").write_text("base: a.yaml\n")
    with pytest.raises(UserError, match="refers back to itself"):
        load_run(run_file(tmp_path, "a.yaml"))


def test_gpu_file_is_no_run() -> None:
    with pytest.raises(UserError, match="is a GPU, not a run"):
        load_run("gpus/mi6.yaml")


def test_every_value_has_a_meaning_and_a_source() -> None:
    def walk(model: type, path: str) -> None:
        for name, field in model.model_fields.items():  # type: ignore[attr-defined]
            kinds = [field.annotation, *collect_kinds(field.annotation).values()]
            models = [kind for kind in kinds if isinstance(kind, type) and hasattr(kind, "model_fields")]
            for kind in models:
                walk(kind, f"{path}.{name}")
            if not models:
                assert field.description, f"{path}.{name}"
                assert isinstance(field.json_schema_extra, dict), f"{path}.{name}"

    walk(RunConfig, "")
