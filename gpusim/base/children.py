"""Work in forked processes: each sees memory as it was when it was started, and what it writes is its own."""

import contextlib
import ctypes
import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from gpusim.base.errors import GpusimError, SimulationError, UserError
from gpusim.base.follow import enter_work, left
from gpusim.base.processors import share_threads

POLL_S = 0.2
_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LAST_S = 10  # that a process has after a signal that its parent got, too, and ends it for


class ProcessLostError(SimulationError):
    """A process ended without reporting the result of its work: something ended it from outside, or it crashed."""


@contextlib.contextmanager
def hold_signals() -> Iterator[None]:
    """Hold signals back while a process is started; in the new process they wait until `deliver_signals`.

    In between, they could end neither process cleanly: if a handler raised in the new process before `multiprocessing`
    has it in hand, it would go on as a second copy of this one.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def deliver_signals() -> None:
    """Deliver the signals held back, now that the started process has its own handlers."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)


class ProcessPool:
    """At most `limit` processes at a time; the result of each, or its error, comes back by its key.

    Args:
        nested: The processes may start others.
        what: Names the thing that keys number, for messages: 'point'.
    """

    def __init__(self, limit: int, nested: bool = False, what: str = "") -> None:
        if not hasattr(os, "fork"):
            raise UserError(
                "--jobs: this system cannot fork processes: only 1 is possible, of a network with real data"
            )
        self._limit, self._nested, self._what = limit, nested, what
        self._context = multiprocessing.get_context("fork")
        self._running: dict[Connection, tuple[Any, Any]] = {}

    @property
    def full(self) -> bool:
        """Whether the next process would have to wait."""
        return len(self._running) >= self._limit

    @property
    def running(self) -> int:
        """Processes that have not come back."""
        return len(self._running)

    @property
    def connections(self) -> list[Connection]:
        """A connection of each process, ready when it has come back, so that one can wait for several sources."""
        return list(self._running)

    def start(self, key: Any, work: Callable[[], Any]) -> None:
        """Fork a process that does `work`; its result must be picklable."""
        ours, theirs = self._context.Pipe(duplex=False)
        sys.stdout.flush()
        sys.stderr.flush()
        process = self._context.Process(
            target=_work,
            args=(theirs, work, os.getpid(), self._name(key), self._limit),
            daemon=not self._nested,
        )
        with hold_signals():
            process.start()
        theirs.close()
        self._running[ours] = (key, process)

    def finished(self, timeout_s: float = POLL_S) -> list[tuple[Any, Any]]:
        """Return (key, result) of those that came back within the time; raise an error that one of them raised."""
        found = self.outcomes(timeout_s)
        for _, result in found:
            if isinstance(result, GpusimError):
                raise result
        return found

    def outcomes(self, timeout_s: float = POLL_S) -> list[tuple[Any, Any]]:
        """Return (key, result) of those that came back within the time; of one that raised or died, the error."""
        finished = []
        for connection in wait(list(self._running), timeout_s):
            assert isinstance(connection, Connection)
            key, process = self._running.pop(connection)
            try:
                _, result = connection.recv()
            except (EOFError, OSError):
                process.join()
                result = ProcessLostError(f"{self._name(key)}: {_end(process.exitcode)}")
            finally:
                connection.close()
            process.join()
            left(self._name(key))
            finished.append((key, result))
        return finished

    def stop(self) -> None:
        """End all running processes."""
        for connection in self.connections:
            self._end(connection)

    def end(self, key: Any) -> None:
        """End the process of this key, if it is running."""
        for connection, (running, _) in list(self._running.items()):
            if running == key:
                self._end(connection)

    def _end(self, connection: Connection) -> None:
        key, process = self._running.pop(connection)
        process.kill()
        process.join()
        connection.close()
        left(self._name(key))

    def _name(self, key: Any) -> str:
        return f"{self._what} {key}" if self._what else str(getattr(key, "name", key))


def _end(code: int) -> str:
    """Describe how a process ended that reported nothing: by itself, or by a signal."""
    if code >= 0:
        return f"its process ended with code {code}"
    memory = ", as where memory is short" if -code == signal.SIGKILL else ""
    return f"its process was ended by {signal.Signals(-code).name}{memory}"


def _end_with(parent: int) -> None:
    """Have the system kill this process when `parent` dies, however it does (Linux: prctl, PR_SET_PDEATHSIG)."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() != parent:  # it has died already
            os._exit(1)


def _work(connection: Connection, work: Callable[[], Any], parent: int, name: str, processes: int) -> None:
    _end_with(parent)
    share_threads(processes)
    enter_work(name)
    # the parent decides: signals reach all processes of a terminal or a batch job, and it tells what is known by then
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: signal.alarm(_LAST_S))
    deliver_signals()
    try:
        outcome: tuple[bool, Any] = (True, work())
    except GpusimError as error:
        outcome = (False, _picklable(error))
    except Exception as error:
        outcome = (False, SimulationError(f"{type(error).__name__}: {error}"))
    connection.send(outcome)
    connection.close()


def _picklable(error: GpusimError) -> GpusimError:
    """Return the error or, where its class keeps more than a message, one of its family with the same message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return UserError(str(error)) if isinstance(error, UserError) else SimulationError(str(error))
    return error
