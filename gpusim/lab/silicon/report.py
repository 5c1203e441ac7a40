"""A comparison as tables for a terminal, a pipe and the documentation's page, and as one JSON object."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple, TextIO

from gpusim.base.errors import UserError
from gpusim.base.progress import percent
from gpusim.base.table import Column, Table, TableCell
from gpusim.lab.silicon.compare import CorrelationPoint, NetworkTotal, RatioSummary, groups, totals
from gpusim.lab.silicon.fit import FitCandidate, ParameterFit
from gpusim.lab.silicon.measured import MeasuredPoint, MeasuredTable, ProductPoint
from gpusim.lab.silicon.measured_convolutions import ConvolutionPoint
from gpusim.lab.silicon.predict import EXTRAPOLATED, SAMPLED, WHOLE, Prediction
from gpusim.results import metrics

SCHEMA_VERSION = metrics.SCHEMA_VERSION
one_digit, two_digits = "{:.1f}".format, "{:.2f}".format


def point_table(rows: Sequence[CorrelationPoint]) -> Table:
    """Make a row for each point, in the table's order."""
    if any(isinstance(row.prediction.point, ConvolutionPoint) for row in rows):
        return convolution_table(rows)
    times = [
        Column("measured", one_digit, unit="us"),
        Column("model", one_digit, unit="us"),
        Column("±", unit="us", right=True),
    ]
    times += [Column("of it launch", one_digit, unit="us"), Column("first launch", one_digit, unit="us")]
    heads = [Column("product"), Column("GFLOP", "{:.3g}".format), *times, Column("ratio", two_digits)]
    heads += [Column("run"), Column("bound")]
    cells = []
    for row in rows:
        p = row.prediction
        bound = f"{p.bound} {100 * p.utilization:.0f} %"
        first = None if p.first_us is None else p.first_us + row.launch_us
        times_us = (p.point.time_us, row.modelled_us, _half_width(p), row.launch_us, first)
        cells.append((p.point.label, p.point.gflop, *times_us, row.ratio, _run(p), bound))
    return Table(heads, cells)


def convolution_table(rows: Sequence[CorrelationPoint]) -> Table:
    """Make a row for each convolution, in the table's order."""
    heads = [Column("convolution"), Column("networks"), Column("GFLOP", "{:.3g}".format), Column("solver")]
    heads += [Column("measured", one_digit, unit="us"), Column("from least to most", right=True)]
    heads += [Column("model", one_digit, unit="us"), Column("±", unit="us", right=True)]
    heads += [Column("of it im2col", one_digit, unit="us"), Column("ratio", two_digits), Column("by"), Column("run")]
    heads += [Column("bound")]
    cells = []
    for row in rows:
        p = row.prediction
        point = p.point
        assert isinstance(point, ConvolutionPoint)
        least, most = min(point.measured_us), max(point.measured_us)
        spread = f"{least:.1f}–{most:.1f}" if len(point.measured_us) > 1 else None
        bound = f"{p.bound} {100 * p.utilization:.0f} %"
        times = (point.time_us, spread, row.modelled_us, _half_width(p), p.im2col_us, row.ratio)
        by = p.by or _tile(point.kernel)
        cells.append((point.label, ", ".join(point.networks), point.gflop, point.solver, *times, by, _run(p), bound))
    return Table(heads, cells)


def _tile(kernel: str) -> str:
    """Return of a product's kernel the tile and how it splits K, as in 'MT64x64x16 GSU1'."""
    parts = kernel.split("_")
    return " ".join(part for part in parts if part.startswith("MT") or (part.startswith("GSU") and part[3:].isdigit()))


def total_table(sums: Sequence[NetworkTotal]) -> Table:
    """Make a row for the sum of a network's points of a pass."""
    heads = [Column("network"), Column("pass"), Column("points"), Column("measured", one_digit, unit="us")]
    heads += [Column("model", one_digit, unit="us"), Column("±", one_digit, unit="us"), Column("ratio", two_digits)]
    rows = [(s.network, s.what, s.points, s.measured_us, s.modelled_us, s.half_width_us, s.ratio) for s in sums]
    return Table(heads, rows)


def _half_width(p: Prediction) -> TableCell | None:
    """Return the half-width of a modelled time; nothing for a product that was run whole."""
    if p.how == EXTRAPOLATED:
        return TableCell(None, "unknown")
    return TableCell(p.half_width_us, one_digit(p.half_width_us)) if p.how == SAMPLED else None


def _run(p: Prediction) -> str:
    """Say how a point was run: whole, or what part of it."""
    return WHOLE if p.how == WHOLE else f"{p.how} from {percent(p.simulated)}"


def not_run_table(not_run: Sequence["SkippedPoint"]) -> Table:
    """Make a row for each point that was not run, and why."""
    return Table([Column("not run"), Column("why")], [(one.name, one.why) for one in not_run])


