"""Does `gpusim exec` run a kernel from a file, compare what it should, and tell what is wrong in one line?"""

import json
import signal
from pathlib import Path

import numpy as np
import pytest
import yaml

from docs._site import report_page
from docs._site.pages import section
from gpusim.cli.main import invoke
from gpusim.config.files import SHIPPED
from tests.support.interrupted import interrupted

DATA = Path(__file__).parents[1] / "data/kernels"
EXAMPLES = Path(__file__).parents[2] / "examples/own-kernels"
N = 200
SMALL = {"base": "mi6", "name": "small", "shader_arrays": 1, "cus_per_array": 2, "memory_mib": 16}


def written(folder: Path, **changes: object) -> Path:
    """An execution's file in `folder` that adds two arrays."""
    host = np.arange(N, dtype=np.float32)
    np.save(folder / "a.npy", host)
    np.save(folder / "sum.npy", host + 2)
    data = {
        "gpu": SMALL,
        "code_object": str(SHIPPED / "examples/vector_add.hsaco"),
        "global_size": [N],
        "local_size": [64],
        "arguments": {
            "a": {"npy": "a.npy"},
            "b": {"fill": 2, "dtype": "float32", "shape": [N]},
            "c": {"fill": 0, "dtype": "float32", "shape": [N], "expected": "sum.npy", "output": str(folder / "c.npy")},
            "n": {"value": N, "dtype": "uint32"},
        },
        **changes,
    }
    path = folder / "kernel.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def test_result_is_compared_saved_and_reported(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    path, json_file = written(tmp_path), tmp_path / "result.json"
    assert invoke(["exec", str(path), "--json", str(json_file), "--checked"]) == 0
    assert "verified               passed" in capfd.readouterr().out
    result = json.loads(json_file.read_text())
    assert result["verification"] == {"passed": True, "max_error": 0.0, "bound": 0.0}
    assert result["kernel"]["cycles"] > 0
    assert result["config"]["arguments"]["n"]["value"] == N
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), np.load(tmp_path / "sum.npy"))
    again = tmp_path / "again.yaml"
    again.write_text(yaml.safe_dump(result["config"]))
    assert invoke(["exec", str(again), "--json", str(json_file), "--quiet"]) == 0
    second = json.loads(json_file.read_text())
    assert {k: v for k, v in second.items() if k != "simulator"} == {
        k: v for k, v in result.items() if k not in ("simulator", "config", "config_hash")
    } | {k: second[k] for k in ("config", "config_hash")}
    assert capfd.readouterr() == ("", "")


NODES = 8


def aggregating(folder: Path, **changes: object) -> Path:
    """An execution's file that adds the rows of each node's two neighbours on a ring, by lines of the engine."""
    draw = np.random.default_rng(1)
    features = np.where(draw.random((NODES, 256)) < 0.5, 0, draw.integers(1, 9, (NODES, 256))).astype(np.float32)
    neighbours = np.array([((n - 1) % NODES, (n + 1) % NODES) for n in range(NODES)], np.uint32)
    np.save(folder / "features.npy", features)
    np.save(folder / "neighbours.npy", neighbours)
    np.save(folder / "sums.npy", features[neighbours].sum(axis=1))
    np.save(folder / "first.npy", np.arange(0, 2 * NODES + 1, 2, dtype=np.uint32))
    arguments = {
        "features": {"npy": "features.npy", "sparse": "ellpack_dib"},
        "first": {"npy": "first.npy"},
        "neighbours": {"npy": "neighbours.npy"},
        "sums": {"fill": 0, "dtype": "float32", "shape": [NODES, 256], "expected": "sums.npy"},
    }
    own = {
        "code_object": str(EXAMPLES / "aggregation.hsaco"),
        "kernel": "compacted",
        "global_size": [256 * NODES],
        "local_size": None,
    }
    return written(folder, **own, arguments=arguments, engine="compactor", **changes)


@pytest.mark.parametrize("timing", ["true", "false"])
def test_the_engine_answers_marked_loads_of_a_sparse_argument(timing: str, tmp_path: Path) -> None:
    path, answer = aggregating(tmp_path), tmp_path / "result.json"
    assert invoke(["exec", str(path), "--quiet", "--json", str(answer), "--set", f"run.timing={timing}"]) == 0
    found = json.loads(answer.read_text())
    assert found["verification"]["passed"]
    if timing == "true":
        assert found["engine"]["requests"] > 0


