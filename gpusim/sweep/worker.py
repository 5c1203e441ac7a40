"""What a worker of a cluster does for a sweep: it proves to have the same code, and has its own process run points."""

import os
import pickle
import platform
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpusim.base.errors import SimulationError
from gpusim.store.keeper import Started
from gpusim.store.outcome import Outcome, failed
from gpusim.store.work import ALL, hash_of_files, sources_hash
from gpusim.sweep.serving import PointServer
from gpusim.sweep.tasks import Done, Task

# beside what decides a result: what a task is, how it is sent, what comes back
_SENT = ("gpusim/base", "gpusim/store", "gpusim/sweep")


@cache
def code_version() -> str:
    """Return a text such as '3f9c01d2a4b5c6d7 on Python 3.11', equal where tasks and their results mean the same."""
    return f"{sources_hash((*ALL, *_SENT))} on Python {sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Parcel:
    """A task on its way to a worker. files: those that it reads, whose contents must be the same at the worker."""

    task: Task
    files: Sequence[Path]
    files_hash: str


@dataclass(frozen=True)
class InFolder:
    """A task that is run in the folder where the sweep was started (Task), if it exists, since it may name files."""

    task: Task
    folder: str
    files: Sequence[Path] = ()

    def run(self) -> Outcome:
        """Run the task, which has a process of its own, in the folder."""
        if os.path.isdir(self.folder):
            os.chdir(self.folder)
        return self.task.run()


def run_parcel(content: bytes, wanted: Callable[[], bool]) -> Done | None:
    """Run a pickled Parcel in this worker's server; return None when `wanted`, called now and then, returns False."""
    parcel: Parcel = pickle.loads(content)
    started = Started()
    try:
        if parcel.files and hash_of_files(parcel.files) != parcel.files_hash:
            names = ", ".join(map(str, parcel.files))
            raise SimulationError(f"the files that it reads are others there, or missing: {names}")
        return _server().run(pickle.dumps(parcel.task), wanted)
    except SimulationError as error:
        return Done(failed(f"worker on {platform.node()}: {error}", 1), started.date, started.seconds)


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
