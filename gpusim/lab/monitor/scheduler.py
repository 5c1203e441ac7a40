"""The monitor's scheduler and its sparsity list: which maps to measure in an iteration, what is believed of them."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gpusim.base.errors import UserError, unknown_name
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor.algorithms import MapHistory, MonitorState, dpaa, ends_process, ssda


class MonitorError(UserError):
    """A monitor was set up or used wrongly; the message says how."""


@dataclass(frozen=True)
class Process:
    """A monitoring process that has ended."""

    start: int
    """First iteration."""
    last: int
    """Last iteration."""
    measurements: int
    """Number of measurements."""
    sparsity: float
    """Mean sparsity of the measurements."""
    period: int
    """New period of the map, from this start to the next, in iterations."""
    state: MonitorState
    """State of the monitor afterwards."""


@dataclass(frozen=True)
class Transition:
    """The monitor's state changed in an iteration, by a process of a map."""

    iteration: int
    """Iteration of the change."""
    state: MonitorState
    """New state."""
    by: str
    """Map whose process caused it."""


@dataclass
class MonitoredMap:
    """A row of the sparsity list."""

    name: str
    """Name of the map."""
    period: int
    """Iterations from the start of one process to that of the next."""
    due: int
    """Iteration of the next measurement."""
    history: MapHistory = ()
    """Sparsities of the latest processes."""
    under_way: list[float] = field(default_factory=list)
    """Measurements of the current process; empty: no process is active."""
    start: int = 0
    """First iteration of the current process."""
    believed: float | None = None
    """Sparsity from the latest process; None: none has ended."""
    processes: list[Process] = field(default_factory=list)
    """Processes that have ended."""


class Scheduler:
    """Manages the monitored maps: `due` says which to measure in an iteration, `record` takes the measurements.

    Raises MonitorError if there is no map at all, and for names that are not unique.

    Attributes:
        state: State of the monitor.
        sparsity_list: The maps by name.
        transitions: Every change of the state.
    """

    def __init__(self, maps: Iterable[str], settings: MonitorSpec | None = None) -> None:
        self.settings = settings or MonitorSpec()
        names = list(maps)
        if not names:
            raise MonitorError("no map to monitor")
        for name in names:
            if names.count(name) > 1:
                raise MonitorError(f"two maps are named '{name}'")
        self.state = MonitorState.ACTIVE
        self.sparsity_list: Mapping[str, MonitoredMap] = {
            name: MonitoredMap(name, self.settings.initial_period, self.settings.first_iteration) for name in names
        }
        self.transitions: list[Transition] = []

    @property
    def next_iteration(self) -> int:
        """The next iteration with a measurement."""
        return min(row.due for row in self.sparsity_list.values())

    def due(self, iteration: int) -> tuple[str, ...]:
        """Return the maps to measure in an iteration; those that an iteration left out are still due."""
        return tuple(name for name, row in self.sparsity_list.items() if row.due <= iteration)

    def sparse(self, name: str) -> bool:
        """Tell whether the map's layer takes the sparse kernel; not before the map's first process has ended."""
        believed = self._row(name).believed
        return believed is not None and believed >= self.settings.sparse_threshold

    def record(self, iteration: int, name: str, sparsity: float) -> None:
        """Record the sparsity that was measured in an iteration in which the map was due. Raise MonitorError."""
        row = self._row(name)
        if not (math.isfinite(sparsity) and 0.0 <= sparsity <= 1.0):
            raise MonitorError(f"map '{name}', iteration {iteration}: sparsity {sparsity}; must be from 0 to 1")
        if row.due > iteration:
            raise MonitorError(f"map '{name}': measured in iteration {iteration}; due in {row.due}")
        if not row.under_way:
            row.start = iteration
        row.under_way.append(sparsity)
        row.due = iteration + 1
        if ends_process(row.under_way, self.settings.duration, self.settings.fast_termination_threshold):
            self._end_process(row, iteration)

    def _end_process(self, row: MonitoredMap, iteration: int) -> None:
        s = self.settings
        count, sparsity = len(row.under_way), math.fsum(row.under_way) / len(row.under_way)
        row.believed, row.under_way = sparsity, []
        before = self.state
        if before is MonitorState.ACTIVE:
            row.period, row.history = dpaa(
                sparsity, row.history, s.max_history_length, s.dpaa_threshold, row.period, s.hibernation_period
            )
        periods = [each.period for each in self.sparsity_list.values()]
        self.state, row.history, reset = ssda(
            before, periods, sparsity, row.history, s.max_history_length, s.ssda_threshold, s.hibernation_period
        )
        if reset:
            for each in self.sparsity_list.values():
                each.period = s.initial_period
                # as if each had had its process now; none waits longer than that
                each.due = min(each.due, row.start + s.initial_period)
        row.due = max(row.start + row.period, iteration + 1)  # iterations may have been left out
        row.processes.append(Process(row.start, iteration, count, sparsity, row.period, self.state))
        if self.state is not before:
            self.transitions.append(Transition(iteration, self.state, row.name))

    def _row(self, name: str) -> MonitoredMap:
        if name not in self.sparsity_list:
            raise MonitorError(unknown_name("map", name, self.sparsity_list))
        return self.sparsity_list[name]
