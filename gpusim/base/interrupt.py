"""Ctrl-C and SIGTERM: the compiled core is asked to stop at its next report; ordinary Python is interrupted at once."""

import os
import signal
import threading
from types import FrameType
from typing import Any

from gpusim.base.errors import EXIT_INTERRUPTED

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """While active, SIGINT and SIGTERM set `asked`; outside `deferred` sections they raise KeyboardInterrupt, too."""

    def __init__(self) -> None:
        self.asked = False
        self.deferred = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            # None: it was not set from Python
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._before = {}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        again = self.asked
        self.asked = True
        if again or not self.deferred:
            raise KeyboardInterrupt


def leave_at_interrupt() -> None:
    """End the process at once at Ctrl-C, with one line and the right exit code, until `interrupt_python` is called.

    For the start of a command, when nothing has been done that could be left half done: an exception could come up
    within an import, where other packages turn it into errors of their own.
    """
    signal.signal(signal.SIGINT, _leave)


def interrupt_python() -> None:
    """Raise KeyboardInterrupt at Ctrl-C from now on: what has been begun is to be cleaned up."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    try:
        os.write(2, b"gpusim: interrupted\n")
    finally:
        os._exit(EXIT_INTERRUPTED)
