"""What the skipped part of a launch cost: counts in proportion to work, with replicates from which errors follow.

Intervals are rows of windows, windows rows of what each of them counted. The skipped part does as many instructions as
its workgroups have, and costs of everything what the intervals cost an instruction: a ratio estimator, whose error is
that of its residuals (Cochran 1977, chapter 6). Each residual is a replicate of all counts together, so that the error
of anything computed from several counts, such as a hit rate, has their correlation in it.

How much work was skipped is known of most kernels (`gpusim.model.sampling.work`). Of others it follows from the
wavefronts that ended, and is doubted by how these differ.

Four things intervals do not say of their own. They may not have settled when they are measured: how far from it a
launch may be is taken from the spread of the windows and the waves that have passed. A launch that is seen to go on
settling does so in the part that is skipped: what the later intervals differ from the earlier ones, beyond chance, it
may go through again as often as their distance fits into the time of settling, and half of it at least: a standard
uncertainty. What wavefronts wait for may move on before the pace does, as queues fill up while others still hide it
(`moving`). A skip may itself cost or save something: `SamplingSpec.bias`. The pace may go on changing over hundreds of
waves, by as much from the 20th to the 40th as from the 10th to the 20th, of which a few waves' intervals see nothing.
No number of intervals makes that doubt less (`SamplingSpec.slow_change`), so that it has no part in whether they are
enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import e, log2

import numpy as np

from gpusim.base.student import MANY_DEGREES, quantile
from gpusim.base.sums import plain_sum
from gpusim.model.core.sampled import Replicates
from gpusim.model.sampling.looks import Columns
from gpusim.model.sampling.noise import Noise, noise
from gpusim.model.sampling.spec import SamplingSpec

SETTLING_FROM_WAVES = 2.0  # what `SamplingSpec.unsettled` and `unsettled_spread` are said of
LEAST_FOR_DRIFT = 2  # intervals
_INTERVALS_FOR_LENGTHS = 6  # fewer say less of how wavefronts differ than their windows do
_ANYWHERE = 3**-0.5  # standard uncertainty of a part between 0 and 1


@dataclass(frozen=True)
class Ratios:
    """Counts per instruction in the detailed intervals, with their uncertainty for the skipped part."""

    values: np.ndarray
    """float64 [columns]: counts per instruction."""
    chance: Replicates
    """Uncertainty component: sampling error."""
    settling: Replicates
    """Uncertainty component: initial transient."""
    drift: Replicates
    """Uncertainty component: drift along the grid."""
    skip: Replicates
    """Uncertainty component: effect of fast-forwards."""
    change: Replicates
    """Uncertainty component: places of changes of the pace."""
    noise: Noise
    """Noise of a detailed interval."""
    moving: float = 0.0
    """Share of the wavefronts' waits that still moves from one reason to another."""

    @property
    def doubts(self) -> tuple[Replicates, ...]:
        """All independent reasons to doubt the values."""
        return self.chance, self.settling, self.drift, self.skip, self.change

    def interval_variance(self, column: int) -> float:
        """Return the relative variance of an interval's count in a column, with its work accounted for."""
        apart = float((self.chance.deviations[:, column] ** 2).sum())
        return apart / max(float(self.values[column]), 1e-300) ** 2

    def squares(self, doubts: tuple[Replicates, ...], column: int) -> float:
        """Return the squared relative half-width of a column that these doubts cause together."""
        apart = plain_sum(d.factor * float((d.deviations[:, column] ** 2).sum()) for d in doubts)
        return apart / max(float(self.values[column]), 1e-300) ** 2


