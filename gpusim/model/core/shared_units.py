"""Whether threads share compute units, and how many each has: decided by how long each waited for the others."""

import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from gpusim.base.jit import Machine
from gpusim.base.sums import plain_sum
from gpusim.model.core.cu.slices import CACHES, CHANNELS
from gpusim.model.core.loop import RUNNING
from gpusim.model.core.part import MachineParts, may_be_divided

LEAST_CYCLES = 4_000  # to run, for which it is worth to move compute units to the other thread
TRIALS, TRIAL_CYCLES = 2, 8_000  # that come first, as they may be slower
LEAST_PACE = 0.9  # of the last TRIALS chunks, of that without sharing, with which it goes on: paces vary by a tenth
STAYS_CHUNKS = 8  # chunks of the run loop after which sharing is tried again
FIRST_SHARE = 4  # of this many shader arrays of each thread the one of the channels has one at first
WAITED_LESS = 2  # a thread that waited so many times less than another has too much to do
LEAST_THREADS = 2  # of a launch on several


def most_threads(m: Machine) -> int:
    """Return how many threads a machine can have: one for each shader array, and one for the channels."""
    return 1 + int(m.scalar.arrays) if may_be_divided(m) else LEAST_THREADS


def first_arrays(arrays: int, threads: int) -> list[int]:
    """Return how many shader arrays each thread has at first: thread 1 has the channels, too, thread 0 the dispatcher.

    Args:
        arrays: Number of all.
        threads: Number of threads.
    """
    others = threads - 1
    channels = max(arrays // (FIRST_SHARE * others), _least_arrays(CHANNELS, threads))
    bounds = [(arrays - channels) * k // others for k in range(threads)]
    shares = [end - first for first, end in pairwise(bounds)]
    return [shares[0], channels, *shares[1:]]


def _least_arrays(thread: int, threads: int) -> int:
    """Return how many shader arrays a thread has at least while they are shared."""
    return 0 if thread == CHANNELS and threads > LEAST_THREADS else 1


class SharedUnits:
    """The compute units of a launch on several threads.

    Results do not depend on who runs them, so that the clock of the host may decide.
    """

    def __init__(self, m: Machine, accesses: np.ndarray | None, threads: int = LEAST_THREADS) -> None:
        """Begin with all units on one thread.

        Args:
            m: The machine.
            accesses: The table into which it counts accesses; None: they stay there.
            threads: Threads that may have some, that of the channels included.
        """
        self._m = m
        self._parts = MachineParts(m, accesses) if accesses is not None and may_be_divided(m) else None
        self._shares = False
        self._chunks = 0  # left in which units are not shared
        self._pace = 0.0  # work a second in the last chunk in which they were not
        self._paces: list[float] = []  # of the chunks since in which they were
        self.limit(threads)

    def limit(self, threads: int) -> None:
        """Let so many threads share units, in equal shares at first."""
        self.threads = threads if self._parts is not None else LEAST_THREADS
        self._arrays = first_arrays(int(self._m.scalar.arrays), threads) if self._parts is not None else []
        self._paces.clear()

    @property
    def is_shared(self) -> bool:
        """Whether units are shared, as far as is known."""
        return self._shares

    def run(self, limit: int, run: Callable[[int], int]) -> int:
        """Run the machine to a cycle by `run`, which returns what `run_cycles` does; units may be shared meanwhile."""
        m, status = self._m, RUNNING
        while status == RUNNING and int(m.wheel.now) < limit:
            if self._parts is None or limit - int(m.wheel.now) < LEAST_CYCLES:
                return run(limit)
            if not self._shares:
                return self._run_whole(limit, run)
            end = min(limit, int(m.wheel.now) + TRIAL_CYCLES) if len(self._paces) < TRIALS else limit
            status = self._run_shared(end, run, self._parts)
            if status == RUNNING and int(m.wheel.now) < end:
                return run(limit)
        return status

    def _work(self) -> int:
        return int(self._m.run.instructions + self._m.xbar.requests)

    def _run_whole(self, limit: int, run: Callable[[int], int]) -> int:
        """Run with all units on one thread; decide whether to share them from now on.

        Two threads share them if that one has the most to do. More do unless the one of the channels has: what those
        that wait do is make slices.
        """
        sides = self._m.sides
        sides.waited[:] = 0
        work, start = self._work(), time.perf_counter()
        status = run(limit)
        self._pace = (self._work() - work) / (time.perf_counter() - start)
        if self._chunks:
            self._chunks -= 1
        else:
            near, beyond = int(sides.waited[CACHES, 0]), int(sides.waited[CHANNELS, 0])
            two = self.threads == LEAST_THREADS
            self._shares = beyond > WAITED_LESS * near if two else near <= WAITED_LESS * beyond
            self._paces.clear()
        return status

    def _run_shared(self, limit: int, run: Callable[[int], int], parts: MachineParts) -> int:
        """Run with shared units, until one thread has to have all or `limit`."""
        m, sides = self._m, self._m.sides
        work, now = self._work(), int(m.wheel.now)
        sides.apart, sides.waited[:] = 0, 0
        parts.split(self._arrays)
        start = time.perf_counter()
        try:
            return run(limit)
        finally:
            seconds = time.perf_counter() - start
            parts.join()
            self._decide((self._work() - work) / seconds, 2 * int(sides.apart) < int(m.wheel.now) - now)

    def _decide(self, pace: float, seldom: bool) -> None:
        """Decide how units are shared from now on, if they are.

        Args:
            pace: Work a second in the last chunk.
            seldom: All threads ran some in less than half of its cycles.
        """
        self._paces.append(pace)
        last = self._paces[-TRIALS:]
        if seldom or (len(last) == TRIALS and plain_sum(last) < LEAST_PACE * TRIALS * self._pace):
            self._shares, self._chunks = False, STAYS_CHUNKS
            return
        waited, arrays = self._m.sides.waited[: self.threads, 0].tolist(), self._arrays
        can_give = [k for k in range(self.threads) if arrays[k] > _least_arrays(k, self.threads)]
        idle = max(range(self.threads), key=waited.__getitem__)
        busy = min(can_give, key=waited.__getitem__, default=idle)
        if waited[idle] > WAITED_LESS * waited[busy]:
            arrays[idle] += 1
            arrays[busy] -= 1
