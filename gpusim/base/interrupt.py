"""Ctrl-C, SIGTERM, SIGHUP and `--timeout`: the compiled core stops at its next report, ordinary Python at once."""

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from gpusim.base.errors import UserError

INTERRUPTED, OUT_OF_TIME = "interrupted", "out of time"  # why a run was stopped, for people and for JSON
_LONGEST_TIMER_S = 1e8  # three years; setitimer(2) takes no infinity, and fails far beyond
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def heeded() -> tuple[signal.Signals, ...]:
    """Return the signals that end a command: all but a SIGHUP that is ignored, as under nohup."""
    return tuple(n for n in _SIGNALS if n != signal.SIGHUP or signal.getsignal(n) != signal.SIG_IGN)


class Interrupt:
    """While active, SIGINT, SIGTERM, SIGHUP and the end of a timeout set `asked`.

    Outside `deferred` sections, and at a second time, they also raise KeyboardInterrupt. reason: INTERRUPTED or
    OUT_OF_TIME, empty before.
    """

    def __init__(self) -> None:
        self.reason = ""
        self.deferred = False
        self._before: dict[int, Any] = {}

    @property
    def asked(self) -> bool:
        """Whether the run is to stop."""
        return bool(self.reason)

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._on_signal) for number in heeded()}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            _restore(number, handler)
        self._before = {}

    @contextmanager
    def timeout(self, seconds: float | None) -> Iterator[None]:
        """Interrupt the block after this wall time; None, or more than timers count: never."""
        if seconds is not None and math.isnan(seconds):
            raise UserError("--timeout nan: a number of seconds is needed")
        if seconds is None or seconds > _LONGEST_TIMER_S:
            yield
            return
        if not hasattr(signal, "setitimer"):
            raise UserError("--timeout: this system has no interval timer")
        before = signal.signal(signal.SIGALRM, self._on_signal)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            _restore(signal.SIGALRM, before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        again = self.asked
        self.reason = self.reason or (INTERRUPTED if number in _SIGNALS else OUT_OF_TIME)
        if again or not self.deferred:
            raise KeyboardInterrupt


def interrupt_python() -> None:
    """Raise KeyboardInterrupt at Ctrl-C, SIGTERM and SIGHUP from now on, so that what is begun now is cleaned up.

    Until then the command's start ends the process at once (gpusim.cli.start).
    """
    for number in heeded():
        signal.signal(number, signal.default_int_handler)


def _restore(number: int, handler: Any) -> None:
    signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: it was not set from Python
