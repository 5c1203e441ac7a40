"""Looks at a machine while it runs: which counts they have."""

from dataclasses import dataclass

import numpy as np

from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.steering import SteeredLaunch


@dataclass(frozen=True)
class Columns:
    """Column numbers of the counts that sampling uses."""

    cycles: int
    """Cycles of the launch."""
    work: int
    """Instructions issued."""
    ended_work: int
    """Instructions of the wavefronts that have ended."""
    ended: int
    """Number of wavefronts that have ended."""
    dirty: int
    """Dirty lines in L2."""
    issued: int
    """Lines that vector memory instructions have asked for."""
    finished: int
    """Lines of these that are found, or acknowledged by L2."""
    timed: np.ndarray
    """bool [columns]: columns that depend on timing."""
    waits: tuple[int, ...] = ()
    """Wavefront-cycles, one column for each stall reason."""
    memory: tuple[int, ...] = ()
    """Those of them that wait for memory or LDS."""
    full: tuple[int, ...] = ()
    """Cycles in which an L1 or an L2 channel cannot accept requests."""
    units: int = 0
    """Cycles of the compute units."""

    @classmethod
    def of(cls, vector: CountVector) -> "Columns":
        """Return the columns of a launch's counts, then of what `read_counts` adds to them."""
        at, size = vector.at, len(vector.timed)
        return cls(
            cycles=at("kernel", "cycles"),
            work=at("kernel", "wavefront_instructions"),
            ended_work=size,
            ended=size + 1,
            dirty=size + 2,
            issued=size + 3,
            finished=size + 4,
            timed=np.append(vector.timed, (False, False, False, False, False)),
            waits=tuple(at(section, name) for section, name in vector.keys if section == "stalls"),
            memory=tuple(at("stalls", name) for name in ("memory_dependency", "memory_throttle")),
            full=tuple(at(section, "full_stall_cycles") for section in ("l1", "l2")),
            units=at("cu", "cycles"),
        )

    @classmethod
    def of_pace(cls, waits: int = 0) -> "Columns":
        """Return columns for cycles and instructions, followed by those of `waits` reasons to wait."""
        return cls(
            cycles=0,
            work=1,
            ended_work=1,
            ended=1,
            dirty=1,
            issued=1,
            finished=1,
            timed=np.array((True, False, *[True] * waits)),
            waits=tuple(range(2, 2 + waits)),
        )


def read_counts(launch: SteeredLaunch, vector: CountVector) -> np.ndarray:
    """Return what a running launch has counted up to now, by the columns of `Columns.of`."""
    state, counts = launch.context.state, launch.counts()
    ended = (int(state.ended_instructions), int(state.ended))
    more = (*ended, counts.l2.dirty_lines_at_end, launch.issued_lines, launch.finished_lines)
    return np.append(vector.values(counts.sections), more)
