"""Whether what was measured is enough, and what is to follow it: another lap here, one elsewhere, or none."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.base.student import quantile
from gpusim.base.sums import plain_sum
from gpusim.model.sampling.estimate import LEAST_FOR_DRIFT, Ratios, ratios
from gpusim.model.sampling.grid import RemainingGrid, block_weights, count_laps_left
from gpusim.model.sampling.looks import Columns
from gpusim.model.sampling.spec import SamplingSpec

LEAST_SKIPPED = 0.2  # of a grid: below, a jump is not worth its error
_PACE = Columns.of_pace()
MOST_MOVING = 0.01  # of all waits: what one reason for them may still grow or shrink by
_STOP_FROM_LAPS = 8  # in what is left: from here on one lap at least is measured elsewhere in the grid
_MOST_TRIED = 16
_LEAST_LAPS = 16  # where they are no larger a part of the grid than the next: a few may resemble one another by chance
_LEAST_SHARE = 0.05
MOST_BEFORE_JUMP = 32  # laps: what has not settled until then, or differs too much, would be estimated from elsewhere


@dataclass(frozen=True)
class IntervalMeasurements:
    """Measurements up to now."""

    laps: np.ndarray
    """float64 [intervals, windows, columns]: cycles, instructions and waits of the detailed intervals."""
    counts: Sequence[int]
    """Number of detailed intervals in each block between fast-forwards."""
    jumps: Sequence[int]
    """Workgroups that each fast-forward skips, one after each block but the last."""
    lap_rounds: float
    """Waves of workgroups in a detailed interval."""

    def weights(self, first: int, last_jump: float) -> np.ndarray:
        """Return the weight of each lap except the `first` ones if `last_jump` follows them; their sum is 1."""
        return block_weights([*self.jumps, last_jump], count_laps_left(self.counts, first))

    def ratios(self, first: int, last_jump: float, spec: SamplingSpec) -> Ratios:
        """Return cycles per instruction in the laps except the `first` ones, if `last_jump` follows them."""
        columns = Columns.of_pace(self.laps.shape[-1] - 2)
        return ratios(
            self.laps[first:], self.weights(first, last_jump), self.age(first), columns, spec, self.lap_rounds
        )

    def age(self, first: int, more: int = 0) -> float:
        """Return how many rounds had passed at the middle of the laps from `first` on, with `more` to follow."""
        return 1 + self.lap_rounds * (first + (len(self.laps) - first + more) / 2)

    def first(self, last_jump: float, spec: SamplingSpec) -> int:
        """Choose how many laps to leave out at the beginning, as not settled: the number with the smallest error.

        It is at most half of them: with more candidates, the best is more likely so by chance. What is left is enough
        to see a drift.
        """
        count = len(self.laps)
        most = max(0, min(count // 2, count - LEAST_FOR_DRIFT))

        def error(first: int) -> float:
            found = self.ratios(first, last_jump, spec)
            return found.squares(found.doubts, _PACE.cycles)

        return min(range(0, most + 1, most // _MOST_TRIED + 1), key=error)


@dataclass(frozen=True)
class SamplingDecision:
    """The step after a detailed interval."""

    jump: int
    """Workgroups to skip now."""
    enough: bool
    """No detailed interval follows."""


def following(measured: IntervalMeasurements, spec: SamplingSpec, left: RemainingGrid) -> SamplingDecision:
    """Decide what follows the laps measured so far: a jump over workgroups, another lap here, or no more laps."""
    share = (left.skippable + plain_sum(measured.jumps)) / left.total
    if not share:
        return SamplingDecision(0, False)
    first = measured.first(left.skippable, spec)
    estimated = measured.ratios(first, left.skippable, spec)
    wanted = (spec.error / share) ** 2
    if len(measured.laps) > 1 and estimated.moving > MOST_MOVING:
        return SamplingDecision(0, False)
    elsewhere = measured.jumps or left.skippable < _STOP_FROM_LAPS * left.lap
    if len(measured.laps) < LEAST_FOR_DRIFT and left.total >= _STOP_FROM_LAPS * left.lap:
        return SamplingDecision(0, False)
    few = min(_LEAST_LAPS, int(left.total / left.lap * _LEAST_SHARE)) - len(measured.laps)
    if elsewhere and few <= 0 and estimated.squares(estimated.doubts, _PACE.cycles) <= wanted:
        return SamplingDecision(left.jump(0), True)
    if len(measured.laps) < LEAST_FOR_DRIFT or estimated.squares((estimated.drift,), _PACE.cycles) > wanted / 2:
        return SamplingDecision(0, False)
    needed = _more(_RatioForecast(measured, first, estimated, spec), left, wanted)
    more = max(needed, few) if needed else 0
    worth = measured.jumps or left.skippable - more * left.lap >= LEAST_SKIPPED * left.total
    return SamplingDecision(left.jump(more) if more and worth else 0, False)


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
        """Return the predicted squared relative half-width with `more` laps to come.

        Between them are jumps over `part` workgroups each, with one of half as many at the end; the laps are taken to
        be like those so far. anew: leave all laps so far out.
        """
        measured, estimated, spec = self.measured, self.found, self.spec
        first = len(measured.laps) if anew else self.first
        counts = [*count_laps_left(measured.counts, first), *[1] * more]
        weights = block_weights([*measured.jumps, *[part] * more, part / 2], counts)
        noise = estimated.noise
        t = quantile(spec.confidence, noise.degrees + more - (first - self.first))
        passed = measured.age(first, more) - measured.age(self.first)
        return float(
            t * t * noise.inflation * estimated.lap_variance(_PACE.cycles) * (weights**2).sum()
            + estimated.squares((estimated.settling,), _PACE.cycles) * 0.25 ** (passed / spec.settling_rounds)
            + estimated.squares((estimated.jump,), _PACE.cycles)
        )


def _more(outlook: _RatioForecast, left: RemainingGrid, wanted: float) -> int:
    """Return how many laps are still needed, each at another place; 0: more than the grid has room for."""

    def enough(more: int) -> bool:
        part = max(left.skippable - more * left.lap, 0) / (more + 0.5)
        return min(outlook.square(more, part, anew) for anew in (False, True)) <= wanted

    most = left.skippable // left.lap
    more = 1
    while more <= most and not enough(more):
        more *= 2
    if more > most:
        return 0
    return next(k for k in range(more // 2 + 1, more + 1) if k == more or enough(k))
