"""Functional execution on several threads: the workgroups of a launch side by side.

All that a run leaves is equal to what one thread leaves, whatever their number. Workgroups are watched
(`isa.execution.watch`): where one stores what another loads or stores, where one waits for another, and after any
fault, all stores are undone, and one thread goes on from where they began. A launch whose instructions can see in which
order workgroups run, or in which slots, has one thread from the start.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusim.base.host_memory import zeroed
from gpusim.base.jit import JIT_DISABLED, address_of, records, views
from gpusim.base.sums import plain_sum
from isa.device_memory import VIRTUAL_BASE
from isa.execution.emulator import FINISHED, POOL, new_run, run_slices
from isa.execution.slice_order import workgroup_order_reason
from isa.execution.state import WATCH
from isa.execution.watch import DWORDS, OTHERS_LOADED, OTHERS_STORED, OWN_LOADED, OWN_STORED, PAGE_BYTES, PAGE_LINES

if TYPE_CHECKING:
    from isa.execution.executor import FunctionalContext

_MOST_TRIES = 4  # to learn which allocations workgroups store to
_MOST_SHARE = 64  # workgroups
_SHARES = 32  # for each thread, if there are so many workgroups
_PREPARED_SHARES = 8  # of threads whose contexts are prepared
_FIRST_SLICES = 64
_FIRST_STEP_S = 0.002  # each one is four times as long: most launches that depend on their order show it soon
_LEAST_BATCH_S = 0.002
_SURPRISES = "workgroups store to ever other allocations"
_DEPENDENT = "a workgroup stores to what another one loads or stores, or waits for it"


def serial_reason(context: "FunctionalContext") -> str:
    """Return why the launch's workgroups may not run side by side, from its instructions; empty if they may."""
    return "the core is not compiled" if JIT_DISABLED else workgroup_order_reason(context.program)


