"""Columns of comparisons with measured points, and the tables of one for a terminal, a pipe and a page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TextIO

from gpusim.base.formats import DIGITS_3, FIXED_1, FIXED_2, FIXED_3, GENERAL, PERCENT, PERCENT_0
from gpusim.base.table import Table, TableCell
from gpusim.base.view import View, column
from gpusim.lab.silicon.compare import CorrelationPoint, RatioSummary, groups, is_contradicted, totals
from gpusim.lab.silicon.fit import FitCandidate, ParameterFit
from gpusim.lab.silicon.measured import CONTRADICTION, MeasuredTable
from gpusim.lab.silicon.measured_convolutions import ConvolutionPoint
from gpusim.lab.silicon.prediction import EXTRAPOLATED, SAMPLED, WHOLE
from gpusim.lab.silicon.report import SavedComparison


def _half_width(row: CorrelationPoint) -> TableCell | None:
    """Return the half-width of a modelled time; nothing for a product that was run whole."""
    width_us = row.prediction.half_width_us
    if width_us is None:
        return TableCell(None, "unknown")
    return TableCell(width_us, FIXED_1(width_us)) if row.prediction.how == SAMPLED else None


def _run(row: CorrelationPoint) -> str:
    """Say how a point was run: whole, or what part of it."""
    prediction = row.prediction
    how = WHOLE if prediction.how == WHOLE else f"{prediction.how} from {PERCENT(prediction.simulated)}"
    notes = ["kernel guessed"] if prediction.point.is_guessed else []
    notes += [f"reading {FIXED_1(_over(row))} x its neighbours'"] if is_contradicted(row) else []
    return ", ".join([how, *notes])


def _over(row: CorrelationPoint) -> float:
    return getattr(row.prediction.point, "over_neighbours", None) or 0.0


def _bound(row: CorrelationPoint) -> str:
    return f"{row.prediction.bound} {PERCENT_0(row.prediction.utilization)}"


def _first_us(row: CorrelationPoint) -> float | None:
    return None if row.prediction.first_us is None else row.prediction.first_us + row.launch_us


def _spread(row: CorrelationPoint) -> str | None:
    times_us = row.prediction.point.measured_us  # type: ignore[union-attr]
    return f"{FIXED_1(min(times_us))}–{FIXED_1(max(times_us))}" if len(times_us) > 1 else None


def _algorithm(row: CorrelationPoint) -> str:
    """Return our algorithm, or of a product's kernel the tile and how it splits K, as in 'MT64x64x16 GSU1'."""
    parts = row.prediction.point.kernel.split("_")
    tile = (part for part in parts if part.startswith("MT") or (part.startswith("GSU") and part[3:].isdigit()))
    return row.prediction.by or " ".join(tile)


def _candidate(tried: FitCandidate) -> str:
    value = tried.value
    if isinstance(value, list | tuple):  # masks of address bits
        return f"{tried.path} = [{', '.join(map(hex, value))}]"
    return f"{tried.path} = {str(value).lower() if isinstance(value, bool) else value}"


def _better(tried: FitCandidate) -> str:
    better = "found" if tried.better is None else f"{PERCENT_0(tried.better)} of resamples"
    return f"{better}, excluded" if tried.excluded else better


_MEASURED = column("prediction.point.time_us", "measured", FIXED_1, "us")
_MODEL = [column("modelled_us", "model", FIXED_1, "us"), column(_half_width, "±", unit="us", right=True)]
_GFLOP = column("prediction.point.gflop", "GFLOP", DIGITS_3)
_RATIO, _HOW = column("ratio", write=FIXED_2), [column(_run, "run"), column(_bound, "bound")]
PRODUCTS = View([
    column("prediction.point.label", "product"), _GFLOP, _MEASURED, *_MODEL,
    column("launch_us", "of it launch", FIXED_1, "us"), column(_first_us, "first launch", FIXED_1, "us"),
    _RATIO, *_HOW,
])  # fmt: skip
CONVOLUTIONS = View([
    column("prediction.point.label", "convolution"),
    column(lambda row: ", ".join(row.prediction.point.networks), "networks"),
    _GFLOP, column("prediction.point.solver"), _MEASURED, column(_spread, "from least to most", right=True), *_MODEL,
    column("prediction.im2col_us", "of it im2col", FIXED_1, "us"), _RATIO, column(_algorithm, "by"), *_HOW,
])  # fmt: skip
TOTALS = View([
    column("network"), column("what", "pass"), column("points"), column("measured_us", "measured", FIXED_1, "us"),
    column("modelled_us", "model", FIXED_1, "us"), column("half_width_us", "±", FIXED_1, "us"), _RATIO,
])  # fmt: skip
NOT_RUN = View([column("name", "not run"), column("why")])
GROUPS = View([
    column("name", "points"), column("count", "number"), column("geometric_mean", write=FIXED_2),
    column("spread", write=FIXED_2), column("mean_absolute_error", "mean error", PERCENT),
    column("least", write=FIXED_2), column("most", write=FIXED_2), column("rank_correlation", write=FIXED_3),
])  # fmt: skip
FIT = View([
    column(_candidate, "value"), column("error", "mean error", PERCENT), column("launch_us", "launch", FIXED_2, "us"),
    column(_better, "the value found is better in"),
])  # fmt: skip


