"""Records of a figure, and what is made of them: tables, bars, and rows of the publication's long table."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpusim.base.table import Column, Table
from gpusim.lab.papers.pictures import BarPanel
from gpusim.lab.papers.publication import OURS, FigureValue


@dataclass(frozen=True)
class FigureRecord:
    """What is known of one place of a figure."""

    labels: Mapping[str, str]
    """Labels for claims."""
    values: Mapping[str, Any]
    """Numbers by measure, and what else tables show by name; None: unknown."""
    half_widths: Mapping[str, float] = field(default_factory=dict)
    """Half-widths of confidence intervals by measure; absent: unknown."""
    comparison: str = OURS
    """Comparison of the values; for networks, the GPU."""

    def get(self, path: str) -> Any:
        """Return a value or a label."""
        return self.values[path] if path in self.values else self.labels[path]


class Cells(NamedTuple):
    """A column of a table of records."""

    head: str
    """Head of the column."""
    path: str = ""
    """Name of the value or label; empty: the head."""
    write: Callable[[Any], str] | None = None
    """Formats a value; None: the default format."""


def build_table(records: Iterable[FigureRecord], columns: Sequence[Cells], name: str = "", title: str = "") -> Table:
    """Build a table with a row for each record.

    Args:
        records: What the columns show.
        columns: Columns from left to right.
        name: Stem of its file name beside other tables.
        title: Title.
    """
    heads = [Column(column.head, column.write) for column in columns]
    rows = [[record.get(column.path or column.head) for column in columns] for record in records]
    return Table(heads, rows, name, title)


def build_panel(
    title: str,
    records: Iterable[FigureRecord],
    paths: tuple[str, str, str],
    line: float | None = None,
    with_half_widths: bool = False,
    series_names: Sequence[str] = (),
) -> BarPanel:
    """Build a panel of bars.

    Args:
        title: Title of the panel.
        records: A bar each.
        paths: Names of the group, of the series and of the value that is drawn.
        line: Value of a horizontal reference line; None: no line.
        with_half_widths: Draw half-widths too.
        series_names: All series, where panels beside this one may have others; none: those of the records.
    """
    group, series, measure = paths
    bars = {(str(one.get(series)), str(one.get(group))): one for one in records}
    groups = list(dict.fromkeys(name for _, name in bars))
    heights, widths = dict[str, list[float | None]](), dict[str, list[float]]()
    for name in series_names or dict.fromkeys(name for name, _ in bars):
        some = [bars.get((name, group)) for group in groups]
        heights[name] = [None if one is None else one.values[measure] for one in some]
        widths[name] = [0.0 if one is None else one.half_widths.get(measure, 0.0) for one in some]
    return BarPanel(title, groups, heights, widths if with_half_widths else {}, line)


def list_values(records: Iterable[FigureRecord]) -> Iterator[FigureValue]:
    """Yield the numbers of records as rows of the long table."""
    for record in records:
        for name, value in record.values.items():
            if isinstance(value, int | float):
                width = record.half_widths.get(name, 0.0)
                yield FigureValue(name, record.comparison, record.labels, value, half_width=width)
