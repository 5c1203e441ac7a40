"""Does a sweep on a Dask cluster leave what one on this machine does, whoever of the cluster is killed meanwhile?"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.cli.main import invoke
from gpusim.results.store.reading import StoreReader
from tests.support.dask_cluster import Cluster, cluster

# found, not imported: every process that collects tests would take half a second for it
pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="needs the extra 'cluster'")

LATENCIES = range(56, 68)  # some are left when the scheduler is killed after the first
SIZES = [f"arguments.{name}={{fill: 1, dtype: float32, shape: [64]}}" for name in "abc"]
FIXED = ["global_size=[64]", "arguments.n.value=64", *SIZES]
SWEEP = [
    *["sweep", "vector_add", *(word for s in FIXED for word in ("--set", s))],
    *["--set", f"gpu.l1.fill_latency_cycles={','.join(map(str, LATENCIES))}"],
]
COMPARED = ("point", "gpu.l1.fill_latency_cycles", "state", "variant", "kernel.cycles", "l2.hit_rate")
OTHER_CODE = "import gpusim.study.sweep.worker as w; w.code_version = lambda: '0123 on Python 3.11'"
NO_GPUSIM = "import sys; sys.modules['gpusim.study.sweep.worker'] = None"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def points(store: str) -> list[tuple[Any, ...]]:
    with StoreReader(store) as results:
        table = results.sweep(1, "kernel.cycles", "l2.hit_rate")
    return [tuple(row[name] for name in COMPARED) for row in table]


def count(store: str) -> int:
    """Runs that a store has; 0 before there is one."""
    try:
        with StoreReader(store) as results:
            return len(results.table("runs"))
    except UserError:
        return 0


def begin(where: Cluster, store: str) -> "subprocess.Popen[str]":
    command = [*SWEEP, "--cluster", where.address, "--store", store]
    script = f"import sys; from gpusim.cli.start import main; sys.argv[1:] = {command!r}; main()"
    return subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)


def wait_for_a_point(process: "subprocess.Popen[str]", store: str) -> None:
    before = count(store)
    while count(store) == before and process.poll() is None:
        time.sleep(0.02)


def sweep_until_a_point(where: Cluster, store: str, act: Callable[[], Any]) -> int:
    """Exit code of a sweep in this process; what is to be done once it has a point is done beside it."""

    def watch() -> None:
        end = time.monotonic() + 60
        while count(store) == 0 and time.monotonic() < end:
            time.sleep(0.005)
        act()

    watcher = Thread(target=watch)
    watcher.start()
    code = invoke([*SWEEP, "--cluster", where.address, "--store", store])
    watcher.join()
    return code


def test_a_sweep_leaves_what_one_here_does_and_goes_on_when_its_scheduler_is_gone(folder: Path, capfd: Any) -> None:
    with cluster(folder) as where:
        where.worker(OTHER_CODE)
        assert invoke([*SWEEP, "--cluster", where.address, "--store", "none.db"]) == 2
        assert "has other code: 0123 on Python 3.11, here it is" in capfd.readouterr().err
        assert count("none.db") == 0

        where.worker()
        code = sweep_until_a_point(where, "cluster.db", where.scheduler.kill)
        said = capfd.readouterr().err
        assert code == 1 and f"--cluster {where.address}: the scheduler is gone; the same command goes on" in said
        assert said.count("is given nothing: has other code") == 1
        assert 1 <= count("cluster.db") < len(LATENCIES)
    assert invoke([*SWEEP, "--jobs", "1", "--store", "cluster.db"]) == 0
    assert invoke([*SWEEP, "--jobs", "1", "--store", "here.db"]) == 0
    assert points("cluster.db") == points("here.db")


@pytest.mark.nightly
def test_a_worker_is_killed_in_the_middle_and_one_of_other_code_is_given_nothing(folder: Path, capfd: Any) -> None:
    with cluster(folder) as where:
        where.worker(OTHER_CODE)
        where.worker(NO_GPUSIM)
        assert invoke([*SWEEP, "--cluster", where.address, "--store", "none.db"]) == 2
        said = capfd.readouterr().err
        assert "has other code: 0123 on Python 3.11, here it is" in said
        assert "has no gpusim of this version (ModuleNotFoundError" in said
        assert count("none.db") == 0

        workers = [where.worker(), where.worker()]
        code = sweep_until_a_point(where, "cluster.db", workers[0].kill)
        said = capfd.readouterr().err
        assert code == 0, said
        assert f"{len(LATENCIES)} of {len(LATENCIES)} points: {len(LATENCIES)} ran" in said
        assert said.count("is given nothing: has other code") == 1

        code = sweep_until_a_point(where, "ended.db", where.scheduler.kill)
        said = capfd.readouterr().err
        assert code == 1 and f"--cluster {where.address}: the scheduler is gone; the same command goes on" in said
        assert 1 <= count("ended.db") < len(LATENCIES)
    assert invoke([*SWEEP, "--jobs", "1", "--store", "here.db"]) == 0
    assert points("cluster.db") == points("here.db")


@pytest.mark.nightly
def test_sweep_and_scheduler_are_killed_at_random_moments(folder: Path, capfd: Any) -> None:
    draws = random.Random(int(os.environ.get("GPUSIM_KILL_SEED", "1")))
    known = []
    with cluster(folder) as where:
        where.worker()
        sweep = begin(where, "cluster.db")
        wait_for_a_point(sweep, "cluster.db")
        time.sleep(draws.uniform(0.0, 0.2))
        sweep.kill()
        sweep.communicate()
        known.append(count("cluster.db"))
        sweep = begin(where, "cluster.db")
        wait_for_a_point(sweep, "cluster.db")
        time.sleep(draws.uniform(0.0, 0.2))
        where.scheduler.kill()
        _, said = sweep.communicate()
        known.append(count("cluster.db"))
        if sweep.returncode != 0:  # else it had ended before
            assert sweep.returncode == 1, said
            lines = [line for line in said.splitlines() if "points" not in line]
            assert lines == [
                f"gpusim: SimulationError: --cluster {where.address}: the scheduler is gone; the same command goes on"
            ]
    assert known == sorted(known) and known[0] >= 1
    assert invoke([*SWEEP, "--jobs", "2", "--store", "cluster.db"]) == 0
    assert f"{len(LATENCIES)} of {len(LATENCIES)} points" in capfd.readouterr().err
    assert count("cluster.db") == len(LATENCIES)  # none was run twice
    assert invoke([*SWEEP, "--jobs", "1", "--store", "here.db"]) == 0
    assert points("cluster.db") == points("here.db")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://127.0.0.1:1", "no scheduler answers there"),
        ("nonsense", "is no scheduler's address, as tcp://host:8786 is: missing port number"),
        ("odd://a:1", "unknown address scheme 'odd'"),
    ],
)
def test_a_scheduler_that_is_not_there_is_one_line(folder: Path, capfd: Any, address: str, said: str) -> None:
    assert invoke([*SWEEP, "--cluster", address]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"gpusim: error: --cluster {address}: ") and said in error
    assert len(error.splitlines()) == 1
    assert not Path("gpusim.db").exists()


def test_jobs_are_of_this_machine_alone(folder: Path, capfd: Any) -> None:
    assert invoke([*SWEEP, "--cluster", "tcp://127.0.0.1:1", "--jobs", "2"]) == 2
    assert "the cluster's workers say how many" in capfd.readouterr().err


def test_a_cluster_needs_its_extra(folder: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert invoke([*SWEEP, "--cluster", "tcp://127.0.0.1:1"]) == 2
    assert "needs the extra 'cluster'" in capfd.readouterr().err
