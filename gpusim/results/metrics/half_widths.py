"""How far off sampled metrics may be: every metric of a launch once more with its counts as they might have been."""

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

from gpusim.base.counters import Counts
from gpusim.core.facts import RunFacts

SUFFIX = "_half_width"
_EXACT_GROUPS = ("simulator",)


def half_widths(metrics: Mapping[str, Callable[[RunFacts], Any]], facts: RunFacts) -> dict[str, Any]:
    """Return the half-width by path of each number, or of each number of a list, from sampled facts; empty for others.

    metrics: functions of the facts, by path.
    """
    if facts.sampling is None:
        return {}
    points = _values(metrics, facts.sections)
    squares = {path: [0.0] * len(values) for path, values in points.items()}
    for factor, sections in facts.sampling.replicates(facts.sections):
        for path, values in _values(metrics, sections).items():
            held = squares.get(path, ())
            for k, (value, point) in enumerate(zip(values, points.get(path, ()), strict=False)):
                held[k] += factor * (value - point) ** 2  # type: ignore[index]
    lists = {path for path, value in metrics.items() if isinstance(value(facts), list)}
    return {p: [sqrt(s) for s in many] if p in lists else sqrt(many[0]) for p, many in squares.items()}


def _values(metrics: Mapping[str, Callable[[RunFacts], Any]], sections: dict[str, Counts]) -> dict[str, list[float]]:
    """Return each metric's number, or its list's numbers; texts and unknown values are left out."""
    facts = RunFacts(sections)
    found: dict[str, list[float]] = {}
    for path, of in metrics.items():
        if path.partition(".")[0] in _EXACT_GROUPS:
            continue
        value = of(facts)
        if isinstance(value, list):
            found[path] = value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[path] = [value]
    return found
