"""Does what a worker of a cluster keeps beside it run points, end them when nobody wants them, and end with it?"""

import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpusim.base.errors import SimulationError
from gpusim.results.store.work import hash_of_files
from gpusim.study.sweep.tasks import TaskResult
from gpusim.study.sweep.worker import FolderTask, PointServer, WorkerTask, code_version, run_parcel
from tests.support.tasks import Odd

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def server() -> Iterator[PointServer]:
    made = PointServer()
    yield made
    made.close()


def always() -> bool:
    return True


def outcome(server: PointServer, how: str, note: Path | None = None) -> str:
    done = server.run(pickle.dumps(Odd(how, note)), always)
    assert isinstance(done, TaskResult)
    return done.outcome.error or done.outcome.state


def is_running(process: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(what: object) -> None:
    """Wait for a condition, some seconds."""
    assert callable(what)
    end = time.monotonic() + 20
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    assert what()


def test_points_end_in_their_own_ways_side_by_side(server: PointServer, tmp_path: Path) -> None:
    ends = {"wrong": "a; b", "simulation": "SimulationError: stuck", "well": "done", "killed once": "done"}
    found: dict[str, str] = {}

    def ask(how: str) -> None:
        found[how] = outcome(server, how, tmp_path / "note")

    threads = [threading.Thread(target=ask, args=(how,)) for how in ends]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ends
    assert "ended by SIGKILL" in outcome(server, "killed")


def test_a_point_that_nobody_wants_is_ended(server: PointServer, tmp_path: Path) -> None:
    note = tmp_path / "note"
    assert server.run(pickle.dumps(Odd("endless", note)), lambda: not note.exists() or not note.read_text()) is None
    until(lambda: not is_running(int(note.read_text())))
    assert outcome(server, "well") == "done"


def test_a_server_that_is_killed_says_so_and_takes_its_points_along(tmp_path: Path) -> None:
    server, note = PointServer(), tmp_path / "note"

    def kill() -> bool:
        if note.exists() and note.read_text():
            server.close()
        return True

    with pytest.raises(SimulationError, match="ended with code -9"):
        server.run(pickle.dumps(Odd("endless", note)), kill)
    until(lambda: not is_running(int(note.read_text())))
    assert server.lost
    with pytest.raises(SimulationError, match="ended with code -9"):
        server.run(pickle.dumps(Odd("well")), always)


WORKER = """
import pickle, sys
from pathlib import Path
from gpusim.study.sweep.worker import PointServer
from tests.support.tasks import Odd
PointServer().run(pickle.dumps(Odd("endless", Path(sys.argv[1]))), lambda: True)
"""


@pytest.mark.nightly  # a server that is ended takes its points along in the test above
def test_a_server_ends_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "note"
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(note)], cwd=ROOT)
    until(lambda: note.exists() and note.read_text() != "")
    worker.kill()
    worker.wait()
    until(lambda: not is_running(int(note.read_text())))


def test_a_point_whose_files_are_others_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "a.npy"
    file.write_text("here")
    parcel = WorkerTask(FolderTask(Odd("well"), str(tmp_path)), [file], hash_of_files([file]))
    file.write_text("there")
    done = run_parcel(pickle.dumps(parcel), always)
    assert done is not None and done.outcome.state == "failed"
    assert f"the files that it reads are others there, or missing: {file}" in (done.outcome.error or "")


def test_a_point_runs_in_the_folder_of_the_command_where_there_is_one(
    server: PointServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpusim.study.sweep.worker._servers", [server])
    for folder, where in ((tmp_path, tmp_path), (tmp_path / "missing", Path.cwd())):
        done = run_parcel(pickle.dumps(WorkerTask(FolderTask(Odd("where"), str(folder)), [], "")), always)
        assert done is not None and done.outcome.error == str(where)


def test_the_code_s_version_says_what_has_to_be_equal() -> None:
    assert code_version().endswith(f" on Python {sys.version_info.major}.{sys.version_info.minor}")
