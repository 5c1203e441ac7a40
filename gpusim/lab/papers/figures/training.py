"""Equation 6.1: the speed-up of a training from those of its convolutional layers, which it weights by their time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from operator import add, sub
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import TIMES
from gpusim.base.plain_data import parse_as, read_json
from gpusim.base.spec import Spec, param
from gpusim.base.sums import weighted_mean
from gpusim.lab.monitor.training_speedup import TABLE_6_7, training_speedup
from gpusim.lab.papers.figures.compared import ComparisonFigure
from gpusim.lab.papers.figures.kinds import FigureContent, figure_kind
from gpusim.lab.papers.long_table import FigureRecord, Label, Where, matches
from gpusim.lab.papers.pictures import BarPanel, bars
from gpusim.lab.papers.publication import Figure, Publication, locate_files
from gpusim.lab.papers.specs.reproduction import ReproductionSpec
from gpusim.lab.papers.values import list_groups
from gpusim.lab.papers.views import TRAINING

PUBLISHED = "published"
FORWARD_WORK = 1 / 3  # of a layer's multiply-accumulates: forward, gradient of the data, gradient of the weights


class NetworkSpec(Spec):
    """A column of table 6.7."""

    figure: str = param(..., "the figure that has the layers' speed-ups", "user")
    where: dict[str, Label | list[Label]] = param({}, "labels of the speed-ups that count", "user")
    iteration: str | None = param(
        None,
        "file with the times of a simulated iteration's convolutions, by layer and pass, and of all of it; none: P is "
        "the published one, and a layer's forward pass a third of its time, as of its multiply-accumulates",
        "gpusim net",
    )


@dataclass(frozen=True)
class DenseIteration:
    """Shares of time in a dense iteration."""

    conv_share: float
    """Share P of all convolutional layers in the iteration."""
    shares: list[float]
    """Share C_i of each layer."""
    forward: list[float]
    """Share of the forward pass in each layer's time."""


def _locate(figure: Any, path: Path) -> Any:
    """Return the figure with its files found; raise UserError."""
    found = {
        name: one.model_copy(update={"iteration": one.iteration and locate_files(path, one.iteration)})
        for name, one in figure.networks.items()
    }
    return figure.model_copy(update={"networks": found})


def _check(figure: Any, spec: ReproductionSpec, figures: Mapping[str, Figure]) -> None:
    """Raise UserError for a figure of speed-ups that the publication does not have."""
    for network, one in figure.networks.items():
        if not isinstance(figures.get(one.figure), ComparisonFigure):
            raise UserError(f"networks.{network}.figure: '{one.figure}' is no figure of speed-ups of this publication")


def _find_compared(publication: Publication, network: NetworkSpec) -> ComparisonFigure:
    figure = publication.figures[network.figure]
    assert isinstance(figure, ComparisonFigure)
    return figure


def _list_missing(figure: Any, publication: Publication, where: Where, column: str) -> list[str]:
    """List the points of the layers that have not been run."""
    of_networks = (
        _find_compared(publication, one).list_missing(publication, one.where, column)
        for one in figure.networks.values()
    )
    return sorted({point for points in of_networks for point in points})


