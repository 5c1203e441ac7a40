"""Regression of what an instruction costs on covariates along the grid.

What a fast-forward skips may have other addresses and other work than the detailed intervals around it. Both are known
of the whole grid before anything is timed, so that the counts of each interval are moved to where the skipped part
is: `y + b (X - x)`, the regression estimator (Cochran 1977, chapter 7). Two kinds of workgroups that alternate are two
values of one covariate, and the estimate is then that of two strata (double sampling, chapter 12), wherever these lie.

Several covariates that change together are one: principal components, in units of what chance makes of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from gpusim.base.sums import plain_sum
from gpusim.model.sampling.survey import AddressSurvey
from gpusim.model.sampling.work import WorkgroupInstructions

_CELLS = 4  # of a wave
_MOST_CELLS = 8192
_UNIT = 0.05  # of a covariate's mean: smaller differences are none
_SHARE_UNIT = 0.02  # the same of a block's share in the instructions
_LEAST_DEVIATION = 1.0  # of a component's values along the grid, in these units
_MOST = 2  # components
_LEAST_DEGREES = 2  # that are left to the intervals
_MOST_LEVERAGE = 1.0  # of several components: intervals do not tell them apart
_LEAST_LEFT = 0.05  # of an interval's counts: a line goes below zero
_LONG = 0.1  # of the work: a part whose pace decides the launch's
_AT_ONCE = 0.5  # of the difference of two parts: they differ by it within a wave
_ENTRY = 2  # waves before and after the beginning of such a part that are simulated
_MOST_MIXED = 0.15  # of the range of the intervals' means: standard deviation of covariates within an interval
_LEAST_UNMIXED = 0.5  # of the intervals, without which mixed ones count too
ALIKE = 2.0
"""Difference of values, in units, that is none."""


@dataclass(frozen=True)
class GridCovariates:
    """Covariates along a grid."""

    values: np.ndarray
    """float64 [cells, covariates], in units of chance."""
    work: np.ndarray
    """float64 [cells]: instructions of a workgroup."""
    cell: int
    """Workgroups of a cell."""
    resident: int
    """Workgroups of a wave."""

    @classmethod
    def of(
        cls, work: WorkgroupInstructions, seen: AddressSurvey, cuts: Sequence[int], resident: int
    ) -> "GridCovariates":
        """Compute the covariates of a grid, means over a wave of workgroups that are of one stratum.

        Args:
            work: Instructions of each workgroup.
            seen: Survey of addresses.
            cuts: First workgroups of the strata but the first.
            resident: Workgroups of a wave.
        """
        total = len(work.each)
        cell = max(1, resident // _CELLS, -(-total // _MOST_CELLS))
        starts = np.arange(0, total, cell)
        middles = starts + np.diff(np.append(starts, total)) / 2
        edges = np.array([0, *cuts, total])
        stratum = np.searchsorted(edges, middles, side="right") - 1
        low = np.maximum(middles - resident / 2, edges[stratum])
        high = np.minimum(middles + resident / 2, edges[stratum + 1])
        each = np.add.reduceat(work.each.astype(float), starts) / np.diff(np.append(starts, total))
        columns = [_smoothed(middles, each[:, np.newaxis], low, high, _UNIT * max(float(each.mean()), 1))]
        shares = work.shares(starts)
        columns.append(_smoothed(middles, shares, low, high, _SHARE_UNIT))
        means = np.maximum(np.abs(seen.covariates.mean(axis=0)), 1e-12)
        columns.append(_smoothed(seen.workgroups, seen.covariates, low, high, _UNIT * means))
        return cls(_components(np.concatenate(columns, axis=1)), each, cell, resident)

    @property
    def count(self) -> int:
        """Number of covariates."""
        return int(self.values.shape[1])

    def of_workgroups(self, start: int, end: int) -> tuple[np.ndarray, float]:
        """Return the mean covariates of consecutive workgroups, float64 [covariates], and their instructions.

        Args:
            start: First workgroup.
            end: Workgroup after the last.
        """
        at = np.arange(len(self.values)) * self.cell
        return self._mean(np.minimum(at + self.cell, end) - np.maximum(at, start))

    def of_time(self, before: int, after: int) -> np.ndarray:
        """Return the mean covariates of what was executed while workgroups were dispatched: float64 [covariates].

        A workgroup is executed while a wave of others is dispatched.

        Args:
            before: Next workgroup at the beginning.
            after: Next workgroup at the end.
        """
        return self._mean(self._executed(before, after))[0]

    def spread_of_time(self, before: int, after: int) -> np.ndarray:
        """Return the standard deviation of the covariates of what was executed, as `of_time`: float64 [covariates]."""
        weights = np.maximum(self._executed(before, after), 0) * self.work
        apart = self.values - self.of_time(before, after)
        return np.asarray(np.sqrt(weights @ apart**2 / max(float(weights.sum()), 1e-300)))

    def _executed(self, before: int, after: int) -> np.ndarray:
        """Return how long the middle of each cell was executed, in workgroups dispatched: float64 [cells]."""
        middles = (np.arange(len(self.values)) + 0.5) * self.cell
        return np.asarray(np.minimum(middles + self.resident, max(after, before + 1)) - np.maximum(middles, before))

    def of_passage(self, skipped: range, after: int) -> np.ndarray:
        """Return the mean covariates of what was executed after a fast-forward: float64 [covariates].

        Args:
            skipped: Workgroups of the fast-forward.
            after: Next workgroup at the end.
        """
        middles = (np.arange(len(self.values)) + 0.5) * self.cell
        before = np.clip(middles + self.resident - skipped.start, 0, None) * (middles < skipped.start)
        later = np.minimum(middles + self.resident, after) - middles
        return self._mean(before + np.maximum(later, 0) * (middles >= skipped.stop))[0]

    def _mean(self, workgroups: np.ndarray) -> tuple[np.ndarray, float]:
        weights = np.maximum(workgroups, 0) * self.work
        total = float(weights.sum())
        return np.asarray(weights @ self.values / max(total, 1e-300)), total


def _smoothed(
    places: np.ndarray, values: np.ndarray, low: np.ndarray, high: np.ndarray, unit: "np.ndarray | float"
) -> np.ndarray:
    """Return means of values between two places, float64 [means, columns], in units and with the mean taken off.

    A column's unit is at least what chance makes of such a mean.

    Args:
        places: Where the values are, in order.
        values: float64 [places, columns].
        low: Beginning of each mean.
        high: End of each mean.
        unit: Least unit of each column.
    """
    first = np.minimum(np.searchsorted(places, low), len(places) - 1)
    end = np.maximum(np.searchsorted(places, high), first + 1)
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    squares = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values**2, axis=0)])
    count = (end - first)[:, np.newaxis]
    means = (sums[end] - sums[first]) / count
    variance = np.maximum((squares[end] - squares[first]) / count - means**2, 0) / count
    units = np.sqrt(variance.mean(axis=0) + np.asarray(unit) ** 2)
    return np.asarray((means - means.mean(axis=0)) / units)


def _components(columns: np.ndarray) -> np.ndarray:
    """Return the principal components that exceed chance: float64 [rows, components]."""
    left, singular, _ = np.linalg.svd(columns, full_matrices=False)
    kept = min(_MOST, int((singular >= _LEAST_DEVIATION * len(columns) ** 0.5).sum()))
    return np.asarray(left[:, :kept] * singular[:kept])


@dataclass(frozen=True)
class CovariateRegression:
    """Counts an instruction of detailed intervals, moved to the covariates of what was skipped."""

    intervals: np.ndarray
    """float64 [intervals, windows, columns]: moved counts."""
    coefficients: int = 0
    """Number of slopes of a column."""
    leverage: float = 0.0
    """Variance of what is added, as a part of an interval's."""
    slopes: np.ndarray | None = None
    """float64 [covariates, columns]; None: there is no regression."""


