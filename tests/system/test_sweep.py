"""Does a sweep lose nothing: killed workers, killed sweeps, points that fail; and is the result that of one worker?"""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

import pytest

import gpusim
from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.cli.main import invoke
from gpusim.results.store.reading import StoreReader
from gpusim.study.sweep.executor import LocalProcesses
from tests.support.tasks import Odd

SIZES = [f"arguments.{name}={{fill: 1, dtype: float32, shape: [64]}}" for name in "abc"]
FIXED = ["global_size=[64]", "arguments.n.value=64", *SIZES]
LATENCIES = list(range(56, 62))
SWEEP = [
    *["sweep", "vector_add", *(word for s in FIXED for word in ("--set", s))],
    *["--set", f"gpu.l1.fill_latency_cycles={','.join(map(str, LATENCIES))}"],
]
COMPARED = ("point", "gpu.l1.fill_latency_cycles", "state", "variant", "kernel.cycles", "l2.hit_rate")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def points(store: str) -> list[tuple[Any, ...]]:
    with StoreReader(store) as results:
        table = results.sweep(1, "kernel.cycles", "l2.hit_rate")
    return [tuple(row[name] for name in COMPARED) for row in table]


def test_results_do_not_depend_on_the_number_of_workers(folder: Path, capfd: Any) -> None:
    for jobs in ("1", "3"):
        assert invoke([*SWEEP, "--jobs", jobs, "--store", f"{jobs}.db"]) == 0
        assert "6 of 6 points: 6 ran" in capfd.readouterr().err
    assert points("1.db") == points("3.db")
    assert [row[1] for row in points("1.db")] == LATENCIES
    assert all(row[2] == "done" for row in points("1.db"))
    cycles = [row[4] for row in points("1.db")]
    assert cycles == sorted(cycles) and len(set(cycles)) > 1
    assert invoke([*SWEEP, "--store", "1.db"]) == 0
    assert "6 were there" in capfd.readouterr().err
    with StoreReader("1.db") as results:
        assert {row["sweep"] for row in results.table("runs")} == {1}
        assert len(results.table("runs")) == 6


@pytest.fixture
def whole(folder: Path) -> list[tuple[Any, ...]]:
    """The points of a sweep that nothing disturbs."""
    assert invoke([*SWEEP, "--jobs", "1", "--store", "whole.db"]) == 0
    return points("whole.db")


def begin(command: list[str]) -> ForkProcess:
    """Start a command in a process of its own; forked, it has all modules already."""
    process = get_context("fork").Process(target=lambda: sys.exit(invoke(command)))
    process.start()
    return process


@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_a_killed_sweep_goes_on(whole: list[tuple[Any, ...]], capfd: Any, kills: int) -> None:
    seen: list[int] = []
    for _ in range(kills):
        process = begin([*SWEEP, "--jobs", "2", "--quiet"])
        before = count()
        while count() == before and process.is_alive():
            time.sleep(0.005)
        process.kill()
        process.join()
        seen.append(count())
    assert seen == sorted(seen) and seen[0] >= 1
    assert invoke([*SWEEP, "--jobs", "2"]) == 0
    assert "6 of 6 points" in capfd.readouterr().err
    assert count() == 6
    assert points("gpusim.db") == whole


def children(process: int) -> list[int]:
    """Processes that a process has forked."""
    try:
        return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:
        return []


def test_points_whose_processes_are_killed_are_run_again(whole: list[tuple[Any, ...]], capfd: Any) -> None:
    draws = random.Random(int(os.environ.get("GPUSIM_KILL_SEED", "1")))
    process = begin([*SWEEP, "--jobs", "2"])
    killed = 0
    while process.is_alive() and not Path("gpusim.db").exists():  # what is killed before is no point's process
        time.sleep(0.01)
    while process.is_alive() and killed < 3:
        time.sleep(draws.uniform(0.0, 0.1))
        for child in children(process.pid or 0)[:1]:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
                killed += 1
    process.join()
    assert "its process was ended by SIGKILL, as where memory is short: running it again" in capfd.readouterr().err
    assert invoke([*SWEEP, "--jobs", "2", "--retry"]) == 0  # a point that was lost twice has failed
    assert points("gpusim.db") == whole


SEARCH = [
    *[*SWEEP[:-1], "gpu.l1.fill_latency_cycles=" + ",".join(map(str, range(2, 90)))],
    *["--method", "search", "--points", "8", "--minimize", "kernel.cycles"],
    *["--maximize", "gpu.l1.fill_latency_cycles - 1"],
]


