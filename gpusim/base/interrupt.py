"""Ctrl-C and SIGTERM: the compiled core is asked to stop at its next report; ordinary Python is interrupted at once."""

import signal
import threading
from types import FrameType
from typing import Any

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


def interrupt_python() -> None:
    """Raise KeyboardInterrupt at Ctrl-C from now on, so that what is begun now is cleaned up.

    Until then the command's start ends the process at once (gpusim.cli.start).
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
