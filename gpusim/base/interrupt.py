"""Ctrl-C, SIGTERM and `--timeout`: the compiled core stops at its next report, ordinary Python at once."""

import signal
import threading
from types import FrameType
from typing import Any

from gpusim.base.errors import UserError

INTERRUPTED, OUT_OF_TIME = "interrupted", "out of time"  # why a run was stopped, for people and for JSON
_REASONS = {"SIGINT": INTERRUPTED, "SIGTERM": INTERRUPTED, "SIGALRM": OUT_OF_TIME}


class Interrupt:
    """While active, SIGINT, SIGTERM and the end of `timeout_s` set `asked`; outside `deferred` sections, and at a
    second time, they raise KeyboardInterrupt too, with the reason as its text.

    timeout_s: wall time from the start of the block on, None: any. reason: INTERRUPTED or OUT_OF_TIME, empty before.
    """

    def __init__(self, timeout_s: float | None = None) -> None:
        self.reason = ""
        self.deferred = False
        self._timeout_s = timeout_s
        self._before: dict[int, Any] = {}
        if timeout_s is not None and not hasattr(signal, "setitimer"):
            raise UserError("--timeout: this system has no interval timer")

    @property
    def asked(self) -> bool:
        """Whether the run is to stop."""
        return bool(self.reason)

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            for name in _REASONS:
                if hasattr(signal, name):
                    number = getattr(signal, name)
                    self._before[number] = signal.signal(number, self._on_signal)
            if self._timeout_s is not None:
                signal.setitimer(signal.ITIMER_REAL, self._timeout_s)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before and self._timeout_s is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: it was not set from Python

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        again = self.asked
        self.reason = self.reason or _REASONS[signal.Signals(number).name]
        if again or not self.deferred:
            raise KeyboardInterrupt(self.reason)
