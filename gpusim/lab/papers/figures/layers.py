"""Measures of networks' layers: bars of each measure, or one bar with the measures as its parts."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal, Self

from pydantic import model_validator

from gpusim.base.errors import UserError, nearest
from gpusim.base.formats import PERCENT, TIMES
from gpusim.base.picture import Picture
from gpusim.base.spec import Spec, param
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table, columns
from gpusim.lab.papers.figures.kinds import FigureContent, figure_kind
from gpusim.lab.papers.formats import number
from gpusim.lab.papers.long_table import FigureValue, RatioParts, matches
from gpusim.lab.papers.network_points import NetworkFigure, NetworkPoint
from gpusim.lab.papers.pictures import BarPanel, bars, stacked
from gpusim.lab.papers.publication import Publication, Reproduction
from gpusim.lab.papers.records import ALL, WORK, NetworkRowRecord, get_direction
from gpusim.lab.papers.rules import Labels
from gpusim.results import metrics
from gpusim.results.metrics.formula import parse_formula
from gpusim.study.compare.rules import nearest_roofline

PassDirection = Literal["forward", "backward", "update"]
HALF_WIDTH = "±"
_SUFFIXES = {"backward_data": "_d", "backward_weights": "_w", "backward_bias": "_bias", "update": "_u"}
_BOUNDS = {"valu": "vector ALUs", "salu": "scalar ALU", "lds": "LDS", "l1": "L1", "l2": "L2", "dram": "DRAM"}


@dataclass(frozen=True)
class LayerRow:
    """A row of a figure: some passes of a layer in one point."""

    point: NetworkPoint
    """The run."""
    row: NetworkRowRecord
    """Recorded passes of the layer."""

    @property
    def name(self) -> str:
        """The row's name as the source writes it: conv2, conv2_d (gradient of data), conv2_w (of weights)."""
        if self.row.by == "network":
            return self.row.part
        if self.row.by != "pass":
            return self.row.layer if self.row.part in (ALL, "forward") else f"{self.row.layer} {self.row.part}"
        if get_direction(self.row.part) == "forward":
            return self.row.layer
        return self.row.layer + _SUFFIXES.get(self.row.part, "_b")

    @property
    def labels(self) -> dict[str, str]:
        """The labels for claims."""
        return {**self.point.labels, "layer": self.row.layer, "kind": self.row.kind, "part": self.row.part}

    def explain(self) -> tuple[str, ...]:
        """Return what bounds the row, as the reasons of its values."""
        return (self.describe_bounds(),)

    def describe_bounds(self) -> str:
        """Put into words what bounds the row, and where its wavefronts wait."""
        parts = []
        bound = nearest_roofline(self.row.metrics)
        if bound is not None:
            parts.append(f"{_BOUNDS.get(bound[0], bound[0])} busy for {PERCENT(bound[1])}")
        stalls = {p.partition(".")[2]: v for p, v in self.row.metrics.items() if p.startswith("stalls.")}
        whole = plain_sum(stalls.values())
        waits = {name: cycles for name, cycles in stalls.items() if name != "issued"}
        if whole and waits:
            most = max(waits, key=lambda name: waits[name])
            parts.append(f"{most.replace('_', ' ')} {PERCENT(waits[most] / whole)} of the wavefronts' cycles")
        return f"{self.name}: {', '.join(parts)}"


@dataclass(frozen=True)
class LayerMeasurement:
    """A value of a row."""

    of: LayerRow
    """Row."""
    value: float
    """Value."""
    half_width: float = 0.0
    """Half-width of its confidence interval; 0: not sampled."""
    ratio: RatioParts | None = None
    """What it is the quotient of; None: of nothing."""


