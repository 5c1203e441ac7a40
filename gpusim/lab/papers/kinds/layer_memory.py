"""Device memory of an iteration, of each layer or of networks as a whole, as its plan counts it."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.table import Column, Table
from gpusim.jobs.networks.run import build_schedule, planned_iteration
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.network_points import NetworkPoint, list_network_points, load_network_once, settings_of
from gpusim.lab.papers.pictures import BarPanel, bars
from gpusim.lab.papers.specs.layer_figure import LayerMemoryFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import FigureValue, times
from workloads.networks.figures import layer_figures
from workloads.networks.memory import no_workspace, plan
from workloads.networks.tensor import TensorRole

MIB = 1 << 20


@dataclass(frozen=True)
class _Memory:
    """Memory of an iteration."""

    planned: int
    """Size of the memory plan in bytes."""
    layers: tuple[tuple[str, str, int], ...]
    """Name, kind and bytes of each layer."""

    @property
    def of_layers(self) -> int:
        """Bytes if each layer has its own, as in Caffe; a plan lets layers use the same memory one after another."""
        return sum(size for _, _, size in self.layers)


def _points(reproduction: Reproduction, figure: LayerMemoryFigure) -> Iterator[tuple[str, int, _Memory]]:
    """Yield network, batch and memory of each; without any workspace, which algorithms differ in."""
    runs = reproduction.runs
    for name in figure.networks or runs.networks:
        subject = runs.networks[name]
        network = load_network_once(subject.network)
        for batch in figure.batches or subject.batches:
            point = NetworkPoint(name, batch, next(iter(runs.gpu_files)), next(iter(runs.ways)))
            settings = settings_of(reproduction, point, exact=False)
            planned = plan(build_schedule(network, settings, batch, runs.phase == "train"), no_workspace)
            layers = tuple((one.name, one.kind, one.memory_bytes) for one in layer_figures(planned))
            yield name, batch, _Memory(planned.bytes, layers)


@dataclass(frozen=True)
class _WayMemory:
    """Memory of a point's iteration, workspaces included."""

    point: NetworkPoint
    """Point."""
    planned: int
    """Size of the memory plan in bytes."""
    parameters: int
    """Bytes of the parameters."""
    first: int
    """Bytes of the first variant's parameters."""


def _ways(reproduction: Reproduction, figure: LayerMemoryFigure) -> Iterator[_WayMemory]:
    """Yield the memory of each way of each network and batch."""
    first: dict[tuple[str, int], int] = {}
    for point in list_network_points(reproduction, figure):
        network = load_network_once(reproduction.runs.networks[point.network].network)
        settings = settings_of(reproduction, point, exact=False)
        planned, _ = planned_iteration(network, settings, point.batch, reproduction.runs.phase == "train")
        size = sum(one.bytes for one in planned.schedule.tensors.values() if one.role is TensorRole.PARAMETER)
        yield _WayMemory(point, planned.bytes, size, first.setdefault((point.network, point.batch), size))


def _table_of_ways(held: list[_WayMemory]) -> Table:
    mib = "{:,.1f}".format
    columns = [Column("run"), Column("MiB at once", mib), Column("MiB of parameters", mib), Column("compressed", times)]
    rows: list[list[object]] = [
        [one.point.key, one.planned / MIB, one.parameters / MIB, one.first / one.parameters] for one in held
    ]
    return Table(columns, rows, "", "Memory of an iteration, workspaces included.")


def tables(reproduction: Reproduction, figure: LayerMemoryFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of networks and batches, or of ways, and of each network's layers where they are shown."""
    if figure.by == "way":
        yield _table_of_ways(list(_ways(reproduction, figure)))
        return
    held = list(_points(reproduction, figure))
    mib = "{:,.1f}".format
    columns = [Column("network"), Column("batch"), Column("MiB at once", mib), Column("MiB of all layers", mib)]
    columns += [Column("largest layer"), Column("MiB of it", mib), Column("share of all layers", percent)]
    rows: list[list[object]] = []
    for network, batch, memory in held:
        name, _, most = max(memory.layers, key=lambda one: one[2])
        whole = memory.of_layers
        rows.append([network, batch, memory.planned / MIB, whole / MIB, name, most / MIB, most / whole])
    yield Table(columns, rows, "", "Memory of an iteration, workspaces apart.")
    if figure.by == "layer":
        for network, batch, memory in held:
            lines = [[name, kind, size / MIB, size / memory.of_layers] for name, kind, size in memory.layers]
            heads = [Column("layer"), Column("kind"), Column("MiB", mib), Column("share", percent)]
            yield Table(heads, lines, f"{network}-{batch}", f"{network}, batch {batch}.")


def values(
    reproduction: Reproduction, figure: LayerMemoryFigure, results: ReproductionResults
) -> Iterator[FigureValue]:
    """Yield MiB of each layer and its share of all, and MiB of each network at once; the same for every GPU.

    Of ways: MiB at once and of parameters, and how many times as large the first way's parameters are.
    """
    if figure.by == "way":
        for one in _ways(reproduction, figure):
            yield FigureValue("way_mib", one.point.gpu, one.point.labels, one.planned / MIB)
            yield FigureValue("parameters_mib", one.point.gpu, one.point.labels, one.parameters / MIB)
            yield FigureValue("compression", one.point.gpu, one.point.labels, one.first / one.parameters)
        return
    for network, batch, memory in _points(reproduction, figure):
        for gpu in reproduction.columns:
            labels = {"network": network, "batch": str(batch), "gpu": gpu}
            yield FigureValue("network_mib", gpu, labels, memory.planned / MIB)
            for name, kind, size in memory.layers:
                of = {**labels, "layer": name, "kind": kind}
                yield FigureValue("layer_mib", gpu, of, size / MIB)
                yield FigureValue("layer_share", gpu, of, size / memory.of_layers)


def picture(reproduction: Reproduction, figure: LayerMemoryFigure, results: ReproductionResults) -> Picture:
    """Draw bars: networks by batch, ways by network, or a panel of layers for each network and batch."""
    if figure.by == "way":
        made = list(_ways(reproduction, figure))
        places = list(dict.fromkeys(f"{one.point.network} {one.point.batch}" for one in made))
        by_way: dict[str, list[float | None]] = {}
        for one in made:
            at = places.index(f"{one.point.network} {one.point.batch}")
            by_way.setdefault(one.point.way, [None] * len(places))[at] = one.planned / MIB
        return bars(figure.title, [BarPanel("MiB", places, by_way)])
    held = list(_points(reproduction, figure))
    if figure.by == "network":
        networks = list(dict.fromkeys(network for network, _, _ in held))
        series: dict[str, list[float | None]] = {}
        for network, batch, memory in held:
            series.setdefault(f"batch {batch}", [None] * len(networks))[networks.index(network)] = memory.planned / MIB
        return bars(figure.title, [BarPanel("MiB", networks, series)])
    panels = [
        BarPanel(
            f"{network}, batch {batch}: MiB", [one[0] for one in m.layers], {"MiB": [one[2] / MIB for one in m.layers]}
        )
        for network, batch, m in held
    ]
    return bars(figure.title, panels, sharex=False)
