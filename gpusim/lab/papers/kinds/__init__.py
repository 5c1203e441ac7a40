"""Kinds of figures: what each shows as tables and picture, and the values that its claims are judged by."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gpusim.base.picture import Picture
from gpusim.base.table import Table
from gpusim.lab.papers.kept import ReproductionResults
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
from gpusim.lab.papers.values import FigureValue


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure."""

    tables: Callable[[Reproduction, Any, ReproductionResults], Iterator[Table]]
    """Yields the tables of a figure."""
    picture: Callable[[Reproduction, Any, ReproductionResults], Picture | None] | None = None
    """Returns the chart of a figure; None where nothing is known."""
    values: Callable[[Reproduction, Any, ReproductionResults], Iterator[FigureValue]] | None = None
    """Yields the values for the claims about a figure."""


_KINDS = {
    "compared": FigureKind(compared.tables, compared.picture, compared.values),
    "breakdown": FigureKind(breakdown.tables, breakdown.picture, breakdown.values),
    "break_even": FigureKind(break_even.tables, break_even.picture, break_even.values),
    "map": FigureKind(design_map.tables, design_map.picture, design_map.values),
    "ablation": FigureKind(ablation.tables, ablation.picture, ablation.values),
    "curves": FigureKind(curves.tables, curves.picture, curves.values),
    "learning": FigureKind(learning.tables, learning.picture, learning.values),
    "monitor": FigureKind(monitor.tables, monitor.picture, monitor.values),
    "overheads": FigureKind(overheads.tables, values=overheads.values),
    "closed_loop": FigureKind(closed_loop.tables, closed_loop.picture, closed_loop.values),
    "libraries": FigureKind(libraries.tables, values=libraries.values),
    "training": FigureKind(training.tables, training.picture, training.values),
    "area": FigureKind(area.tables, values=area.values),
    "layers": FigureKind(layers.tables, layers.picture, layers.values),
    "layer_stack": FigureKind(layers.stack_tables, layers.stack_picture, layers.values),
    "layer_ratios": FigureKind(layer_ratios.tables, layer_ratios.picture, layer_ratios.values),
    "launches": FigureKind(launches.tables, values=launches.values),
    "grids": FigureKind(grids.tables, values=grids.values),
    "stages": FigureKind(stages.tables, stages.picture, stages.values),
    "scaling": FigureKind(scaling.tables, scaling.picture, scaling.values),
    "flow_stages": FigureKind(flow_stages.tables, flow_stages.picture, flow_stages.values),
    "layer_memory": FigureKind(layer_memory.tables, layer_memory.picture, layer_memory.values),
}


def get_figure_kind(figure: Figure) -> FigureKind:
    """Return the functions that show a figure."""
    return _KINDS[figure.kind]  # type: ignore[attr-defined]