class MeasureSpec(Spec):
    """What is measured of a layer: a metric, or the sum of some divided by the sum of others."""

    of: str = param(
        ..., "'a.b + a.c / d.e': metrics, or work.macs, .operations, .minimum_bytes, .images, .launches", "user"
    )
    title: str = param("", "for tables and axes; none: its name", "user")
    factor: float = param(1.0, "what it is multiplied by", "user", gt=0, le=1e15)
    uncertainty: float = param(0.0, "relative half-width of the factor, where it is not exact", "user", ge=0, lt=1)
    shown: Literal["number", "percent", "times"] = param("number", "how it is written; shares in percent", "user")
    share: bool = param(False, "of the sum over the figure's rows of the same point", "user")
    among: Labels = param({}, "with share: labels of those rows; none: all", "user")
    of_largest: bool = param(False, "of the largest row of all points of a network and GPU", "user")

    @model_validator(mode="after")
    def _is_share_of_one(self) -> Self:
        if self.share and self.of_largest:
            raise ValueError("a measure is a share of the sum or of the largest, not of both")
        if self.uncertainty and "/" in self.of:
            raise ValueError("uncertainty: belongs to a sum, which a factor makes a quantity of another unit")
        if self.among and not self.share:
            raise ValueError("among: belongs to share")
        return self

    def format_value(self, value: float) -> str:
        """Return a value as text."""
        if self.shown == "percent" or self.share or self.of_largest:
            return PERCENT(value)
        if self.shown == "times":
            return TIMES(value)
        return number(value)

    def measure(self, row: LayerRow) -> LayerMeasurement | None:
        """Measure a row; None where a metric does not apply, or the divisor is 0.

        Half-widths of a sum add up, as its metrics may move together; that of a quotient is taken as if they did not.
        """
        sums = []
        for paths in parse_formula(self.of):
            numbers = [row.row.number(path) for path in paths]
            if any(number is None for number in numbers):
                return None
            widths = plain_sum(row.row.half_widths.get(path, 0.0) for path in paths)
            sums.append((float(plain_sum(n for n in numbers if n is not None)), float(widths)))
        (value, width), *rest = sums
        if not rest:
            half_width = math.hypot(width, self.uncertainty * value) if self.uncertainty else width
            return LayerMeasurement(row, self.factor * value, self.factor * half_width)
        (below, width_below) = rest[0]
        if not below:
            return None
        relative = ((width / value) ** 2 + (width_below / below) ** 2) ** 0.5 if value else width_below / below
        parts = RatioParts(self.factor * value, below, self.factor * width, width_below)
        return LayerMeasurement(row, parts.above / below, abs(parts.above / below) * relative, parts)

    def group_of(self, row: LayerRow) -> tuple[str, ...]:
        """Return the name of the rows that a row is a share of: a point's, or a network's on a GPU."""
        point = row.point
        return (point.network, point.gpu, point.way) if self.of_largest else (point.key,)


class LayersFigure(NetworkFigure):
    """Base of figures that show measures of layers, of each pass or of several together."""

    by: Literal["pass", "direction", "layer", "kind", "network"] = param(
        "pass",
        "a row for each pass of a layer, its passes of a direction, all of them, layers of a kind, or all layers",
        "user",
    )
    of: tuple[PassDirection, ...] = param(("forward", "backward"), "directions that are shown", "user", min_length=1)
    layers: tuple[str, ...] = param((), "layers that are shown; none, or none that the network has: all", "user")
    kinds: tuple[str, ...] = param((), "kinds of layers that are shown; none: all", "user")
    measures: dict[str, MeasureSpec] = param(..., "what is measured, by name", "user", min_length=1)

    def rows(self, publication: Publication) -> list[LayerRow]:
        """List the rows of all known points."""
        rows_ = []
        for point, run in self.known_points(publication):
            some = {row.layer for row in run.rows} & set(self.layers)
            for row in run.rows:
                direction = ALL if row.part == ALL else get_direction(row.part) if row.by == "pass" else row.part
                if (
                    row.by == self.by
                    and (direction in self.of or direction == ALL)
                    and (not some or row.layer in some)
                    and (not self.kinds or row.kind in self.kinds)
                ):
                    rows_.append(LayerRow(point, row))
        return rows_

    def measure(self, name: str, rows: Sequence[LayerRow]) -> list[LayerMeasurement]:
        """Measure rows, of which those are left out to which the measure does not apply."""
        spec = self.measures[name]
        measured = [
            measurement
            for row in rows
            if matches(row.labels, spec.among) and (measurement := spec.measure(row)) is not None
        ]
        if not (spec.share or spec.of_largest):
            return measured
        sums: dict[Any, float] = {}
        for part in measured:
            if self.by != "network" or part.of.row.part != ALL:  # what all comes to is no part
                group = spec.group_of(part.of)
                before = sums.get(group, 0.0)
                sums[group] = max(before, part.value) if spec.of_largest else before + part.value
        related = [(part, sums[spec.group_of(part.of)]) for part in measured]
        return [LayerMeasurement(part.of, part.value / size, part.half_width / size) for part, size in related if size]

    def title_of(self, name: str) -> str:
        """Return a measure's title."""
        return self.measures[name].title or name

    def format_of(self, measure: str) -> Callable[[float], str]:
        """Return the format of a measure; the first one's for a claim about all of them."""
        return (self.measures.get(measure) or next(iter(self.measures.values()))).format_value

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield each measure of each row."""
        rows = self.rows(publication)
        for name in self.measures:
            for measurement in self.measure(name, rows):
                yield FigureValue(
                    measure=name,
                    comparison=measurement.of.point.gpu,
                    labels=measurement.of.labels,
                    value=measurement.value,
                    explain=measurement.of.explain,
                    half_width=measurement.half_width,
                    ratio=measurement.ratio,
                )


def name_points(points: Sequence[NetworkPoint]) -> dict[str, str]:
    """Return a short name of each point by its key: what all points of a figure have in common is left out."""
    varied = [label for label in ("network", "gpu", "batch", "way") if len({p.labels[label] for p in points}) > 1]
    written = {"batch": "batch {}"}
    return {
        p.key: " ".join(written.get(label, "{}").format(p.labels[label]) for label in varied) or p.gpu for p in points
    }


def group_by_network(rows: Sequence[LayerRow]) -> list[tuple[str, list[LayerRow]]]:
    """List the rows of each network, in order."""
    return [(network, list(some)) for network, some in groupby(rows, key=lambda row: row.point.network)]


class BarsFigure(LayersFigure):
    """Bars: a group for each layer, a bar for each point, a panel for each measure."""

    kind: Literal["layers"] = param("layers", "what is shown", "")

    def _panels(self, publication: Publication) -> Iterator[tuple[str, str, bool, BarPanel]]:
        """Yield network, measure, whether the figure has several networks, and the bars of each."""
        networks = group_by_network(self.rows(publication))
        several = len({network for network, _ in networks}) > 1
        for network, rows in networks:
            points = list(dict.fromkeys(row.point for row in rows))
            places, series = list(dict.fromkeys(row.name for row in rows)), name_points(points)
            for name in self.measures:
                found = {(one.of.point.key, one.of.name): one for one in self.measure(name, rows)}
                heights, widths = dict[str, list[float | None]](), dict[str, list[float]]()
                for point in points:
                    some = [found.get((point.key, place)) for place in places]
                    heights[series[point.key]] = [None if one is None else one.value for one in some]
                    widths[series[point.key]] = [0.0 if one is None else one.half_width for one in some]
                title = f"{network}: {self.title_of(name)}" if several else self.title_of(name)
                yield network, name, several, BarPanel(title, places, heights, widths)

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of each network and measure: a row for each layer, a column for each point."""
        for network, name, several, panel in self._panels(publication):
            heads, cells = columns("layer"), [list[Any](panel.groups)]
            for series, values in panel.values.items():
                heads += columns(series, write=self.measures[name].format_value)
                cells.append(list(values))
                widths = panel.half_widths[series]
                if any(widths):
                    heads += columns(f"{HALF_WIDTH} {series}", write=self.measures[name].format_value)
                    cells.append([None if v is None else w for v, w in zip(values, widths, strict=True)])
            parts = (network if several else "", name if len(self.measures) > 1 else "")
            file = "-".join(part for part in parts if part)
            yield Table(heads, list(zip(*cells, strict=True)), file, f"{network}, {self.title_of(name)}.")

    def picture(self, publication: Publication) -> Picture | None:
        """Draw a panel of bars for each network and measure."""
        panels = list(self._panels(publication))
        several = any(several for _, _, several, _ in panels)
        return bars(self.title, [panel for *_, panel in panels], sharex=not several) if panels else None


