"""Kinds of figures: what each shows as tables and picture, and the values that its claims are judged by."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gpusim.base.picture import Picture
from gpusim.base.table import Table
from gpusim.lab.papers.kept import Results
from gpusim.lab.papers.kinds import (
    ablation,
    area,
    break_even,
    breakdown,
    closed_loop,
    compared,
    curves,
    design_map,
    flow_stages,
    grids,
    launches,
    layer_memory,
    layer_ratios,
    layers,
    learning,
    libraries,
    monitor,
    overheads,
    scaling,
    stages,
    training,
)
from gpusim.lab.papers.specs.figure import Figure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import Value


@dataclass(frozen=True)
class Kind:
    """A kind of figure. picture: None where nothing is known; values: for claims."""

    tables: Callable[[Reproduction, Any, Results], Iterator[Table]]
    picture: Callable[[Reproduction, Any, Results], Picture | None] | None = None
    values: Callable[[Reproduction, Any, Results], Iterator[Value]] | None = None


_KINDS = {
    "compared": Kind(compared.tables, compared.picture, compared.values),
    "breakdown": Kind(breakdown.tables, breakdown.picture, breakdown.values),
    "break_even": Kind(break_even.tables, break_even.picture, break_even.values),
    "map": Kind(design_map.tables, design_map.picture, design_map.values),
    "ablation": Kind(ablation.tables, ablation.picture, ablation.values),
    "curves": Kind(curves.tables, curves.picture, curves.values),
    "learning": Kind(learning.tables, learning.picture, learning.values),
    "monitor": Kind(monitor.tables, monitor.picture, monitor.values),
    "overheads": Kind(overheads.tables, values=overheads.values),
    "closed_loop": Kind(closed_loop.tables, closed_loop.picture, closed_loop.values),
    "libraries": Kind(libraries.tables, values=libraries.values),
    "training": Kind(training.tables, training.picture, training.values),
    "area": Kind(area.tables, values=area.values),
    "layers": Kind(layers.tables, layers.picture, layers.values),
    "layer_stack": Kind(layers.stack_tables, layers.stack_picture, layers.values),
    "layer_ratios": Kind(layer_ratios.tables, layer_ratios.picture, layer_ratios.values),
    "launches": Kind(launches.tables, values=launches.values),
    "grids": Kind(grids.tables, values=grids.values),
    "stages": Kind(stages.tables, stages.picture, stages.values),
    "scaling": Kind(scaling.tables, scaling.picture, scaling.values),
    "flow_stages": Kind(flow_stages.tables, flow_stages.picture, flow_stages.values),
    "layer_memory": Kind(layer_memory.tables, layer_memory.picture, layer_memory.values),
}


def kind_of(figure: Figure) -> Kind:
    """Return the functions that show a figure."""
    return _KINDS[figure.kind]  # type: ignore[attr-defined]
