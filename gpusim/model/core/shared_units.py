"""Whether two threads share compute units, and how many each has: decided by how long each waited for the other."""

import time
from collections.abc import Callable

import numpy as np

from gpusim.base.jit import Machine
from gpusim.base.sums import plain_sum
from gpusim.model.core.cu.slices import CACHES, CHANNELS
from gpusim.model.core.loop import RUNNING
from gpusim.model.core.part import MachinePart, may_be_divided

LEAST_CYCLES = 4_000  # to run, for which it is worth to move compute units to the other thread
TRIALS, TRIAL_CYCLES = 2, 8_000  # that come first, as they may be slower
LEAST_PACE = 0.9  # of the last TRIALS chunks, of that without sharing, with which it goes on: paces vary by a tenth
STAYS_CHUNKS = 8  # chunks of the run loop after which sharing is tried again
FIRST_SHARE = 4  # of this many shader arrays the other thread has one at first
WAITED_LESS = 2  # a thread that waited so many times less than the other has too much to do


class SharedUnits:
    """The compute units of a launch on two threads.

    Results do not depend on who runs them, so that the clock of the host may decide.
    """

    def __init__(self, m: Machine, accesses: np.ndarray | None) -> None:
        """Begin with all units on one thread.

        Args:
            m: The machine.
            accesses: The table into which it counts accesses; None: they stay there.
        """
        self._m = m
        self._accesses = accesses if accesses is not None and may_be_divided(m) else None
        arrays = int(m.scalar.arrays) if self._accesses is not None else 0
        self._first_array = arrays - max(arrays // FIRST_SHARE, 1)  # of those that the other thread has
        self._last = arrays - 1
        self._part: MachinePart | None = None
        self._shares = False
        self._chunks = 0  # left in which units are not shared
        self._pace = 0.0  # work a second in the last chunk in which they were not
        self._paces: list[float] = []  # of the chunks since in which they were

    def run(self, limit: int, run: Callable[[int], int]) -> int:
        """Run the machine to a cycle by `run`, which returns what `run_cycles` does; units may be shared meanwhile."""
        m, status = self._m, RUNNING
        while status == RUNNING and int(m.wheel.now) < limit:
            if self._accesses is None or limit - int(m.wheel.now) < LEAST_CYCLES:
                return run(limit)
            if not self._shares:
                return self._run_whole(limit, run)
            end = min(limit, int(m.wheel.now) + TRIAL_CYCLES) if len(self._paces) < TRIALS else limit
            status = self._run_shared(end, run, self._accesses)
            if status == RUNNING and int(m.wheel.now) < end:
                return run(limit)
        return status

    def _work(self) -> int:
        return int(self._m.run.instructions + self._m.xbar.requests)

    def _run_whole(self, limit: int, run: Callable[[int], int]) -> int:
        """Run with all units on one thread; share them from now on if that thread has the most to do."""
        sides = self._m.sides
        sides.waited[:] = 0
        work, start = self._work(), time.perf_counter()
        status = run(limit)
        self._pace = (self._work() - work) / (time.perf_counter() - start)
        if self._chunks:
            self._chunks -= 1
        else:
            self._shares = sides.waited[CHANNELS, 0] > WAITED_LESS * sides.waited[CACHES, 0]
            self._paces.clear()
        return status

    def _run_shared(self, limit: int, run: Callable[[int], int], accesses: np.ndarray) -> int:
        """Run with shared units, until one thread has to have all or `limit`."""
        m, sides = self._m, self._m.sides
        if self._part is None:
            self._part = MachinePart(m)
        work, now = self._work(), int(m.wheel.now)
        sides.apart, sides.waited[:] = 0, 0
        self._part.split(self._first_array, accesses)
        start = time.perf_counter()
        try:
            return run(limit)
        finally:
            seconds = time.perf_counter() - start
            self._part.join()
            self._decide((self._work() - work) / seconds, 2 * int(sides.apart) < int(m.wheel.now) - now)

    def _decide(self, pace: float, seldom: bool) -> None:
        """Decide how units are shared from now on, if they are.

        Args:
            pace: Work a second in the last chunk.
            seldom: Both threads ran some in less than half of its cycles.
        """
        near, beyond = self._m.sides.waited[:, 0].tolist()
        self._paces.append(pace)
        last = self._paces[-TRIALS:]
        if seldom or (len(last) == TRIALS and plain_sum(last) < LEAST_PACE * TRIALS * self._pace):
            self._shares, self._chunks = False, STAYS_CHUNKS
        elif near > WAITED_LESS * beyond:
            self._first_array = min(self._first_array + 1, self._last)
        elif beyond > WAITED_LESS * near:
            self._first_array = max(self._first_array - 1, 1)
