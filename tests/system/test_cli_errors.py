"""Is bad input on the command line one line on standard error and exit code 2, never a traceback?"""

from pathlib import Path

import pytest

from gpusim.base.version import __version__
from gpusim.cli.main import invoke
from gpusim.results.metrics import METRICS


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["rum"], "did you mean 'run'"),
        (["run"], "CONFIG"),
        (["run", "layerB.yaml", "--engine", "om"], "--engine"),
        (["run", "layerB.yaml", "--jason", "x"], "--json"),
        (["run", "layerX.yaml"], "did you mean 'layer"),
        (["run", "layerB.yaml", "--set", "workload.bach=1"], "did you mean 'batch'"),
        (["run", "layerB.yaml", "--set", "workload.batch=0"], "must be at least 1"),
        (["run", "layerB.yaml", "--set", "workload.batch=two"], "must be a whole number"),
        (["run", "layerB.yaml", "--set", "gpu.l2.size_kib=1000"], "power of two"),
        (["run", "layerB.yaml", "--set", "workload.layer.input_channels=131072"], "at most 65536"),
        (
            [
                "run",
                "layerB.yaml",
                *("--set", "workload.layer.input_channels=65536", "--set", "workload.layer.filter_size=5"),
            ],
            "at most 1048576",
        ),
        (["run", "layerB.yaml", "--set", "workload"], "path=value"),
        (["run", "layerB.yaml", "--json", "missing/folder/x.json"], "does not exist"),
        (["run", "layerB.yaml", "--timeout", "soon"], '"soon" is not allowed: must be a number'),
        (["sweep", "layerB", "--points", "0"], '"0" is not allowed: must be at least 1'),
        (["exec", "vector_add", "--sample", "--error", "0.5"], "--error 0.5: the % sign is missing: 0.5%"),
        (["exec", "vector_add", "--set", "arguments.q.value=1"], "unknown argument 'q'; allowed: a, b, c, n"),
        (["exec", "vector_add", "--set", "arguments.n.value=nan"], '"nan" is not allowed: must be a number'),
        (["show", "mi7"], "did you mean 'mi6'"),
        (["show", "none"], "r9nano, vega56, vega8, layerA, layerB, layerC, vector_add, compactor, default, dong2020)"),
        (["show", "mi6", "--set", "l2.size_kib=0"], "must be at least 1"),
    ],
)
def test_one_line_and_exit_code_2(arguments: list[str], part: str, capfd, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    assert invoke(arguments) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpusim: error: ")
    assert captured.err.count("\n") == 1
    assert part.lower() in captured.err.lower()


def test_output_folder_that_is_a_file_is_refused_before_the_run(capfd, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "out").write_text("mine")
    assert invoke(["run", "layerB.yaml", "--out", str(tmp_path / "out")]) == 2
    assert "cannot be made a folder" in capfd.readouterr().err
    assert (tmp_path / "out").read_text() == "mine"


def test_help_names_the_commands(capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["--help"]) == 0
    assert "run" in capfd.readouterr().out


def test_version(capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["--version"]) == 0
    assert capfd.readouterr().out == f"gpusim {__version__}\n"


def test_metrics_lists_every_metric(capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["metrics"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == [m.path for m in METRICS]


def test_show_prints_machine_and_values(capfd) -> None:  # type: ignore[no-untyped-def]
    assert invoke(["show", "layerB.yaml", "--set", "gpu=r9nano"]) == 0
    assert "R9 Nano: 64 compute units" in capfd.readouterr().out
    assert invoke(["show", "layerB.yaml", "--values"]) == 0
    assert "size_kib: 2048" in capfd.readouterr().out
