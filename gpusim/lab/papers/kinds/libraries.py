"""Vendor libraries' dense and sparse products, and what converting takes, on a real GPU."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpusim.base.progress import percent
from gpusim.base.table import Column, Table
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.specs.figure import LibrariesFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import OURS, FigureValue, times


def _rows(figure: LibrariesFigure) -> Iterator[tuple[float, str, float, float, float]]:
    """Yield share of zeros, converter, and microseconds of dense product, sparse product and conversion."""
    for one in json.loads(Path(figure.measured).read_text())["times"]:
        for converter, converting in one["conversion_us"].items():
            yield one["zeros"], converter, one["dense_us"], one["sparse_us"], converting


def tables(reproduction: Reproduction, figure: LibrariesFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table with a row for each level of zeros and each way of converting."""
    measured = json.loads(Path(figure.measured).read_text())
    microseconds = "{:,.0f}".format
    columns = [Column("zeros", percent), Column("converted by"), Column("dense, us", microseconds)]
    columns += [Column("sparse, us", microseconds), Column("conversion, us", microseconds)]
    columns += [Column("conversion's share", percent), Column("speed-up, product alone", times)]
    columns += [Column("speed-up, with conversion", times)]
    rows: list[list[Any]] = []
    for zeros, converter, dense, sparse, converting in _rows(figure):
        whole = sparse + converting
        rows.append([zeros, converter, dense, sparse, converting, converting / whole, dense / sparse, dense / whole])
    m, n, k = measured["shape"]
    versions = ", ".join(f"{name} {version}" for name, version in measured["versions"].items())
    yield Table(columns, rows, title=f"{m} × {n:,} × {k}, FP32, {measured['device']}, {versions}:")


def values(reproduction: Reproduction, figure: LibrariesFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield the conversion's share of the sparse way's time, and its speed-up over the dense product."""
    for zeros, converter, dense, sparse, converting in _rows(figure):
        labels = {"data": f"{zeros:.0%} zeros", "converter": converter}
        yield FigureValue("conversion_share", OURS, labels, converting / (sparse + converting))
        yield FigureValue("speedup", OURS, labels, dense / (sparse + converting))
