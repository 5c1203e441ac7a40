"""Whether what was measured is enough, and what is to follow it: another interval here, one elsewhere, or none."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, inf, log, sqrt

import numpy as np

from gpusim.base.student import quantile
from gpusim.base.sums import plain_sum
from gpusim.model.sampling.covariates import ALIKE, CovariateRegression, regress
from gpusim.model.sampling.estimate import LEAST_FOR_DRIFT, Ratios, ratios
from gpusim.model.sampling.grid import RemainingGrid, block_changes, block_weights, count_intervals_left
from gpusim.model.sampling.looks import Columns
from gpusim.model.sampling.pace import pace_strata, unsettled_intervals
from gpusim.model.sampling.spec import SamplingSpec

LEAST_SKIPPED = 0.2  # of a grid: below, a skip is not worth its error
_PACE = Columns.of_pace()
MOST_MOVING = 0.01  # of all waits: what one reason for them may still grow or shrink by
_STOP_FROM_INTERVALS = 8  # in what is left: from here on one interval at least is measured elsewhere in the grid
_MOST_TRIED = 16
_LEAST_PATIENCE, _MOST_PATIENCE = 4, 32  # intervals: what drifts for longer changes along the grid
MOST_MISSED = 4.0  # times the wanted error: what is skipped if less cannot be had
LEAST_ERROR = 0.04  # the same, however small an error is wanted
_MOST_SIMULATED = 0.6  # of what is left, for intervals at other places
_MOST_AT_A_PLACE = 6  # intervals
LEAST_PLACES = 8  # where intervals are taken, if half of the grid lies between them
_FEWEST_PLACES = 3  # fewer say nothing of what lies between them: two thirds of the grid may be simulated for them
_LEAST_INTERVALS = 16  # no larger a part of the grid than the next share: a few may resemble one another by chance
_LEAST_SHARE = 0.05
MOST_BEFORE_SKIP = 32  # intervals: what has not settled until then would be estimated from elsewhere


@dataclass(frozen=True)
class IntervalMeasurements:
    """Measurements up to now."""

    intervals: np.ndarray
    """float64 [intervals, windows, columns]: cycles, instructions and waits of the detailed intervals."""
    counts: Sequence[int]
    """Number of detailed intervals in each block between fast-forwards."""
    skips: Sequence[float]
    """Workgroups that each fast-forward skips, one after each block but the last."""
    interval_waves: float
    """Waves of workgroups in a detailed interval."""
    interval_size: float = inf
    """Workgroups of a detailed interval; infinite: what is skipped has no chance of its own."""
    tolerance: float = 0.05
    """Relative change of the pace from one interval to the next that is none."""
    covariates: np.ndarray | None = None
    """float64 [intervals, covariates] of the detailed intervals; None: the grid has none."""
    mixed: np.ndarray | None = None
    """bool [intervals] that say little, as one kind of workgroups followed another in them; None: as `covariates`."""
    target: np.ndarray | None = None
    """float64 [covariates] of what was skipped and of what still may be."""
    in_step: bool = False
    """Workgroups that wait for memory end together: as they get out of step, the pace may change for tens of waves."""

    @property
    def pace(self) -> np.ndarray:
        """float64 [intervals]: cycles per instruction."""
        totals = self.intervals.sum(axis=1)
        return np.asarray(totals[:, _PACE.cycles] / np.maximum(totals[:, _PACE.work], 1))

    def counted(self, first: int) -> np.ndarray:
        """Return bool [intervals]: all but the `first` ones, the mixed ones, and those that a skip still affected."""
        counted = np.asarray((np.arange(len(self.intervals)) >= first) & ~self.unsettled)
        if self.mixed is None:
            return counted
        unmixed = counted & ~self.mixed
        return unmixed if self._apart(unmixed) <= max(self._apart(counted), ALIKE) else counted

    def _apart(self, counted: np.ndarray) -> float:
        """Return how far the covariates of what is skipped lie beyond those of some intervals; infinite if of none."""
        if self.covariates is None or self.target is None:
            return 0.0
        if not counted.any():
            return inf
        own = self.covariates[counted]
        beyond = np.maximum(own.min(axis=0) - self.target, self.target - own.max(axis=0))
        return float(np.maximum(beyond, 0).max())

    @property
    def unsettled(self) -> np.ndarray:
        """bool [intervals]: the intervals in which a skip still had an effect."""
        return unsettled_intervals(self.pace, self.counts, self.tolerance, self.covariates, ALIKE)

    def own_chance(self, skipped: float) -> float:
        """Return the variance of what is skipped by its own chance, and by that of what is simulated after the first
        skip, which is another draw than without it: relative to an interval's.
        """
        passed = skipped / self.interval_size
        return (passed + 2 * self.simulated_after()) / passed**2 if passed else 0.0

    def simulated_after(self, places: int = 0) -> float:
        """Return the intervals that count after the first skip, with the launch's end; `places` to come.

        What lies between a skip and its intervals is estimated like what was passed over.
        """
        return sum(self.counts[1:]) + 1.5 + places

    def intervals_left(self, first: int) -> list[int]:
        """Return the number of intervals that count in each block."""
        counted = self.counted(first)
        ends = np.cumsum(self.counts)
        return [int(counted[end - count : end].sum()) for end, count in zip(ends, self.counts, strict=True)]

    def weights(self, first: int, last_skip: float) -> np.ndarray:
        """Return the weight of each interval that counts if `last_skip` follows them; their sum is 1."""
        return block_weights([*self.skips, last_skip], self.intervals_left(first))

    def regression(
        self, intervals: np.ndarray, first: int, last_skip: float, work: int = _PACE.work
    ) -> CovariateRegression:
        """Move detailed intervals to the covariates of what is skipped.

        Args:
            intervals: float64 [intervals that count, windows, columns].
            first: Number of initial intervals that are left out.
            last_skip: Workgroups of the fast-forward that follows.
            work: Column of instructions.
        """
        if self.covariates is None or self.target is None:
            return CovariateRegression(intervals)
        return regress(
            intervals, work, self.covariates[self.counted(first)], self.weights(first, last_skip), self.target
        )

    def strata(self, first: int) -> np.ndarray:
        """Return int64 [intervals that count]: the stratum of pace of each."""
        intervals = self.regression(self.intervals[self.counted(first)], first, 0).intervals
        halves = (
            intervals.reshape(len(intervals), 2, -1, intervals.shape[-1]).sum(axis=2)
            if intervals.shape[1] % 2 == 0
            else intervals
        )
        pace = halves[..., _PACE.cycles] / np.maximum(halves[..., _PACE.work], 1)
        mean = np.maximum(pace.mean(axis=1), 1e-300)
        spread = float(np.median(pace.std(axis=1, ddof=1) / mean)) / sqrt(pace.shape[1])
        before = self.intervals_left(first)[0] if self.skips else len(intervals)
        totals = intervals.sum(axis=1)
        own = np.asarray(totals[:, _PACE.cycles] / np.maximum(totals[:, _PACE.work], 1))
        return pace_strata(own, spread, before, self.tolerance * (self.counts[-1] == 1))

    def changes(self, first: int, last_skip: float) -> tuple[tuple[int, int, float], ...]:
        """Return the strata before and after each skip between two, and its share of what is skipped."""
        return block_changes([*self.skips, last_skip], self.intervals_left(first), self.strata(first))

    def ratios(self, first: int, last_skip: float, spec: SamplingSpec) -> Ratios:
        """Return cycles per instruction in the intervals except the `first` ones, if `last_skip` follows them."""
        columns = Columns.of_pace(self.intervals.shape[-1] - 2)
        moved = self.regression(self.intervals[self.counted(first)], first, last_skip)
        return ratios(
            moved.intervals,
            self.weights(first, last_skip),
            self.age(first),
            columns,
            spec,
            self.interval_waves,
            self.strata(first),
            changes=self.changes(first, last_skip),
            own_chance=self.own_chance(plain_sum(self.skips) + last_skip) + moved.leverage,
            fitted=moved.coefficients,
        )

    def age(self, first: int, more: int = 0) -> float:
        """Return how many waves had passed at the middle of the intervals from `first` on, with `more` to follow."""
        return 1 + self.interval_waves * (first + (len(self.intervals) - first + more) / 2)

    def first(self, last_skip: float, spec: SamplingSpec) -> int:
        """Choose how many intervals to leave out at the beginning, as not settled: the number with the smallest error.

        It is at most half of them: with more candidates, the best is more likely so by chance. What is left is enough
        to see a drift. Intervals after the first skip are always counted: what differs there is another place. So are
        those without which no other would be like what is skipped.
        """
        errors = self._errors(last_skip, spec)
        return min(errors, key=errors.__getitem__)

    def luck(self, spec: SamplingSpec) -> float:
        """Return the squared error of all choices of what is left out, as a multiple of the smallest one's.

        It is the geometric mean. What the choices foretell hardly differs, so that the narrowest bar is so by chance.
        """
        errors = [*self._errors(0, spec).values()]
        least = min(errors)
        return exp(plain_sum(log(error / least) for error in errors) / len(errors)) if least > 0 else 1.0

    def _errors(self, last_skip: float, spec: SamplingSpec) -> dict[int, float]:
        """Return the squared relative error by the number of intervals that are left out at the beginning."""
        count = len(self.intervals)
        most = max(0, min(count // 2, count - LEAST_FOR_DRIFT))
        if self.skips:
            most = min(most, self.counts[0] - 1)
        reached = max(self._apart(self.counted(0)), ALIKE)
        steps = range(0, most + 1, most // _MOST_TRIED + 1)
        tried = [first for first in steps if self._apart(self.counted(first)) <= reached]
        found = [self.ratios(first, last_skip, spec) for first in tried]
        return {first: one.squares(one.doubts, _PACE.cycles) for first, one in zip(tried, found, strict=True)}

    def foretold(self, first: int, spec: SamplingSpec) -> bool:
        """Tell whether the last interval, at a place of its own, is what the others foretell of it, but for chance.

        A half of the wanted half-width is no surprise. What a mixed interval was foretold is not known.

        Args:
            first: Number of initial intervals that are left out.
            spec: Sampling options.
        """
        counted = self.counted(first)
        others = self.intervals[counted][:-1]
        if not self.skips or self.counts[-1] != 1 or len(others) <= LEAST_FOR_DRIFT:
            return True
        if not counted[-1]:
            return False
        even, moved = np.full(len(others), 1 / len(others)), CovariateRegression(others)
        if self.covariates is not None:
            own = self.covariates[counted]
            moved = regress(others, _PACE.work, own[:-1], even, own[-1])
        columns, fitted = Columns.of_pace(others.shape[-1] - 2), moved.coefficients
        found = ratios(moved.intervals, even, self.age(first), columns, spec, self.interval_waves, fitted=fitted)
        variance = found.interval_variance(_PACE.cycles) * (1 + 1 / len(others) + moved.leverage)
        chance = quantile(spec.confidence, found.noise.degrees) * sqrt(variance)
        apart = float(self.pace[-1] / max(found.values[_PACE.cycles], 1e-300)) - 1
        return abs(apart) <= max(chance, spec.error / 2)

    @property
    def surprised(self) -> bool:
        """Whether the pace changed at the last skip, and has not been the same twice since."""
        count, pace = self.counts[-1], self.pace
        if not self.skips or not 0 < count < _MOST_AT_A_PLACE or count == len(pace):
            return False
        return bool(abs(pace[-1] - pace[-2]) > self.tolerance * pace[-2])


@dataclass(frozen=True)
class SamplingDecision:
    """The step after a detailed interval."""

    skip: int
    """Workgroups to skip now."""
    enough: bool
    """No detailed interval follows."""


def following(measured: IntervalMeasurements, spec: SamplingSpec, left: RemainingGrid) -> SamplingDecision:
    """Decide what follows the intervals measured so far: a skip over workgroups, another interval here, or no more
    intervals.
    """
    share = (left.skippable + plain_sum(measured.skips)) / left.total
    if not share:
        return SamplingDecision(0, False)
    if measured.surprised:
        return SamplingDecision(0, False)
    first = measured.first(left.skippable, spec)
    estimated = measured.ratios(first, left.skippable, spec)
    wanted = (spec.error / share) ** 2
    waves = left.total / left.interval
    settles = not measured.skips and len(measured.intervals) < max(_LEAST_PATIENCE, min(_MOST_PATIENCE, waves / 6))
    if settles and len(measured.intervals) > 1 and (measured.in_step or estimated.moving > MOST_MOVING):
        return SamplingDecision(0, False)
    if len(measured.intervals) < LEAST_FOR_DRIFT and left.total >= _STOP_FROM_INTERVALS * left.interval:
        return SamplingDecision(0, False)
    few = min(_LEAST_INTERVALS, int(waves * _LEAST_SHARE)) - len(measured.intervals)
    if left.total < 1.5 * _FEWEST_PLACES * left.place:
        return SamplingDecision(0, False)
    places = min(LEAST_PLACES, max(_FEWEST_PLACES, int(left.total / (2 * left.place))))
    unseen = ceil(places * left.skippable / left.total - 0.5) - 1  # as equal parts of the grid are left; one at its end
    elsewhere = measured.skips or left.skippable < _STOP_FROM_INTERVALS * left.interval
    narrow = estimated.squares(estimated.doubts, _PACE.cycles) <= wanted
    if elsewhere and max(few, unseen) <= 0 and narrow and measured.foretold(first, spec):
        return SamplingDecision(left.skip(0), True)
    drifts = estimated.squares((estimated.drift,), _PACE.cycles) > wanted / 2
    if len(measured.intervals) < LEAST_FOR_DRIFT or (settles and drifts):
        return SamplingDecision(0, False)
    forecast = _RatioForecast(measured, first, estimated, spec)
    most = max(1, int(left.skippable * _MOST_SIMULATED / left.place))
    needed = _more(forecast, left, wanted)
    missed = max(MOST_MISSED, LEAST_ERROR / spec.error)
    if not needed and (coarser := _more(forecast, left, missed**2 * wanted)):
        needed = most if measured.skips else min(most, coarser)
    more = max(needed, few, unseen) if needed else 0
    if measured.skips and unseen <= 0 and more > most:  # the end is near, and more than there can be would be needed
        return SamplingDecision(left.skip(0), True)
    worth = measured.skips or left.skippable - more * left.place >= LEAST_SKIPPED * left.total
    skip = left.skip(min(more, max(most, unseen, 1))) if more and worth else 0
    return SamplingDecision(skip or (left.rest() if measured.skips else 0), False)


@dataclass(frozen=True)
class _RatioForecast:
    """Prediction of later detailed intervals."""

    measured: IntervalMeasurements
    """Measurements up to now."""
    first: int
    """Number of initial detailed intervals that are left out."""
    found: Ratios
    """Ratios of the other detailed intervals."""
    spec: SamplingSpec
    """Sampling options."""

    def square(self, more: int, part: float, anew: bool) -> float:
        """Return the predicted squared relative half-width with `more` intervals to come.

        Between them are skips over `part` workgroups each, and one more with an interval after it; the intervals are
        taken to be like those so far. anew: leave all intervals so far out.
        """
        measured, estimated, spec = self.measured, self.found, self.spec
        first = len(measured.intervals) if anew else self.first
        places = more + 1
        intervals_left = count_intervals_left(measured.counts, first) if anew else measured.intervals_left(first)
        weights = block_weights([*measured.skips, *[part] * places, 0], [*intervals_left, *[1] * places])
        noise = estimated.noise
        degrees = noise.degrees + places - (first - self.first)
        if degrees <= 0:  # as many intervals would be left out as are to come
            return inf
        t = quantile(spec.confidence, degrees)
        passed = measured.age(first, places) - measured.age(self.first)
        intervals = (plain_sum(measured.skips) + part * places) / measured.interval_size
        own = (intervals + 2 * measured.simulated_after(places)) / intervals**2 if intervals else 0.0
        return float(
            t * t * noise.inflation * estimated.interval_variance(_PACE.cycles) * ((weights**2).sum() + own)
            + estimated.squares((estimated.settling,), _PACE.cycles) * 0.25 ** (passed / spec.settling_rounds)
            + estimated.squares((estimated.skip,) if anew else (estimated.skip, estimated.change), _PACE.cycles)
        )


def _more(outlook: _RatioForecast, left: RemainingGrid, wanted: float) -> int:
    """Return how many intervals are still needed, each at another place; 0: more than the grid has space for."""

    def enough(more: int) -> bool:
        part = max(left.skippable - more * left.place, 0) / (more + 1)
        return min(outlook.square(more, part, anew) for anew in (False, True)) <= wanted

    most = left.skippable // left.place
    more = 1
    while more <= most and not enough(more):
        more *= 2
    if more > most:
        return 0
    return next(k for k in range(more // 2 + 1, more + 1) if k == more or enough(k))
