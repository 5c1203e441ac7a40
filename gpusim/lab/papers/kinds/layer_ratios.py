"""By which factor a layer's measure in one point is that in another: GPU to GPU, batch to batch, pass to pass."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import hypot
from typing import Any

from gpusim.base.picture import Picture
from gpusim.base.table import Column, Table
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.layer_values import LayerMeasurement, LayerRow, all_rows, describe_bounds, measure_rows, title_of
from gpusim.lab.papers.network_points import list_gpus
from gpusim.lab.papers.pictures import BarPanel, bars
from gpusim.lab.papers.specs.layer_figure import RatiosFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import FigureValue, reasons_of, times


@dataclass(frozen=True)
class _Ratio:
    """A ratio of two rows' values of a measure."""

    measure: str
    """Name of the measure."""
    labels: Mapping[str, str]
    """Labels common to both rows."""
    pair: tuple[str, str]
    """Values of the label in which the rows differ."""
    above: LayerMeasurement
    """Numerator."""
    below: LayerMeasurement
    """Denominator."""

    @property
    def value(self) -> float:
        """The first's measure divided by the second's."""
        return self.above.value / self.below.value

    @property
    def half_width(self) -> float:
        """Of the ratio of two independent measurements."""
        parts = [one.half_width / one.value if one.value else 0.0 for one in (self.above, self.below)]
        return abs(self.value) * hypot(*parts)

    @property
    def name(self) -> str:
        """The row's name without what the pair tells apart."""
        row = self.below.of
        return row.row.layer or self.labels["network"] if "part" not in self.labels else row.name


def _pairs(reproduction: Reproduction, figure: RatiosFigure, rows: list[LayerRow]) -> list[tuple[str, str]]:
    """Return the pairs of labels that are compared, as texts."""
    if figure.label == "gpu":
        gpus, places = list_gpus(reproduction, figure), figure.pairs
        held = [(int(a), int(b)) for a, b in places] or [(1, n) for n in range(2, len(gpus) + 1)]
        return [(gpus[a - 1], gpus[b - 1]) for a, b in held if max(a, b) <= len(gpus)]
    if figure.pairs:
        return [(str(a), str(b)) for a, b in figure.pairs]
    there = list(dict.fromkeys(row.labels[figure.label] for row in rows))
    if figure.label == "batch":
        there = sorted(there, key=int, reverse=True)
        return [(there[0], other) for other in there[1:]]
    return [(other, there[0]) for other in there[1:]]


def _ratios(reproduction: Reproduction, figure: RatiosFigure, results: ReproductionResults) -> Iterator[_Ratio]:
    rows = all_rows(reproduction, figure, results)
    for measure in figure.measures:
        held: dict[tuple[tuple[str, str], ...], dict[str, LayerMeasurement]] = {}
        for one in measure_rows(figure, measure, rows):
            labels = dict(one.of.labels)
            of, _ = labels.pop(figure.label), labels.pop("kind")  # in another way a layer may be of another kind
            held.setdefault(tuple(labels.items()), {})[of] = one
        for rest, by_label in held.items():
            for first, second in _pairs(reproduction, figure, rows):
                if first in by_label and second in by_label and by_label[second].value:
                    above, below = by_label[first], by_label[second]
                    yield _Ratio(measure, {**dict(rest), "kind": above.of.row.kind}, (first, second), above, below)


def values(reproduction: Reproduction, figure: RatiosFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield each ratio, labelled by what is divided (`of`) by what (`over`); between GPUs it counts for the second."""
    for one in _ratios(reproduction, figure, results):
        labels = {**one.labels, "of": one.pair[0], "over": one.pair[1]}
        gpu = one.pair[1] if figure.label == "gpu" else labels["gpu"]
        if figure.label in ("gpu", "batch", "way"):
            reasons = tuple(reasons_of(one.above.of.row, one.below.of.row))
        else:
            reasons = (describe_bounds(one.above.of),)
        yield FigureValue(one.measure, gpu, labels, one.value, None, reasons, half_width=one.half_width)


def _titles(found: list[_Ratio]) -> dict[tuple[str, ...], str]:
    """Return a short name of each series: the pair, and of a point's labels those that vary."""
    labels = ("network", "batch", "gpu", "way")
    varied = [label for label in labels if len({one.labels.get(label) for one in found}) > 1]
    return {
        _series(one): " ".join([f"{one.pair[0]} / {one.pair[1]}", *(one.labels[label] for label in varied)])
        for one in found
    }


def _series(one: _Ratio) -> tuple[str, ...]:
    return (*one.pair, *(one.labels.get(label, "") for label in ("network", "batch", "gpu", "way")))


def tables(reproduction: Reproduction, figure: RatiosFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of each measure: a row for each layer, a column for each pair."""
    found = list(_ratios(reproduction, figure, results))
    titles = _titles(found)
    for measure in figure.measures:
        some = [one for one in found if one.measure == measure]
        by_place: dict[str, dict[tuple[str, ...], _Ratio]] = {}
        for one in some:
            by_place.setdefault(one.name, {})[_series(one)] = one
        columns = [Column("layer"), *(Column(title, times) for title in titles.values())]
        lines: list[list[Any]] = [
            [place, *(held[key].value if key in held else None for key in titles)] for place, held in by_place.items()
        ]
        if lines:
            yield Table(
                columns, lines, measure if len(figure.measures) > 1 else "", f"{title_of(figure, measure)}, ratio."
            )


def picture(reproduction: Reproduction, figure: RatiosFigure, results: ReproductionResults) -> Picture | None:
    """Draw a panel for each measure; None where nothing is known."""
    found = list(_ratios(reproduction, figure, results))
    titles = _titles(found)
    panels = []
    for measure in figure.measures:
        some = [one for one in found if one.measure == measure]
        places = list(dict.fromkeys(one.name for one in some))
        heights: dict[str, list[float | None]] = {title: [None] * len(places) for title in titles.values()}
        widths = {title: [0.0] * len(places) for title in titles.values()}
        for one in some:
            at = places.index(one.name)
            heights[titles[_series(one)]][at], widths[titles[_series(one)]][at] = one.value, one.half_width
        if places:
            panels.append(BarPanel(f"{title_of(figure, measure)}, ratio", places, heights, widths, 1.0))
    return bars(figure.title, panels, sharex=False) if panels else None
