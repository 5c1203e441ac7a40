"""How far off estimates are: of launches and of whole iterations, by groups."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

BAND = (5.0, 95.0)  # percentiles of simulated over estimated cycles


@dataclass(frozen=True)
class Error:
    """Of |estimated / simulated - 1|: mean, median and worst, over `number` launches or iterations; low, high: the
    percentiles BAND of simulated / estimated.
    """

    number: int
    mean: float
    median: float
    worst: float
    low: float
    high: float

    @classmethod
    def over(cls, pairs: Sequence[tuple[float, float]]) -> "Error":
        """Compare pairs of estimated and simulated cycles; ValueError without any."""
        if not pairs:
            raise ValueError("nothing to compare")
        estimated, simulated = np.array(pairs).T
        off = np.abs(estimated / simulated - 1)
        low, high = np.percentile(simulated / estimated, BAND)
        return cls(len(pairs), *map(float, (off.mean(), np.median(off), off.max(), low, high)))


@dataclass(frozen=True)
class Errors:
    """Errors by leaving one network out: of launches, each class of them once, in all, by GPU, operator and network; of
    iterations, in all and by network.
    """

    launches: Error
    by_gpu: Mapping[str, Error]
    by_operator: Mapping[str, Error]
    by_network: Mapping[str, Error]
    iterations: Error
    iterations_by_network: Mapping[str, Error]

    @classmethod
    def of(cls, held: Mapping[str, Any]) -> "Errors":
        """Read them from plain data; raises KeyError or TypeError."""
        return cls(
            Error(**held["launches"]),
            _of_groups(held["by_gpu"]),
            _of_groups(held["by_operator"]),
            _of_groups(held["by_network"]),
            Error(**held["iterations"]),
            _of_groups(held["iterations_by_network"]),
        )


def _of_groups(held: Mapping[str, Any]) -> dict[str, Error]:
    return {group: Error(**row) for group, row in held.items()}


def grouped_errors(rows: Iterable[tuple[str, float, float]]) -> dict[str, Error]:
    """Return the error of each group. rows: group, estimated, simulated cycles."""
    found: dict[str, list[tuple[float, float]]] = {}
    for group, estimated, simulated in rows:
        found.setdefault(group, []).append((estimated, simulated))
    return {group: Error.over(pairs) for group, pairs in sorted(found.items())}
