"""How a result of many rows is shown: its kind of job brings the views (`gpusim.base.extensions.JobKind.views`)."""

from gpusim.base.extensions import known_kind, load
from gpusim.base.formats import PERCENT_GENERAL, SHARE_1
from gpusim.base.table import Table
from gpusim.results.report.result import Result
from gpusim.results.report.views import NAMED_ROWS

DEAREST = 10  # rows that are listed or drawn before all are


class ResultViews:
    """Tables and lines of a result; these serve rows that have a name alone, such as measured points."""

    has_screen = True
    """The screen of a run stands between the summaries and the rows."""
    rows_are_kernels = False
    """Rows are kernels of a program, each of which has a section of the page."""
    without_rows = ""
    """Text printed for a result without rows; empty: it is shown as a run."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self.rows = [row for row in result.rows if row.variant == result.last.name]
        """Rows of the variant that ran last: of the sparse one, where two were compared."""

    def summaries(self) -> list[Table]:
        """Return the tables that answer where the time goes."""
        return []

    def rows_table(self) -> Table:
        """Return the table of all rows of the variant that ran last."""
        return NAMED_ROWS.table(self.rows, self.result.what, list(self.result.remarks))

    def further_tables(self) -> list[Table]:
        """Return the tables of some rows, below that of all."""
        return []

    def closing(self) -> list[str]:
        """Return the lines that hold for the whole run, as text below its rows."""
        stopped, sampling = self.result.stopped_by, self.result.last.tree.get("sampling")
        lines = [f"PARTIAL, {stopped}: all figures are of what was simulated by then"] if stopped else []
        if sampling:
            lines.append(
                f"sampled: {SHARE_1(sampling['fraction'])} of the timed instructions simulated; half-widths (±) at"
                f" {PERCENT_GENERAL(sampling['confidence'])}"
            )
        return lines

    def remarks(self) -> list[str]:
        """Return further lines below all tables."""
        return []


def views_of(result: Result) -> ResultViews:
    """Return the views of a result's kind of job."""
    views: ResultViews = load(known_kind(result.kind).views or "gpusim.results.report.rows.ResultViews")(result)
    return views