@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_a_search_that_is_killed_goes_on_to_the_same_points(folder: Path, capfd: Any, kills: int) -> None:
    pytest.importorskip("optuna")
    draws = random.Random(int(os.environ.get("GPUSIM_KILL_SEED", "2")))
    for _ in range(kills):
        process = begin([*SEARCH, "--jobs", "2", "--quiet"])
        before = count()
        while count() == before and process.is_alive():
            time.sleep(0.02)
        time.sleep(draws.uniform(0.0, 0.4))
        process.kill()
        process.join()
    assert invoke([*SEARCH, "--jobs", "2"]) == 0
    said = capfd.readouterr()
    assert "8 of 8 points" in said.err and "Pareto front by kernel.cycles (least), gpu.l1" in said.err
    assert said.out.splitlines()[0].split("\t")[-3:] == [
        "kernel.cycles",
        "gpu.l1.fill_latency_cycles - 1",
        "Pareto front",
    ]
    assert count() == 8
    assert invoke([*SEARCH, "--jobs", "1", "--store", "whole.db"]) == 0
    assert points("gpusim.db") == points("whole.db")


def count() -> int:
    """Runs that the store has; 0 before there is one."""
    try:
        with StoreReader("gpusim.db") as results:
            return len(results.table("runs"))
    except UserError:
        return 0


def test_points_that_cannot_be_are_stored_and_the_rest_goes_on(folder: Path, capfd: Any) -> None:
    odd = [*SWEEP[:-1], "gpu.l1.fill_latency_cycles=1,-1,2", "--quiet"]
    assert invoke(odd) == 1
    with StoreReader("gpusim.db") as results:
        rows = results.sweep(1)
        assert [row["state"] for row in rows] == ["done", "failed", "done"]
        (failed,) = results.table("runs", state="failed")
        assert "must be at least" in failed["error"] and failed["exit_code"] == 2
        assert results.configuration(failed["id"])["given"]["gpu.l1.fill_latency_cycles"] == -1
    runs = count()
    assert invoke(odd) == 1
    assert count() == runs
    assert invoke([*odd, "--retry"]) == 1
    assert count() == runs + 1
    assert invoke([*odd, "--fresh"]) == 1
    assert count() == runs + 4
    assert capfd.readouterr().out == ""


def test_equal_work_of_a_run_and_of_another_sweep_is_found(folder: Path, capfd: Any) -> None:
    sets = [word for s in [*FIXED, "gpu.l1.fill_latency_cycles=2"] for word in ("--set", s)]
    assert invoke(["exec", "vector_add", *sets, "--store", "--quiet"]) == 0
    assert invoke([*SWEEP[:-1], "gpu.l1.fill_latency_cycles=1,2"]) == 0
    assert "2 of 2 points: 1 ran, 1 equal runs were there" in capfd.readouterr().err
    assert invoke([*SWEEP[:-1], "gpu.l1.fill_latency_cycles=2,1,3"]) == 0
    assert "3 of 3 points: 1 ran, 2 equal runs were there" in capfd.readouterr().err
    assert count() == 3


def test_a_metric_that_no_point_has_is_said_and_the_others_are_shown(folder: Path, capfd: Any) -> None:
    asked = ["--metric", "engine.requests", "--metric", "kernel.cycles"]
    assert invoke([*SWEEP[:-1], "gpu.l1.fill_latency_cycles=2,4", *asked]) == 0
    out, err = capfd.readouterr()
    assert "engine.requests: does not apply to any point" in err
    assert out.splitlines()[0].split("\t")[-1] == "kernel.cycles"


def test_points_of_equal_work_are_run_once(folder: Path, capfd: Any) -> None:
    # names of one GPU: whatever it is called by, its configuration is the same
    assert invoke([*SWEEP[:-1], "gpu=mi6,mi6.yaml", "--jobs", "2"]) == 0
    assert "2 of 2 points: 2 ran" in capfd.readouterr().err
    assert count() == 1


