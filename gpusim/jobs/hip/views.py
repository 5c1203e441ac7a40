"""How a program's result is shown: its kernels, and its streams."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.base.formats import COUNT, GROUPED_1, GROUPED_2, SHARE_1
from gpusim.base.table import Table, TableCell
from gpusim.base.view import View, column
from gpusim.results.report.result import Result, ResultRow, RunMetrics
from gpusim.results.report.rows import ResultViews
from gpusim.results.report.screen import top_findings
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


def _kernel_names(kernels: Sequence[Mapping[str, Any]]) -> str:
    others = len(kernels) - 1
    return short(kernels[0]["name"]) + (f" and {others} other{'s' * (others > 1)}" if others else "")


def _known(name: str, write: Any) -> Any:
    """Return what makes the cell of a value, of which a pipe's reader too sees that it is unknown."""

    def cell(row: ResultRow) -> TableCell:
        value = row.values.get(name)
        return UNKNOWN if value is None else TableCell(value, write(value))

    return cell


_EXPLAINED = 3  # lines, the longest ones, of which the first finding is shown
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
LINES = View(
    [
        column(_launches, "launches", right=True),
        column(_known("time_us", GROUPED_1), "time", unit="us", right=True),
        column(_known("share", SHARE_1), "share", right=True),
        column(lambda row: bound_text(row.values), "bound", right=True),
        column(lambda row: row.values["name"], "line"),
        column(lambda row: _kernel_names(row.values["kernels"]), "kernels"),
        column(lambda row: row.values["text"], "source"),
    ],
    "lines",
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


def _measured(row: Mapping[str, Any], tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics of a line's launches, with the accesses of its kernels."""
    names = {kernel["name"] for kernel in row["kernels"]}
    spots = {
        key: [spot for spot in tree.get(key) or () if spot["kernel"] in names]
        for key in ("access_patterns", "hotspots")
    }
    groups = row.get("launch_groups")
    return {
        **(row.get("metrics") or {}),
        **spots,
        "timed": row["timed"],
        **({"launch_groups": groups} if groups else {}),
    }


class ProgramViews(ResultViews):
    """Tables of a program: its kernels, then its streams."""

    has_screen = False
    rows_are_kernels = True
    without_rows = "no kernel was launched"

    def rows_table(self) -> Table:
        """Return the table of kernels."""
        return KERNELS.table(self.rows, self.result.what, self.closing())

    def summaries(self) -> list[Table]:
        """Return the tables of a Python program's lines, and of streams, what they did and for how long."""
        return [*self._lines(), *self._streams()]

    def _lines(self) -> list[Table]:
        tree, gpu = self.result.last.tree, self.result.last.gpu
        lines = [ResultRow(RunMetrics(row["name"], _measured(row, tree), gpu), row) for row in tree.get("lines") or ()]
        if not lines:
            return []
        closing = []
        for line in lines[:_EXPLAINED]:
            alone = Result("", "", [line.measured], self.result.config, {"kind": self.result.kind, "partial": False})
            if line.values.get("time_us") is not None:  # gains are of a whole program
                found = top_findings(alone, 1)
                closing += [": ".join(filter(None, (one.run, one.launches, one.statement))) for one in found]
        return [LINES.table(lines, "by line of the Python program", closing)]

    def _streams(self) -> list[Table]:
        streams = self.result.document.get("streams")
        if not streams:
            return []
        whole = max(stream["ended_us"] for stream in streams)
        rows = [
            {**stream, "busy": (stream["kernel_us"] + stream["copy_us"]) / whole if whole else 0.0}
            for stream in streams
        ]
        return [STREAMS.table(rows, f"by stream, of {GROUPED_1(whole)} us")]
