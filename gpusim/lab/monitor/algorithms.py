"""Algorithms 1 and 2 of Dong 2020, section 6.2, and fast termination, as pure functions.

A *process* measures one map in each of `duration` consecutive iterations; what it found, the mean of its measurements,
is the *sparsity* that the algorithms take, once. Their printed form has slips; what is done instead:

- Algorithm 2 compares one `active_period` with hibernation's within a loop over all maps: each map's own is meant.
- Its line 24 updates the history once more after lines 15-17 have just appended to it, and after line 21 has cleared
  it: each process adds one entry. So the one that showed a jump is the first of the history that begins with it.
- Its line 14 is reached in the call in which line 11 enters hibernation, with the sparsity that Algorithm 1 has just
  put into the history: the hibernating branch is for processes that begin in hibernation.
- `active_period.reset(all)` names all maps, `history.clear()` does not: the one history at hand is cleared.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

MapHistory = tuple[float, ...]


class MonitorState(StrEnum):
    """State of the monitor as a whole (figure 6.4b)."""

    ACTIVE = "active"
    HIBERNATE = "hibernate"


class PeriodAdjustment(NamedTuple):
    """A map's period and history after Algorithm 1."""

    period: int
    """New period in iterations."""
    history: MapHistory
    """New history."""


class Stability(NamedTuple):
    """Result of Algorithm 2."""

    state: MonitorState
    """State of the monitor."""
    history: MapHistory
    """History of the map."""
    reset: bool
    """Every map has its first period again."""


def dpaa(
    sparsity: float, history: MapHistory, max_length: int, threshold: float, period: int, hibernation_period: int
) -> PeriodAdjustment:
    """Adjust a map's period (Algorithm 1, dynamic period adjustment) after its process that ended in the active state.

    A full history whose oldest entry differs by less than `threshold` doubles the period, up to hibernation's.
    """
    if len(history) == max_length:
        if abs(sparsity - history[0]) < threshold:
            period *= 2
        period = min(period, hibernation_period)
    return PeriodAdjustment(period, updated(history, sparsity, max_length))


def ssda(
    state: MonitorState,
    periods: Iterable[int],
    sparsity: float,
    history: MapHistory,
    max_length: int,
    threshold: float,
    hibernation_period: int,
) -> Stability:
    """Detect stable sparsity (Algorithm 2) after a process that ended.

    In the active state Algorithm 1 comes first, and has updated period and history.

    Args:
        state: The monitor's when the process ended.
        periods: Periods of all maps.
        sparsity: Zeros of the process's map.
        history: Results of the process's map.
    """
    if state is MonitorState.ACTIVE:
        ready = all(period == hibernation_period for period in periods)
        return Stability(MonitorState.HIBERNATE if ready else MonitorState.ACTIVE, history, False)
    if len(history) == max_length and abs(sparsity - history[0]) >= threshold:
        return Stability(MonitorState.ACTIVE, (sparsity,), True)
    return Stability(MonitorState.HIBERNATE, updated(history, sparsity, max_length), False)


def ends_process(measurements: Sequence[float], duration: int, threshold: float) -> bool:
    """Tell whether a process ends with its latest measurement: the last, or below `threshold` (fast termination)."""
    return len(measurements) >= duration or measurements[-1] < threshold


def updated(history: MapHistory, sparsity: float, max_length: int) -> MapHistory:
    """Return the history with the new entry, without the oldest one if it was full."""
    return (*history, sparsity)[-max_length:]
