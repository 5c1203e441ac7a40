"""Table 6.6: what measuring sparsity costs a training: the publication's figures, the model's, and a real GPU's."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpusim.base.progress import percent
from gpusim.base.table import Column, Table, amount
from gpusim.lab.monitor.overhead import TABLE_6_6, expected_share, monitored_overhead
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.specs.figure import OverheadsFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import OURS, FigureValue


def _measured(figure: OverheadsFigure) -> dict[str, list[dict[str, Any]]]:
    """Load the measurements of each network."""
    return {name: [json.loads(Path(file).read_text()) for file in files] for name, files in figure.measured.items()}


def _for_all(found: dict[str, Any], iterations: int) -> float:
    """Return the monitor's overhead in a training as long as the publication's, at the measured cost of measuring."""
    return monitored_overhead(found["overhead"]["exhaustive"], expected_share(iterations))


def tables(reproduction: Reproduction, figure: OverheadsFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table with a row for each network, and one of the measurements."""
    found = _measured(figure)
    columns = [Column("network"), Column("iterations", amount), Column("exhaustive, published", percent)]
    columns += [Column("monitor, published", percent), Column("monitor, by the model", percent)]
    columns += [Column("exhaustive, measured", percent), Column("monitor, at that cost", percent)]
    rows: list[list[Any]] = []
    for name, held in TABLE_6_6.items():
        modelled = monitored_overhead(held.exhaustive, expected_share(held.iterations))
        of_gpu: list[float | None] = [None, None]
        if name in found:
            of_gpu = [found[name][0]["overhead"]["exhaustive"], _for_all(found[name][0], held.iterations)]
        rows.append([name, held.iterations, held.exhaustive, held.monitored, modelled, *of_gpu])
    yield Table(columns, rows)
    if found:
        yield _times(found)


def _times(found: dict[str, list[dict[str, Any]]]) -> Table:
    columns = [Column("network"), Column("batch"), Column("an iteration, ms", "{:.2f}".format)]
    columns += [Column("measuring in each, ms", "{:.2f}".format), Column("monitored, ms", "{:.2f}".format)]
    columns += [Column("iterations", amount), Column("of them measured", percent)]
    columns += [Column("monitor's overhead", percent), Column("counted on the"), Column("device")]
    rows = [
        [
            name,
            one["plan"]["batch"],
            1e3 * one["plain_s"],
            1e3 * one["exhaustive_s"],
            1e3 * one["monitored_s"],
            one["plan"]["iterations"],
            one["share_measured"],
            one["overhead"]["monitored"],
            one["plan"]["place"],
            one["device"],
        ]
        for name, several in found.items()
        for one in several
    ]
    return Table(columns, rows, "measured", "Measured, on random images:")


def values(reproduction: Reproduction, figure: OverheadsFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield the monitor's overhead at the cost of a measurement on a real GPU, and that cost."""
    found = _measured(figure)
    for name, held in TABLE_6_6.items():
        if name in found:
            yield FigureValue("measured_overhead", OURS, {"network": name}, _for_all(found[name][0], held.iterations))
            yield FigureValue("measured_exhaustive", OURS, {"network": name}, found[name][0]["overhead"]["exhaustive"])