def mixed_intervals(means: np.ndarray, spreads: np.ndarray) -> np.ndarray:
    """Return bool [intervals]: the intervals in which one kind of workgroups followed another.

    How much of either was executed there is known roughly, so that they say less than those of one kind. Where most
    intervals are so, all count.

    Args:
        means: float64 [intervals, covariates].
        spreads: float64 [intervals, covariates], standard deviations within each.
    """
    least = np.maximum(_MOST_MIXED * np.ptp(means, axis=0), ALIKE)
    mixed = np.asarray((spreads > least).any(axis=1))
    return mixed if (~mixed).sum() >= max(_LEAST_UNMIXED * len(mixed), _LEAST_DEGREES + 2) else np.zeros_like(mixed)


def regress(
    intervals: np.ndarray, work: int, covariates: np.ndarray, weights: np.ndarray, target: np.ndarray
) -> CovariateRegression:
    """Move the counts of detailed intervals to other covariates; where too few intervals differ they stay.

    Args:
        intervals: float64 [intervals, windows, columns].
        work: Column of instructions.
        covariates: float64 [intervals, covariates].
        weights: float64 [intervals]; their sum is 1.
        target: float64 [covariates] of what was skipped.
    """
    totals = intervals.sum(axis=1)
    rates = totals / np.maximum(totals[:, work : work + 1], 1)
    for count in range(min(covariates.shape[1], len(intervals) - 1 - _LEAST_DEGREES), 0, -1):
        own = covariates[:, :count]
        apart = own - own.mean(axis=0)
        if np.ptp(apart, axis=0).min() <= ALIKE:
            continue
        inverse = np.linalg.pinv(apart.T @ apart, rcond=1e-6, hermitian=True)
        distance = target[:count] - weights @ own
        leverage = float(distance @ inverse @ distance)
        if count > 1 and leverage > _MOST_LEVERAGE:
            continue
        slopes = np.zeros((covariates.shape[1], intervals.shape[2]))
        slopes[:count] = inverse @ apart.T @ (rates - rates.mean(axis=0))
        within = np.clip(target[:count], own.min(axis=0), own.max(axis=0))  # beyond, a line says nothing of a pace
        fitted = rates.mean(axis=0) + apart @ slopes[:count]
        there = rates.mean(axis=0) + (within - own.mean(axis=0)) @ slopes[:count]
        least = _LEAST_LEFT * rates.mean(axis=0)
        positive = (fitted > least).all(axis=0) & (there > least)  # what varies, varies in proportion to the counts
        factors = np.where(positive, there / np.where(positive, fitted, 1), 1)
        moved = intervals * factors[:, np.newaxis]
        others = np.where(positive, 0, there - fitted)[:, np.newaxis] * intervals[..., work : work + 1]
        return CovariateRegression(np.maximum(moved + others, _LEAST_LEFT * intervals), count, leverage, slopes)
    return CovariateRegression(intervals)


