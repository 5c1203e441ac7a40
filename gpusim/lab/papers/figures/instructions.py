"""Instructions of a way's kernels, in their code and as executed: a row for each point."""

from functools import cache
from typing import Literal

from gpusim.base.formats import COUNT, DIGITS_3
from gpusim.base.spec import param
from gpusim.base.sums import plain_sum
from gpusim.lab.papers.figures.kinds import FigureContent, figure_kind
from gpusim.lab.papers.long_table import FigureRecord
from gpusim.lab.papers.network_points import NetworkFigure
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.views import INSTRUCTIONS
from workloads.operators.launching import count_code

EXECUTED = "kernel.wavefront_instructions"


@figure_kind("instructions", NetworkFigure, formats={"static": COUNT, "dynamic": DIGITS_3, "per_million": DIGITS_3})
def show_instructions(
    figure: NetworkFigure,
    publication: Publication,
    *,
    sources: tuple[Literal["circulant", "circulant_rows"], ...] = param(
        ..., "sources of this project that have the kernels; others' kernels are not counted", "user", min_length=1
    ),
) -> FigureContent:
    """Show static and dynamic instruction counts, and their ratio.

    Each kernel's code counts once, however often it is launched.
    """
    records = []
    for point, run in figure.known_points(publication):
        whole = run.iteration
        names = dict.fromkeys(launch.kernel for launch in run.launches)
        counts = [count for name in names if (count := _count_static(name, sources))]
        executed, width = whole.metrics[EXECUTED] / 1e6, whole.half_widths.get(EXECUTED, 0.0) / 1e6
        static = plain_sum(counts)
        values = {"run": point.key, "kernels": len(counts), "static": static, "dynamic": executed}
        values["per_million"] = static / executed
        widths = {"dynamic": width, "per_million": static / executed * width / executed}
        records.append(FigureRecord(point.labels, values, widths, point.gpu))
    return FigureContent([INSTRUCTIONS.table(record.row for record in records)], records)


@cache
def _count_static(kernel: str, sources: tuple[str, ...]) -> int:
    """Count the instructions of a kernel's code; 0 where none of the sources has it."""
    return next((count for source in sources if (count := count_code(source, kernel))), 0)
