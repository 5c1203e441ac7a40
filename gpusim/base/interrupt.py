"""Ctrl-C: the compiled core is asked to stop at its next report; ordinary Python is interrupted at once."""

import signal
import threading
from types import FrameType
from typing import Any


class Interrupt:
    """While active, SIGINT sets `asked`; outside `deferred` sections it raises KeyboardInterrupt as usual too."""

    def __init__(self) -> None:
        self.asked = False
        self.deferred = False
        self._before: Any = None

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        again = self.asked
        self.asked = True
        if again or not self.deferred:
            raise KeyboardInterrupt
