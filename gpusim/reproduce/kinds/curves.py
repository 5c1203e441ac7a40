"""Sparsity of activation maps over a training, as it was recorded."""

from collections.abc import Iterator

import numpy as np

from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.table import Column, Table
from gpusim.config.figure import CurvesFigure
from gpusim.config.reproduction import Reproduction
from gpusim.reproduce.kept import Results
from gpusim.reproduce.pictures import lines
from gpusim.reproduce.values import OURS, Value
from workloads.monitor.curves import Curves, named_curves

LATE = 0.5  # of a training: from there on its curves are called stable


def _shown(figure: CurvesFigure) -> tuple[Curves, list[str]]:
    held = named_curves(figure.curves)
    return held, list(figure.maps or held.maps)


def tables(reproduction: Reproduction, figure: CurvesFigure, results: Results) -> Iterator[Table]:
    """Yield a table of each map's first and last sparsity, and its range in the later half."""
    held, maps = _shown(figure)
    columns = [Column("map"), Column("first", percent), Column("last", percent), Column("moves later by", percent)]
    rows = []
    for name in maps:
        line = held.sparsity[:, held.maps.index(name)]
        late = line[held.iterations >= LATE * held.iterations[-1]]
        rows.append([name, float(line[0]), float(line[-1]), float(late.max() - late.min())])
    yield Table(columns, rows)


def values(reproduction: Reproduction, figure: CurvesFigure, results: Results) -> Iterator[Value]:
    """Yield the last sparsity of each map, and its range in the later half."""
    held, maps = _shown(figure)
    for name in maps:
        line = held.sparsity[:, held.maps.index(name)]
        late = line[held.iterations >= LATE * held.iterations[-1]]
        yield Value("sparsity", OURS, {"map": name}, float(line[-1]))
        yield Value("later_spread", OURS, {"map": name}, float(np.ptp(late)))


def picture(reproduction: Reproduction, figure: CurvesFigure, results: Results) -> Picture:
    """Draw a line for each map."""
    held, maps = _shown(figure)
    places = held.iterations.tolist()
    shown = {name: (places, (100 * held.sparsity[:, held.maps.index(name)]).tolist()) for name in maps}
    return lines(figure.title, ("iteration", "sparsity in %"), shown)
