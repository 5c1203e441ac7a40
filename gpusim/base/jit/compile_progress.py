"""How far a compilation is, and how long it will still take.

Work is counted in bytes of Python's byte code: what a function needs is nearly proportional to its size. How many bytes
this machine does in a second shows while it compiles; the first guess is what a quiet machine did, less what others
take of this one.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gpusim.base.formats import PERCENT_0, duration
from gpusim.base.jit import cache_folders
from gpusim.base.processors import share_left
from gpusim.base.progress import current_reporter

BYTES_PER_S = 8000.0  # measured: two processes on two cores at 2.7 GHz with nothing else to do
_INTERVAL_S = 5.0
_GUESS_S = 0.5  # for how long the first guess counts as much as what is measured

_running: list["Forecast"] = []


class Forecast:
    """Work done out of work that is known beforehand; `now` is in seconds, speed the first guess in work a second."""

    def __init__(self, work: float, now: float, speed: float = BYTES_PER_S) -> None:
        self.work, self._guess = work, speed
        self._done, self._step = 0.0, 0.0
        self._start = self._since = now

    def done(self, work: float, now: float) -> None:
        """Add `work` to the work done, which ends the step in progress."""
        self._done += work
        self._step, self._since = 0.0, now

    def begin(self, work: float, now: float) -> None:
        """Begin a step of `work` that reports nothing before its end."""
        self._step, self._since = work, now

    def estimate(self, now: float) -> tuple[float, float]:
        """Return the share done, from 0 to 1, and the seconds left."""
        speed = self._speed(self._done, self._since)
        done = self._done + min(speed * (now - self._since), 0.9 * self._step)
        speed = min(speed, self._speed(done, now))  # a step that takes longer than expected shows in it too
        return min(done / self.work, 1.0), max(self.work - done, 0.0) / speed

    def _speed(self, done: float, now: float) -> float:
        return (done + _GUESS_S * self._guess) / (now - self._start + _GUESS_S)

    def line(self, now: float) -> str:
        """Return the progress as text, such as '43 %, 21 s left'."""
        share, left = self.estimate(now)
        return f"{PERCENT_0(share)}, {duration(left)} left"


@contextmanager
def compiling(what: str, work: float, processes: int = 1) -> Iterator[None]:
    """Report that something is being compiled and, every few seconds, how far it is; nested uses report nothing.

    Args:
        what: what is compiled, in words.
        work: work of this process.
        processes: how many compile at the same time.
    """
    if _running:
        yield
        return
    reporter, place = current_reporter(), cache_folders.writable()
    forecast = Forecast(work, time.monotonic(), BYTES_PER_S * share_left(processes))
    _running.append(forecast)
    where = f"kept in {place}" if place else "not kept"
    reporter.say(f"gpusim: compiling {what}: about {duration(forecast.estimate(time.monotonic())[1])}, {where}")
    over = threading.Event()

    def tell() -> None:
        while not over.wait(_INTERVAL_S):
            reporter.say(f"gpusim: compiling {what}: {forecast.line(time.monotonic())}")

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        _running.remove(forecast)


def done(work: float) -> None:
    """Add `work` to the work done of the compilation in progress, if there is one."""
    if _running:
        _running[-1].done(work, time.monotonic())


def begin(work: float) -> None:
    """Begin a step of the compilation in progress that reports nothing before its end."""
    if _running:
        _running[-1].begin(work, time.monotonic())