def _pages(address: int, end: int) -> range:
    """Return the numbers of the pages between two addresses."""
    return range((address - VIRTUAL_BASE) // PAGE_BYTES, -(-(end - VIRTUAL_BASE) // PAGE_BYTES))


def _nothing_found() -> bool:
    return False


@dataclass
class _Thread:
    """What one thread runs."""

    context: "FunctionalContext"
    """Its context."""
    run: Any
    """Its run."""
    watch: Any
    """What its workgroups have accessed."""
    arrays: dict[str, np.ndarray]
    """The memory of `run` and `watch`."""
    has_found: Callable[[], bool]
    """Tells whether it has come to something that one thread has to describe."""
    slices: int = _FIRST_SLICES
    """Slices of the next batch."""
    status: int = 0
    """What `run_slices` returned."""
    cpu_s: float = 0.0
    """CPU seconds."""

    def step(self, seconds: float) -> None:
        """Run for about so many seconds, while there is anything left to run.

        Batches of slices are as long as what is left, so that no thread waits long for the others at the end.
        """
        cpu, now = time.thread_time(), time.perf_counter()
        end = now + seconds
        while not self.status and now < end:
            self.status = run_slices(address_of(self.arrays["run"]), self.slices)
            before, now = now, time.perf_counter()
            left = max(end - now, _LEAST_BATCH_S)
            self.slices = max(1, int(self.slices * min(4.0, left / max(now - before, 1e-6))))
        self.cpu_s += time.thread_time() - cpu

    @property
    def saved(self) -> tuple[np.ndarray, np.ndarray]:
        """The pages that it has saved, and what they held."""
        count = self.watch.saved_pages
        return self.arrays["pages"][:count], self.arrays["saved"][:count]


class SideBySide:
    """The workgroups of a launch from some number on, on several threads.

    Where `run` has found a `reason` why one thread might have left something else, memory is as it was before, else
    `join` has to be called.
    """

    def __init__(
        self,
        context: "FunctionalContext",
        chosen: range,
        threads: int,
        prepare: "Callable[[FunctionalContext], Callable[[], bool]] | None" = None,
    ) -> None:
        """Make threads for the workgroups `chosen`.

        prepare: is given each thread's context before it runs; what it returns tells whether the thread has come to
        something that one thread has to describe.
        """
        self._context, self._chosen, self._prepare = context, chosen, prepare
        self._pool_array = records(POOL)
        self._pool = views(self._pool_array)[0]
        self._allocations = context.launch.memory.allocations
        self._pages = _pages(VIRTUAL_BASE, max(a.end for a in self._allocations)).stop
        self._stored = zeroed(self._pages + 1, False)
        self._steps = 0
        self.reason = ""
        self.cpu_s = 0.0
        self._begin(threads)

    def _begin(self, threads: int) -> None:
        self._claims = zeroed(self._pages, False)
        self.threads = [self._thread() for _ in range(threads)]

    def run(self, seconds: float, goes_on: Callable[[], bool]) -> bool:
        """Run to the end; returns whether that was reached.

        Args:
            seconds: after which to call `goes_on`, about.
            goes_on: ends the run by returning False.
        """
        self._stored[:] = 1
        first = self._chosen.start
        finished = self._run_share(range(first, first + 1), 1, seconds, goes_on)  # tells what the others store to
        self._stored[:] = 0
        self._note_stored(np.concatenate([thread.saved[0] for thread in self.threads]))
        first += 1
        if self._prepare is None:
            share = max(1, min(_MOST_SHARE, len(self._chosen) // (_SHARES * len(self.threads))))
        else:  # what is prepared may be as large as memory: each thread is to touch a part of its own
            share = max(1, len(self._chosen) // (_PREPARED_SHARES * len(self.threads)))
        tries = _MOST_TRIES
        while finished and not self.reason:
            finished = self._run_share(range(first, self._chosen.stop), share, seconds, goes_on)
            surprises = [thread.watch.surprise - 1 for thread in self.threads if thread.watch.surprise]
            if not surprises:
                break
            tries -= 1
            if not tries:
                self.reason = _SURPRISES
                break
            self._undo()
            self._note_stored(np.array(surprises))
            self._begin(len(self.threads))
            self.reason, finished, first = "", True, self._chosen.start
        if self.reason:
            self._undo()
        self.cpu_s += plain_sum(thread.cpu_s for thread in self.threads)
        return finished

    def _run_share(self, chosen: range, share: int, seconds: float, goes_on: Callable[[], bool]) -> bool:
        """Run some workgroups, and find out whether they depend on one another; returns whether all have ended."""
        self._pool.next_workgroup, self._pool.workgroups = chosen.start, chosen.stop
        self._pool.share, self._pool.stop = share, 0
        for thread in self.threads:
            thread.status = 0
        while self._step(seconds):
            if not goes_on():
                break
        self.reason = self._find_dependence()
        return all(thread.status == FINISHED for thread in self.threads)

    def _note_stored(self, pages: np.ndarray) -> None:
        """Have loads marked in the allocations that have some of these pages."""
        for allocation in self._allocations:
            own = _pages(allocation.address, allocation.end)
            if ((pages >= own.start) & (pages < own.stop)).any():
                self._stored[own.start : own.stop] = 1

    def _thread(self) -> _Thread:
        context = self._context.duplicate(self._context.launch.wavefronts_per_workgroup)
        has_found = _nothing_found if self._prepare is None else self._prepare(context)
        run, (buffer, waves, order) = new_run(context, range(0), context.launch.workgroup_at_a_time)
        run.pool = address_of(self._pool_array)
        arrays = {"run": buffer, "waves": waves, "order": order, "watch": records(WATCH)}
        arrays["marks"] = zeroed(16 * PAGE_LINES * self._pages, True).view(np.int64).reshape(-1, PAGE_LINES, 2)
        arrays["touched"] = zeroed(self._pages, False)
        arrays["pages"] = zeroed(8 * self._pages, False).view(np.int64)
        arrays["saved"] = zeroed(PAGE_BYTES * self._pages, True).reshape(-1, PAGE_BYTES)
        watch = views(arrays["watch"])[0]
        for name in ("marks", "touched", "pages", "saved"):
            setattr(watch, name, address_of(arrays[name]))
        watch.claims, watch.stored = address_of(self._claims), address_of(self._stored)
        context.state.watch = address_of(arrays["watch"])
        return _Thread(context, run, watch, arrays, has_found)

    def _step(self, seconds: float) -> bool:
        """Run all threads for at most about so many seconds; return whether there is something left to run."""
        seconds = min(seconds, _FIRST_STEP_S * 4 ** min(self._steps, 8))
        others = [threading.Thread(target=thread.step, args=(seconds,)) for thread in self.threads[1:]]
        for other in others:
            other.start()
        try:
            self.threads[0].step(seconds)
        finally:
            for other in others:
                other.join()
        self._steps += 1
        failed = any(thread.status not in (0, FINISHED) or thread.has_found() for thread in self.threads)
        if not failed and self._steps & (self._steps - 1) == 0:  # seldom, but soon: it looks at all stored lines
            failed = self._met_between_threads()
        return not failed and not all(thread.status == FINISHED for thread in self.threads)

    @property
    def workgroups(self) -> int:
        """Workgroups that have ended."""
        return sum(int(thread.run.counters.workgroups) for thread in self.threads)

    def sum(self, name: str) -> int:
        """Return the sum of a field of all contexts."""
        return sum(int(getattr(thread.context.state, name)) for thread in self.threads)

    def _find_dependence(self) -> str:
        """Return why one thread might have left something else; empty if it would not."""
        if any(thread.watch.conflict for thread in self.threads) or self._met_between_threads():
            return _DEPENDENT
        if any(thread.status < 0 for thread in self.threads):
            return "a wavefront made a fault"
        if any(thread.has_found() for thread in self.threads):
            return "something was found, which is described in one order"
        if any(thread.context.state.strays or any(thread.context.state.lds_strays) for thread in self.threads):
            return "an access lies outside of every allocation"
        return ""

    def _met_between_threads(self) -> bool:
        """Return whether a workgroup of a thread stored to a dword that one of another thread loaded or stored."""
        touched_by = sum(thread.arrays["touched"] for thread in self.threads)
        pages = np.flatnonzero(touched_by > 1)
        stored, touched = [], []
        for thread in self.threads:
            marks = thread.arrays["marks"][pages, :, 0]
            stored.append((marks >> OTHERS_STORED | marks >> OWN_STORED) & DWORDS)
            touched.append(stored[-1] | marks >> OTHERS_LOADED | marks >> OWN_LOADED)
        pairs = permutations(range(len(self.threads)), 2)
        return any(bool((stored[one] & touched[other]).any()) for one, other in pairs)

    def _undo(self) -> None:
        """Put memory back into the state before the first step."""
        image = self._context.launch.memory.image[: self._pages * PAGE_BYTES].reshape(-1, PAGE_BYTES)
        for thread in self.threads:
            pages, content = thread.saved
            image[pages] = content

    def join(self, run: Any) -> None:
        """Add what was executed and counted to the context of the launch and to its run."""
        state = self._context.state
        for name in ("executed", "ended", "ended_instructions"):
            setattr(state, name, getattr(state, name) + self.sum(name))
        state.last_end = state.executed
        for thread in self.threads:
            add_counters(run.counters, thread.run.counters)
        run.next_workgroup = run.workgroups


def add_counters(to: Any, more: Any) -> None:
    """Add the counters of a run to those of another one."""
    for name, kind in to._fields_:
        if name.startswith("_padding"):
            continue
        if hasattr(kind, "_length_"):
            ours, theirs = getattr(to, name), getattr(more, name)
            for k in range(len(ours)):
                ours[k] += theirs[k]
        else:
            setattr(to, name, getattr(to, name) + getattr(more, name))
