"""Sparsity of activation maps over a training, as it was recorded."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.table import Column, Table
from gpusim.lab.monitor.curves import find_curves
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.pictures import lines
from gpusim.lab.papers.specs.figure import CurvesFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import OURS, FigureValue

LATE = 0.5  # of a training: from there on its curves are called stable


def _maps(figure: CurvesFigure) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name of each map shown, its sparsity, and that of the later half."""
    held = find_curves(figure.curves)
    for name in figure.maps or held.maps:
        line = held.sparsity[:, held.maps.index(name)]
        yield name, line, line[held.iterations >= LATE * held.iterations[-1]]


def tables(reproduction: Reproduction, figure: CurvesFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of each map's first and last sparsity, and its range in the later half."""
    columns = [Column("map"), Column("first", percent), Column("last", percent), Column("moves later by", percent)]
    rows = [[name, float(line[0]), float(line[-1]), float(np.ptp(late))] for name, line, late in _maps(figure)]
    yield Table(columns, rows)


def values(reproduction: Reproduction, figure: CurvesFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield the last sparsity of each map, and its range in the later half."""
    for name, line, late in _maps(figure):
        yield FigureValue("sparsity", OURS, {"map": name}, float(line[-1]))
        yield FigureValue("later_spread", OURS, {"map": name}, float(np.ptp(late)))


def picture(reproduction: Reproduction, figure: CurvesFigure, results: ReproductionResults) -> Picture:
    """Draw a line for each map."""
    places = find_curves(figure.curves).iterations.tolist()
    shown = {name: (places, (100 * line).tolist()) for name, line, _ in _maps(figure)}
    return lines(figure.title, ("iteration", "sparsity in %"), shown)
