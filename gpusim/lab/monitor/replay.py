"""The monitor driven by curves: what it measures, how much of the training that is, how wrong its belief is between."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpusim.base.sums import plain_sum
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor.algorithms import MonitorState
from gpusim.lab.monitor.curves import Curves
from gpusim.lab.monitor.scheduler import Process, Scheduler, Transition


@dataclass(frozen=True)
class MapReplay:
    """The replay of one map.

    A value of a process applies from the iteration after the process's last.
    """

    name: str
    """Name of the map."""
    truth: np.ndarray
    """float64 [iterations]: true sparsity."""
    measured: np.ndarray
    """int64: iterations with a measurement."""
    processes: tuple[Process, ...]
    """Monitoring processes that ended."""
    believed: np.ndarray
    """float64 [iterations]: sparsity that the monitor assumes; NaN before the first process ends."""
    sparse_threshold: float
    """Assumed sparsity from which the layer uses the sparse kernel."""

    @property
    def share_measured(self) -> float:
        """Measurements / iterations of the training."""
        return len(self.measured) / len(self.truth)

    @property
    def errors(self) -> np.ndarray:
        """|believed - true| in the iterations with a belief."""
        known = ~np.isnan(self.believed)
        return np.asarray(np.abs(self.believed[known] - self.truth[known]))

    @property
    def mean_error(self) -> float | None:
        """Mean of `errors`; None without any belief."""
        return float(self.errors.mean()) if self.errors.size else None

    @property
    def max_error(self) -> float | None:
        """Largest of `errors`; None without any belief."""
        return float(self.errors.max()) if self.errors.size else None

    @property
    def share_sparse(self) -> float:
        """Iterations in which its layer takes the sparse kernel / iterations."""
        return float((self.believed >= self.sparse_threshold).mean())

    @property
    def share_misjudged(self) -> float:
        """Iterations in which the true sparsity would have decided otherwise / iterations."""
        return float(((self.believed >= self.sparse_threshold) != (self.truth >= self.sparse_threshold)).mean())

    def level_shares(self, edges: Sequence[float]) -> np.ndarray:
        """Return the share of iterations at each level of believed sparsity: R_ij of equation 6.1, float64 [levels],
        sum 1.

        edges: rising; level j is from edges[j] up to edges[j + 1], the last including its end. Iterations without a
        belief, whose layer is dense, count to the first level. Raise ValueError where a belief lies outside.
        """
        believed = np.where(np.isnan(self.believed), edges[0], self.believed)
        counts, _ = np.histogram(believed, np.asarray(edges))
        if counts.sum() != len(believed):
            raise ValueError(f"map '{self.name}': believed sparsities lie outside of {edges[0]} to {edges[-1]}")
        return counts / len(believed)


@dataclass(frozen=True)
class Replay:
    """The replay of a whole training."""

    name: str
    """Name of the training."""
    length: int
    """Number of iterations."""
    settings: MonitorSpec
    """Settings of the monitor."""
    maps: tuple[MapReplay, ...]
    """Replays of the maps."""
    transitions: tuple[Transition, ...]
    """Changes of the monitor's state."""
    state: MonitorState
    """State of the monitor at the end."""

    @property
    def share_measured(self) -> float:
        """Measurements of all maps / those of measuring each map in every iteration."""
        return plain_sum(held.share_measured for held in self.maps) / len(self.maps)


def replay(curves: Curves, settings: MonitorSpec | None = None) -> Replay:
    """Run the monitor over the curves' iterations.

    Args:
        curves: Zeros of each map by iteration.
        settings: Settings of the monitor; None: the default ones.
    """
    settings = settings or MonitorSpec()
    scheduler = Scheduler(curves.maps, settings)
    lines = {name: curves.line(name) for name in curves.maps}
    measured: dict[str, list[int]] = {name: [] for name in curves.maps}
    while (iteration := scheduler.next_iteration) < curves.length:
        for name in scheduler.due(iteration):
            measured[name].append(iteration)
            scheduler.record(iteration, name, float(lines[name][iteration]))
    maps = []
    for name, row in scheduler.sparsity_list.items():
        believed = _believed(row.processes, curves.length)
        iterations = np.array(measured[name], np.int64)
        maps.append(MapReplay(name, lines[name], iterations, tuple(row.processes), believed, settings.sparse_threshold))
    return Replay(curves.name, curves.length, settings, tuple(maps), tuple(scheduler.transitions), scheduler.state)


def _believed(processes: Sequence[Process], length: int) -> np.ndarray:
    believed = np.full(length, np.nan)
    for process in processes:
        believed[process.last + 1 :] = process.sparsity
    return believed
