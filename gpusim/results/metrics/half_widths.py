"""How far off sampled metrics may be: every metric of a launch once more with its counts as they might have been."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from gpusim.model.core.facts import RunFacts
from gpusim.model.energy.model import EnergyModel
from gpusim.results.metrics.metric import Metric, collect_formula_inputs

SUFFIX = "_half_width"


def half_widths(metrics: Sequence[Metric], facts: RunFacts, energy: EnergyModel | None) -> dict[str, Any]:
    """Return the half-width by path of each number, or of each number of a list, from sampled facts; empty for others.

    energy: of the machine's events, None: energies are not reported.
    """
    if facts.sampling is None:
        return {}
    known = collect_formula_inputs(facts, energy)
    points = _values(metrics, known)
    squares = {path: [0.0] * len(values) for path, values in points.items()}
    for factor, sections in facts.sampling.replicates(facts.sections):
        for path, values in _values(metrics, collect_formula_inputs(RunFacts(sections), energy)).items():
            held = squares.get(path, ())
            for k, (value, point) in enumerate(zip(values, points.get(path, ()), strict=False)):
                held[k] += factor * (value - point) ** 2  # type: ignore[index]
    lists = {metric.path for metric in metrics if isinstance(metric.value(known), list)}
    return {p: [sqrt(s) for s in many] if p in lists else sqrt(many[0]) for p, many in squares.items()}


def _values(metrics: Sequence[Metric], known: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return each metric's number, or its list's numbers; texts, unknown values and what is exact are left out."""
    values: dict[str, list[float]] = {}
    for metric in metrics:
        value = None if metric.path.startswith("simulator.") else metric.value(known)
        if isinstance(value, list):
            values[metric.path] = value
        elif isinstance(value, int | float) and not isinstance(value, bool):
            values[metric.path] = [value]
    return values
