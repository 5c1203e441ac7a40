"""Which workgroups of a grid are passed over: whole rounds, so that what follows keeps its place on the machine."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Left:
    """What of a grid can still be passed over, in workgroups.

    total: of the grid; skippable: all that are not dispatched yet but for the tail; lap: dispatched in a lap; resident:
    of a round.
    """

    total: int
    skippable: int
    lap: int
    resident: int

    def jump(self, more: int) -> int:
        """The next jump if `more` laps, each at another place, are to follow it: whole rounds, 0 if there are too few.

        The grid is passed over in equal parts with a lap between any two, but for the last part: it is half as large,
        as the lap before it is the only witness of it.
        """
        free = self.skippable - more * self.lap
        part = free / (more + 0.5) if more else free
        return max(0, int(part // self.resident) * self.resident)


def block_weights(sizes: Sequence[float], counts: Sequence[int]) -> np.ndarray:
    """How much each lap counts; the sum is 1. sizes: of the jumps; counts: laps in the block before each of them.

    What a jump passes over costs what the laps before and after it do, half each; before the first and after the last
    there are none. All count alike where nothing is passed over. ValueError where there are no laps.
    """
    laps, jumped = np.array(counts), np.array(sizes, float)
    measured = np.flatnonzero(laps)
    if not len(measured):
        raise ValueError("no lap to say what a jump costs")
    if not jumped.any():
        return np.full(int(laps.sum()), 1 / int(laps.sum()))
    next_one = np.searchsorted(measured, np.arange(len(sizes)), side="right")  # the first such block after each jump
    before = measured[np.maximum(next_one - 1, 0)]
    after = measured[np.minimum(next_one, len(measured) - 1)]
    shares = np.bincount(before, jumped, len(sizes)) + np.bincount(after, jumped, len(sizes))
    return np.asarray(np.repeat(shares / np.maximum(laps, 1), laps) / (2 * jumped.sum()))


def kept(counts: Sequence[int], first: int) -> list[int]:
    """Laps left in each block without the `first` ones of all."""
    out = []
    for count in counts:
        out.append(max(0, count - first))
        first = max(0, first - count)
    return out
