"""Where the points of a sweep are run: the workers of a Dask cluster, wherever those are."""

import logging
import os
import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

from gpusim.base.errors import MissingExtraError, SimulationError, UserError
from gpusim.base.formats import GENERAL
from gpusim.base.progress import Reporter
from gpusim.results.store.keeper import RunClock
from gpusim.results.store.outcome import failed
from gpusim.results.store.work import hash_of_files
from gpusim.study.sweep.tasks import PointTask, TaskResult
from gpusim.study.sweep.worker import FolderTask, WorkerTask, code_version

CONNECT_S = 5.0
POLL_S, LOOK_EVERY_S = 0.2, 1.0  # for what has come back; at who works
WAITING = 8  # points that are sent where there is no worker yet: what a cluster that grows by demand goes by


@dataclass(frozen=True)
class _SentTask:
    """A point sent to the cluster."""

    future: Any
    """Dask's future."""
    parcel: bytes
    """Pickled task."""
    allowed: frozenset[str]
    """Workers that may run it; empty: all."""
    started: RunClock
    """Time at which it was first sent."""


class DaskCluster:
    """Runs tasks on the workers of a Dask scheduler (Executor), as many on each as it has threads.

    Dask runs a lost worker's tasks again, and gives up after its `allowed-failures`. A worker with other code than this
    process gets no further tasks. Raises UserError where the scheduler cannot be reached.
    """

    def __init__(self, address: str, reporter: Reporter) -> None:
        self._address, self._reporter = address, reporter
        self._client = _connected(address)
        self._sent: dict[int, _SentTask] = {}
        self._back: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._refused: dict[str, str] = {}  # worker: why
        self._workers: dict[str, int] = {}  # their threads
        self._looked_at = 0.0
        self._look()
        if not self._workers:
            reporter.say(f"{address}: waiting for its first worker")

    @property
    def full(self) -> bool:
        """Whether each worker has a point for every thread and as many that wait, so that no thread is ever idle."""
        return len(self._sent) >= max(2 * sum(self._workers.values()), WAITING)

    @property
    def running(self) -> int:
        """Points that have been sent."""
        return len(self._sent)

    def submit(self, key: int, task: PointTask) -> None:
        """Send a point."""
        files = [file.absolute() for file in task.files]
        parcel = WorkerTask(FolderTask(task, os.getcwd()), files, hash_of_files(files))
        self._send(key, pickle.dumps(parcel), RunClock())

    def finished(self) -> list[tuple[int, TaskResult]]:
        """Return the results that have come back; a point that met a worker with other code is sent to another one.

        Raise SimulationError where the scheduler is lost, UserError where all workers are refused.
        """
        self._look()
        results: list[tuple[int, TaskResult]] = []
        timeout = POLL_S
        while True:
            try:
                key, future = self._back.get(timeout=timeout)
            except Empty:
                return results
            timeout = 0.0
            if key not in self._sent or self._sent[key].future is not future:
                continue  # it was sent again
            done = self._outcome(key, future)
            if done is not None:
                del self._sent[key]
                results.append((key, done))

    def stop(self) -> None:
        """Cancel all points that are running, and leave the cluster."""
        futures = [sent.future for sent in self._sent.values()]
        with suppress(Exception):  # whatever a scheduler that is gone says to it
            if futures and self._client.status == "running":
                self._client.cancel(futures, force=True)
        self._sent.clear()
        with suppress(Exception):
            self._client.close(timeout=CONNECT_S)

    def _send(self, key: int, parcel: bytes, started: RunClock) -> None:
        """Send a point to a free worker, one that is not refused."""
        allowed = frozenset(self._workers) if self._refused else frozenset[str]()
        restriction = {"workers": sorted(allowed)} if allowed else {}
        name = f"gpusim-point-{key}-{time.monotonic_ns()}"
        with self._asking():
            future = self._client.submit(_carrier(), code_version(), parcel, key=name, pure=False, **restriction)
            future.add_done_callback(lambda back: self._back.put((key, back)))
        self._sent[key] = _SentTask(future, parcel, allowed, started)

    def _send_again(self, key: int) -> None:
        self._send(key, self._sent[key].parcel, self._sent[key].started)

    def _outcome(self, key: int, future: Any) -> TaskResult | None:
        """Return the result of a point; None if the point has been sent again."""
        started = self._sent[key].started
        with self._asking():
            error = future.exception() if future.status == "error" else None  # None too if it is cancelled meanwhile
            result = future.result() if future.status == "finished" else None
        if error is not None:
            from distributed import KilledWorker

            lost = isinstance(error, KilledWorker)
            said = "each worker that ran it was lost" if lost else f"{type(error).__name__}: {error}"
            return TaskResult(failed(said, 1), started.date, started.seconds)
        if result is not None:
            what, worker, content = result
            if what == "done":
                return content  # type: ignore[no-any-return]
            self._refuse(worker, content)
        else:  # cancelled, as by a scheduler that is gone
            self._check_scheduler()
        self._send_again(key)
        return None

    def _refuse(self, worker: str, why: str) -> None:
        """Exclude a worker from further tasks."""
        if worker not in self._refused:
            self._refused[worker] = why
            self._reporter.say(f"{self._address}: worker {worker} is given nothing: {why}")
            self._looked_at = 0.0
            self._look()

    def _look(self) -> None:
        """Look up the present workers, now and then; a point that may go to none of them is sent again."""
        if time.monotonic() - self._looked_at < LOOK_EVERY_S:
            return
        self._check_scheduler()
        with self._asking():
            there = self._client.nthreads()
        self._looked_at = time.monotonic()
        for worker in self._workers.keys() - there.keys():
            self._reporter.say(f"{self._address}: worker {worker} is gone; others run its points")
        self._workers = {worker: threads for worker, threads in there.items() if worker not in self._refused}
        if there and not self._workers:
            raise UserError(*(f"{self._address}: worker {worker}: {why}" for worker, why in self._refused.items()))
        for key, sent in list(self._sent.items()):
            if sent.allowed and not sent.allowed & self._workers.keys():
                self._send_again(key)

    def _check_scheduler(self) -> None:
        if self._client.status != "running":
            raise self._gone()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Raise SimulationError for whatever Dask raises where the scheduler goes in the middle of a question to it."""
        try:
            yield
        except Exception as error:
            if isinstance(error, OSError | CancelledError) or self._client.status != "running":
                raise self._gone() from None
            raise

    def _gone(self) -> SimulationError:
        return SimulationError(f"--cluster {self._address}: the scheduler is gone; the same command goes on")


def _connected(address: str) -> Any:
    """Return Dask's client; raise UserError where there is no scheduler, MissingExtraError without Dask."""
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise MissingExtraError("--cluster (Dask)", "cluster") from None
    for name in ("asyncio", "tornado", "distributed", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("asyncio", "tornado", "distributed"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # what they would log is said here in one line
    dask.config.set({"distributed.comm.timeouts.connect": f"{GENERAL(CONNECT_S)}s"})
    try:
        return Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError):
        raise UserError(f"--cluster {address}: no scheduler answers there (waited {GENERAL(CONNECT_S)} s)") from None
    except (ValueError, TypeError, ImportError) as error:
        raise UserError(f"--cluster {address}: is no scheduler's address, as tcp://host:8786 is: {error}") from None


def _carrier() -> Callable[[str, bytes], tuple[str, str, Any]]:
    """Return the function that is sent to workers, which is defined inside so that all of its code is sent.

    So it also runs on workers without gpusim. It returns 'done', the worker's address and the point's result, or
    'refused', the address and the reason.
    """

    def gpusim_point(version: str, parcel: bytes) -> tuple[str, str, Any]:
        from distributed import get_worker

        worker = get_worker()
        key = worker.get_current_task()
        try:
            from gpusim.study.sweep.worker import code_version, run_parcel

            there = code_version()
        except Exception as error:
            return "refused", worker.address, f"has no gpusim of this version ({type(error).__name__}: {error})"
        if there != version:
            return "refused", worker.address, f"has other code: {there}, here it is {version}"

        def wanted() -> bool:
            task, ends = worker.state.tasks.get(key), worker.status.name in ("closing", "closed", "failed")
            return task is not None and task.state != "cancelled" and not ends

        return "done", worker.address, run_parcel(parcel, wanted)

    return gpusim_point
