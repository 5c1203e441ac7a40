"""Figures of networks, and their points: the runs that they need, each a configuration of `gpusim net`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Self

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.spec import param
from gpusim.config import files
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings, load_settings
from gpusim.config.tree import assignments
from gpusim.lab.papers.long_table import Where, label_names
from gpusim.lab.papers.publication import Figure, Publication, Reproduction
from gpusim.lab.papers.records import NetworkPointRecord
from gpusim.lab.papers.specs.reproduction import ReproductionSpec
from workloads.networks.graph import Network

LABELS = ("network", "batch", "gpu", "way")


@dataclass(frozen=True)
class NetworkPoint:
    """A run that figures need."""

    network: str
    """Name of the network."""
    batch: int
    """Images."""
    gpu: str
    """Name of the GPU."""
    way: str
    """Name of the way to run the network."""

    @property
    def labels(self) -> dict[str, str]:
        """The labels for claims and tables."""
        return {"network": self.network, "batch": str(self.batch), "gpu": self.gpu, "way": self.way}

    @property
    def key(self) -> str:
        """The unique name of the point, such as 'alexnet 128 mi6 implicit'."""
        return " ".join(self.labels.values())


@dataclass(frozen=True)
class PointSelection:
    """Which of a publication's network runs are to be run now: none of a kind stands for all."""

    networks: frozenset[str] = field(default_factory=frozenset)
    """Networks; empty: all."""
    gpus: frozenset[str] = field(default_factory=frozenset)
    """GPUs; empty: all."""
    batches: frozenset[int] = field(default_factory=frozenset)
    """Batches; empty: all."""

    def has(self, point: NetworkPoint) -> bool:
        """Tell whether a point is asked for."""
        pairs = ((self.networks, point.network), (self.gpus, point.gpu), (self.batches, point.batch))
        return all(not chosen or value in chosen for chosen, value in pairs)


class NetworkFigure(Figure):
    """Base of figures of networks. Which of the publication's points it has: an empty choice stands for all."""

    networks: tuple[str, ...] = param((), "of the publication's", "user")
    batches: tuple[int, ...] = param((), "images; those of them that a network is run with", "the publication")
    gpus: tuple[int, ...] = param((), "places among the publication's GPUs, from 1", "the publication")
    ways: tuple[str, ...] = param((), "of the publication's; none: its first", "user")

    def check(self, spec: ReproductionSpec, figures: Mapping[str, Figure]) -> None:
        """Raise UserError for a network, way or GPU that the publication's runs do not have."""
        runs = spec.runs
        if runs is None:
            raise UserError("a figure of networks needs the publication's runs, which has paths")
        for name in self.networks:
            if name not in runs.networks:
                raise UserError(f"networks: {unknown_name('network', name, runs.networks)}")
        for way in self.ways:
            if way not in runs.ways:
                raise UserError(f"ways: {unknown_name('way', way, runs.ways)}")
        for place in self.gpus:
            if not 1 <= place <= len(runs.gpus):
                raise UserError(f"gpus: {place} is not allowed; the publication has {len(runs.gpus)}, from 1")

    @property
    def needed_gpus(self) -> int:
        """How many GPUs the publication has to have for the figure to show anything."""
        return max(self.gpus, default=1)

    def list_gpus(self, reproduction: Reproduction) -> list[str]:
        """List the names of the GPUs that the figure shows."""
        names = list(reproduction.runs.gpu_files)
        return [names[place - 1] for place in self.gpus if place <= len(names)] if self.gpus else names

    def list_places(self, reproduction: Reproduction) -> list[NetworkPoint]:
        """List networks, batches, GPUs and ways that the figure is of, in order."""
        runs = reproduction.runs
        return [
            NetworkPoint(network, batch, gpu, way)
            for network in self.networks or runs.networks
            for batch in runs.networks[network].batches
            if not self.batches or batch in self.batches
            for gpu in self.list_gpus(reproduction)
            for way in self.ways or tuple(runs.ways)[:1]
            if way in runs.list_ways(network)
        ]

    def points(self, reproduction: Reproduction) -> list[NetworkPoint]:
        """List the runs that the figure needs, in order."""
        return self.list_places(reproduction)

    def known_points(self, publication: Publication) -> Iterator[tuple[NetworkPoint, NetworkPointRecord]]:
        """Yield the points whose runs are known."""
        for point in self.points(publication.reproduction):
            if point.key in publication.results.networks:
                yield point, publication.results.networks[point.key]

    def list_missing(self, publication: Publication, where: Where, column: str) -> list[str]:
        """List the points with some labels that have not been run on a GPU."""
        return self.list_missing_on(publication, where, {column}, {"gpu"})

    def list_missing_on(self, publication: Publication, where: Where, gpus: set[str], free: set[str]) -> list[str]:
        """List the points on some GPUs that have not been run.

        Args:
            publication: The publication with its results.
            where: Labels of the points.
            gpus: Names of the GPUs.
            free: Labels among `where` that count for none of the points.
        """
        wanted = {label: label_names(names) for label, names in where.items() if label in LABELS and label not in free}
        return [
            point.key
            for point in self.points(publication.reproduction)
            if point.gpu in gpus
            and point.key not in publication.results.networks
            and all(point.labels[label] in names for label, names in wanted.items())
        ]

    def replaced(self, networks: Mapping[str, Any], batches: tuple[int, ...]) -> Self:
        """Return the figure of other networks and batches. batches: none stands for the figure's own."""
        update: dict[str, Any] = {"networks": tuple(name for name in self.networks if name in networks)}
        if batches and self.batches:
            update["batches"] = (max(batches),)
        return self.model_copy(update=update)


def settings_of(reproduction: Reproduction, point: NetworkPoint, exact: bool) -> NetworkSettings:
    """Load the settings of a point's run.

    Args:
        reproduction: The publication.
        point: The point.
        exact: Simulated in whole.

    Raises:
        UserError: A setting is not allowed.
    """
    runs = reproduction.runs
    sets = {**runs.sets, **runs.networks[point.network].sets, **runs.ways[point.way].sets}
    sets["sampling"] = None if exact else runs.sampling.model_dump(mode="json")
    ordered = dict(sorted(sets.items(), key=lambda item: item[0].count(".")))  # a section before its values
    try:
        return load_settings(files.opened(runs.gpu_files[point.gpu], "gpus"), assignments(ordered))
    except UserError as error:
        raise UserError(*(f"{point.key}: {problem}" for problem in error.problems)) from None


@cache
def load_network_once(file: str) -> Network:
    """Load a network by its file, once; raise UserError."""
    return load_network(file)