@dataclass(frozen=True)
class CovariateStrata:
    """Parts of a grid within which covariates do not change, and which of them may be skipped."""

    covariates: GridCovariates
    """Covariates of the grid."""
    cuts: Sequence[int]
    """First workgroups of the parts but the first."""
    total: int
    """Workgroups of the grid."""

    def _values(self, start: int, end: int) -> np.ndarray:
        return self.covariates.of_workgroups(max(start, 0), min(end, self.total))[0]

    def changes(self, since: int) -> np.ndarray:
        """Return by how much the covariates change from each part to the next: float64 [changes, covariates].

        since: First workgroup from which on changes are of interest.
        """
        values = [self._values(part.start, part.stop) for part in self._parts]
        changed = zip(self.cuts, pairwise(values), strict=True)
        apart = [later - earlier for cut, (earlier, later) in changed if cut >= since]
        return np.array(apart).reshape(len(apart), self.covariates.count)

    def _unreached(self, seen: Sequence[np.ndarray]) -> list[range]:
        """Return the parts whose covariates lie beyond those of detailed intervals and of the grid's end.

        seen: Covariates of the intervals.
        """
        reached = np.array([*seen, self._values(self.total - self.covariates.resident, self.total)])
        low, high = reached.min(axis=0) - ALIKE, reached.max(axis=0) + ALIKE
        values = [self._values(part.start, part.stop) for part in self._parts]
        return [part for part, own in zip(self._parts, values, strict=True) if ((own < low) | (own > high)).any()]

    @cached_property
    def _parts(self) -> list[range]:
        return [range(first, after) for first, after in pairwise((0, *self.cuts, self.total))]

    @cached_property
    def _entries(self) -> list[int]:
        """Where long parts begin at once; the first is none, nor one into which the grid changes gradually.

        What follows a part is a part of it where it differs by less than the part from the one before: a part that is
        divided again is as long as before.
        """
        wave, entries = self.covariates.resident, list[int]()
        values, works = zip(*(self.covariates.of_workgroups(one.start, one.stop) for one in self._parts), strict=True)
        for k, part in enumerate(self._parts[1:], 1):
            apart = np.abs(values[k] - values[k - 1])
            there = self._values(part.start, part.start + wave) - self._values(part.start - wave, part.start)
            at_once = (apart > ALIKE) & (np.abs(there) > _AT_ONCE * apart)
            changed = [(np.abs(value - values[k]) > _AT_ONCE * apart)[at_once].any() for value in values[k:]]
            work = plain_sum(works[k : k + [*changed, True].index(True)])
            if at_once.any() and work >= _LONG * plain_sum(works):
                entries.append(part.start)
        return entries

    def _after_entry(self, position: int, place: int) -> int:
        """Return where an interval may begin so that it does not meet the beginning of a long part.

        Args:
            position: Next workgroup.
            place: Workgroups dispatched for a detailed interval at another place.
        """
        waves = _ENTRY * self.covariates.resident
        ends = [entry + waves for entry in self._entries if entry - place + waves < position < entry + waves]
        return max(ends, default=position)

    def clip(self, start: int, size: int, place: int, seen: Sequence[np.ndarray], passed: int = 0) -> int:
        """Return the size of a fast-forward that does not pass over what decides the rest of the launch.

        It ends where a part begins of which no other interval says anything; where such a part is too short for an
        interval, before it, with an interval. Workgroups keep the step in which they came into a long part, and with
        it what they find in caches. So it ends two waves before such a part, and all fast-forwards together are whole
        waves: the same slots get its first workgroups.

        Args:
            start: First workgroup.
            size: Workgroups that are wanted.
            place: Workgroups dispatched for a detailed interval at another place.
            seen: Covariates of the intervals.
            passed: Workgroups of earlier fast-forwards.
        """
        wave = self.covariates.resident
        later = [entry for entry in self._entries if entry > start]
        if later:
            size = min(size, later[0] - _ENTRY * wave - start)
        passage = start + size + _ENTRY * wave
        after = self._after_entry(passage, place) + place - (_ENTRY + 1) * wave
        for part in self._unreached([*seen, self._values(after - wave, after + wave)]):
            short = part.stop - max(part.start, start) < place
            if part.start < (passage if short else start + size) and part.stop + wave > start:
                size = (part.start - place if short else max(part.start, start)) - start
                break
        return max(0, (passed + size) // wave * wave - passed if later else size)

    def next_interval(self, position: int, place: int, seen: Sequence[np.ndarray]) -> int:
        """Return where an interval may begin that would meet the beginning of a long part, or one too short for
        intervals; 0: it would meet neither.

        Args:
            position: Next workgroup.
            place: Workgroups dispatched for a detailed interval at another place.
            seen: Covariates of the intervals.
        """
        wave = self.covariates.resident
        begin = self._after_entry(position, place)
        if begin > position:
            return begin
        known = [self._values(part.start, part.stop) for part in self._parts if len(part) >= place]
        for part in self._unreached([*seen, *known, self._values(position - wave, position)]):
            if len(part) < place and part.start < position + wave and part.stop + wave > position:
                return part.stop + wave
        return 0
