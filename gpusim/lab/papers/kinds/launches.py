"""The longest launches of an iteration, by layer and pass."""

from collections.abc import Iterator

from gpusim.base.progress import percent
from gpusim.base.sums import plain_sum
from gpusim.base.table import Column, Table
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.kept_network import NetworkLaunchRecord, NetworkPointRecord
from gpusim.lab.papers.network_points import NetworkPoint, network_points
from gpusim.lab.papers.specs.layer_figure import LaunchesFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import FigureValue


def _known(
    reproduction: Reproduction, figure: LaunchesFigure, results: ReproductionResults
) -> Iterator[tuple[NetworkPoint, NetworkPointRecord]]:
    for point in network_points(reproduction, figure):
        kept = results.networks.get(point.key)
        if kept is not None:
            yield point, kept


def _longest(kept: NetworkPointRecord, most: int) -> list[NetworkLaunchRecord]:
    return sorted(kept.launches, key=lambda one: -one.time_us)[:most]


def tables(reproduction: Reproduction, figure: LaunchesFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of each point with a row for each launch, the longest first."""
    columns = [Column("layer"), Column("pass"), Column("kernel"), Column("ms", "{:.3f}".format)]
    columns += [Column("of the iteration", percent)]
    for point, kept in _known(reproduction, figure, results):
        whole = plain_sum(one.time_us for one in kept.launches)
        rows = [
            [one.layer, one.what.replace("_", " "), one.kernel, one.time_us / 1e3, one.time_us / whole]
            for one in _longest(kept, figure.most)
        ]
        yield Table(columns, rows, point.key.replace(" ", "-"), f"{point.key}: {whole / 1e3:,.1f} ms of kernels.")


def values(reproduction: Reproduction, figure: LaunchesFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield the share of each kind of layer in the time of the listed launches, and of each layer's pass in all."""
    for point, kept in _known(reproduction, figure, results):
        longest, kinds = _longest(kept, figure.most), {row.layer: row.kind for row in kept.rows if row.by == "layer"}
        listed = plain_sum(one.time_us for one in longest)
        for kind in sorted(set(kinds.values())):
            share = plain_sum(one.time_us for one in longest if kinds.get(one.layer) == kind) / listed
            yield FigureValue("listed_share", point.gpu, {**point.labels, "kind": kind}, share)
        whole = plain_sum(one.time_us for one in kept.launches)
        for layer, what in dict.fromkeys((one.layer, one.what) for one in kept.launches):
            part = plain_sum(one.time_us for one in kept.launches if (one.layer, one.what) == (layer, what))
            labels = {**point.labels, "layer": layer, "kind": kinds.get(layer, ""), "part": what}
            yield FigureValue("iteration_share", point.gpu, labels, part / whole)
