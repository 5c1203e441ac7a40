"""Table 6.6 of Dong 2020: what measuring sparsity costs a training, in every iteration and with the monitor.

The model: a measurement of all maps takes a share of an iteration, which is the exhaustive overhead; the monitor's is
that times the share of iterations that it measures.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from gpusim.config.monitor import MonitorSpec


@dataclass(frozen=True)
class Overheads:
    """A column of the published overhead table, as shares of the training time without measurements."""

    dataset: str
    """Name of the data set."""
    iterations: int
    """Iterations of the training, from the dissertation's text."""
    exhaustive: float
    """Overhead of a measurement in each iteration."""
    monitored: float
    """Overhead of the monitor."""

    @property
    def ratio(self) -> float:
        """Exhaustive overhead / monitored overhead."""
        return self.exhaustive / self.monitored

    @property
    def implied_share(self) -> float:
        """Share of iterations measured that the two overheads imply."""
        return self.monitored / self.exhaustive

    def implied_duration(self, settings: MonitorSpec | None = None) -> float:
        """Return a process's iterations that this share implies, if sparsity is stable and all processes complete."""
        return self.implied_share * self.iterations / expected_processes(self.iterations, settings)


TABLE_6_6: Mapping[str, Overheads] = {
    "VGGNet-11": Overheads("CIFAR-10", 50_000, 0.149, 0.003),
    "ResNet-10": Overheads("CIFAR-10", 50_000, 0.494, 0.006),
    "AlexNet": Overheads("ImageNet", 150_000, 0.214, 0.012),
    "VGGNet-16": Overheads("ImageNet", 150_000, 0.464, 0.057),
    "ResNet-18": Overheads("ImageNet", 150_000, 0.942, 0.009),
}
MEAN_RATIO = fmean(held.ratio for held in TABLE_6_6.values())  # 52.5 in its conclusions
MEAN_OVERHEAD = fmean(held.monitored for held in TABLE_6_6.values())  # 1.7 % there


def hibernates_after(settings: MonitorSpec | None = None) -> tuple[int, int]:
    """Return iteration and number of the process with which maps of stable sparsity go into hibernation."""
    s = settings or MonitorSpec()
    iteration, period, processes = s.first_iteration, s.initial_period, 1
    while period < s.hibernation_period:
        iteration, processes = iteration + period, processes + 1
        if processes > s.max_history_length:
            period = min(2 * period, s.hibernation_period)
    return iteration, processes


def expected_processes(iterations: int, settings: MonitorSpec | None = None) -> float:
    """Count the processes of a map of stable sparsity, the last by the part of its period that is within the training.

    Raise ValueError for a training that ends before hibernation.
    """
    s = settings or MonitorSpec()
    asleep, processes = hibernates_after(s)
    if iterations < asleep:
        raise ValueError(f"{iterations} iterations; hibernation begins after {asleep}")
    return processes + (iterations - asleep) / s.hibernation_period


def expected_share(iterations: int, settings: MonitorSpec | None = None) -> float:
    """Return the share of iterations measured, for a map of stable sparsity none of whose processes ends early.

    Args:
        iterations: Number of iterations.
        settings: Settings of the monitor; None: the default ones.
    """
    s = settings or MonitorSpec()
    return s.duration * expected_processes(iterations, s) / iterations


def monitored_overhead(cost: float, share_measured: float) -> float:
    """Return the overhead of a training whose measurements each take the share `cost` of an iteration.

    Args:
        cost: Share of an iteration that a measurement takes.
        share_measured: Share of iterations that are measured.
    """
    return cost * share_measured
