"""How far off estimates are: of launches and of whole iterations, by groups."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

BAND = (5.0, 95.0)  # percentiles of simulated over estimated cycles


@dataclass(frozen=True)
class ErrorSummary:
    """Distribution of the errors |estimated / simulated - 1| over launches or iterations."""

    number: int
    """Number of launches or iterations."""
    mean: float
    """Mean error."""
    median: float
    """Median error."""
    worst: float
    """Largest error."""
    low: float
    """Lower percentile (BAND) of simulated / estimated."""
    high: float
    """Upper percentile (BAND) of simulated / estimated."""

    @classmethod
    def over(cls, pairs: Sequence[tuple[float, float]]) -> "ErrorSummary":
        """Compare pairs of estimated and simulated cycles; ValueError without any."""
        if not pairs:
            raise ValueError("nothing to compare")
        estimated, simulated = np.array(pairs).T
        off = np.abs(estimated / simulated - 1)
        low, high = np.percentile(simulated / estimated, BAND)
        return cls(len(pairs), *map(float, (off.mean(), np.median(off), off.max(), low, high)))


@dataclass(frozen=True)
class ErrorBreakdown:
    """Errors by leaving one network out, of products by leaving a table out."""

    launches: ErrorSummary
    """Of launches, each class of them once."""
    by_gpu: Mapping[str, ErrorSummary]
    """The same by GPU."""
    by_operator: Mapping[str, ErrorSummary]
    """The same by operator."""
    by_network: Mapping[str, ErrorSummary]
    """The same by network."""
    iterations: ErrorSummary
    """Of iterations."""
    iterations_by_network: Mapping[str, ErrorSummary]
    """The same by network."""
    products: Mapping[str, ErrorSummary] = field(default_factory=dict)
    """Of matrix products' launches, in all ('all') and by table; empty: none was fitted."""


def grouped_errors(rows: Iterable[tuple[str, float, float]]) -> dict[str, ErrorSummary]:
    """Return the error of each group. rows: group, estimated, simulated cycles."""
    found: dict[str, list[tuple[float, float]]] = {}
    for group, estimated, simulated in rows:
        found.setdefault(group, []).append((estimated, simulated))
    return {group: ErrorSummary.over(pairs) for group, pairs in sorted(found.items())}
