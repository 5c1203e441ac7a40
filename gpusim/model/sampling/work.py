"""What each workgroup of a grid executes, and the strata of the grid whose workgroups are alike.

What is known before anything is simulated: a functional pass over what decides control flow
(`isa.execution.counting.executed_blocks`) counts instructions of every workgroup by basic block. A stratum ends where
the mean of the next half a wave of workgroups, in any block or in all together, differs from that of the stratum by
more than a tolerance and more than chance allows: workgroups that differ at random are alike in that sense. Each
stratum is a stratum (Cochran 1977, chapter 5): it is settled in, measured and estimated for itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

ALIKE = 0.15  # of the mean work of a workgroup: what differs by less shares a stratum
UNEVEN = 1.5  # longest work over the mean, from which a stratum takes longer to settle, and to end
_END = 0.1  # standard uncertainty of when a stratum ends, times what its longest workgroup takes
_BY_CHANCE = 4.0  # standard errors


@dataclass(frozen=True)
class WorkgroupStratum:
    """A stratum: consecutive workgroups with similar work."""

    start: int
    """First workgroup."""
    end: int
    """Workgroup after the last."""
    share: float = 1.0
    """Share in the launch's work."""
    unevenness: float = 1.0
    """Work of the longest workgroup over the mean."""
    share_after: float = 0.0
    """Share of the work after the stratum in the launch's work, if that is of another kind."""
    alike: bool = True
    """The grid's work does not change: strata differ in what their addresses do."""

    @property
    def longest_waves(self) -> float:
        """Waves that its longest workgroup takes."""
        return self.unevenness if self.unevenness > UNEVEN else 1.0

    def end_doubt(self, waves: float) -> float:
        """Return the standard uncertainty of a stratum's time, relative, because of when it ends. waves: it has.

        Where some workgroups are far longer than others, it is where these come to lie that decides, and skips change
        that.
        """
        return _END * self.unevenness / waves if self.unevenness > UNEVEN else 0.0


class WorkgroupInstructions:
    """Instructions of each workgroup of a grid by basic block, int64 [workgroup, block].

    Rows that share memory are alike: grids of a hundred million workgroups have no array of them.
    """

    def __init__(self, blocks: np.ndarray) -> None:
        self._blocks = blocks
        self._alike = blocks.strides[0] == 0
        of_group = blocks[:1].sum(axis=1) if self._alike else blocks.sum(axis=1)
        self._before = np.concatenate([[0], np.cumsum(of_group)])

    @property
    def each(self) -> np.ndarray:
        """Instructions of each workgroup."""
        of_group = np.diff(self._before)
        return np.broadcast_to(of_group, len(self._blocks)) if self._alike else of_group

    @property
    def total(self) -> int:
        """Instructions of the grid."""
        return int(self._before[-1]) * (len(self._blocks) if self._alike else 1)

    def shares(self, starts: np.ndarray) -> np.ndarray:
        """Return the share of each block in the instructions of consecutive workgroups: float64 [parts, blocks].

        Args:
            starts: First workgroup of each part.
        """
        if self._alike:
            return np.zeros((len(starts), 0))
        sums = np.add.reduceat(self._blocks.astype(float), starts)
        return np.asarray(sums / np.maximum(sums.sum(axis=1, keepdims=True), 1))

    def of(self, workgroups: range) -> int:
        """Return the instructions of some workgroups, one after another in the grid."""
        if self._alike:
            return int(self._before[-1]) * len(workgroups)
        return int(self._before[workgroups.stop] - self._before[workgroups.start])

    def strata(self, resident: int, more_cuts: Sequence[int] = ()) -> list[WorkgroupStratum]:
        """Return the strata of alike workgroups that the grid consists of.

        Args:
            resident: workgroups of a wave.
            more_cuts: where workgroups change in another respect than work.
        """
        half = max(1, resident // 2)
        by_work = [] if self._alike else _cuts(self._blocks.astype(float), half)
        others = [cut for cut in more_cuts if all(abs(cut - one) >= half for one in by_work)]
        cuts = [0, *sorted({*by_work, *others}), len(self._blocks)]
        return [self._stratum(start, end, not by_work) for start, end in pairwise(cuts)]

    def joined(self, strata: Sequence[WorkgroupStratum]) -> WorkgroupStratum:
        """Return the stratum that consists of several, one after another."""
        return self._stratum(strata[0].start, strata[-1].end, all(each.alike for each in strata))

    def _stratum(self, start: int, end: int, alike: bool) -> WorkgroupStratum:
        if self._alike:
            return WorkgroupStratum(start, end, (end - start) / len(self._blocks))
        work = np.diff(self._before[start : end + 1])
        mean = max(float(work.mean()), 1.0)
        total = max(self.total, 1)
        after = 0.0 if alike else (self.total - int(self._before[end])) / total
        return WorkgroupStratum(start, end, float(work.sum()) / total, float(work.max()) / mean, after, alike)


def _cuts(blocks: np.ndarray, size: int) -> list[int]:
    """Return where a grid's workgroups change, looking at `size` of them at a time."""
    counts = np.concatenate([blocks, blocks.sum(axis=1, keepdims=True)], axis=1)
    starts = np.arange(0, len(counts), size)
    if len(starts) > 1 and len(counts) - starts[-1] < size:
        starts = starts[:-1]  # what is left is part of the last one
    numbers = np.diff(np.append(starts, len(counts)))
    sums, squares = np.add.reduceat(counts, starts), np.add.reduceat(counts**2, starts)
    cuts: list[int] = []
    number, total, square = 0, np.zeros(counts.shape[1]), np.zeros(counts.shape[1])
    for k, n in enumerate(numbers):
        if number:
            mean, here = total / number, sums[k] / n
            variance = (square / number - mean**2) / number + (squares[k] / n - here**2) / n
            chance = _BY_CHANCE * np.sqrt(np.maximum(variance, 0))
            if (np.abs(here - mean) > np.maximum(ALIKE * min(mean[-1], here[-1]), chance)).any():
                last = cuts[-1] if cuts else 0
                cuts.append(_refined(blocks, max(last + 1, int(starts[k]) - size), int(starts[k]) + int(n)))
                number, total, square = 0, 0 * total, 0 * square
        number, total, square = number + int(n), total + sums[k], square + squares[k]
    return cuts


def _refined(blocks: np.ndarray, low: int, high: int) -> int:
    """Return where to cut the workgroups from `low` to before `high` so that either side is most alike in itself."""
    sums = np.cumsum(blocks[low:high], axis=0)
    if len(sums) < 2:
        return low
    left = np.arange(1, len(sums))[:, np.newaxis]
    between = sums[:-1] ** 2 / left + (sums[-1] - sums[:-1]) ** 2 / (len(sums) - left)
    return low + 1 + int(np.argmax(between.sum(axis=1)))
