"""How many threads run a timed launch: one, or a second one for what lies beyond the crossbar and some of the CUs.

What they leave is equal to the bit (`gpusim.model.core.side_by_side`), so that the clock of the host may decide.
"""

import ctypes
import threading
import time
from functools import cache

import numpy as np

from gpusim.base.jit import JIT_DISABLED, Machine
from gpusim.model.core.cu.slices import set_lets_run
from gpusim.model.core.loop import FAR_SIDE, run_cycles
from gpusim.model.core.shared_units import SharedUnits

THREADS = 2  # as many as may run a launch
SHORT_S = 0.5  # of a launch that has one thread throughout
LEAST_GAIN = 1.1  # in work a second, for which a second thread is worth its processor
STAYS_CHUNKS = 32  # chunks of the run loop after which one thread and two are compared again


@cache
def _lets_run() -> int:
    """Return the address of the function by which a thread lets others of the host run; 0: the host has none."""
    try:
        function = ctypes.CDLL(None).sched_yield
    except (AttributeError, OSError, TypeError):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def serial_reason(m: Machine, recorded: bool, located: bool) -> str:
    """Return why one thread has to run a machine; empty if two may.

    Args:
        m: The machine.
        recorded: Events are recorded for a timeline.
        located: It is counted where the lines of each instruction are found.
    """
    if JIT_DISABLED:
        return "the core is not compiled"
    if not _lets_run():
        return "the host has no sched_yield"
    if recorded:
        return "a timeline is drawn"
    if located:
        return "hot spots are counted in one order"
    if m.run.every_cycle:
        return "every unit runs in every cycle"
    if m.xbar.window < THREADS:
        return "the crossbar takes a cycle"
    return ""


class LaunchThreads:
    """The threads of a launch: one that calls `advance`, and a second one where that is faster, or asked for."""

    def __init__(self, m: Machine, at_once: bool, accesses: np.ndarray | None = None) -> None:
        """Begin with one thread, unless two are to run from the start.

        Args:
            m: The machine.
            at_once: Two are to run from the start.
            accesses: The table into which it counts accesses; None: CUs stay on one thread.
        """
        self._m, self._at_once = m, at_once
        self._units = SharedUnits(m, accesses)
        self._chunks = 0  # left before one thread and two are compared
        self._alone_s = 0.0
        self._pace: list[float] = []  # of the last chunk on one thread, while it is compared
        self._both = False
        self.used = THREADS if at_once else 1
        """Threads that were chosen, the most of them."""
        self.cpu_s = 0.0
        """Processor seconds of the second thread."""

    def advance(self, limit: int) -> int:
        """Do what `run_cycles` does."""
        if self._at_once:
            return self._run_both(limit)
        both = self._both if self._chunks else bool(self._pace)
        before, start = self._work(), time.perf_counter()
        status = self._run_both(limit) if both else int(run_cycles(self._m, limit))
        self._compare(both, self._work() - before, time.perf_counter() - start)
        return status

    def _work(self) -> int:
        return int(self._m.run.instructions + self._m.xbar.requests)

    def _compare(self, both: bool, work: int, seconds: float) -> None:
        """Decide from a chunk's work and time how the next ones run."""
        if self._chunks:
            self._chunks -= 1
        elif both:
            self._both = work > LEAST_GAIN * self._pace.pop() * seconds
            self._chunks = STAYS_CHUNKS
            self.used = max(self.used, 1 + self._both)
        else:
            self._alone_s += seconds
            if self._alone_s > SHORT_S and work:
                self._pace = [work / seconds]

    def _run_both(self, limit: int) -> int:
        """Do what `run_cycles` does, with a second thread."""
        return self._units.run(limit, self._run_sides)

    def _run_sides(self, limit: int) -> int:
        """Do what `run_cycles` does, with a second thread that ends before."""
        m = self._m
        set_lets_run(m, _lets_run())
        m.sides.joined = 1
        other = threading.Thread(target=self._run_far_side, daemon=True)
        other.start()
        try:
            return int(run_cycles(m, limit))
        finally:
            if m.sides.joined:  # interrupted before the run began
                run_cycles(m, m.wheel.now)
            other.join()

    def _run_far_side(self) -> None:
        start = time.thread_time()
        run_cycles(self._m, FAR_SIDE)
        self.cpu_s += time.thread_time() - start
