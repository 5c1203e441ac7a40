"""Microbenchmarks in a store: what they are asked for, and their figures and curves as metrics."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.core.gpu_spec import GpuSpec
from gpusim.microbench.result import Curve, Figure, Results
from gpusim.microbench.table import document
from gpusim.store.outcome import Measured, Outcome, Value
from gpusim.store.work import Work

PREFIX = "microbench."  # of metrics' names: some groups are called as units that a run counts for


def work_of_microbench(gpu: GpuSpec, names: Sequence[str]) -> Work:
    """Return the work that `gpusim microbench` does for a GPU and these groups."""
    configuration = {"gpu": gpu.model_dump(mode="json"), "only": list(names)}
    return Work("microbench", ", ".join(names), configuration, (), gpu.name)


def of_measurements(results: Results, gpu: GpuSpec) -> Outcome:
    """Return the outcome of a measurement. A curve is a JSON list of its points."""
    values = [Value(f"{PREFIX}{figure.name}", figure.unit, figure.what, figure.value) for figure in results.figures]
    values += [
        Value(f"{PREFIX}{c.group}.{c.name}", "", f"{c.y}, over {c.x}: points", [list(p) for p in c.points])
        for c in results.curves
    ]
    return Outcome({"document": document(results, gpu)}, "done", 0, [Measured(values)])


def measured_again(content: Mapping[str, Any]) -> Results:
    """Return the figures and curves of a stored outcome's content."""
    held = content["document"]
    figures = [Figure(**{name: one[name] for name in Figure.__dataclass_fields__}) for one in held["figures"]]
    curves = [Curve(**{**one, "points": tuple(map(tuple, one["points"]))}) for one in held["curves"]]
    return Results(figures, curves)
