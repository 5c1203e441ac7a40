"""Device memory of an iteration, of each layer or of networks as a whole, as its plan counts it."""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

from gpusim.base.formats import TIMES
from gpusim.base.picture import Picture
from gpusim.base.spec import param
from gpusim.base.table import Table
from gpusim.base.view import View
from gpusim.jobs.networks.run import build_schedule, planned_iteration
from gpusim.lab.papers.formats import MIB_0, MIB_1
from gpusim.lab.papers.long_table import FigureRecord, repeat_on
from gpusim.lab.papers.network_points import NetworkFigure, NetworkPoint, load_network_once, settings_of
from gpusim.lab.papers.pictures import bars, build_panel
from gpusim.lab.papers.publication import Publication, Reproduction
from gpusim.lab.papers.views import MEMORY_OF_LAYERS, MEMORY_OF_NETWORKS, MEMORY_OF_WAYS
from workloads.networks.figures import layer_figures
from workloads.networks.memory import no_workspace, plan
from workloads.networks.tensor import TensorRole

MIB = 1 << 20


class LayerMemoryFigure(NetworkFigure):
    """Bars of device memory as an iteration's plan counts it; nothing is simulated."""

    kind: Literal["layer_memory"] = param("layer_memory", "what is shown", "")
    by: Literal["layer", "network", "way"] = param(
        "layer", "a bar for each layer, for each network, or for each way, with the workspaces of its kernels", "user"
    )

    device_mib: int | None = param(
        None, "MiB of the publication's GPU, whose share each layer's memory is", "the publication", ge=1
    )

    formats: ClassVar = {"network_mib": MIB_0, "layer_mib": MIB_1, "compression": TIMES}

    def points(self, reproduction: Reproduction) -> list[NetworkPoint]:
        """List no runs: none is needed."""
        return []

    def _ways(self, reproduction: Reproduction) -> Iterator[FigureRecord]:
        """Yield the memory of each way of each network and batch, workspaces included."""
        first: dict[tuple[str, int], int] = {}
        for point in self.list_places(reproduction):
            network = load_network_once(reproduction.runs.networks[point.network].network)
            settings = settings_of(reproduction, point, exact=False)
            planned, _ = planned_iteration(network, settings, point.batch, reproduction.runs.phase == "train")
            size = sum(one.bytes for one in planned.schedule.tensors.values() if one.role is TensorRole.PARAMETER)
            found = {"way_mib": planned.bytes / MIB, "parameters_mib": size / MIB}
            found["compression"] = first.setdefault((point.network, point.batch), size) / size
            names = {"run": point.key, "place": f"{point.network} {point.batch}"}
            yield FigureRecord(point.labels, {**found, **names}, comparison=point.gpu)

    def _networks(self, reproduction: Reproduction) -> Iterator[tuple[FigureRecord, list[FigureRecord]]]:
        """Yield the memory of each network and batch, and of its layers; without workspaces, which ways differ in.

        Layers together have the bytes of an iteration in which each has its own, as in Caffe; a plan lets layers use
        the same memory one after another.
        """
        runs = reproduction.runs
        for name in self.networks or runs.networks:
            network = load_network_once(runs.networks[name].network)
            for batch in self.batches or runs.networks[name].batches:
                point = NetworkPoint(name, batch, next(iter(runs.gpu_files)), next(iter(runs.ways)))
                settings = settings_of(reproduction, point, exact=False)
                planned = plan(build_schedule(network, settings, batch, runs.phase == "train"), no_workspace)
                sizes = layer_figures(planned)
                together = sum(layer.memory_bytes for layer in sizes)
                largest = max(sizes, key=lambda layer: layer.memory_bytes)
                labels = {"network": name, "batch": str(batch)}
                layers = [
                    FigureRecord(
                        {**labels, "layer": one.name, "kind": one.kind}, self._sizes(one.memory_bytes, together)
                    )
                    for one in sizes
                ]
                found: dict[str, Any] = {"network_mib": planned.bytes / MIB, "images": batch, "layers": together / MIB}
                sizes_of_largest = self._sizes(largest.memory_bytes, together)
                found |= {"most": sizes_of_largest["layer_mib"], "share": sizes_of_largest["layer_share"]}
                found["of_device"] = sizes_of_largest["device_share"]
                yield FigureRecord(labels, {**found, "largest": largest.name, "series": f"batch {batch}"}), layers

    def _sizes(self, layer_bytes: int, together: int) -> dict[str, float | None]:
        """Return a layer's memory, its share of all layers', and of the GPU's."""
        mib = layer_bytes / MIB
        of_device = mib / self.device_mib if self.device_mib else None
        return {"layer_mib": mib, "layer_share": layer_bytes / together, "device_share": of_device}

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of networks and batches, or of ways, and of each network's layers where they are shown."""
        if self.by == "way":
            yield MEMORY_OF_WAYS.table(record.row for record in self._ways(publication.reproduction))
            return
        networks = list(self._networks(publication.reproduction))
        yield MEMORY_OF_NETWORKS.table(record.row for record, _ in networks)
        for record, layers in networks if self.by == "layer" else ():
            network, batch = record.labels.values()
            view = View(MEMORY_OF_LAYERS, f"{network}-{batch}", f"{network}, batch {batch}.")
            yield view.table(layer.row for layer in layers)

    def records(self, publication: Publication) -> Iterator[FigureRecord]:
        """Yield MiB of each layer and its share of all, and MiB of each network at once; the same for every GPU.

        Of ways: MiB at once and of parameters, and how many times as large the first way's parameters are.
        """
        reproduction = publication.reproduction
        if self.by == "way":
            return self._ways(reproduction)
        records = (one for record, layers in self._networks(reproduction) for one in (record, *layers))
        return repeat_on(reproduction.columns, records)

    def picture(self, publication: Publication) -> Picture:
        """Draw bars: networks by batch, ways by network, or a panel of layers for each network and batch."""
        if self.by == "way":
            records = list(self._ways(publication.reproduction))
            return bars(self.title, [build_panel("MiB", records, ("place", "way", "way_mib"))])
        networks = list(self._networks(publication.reproduction))
        if self.by == "network":
            records = [record for record, _ in networks]
            return bars(self.title, [build_panel("MiB", records, ("network", "series", "network_mib"))])
        panels = []
        for record, layers in networks:
            title = f"{record.labels['network']}, {record.values['series']}: MiB"
            bars_ = [FigureRecord(one.labels, {**one.values, "series": "MiB"}) for one in layers]
            panels.append(build_panel(title, bars_, ("layer", "series", "layer_mib")))
        return bars(self.title, panels, sharex=False)
