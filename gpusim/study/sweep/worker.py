"""What a worker of a cluster does for a sweep: it proves to have the same code, and has its own process run points."""

import itertools
import os
import pickle
import platform
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from gpusim.base.errors import GpusimError, SimulationError
from gpusim.base.progress import Reporter
from gpusim.results.store.keeper import RunClock
from gpusim.results.store.outcome import RunOutcome, failed
from gpusim.results.store.work import hash_of_files, sources_hash
from gpusim.study.sweep.executor import LocalProcesses
from gpusim.study.sweep.tasks import PointTask, TaskResult

# beside what decides a result: what a task is, how it is sent, what comes back
_SENT = ("gpusim/base", "gpusim/results/store", "gpusim/study/sweep")
LOOK_EVERY_S = 0.25  # whether a point is still wanted
_PROGRAM = "from gpusim.study.sweep.worker import serve; serve({handle})"
_ANY_NUMBER = 1 << 20  # of processes: whoever asks decides how many


@cache
def code_version() -> str:
    """Return a text such as '3f9c01d2a4b5c6d7 90ab12cd34ef56ab on Python 3.11', equal where tasks and their results
    mean the same.
    """
    return f"{sources_hash()} {sources_hash(_SENT)} on Python {sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class WorkerTask:
    """A task with its files' hash, sent to a worker."""

    task: PointTask
    """Task."""
    files: Sequence[Path]
    """Files that the task reads; the worker must have equal contents."""
    files_hash: str
    """Hash of their contents."""


@dataclass(frozen=True)
class FolderTask:
    """A task that is run in the folder where the sweep was started (PointTask), if it exists, since it may name
    files."""

    task: PointTask
    """The point's task."""
    folder: str
    """Folder in which the sweep was started."""
    files: Sequence[Path] = ()
    """Files that the task reads."""

    def run(self) -> RunOutcome:
        """Run the task, which has a process of its own, in the folder."""
        if os.path.isdir(self.folder):
            os.chdir(self.folder)
        return self.task.run()


def run_parcel(content: bytes, wanted: Callable[[], bool]) -> TaskResult | None:
    """Run a pickled WorkerTask in this worker's server; return None when `wanted`, called now and then, returns
    False."""
    parcel: WorkerTask = pickle.loads(content)
    started = RunClock()
    try:
        if parcel.files and hash_of_files(parcel.files) != parcel.files_hash:
            names = ", ".join(map(str, parcel.files))
            raise SimulationError(f"the files that it reads are others there, or missing: {names}")
        outcome: TaskResult | None = _server().run(pickle.dumps(parcel.task), wanted)
        return outcome
    except SimulationError as error:
        return TaskResult(failed(f"worker on {platform.node()}: {error}", 1), started.date, started.seconds)


def serve(handle: int) -> None:
    """Run points for the process at the pipe's other end, until it is closed; handle: this end's file descriptor."""
    with Connection(handle) as asking:
        processes = LocalProcesses(_ANY_NUMBER, Reporter(quiet=True))
        try:
            processes.prepare()
            while True:
                ready = wait([asking, *processes.connections])
                if asking in ready:
                    key, task = asking.recv()
                    if task is None:
                        processes.end(key)
                    else:
                        processes.submit(key, pickle.loads(task))
                if len(ready) > (asking in ready):
                    for answer in processes.finished():
                        asking.send(answer)
        except (EOFError, OSError):  # nobody asks any more
            pass
        except GpusimError as error:  # the core cannot be made ready
            asking.send((None, str(error)))
        finally:
            processes.stop()


class PointServer:
    """A process that runs points for this one: it holds the compiled core and forks a process for each point.

    This process may have threads, or be a daemon of `multiprocessing`'s, neither of which may fork safely; workers of a
    cluster are both. Its threads may use a server at the same time, which ends with the process.
    """

    def __init__(self) -> None:
        self._asking, theirs = Pipe()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        command = [sys.executable, "-c", _PROGRAM.format(handle=theirs.fileno())]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True
        )
        theirs.close()
        self._keys, self._sending = itertools.count(), threading.Lock()
        self._answers: dict[int, SimpleQueue[Any]] = {}
        self._lost = ""
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def lost(self) -> bool:
        """Whether the server has ended and answers nothing any more."""
        return bool(self._lost)

    def run(self, task: bytes, wanted: Callable[[], bool]) -> Any:
        """Run a pickled PointTask and return its TaskResult; None when `wanted`, which is called now and then, returns
        False.

        Raise SimulationError where the server has ended.
        """
        key, answers = next(self._keys), SimpleQueue[Any]()
        self._answers[key] = answers
        try:
            self._send(key, task)
            while not self.lost or not answers.empty():
                try:
                    return answers.get(timeout=LOOK_EVERY_S)
                except Empty:
                    if not wanted():
                        self._send(key, None)
                        return None
            raise SimulationError(self._lost)
        finally:
            del self._answers[key]

    def close(self) -> None:
        """End the server and the points it runs."""
        self._process.kill()
        self._process.wait()

    def _send(self, key: int, task: bytes | None) -> None:
        try:
            with self._sending:
                self._asking.send((key, task))
        except OSError:
            raise SimulationError(self._lost or "the process that runs its points has ended") from None

    def _listen(self) -> None:
        try:
            while True:
                key, answer = self._asking.recv()
                if key is None:
                    self._lost = str(answer)
                    return
                if key in self._answers:  # else it is no longer wanted
                    self._answers[key].put(answer)
        except (EOFError, OSError):
            code = self._process.wait()
            self._lost = self._lost or f"the process that runs its points has ended with code {code}"


_starting = threading.Lock()
_servers: list[PointServer] = []


def _server() -> PointServer:
    """Return this process's server, a new one where the last has ended."""
    with _starting:
        if _servers and _servers[-1].lost:
            _servers.pop()
        if not _servers:
            _servers.append(PointServer())
        return _servers[-1]
