"""Looks at a machine while it runs: which counts they have."""

from dataclasses import dataclass

import numpy as np

from gpusim.core.count_vector import CountVector


@dataclass(frozen=True)
class Columns:
    """Columns of looks and windows that sampling uses.

    cycles: of the launch; work: instructions issued; ended_work, ended: instructions of the wavefronts that ended, and
    how many did; timed: mask of those that are times.
    """

    cycles: int
    work: int
    ended_work: int
    ended: int
    timed: np.ndarray

    @classmethod
    def of(cls, vector: CountVector) -> "Columns":
        """Return the columns for a launch's counts, followed by instructions and number of the ended wavefronts."""
        at, size = vector.at, len(vector.timed)
        return cls(
            at("kernel", "cycles"),
            at("kernel", "wavefront_instructions"),
            size,
            size + 1,
            np.append(vector.timed, (False, False)),
        )

    @classmethod
    def of_pace(cls) -> "Columns":
        """Return columns for cycles and instructions alone."""
        return cls(0, 1, 1, 1, np.array((True, False)))
