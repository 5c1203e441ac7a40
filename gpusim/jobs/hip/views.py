"""How a program's result is shown: its kernels, and its streams."""

from typing import Any

from gpusim.base.formats import COUNT, GROUPED_1, GROUPED_2, SHARE_1
from gpusim.base.table import Table, TableCell
from gpusim.base.view import View, column
from gpusim.results.report.result import ResultRow
from gpusim.results.report.rows import ResultViews
from gpusim.results.report.views import UNKNOWN, bound_text, time_cell
from isa.object.names import short


def _launches(row: ResultRow) -> TableCell:
    count, timed, faulted = row.values["launches"], row.values["timed"], row.values.get("faulted", 0)
    remarks = [f"{COUNT(timed)} timed"] * (timed not in (0, count)) + [f"{COUNT(faulted)} with a fault"] * bool(faulted)
    return TableCell(count, COUNT(count) + (f" ({', '.join(remarks)})" if remarks else ""))


def _cycles(row: ResultRow) -> TableCell:
    cycles, width = row.values.get("cycles"), row.values.get("cycles_half_width")
    if cycles is None:
        return UNKNOWN
    return TableCell(cycles, COUNT(cycles) + (f" ± {COUNT(max(1, round(width)))}" if width else ""))


def _instructions(row: ResultRow) -> TableCell:
    """Return the instructions of the launches; unknown if a fault ended each of them."""
    count = row.values["wavefront_instructions"]
    return UNKNOWN if row.values.get("faulted", 0) == row.values["launches"] else TableCell(count, COUNT(count))


def _known(name: str, write: Any) -> Any:
    """Return what makes the cell of a value, of which a pipe's reader too sees that it is unknown."""

    def cell(row: ResultRow) -> TableCell:
        value = row.values.get(name)
        return UNKNOWN if value is None else TableCell(value, write(value))

    return cell


KERNELS = View(
    [
        column(_launches, "launches", right=True),
        column(_cycles, "cycles", right=True),
        column(lambda row: time_cell(row) or UNKNOWN, "time", unit="us", right=True),
        column(_known("share", SHARE_1), "share", right=True),
        column(lambda row: bound_text(row.values), "bound", right=True),
        column(_instructions, "instructions", right=True),
        column(lambda row: short(row.values["name"]), "kernel"),
    ],
    "rows",
)
STREAMS = View(
    [
        column("stream"),
        column("kernels"),
        column("kernel_us", "kernels", GROUPED_1, "us"),
        column("copies"),
        column(lambda stream: stream["copied_bytes"] / 1e6, "copied", GROUPED_2, "MB"),
        column("copy_us", "copies", GROUPED_1, "us"),
        column("busy", write=SHARE_1),
    ],
    "streams",
)


class ProgramViews(ResultViews):
    """Tables of a program: its kernels, then its streams."""

    has_screen = False
    rows_are_kernels = True
    without_rows = "no kernel was launched"

    def rows_table(self) -> Table:
        """Return the table of kernels."""
        return KERNELS.table(self.rows, self.result.what, self.closing())

    def summaries(self) -> list[Table]:
        """Return the table of streams, what they did and for how long; none if none is known."""
        streams = self.result.document.get("streams")
        if not streams:
            return []
        whole = max(stream["ended_us"] for stream in streams)
        rows = [
            {**stream, "busy": (stream["kernel_us"] + stream["copy_us"]) / whole if whole else 0.0}
            for stream in streams
        ]
        return [STREAMS.table(rows, f"by stream, of {GROUPED_1(whole)} us")]
