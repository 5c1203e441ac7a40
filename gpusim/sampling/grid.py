"""Which workgroups of a grid are passed over: whole rounds, so that what follows keeps its place on the machine."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Jumps:
    """sizes: workgroups of each jump, multiples of a round; between: workgroups from one jump to the next."""

    sizes: tuple[int, ...]
    between: int

    @property
    def skipped(self) -> int:
        """Workgroups that are not simulated."""
        return sum(self.sizes)


def jumps(left: int, resident: int, tail: int, stops: int, stop: int) -> Jumps:
    """Jumps over as much as can be of the `left` workgroups that are not dispatched yet.

    resident: workgroups of a round; tail: workgroups to be simulated after the last jump, at least; stops: how often to
    stop in between, each time for `stop` workgroups; fewer where the grid is too small for them.
    """
    while stops and (left - tail - stops * stop) // resident < stops + 1:
        stops -= 1
    rounds = max(0, (left - tail - stops * stop) // resident)
    each, more = divmod(rounds, stops + 1)
    sizes = [(each + (k < more)) * resident for k in range(stops + 1)]
    return Jumps(tuple(size for size in sizes if size), stop)


def block_weights(sizes: Sequence[int], windows: Sequence[int]) -> np.ndarray:
    """How much each window counts. sizes: of the jumps; windows: measured in the block before each of them.

    What a jump passes over costs what the windows before and after it do, half each; after the last there are none.
    """
    shares = np.zeros(len(sizes))
    measured = [k for k, count in enumerate(windows) if count]
    for k, size in enumerate(sizes):
        before = max(m for m in measured if m <= k)
        after = min((m for m in measured if m > k), default=before)
        shares[before] += size / 2
        shares[after] += size / 2
    return np.repeat(shares / np.maximum(windows, 1), windows)
