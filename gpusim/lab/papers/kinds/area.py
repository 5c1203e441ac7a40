"""Section 6.6.3: the engine's hardware cost, of the publication's list and of what engines have beside it."""

from collections.abc import Iterator
from math import fsum
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.table import Column, Table, amount
from gpusim.config.run import RunConfig, load_run
from gpusim.config.tree import assignments
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.specs.figure import AreaFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import OURS, FigureValue
from gpusim.model.energy.area import AreaRow, added_um2, engine_area

BASE = "layerA"  # any run: its engine is what is looked at


def _parts(name: str, sets: dict[str, Any]) -> list[AreaRow]:
    try:
        config: RunConfig = load_run(BASE, assignments(sets))
    except UserError as error:
        raise UserError(*(f"engines.{name}: {problem}" for problem in error.problems)) from None
    return engine_area(config.engine, config.energy)


def tables(reproduction: Reproduction, figure: AreaFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table with a row for each part of each engine, and their sums."""
    columns = [Column("engine"), Column("part"), Column("what"), Column("count", amount), Column("µm²", amount)]
    columns += [Column("listed by"), Column("where")]
    rows: list[list[object]] = []
    for name, sets in figure.engines.items():
        parts = _parts(name, sets)
        for part in parts:
            listed, where = "Dong 2020" if part.in_source else "ours", "beside L2" if part.extra else "in L2"
            rows.append([name, part.where, part.what, round(part.count), round(part.um2), listed, where])
        for title, alone in (("the list", True), ("all", False)):
            rows.append([name, title, "beside L2", None, round(added_um2(parts, alone)), None, "beside L2"])
    yield Table(columns, rows)


def values(reproduction: Reproduction, figure: AreaFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield the bytes of storage and the µm² that each engine has beside L2, whoever lists them."""
    for name, sets in figure.engines.items():
        parts = _parts(name, sets)
        yield FigureValue("area_beside_l2", OURS, {"engine": name}, added_um2(parts))
        beside = [part.count for part in parts if part.extra and "bytes" in part.what]
        yield FigureValue("storage_beside_l2", OURS, {"engine": name}, fsum(beside))