def ratios(
    intervals: np.ndarray,
    weights: np.ndarray,
    age: float,
    columns: Columns,
    spec: SamplingSpec,
    interval_waves: float = 1.0,
    strata: np.ndarray | None = None,
    changes: Sequence[tuple[int, int, float]] = (),
    own_chance: float = 0.0,
    fitted: int = 0,
) -> Ratios:
    """Return counts per instruction in intervals, with the reasons to doubt that the skipped part has the same.

    Intervals of strata with another pace have another number of instructions, but what is skipped has not: they are
    scaled to the same.

    Args:
        intervals: [interval, window, column], in order of time.
        weights: Weight of each; their sum is 1.
        age: Waves that had passed in the middle of them.
        interval_waves: Waves that an interval takes.
        strata: As of `gpusim.model.sampling.noise.noise`.
        changes: Skips from one stratum to another, with the share of each in what is skipped.
        own_chance: Variance of what is skipped by its own chance, as a part of an interval's.
        fitted: Coefficients of a regression of the intervals.
    """
    strata = np.zeros(len(intervals), np.int64) if strata is None else strata
    paces = _paces(intervals, strata, columns)
    means = np.array([intervals[strata == k][..., columns.work].sum(axis=1).mean() for k in range(len(paces))])
    intervals = intervals * (means.mean() / np.maximum(means, 1))[strata][:, np.newaxis, np.newaxis]
    totals = intervals.sum(axis=1)
    weighted = weights @ totals
    values = weighted / max(float(weighted[columns.work]), 1)
    interval_noise = noise(intervals, columns.work, columns.cycles, spec, strata, fitted)
    scale = 1 / max(float(totals[:, columns.work].mean()), 1)
    t, z = quantile(spec.confidence, interval_noise.degrees), quantile(spec.confidence, MANY_DEGREES)
    spread = np.sqrt(intervals.shape[1]) * interval_noise.within * scale  # of a window, as a part of the whole
    passed = 0.5 ** ((age - SETTLING_FROM_WAVES) / spec.settling_rounds)
    settling = spec.settling_rounds / interval_waves
    waits = list(columns.waits)
    in_time = totals - (paces[strata] - values) * totals[:, columns.work : columns.work + 1]
    moved = _drift(in_time, columns, interval_noise, scale, settling, 2.0)[waits]
    unsettled = passed * (spec.unsettled_spread * spread + spec.unsettled * values * columns.timed)
    # added up: changes along a grid that go on in one direction are wrong in one direction
    apart = plain_sum(
        _ANYWHERE / 2 * share * np.abs(paces[later] - paces[earlier]) for earlier, later, share in changes
    )
    return Ratios(
        values=values,
        chance=Replicates(
            t * t * interval_noise.inflation * (float((weights**2).sum()) + own_chance), interval_noise.rows * scale
        ),
        settling=Replicates(z * z, unsettled[np.newaxis]),
        drift=Replicates(z * z, _drift(in_time, columns, interval_noise, scale, settling)[np.newaxis]),
        skip=Replicates(z * z, (spec.bias * values * columns.timed)[np.newaxis]),
        change=Replicates(z * z, np.broadcast_to(np.asarray(apart, float), (1, len(values)))),
        noise=interval_noise,
        moving=float(np.abs(moved).max(initial=0)) / max(float(values[waits].sum()), 1e-300),
    )


def _paces(intervals: np.ndarray, strata: np.ndarray, columns: Columns) -> np.ndarray:
    """Return the counts per instruction of each stratum of intervals, [stratum, column]."""
    sums = np.array([intervals[strata == k].sum(axis=(0, 1)) for k in range(int(strata.max()) + 1)])
    return np.asarray(sums / np.maximum(sums[:, columns.work : columns.work + 1], 1))