def group_table(summaries: Mapping[str, RatioSummary]) -> Table:
    """Make a row for each group."""
    heads = [Column("points"), Column("number"), Column("geometric mean", two_digits), Column("spread", two_digits)]
    heads += [Column("mean error", percent), Column("least", two_digits), Column("most", two_digits)]
    heads += [Column("rank correlation", "{:.3f}".format)]
    cells = [
        (name, s.count, s.geometric_mean, s.spread, s.mean_absolute_error, s.least, s.most, s.rank_correlation)
        for name, s in summaries.items()
    ]
    return Table(heads, cells)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):  # masks of address bits
        return f"[{', '.join(map(hex, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def fit_table(fitted: ParameterFit) -> Table:
    """Make a row for each value that was tried, with the others as they were found."""
    heads = [Column("value"), Column("mean error", percent), Column("launch", two_digits, unit="us")]
    heads += [Column("the value found is better in")]
    cells = []
    for tried in fitted.tried:
        better = "found" if tried.better is None else f"{100 * tried.better:.0f} % of resamples"
        better += ", excluded" if tried.excluded else ""
        shown = _shown(tried.value)
        cells.append((f"{tried.path} = {shown}", tried.error, tried.launch_us, better))
    return Table(heads, cells)


def tables(found: "SavedComparison") -> list[Table]:
    """Give the groups of points, of which there is at least one, what was fitted, the points, and those not run."""
    fitted = [fit_table(found.fitted)] if found.fitted is not None and found.fitted.tried else []
    not_run = [not_run_table(found.not_run)] if found.not_run else []
    sums = [total_table(held)] if (held := totals(found.rows)) else []
    return [group_table(groups(found.rows)), *sums, *fitted, point_table(found.rows), *not_run]


def show(table: MeasuredTable, found: "SavedComparison", out: TextIO) -> None:
    """Print what was compared, then the tables."""
    out.write(head(table, found.rows, found.fitted))
    for one in tables(found):
        print(file=out)
        one.show(out)


def markdown(table: MeasuredTable, found: "SavedComparison") -> str:
    """Write the same as Markdown tables, to be put between a page's marks."""
    return "\n".join([head(table, found.rows, found.fitted), *(one.markdown() for one in tables(found))])


def head(table: MeasuredTable, rows: Sequence[CorrelationPoint], fitted: ParameterFit | None) -> str:
    """Say what was compared, in a line, and in another one how much of it was not run whole."""
    clock = table.gpu.clock_ghz if table.clock_ghz is None else table.clock_ghz
    if fitted is not None:
        clock = fitted.values.get("clock_ghz", clock)
    compiled = {row.table_launch_us for row in rows if row.prediction.point.is_compiled}
    others = {row.table_launch_us for row in rows if not row.prediction.point.is_compiled} or compiled
    hip = f" (HIP kernels: {max(compiled):.2f})" if compiled and compiled != others else ""
    own = table.general
    general = own.clock_ghz if own.clock_ghz is not None or own.gpu is None else own.gpu.clock_ghz
    on = "" if own.gpu is None else f" {own.gpu.name} at"
    apart = "" if general is None or (general == clock and not on) else f" (general batches:{on} {general:g})"
    found = (
        ""
        if fitted is None
        else " (fitted to {} points: {:.1f} to {:.1f})".format(fitted.points, *fitted.launch_interval_us)
    )
    return (
        f"{table.title}: {len(rows)} points on {table.gpu.name} at {clock:g} GHz{apart}, "
        f"{max(others):.2f} us{found}{hip} a measurement beside its kernels\n{_in_part(rows)}"
    )


def _in_part(rows: Sequence[CorrelationPoint]) -> str:
    """Say in a line how many points were run whole and how many were not; nothing where all were."""
    number = Counter(row.prediction.how for row in rows)
    if number[WHOLE] == len(rows):
        return ""
    said = {
        "run whole": number[WHOLE],
        "sampled, each with its half-width (±)": number[SAMPLED],
        "extrapolated from two shorter products, as earlier versions did, how far off is not known": number[
            EXTRAPOLATED
        ],
    }
    return f"\nOf these {'; '.join(f'{what}: {count}' for what, count in said.items() if count)}.\n"


class SkippedPoint(NamedTuple):
    """A point that was not run."""

    name: str
    """Label of the point."""
    kernel: str
    """Name of its kernel."""
    why: str
    """Reason."""


class SavedComparison(NamedTuple):
    """A comparison that was read from a JSON object."""

    rows: list[CorrelationPoint]
    """Compared points."""
    fitted: ParameterFit | None
    """Fitted parameters; None: there was no fit."""
    partial: bool
    """Some points are missing."""
    stopped_by: str
    """Reason for the missing points; empty in earlier versions."""
    not_run: list[SkippedPoint]
    """Points that were not run."""


