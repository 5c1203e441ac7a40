"""Which workgroups of a grid are passed over, so that what follows finds the machine as it would have been.

Neighbouring workgroups touch neighbouring addresses, and which channels and banks of DRAM these are follows from the
addresses' bits. Where workgroups of two places of the grid run together, as they do for a while after a skip, they
load other channels than either do alone: a transpose whose resident workgroups all write to one channel runs up to a
quarter faster for two waves. A skip over a power of two of rows of the grid changes an address by a multiple of a
power of two that the lower bits do not see. The last skip, which no interval follows, is what makes all of them
together whole waves, as the end of the grid depends on how full the last wave is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.base.sums import plain_sum

LEAST_SKIP = 1 / 32  # of the grid: for two waves what follows a skip may differ from what would be there
_BITS = 3  # of a skip that differ from 0


@dataclass(frozen=True)
class RemainingGrid:
    """The part of a grid that can still be skipped, in workgroups."""

    total: int
    """Workgroups of the grid."""
    skippable: int
    """Workgroups that are not yet dispatched, without the tail."""
    interval: int
    """Workgroups dispatched in a detailed interval."""
    resident: int
    """Workgroups of a wave."""
    row: int = 1
    """Workgroups of a row of the grid; 1: there is one row."""
    passed: int = 0
    """Workgroups skipped up to now."""
    luck: float = 0.5
    """Random number from 0 to 1 that decides the length of the next fast-forward."""
    settling: int = 0
    """Workgroups dispatched after a fast-forward until those before it have ended."""

    @property
    def place(self) -> int:
        """Workgroups dispatched for a detailed interval at another place."""
        return self.interval + self.settling

    def skip(self, more: int) -> int:
        """Return the size of the next skip in workgroups if `more` intervals, each at another place, are to follow it.

        The result is 0 if there are too few workgroups. The grid is passed over in parts with an interval between any
        two, and one after the last. The parts are equal but for chance, by half at most: intervals at equal distances
        would all see the same phase of what repeats along the grid. A part is rounded down to a multiple of the largest
        power of two of rows, or of workgroups where it is less than a row, that leaves three quarters of it at least;
        the last one is chosen so that all skips together are whole waves.
        """
        if not more:
            return max(0, (self.passed + self.skippable) // self.resident * self.resident - self.passed)
        part = int((self.skippable - more * self.place) / (more + 1))
        if part < max(self.resident, self.total * LEAST_SKIP):
            return 0
        part = max(int(part * (0.5 + self.luck)), self.resident)
        step = self.row if self.row <= part else 1
        unit = step << max((part // step).bit_length() - _BITS, 0)
        return part // unit * unit

    def rest(self) -> int:
        """Return the size of a skip that makes whole waves of all skips together; 0: they are, or too little is left.

        Workgroups in step take as long for a part of a wave as for a whole one.
        """
        size = -self.passed % self.resident
        return size if size <= self.skippable else 0


def block_weights(sizes: Sequence[float], counts: Sequence[int]) -> np.ndarray:
    """Return the weight of each interval; the sum is 1.

    What a skip passes over is taken to cost the mean of the intervals before and after it; before the first skip or
    after the last there may be intervals on one side only. All intervals weigh the same where nothing is passed over.
    ValueError where there are no intervals.

    Args:
        sizes: Workgroups of each skip.
        counts: Intervals in the block before each skip.
    """
    intervals, skipped = np.array(counts), np.array(sizes, float)
    measured = np.flatnonzero(intervals)
    if not len(measured):
        raise ValueError("no interval to say what a skip costs")
    if not skipped.any():
        return np.full(int(intervals.sum()), 1 / int(intervals.sum()))
    next_one = np.searchsorted(measured, np.arange(len(sizes)), side="right")  # the first such block after each skip
    before = measured[np.maximum(next_one - 1, 0)]
    after = measured[np.minimum(next_one, len(measured) - 1)]
    shares = np.bincount(before, skipped, len(sizes)) + np.bincount(after, skipped, len(sizes))
    return np.asarray(np.repeat(shares / np.maximum(intervals, 1), intervals) / (2 * skipped.sum()))


def block_changes(
    sizes: Sequence[float], counts: Sequence[int], strata: np.ndarray
) -> tuple[tuple[int, int, float], ...]:
    """Return the skips between two strata of pace: the strata before and after, and the share of all workgroups.

    Args:
        sizes: workgroups of each skip.
        counts: intervals in the block before each.
        strata: int64 [intervals], of each.
    """
    measured = np.flatnonzero(np.array(counts))
    ends, total = np.cumsum(counts), max(plain_sum(sizes), 1)
    crossings = []
    for k, size in enumerate(sizes):
        earlier, later = measured[measured <= k], measured[measured > k]
        if len(earlier) and len(later) and size:
            before, after = int(strata[ends[earlier[-1]] - 1]), int(strata[ends[later[0]] - 1])
            if before != after:
                crossings.append((before, after, size / total))
    return tuple(crossings)


def count_intervals_left(counts: Sequence[int], first: int) -> list[int]:
    """Return how many intervals are left in each block when the `first` ones of all are left out."""
    out = []
    for count in counts:
        out.append(max(0, count - first))
        first = max(0, first - count)
    return out
