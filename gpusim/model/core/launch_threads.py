"""How many threads run a timed launch: one, or more for what lies beyond the crossbar and some of the CUs.

What they leave is equal to the bit (`gpusim.model.core.side_by_side`), so that the clock of the host may decide.
"""

import ctypes
import threading
import time
from functools import cache

import numpy as np

from gpusim.base.jit import JIT_DISABLED, Machine
from gpusim.base.processors import default_jobs
from gpusim.base.sums import plain_sum
from gpusim.model.core.cu.slices import set_lets_run
from gpusim.model.core.loop import RUNNING, run_cycles
from gpusim.model.core.shared_units import LEAST_THREADS, SharedUnits

SHORT_S = 0.5  # of a launch that has one thread throughout
LEAST_GAIN = 1.1  # in work a second, for which a second thread is worth its processor
LEAST_EFFICIENCY = 0.7  # of more than two threads: their pace by that of as many launches on one thread each
STAYS_CHUNKS = 32  # chunks of the run loop after which one thread and more are compared again
SETTLES_CHUNKS = 4  # after which a number of threads is judged, by the last two of them


@cache
def _lets_run() -> int:
    """Return the address of the function by which a thread lets others of the host run; 0: the host has none."""
    try:
        function = ctypes.CDLL(None).sched_yield
    except (AttributeError, OSError, TypeError):
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def serial_reason(m: Machine, recorded: bool, located: bool) -> str:
    """Return why one thread has to run a machine; empty if more may.

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
    if m.xbar.window < LEAST_THREADS:
        return "the crossbar takes a cycle"
    return ""


class LaunchThreads:
    """The threads of a launch: one that calls `advance`, and more where that is faster, or asked for."""

    def __init__(
        self, m: Machine, at_once: bool, accesses: np.ndarray | None = None, threads: int = LEAST_THREADS
    ) -> None:
        """Begin with one thread, unless more are to run from the start.

        Args:
            m: The machine.
            at_once: All are to run from the start.
            accesses: The table into which it counts accesses; None: CUs stay on one thread.
            threads: The most that may run.
        """
        self._m, self._at_once, self._limit = m, at_once, threads
        self._units = SharedUnits(m, accesses, threads)
        self._chunks = 0  # left before one thread and more are compared
        self._alone_s = 0.0
        self._pace = 0.0  # of the last chunk on one thread with which more were compared
        self._paces: list[float] = []  # of chunks since, on as many threads as now
        self._compares = False  # the next chunk is on several threads, to be compared
        self._several = False
        self._chosen = at_once  # several threads, at some time
        self._ran = LEAST_THREADS  # the most that ran at a time, if several did
        self.cpu_s = 0.0
        """Processor seconds of all threads but the one that calls."""

    @property
    def used(self) -> int:
        """Threads that were chosen, the most of them."""
        return self._ran if self._chosen else 1

    def advance(self, limit: int) -> int:
        """Do what `run_cycles` does."""
        m, status = self._m, RUNNING
        if self._at_once:
            return self._run_several(limit)
        if self._several and not self._chunks:  # one thread again, for about as long as several take for a chunk
            now = int(m.wheel.now)
            status = self._measure(False, now + (limit - now) // self._units.threads)
        if status == RUNNING:
            status = self._measure(self._several or self._compares, limit)
        return status

    def _measure(self, several: bool, limit: int) -> int:
        """Run to a cycle on one thread or several, and decide from the work and the time how the next chunks run."""
        work, start = self._work(), time.perf_counter()
        status = self._run_several(limit) if several else int(run_cycles(self._m, limit))
        work, seconds = self._work() - work, time.perf_counter() - start
        if self._chunks:
            self._chunks -= 1
            if several:
                self._judge(work / seconds)
        elif several:
            self._compares, self._several = False, work > LEAST_GAIN * self._pace * seconds
            self._chosen |= self._several
            self._chunks = STAYS_CHUNKS
            self._paces.clear()
            if self._several and self._units.threads < self._limit:
                self._units.limit(self._units.threads + 1)
        elif work:
            self._alone_s += seconds
            self._compares = self._alone_s > SHORT_S
            self._pace = work / seconds
        return status

    def _work(self) -> int:
        return int(self._m.run.instructions + self._m.xbar.requests)

    def _judge(self, pace: float) -> None:
        """Have fewer threads run if those that do are not efficient. pace: in the last chunk."""
        threads = self._units.threads
        self._paces.append(pace)
        if threads == LEAST_THREADS or not self._units.is_shared or len(self._paces) % SETTLES_CHUNKS:
            return
        worth = int(plain_sum(self._paces[-2:]) / (2 * LEAST_EFFICIENCY * self._pace))
        if worth < threads:
            self._units.limit(max(worth, LEAST_THREADS))
            self._paces.clear()

    def _run_several(self, limit: int) -> int:
        """Do what `run_cycles` does, with several threads."""
        return self._units.run(limit, self._run_threads)

    def _run_threads(self, limit: int) -> int:
        """Do what `run_cycles` does, with other threads, which end before: that of the channels, and one a part."""
        m = self._m
        numbers = range(1, 1 + max(int(m.parts.others), 1))
        set_lets_run(m, _lets_run(), len(numbers) < default_jobs())
        m.sides.parts[:, 0] = m.sides.near[0]
        m.sides.joined = 1
        spent: list[float] = []
        others = [threading.Thread(target=self._run_thread, args=(number, spent), daemon=True) for number in numbers]
        for other in others:
            other.start()
        try:
            return int(run_cycles(m, limit))
        finally:
            if m.sides.joined:  # interrupted before the run began
                run_cycles(m, m.wheel.now)
            for other in others:
                other.join()
            self.cpu_s += plain_sum(spent)
            self._ran = max(self._ran, 1 + len(others))

    def _run_thread(self, number: int, spent: list[float]) -> None:
        start = time.thread_time()
        run_cycles(self._m, -number)
        spent.append(time.thread_time() - start)
