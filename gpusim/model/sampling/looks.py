"""Looks at a machine while it runs: which counts they have."""

from dataclasses import dataclass

import numpy as np

from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.steering import SteeredLaunch


@dataclass(frozen=True)
class Columns:
    """Columns of looks and windows that sampling uses.

    cycles: of the launch; work: instructions issued; ended_work, ended: instructions of the wavefronts that ended, and
    how many did; dirty: lines that L2 holds dirty; timed: mask of those that are times; waits: wavefront-cycles by what
    wavefronts waited for; full: cycles in which an L1 or a channel of L2 could take nothing; units: compute units'
    cycles.
    """

    cycles: int
    work: int
    ended_work: int
    ended: int
    dirty: int
    timed: np.ndarray
    waits: tuple[int, ...] = ()
    full: tuple[int, ...] = ()
    units: int = 0

    @classmethod
    def of(cls, vector: CountVector) -> "Columns":
        """Return the columns of a launch's counts, then instructions and number of ended wavefronts, dirty lines."""
        at, size = vector.at, len(vector.timed)
        return cls(
            at("kernel", "cycles"),
            at("kernel", "wavefront_instructions"),
            size,
            size + 1,
            size + 2,
            np.append(vector.timed, (False, False, False)),
            tuple(at(section, name) for section, name in vector.keys if section == "stalls"),
            tuple(at(section, "full_stall_cycles") for section in ("l1", "l2")),
            at("cu", "cycles"),
        )

    @classmethod
    def of_pace(cls, waits: int = 0) -> "Columns":
        """Return columns for cycles and instructions, followed by those of `waits` reasons to wait."""
        return cls(0, 1, 1, 1, 1, np.array((True, False, *[True] * waits)), tuple(range(2, 2 + waits)))


def read_counts(launch: SteeredLaunch, vector: CountVector) -> np.ndarray:
    """Return what a running launch has counted up to now, by the columns of `Columns.of`."""
    state, counts = launch.context.state, launch.counts()
    more = (int(state.ended_instructions), int(state.ended), counts.l2.dirty_lines_at_end)
    return np.append(vector.values(counts.sections), more)
