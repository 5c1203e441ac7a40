"""A comparison as text, as the documentation's page, and as one JSON object."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from gpusim.base.errors import UserError
from gpusim.config.measured import MeasuredTable, Point
from gpusim.correlation.compare import Compared, Summary, groups
from gpusim.correlation.fit import Fitted, Tried
from gpusim.correlation.predict import Prediction

SCHEMA_VERSION = 2  # of 1, simulated_share was that of both runs of an extrapolated product together
POINT_HEAD = ("product", "GFLOP", "measured us", "model us", "of it launch us", "first launch us", "ratio", "bound")
GROUP_HEAD = ("points", "number", "geometric mean", "spread", "mean error", "least", "most", "rank correlation")
FIT_HEAD = ("value", "mean error", "launch us", "the value found is better in")


def percent(share: float) -> str:
    """0.123 → '12.3 %'."""
    return f"{100 * share:.1f} %"


def point_rows(rows: Sequence[Compared]) -> list[tuple[str, ...]]:
    """A row of POINT_HEAD for each point, in the table's order."""
    out: list[tuple[str, ...]] = []
    for row in rows:
        p = row.prediction
        first = "" if p.first_us is None else f"{p.first_us + row.launch_us:.1f}"
        bound = f"{p.bound} {100 * p.utilization:.0f} %" + (", extrapolated" if p.extrapolated else "")
        times = (f"{p.point.time_us:.1f}", f"{row.modelled_us:.1f}", f"{row.launch_us:.1f}", first)
        out.append((p.point.label, f"{p.point.gflop:.3g}", *times, f"{row.ratio:.2f}", bound))
    return out


def group_rows(summaries: Mapping[str, Summary]) -> list[tuple[str, ...]]:
    """A row of GROUP_HEAD for each group."""
    out: list[tuple[str, ...]] = []
    for name, s in summaries.items():
        rank = "" if s.rank_correlation is None else f"{s.rank_correlation:.3f}"
        spread = (f"{s.geometric_mean:.2f}", f"{s.spread:.2f}", percent(s.mean_absolute_error))
        out.append((name, str(s.count), *spread, f"{s.least:.2f}", f"{s.most:.2f}", rank))
    return out


def fit_rows(fitted: Fitted) -> list[tuple[str, ...]]:
    """A row of FIT_HEAD for each value that was tried, with the others as they were found."""
    out: list[tuple[str, ...]] = []
    for tried in fitted.tried:
        better = "found" if tried.better is None else f"{100 * tried.better:.0f} % of resamples"
        better += ", excluded" if tried.excluded else ""
        shown = str(tried.value).lower() if isinstance(tried.value, bool) else str(tried.value)
        out.append((f"{tried.path} = {shown}", percent(tried.error), f"{tried.launch_us:.2f}", better))
    return out


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; numbers to the right."""
    marks = ["---"] + ["---:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, marks, *rows)) + "\n"


def text(table: MeasuredTable, rows: Sequence[Compared], fitted: Fitted | None) -> str:
    """Summaries first, then the points, of which there is at least one: for a terminal or a pipe."""
    parts = [_head(table, rows, fitted), _aligned(GROUP_HEAD, group_rows(groups(rows)))]
    if fitted is not None:
        parts.append(_aligned(FIT_HEAD, fit_rows(fitted)))
    parts.append(_aligned(POINT_HEAD, point_rows(rows)))
    return "\n".join(parts)


def markdown(table: MeasuredTable, rows: Sequence[Compared], fitted: Fitted | None) -> str:
    """The same as Markdown tables, to be put between a page's marks."""
    parts = [_head(table, rows, fitted), markdown_table(GROUP_HEAD, group_rows(groups(rows)))]
    if fitted is not None:
        parts.append(markdown_table(FIT_HEAD, fit_rows(fitted)))
    parts.append(markdown_table(POINT_HEAD, point_rows(rows)))
    return "\n".join(parts)


