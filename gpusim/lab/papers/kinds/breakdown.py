"""The time of a product by its launches: conversions beside the product itself."""

from collections.abc import Iterator

from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.sums import plain_sum
from gpusim.base.table import Column, Table
from gpusim.lab.papers.kept import PointRecord, ReproductionResults
from gpusim.lab.papers.pictures import stacked
from gpusim.lab.papers.specs.figure import BreakdownFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import (
    CaseRuns,
    FigureValue,
    Spreads,
    groups,
    measured,
    reasons_of,
    spreads,
    thousands,
    times,
)


def _conversion(figure: BreakdownFigure, path: str, way: PointRecord) -> int:
    """Return the cycles of the launches that convert."""
    kernels = figure.conversions.get(path, ())
    return plain_sum(cycles for name, cycles in way.launches if name.startswith(kernels))


def _product(figure: BreakdownFigure, path: str, way: PointRecord) -> int:
    return plain_sum(cycles for _, cycles in way.launches) - _conversion(figure, path, way)


def tables(reproduction: Reproduction, figure: BreakdownFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table with a row for each way."""
    columns = [Column("case"), Column("batch"), Column("data"), Column("way"), Column("conversion", thousands)]
    columns += [Column("product", thousands), Column("conversion's share", percent), Column("speed-up", times)]
    rows = []
    for group in groups(reproduction, figure, results):
        for path, way in group.ways.items():
            converting, product = _conversion(figure, path, way), _product(figure, path, way)
            share = converting / (converting + product)
            gain = measured(group, "speedup", path, figure.base)
            title = reproduction.spec.paths[path].title
            rows.append([group.case, group.batch, group.data, title, converting, product, share, gain])
    yield Table(columns, rows)


def values(reproduction: Reproduction, figure: BreakdownFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield each way's speed-up over the dense one, its conversion's share, and its gain over other conversions."""
    moved = spreads(reproduction, results)
    for group in groups(reproduction, figure, results):
        for path, way in group.ways.items():
            yield from _values(figure, group, path, way, moved)


def _values(
    figure: BreakdownFigure, group: CaseRuns, path: str, way: PointRecord, moved: Spreads
) -> Iterator[FigureValue]:
    labels = {**group.labels, "path": path}
    converting = _conversion(figure, path, way)
    gain = measured(group, "speedup", path, figure.base)
    for comparison in figure.judged.get(path, ()):
        if gain is not None and path != figure.base:
            reasons = tuple(reasons_of(group.ways[figure.base], way))
            width = gain * moved.of(group, "speedup", path, figure.base)
            yield FigureValue("speedup", comparison, labels, gain, reasons=reasons, half_width=width)
        if converting:
            share = converting / (converting + _product(figure, path, way))
            yield FigureValue("conversion_share", comparison, labels, share)
            for other, held in group.ways.items():
                if other != path and (theirs := _conversion(figure, other, held)):
                    yield FigureValue("conversion_gain", comparison, {**labels, "over": other}, theirs / converting)


def picture(reproduction: Reproduction, figure: BreakdownFigure, results: ReproductionResults) -> Picture | None:
    """Draw stacked bars: conversion and product of each way."""
    held: dict[str, dict[str, float]] = {}
    for group in groups(reproduction, figure, results):
        for path, way in group.ways.items():
            parts = {"conversion": _conversion(figure, path, way) / 1e3, "product": _product(figure, path, way) / 1e3}
            held[f"{reproduction.spec.paths[path].title}, {group.data}"] = parts
    return stacked(figure.title, "cycles, thousands", held) if held else None
