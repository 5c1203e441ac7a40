"""Points that are runs of networks: which ones figures need, each a configuration of `gpusim net`."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from gpusim.base.errors import UserError
from gpusim.config import files
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings, load_settings
from gpusim.config.tree import assignments
from gpusim.lab.papers.specs.claim import Label
from gpusim.lab.papers.specs.layer_figure import LayerMemoryFigure, LayersFigure, NetworkFigure, RatiosFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from workloads.networks.graph import Network

LABELS = ("network", "batch", "gpu", "way")


@dataclass(frozen=True)
class NetworkPoint:
    """A run that figures need. labels: network, batch, gpu and way, all as texts."""

    network: str
    batch: int
    gpu: str
    way: str

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
    gpus: frozenset[str] = field(default_factory=frozenset)
    batches: frozenset[int] = field(default_factory=frozenset)

    def has(self, point: NetworkPoint) -> bool:
        """Tell whether a point is asked for."""
        return (
            (not self.networks or point.network in self.networks)
            and (not self.gpus or point.gpu in self.gpus)
            and (not self.batches or point.batch in self.batches)
        )


def network_points(reproduction: Reproduction, figure: NetworkFigure) -> list[NetworkPoint]:
    """List the figure's points in order; none for figures that need no run."""
    return [] if isinstance(figure, LayerMemoryFigure) else list_network_points(reproduction, figure)


def list_network_points(reproduction: Reproduction, figure: NetworkFigure) -> list[NetworkPoint]:
    """List networks, batches, GPUs and ways that a figure is of, in order."""
    runs = reproduction.runs
    gpus = list_gpus(reproduction, figure)
    ways = figure.ways or tuple(runs.ways)[:1]
    return [
        NetworkPoint(network, batch, gpu, way)
        for network in figure.networks or runs.networks
        for batch in runs.networks[network].batches
        if not figure.batches or batch in figure.batches
        for gpu in gpus
        for way in ways
    ]


def list_gpus(reproduction: Reproduction, figure: NetworkFigure) -> list[str]:
    """List the names of the GPUs that a figure shows."""
    held = list(reproduction.runs.gpu_files)
    return [held[place - 1] for place in figure.gpus if place <= len(held)] if figure.gpus else held


def settings_of(reproduction: Reproduction, point: NetworkPoint, exact: bool) -> NetworkSettings:
    """Load the settings of a point's run; raise UserError. exact: simulated in whole."""
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


def missing_points(
    reproduction: Reproduction,
    figure: NetworkFigure,
    known: Collection[str],
    where: Mapping[str, Label | list[Label]],
    gpu: str,
) -> list[str]:
    """List the keys of the points that a claim about a figure needs on a GPU and that are not known."""
    across = isinstance(figure, RatiosFigure) and figure.label == "gpu"  # such a claim needs the first GPU's, too
    needed = {gpu, *list_gpus(reproduction, figure)[:1]} if across else {gpu}
    free = {"gpu", figure.label} if isinstance(figure, RatiosFigure) else {"gpu"}
    wanted = {label: held for label, held in where.items() if label in LABELS and label not in free}
    return [
        point.key
        for point in network_points(reproduction, figure)
        if point.gpu in needed and point.key not in known and _are(point.labels, wanted)
    ]


def _are(labels: Mapping[str, str], wanted: Mapping[str, Label | list[Label]]) -> bool:
    return all(
        labels[label] in {str(one) for one in (held if isinstance(held, list) else [held])}
        for label, held in wanted.items()
    )


def measured_figures(reproduction: Reproduction) -> Iterator[tuple[str, LayersFigure]]:
    """Yield the figures that measure layers, by name."""
    for name, figure in reproduction.figures.items():
        if isinstance(figure, LayersFigure):
            yield name, figure
