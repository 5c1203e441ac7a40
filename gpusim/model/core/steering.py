"""What may steer a launch from outside: the interface through which a launch is simulated in part and estimated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gpusim.base.jit import Machine
from gpusim.model.core.cu.state import FREE
from gpusim.model.core.facts import RunFacts
from isa.execution.executor import FunctionalContext
from isa.execution.survey import WorkgroupAccesses
from isa.trace import INSTRUCTIONS, LINES_MASK, SEGMENT_0
from memory.cache.l1_state import MAX_QUEUE


@dataclass(frozen=True)
class SteeredLaunch:
    """A launch on a machine, as its sampling policy sees it."""

    m: Machine
    """Machine record."""
    context: FunctionalContext
    """Functional context of the launch."""
    counts: Callable[[], RunFacts]
    """Returns the facts up to now."""
    resident: int
    """Workgroups that the machine can hold."""
    execute: Callable[[range], int]
    """Executes workgroups of the grid without timing and returns their number of instructions."""
    work: Callable[[], np.ndarray]
    """Returns the number of instructions of each workgroup (`isa.execution.counting.executed_blocks`)."""
    accesses: Callable[[Sequence[int]], list[WorkgroupAccesses]]
    """Returns what some workgroups access (`isa.execution.survey.surveyed_accesses`)."""
    l2_lines: int
    """Lines that L2 can hold."""

    @property
    def now(self) -> int:
        """The machine's present cycle."""
        return int(self.m.wheel.now)

    @property
    def workgroups(self) -> int:
        """Workgroups of the grid that are simulated: all but those passed over so far."""
        return int(self.m.run.workgroups)

    @property
    def waiting(self) -> int:
        """Workgroups not dispatched yet."""
        return int(self.m.run.workgroups - self.m.run.next_workgroup)

    @property
    def position(self) -> int:
        """The next workgroup of the grid to be dispatched."""
        return int(self.m.run.next_workgroup + self.m.run.skipped)

    @property
    def done(self) -> int:
        """Workgroups that have ended."""
        return int(self.m.run.done)

    @property
    def oldest_start(self) -> int:
        """Cycle in which the oldest resident wavefront was dispatched; the present one if there is none."""
        units = self.m.cu
        starts = units.started[np.asarray(units.wave)["state"] != FREE]
        return int(starts.min()) if len(starts) else self.now

    @property
    def wavefronts_per_workgroup(self) -> int:
        """Wavefronts of a workgroup."""
        return int(self.m.run.workgroup_waves)

    @property
    def issued_lines(self) -> int:
        """Lines that vector memory instructions have asked for: what L1 has looked up, and what waits for it."""
        units = np.asarray(self.m.l1.unit)
        age = (np.arange(MAX_QUEUE) - units["q_head"][:, np.newaxis]) % MAX_QUEUE
        waiting = np.where(age < units["q_count"][:, np.newaxis], units["queue"]["header"] & LINES_MASK, 0)
        return self._looked_up_lines + int(waiting.sum() - units["q_position"].sum())

    @property
    def finished_lines(self) -> int:
        """Those of them that L1 has looked up, without stored ones that L2 has not acknowledged."""
        return self._looked_up_lines - int(np.asarray(self.m.l1.unit)["stores_out"].sum())

    @property
    def _looked_up_lines(self) -> int:
        return int(self.m.l1.reads + self.m.l1.writes)

    def unissued(self, slots: np.ndarray) -> np.ndarray:
        """Return how many instructions of wavefronts' present slices have been executed and not yet issued, by slot."""
        waves, slices = self.m.cu.wave[slots], self.context.slices[slots]
        before = np.arange(int(waves["segment"].max(initial=0)) + 1)
        segments = slices[:, SEGMENT_0 : SEGMENT_0 + len(before)]
        first, end = segments & 0xFFFFFFFF, segments >> 32
        whole = np.where(before < waves["segment"][:, np.newaxis], end - first, 0).sum(axis=1)
        present = first[np.arange(len(slots)), waves["segment"]]
        return np.asarray(slices[:, INSTRUCTIONS] - whole - (waves["pc"] - present))

    def skip(self, count: int) -> range:
        """Have the dispatcher pass over the next `count` workgroups; returns their numbers in the grid."""
        run = self.m.run
        first = self.position
        run.skipped += count
        run.workgroups -= count
        return range(first, first + count)


class Steering(Protocol):
    """The sampling policy of one launch."""

    limit: int
    """Cycle of the next call of `look`."""

    def look(self) -> None:
        """Look at the machine, which has reached cycle `limit`."""

    def finish(self, facts: RunFacts) -> None:
        """Complete the facts of a launch that has ended with estimates for what was not simulated."""


class Steerer(Protocol):
    """Steers launches, one after another."""

    def attach(self, launch: SteeredLaunch) -> Steering:
        """Begin to steer a launch before its first cycle."""
