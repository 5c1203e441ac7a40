"""Columns of the report's tables, and cells that several tables share."""

from collections.abc import Mapping
from typing import Any

from gpusim.base.formats import COUNT, DIGITS_2, GROUPED_1, SHARE_0, SHARE_1, three_digits
from gpusim.base.table import MISSING, TableCell
from gpusim.base.view import View, column
from gpusim.results.report.measures import unit_name
from gpusim.results.report.result import ResultRow

UNKNOWN = TableCell(None, MISSING)  # says so on a pipe, too


def bound_text(values: Mapping[str, Any]) -> str:
    """Name the unit that bounds a row, and its share of the cycles."""
    bound = values.get("bound")
    if not bound:
        return MISSING
    near = bound["utilization"]
    return unit_name(bound["name"]) + ("" if near is None else f" {SHARE_0(near)}")


def time_cell(row: ResultRow) -> TableCell | None:
    """Make the cell of a row's time with its half-width; None where the time is unknown."""
    time_us, width = row.values.get("time_us"), row.values.get("time_us_half_width")
    if time_us is None:
        return None
    bar = f" ± {DIGITS_2(100 * width / time_us)}%" if width and time_us else ""
    return TableCell(time_us, f"{GROUPED_1(time_us)}{bar}", f"{three_digits(time_us)}{bar}")


NAMED_ROWS = View(
    [
        column("measured.name", "row"),
        column("values.launches"),
        column("values.cycles", write=COUNT),
        column(time_cell, "time", unit="us", right=True),
        column("values.share", write=SHARE_1),
        column(lambda row: bound_text(row.values), "bound"),
    ],
    "rows",
)