def _head(table: MeasuredTable, rows: Sequence[Compared], fitted: Fitted | None) -> str:
    clock = table.gpu.clock_ghz if table.clock_ghz is None else table.clock_ghz
    if fitted is not None:
        clock = fitted.values.get("clock_ghz", clock)
    launch = rows[0].launch_us
    found = (
        ""
        if fitted is None
        else " (fitted to {} points: {:.1f} to {:.1f})".format(fitted.points, *fitted.launch_interval_us)
    )
    return (
        f"{table.title}: {len(rows)} points on {table.gpu.name} at {clock:g} GHz, {launch:.2f} us{found} a measurement "
        "beside its kernels\n"
    )


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[at]) for line in (head, *rows)) for at in range(len(head))]
    lines = []
    for line in (head, *rows):
        cells = [
            cell.ljust(w) if at == 0 else cell.rjust(w) for at, (cell, w) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


class Restored(NamedTuple):
    """What a JSON object holds. partial: whether its run was interrupted."""

    rows: list[Compared]
    fitted: Fitted | None
    partial: bool


def restored(document: Mapping[str, Any]) -> Restored:
    """The rows, the fit and the state of a JSON object that `document` has made; raises UserError for another one."""
    try:
        version = document["schema_version"]
        if version != SCHEMA_VERSION:
            raise UserError(f"schema_version {version}: only {SCHEMA_VERSION} can be read; run the points again")
        rows = [_restored_row(point) for point in document["points"]]
        held = document.get("fit")
        return Restored(rows, None if held is None else _restored_fit(held), document["partial"])
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"not a result of gpusim correlate --json: {error}") from None


def _restored_fit(held: Mapping[str, Any]) -> Fitted:
    low, high = held["launch_interval_us"]
    tried = tuple(Tried(**one) for one in held["tried"])
    return Fitted(held["values"], held["launch_us"], (low, high), held["mean_absolute_error"], tried, held["points"])


def _restored_row(held: Mapping[str, Any]) -> Compared:
    point = Point(held["transposes"], held["m"], held["n"], held["k"], held["measured_us"], held["kernel"])
    prediction = Prediction(
        point,
        held["kernels_us"],
        held["kernels_first_us"],
        held["launches"],
        held["workgroups"],
        held["bound"],
        held["bound_utilization"],
        held["simulated_share"],
    )
    return Compared(prediction, held["launch_us"])


def document(table: MeasuredTable, rows: Sequence[Compared], fitted: Fitted | None, partial: bool) -> dict[str, Any]:
    """The JSON object: times in microseconds, ratios of modelled to measured time."""
    points = []
    for row in rows:
        p = row.prediction
        points.append(
            {
                "transposes": p.point.transposes,
                **{name: getattr(p.point, name) for name in ("m", "n", "k", "kernel")},
                "measured_us": p.point.time_us,
                "modelled_us": row.modelled_us,
                "launch_us": row.launch_us,
                "kernels_us": p.time_us,
                "kernels_first_us": p.first_us,
                "ratio": row.ratio,
                "launches": p.launches,
                "workgroups": p.workgroups,
                "bound": p.bound,
                "bound_utilization": p.utilization,
                "simulated_share": p.simulated,
            }
        )
    out: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "partial": partial,
        "table": {"title": table.title, "card": table.card, "source": table.source},
        "gpu": table.gpu.model_dump(mode="json"),
        "clock_ghz": table.clock_ghz,
        "groups": {name: asdict(s) for name, s in groups(rows).items()},
        "points": points,
    }
    if fitted is not None:
        out["fit"] = {
            "values": fitted.values,
            "launch_us": fitted.launch_us,
            "launch_interval_us": list(fitted.launch_interval_us),
            "mean_absolute_error": fitted.error,
            "points": fitted.points,
            "tried": [asdict(tried) for tried in fitted.tried],
        }
    return out
