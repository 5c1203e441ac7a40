"""When there are windows enough: whether they have settled, and how many more the wanted error takes."""

from dataclasses import dataclass
from math import ceil

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
        stops = _cheapest(_needed(columns.rates(last), spec, left.share), len(last), spec, left)
        if stops is not None:
            return stops
    return None


def _cheapest(needed: float, kept: int, spec: SamplingSpec, left: Left) -> Stops | None:
    """The stops that take the fewest rounds of those by which the error is as wanted; None: half of what is left is too
    little for any.

    needed: windows for that if all count the same; kept: those that there are.
    """
    affordable = int(spec.share * left.rounds / left.stop_rounds(1))
    fewest = min(max(affordable, left.least), spec.most_stops)
    if fewest == 0 and kept >= needed:
        return Stops(0, 0, kept)
    possible: list[tuple[float, Stops]] = []
    for count in range(max(fewest, 1), spec.most_stops + 1):
        # Of count + 1 equal jumps the windows before the first count half a jump's, the last one's one and a half
        # (gpusim.sampling.grid.block_weights): (1/4 / kept + (count - 1 + 9/4) / measured) / (count + 1)^2 = 1 / needed
        left_over = (count + 1) ** 2 / max(needed, 1) - 0.25 / kept
        if left_over <= 0:
            continue
        laps = max(1, ceil((count + 1.25) / left_over / spec.lap_windows))
        rounds = count * left.stop_rounds(laps)
        if rounds <= left.rounds / 2:
            possible.append((rounds, Stops(count, laps, kept)))
    return min(possible, key=lambda one: one[0])[1] if possible else None


def _needed(rates: np.ndarray, spec: SamplingSpec, skippable: float) -> float:
    """Windows for which the half-width of the launch's cycles is what is wanted, if they go on like these."""
    found = batched(rates, spec)
    means = np.array([rates[part].mean() for part in found.ranges(len(rates))])
    spread = float(means.std(ddof=1) * np.sqrt(found.inflation)) / max(float(means.mean()), 1e-300)
    t, z = quantile(spec.confidence, found.count - 1), quantile(spec.confidence, MANY_DEGREES)
    wanted = max(spec.error**2 - (z * spec.bias * skippable) ** 2, (spec.error / 4) ** 2)
    return float((t * spread * skippable) ** 2 / wanted * found.size)
