"""Equation 6.1: the speed-up of a training from those of its convolutional layers, which it weights by their time."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from operator import add, sub
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.sums import weighted_mean
from gpusim.base.table import Column, Table
from gpusim.lab.monitor.training_speedup import TABLE_6_7, training_speedup
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.pictures import BarPanel, bars
from gpusim.lab.papers.specs.figure import ComparisonFigure, NetworkSpec, TrainingFigure
from gpusim.lab.papers.specs.reproduction import ComparisonSpec, Reproduction
from gpusim.lab.papers.values import FigureValue, groups, matches, measured, spreads, times

PUBLISHED = "published"
FORWARD_WORK = 1 / 3  # of a layer's multiply-accumulates: forward, gradient of the data, gradient of the weights


@dataclass(frozen=True)
class DenseIteration:
    """Shares of time in a dense iteration."""

    conv_share: float
    """Share P of all convolutional layers in the iteration."""
    shares: list[float]
    """Share C_i of each layer."""
    forward: list[float]
    """Share of the forward pass in each layer's time."""
    measured: bool = False
    """The iteration was simulated; otherwise its shares are published."""


@dataclass(frozen=True)
class TrainingSpeedups:
    """Speed-ups of a network's training in one comparison."""

    layers: int
    """Number of layers."""
    mean: float
    """Mean speed-up of the layers."""
    harmonic: float
    """Harmonic mean, weighted by the base's time."""
    all_passes: float
    """Speed-up of the training by the equation, if all passes gain as much as the forward pass."""
    training: float
    """Speed-up of the training with dense gradient passes."""
    iteration: DenseIteration
    """Shares of time behind `training`."""
    widths: tuple[float, float]
    """Half-widths of `training` and `mean`, with the layers' errors fully correlated."""


def _trained(
    reproduction: Reproduction,
    figure: TrainingFigure,
    results: ReproductionResults,
    network: str,
    comparison: ComparisonSpec,
) -> TrainingSpeedups | None:
    """Compute a network's speed-ups by one comparison; None where not all layers are known."""
    spec: NetworkSpec = figure.networks[network]
    compared = reproduction.figures[spec.figure]
    assert isinstance(compared, ComparisonFigure)
    held = [g for g in groups(reproduction, compared, results) if matches(g.labels, spec.where)]
    gains = [measured(group, "speedup", comparison.path, comparison.base) for group in held]
    known = [gain for gain in gains if gain is not None]
    if not known or len(known) < len(gains):
        return None
    # a layer's time in the batch of the publication: batches of ours may differ from layer to layer
    times_us = [g.count * g.ways[comparison.base].metrics["kernel.time_us"] / g.batch for g in held]
    shares = [time / fsum(times_us) for time in times_us]
    published = TABLE_6_7[network].conv_share
    whole = training_speedup(published, shares, [[1.0]] * len(shares), [[gain] for gain in known])
    harmonic = 1 / fsum(part / gain for part, gain in zip(shares, known, strict=True))
    counts = [group.count for group in held]
    mean = weighted_mean(known, counts)
    iteration = DenseIteration(published, shares, [FORWARD_WORK] * len(shares))
    if spec.iteration is not None:
        iteration = _simulated(json.loads(Path(spec.iteration).read_text()), [group.case for group in held])
    parts = [[forward, 1 - forward] for forward in iteration.forward]
    moved = spreads(reproduction, results)
    doubts = [
        gain * moved.of(g, "speedup", comparison.path, comparison.base) for g, gain in zip(held, known, strict=True)
    ]
    least, sparse, most = (
        training_speedup(iteration.conv_share, iteration.shares, parts, [[gain, 1.0] for gain in gains_])
        for gains_ in (list(map(sub, known, doubts)), known, list(map(add, known, doubts)))
    )
    widths = ((most - least) / 2, weighted_mean(doubts, counts))
    return TrainingSpeedups(
        layers=sum(counts),
        mean=mean,
        harmonic=harmonic,
        all_passes=whole,
        training=sparse,
        iteration=iteration,
        widths=widths,
    )


def _simulated(held: Mapping[str, Any], layers: Sequence[str]) -> DenseIteration:
    """Return the shares of a simulated iteration's layers; raise UserError for a layer that it has not."""
    passes = {layer: {what: time for name, what, time in held["convolutions"] if name == layer} for layer in layers}
    for layer, found in passes.items():
        if "forward" not in found:
            raise UserError(
                f"{held['point']}: {unknown_name('layer', layer, [row[0] for row in held['convolutions']])}"
            )
    times_us = [fsum(found.values()) for found in passes.values()]
    whole = fsum(times_us)
    forward = [found["forward"] / time for found, time in zip(passes.values(), times_us, strict=True)]
    return DenseIteration(whole / held["iteration_us"], [time / whole for time in times_us], forward, True)


def tables(reproduction: Reproduction, figure: TrainingFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table with a row for each network: as published, and by each comparison."""
    columns = [Column("network"), Column("P, published", percent), Column("whose"), Column("layers")]
    columns += [Column("mean of the layers", times), Column("weighted by time", times)]
    columns += [
        Column("training, if gradients gained as much", times),
        Column("the layers' part of an iteration", percent),
    ]
    columns += [Column("simulated"), Column("training, forward passes alone", times)]
    rows: list[list[object]] = []
    for network in figure.networks:
        said = TABLE_6_7[network]
        head = [network, said.conv_share]
        rows.append([*head, PUBLISHED, None, said.mean_speedup, said.implied_mean, said.speedup, None, None, None])
        for one in reproduction.spec.comparisons.values():
            ours = _trained(reproduction, figure, results, network, one)
            if ours is not None:
                simulated = "yes" if ours.iteration.measured else "no"
                numbers = [ours.mean, ours.harmonic, ours.all_passes, ours.iteration.conv_share, simulated]
                rows.append([*head, one.title, ours.layers, *numbers, ours.training])
    yield Table(columns, rows)


def values(reproduction: Reproduction, figure: TrainingFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield the training's speed-up, and the mean of the layers' speed-ups."""
    for network in figure.networks:
        for name, one in reproduction.spec.comparisons.items():
            ours = _trained(reproduction, figure, results, network, one)
            if ours is not None:
                labels, (training, mean) = {"network": network}, ours.widths
                yield FigureValue("training_speedup", name, labels, ours.training, half_width=training)
                yield FigureValue("mean_speedup", name, labels, ours.mean, half_width=mean)


def picture(reproduction: Reproduction, figure: TrainingFigure, results: ReproductionResults) -> Picture:
    """Draw a bar for each comparison, next to the published one."""
    names = list(figure.networks)
    series: dict[str, list[float | None]] = {PUBLISHED: [TABLE_6_7[name].speedup for name in names]}
    for one in reproduction.spec.comparisons.values():
        found = [_trained(reproduction, figure, results, name, one) for name in names]
        series[one.title] = [None if ours is None else ours.training for ours in found]
    return bars(figure.title, [BarPanel("speed-up of the training", names, series, line=1.0)])
