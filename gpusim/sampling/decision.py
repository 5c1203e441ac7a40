"""When there are windows enough: whether they have settled, and how many more the wanted error takes."""

from dataclasses import dataclass

import numpy as np

from gpusim.sampling.batches import batched
from gpusim.sampling.looks import Columns
from gpusim.sampling.spec import SamplingSpec
from gpusim.sampling.steady import settled
from gpusim.sampling.student import MANY_DEGREES, quantile

MEMORY_TOLERANCE = 0.01  # within which L2's hit rate and DRAM's lines an instruction must have settled


@dataclass(frozen=True)
class Stops:
    """Where to measure between jumps: at `count` places, `laps` laps each. kept: windows that have settled, the last
    ones of those so far."""

    count: int
    laps: int
    kept: int


@dataclass(frozen=True)
class Left:
    """What jumps could pass over.

    share: of the grid; rounds: of workgroups; lap_rounds: rounds that a lap takes; least:
    stops without which windows are no witness of the whole grid.
    """

    share: float
    rounds: float
    lap_rounds: float
    least: int = 0

    def stop_rounds(self, laps: int) -> float:
        """Rounds that a stop of so many laps takes: one more, for the workgroups from before the jump."""
        return 1 + laps * self.lap_rounds


def decide(windows: np.ndarray, columns: Columns, spec: SamplingSpec, left: Left) -> Stops | None:
    """What remains to be measured, None: these windows have not settled, or no stops would be enough.

    windows: so far, whole laps.
    """
    laps = len(windows) // spec.lap_windows
    for kept in sorted({laps, -(-laps // 2)}, reverse=True):
        last = windows[-kept * spec.lap_windows :]
        series = [
            (columns.rates(last), spec.error / 2),
            (columns.l2_hit_rates(last), MEMORY_TOLERANCE),
            (columns.dram_rates(last), MEMORY_TOLERANCE),
        ]
        if not settled(series, spec.confidence):
            continue
        more = -(-(_needed(columns.rates(last), spec, left.share) - len(last)) // spec.lap_windows)
        affordable = max(int(spec.share * left.rounds / left.stop_rounds(1)), left.least)
        count = min(max(affordable, min(more, 4)), spec.most_stops)
        each = max(1, -(-more // count)) if count else 1
        if count * left.stop_rounds(each) <= left.rounds / 2:
            return Stops(count, each, len(last))
    return None


def _needed(rates: np.ndarray, spec: SamplingSpec, skippable: float) -> int:
    """Windows for which the half-width of the launch's cycles is what is wanted, if they go on like these."""
    found = batched(rates, spec)
    means = np.array([rates[part].mean() for part in found.ranges(len(rates))])
    spread = float(means.std(ddof=1) * np.sqrt(found.inflation)) / max(float(means.mean()), 1e-300)
    t, z = quantile(spec.confidence, found.count - 1), quantile(spec.confidence, MANY_DEGREES)
    wanted = max(spec.error**2 - (z * spec.bias * skippable) ** 2, (spec.error / 4) ** 2)
    return int(np.ceil((t * spread * skippable) ** 2 / wanted * found.size))
