"""What is measured of networks' layers: the rows that a figure shows, their measures, and what the counters say."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from gpusim.base.errors import UserError, nearest
from gpusim.base.progress import percent
from gpusim.base.sums import plain_sum
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.kept_network import ALL, WORK, NetworkRowRecord, get_direction
from gpusim.lab.papers.network_points import NetworkPoint, measured_figures, network_points
from gpusim.lab.papers.specs.layer_figure import LayersFigure, MeasureSpec
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import FigureValue, times
from gpusim.results import metrics
from gpusim.results.metrics.formula import parse_formula
from gpusim.study.compare.rules import nearest_roofline

_SUFFIXES = {"backward_data": "_d", "backward_weights": "_w", "backward_bias": "_bias", "update": "_u"}
_BOUNDS = {"valu": "vector ALUs", "salu": "scalar ALU", "lds": "LDS", "l1": "L1", "l2": "L2", "dram": "DRAM"}


@dataclass(frozen=True)
class LayerRow:
    """A row of a figure: some passes of a layer in one point."""

    point: NetworkPoint
    row: NetworkRowRecord

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


@dataclass(frozen=True)
class LayerMeasurement:
    """A value of a row."""

    of: LayerRow
    """Row."""
    value: float
    """Value."""
    half_width: float = 0.0
    """Half-width of its confidence interval; 0: not sampled."""


def list_layer_rows(figure: LayersFigure, point: NetworkPoint, results: ReproductionResults) -> list[LayerRow]:
    """List the rows of a point in a figure, none where its run is not known."""
    kept = results.networks.get(point.key)
    if kept is None:
        return []
    some = {row.layer for row in kept.rows} & set(figure.layers)
    found = []
    for row in kept.rows:
        direction = ALL if row.part == ALL else get_direction(row.part) if row.by == "pass" else row.part
        shown = (
            row.by == figure.by
            and (direction in figure.of or direction == ALL)
            and (not some or row.layer in some)
            and (not figure.kinds or row.kind in figure.kinds)
        )
        if shown:
            found.append(LayerRow(point, row))
    return found


def all_rows(reproduction: Reproduction, figure: LayersFigure, results: ReproductionResults) -> list[LayerRow]:
    """List the rows of all known points of a figure."""
    return [row for point in network_points(reproduction, figure) for row in list_layer_rows(figure, point, results)]


def measure_rows(figure: LayersFigure, name: str, rows: Sequence[LayerRow]) -> list[LayerMeasurement]:
    """Measure rows, of which those are left out to which the measure does not apply."""
    spec = figure.measures[name]
    found = [one for row in rows if (one := _measured(spec, row)) is not None]
    if not (spec.share or spec.of_largest):
        return found
    wholes: dict[Any, float] = {}
    parts = [one for one in found if figure.by != "network" or one.of.row.part != ALL]  # what all comes to is no part
    for one in parts:
        group = _group(spec, one.of)
        wholes[group] = (
            max(wholes.get(group, 0.0), one.value) if spec.of_largest else wholes.get(group, 0.0) + one.value
        )
    return [_part(one, wholes[_group(spec, one.of)]) for one in found if wholes[_group(spec, one.of)]]


def _group(spec: MeasureSpec, row: LayerRow) -> tuple[str, ...]:
    """Return the rows' group that they are related to: a point's, or a network's on a GPU."""
    point = row.point
    return (point.network, point.gpu, point.way) if spec.of_largest else (point.key,)


def _part(one: LayerMeasurement, whole: float) -> LayerMeasurement:
    return LayerMeasurement(one.of, one.value / whole, one.half_width / whole)