@figure_kind("layer_stack", LayersFigure)
def show_stack(figure: LayersFigure, publication: Publication) -> FigureContent:
    """Show stacked bars: a bar for each layer of each point, a part for each measure."""
    all_rows, measures = figure.rows(publication), figure.measures
    networks, several = group_by_network(all_rows), len({row.point.key for row in all_rows}) > 1
    titles = {name: figure.title_of(name) for name in measures}
    heads, tables, bars_ = columns("layer", "run"), [], dict[str, dict[str, float]]()
    for name, spec in measures.items():
        heads += columns(titles[name], write=spec.format_value)
    for network, rows in networks:
        series = name_points(list(dict.fromkeys(row.point for row in rows)))
        stacks: dict[tuple[str, str], dict[str, float]] = {(row.name, series[row.point.key]): {} for row in rows}
        for name in measures:
            for one in figure.measure(name, rows):
                stacks[one.of.name, series[one.of.point.key]][titles[name]] = one.value
        cells = [[place, run, *map(parts.get, titles.values())] for (place, run), parts in stacks.items()]
        tables.append(Table(heads, cells, network if len(networks) > 1 else "", f"{network}."))
        bars_ |= {f"{place} {run}" if several else place: parts for (place, run), parts in stacks.items()}
    is_share = all(spec.shown == "percent" or spec.share for spec in measures.values())
    picture = stacked(figure.title, "share" if is_share else figure.title, bars_) if bars_ else None
    return FigureContent(tables, values=LayersFigure.values(figure, publication), picture=picture)


def metric_paths(reproduction: Reproduction) -> list[str]:
    """List the metrics that a publication's figures of layers read; raise UserError for one that is not there."""
    known = [one.path for one in metrics.METRICS if not one.of_run] + [f"work.{name}" for name in WORK]
    listed: dict[str, None] = {}
    for name, figure in reproduction.figures.items():
        for measure, spec in figure.measures.items() if isinstance(figure, LayersFigure) else ():
            parts, where = parse_formula(spec.of), f"{name}: measures.{measure}.of"
            if not parts or not all(parts):
                raise UserError(f"{where}: '{spec.of}' names no metric, such as l2.hit_rate")
            for path in (path for paths in parts for path in paths):
                if path not in known:
                    guess = nearest(path, known)
                    hint = f"; did you mean '{guess}'?" if guess else ""
                    raise UserError(f"{where}: unknown metric '{path}'{hint}")
                if not path.startswith("work."):
                    listed[path] = None
    return list(listed)