def _record(publication: Publication, network: str, spec: NetworkSpec, comparison: str) -> FigureRecord | None:
    """Compute a network's speed-ups by one comparison; None where not all layers are known.

    The training's half-width is that of layers whose errors are fully correlated.

    Args:
        publication: The publication with its results.
        network: Name of the network.
        spec: The network.
        comparison: Name of the comparison.
    """
    pair, compared = publication.spec.comparisons[comparison], _find_compared(publication, spec)
    groups = [group for group in list_groups(publication, compared) if matches(group.labels, spec.where)]
    estimates = [group.estimate("speedup", pair.path, pair.base) for group in groups]
    known, widths = ([one[part] for one in estimates if one is not None] for part in (0, 1))
    if not known or len(known) < len(groups):
        return None
    # a layer's time in the batch of the publication: batches of ours may differ from layer to layer
    times_us = [group.count * group.ways[pair.base].time_us / group.batch for group in groups]
    shares = [time / fsum(times_us) for time in times_us]
    published, counts = TABLE_6_7[network].conv_share, [group.count for group in groups]
    iteration = DenseIteration(published, shares, [FORWARD_WORK] * len(shares))
    if spec.iteration is not None:
        iteration = _simulated(Path(spec.iteration), [group.case for group in groups])
    parts = [[forward, 1 - forward] for forward in iteration.forward]
    least, sparse, most = (
        training_speedup(iteration.conv_share, iteration.shares, parts, [[gain, 1.0] for gain in gains])
        for gains in (list(map(sub, known, widths)), known, list(map(add, known, widths)))
    )
    values = {
        "layers": sum(counts),
        "mean_speedup": weighted_mean(known, counts),
        "harmonic": 1 / fsum(part / gain for part, gain in zip(shares, known, strict=True)),
        "all_passes": training_speedup(published, shares, [[1.0]] * len(shares), [[gain] for gain in known]),
        "conv_share": iteration.conv_share,
        "simulated": "yes" if spec.iteration is not None else "no",
        "training_speedup": sparse,
    }
    half_widths = {"training_speedup": (most - least) / 2, "mean_speedup": weighted_mean(widths, counts)}
    return FigureRecord({"network": network}, values, half_widths, comparison)


@figure_kind(
    "training",
    Figure,
    located=_locate,
    check=_check,
    list_missing=_list_missing,
    formats={"training_speedup": TIMES, "mean_speedup": TIMES},
)
def show_training(
    figure: Figure,
    publication: Publication,
    *,
    networks: dict[str, NetworkSpec] = param(..., "networks of table 6.7 by name", "user", min_length=1),
) -> FigureContent:
    """Show the speed-up of a training from those of its layers: as published, and by each comparison.

    Values: the training's speed-up, and the mean of the layers' speed-ups.
    """
    comparisons = publication.spec.comparisons
    speedups = {
        (network, name): _record(publication, network, networks[network], name)
        for network in networks
        for name in comparisons
    }
    rows = []
    for network in networks:
        table = TABLE_6_7[network]
        head = {"network": network, "published": table.conv_share}
        means = {"mean_speedup": table.mean_speedup, "harmonic": table.implied_mean, "all_passes": table.speedup}
        rows.append({**head, "whose": PUBLISHED, **means})
        for name, pair in comparisons.items():
            ours = speedups[network, name]
            rows += [{**head, "whose": pair.title, **ours.values}] if ours is not None else []
    series: dict[str, list[float | None]] = {PUBLISHED: [TABLE_6_7[network].speedup for network in networks]}
    for name, pair in comparisons.items():
        records = [speedups[network, name] for network in networks]
        series[pair.title] = [None if ours is None else ours.values["training_speedup"] for ours in records]
    panel = BarPanel("speed-up of the training", list(networks), series, line=1.0)
    known = [record for record in speedups.values() if record is not None]
    return FigureContent([TRAINING.table(rows)], known, bars(figure.title, [panel]))


@dataclass(frozen=True)
class _StoredIteration:
    """A simulated iteration of a dense training: layer, pass and time in microseconds of each convolution."""

    point: str
    iteration_us: float
    convolutions: list[tuple[str, str, float]]


def _simulated(path: Path, layers: Sequence[str]) -> DenseIteration:
    """Return the shares of a simulated iteration's layers; raise UserError for a layer that it has not."""
    stored = parse_as(_StoredIteration, read_json(path), str(path))
    convolutions = stored.convolutions
    passes = {layer: {what: time for name, what, time in convolutions if name == layer} for layer in layers}
    for layer, found in passes.items():
        if "forward" not in found:
            raise UserError(f"{stored.point}: {unknown_name('layer', layer, [row[0] for row in convolutions])}")
    times_us = [fsum(found.values()) for found in passes.values()]
    whole = fsum(times_us)
    forward = [found["forward"] / time for found, time in zip(passes.values(), times_us, strict=True)]
    return DenseIteration(whole / stored.iteration_us, [time / whole for time in times_us], forward)