def test_table_and_csv(folder: Path, capfd: Any) -> None:
    assert invoke([*SWEEP[:-1], "gpu.l1.fill_latency_cycles=2,4", "--metric", "l2.hits", "--csv", "a.csv"]) == 0
    rows = [line.split("\t") for line in capfd.readouterr().out.splitlines()]
    assert rows[0] == ["point", "gpu.l1.fill_latency_cycles", "run", "state", "variant", "l2.hits"]
    assert [row[:2] for row in rows[1:]] == [["0", "2"], ["1", "4"]]
    assert Path("a.csv").read_text().splitlines()[0] == ",".join(rows[0])
    assert invoke([*SWEEP[:-1], "gpu.l1.fill_latency_cycles=2,4", "--list"]) == 0
    assert capfd.readouterr().out == "point\tgpu.l1.fill_latency_cycles\n0\t2\n1\t4\n"


def test_what_is_wrong_is_said_before_anything_runs(folder: Path, capfd: Any) -> None:
    for odd, said in (
        (["--metric", "kernel.cycle"], "--metric: unknown metric 'kernel.cycle'; did you mean 'kernel.cycles'?"),
        (["--minimize", "kernel.cycle"], "objectives: 'kernel.cycle': unknown value"),
        (["--method", "search"], "method search needs points"),
    ):
        assert invoke([*SWEEP, *odd]) == 2
        error = capfd.readouterr().err
        assert said in error and len(error.splitlines()) == 1
    assert count() == 0


def test_a_worker_that_dies_or_fails_is_its_points_error_alone(tmp_path: Path) -> None:
    ends = {
        "killed": "its process was ended by SIGKILL",
        "wrong": "a; b",
        "defect": "ValueError: no",
        "simulation": "SimulationError: stuck",
        "killed once": None,
        "well": None,
    }
    executor = LocalProcesses(2, Reporter(quiet=True))
    found: dict[int, Any] = {}
    for key, how in enumerate(sorted(ends)):
        while executor.full:
            found |= dict(executor.finished())
        executor.submit(key, Odd(how, tmp_path / "note"))
    while executor.running:
        found |= dict(executor.finished())
    by_how = {how: found[key].outcome for key, how in enumerate(sorted(ends))}
    assert {how: outcome.state for how, outcome in by_how.items()} == {
        how: "failed" if said else "done" for how, said in ends.items()
    }
    assert by_how["wrong"].error == "a; b"
    assert "ended by SIGKILL" in by_how["killed"].error
    assert "ValueError: no" in by_how["defect"].error
    assert by_how["simulation"].error == "SimulationError: stuck"
    executor.stop()


def test_ctrl_c_keeps_what_has_ended_and_nothing_else(folder: Path) -> None:
    script = f"from gpusim.cli.start import main; import sys; sys.argv[1:] = {[*SWEEP, '--jobs', '1']!r}; main()"
    command = [sys.executable, "-c", script]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    for _ in range(400):
        if count():
            break
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, err = process.communicate()
    if process.returncode == 0:
        pytest.skip("it had ended before")
    assert process.returncode == 130
    assert "interrupted: the same command goes on" in err
    assert 1 <= count() < 6
    with StoreReader("gpusim.db") as results:
        assert {row["state"] for row in results.table("runs")} == {"done"}


def test_a_script_runs_a_sweep_and_goes_on_with_it(folder: Path) -> None:
    sets = {"global_size": [64], "arguments.n.value": 64}
    sets |= {f"arguments.{name}": {"fill": 1, "dtype": "float32", "shape": [64]} for name in "abc"}
    axes = {"gpu.l1.fill_latency_cycles": [56, 120]}
    first = gpusim.run_sweep("vector_add", axes=axes, sets=sets, jobs=1, quiet=True)
    assert [row["state"] for row in first] == ["done", "done"]
    assert [row["point"] for row in first.best()] == [0]
    again = gpusim.run_sweep(
        {
            "exec": "vector_add",
            "sets": sets,
            "axes": {"gpu.l1.fill_latency_cycles": {"low": 56, "high": 120, "steps": 2}},
        },
        metrics=["kernel.cycles", "l2.hit_rate"],
        quiet=True,
    )
    assert [row["run"] for row in again] == [1, 2], "equal runs were there"
    assert again.metrics == ["kernel.cycles", "l2.hit_rate"]
    for wrong, said in (
        ({"jobs": 0}, "jobs: 0"),
        ({"method": "gird"}, "did you mean 'grid'"),
        ({"axes": {"gpu.l2.size": [1]}}, "did you mean 'gpu.l2.size_kib'"),
        ({"axes": {}}, "nothing is varied"),
        ({"axes": {"gpu.l2.size_kib": object()}}, "has no place in a configuration"),
    ):
        with pytest.raises(UserError, match=said):
            gpusim.run_sweep("vector_add", **{"axes": axes, "quiet": True, **wrong})
