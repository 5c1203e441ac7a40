"""What was measured in one stratum of a grid, and what it says of the workgroups that were passed over there."""

from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from gpusim.base.student import MANY_DEGREES, quantile
from gpusim.base.sums import plain_sum
from gpusim.model.core.sampled import Replicates
from gpusim.model.sampling.covariates import CovariateStrata, mixed_intervals
from gpusim.model.sampling.decision import IntervalMeasurements, SamplingDecision, following
from gpusim.model.sampling.estimate import CountEstimate, estimate
from gpusim.model.sampling.grid import RemainingGrid
from gpusim.model.sampling.looks import Columns
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.work import WorkgroupStratum

_SURE = 2.0  # standard deviations of a difference that chance may explain
_EITHER = 3**-0.5  # standard uncertainty of what is between none of a difference and all of it
_CHANGED = 0.5  # of the pace: a change that counts in full
_TOGETHER = 2  # windows of an interval
# Share of workgroups that end in these, and of waits that are for memory: in step from here
_ENDING_TOGETHER, _WAITING = 0.4, 0.8
_MOST_ERROR = 5.0  # times what is wanted of the launch: where a stratum has a twenty-fifth of the work, or less


@dataclass
class StratumMeasurement:
    """Measurement of a stratum of workgroups."""

    stratum: WorkgroupStratum
    """Stratum."""
    spec: SamplingSpec
    """Sampling options with the error that this stratum may have."""
    interval_waves: float
    """Waves of workgroups in a detailed interval."""
    waves: float
    """Waves of workgroups in the stratum."""
    length: float = 1.0
    """Mean instructions of a workgroup."""
    interval_size: float = inf
    """Workgroups of a detailed interval."""
    intervals: list[np.ndarray] = field(default_factory=list)
    """float64 [windows, columns] of each detailed interval."""
    counts: list[int] = field(default_factory=lambda: [0])
    """Number of detailed intervals before each fast-forward and after the last."""
    skips: list[range] = field(default_factory=list)
    """Skipped workgroups of each fast-forward."""
    work: int = 0
    """Instructions of the skipped workgroups; 0: unknown."""
    passages: list[np.ndarray] = field(default_factory=list)
    """float64 [columns] of each fast-forward: counts from it until its first detailed interval begins."""
    works: list[int] = field(default_factory=list)
    """Instructions of each fast-forward's workgroups; 0: unknown."""
    parts: CovariateStrata | None = None
    """Parts of the stratum with other covariates; None: workgroups are alike."""
    seen: list[np.ndarray] = field(default_factory=list)
    """float64 [covariates] of each detailed interval."""
    spreads: list[np.ndarray] = field(default_factory=list)
    """float64 [covariates] of each detailed interval: their standard deviation within it."""
    passed: list[range] = field(default_factory=list)
    """Workgroups from each fast-forward to its first detailed interval."""
    left_out: int = 0
    """Detailed intervals at the beginning that are left out as not settled, once the stratum is estimated."""

    @classmethod
    def of(
        cls,
        stratum: WorkgroupStratum,
        spec: SamplingSpec,
        interval_waves: float,
        waves: float,
        length: float = 1.0,
        interval_size: float = inf,
    ) -> "StratumMeasurement":
        """Begin to measure a stratum of a launch for which `spec` is wanted: errors of strata add in quadrature.

        Args:
            waves: Waves of the stratum.
            length: Mean instructions of its workgroups.
            interval_size: Workgroups of an interval.
        """
        error = spec.error * min(max(stratum.share, 1e-9) ** -0.5, _MOST_ERROR)
        bias = (spec.bias if stratum.alike else spec.change_bias) + stratum.end_doubt(waves)
        wanted = spec.model_copy(update={"error": min(error, 0.99), "bias": bias})
        return cls(stratum, wanted, interval_waves, waves, length=length, interval_size=interval_size)

    @property
    def skipped(self) -> int:
        """Workgroups passed over."""
        return sum(len(skip) for skip in self.skips)

    @property
    def places(self) -> int:
        """Places with detailed intervals."""
        return sum(count > 0 for count in self.counts)

    def add(self, interval: np.ndarray, start: int = 0, end: int = 0) -> None:
        """Add a detailed interval.

        Args:
            interval: float64 [windows, columns].
            start: Next workgroup at its beginning.
            end: The same at its end.
        """
        if self.parts is not None:
            self.seen.append(self.parts.covariates.of_time(start, end))
            self.spreads.append(self.parts.covariates.spread_of_time(start, end))
        self.intervals.append(interval)
        self.counts[-1] += 1

    def following(self, left: RemainingGrid, columns: Columns) -> SamplingDecision:
        """Decide what follows the intervals measured so far."""
        at = self.stratum.end - left.skippable
        return following(
            self._measurements(columns, range(at, self.stratum.end)), self.spec, replace(left, passed=self.skipped)
        )

    def _target(self, columns: Columns, unsettled: np.ndarray, rest: range) -> np.ndarray:
        """Return the mean covariates of what is estimated, and of what still may be skipped.

        Args:
            columns: Columns of the intervals.
            unsettled: bool [intervals] in which a skip still had an effect.
            rest: Workgroups that may be skipped.
        """
        assert self.parts is not None
        grid = self.parts.covariates
        means = [grid.of_workgroups(part.start, part.stop) for part in (*self.skips, rest)]
        for skip, passed, passage, count in zip(self.skips, self.passed, self.passages, self.counts[1:], strict=False):
            if count:
                means.append((grid.of_passage(skip, passed.stop), float(passage[columns.work])))
        for k in np.flatnonzero(unsettled):
            means.append((self.seen[k], float(self.intervals[k][:, columns.work].sum())))
        total = max(plain_sum(work for _, work in means), 1e-300)
        return np.asarray(np.add.reduce([mean * work for mean, work in means]) / total)

    def _measurements(self, columns: Columns, rest: range = range(0)) -> IntervalMeasurements:
        measured = IntervalMeasurements(
            _pace(np.array(self.intervals), columns),
            tuple(self.counts),
            tuple(self._sizes(columns.work)),
            self.interval_waves,
            interval_size=self.interval_size,
            tolerance=self.spec.tolerance,
            covariates=None if self.parts is None else np.array(self.seen),
            in_step=self._in_step(columns),
        )
        if self.parts is None:
            return measured
        mixed = mixed_intervals(np.array(self.seen), np.array(self.spreads))
        return replace(measured, mixed=mixed, target=self._target(columns, measured.unsettled, rest))

    def _in_step(self, columns: Columns) -> bool:
        """Tell whether workgroups that wait for memory end at the same time, wave after wave."""
        intervals = np.array(self.intervals)
        ended, waits = intervals[..., columns.ended], float(intervals[..., list(columns.waits)].sum())
        together = float(np.sort(ended, axis=1)[:, -_TOGETHER:].sum())
        waiting = float(intervals[..., list(columns.memory)].sum())
        return together >= _ENDING_TOGETHER * float(ended.sum()) > 0 and waiting >= _WAITING * waits > 0

    def add_fast_forward(self, over: range, work: int) -> None:
        """Note that workgroups were passed over. work: their instructions, 0 if they are not known."""
        self.skips.append(over)
        self.counts.append(0)
        self.work += work
        self.works.append(work)

    def _sizes(self, work: int) -> list[float]:
        """Return workgroups of mean work that each fast-forward skips, with those until an interval begins.

        work: column of instructions.
        """
        sizes = np.array(self.works) / self.length if all(self.works) else np.array([len(skip) for skip in self.skips])
        followed = np.zeros(len(sizes))  # the launch may end before an interval can begin
        for k, (passage, count) in enumerate(zip(self.passages, self.counts[1:], strict=False)):
            followed[k] = passage[work] * (count > 0)
        return [float(size) for size in sizes + followed / self.length]

    def changes(self, columns: Columns) -> float:
        """Return how many changes of the pace lie in what follows the first fast-forward, smaller ones in part.

        It is the sum of squares. One counts in full if the pace changes by half of the mean or more.
        """
        if self.parts is None or not self.skips:
            return 0.0
        apart, measured = self.parts.changes(self.skips[0].start), self._measurements(columns)
        intervals = measured.intervals[measured.counted(self.left_out)]
        slopes = measured.regression(intervals, self.left_out, 0).slopes
        if slopes is None:
            return float(len(apart))
        totals = measured.regression(intervals, self.left_out, 0).intervals.sum(axis=(0, 1))
        pace = float(totals[0] / max(totals[1], 1))
        return float((np.minimum(np.abs(apart @ slopes[:, 0]) / (_CHANGED * max(pace, 1e-300)), 1) ** 2).sum())

    def _passage_deviations(self, intervals: np.ndarray, columns: Columns, slopes: np.ndarray | None) -> np.ndarray:
        """Return float64 [rows, columns]: what of passages may be the cost of other workgroups, and no skip's.

        What skips cost is about the same after each. So a passage's excess over the intervals around it is doubted as
        far as it differs from the mean; half of it where there is one passage. No skip has a negative cost: if passages
        are cheaper than intervals, beyond chance, each interval may meet the same phase of a pace that swings. None of
        that or all of it is doubted for what was passed over. Where the launch ends before an interval can follow, the
        excess is doubted for that, too.

        Args:
            intervals: float64 [intervals, columns].
            columns: Their columns.
            slopes: Of the intervals' regression on covariates.
        """
        ends, excesses, alone = np.cumsum(self.counts), list[np.ndarray](), list[np.ndarray]()
        followed: list[int] = []  # instructions of the passages that intervals follow
        for k, passage in enumerate(self.passages):
            around = slice(ends[k] - self.counts[k], ends[k + 1])
            counted = intervals[around].sum(axis=0)
            if not counted[columns.work]:
                continue
            rates = counted / counted[columns.work]
            if slopes is not None and self.parts is not None:
                there = self.parts.covariates.of_passage(self.skips[k], self.passed[k].stop)
                rates = np.maximum(rates + (there - np.mean(self.seen[around], axis=0)) @ slopes, 0)
            excess = (passage - rates * passage[columns.work]) * columns.timed
            if self.counts[k + 1]:
                excesses.append(excess)
                followed.append(int(passage[columns.work]))
            else:  # the passage alone says what its place costs
                alone.append(excess * (self.works[k] / max(passage[columns.work], 1)))
        rows = np.array(excesses)
        if len(rows) > 1:
            mean = rows.mean(axis=0)
            rows = (rows - mean) * (len(rows) / (len(rows) - 1)) ** 0.5
            if mean[columns.cycles] < 0:
                chance = (rows**2).sum(axis=0) / len(rows) ** 2
                lasting = np.sign(mean) * np.sqrt(np.maximum(mean**2 - _SURE**2 * chance, 0))
                rows = np.array([*rows, _EITHER * lasting * (len(rows) * self.work / max(sum(followed), 1))])
        elif len(rows):
            rows = rows / 2
        return np.array([*rows, *alone]).reshape(-1, len(columns.timed))

    def _state_deviation(
        self, intervals: np.ndarray, before: int, columns: Columns, estimate: CountEstimate
    ) -> np.ndarray:
        """Return float64 [1, columns]: what the launch would cost otherwise if skips alone had changed its pace.

        After a skip workgroups may stand in another step for tens of waves. So intervals before the first one, moved to
        the same covariates, may say what a whole run takes everywhere after it; or other workgroups are there.

        Args:
            intervals: float64 [intervals, windows, columns] that count, moved to the same covariates.
            before: Number of them before the first skip.
            columns: Their columns.
            estimate: The estimate from all of them.
        """
        sums = np.array([part.sum(axis=(0, 1)) for part in (intervals[:before], intervals[before:])])
        if not sums[:, columns.work].all():
            return np.zeros((0, len(columns.timed)))
        rates, counts = sums / sums[:, columns.work : columns.work + 1], (before, len(intervals) - before)
        scale = len(intervals) / sums[:, columns.work].sum()
        chance = (estimate.noise.rows**2).sum(axis=0) * (scale**2 * plain_sum(1 / count for count in counts))
        apart = np.sqrt(np.maximum((rates[1] - rates[0]) ** 2 - _SURE**2 * chance, 0))
        work = self.length * (self.stratum.end - self.skips[0].start)
        return np.asarray([_EITHER * work * np.sign(rates[1] - rates[0]) * apart * columns.timed])

    def _between_deviation(
        self, measured: IntervalMeasurements, first: int, columns: Columns, slopes: np.ndarray | None
    ) -> np.ndarray:
        """Return float64 [rows, columns]: what an instruction costs beside the regression, between kinds of workgroups.

        Mixed intervals lie there, which were left out. As one kind follows the other in them, they may say nothing of
        workgroups that are between: none of their distance from the regression is doubted, or all of it.

        Args:
            measured: The intervals.
            first: Number of initial intervals that are left out.
            columns: Their columns.
            slopes: Of the regression on covariates.
        """
        counted = measured.counted(first)
        if slopes is None or measured.mixed is None:
            return np.zeros((0, len(columns.timed)))
        mixed = measured.mixed & ~counted & ~measured.unsettled & (np.arange(len(counted)) >= first)
        if not mixed.any():
            return np.zeros((0, len(columns.timed)))
        totals, seen = np.array(self.intervals).sum(axis=1), np.array(self.seen)
        rates = totals / np.maximum(totals[:, columns.work : columns.work + 1], 1)
        foretold = rates[counted].mean(axis=0) + (seen[mixed] - seen[counted].mean(axis=0)) @ slopes
        apart = (rates[mixed] - np.maximum(foretold, 0)).mean(axis=0)
        return np.asarray([_EITHER * apart * columns.timed])

    def _backlog(self, measured: IntervalMeasurements, first: int, columns: Columns, rates: np.ndarray) -> np.ndarray:
        """Return float64 [columns]: what an instruction costs more if intervals left a part of their work to later.

        Stores and atomics outlive their wavefronts. Where more are issued than L2 acknowledges, queues fill up for
        waves before anything waits for them. Served at the pace at which lines were, the work takes longer.

        Args:
            measured: The intervals.
            first: Number of initial intervals that are left out.
            columns: Their columns.
            rates: float64 [columns], counts an instruction of what was passed over, without that.
        """
        intervals = np.array(self.intervals)[measured.counted(first)]
        grown = intervals[..., columns.issued] - intervals[..., columns.finished]
        total, windows = grown.sum(axis=1), intervals.shape[1]
        lasting = np.sign(total) * np.sqrt(np.maximum(total**2 - _SURE**2 * windows * grown.var(axis=1, ddof=1), 0))
        late = lasting / np.maximum(intervals[..., columns.finished].sum(axis=1), 1)
        served = intervals * (1 + late[:, np.newaxis, np.newaxis] * columns.timed)
        moved = measured.regression(served, first, 0, columns.work).intervals
        return np.asarray((_rates(moved, measured.weights(first, 0), columns) - rates) * columns.timed)

    def estimate(self, columns: Columns, wavefronts: int) -> CountEstimate:
        """Estimate what was passed over, and what followed each skip until an interval began: no whole run has that.

        wavefronts: of a workgroup. Where the work is not known, what followed a skip counts as it was.
        """
        measured = self._measurements(columns)
        first = self.left_out = measured.first(0, self.spec)
        intervals, counted = np.array(self.intervals), measured.counted(first)
        moved = measured.regression(intervals[counted], first, 0, columns.work)
        unsettled = intervals[measured.unsettled].sum(axis=(0, 1))
        ended = [passage for passage, count in zip(self.passages, self.counts[1:], strict=False) if count]
        passages = (np.sum(ended, axis=0) + unsettled) * bool(self.work) if ended else 0 * unsettled
        replaced = int(passages[columns.work])
        estimated = estimate(
            moved.intervals,
            measured.weights(first, 0),
            measured.age(first),
            columns,
            self.skipped * wavefronts,
            self.spec,
            self.work + replaced,
            measured.interval_waves,
            self.waves,
            measured.strata(first),
            measured.changes(first, 0),
            measured.own_chance(plain_sum(measured.skips)) + moved.leverage,
            moved.coefficients,
        )
        # what does not grow with time is known of them
        grown = np.where(columns.timed, 1, self.work / max(self.work + replaced, 1)) if self.work else 1.0
        luck = measured.luck(self.spec)
        doubts = [Replicates(doubt.factor * luck, doubt.deviations * grown) for doubt in estimated.doubts]
        z = quantile(self.spec.confidence, MANY_DEGREES)
        between = self._between_deviation(measured, first, columns, moved.slopes)
        doubts.append(Replicates(z * z, between * estimated.added[columns.work]))
        rates = _rates(moved.intervals, measured.weights(first, 0), columns)
        late = self._backlog(measured, first, columns, rates) * estimated.added[columns.work]
        doubts.append(Replicates(z * z, _EITHER / 2 * late[np.newaxis]))  # between none of it, and all
        doubts.append(Replicates(z * z, self._passage_deviations(intervals.sum(axis=1), columns, moved.slopes)))
        before = measured.intervals_left(first)[0]
        doubts.append(Replicates(z * z, self._state_deviation(moved.intervals, before, columns, estimated)))
        if measured.in_step:
            since = estimated.added + intervals[self.counts[0] :].sum(axis=(0, 1))
            doubts.append(Replicates(z * z, (self.spec.step_bias * since * columns.timed)[np.newaxis]))
        added = estimated.added * grown + late / 2 - passages * columns.timed
        return replace(estimated, added=added, doubts=tuple(doubts))


def _rates(intervals: np.ndarray, weights: np.ndarray, columns: Columns) -> np.ndarray:
    """Return float64 [columns]: counts an instruction of weighted intervals, float64 [intervals, windows, columns]."""
    weighted = weights @ intervals.sum(axis=1)
    return np.asarray(weighted / max(float(weighted[columns.work]), 1))


def _pace(intervals: np.ndarray, columns: Columns) -> np.ndarray:
    """Return what decides on intervals: cycles, instructions, then what was waited for, [interval, window, column].

    That is wavefront-cycles by reason, and the cycles in which caches were full, on the same scale: queues fill up
    before a wavefront waits for it.
    """
    waits = intervals[..., list(columns.waits)]
    scale = float(waits.sum()) / max(float(intervals[..., columns.units].sum()), 1)
    full = intervals[..., list(columns.full)] * scale
    return np.concatenate([intervals[..., [columns.cycles, columns.work]], waits, full], axis=-1)
