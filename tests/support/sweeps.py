"""Sweeps in a store, made by hand: points with the metrics that a test gives them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpusim.results.store.keeper import RunClock, StoreWriter
from gpusim.results.store.outcome import LaunchRow, MetricSet, MetricValue, RunOutcome, failed
from gpusim.results.store.work import RunDescription

TIME = "kernel.time_us"
Metrics = Mapping[str, float | tuple[float, float]]  # a tuple: value and half-width


def stored_sweep(
    store: Path,
    title: str,
    points: Sequence[tuple[Mapping[str, Any], Mapping[str, Metrics] | str]],
    sets: Mapping[str, Any] | None = None,
    configuration: Mapping[str, Any] | None = None,
    kernels: Sequence[str] = (),
) -> int:
    """A sweep whose points have these axes' values, and metrics by variant, or the error with which they failed.

    kernels: that the points chose for themselves, in their order.
    """
    axes: dict[str, list[Any]] = {}
    for values, _ in points:
        for path, value in values.items():
            axes.setdefault(path, []).append(value)
    specification = {"run": "layerB", "sets": dict(sets or {}), "axes": axes}
    with StoreWriter(store) as keeper:
        number = keeper.sweep(title, title, specification, len(points))
        keeper.choose(number, 0, [values for values, _ in points])
        for place, (values, metrics) in enumerate(points):
            held = nested({**(configuration or {}), **(sets or {}), **values})
            work = RunDescription("run", title, {**held, "of": title}, (), "MI6")
            outcome = failed(metrics) if isinstance(metrics, str) else _outcome(metrics, *kernels[place : place + 1])
            keeper.keep(work, outcome, RunClock(), number, [place])
    return number


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by path as a configuration has them."""
    made: dict[str, Any] = {}
    for path, value in values.items():
        *sections, name = path.split(".")
        held = made
        for section in sections:
            held = held.setdefault(section, {})
        held[name] = value
    return made


def _outcome(variants: Mapping[str, Metrics], kernel: str = "") -> RunOutcome:
    measured = [
        MetricSet([_value(path, value) for path, value in metrics.items()], variant)
        for variant, metrics in variants.items()
    ]
    if not kernel:
        return RunOutcome({"document": {}}, "done", 0, measured)
    choice = {"kernel": kernel, "cycles": {}, "at_least": {}, "estimated": {}, "zeros": None}
    content = {"records": [{"variant": v, "uses_engine": False, "choice": choice} for v in variants]}
    return RunOutcome(content, "done", 0, measured, [LaunchRow(variant, kernel, 0, 0) for variant in variants])


def _value(path: str, value: float | tuple[float, float]) -> MetricValue:
    number, width = value if isinstance(value, tuple) else (value, None)
    return MetricValue(path, "us" if path == TIME else "", "d", number, width)