@pytest.mark.parametrize(
    ("setting", "part"),
    [
        ("arguments.features.sparse=ellpack", "unknown format 'ellpack'"),
        ("arguments.features.sparse=listed_lines", "needs a list of lines"),
        ("arguments.first.sparse=bitmap", "a matrix of float32 is allowed, not uint32"),
        ("arguments.sums={fill: 0, dtype: float32, shape: [256, 8], sparse: bitmap}", "must be a multiple of 16"),
        ("engine={sib_kib: 4096}", "engine"),
    ],
)
def test_what_cannot_be_a_sparse_argument_is_refused(setting: str, part: str, tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["exec", str(aggregating(tmp_path)), "--quiet", "--set", setting]) == 2
    assert part in capfd.readouterr().err


def test_a_sparse_argument_needs_an_engine(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    path = written(tmp_path)
    assert invoke(["exec", str(path), "--quiet", "--set", "arguments.a.sparse=ellpack_dib"]) == 2
    assert "arguments.a: sparse: needs the engine" in capfd.readouterr().err


def test_without_timing_and_with_settings(tmp_path: Path) -> None:
    json_file = tmp_path / "result.json"
    sets = ["run.timing=false", "arguments.b.fill=7.5", "arguments.c.absolute=5.5", "local_size=[32]"]
    options = [text for s in sets for text in ("--set", s)]
    assert invoke(["exec", str(written(tmp_path)), "--quiet", "--json", str(json_file), *options]) == 0
    result = json.loads(json_file.read_text())
    assert (result["kernel"]["cycles"], result["l2"], result["kernel"]["workgroups"]) == (None, None, 7)
    assert result["verification"] == {"passed": True, "max_error": 5.5, "bound": 5.5}


@pytest.mark.parametrize(
    ("setting", "reported"),
    [
        ("arguments.b.fill=3", "c: 200 of 200 elements differ by more than allowed; first at [0]: 3.0, expected 2.0"),
        (
            "arguments.n.value=199",
            "c: 1 of 200 elements differ by more than allowed; first at [199]: 0.0, expected 201.0",
        ),
        ("arguments.c.expected=1.0e6", "expected 1000000.0"),
        ("arguments.c.expected=nan.npy", "c: 200 of 200 elements differ"),
    ],
)
def test_another_result_ends_with_code_1(setting: str, reported: str, tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    json_file = tmp_path / "result.json"
    np.save(tmp_path / "nan.npy", np.full(N, np.nan, np.float32))
    assert invoke(["exec", str(written(tmp_path)), "--set", setting, "--json", str(json_file)]) == 1
    assert reported in capfd.readouterr().err
    assert json.loads(json_file.read_text())["verification"]["passed"] is False


def test_random_arrays_are_the_seed_s(tmp_path: Path) -> None:
    path = written(tmp_path)
    np.save(tmp_path / "sum.npy", np.random.default_rng(3).integers(-5, 9, N).astype(np.float32) + 2)
    kind = "arguments.a={random: integers, dtype: float32, shape: [200], seed: 3, low: -5, high: 9}"
    assert invoke(["exec", str(path), "--quiet", "--set", kind]) == 0
    assert invoke(["exec", str(path), "--quiet", "--set", kind, "--set", "arguments.a.seed=4"]) == 1


def test_the_shipped_example_runs(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert invoke(["exec", "vector_add", "--quiet", "--checked"]) == 0
    assert invoke(["exec", "sim_configs/examples/vector_add.yaml", "--quiet", "--set", "run.timing=false"]) == 0


@pytest.mark.parametrize(
    ("setting", "part"),
    [
        ("arguments.b.fil=2", "unknown key; did you mean 'fill'"),
        ("arguments.b.dtype=float33", "did you mean 'float32'"),
        ("arguments.b.shape=[0]", "shape [0] has no elements"),
        ("arguments.b={npy: a.npy, dtype: int32}", "'npy' takes no dtype"),
        ("arguments.b={fill: 1}", "'fill' needs shape"),
        ("arguments.d={value: 1}", "unknown argument 'd'; allowed: a, b, c, n"),
        ("arguments.b={dtype: int32}", "given: none"),
        ("arguments.n.null=true", "given: value, null"),
        ("arguments.n.expected=1", "only an array has an expected content"),
        ("arguments.n.value=1.5", "must be a whole number from 0 to 4294967295"),
        ("arguments.n.value=-1", "-1 is not allowed"),
        ("arguments.n.dtype=uint64", "argument 3 'n': expected a value of 4 bytes (uint), found uint64 of 8 bytes"),
        ("arguments.n={local_bytes: 4}", "argument 3 'n': expected a value of 4 bytes (uint), found gpusim.Local(4)"),
        ("arguments.b={random: normal, dtype: int32, shape: [4]}", "use integers"),
        ("arguments.b={random: uniform, dtype: float32, shape: [4], low: 2}", "low 2 must be less than high 1"),
        ("arguments.b={fill: 1e6, dtype: float16, shape: [4]}", "too large for float16"),
        ("arguments.d={value: 1, dtype: int32}", "unknown argument 'd'; allowed: a, b, c, n"),
        ("arguments.a.npy=missing.npy", "missing.npy: cannot be read"),
        ("arguments.a.npy=kernel.yaml", "holds no array as numpy.save writes it"),
        ("arguments.c.expected=short.npy", "has shape (3,), the array 'c' has (200,)"),
        ("arguments.b.shape=[3]", "nearest allocation 'b'"),
        ("code_object=missing.hsaco", "missing.hsaco: cannot be read"),
        ("code_object=kernel.yaml", "kernel.yaml: "),
        ("kernel=vector_ad", "did you mean 'vector_add'"),
        ("global_size=[]", "global_size"),
        ("global_size=[0]", "allowed are 1 to"),
        ("local_size=null", "local_size is missing"),
        ("gpu.l2.size_kib=1000", "power of two"),
    ],
)
def test_bad_input_is_one_line_and_code_2(setting: str, part: str, tmp_path: Path, monkeypatch, capfd) -> None:  # type: ignore[no-untyped-def]
    path = written(tmp_path)
    np.save(tmp_path / "short.npy", np.zeros(3))
    monkeypatch.chdir(tmp_path)
    assert invoke(["exec", str(path), "--quiet", "--set", setting]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpusim: error: ")
    assert captured.err.count("\n") == 1
    assert part in captured.err


def test_a_file_without_gpu_dtype_and_local_size_runs_is_kept_and_is_shown(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    total = {"fill": 0, "shape": [1], "expected": 512}
    arguments = {"in": {"fill": 1, "shape": [512]}, "sums": {"fill": 0, "shape": [2], "expected": 256}, "total": total}
    path = tmp_path / "kernel.yaml"
    given = {"code_object": str(DATA / "reduction.hsaco"), "global_size": [512], "arguments": arguments}
    path.write_text(yaml.safe_dump(given))
    store, json_file = ["--store", str(tmp_path / "results.db")], tmp_path / "result.json"
    assert invoke(["exec", str(path), "--json", str(json_file), *store]) == 0
    described = "kernel: 512 work-items in workgroups as the kernel requires on R9 Nano"
    assert described in capfd.readouterr().out
    assert json.loads(json_file.read_text())["config"]["gpu"]["name"] == "R9 Nano"
    assert invoke(["results", "show", "1", *store]) == 0
    assert described in capfd.readouterr().out
    assert invoke(["report", str(json_file), "--html", str(tmp_path / "page.html")]) == 0
    assert described in (tmp_path / "page.html").read_text()


def test_an_object_that_names_no_types_needs_dtype(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    arguments = {"repeat": {"value": 0}, "out": {"fill": 9, "dtype": "uint32", "shape": [1]}}
    path = written(tmp_path, code_object=str(DATA / "endless.hsaco"), arguments=arguments, global_size=[64])
    assert invoke(["exec", str(path), "--quiet"]) == 2
    assert f"{path}: arguments.repeat: dtype is required" in capfd.readouterr().err


def test_objects_without_metadata_get_their_arguments_in_order(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    out = {"fill": 9, "dtype": "uint32", "shape": [1], "expected": 0}
    arguments = {"repeat": {"value": 0, "dtype": "uint32"}, "out": out}
    path = written(tmp_path, code_object=str(DATA / "endless.hsaco"), arguments=arguments, global_size=[64])
    assert invoke(["exec", str(path), "--quiet"]) == 0
    assert (
        invoke(["exec", str(path), "--quiet", "--set", "arguments.repeat.value=1", "--set", "run.max_instructions=99"])
        == 2
    )
    error, head, first = capfd.readouterr().err.splitlines()
    assert error.startswith("gpusim: error: ") and "endless loop" in error
    assert head == "where the wavefronts stand:" and first.startswith("  1 wavefront at ")


def test_objects_with_several_kernels_need_a_name(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    path = written(tmp_path, code_object=str(DATA / "geometry.hsaco"))
    assert invoke(["exec", str(path), "--quiet"]) == 2
    assert "has several kernels; name one of them in kernel: bad_lds, " in capfd.readouterr().err


def endless_of(folder: Path) -> Path:
    """An execution's file in `folder` of a kernel that never ends."""
    out = {"out": {"fill": 0, "dtype": "int32", "shape": [1]}}
    return written(folder, code_object=str(DATA / "geometry.hsaco"), kernel="endless", arguments=out, global_size=[64])


def test_a_cycle_limit_ends_the_kernel_and_says_where_it_stands(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    json_file = tmp_path / "partial.json"
    assert invoke(["exec", str(endless_of(tmp_path)), "--max-cycles", "3000", "--json", str(json_file)]) == 1
    captured = capfd.readouterr()
    assert captured.err.splitlines()[-1] == "cycle limit: the results are partial"
    head, group = captured.out.splitlines()[-2:]
    assert head == "  endless: stopped in cycle 3,000, 0 of 1 workgroups had ended; resident:"
    assert group.startswith("    1 wavefront at 0x")
    result = json.loads(json_file.read_text())
    assert (result["partial"], result["stopped_by"], result["kernel"]["cycles"]) == (True, "cycle limit", 3000)
    assert [row["count"] for row in result["resident_wavefronts"]] == [1]


@pytest.mark.parametrize("timing", ["true", "false"])
def test_a_timeout_ends_the_kernel_with_code_1(timing: str, tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["exec", str(endless_of(tmp_path)), "--timeout", "0.5", "--set", f"run.timing={timing}"]) == 1
    assert "out of time" in capfd.readouterr().err


def test_a_timeout_before_the_kernel_begins(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["exec", str(endless_of(tmp_path)), "--timeout", "0.001"]) == 1
    assert capfd.readouterr().err.splitlines()[-1] in (
        "out of time: nothing was simulated",
        "out of time: the results are partial",
    )


def test_there_are_no_cycles_to_be_limited_without_timing(tmp_path: Path, capfd) -> None:  # type: ignore[no-untyped-def]
    arguments = ["exec", str(endless_of(tmp_path)), "--max-cycles", "3000", "--set", "run.timing=false"]
    assert invoke(arguments) == 2
    assert "no cycles to be limited" in capfd.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)])
def test_interrupt_ends_the_kernel_with_partial_results(number: signal.Signals, tmp_path: Path) -> None:
    json_file = tmp_path / "partial.json"
    arguments = [
        "exec",
        str(endless_of(tmp_path)),
        "--json",
        str(json_file),
        "--set",
        f"run.max_instructions={1 << 50}",
    ]
    assert "partial" in interrupted(arguments, number)
    result = json.loads(json_file.read_text())
    assert result["partial"] is True
    assert result["kernel"]["workgroups"] == 0
    assert result["verification"] is None
    assert result["stopped_by"] == "interrupted" and result["resident_wavefronts"][0]["count"] == 1


def test_the_screen_of_the_readme_is_what_is_printed() -> None:
    readme = report_page.README.read_text(encoding="utf-8")
    assert section(readme, "screen") == report_page.screen(), "run python -m docs._site.report_page"


def test_an_unknown_section_is_refused_before_anything_runs(capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["exec", "vector_add", "--section", "ocupancy"]) == 2
    captured = capfd.readouterr()
    assert captured.err.startswith("gpusim: error: --section: unknown section 'ocupancy'; did you mean 'occupancy'?")
    assert captured.err.count("\n") == 1 and captured.out == ""