_HOW_RUN = {
    WHOLE: "run whole",
    SAMPLED: "sampled, each with its half-width (±)",
    EXTRAPOLATED: "extrapolated from two shorter products, as earlier versions did, how far off is not known",
}


_CONTRADICTED = (
    "\nOf these {} have a reading that is {} times the median of products of the same tile, K and split, or so much "
    "less: the mean error is given with them and without.\n"
)
_GUESSED = (
    "\nOf these {} have a guessed kernel, that of the nearest product known: they are in no mean and in no sum. "
    "rocBLAS's TensileLibrary.dat, in the folder of the kernels, says which kernel it selects.\n"
)


def point_table(rows: Sequence[CorrelationPoint]) -> Table:
    """Make a row for each point, in the table's order."""
    convolutions = any(isinstance(row.prediction.point, ConvolutionPoint) for row in rows)
    return (CONVOLUTIONS if convolutions else PRODUCTS).table(rows)


def group_table(summaries: Mapping[str, RatioSummary]) -> Table:
    """Make a row for each group."""
    return GROUPS.table([{"name": name, **vars(summary)} for name, summary in summaries.items()])


def fit_table(fitted: ParameterFit) -> Table:
    """Make a row for each value that was tried, with the others as they were found."""
    return FIT.table(fitted.tried)


def tables(found: SavedComparison) -> list[Table]:
    """Give the groups of points, of which there is at least one, what was fitted, the points, and those not run."""
    fitted = [fit_table(found.fitted)] if found.fitted is not None and found.fitted.tried else []
    not_run = [NOT_RUN.table(found.not_run)] if found.not_run else []
    sums = [TOTALS.table(rows)] if (rows := totals(found.rows)) else []
    return [group_table(groups(found.rows)), *sums, *fitted, point_table(found.rows), *not_run]


def show(table: MeasuredTable, found: SavedComparison, out: TextIO) -> None:
    """Print what was compared, then the tables."""
    out.write(head(table, found.rows, found.fitted))
    for one in tables(found):
        print(file=out)
        one.show(out)


def markdown(table: MeasuredTable, found: SavedComparison) -> str:
    """Write the same as Markdown tables, to be put between a page's marks."""
    return "\n".join([head(table, found.rows, found.fitted), *(one.markdown() for one in tables(found))])


def head(table: MeasuredTable, rows: Sequence[CorrelationPoint], fitted: ParameterFit | None) -> str:
    """Say what was compared, in a line, and in another one how much of it was not run whole."""
    clock = table.gpu.clock_ghz if table.clock_ghz is None else table.clock_ghz
    interval = ""
    if fitted is not None:
        clock = fitted.values.get("clock_ghz", clock)
        interval = f" (fitted to {fitted.points} points: {' to '.join(map(FIXED_1, fitted.launch_interval_us))})"
    compiled = {row.table_launch_us for row in rows if row.prediction.point.is_compiled}
    others = {row.table_launch_us for row in rows if not row.prediction.point.is_compiled} or compiled
    hip = f" (HIP kernels: {FIXED_2(max(compiled))})" if compiled and compiled != others else ""
    own = table.general
    general = own.clock_ghz if own.clock_ghz is not None or own.gpu is None else own.gpu.clock_ghz
    on = "" if own.gpu is None else f" {own.gpu.name} at"
    apart = "" if general is None or (general == clock and not on) else f" (general batches:{on} {GENERAL(general)})"
    return (
        f"{table.title}: {len(rows)} points on {table.gpu.name} at {GENERAL(clock)} GHz{apart}, "
        f"{FIXED_2(max(others))} us{interval}{hip} a measurement beside its kernels\n{_in_part(rows)}"
    )


def _in_part(rows: Sequence[CorrelationPoint]) -> str:
    """Say in a line each how many points were run whole, how many readings are contradicted, and how many kernels are
    guessed; nothing where all is as it should be."""
    number = Counter(row.prediction.how for row in rows)
    guessed = sum(row.prediction.point.is_guessed for row in rows)
    contradicted = sum(map(is_contradicted, rows))
    lines = [
        f"\nOf these {'; '.join(f'{what}: {number[how]}' for how, what in _HOW_RUN.items() if number[how])}.\n"
        if number[WHOLE] != len(rows)
        else "",
        _CONTRADICTED.format(contradicted, GENERAL(CONTRADICTION)) if contradicted else "",
        _GUESSED.format(guessed) if guessed else "",
    ]
    return "".join(lines)
