"""Looks at a machine while it runs, and the windows between them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.core.count_vector import CountVector


@dataclass(frozen=True)
class Columns:
    """Which columns of looks and windows have a meaning here.

    cycles: of the launch; work: instructions issued; ended_work, ended: instructions of the wavefronts that ended, and
    how many did; l2_hits, l2_misses; dram: reads and writes; timed: mask of those that are times.
    """

    cycles: int
    work: int
    ended_work: int
    ended: int
    l2_hits: int
    l2_misses: int
    dram: tuple[int, int]
    timed: np.ndarray

    @classmethod
    def of(cls, vector: CountVector) -> "Columns":
        """A launch's counts, and behind them instructions and number of the wavefronts that have ended."""
        at, size = vector.at, len(vector.timed)
        return cls(
            at("kernel", "cycles"),
            at("kernel", "wavefront_instructions"),
            size,
            size + 1,
            at("l2", "hits"),
            at("l2", "misses"),
            (at("dram", "reads"), at("dram", "writes")),
            np.append(vector.timed, (False, False)),
        )

    def rates(self, windows: np.ndarray) -> np.ndarray:
        """Cycles an instruction, window by window."""
        return np.asarray(windows[:, self.cycles] / np.maximum(windows[:, self.work], 1))

    def l2_hit_rates(self, windows: np.ndarray) -> np.ndarray:
        """Hits of hits and misses, window by window."""
        hits = windows[:, self.l2_hits]
        return np.asarray(hits / np.maximum(hits + windows[:, self.l2_misses], 1))

    def dram_rates(self, windows: np.ndarray) -> np.ndarray:
        """DRAM's lines an instruction, window by window."""
        return np.asarray(windows[:, self.dram].sum(axis=1) / np.maximum(windows[:, self.work], 1))


def windows_of(blocks: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """What was counted in each window: between looks that follow one another in a block. [window, column]"""
    return np.concatenate([np.diff(block, axis=0) for block in blocks if len(block) > 1])


def spaced(looks: Sequence[np.ndarray], first: float, apart: float, cycles: int) -> list[np.ndarray]:
    """Of looks, those that are nearest to cycle `first` and to each multiple of `apart` cycles after it."""
    times = np.array([look[cycles] for look in looks])
    wanted = np.arange(first, times[-1] + apart / 4, apart)
    nearest = dict.fromkeys(int(np.abs(times - one).argmin()) for one in wanted)
    return [looks[k] for k in nearest]