def restored(document: Mapping[str, Any]) -> SavedComparison:
    """Read the rows, the fit and the state of a JSON object of a comparison; raises UserError for another one."""
    try:
        version = document["schema_version"]
        if version != SCHEMA_VERSION:
            raise UserError(f"schema_version {version}: {SCHEMA_VERSION} can be read")
        points = [row["point"] for row in document.get("rows", ())]
        held = document.get("fit")
        fitted = None if held is None else _restored_fit(held)
        rows, stopped_by = [_restored_row(point) for point in points], document.get("stopped_by", "")
        not_run = [SkippedPoint(**one) for one in document.get("not_run", ())]
        return SavedComparison(rows, fitted, document["partial"], stopped_by, not_run)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"not a result of gpusim correlate --json: {error}") from None


def _restored_fit(held: Mapping[str, Any]) -> ParameterFit:
    low, high = held["launch_interval_us"]
    tried = tuple(FitCandidate(**one) for one in held["tried"])
    fixed = (held["values"], held["launch_us"], (low, high), held["mean_absolute_error"], tried, held["points"])
    return ParameterFit(*fixed, held.get("hip_launch_us"))


def _restored_row(held: Mapping[str, Any]) -> CorrelationPoint:
    point = _restored_point(held)
    launch_us = held["launch_us"]
    table_launch_us = held.get("table_launch_us", launch_us)  # earlier versions had one for all, and no batches
    own_launch_us = None if launch_us == table_launch_us else launch_us
    point = replace(point, own_launch_us=own_launch_us)
    simulated = held["simulated_share"]
    prediction = Prediction(
        point=point,
        time_us=held["kernels_us"],
        first_us=held["kernels_first_us"],
        launches=held["launches"],
        workgroups=held["workgroups"],
        bound=held["bound"],
        utilization=held["bound_utilization"],
        simulated=simulated,
        half_width_us=held["kernels_half_width_us"],
        im2col_us=held.get("im2col_us"),
        by=held.get("by", ""),
    )
    return CorrelationPoint(prediction, table_launch_us)


def _restored_point(held: Mapping[str, Any]) -> MeasuredPoint:
    if "direction" in held:
        return ConvolutionPoint.restored(held)
    transposes, m, n, k = (held[name] for name in ("transposes", "m", "n", "k"))
    return ProductPoint(
        transposes=transposes,
        m=m,
        n=n,
        k=k,
        time_us=held["measured_us"],
        kernel=held["kernel"],
        batch=held.get("batch", 1),
    )


def serialize_point(row: CorrelationPoint) -> dict[str, Any]:
    """Return a point as plain data: times in microseconds, the ratio of modelled to measured time."""
    p = row.prediction
    return {
        **_point_said(p),
        "measured_us": p.point.time_us,
        "modelled_us": row.modelled_us,
        "launch_us": row.launch_us,
        "table_launch_us": row.table_launch_us,
        "kernels_us": p.time_us,
        "kernels_half_width_us": p.half_width_us,
        "kernels_first_us": p.first_us,
        "ratio": row.ratio,
        "launches": p.launches,
        "workgroups": p.workgroups,
        "bound": p.bound,
        "bound_utilization": p.utilization,
        "run": p.how,
        "simulated_share": p.simulated,
    }


def _point_said(p: Prediction) -> dict[str, Any]:
    if isinstance(p.point, ConvolutionPoint):
        return {**p.point.said(), "im2col_us": p.im2col_us, "by": p.by}
    return {name: getattr(p.point, name) for name in ("transposes", "m", "n", "k", "batch", "kernel")}


def serialize_comparison(
    table: MeasuredTable, rows: Sequence[CorrelationPoint], fitted: ParameterFit | None, not_run: Sequence[SkippedPoint]
) -> dict[str, Any]:
    """Return what a comparison says of all its points, as plain data."""
    out: dict[str, Any] = {
        "table": {"title": table.title, "card": table.card, "source": table.source},
        "clock_ghz": table.clock_ghz,
        "groups": {name: asdict(s) for name, s in groups(rows).items()},
        **({"totals": [asdict(s) | {"ratio": s.ratio} for s in held]} if (held := totals(rows)) else {}),
        "not_run": [one._asdict() for one in not_run],
    }
    if fitted is not None:
        out["fit"] = {
            "values": fitted.values,
            "launch_us": fitted.launch_us,
            **({} if fitted.hip_launch_us is None else {"hip_launch_us": fitted.hip_launch_us}),
            "launch_interval_us": list(fitted.launch_interval_us),
            "mean_absolute_error": fitted.error,
            "points": fitted.points,
            "tried": [asdict(tried) for tried in fitted.tried],
        }
    return out


def document(table: MeasuredTable, found: SavedComparison) -> dict[str, Any]:
    """Return the JSON object of points that were read from a file, without their metrics."""
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "correlate",
        "partial": found.partial,
        **({"stopped_by": found.stopped_by} if found.stopped_by else {}),
        "config": {"gpu": table.gpu.model_dump(mode="json")},
        **serialize_comparison(table, found.rows, found.fitted, found.not_run),
        "rows": [{"name": row.prediction.point.label, "point": serialize_point(row)} for row in found.rows],
    }
