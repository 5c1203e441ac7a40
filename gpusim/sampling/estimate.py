"""What the skipped part of a launch cost: counts in proportion to work, with replicates from which errors follow.

Windows are rows of what each of them counted. The skipped part does as many instructions as its workgroups have, and
costs of everything what the windows cost an instruction: a ratio estimator (Cochran 1977, chapter 6). A batch of windows
left out gives a replicate of all counts together, so that the error of anything computed from several counts, such as a
hit rate, has their correlation in it: the jackknife (Quenouille 1956, Tukey 1958).
"""

from dataclasses import dataclass

import numpy as np

from gpusim.sampling.batches import Batches, batched
from gpusim.sampling.spec import SamplingSpec
from gpusim.sampling.student import quantile

MANY_DEGREES = 400  # as good as infinitely many


@dataclass(frozen=True)
class Columns:
    """Which columns of windows have a meaning here.

    cycles: of the launch; work: instructions issued; ended_work, ended: instructions of the wavefronts that ended, and
    how many did; timed: mask of those that are times.
    """

    cycles: int
    work: int
    ended_work: int
    ended: int
    timed: np.ndarray


@dataclass(frozen=True)
class Replicates:
    """Deviations of estimated counts, one row a replicate; `factor` times the sum of the squares that they cause in a
    quantity is its squared half-width."""

    factor: float
    deviations: np.ndarray


@dataclass(frozen=True)
class Estimate:
    """added: what the skipped part adds to each column; groups: independent reasons for it to be wrong."""

    added: np.ndarray
    groups: tuple[Replicates, ...]
    batches: Batches

    def half_width(self, column: int) -> float:
        """Of one column."""
        return float(np.sqrt(sum(g.factor * float((g.deviations[:, column] ** 2).sum()) for g in self.groups)))


def rates(windows: np.ndarray, columns: Columns) -> np.ndarray:
    """Cycles an instruction, window by window."""
    return windows[:, columns.cycles] / np.maximum(windows[:, columns.work], 1)


def estimate(windows: np.ndarray, columns: Columns, wavefronts: int, spec: SamplingSpec, work: int = 0) -> Estimate:
    """What `wavefronts` that were not simulated add to each column.

    windows: [window, column], in order of time; work: instructions of the skipped wavefronts if they are known, 0: as
    many as those that ended in the windows had.
    """
    found = batched(rates(windows, columns), spec.least_batches, spec.most_correlation)
    parts = np.array([windows[part].sum(axis=0) for part in found.ranges(len(windows))])
    whole = parts.sum(axis=0)
    added = _added(whole, columns, wavefronts, work, whole)
    left_out = np.array([_added(whole - part, columns, wavefronts, work, whole) for part in parts]) - added
    t = quantile(spec.confidence, found.count - 1)
    sampled = Replicates(t * t * found.inflation * (found.count - 1) / found.count, left_out)
    z = quantile(spec.confidence, MANY_DEGREES)
    unseen = Replicates(z * z, (spec.bias * added * columns.timed)[np.newaxis])
    return Estimate(added, (sampled, unseen), found)


def _added(total: np.ndarray, columns: Columns, wavefronts: int, work: int, whole: np.ndarray) -> np.ndarray:
    """whole: windows that say how much work a wavefront is where none has ended in those of `total`."""
    ended = total if total[columns.ended] > 0 else whole
    skipped = work or wavefronts * ended[columns.ended_work] / max(ended[columns.ended], 1)
    return np.asarray(total / max(total[columns.work], 1) * skipped)
