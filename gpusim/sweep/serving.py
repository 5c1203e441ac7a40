"""A process that runs points for another one: it holds the compiled core and forks a process for each point.

`PointServer` is the other one's side. That process may have threads, or be a daemon of `multiprocessing`'s, neither of
which may fork safely; workers of a cluster are both.
"""

import itertools
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe, wait
from queue import Empty, SimpleQueue
from typing import Any

from gpusim.base.errors import GpusimError, SimulationError

LOOK_EVERY_S = 0.25  # whether a point is still wanted
_PROGRAM = "from gpusim.sweep.serving import serve; serve({handle})"
_ANY_NUMBER = 1 << 20  # of processes: whoever asks decides how many


def serve(handle: int) -> None:
    """Run points for the process at the pipe's other end, until it is closed; handle: this end's file descriptor."""
    from gpusim.base.progress import Reporter
    from gpusim.sweep.executor import LocalProcesses

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
    """The client side of a server; threads may use it at the same time. The server ends with the process that
    made it.
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
        """Run a pickled Task and return its Done; None when `wanted`, which is called now and then, returns False.

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
