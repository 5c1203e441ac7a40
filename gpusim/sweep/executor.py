"""Where the points of a sweep are run: processes of this machine; another place is another class of this interface."""

from typing import Protocol

from gpusim.base.children import Children
from gpusim.base.errors import GpusimError
from gpusim.base.progress import Reporter, reporting
from gpusim.core.prepare import prepare_core
from gpusim.keeping.keeper import Started
from gpusim.keeping.outcome import failed
from gpusim.sweep.tasks import Done, Task, done


class Executor(Protocol):
    """Runs tasks side by side; what becomes of each comes back under its key, whatever happens to who runs it."""

    @property
    def full(self) -> bool:
        """Whether the next task would have to wait."""

    @property
    def running(self) -> int:
        """Tasks that have not come back."""

    def submit(self, key: int, task: Task) -> None:
        """Begin a task."""

    def finished(self) -> list[tuple[int, Done]]:
        """What has come back within a moment."""

    def stop(self) -> None:
        """End all that is running."""


class LocalProcesses:
    """A forked process for each task (Executor): it has the compiled core at once, and takes its memory with it."""

    def __init__(self, jobs: int, reporter: Reporter) -> None:
        self._reporter, self._is_ready = reporter, False
        self._children = Children(jobs, nested=True, what="point")
        self._started: dict[int, Started] = {}

    @property
    def full(self) -> bool:
        """Whether all processes are busy."""
        return self._children.full

    @property
    def running(self) -> int:
        """Processes."""
        return self._children.running

    def submit(self, key: int, task: Task) -> None:
        """Fork a process, the first one once the core is there, so that none compiles it."""
        if not self._is_ready:
            with reporting(self._reporter):
                prepare_core()
            self._is_ready = True
        self._started[key] = Started()
        self._children.start(key, lambda: done(task))

    def finished(self) -> list[tuple[int, Done]]:
        """Of processes that have ended, also of those that died."""
        found = []
        for key, result in self._children.outcomes():
            started = self._started.pop(key)
            if isinstance(result, GpusimError):
                result = Done(failed(str(result), 1), started.date, started.seconds)
            found.append((key, result))
        return found

    def stop(self) -> None:
        """End the processes."""
        self._children.stop()