def _drift(
    totals: np.ndarray, columns: Columns, interval_noise: Noise, scale: float, settling: float, sure: float = 1.0
) -> np.ndarray:
    """Return, by column, how far the ratios of the skipped part may be from the intervals' because of a drift in the
    intervals.

    A drift is what moved on beyond what chance explains.

    Args:
        settling: Intervals in which the distance to the settled state is halved.
        sure: Standard deviations that chance may explain.
    """
    count, half = len(totals), len(totals) // 2
    if count < LEAST_FOR_DRIFT:
        return np.zeros(totals.shape[1])
    earlier, later = (part.sum(axis=0) for part in (totals[:half], totals[-half:]))
    apart = later / max(float(later[columns.work]), 1) - earlier / max(float(earlier[columns.work]), 1)
    by_chance = 2 / half * interval_noise.inflation * scale**2 * (interval_noise.rows**2).sum(axis=0)
    left = max(0.5, settling / (count - half))
    return np.asarray(np.sign(apart) * np.sqrt(np.maximum(apart**2 - sure**2 * by_chance, 0)) * left)


@dataclass(frozen=True)
class CountEstimate:
    """The estimated counts of the skipped part."""

    added: np.ndarray
    """float64 [columns]: increase of each column."""
    doubts: tuple[Replicates, ...]
    """Independent uncertainty components."""
    noise: Noise
    """Noise of a detailed interval."""


def estimate(
    intervals: np.ndarray,
    weights: np.ndarray,
    age: float,
    columns: Columns,
    wavefronts: int,
    spec: SamplingSpec,
    work: int = 0,
    interval_waves: float = 1.0,
    waves: float = 0.0,
    strata: np.ndarray | None = None,
    changes: Sequence[tuple[int, int, float]] = (),
    own_chance: float = 0.0,
    fitted: int = 0,
) -> CountEstimate:
    """Estimate what `wavefronts` that were not simulated add to each column.

    Args:
        intervals: As of `ratios`.
        weights: As of `ratios`.
        age: As of `ratios`.
        interval_waves: As of `ratios`.
        strata: As of `ratios`.
        changes: As of `ratios`.
        own_chance: As of `ratios`.
        fitted: As of `ratios`.
        work: Instructions of the skipped wavefronts if they are known, 0: as many as those that ended in the intervals
            had, which is doubted as their spread says.
        waves: Waves of all workgroups of the stratum.
    """
    estimated = ratios(intervals, weights, age, columns, spec, interval_waves, strata, changes, own_chance, fitted)
    ended = weights @ intervals.sum(axis=1)
    if ended[columns.ended] <= 0:
        ended = intervals.sum(axis=(0, 1))
    skipped = work or wavefronts * float(ended[columns.ended_work] / max(ended[columns.ended], 1))
    doubts = [Replicates(doubt.factor, doubt.deviations * skipped) for doubt in estimated.doubts]
    z = quantile(spec.confidence, MANY_DEGREES)
    slow = spec.slow_change * _doublings(age, waves) * estimated.values * columns.timed * skipped
    doubts.append(Replicates(z * z, slow[np.newaxis]))
    if not work:
        lengths = _length_deviations(intervals, columns)
        t = quantile(spec.confidence, estimated.noise.degrees)
        doubts.append(Replicates(t * t, lengths[:, np.newaxis] * estimated.values * skipped))
    return CountEstimate(estimated.values * skipped, tuple(doubts), estimated.noise)


def _doublings(age: float, waves: float) -> float:
    """Return how often `age` doubles until a wave of `waves`: the mean over all of them."""
    return max(0.0, log2(max(waves, 1) / (e * age)))


def _length_deviations(intervals: np.ndarray, columns: Columns) -> np.ndarray:
    """Return by how much, relatively, each part of the intervals moves the mean length of a wavefront: independent
    parts.
    """
    parts = (
        intervals.sum(axis=1)
        if len(intervals) >= _INTERVALS_FOR_LENGTHS
        else intervals.reshape(-1, intervals.shape[-1])
    )
    ended, work = parts[:, columns.ended], parts[:, columns.ended_work]
    apart = work - ended * (work.sum() / max(float(ended.sum()), 1))
    return np.asarray(apart / max(float(work.sum()), 1) * np.sqrt(len(parts) / (len(parts) - 1)))