def _measured(spec: MeasureSpec, row: LayerRow) -> LayerMeasurement | None:
    """Measure a row; None where a metric does not apply, or the divisor is 0.

    Half-widths of a sum add up, as its metrics may move together; that of a quotient is taken as if they did not.
    """
    sums = []
    for paths in parse_formula(spec.of):
        numbers = [row.row.number(path) for path in paths]
        if any(number is None for number in numbers):
            return None
        widths = plain_sum(row.row.half_widths.get(path, 0.0) for path in paths)
        sums.append((float(plain_sum(n for n in numbers if n is not None)), float(widths)))
    (value, width), *rest = sums
    if not rest:
        return LayerMeasurement(row, spec.factor * value, spec.factor * width)
    (below, width_below) = rest[0]
    if not below:
        return None
    relative = ((width / value) ** 2 + (width_below / below) ** 2) ** 0.5 if value else width_below / below
    return LayerMeasurement(row, spec.factor * value / below, spec.factor * abs(value / below) * relative)


def layer_values(
    reproduction: Reproduction, figure: LayersFigure, results: ReproductionResults
) -> Iterator[FigureValue]:
    """Yield each measure of each row, as claims are judged by them."""
    rows = all_rows(reproduction, figure, results)
    for name in figure.measures:
        for one in measure_rows(figure, name, rows):
            reasons = (describe_bounds(one.of),)
            yield FigureValue(
                name, one.of.point.gpu, one.of.labels, one.value, None, reasons, half_width=one.half_width
            )


def describe_bounds(row: LayerRow) -> str:
    """Put into words what bounds a row, and where its wavefronts wait."""
    said = []
    bound = nearest_roofline(row.row.metrics)
    if bound is not None:
        said.append(f"{_BOUNDS.get(bound[0], bound[0])} busy for {percent(bound[1])}")
    stalls = {p.partition(".")[2]: v for p, v in row.row.metrics.items() if p.startswith("stalls.")}
    whole = plain_sum(stalls.values())
    waits = {name: cycles for name, cycles in stalls.items() if name != "issued"}
    if whole and waits:
        most = max(waits, key=lambda name: waits[name])
        said.append(f"{most.replace('_', ' ')} {percent(waits[most] / whole)} of the wavefronts' cycles")
    return f"{row.name}: {', '.join(said)}"


def format_measure(spec: MeasureSpec, value: float) -> str:
    """Return a measure's value as text."""
    if spec.shown == "percent" or spec.share or spec.of_largest:
        return percent(value)
    if spec.shown == "times":
        return times(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.4g}"


def title_of(figure: LayersFigure, name: str) -> str:
    """Return a measure's title."""
    return figure.measures[name].title or name


def series_of(points: Sequence[NetworkPoint]) -> dict[str, str]:
    """Return a short name of each point by its key: what all points of a figure have in common is left out."""
    varied = [label for label in ("network", "gpu", "batch", "way") if len({p.labels[label] for p in points}) > 1]
    written = {"batch": "batch {}"}
    return {
        p.key: " ".join(written.get(label, "{}").format(p.labels[label]) for label in varied) or p.gpu for p in points
    }


def group_by_network(rows: Sequence[LayerRow]) -> Iterator[tuple[str, list[LayerRow]]]:
    """Yield the rows of each network, in order."""
    for network, held in groupby(rows, key=lambda row: row.point.network):
        yield network, list(held)


def metric_paths(reproduction: Reproduction) -> list[str]:
    """List the metrics that a publication's figures of layers read; raise UserError for one that is not there."""
    found: dict[str, None] = {}
    for name, figure in measured_figures(reproduction):
        for measure, spec in figure.measures.items():
            paths = [path for paths in parse_formula(spec.of) for path in paths]
            if not paths or any(not part for part in parse_formula(spec.of)):
                raise UserError(f"{name}: measures.{measure}.of: '{spec.of}' names no metric, such as l2.hit_rate")
            for path in paths:
                _check(name, measure, path)
                if not path.startswith("work."):
                    found[path] = None
    return list(found)


def _check(figure: str, measure: str, path: str) -> None:
    known = [one.path for one in metrics.METRICS if not one.of_run] + [f"work.{name}" for name in WORK]
    if path not in known:
        guess = nearest(path, known)
        raise UserError(
            f"{figure}: measures.{measure}.of: unknown metric '{path}'"
            + (f"; did you mean '{guess}'?" if guess else "")
        )
