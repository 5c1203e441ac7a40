"""Where the points of a sweep are run: processes of this machine; another place is another class of this interface."""

from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Protocol

from gpusim.base.children import ProcessLostError, ProcessPool
from gpusim.base.errors import GpusimError, UserError
from gpusim.base.processors import default_jobs
from gpusim.base.progress import Reporter, reporting
from gpusim.jobs.running.dense_choice import add_choices
from gpusim.model.core.prepare import prepare_core
from gpusim.results.store.keeper import RunClock
from gpusim.results.store.outcome import failed
from gpusim.study.sweep.tasks import PointTask, TaskResult, done

ATTEMPTS = 2  # of a task whose process is lost: the second loss is more likely its own doing than an accident


class Executor(Protocol):
    """Runs tasks in parallel; the result of each comes back under its key, even if the process that ran it is lost.

    A task whose process, worker or machine is lost is run again by another one; it becomes its point's error only when
    that happens repeatedly. Raises UserError or SimulationError where nothing can be run any more.
    """

    @property
    def full(self) -> bool:
        """Whether the next task would have to wait."""

    @property
    def running(self) -> int:
        """Tasks that have not come back."""

    def submit(self, key: int, task: PointTask) -> None:
        """Begin a task."""

    def finished(self) -> list[tuple[int, TaskResult]]:
        """Return the results that have come back within a moment."""

    def stop(self) -> None:
        """End all running tasks, whose results do not come back."""


@dataclass
class _RunningTask:
    """A task with a process."""

    task: PointTask
    """Task."""
    started: RunClock
    """Time of its first attempt."""
    attempts: int = 1
    """Number of attempts."""


class LocalProcesses:
    """Forks a process for each task (Executor): it has the compiled core at once, and its memory goes with it."""

    def __init__(self, jobs: int, reporter: Reporter) -> None:
        self._reporter, self._is_ready = reporter, False
        self._children = ProcessPool(jobs, nested=True, what="point")
        self._tasks: dict[int, _RunningTask] = {}

    @property
    def full(self) -> bool:
        """Whether all processes are busy."""
        return self._children.full

    @property
    def running(self) -> int:
        """The number of running processes."""
        return self._children.running

    @property
    def connections(self) -> list[Connection]:
        """A connection of each process, ready when `finished` has a result of it."""
        return self._children.connections

    def prepare(self) -> None:
        """Prepare the core, so that no process compiles it; a second call does nothing."""
        if not self._is_ready:
            with reporting(self._reporter):
                prepare_core()
            self._is_ready = True

    def submit(self, key: int, task: PointTask) -> None:
        """Fork a process."""
        self.prepare()
        self._tasks[key] = _RunningTask(task, RunClock())
        self._start(key)

    def finished(self) -> list[tuple[int, TaskResult]]:
        """Return the results of processes that have ended; one that is lost is forked again, and given up next time."""
        results = []
        for key, result in self._children.outcomes():
            running = self._tasks[key]
            if isinstance(result, ProcessLostError) and running.attempts < ATTEMPTS:
                running.attempts += 1
                self._reporter.say(f"{result}: running it again")
                self._start(key)
                continue
            del self._tasks[key]
            if isinstance(result, GpusimError):
                result = TaskResult(failed(str(result), 1), running.started.date, running.started.seconds)
            add_choices(result.choices)  # to processes that are forked from now on
            results.append((key, result))
        return results

    def end(self, key: int) -> None:
        """End a task if it is running; its result does not come back."""
        self._children.end(key)
        self._tasks.pop(key, None)

    def stop(self) -> None:
        """End the processes."""
        self._children.stop()
        self._tasks.clear()

    def _start(self, key: int) -> None:
        task = self._tasks[key].task
        self._children.start(key, lambda: done(task))


def executor_for(jobs: int | None, cluster: str | None, reporter: Reporter) -> Executor:
    """Return the processes of this machine, or the workers of a cluster.

    Args:
        jobs: processes; None: as many as processors.
        cluster: address of a Dask scheduler; None: this machine.
        reporter: notified of workers.

    Returns:
        What runs tasks.

    Raises:
        UserError: the cluster cannot be reached.
    """
    if cluster is None:
        return LocalProcesses(jobs if jobs is not None else default_jobs(), reporter)
    if jobs is not None:
        raise UserError("--jobs, --cluster: the cluster's workers say how many points run at a time")
    from gpusim.study.sweep.cluster import DaskCluster

    return DaskCluster(cluster, reporter)
