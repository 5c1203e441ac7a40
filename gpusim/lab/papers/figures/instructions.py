"""Instructions of a way's kernels, in their code and as executed: a row for each point."""

from collections.abc import Iterator
from functools import cache
from typing import ClassVar, Literal

from gpusim.base.formats import COUNT, DIGITS_3
from gpusim.base.spec import param
from gpusim.base.sums import plain_sum
from gpusim.base.view import View, column
from gpusim.lab.papers.long_table import FigureRecord
from gpusim.lab.papers.network_points import NetworkFigure
from gpusim.lab.papers.publication import Publication
from workloads.operators.launching import count_code

EXECUTED = "kernel.wavefront_instructions"


class InstructionsFigure(NetworkFigure):
    """A table of static and dynamic instruction counts, and of their ratio."""

    kind: Literal["instructions"] = param("instructions", "what is shown", "")
    sources: tuple[Literal["circulant", "circulant_rows"], ...] = param(
        ..., "sources of this project that have the kernels; others' kernels are not counted", "user", min_length=1
    )

    view: ClassVar[View] = View(
        (
            column("run"),
            column("kernels", write=COUNT),
            column("static", "instructions in their code", COUNT),
            column("dynamic", "executed, millions", DIGITS_3),
            column("per_million", "static, a million executed", DIGITS_3),
        )
    )
    formats: ClassVar = {"static": COUNT, "dynamic": DIGITS_3, "per_million": DIGITS_3}

    def records(self, publication: Publication) -> Iterator[FigureRecord]:
        """Yield each known point's counts; each kernel's code counts once, however often it is launched."""
        for point, run in self.known_points(publication):
            whole = run.iteration
            names = dict.fromkeys(launch.kernel for launch in run.launches)
            counts = [count for name in names if (count := _count_static(name, self.sources))]
            executed, width = whole.metrics[EXECUTED] / 1e6, whole.half_widths.get(EXECUTED, 0.0) / 1e6
            static = plain_sum(counts)
            values = {"run": point.key, "kernels": len(counts), "static": static, "dynamic": executed}
            values["per_million"] = static / executed
            widths = {"dynamic": width, "per_million": static / executed * width / executed}
            yield FigureRecord(point.labels, values, widths, point.gpu)


@cache
def _count_static(kernel: str, sources: tuple[str, ...]) -> int:
    """Count the instructions of a kernel's code; 0 where none of the sources has it."""
    return next((count for source in sources if (count := count_code(source, kernel))), 0)
