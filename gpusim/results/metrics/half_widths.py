"""How far off sampled metrics may be: every metric of a launch once more with its counts as they might have been."""

from math import sqrt
from typing import Any

from gpusim.base.counters import Counts
from gpusim.core.facts import RunFacts
from gpusim.results.metrics.metric import Metric

SUFFIX = "_half_width"
_EXACT_GROUPS = ("simulator",)


def half_widths(metrics: tuple[Metric, ...], facts: RunFacts) -> dict[str, Any]:
    """Half-width by path of each number, or of each number of a list, that sampled facts give; empty if not sampled."""
    if facts.sampling is None:
        return {}
    points = _values(metrics, facts.sections)
    squares = {path: [0.0] * len(values) for path, values in points.items()}
    for factor, sections in facts.sampling.replicates(facts.sections):
        for path, values in _values(metrics, sections).items():
            held = squares.get(path, ())
            for k, (value, point) in enumerate(zip(values, points.get(path, ()), strict=False)):
                held[k] += factor * (value - point) ** 2  # type: ignore[index]
    lists = {m.path for m in metrics if isinstance(m.value(facts), list)}
    return {p: [sqrt(s) for s in many] if p in lists else sqrt(many[0]) for p, many in squares.items()}


def _values(metrics: tuple[Metric, ...], sections: dict[str, Counts]) -> dict[str, list[float]]:
    """Each metric's number, or its list's numbers; those that are text or unknown are left out."""
    facts = RunFacts(sections)
    found: dict[str, list[float]] = {}
    for metric in metrics:
        if metric.path.partition(".")[0] in _EXACT_GROUPS:
            continue
        value = metric.value(facts)
        if isinstance(value, list):
            found[metric.path] = value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[metric.path] = [value]
    return found
