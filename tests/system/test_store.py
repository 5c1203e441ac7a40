"""Do the commands keep what they ran in a store, and answer equal work from it: the same JSON, the same exit code?"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpusim.cli.main import invoke
from gpusim.results.store.file import StoreError
from gpusim.results.store.keeper import StoreWriter
from gpusim.results.store.reading import StoreReader
from tests.support.small_networks import INPUT, layer

SIZES = [f"arguments.{name}={{fill: 1, dtype: float32, shape: [64]}}" for name in "abc"]
SETS = ["global_size=[64]", "arguments.n.value=64", *SIZES]
EXEC = ["exec", "vector_add", *(word for s in SETS for word in ("--set", s))]
RIGHT, WRONG = ["--set", "arguments.c.expected=2"], ["--set", "arguments.c.expected=3"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def runs() -> list[dict[str, Any]]:
    with StoreReader("gpusim.db") as results:
        return list(results.table("runs"))


@pytest.mark.parametrize(("expected", "code"), [(RIGHT, 0), (WRONG, 1)])
def test_equal_work_is_answered_from_the_store(folder: Path, capfd: Any, expected: list[str], code: int) -> None:
    said = []
    for more in (["--json", "one.json"], ["--json", "two.json"], ["--json", "three.json", "--fresh"]):
        assert invoke([*EXEC, *expected, "--store", *more]) == code
        captured = capfd.readouterr()
        said.append(captured.err)
        assert "issued   " in captured.out
    assert "kept in gpusim.db: run 1" in said[0] and "found" not in said[0]
    assert "found in gpusim.db: run 1 of 20" in said[1] and "kept" not in said[1]
    assert "kept in gpusim.db: run 2" in said[2]
    assert Path("one.json").read_bytes() == Path("two.json").read_bytes()
    assert [(row["kind"], row["exit_code"], row["state"]) for row in runs()] == [("exec", code, "done")] * 2
    assert invoke([*EXEC, *expected, "--store", "--set", "gpu.cus_per_array=2"]) == code
    assert "kept" in capfd.readouterr().err


def test_a_file_that_changes_is_other_work(folder: Path, capfd: Any) -> None:
    import numpy as np

    reads = [*EXEC, "--set", "arguments.a={npy: a.npy}", "--store"]
    for value, said in ((1, "kept"), (1, "found"), (2, "kept")):
        np.save("a.npy", np.full(64, value, np.float32))
        invoke(reads)
        assert f"{said} in gpusim.db" in capfd.readouterr().err


def test_what_writes_files_is_run_again(folder: Path, capfd: Any) -> None:
    for option in (["--timeline", "t.json"], ["--set", "arguments.c.output=c.npy"]):
        for _ in range(2):
            assert invoke([*EXEC, *RIGHT, "--store", *option]) == 0
            assert "kept in" in capfd.readouterr().err


def test_the_project_file_names_the_store(folder: Path, capfd: Any) -> None:
    Path("gpusim.toml").write_text('[store]\npath = "all.db"\n')
    assert invoke([*EXEC, *RIGHT]) == 0
    assert f"kept in {folder / 'all.db'}: run 1" in capfd.readouterr().err
    assert invoke(["query", "SELECT kind FROM runs"]) == 0
    assert capfd.readouterr().out == "kind\nexec\n"


def test_without_a_store_nothing_is_written_and_fresh_means_nothing(folder: Path, capfd: Any) -> None:
    assert invoke([*EXEC, *RIGHT]) == 0
    assert invoke([*EXEC, *RIGHT, "--fresh"]) == 2
    assert "--store FILE names a store" in capfd.readouterr().err
    assert list(folder.iterdir()) == []


def test_a_file_that_is_no_store_is_refused_before_the_run(folder: Path, capfd: Any) -> None:
    Path("mine.yaml").write_text("a: 1\n" * 40)
    assert invoke([*EXEC, *RIGHT, "--store", "mine.yaml"]) == 2
    err = capfd.readouterr().err
    assert err == "gpusim: error: mine.yaml: is not an SQLite file; nothing in it was changed\n"
    assert Path("mine.yaml").read_text() == "a: 1\n" * 40


def test_a_store_that_fails_after_the_run_costs_no_result(
    folder: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> int:
        raise StoreError("gpusim.db: the disk is full")

    monkeypatch.setattr(StoreWriter, "keep", refuse)
    assert invoke([*EXEC, *RIGHT, "--store", "--json", "a.json"]) == 2
    captured = capfd.readouterr()
    assert "issued   " in captured.out
    assert captured.err.endswith("gpusim: error: gpusim.db: the disk is full (the result is not in it)\n")
    assert Path("a.json").exists()


def test_networks_and_microbenchmarks_are_kept_and_found(folder: Path, capfd: Any) -> None:
    Path("short.yaml").write_text(yaml.safe_dump({"input": INPUT, "layers": [layer("r", "relu"), layer("p", "tanh")]}))
    for command in (["net", "short.yaml", "--jobs", "1"], ["microbench", "--only", "accesses"]):
        shown = []
        for more in ([], [], ["--markdown"]):
            assert invoke([*command, "--store", "--json", f"{len(shown)}.json", *more]) == 0
            captured = capfd.readouterr()
            assert ("found in" if shown else "kept in") in captured.err
            shown.append(captured.out)
        assert shown[0] == shown[1] != shown[2]
        assert Path("0.json").read_bytes() == Path("1.json").read_bytes() == Path("2.json").read_bytes()
        assert invoke(["results", "show", str(len(runs()))]) == 0
        assert capfd.readouterr().out.endswith(shown[0])
    with StoreReader("gpusim.db") as results:
        assert results.wide("microbench.loads.dwordx4_linear")[0]["microbench.loads.dwordx4_linear"] > 0


@pytest.mark.parametrize("seconds", [0.6, pytest.param(2.5, marks=pytest.mark.nightly)])
def test_a_killed_run_leaves_the_runs_before_it(folder: Path, seconds: float) -> None:
    assert invoke([*EXEC, *RIGHT, "--store", "--quiet"]) == 0
    script = f"from gpusim.cli.main import invoke; invoke({['run', 'layerB', '--store']!r})"
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert [row["kind"] for row in runs()] == ["exec"]
    assert invoke([*EXEC, *RIGHT, "--store", "--quiet", "--fresh"]) == 0
    assert len(runs()) == 2
