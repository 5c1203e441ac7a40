"""Equation 6.1: the speed-up of a training from those of its convolutional layers, which it weights by their time."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum

from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.sums import weighted_mean
from gpusim.base.table import Column, Table
from gpusim.config.figure import ComparedFigure, NetworkSpec, TrainingFigure
from gpusim.config.reproduction import ComparisonSpec, Reproduction
from gpusim.reproduce.kept import Results
from gpusim.reproduce.pictures import Bars, bars
from gpusim.reproduce.values import Value, groups, matches, measured, times
from workloads.monitor.training_speedup import TABLE_6_7, training_speedup

PUBLISHED = "published"


@dataclass(frozen=True)
class Trained:
    """A network's speed-ups by one comparison.

    mean: of its layers'; harmonic: the same weighted by the base's time; training: of the training by the equation;
    from_mean: of the training if the mean were the layers' speed-up.
    """

    layers: int
    mean: float
    harmonic: float
    training: float
    from_mean: float


def _trained(
    reproduction: Reproduction, figure: TrainingFigure, results: Results, network: str, comparison: ComparisonSpec
) -> Trained | None:
    """Compute a network's speed-ups by one comparison; None where not all layers are known."""
    spec: NetworkSpec = figure.networks[network]
    compared = reproduction.figures[spec.figure]
    assert isinstance(compared, ComparedFigure)
    held = [g for g in groups(reproduction, compared, results) if matches(g.labels, spec.where)]
    gains = [measured(group, "speedup", comparison.path, comparison.base) for group in held]
    known = [gain for gain in gains if gain is not None]
    if not known or len(known) < len(gains):
        return None
    # a layer's time in the batch of the publication: batches of ours may differ from layer to layer
    times_us = [g.count * g.ways[comparison.base].metrics["kernel.time_us"] / g.batch for g in held]
    shares = [time / fsum(times_us) for time in times_us]
    share = TABLE_6_7[network].conv_share
    whole = training_speedup(share, shares, [[1.0]] * len(shares), [[gain] for gain in known])
    harmonic = 1 / fsum(part / gain for part, gain in zip(shares, known, strict=True))
    counts = [group.count for group in held]
    mean = weighted_mean(known, counts)
    return Trained(sum(counts), mean, harmonic, whole, training_speedup(share, [1.0], [[1.0]], [[mean]]))


def tables(reproduction: Reproduction, figure: TrainingFigure, results: Results) -> Iterator[Table]:
    """Yield a table with a row for each network: as published, and by each comparison."""
    columns = [Column("network"), Column("P", percent), Column("whose"), Column("layers")]
    columns += [Column("mean of the layers", times), Column("weighted by time", times)]
    columns += [Column("training by the equation", times), Column("training, if the mean held", times)]
    rows: list[list[object]] = []
    for network in figure.networks:
        said = TABLE_6_7[network]
        head = [network, said.conv_share]
        rows.append([*head, PUBLISHED, None, said.mean_speedup, said.implied_mean, said.speedup, said.from_mean])
        for one in reproduction.spec.comparisons.values():
            ours = _trained(reproduction, figure, results, network, one)
            if ours is not None:
                numbers = [ours.mean, ours.harmonic, ours.training, ours.from_mean]
                rows.append([*head, one.title, ours.layers, *numbers])
    yield Table(columns, rows)


def values(reproduction: Reproduction, figure: TrainingFigure, results: Results) -> Iterator[Value]:
    """Yield the training's speed-up, and the mean of the layers' speed-ups."""
    for network in figure.networks:
        for name, one in reproduction.spec.comparisons.items():
            ours = _trained(reproduction, figure, results, network, one)
            if ours is not None:
                yield Value("training_speedup", name, {"network": network}, ours.training)
                yield Value("mean_speedup", name, {"network": network}, ours.mean)


def picture(reproduction: Reproduction, figure: TrainingFigure, results: Results) -> Picture:
    """Draw a bar for each comparison, next to the published one."""
    names = list(figure.networks)
    series: dict[str, list[float | None]] = {PUBLISHED: [TABLE_6_7[name].speedup for name in names]}
    for one in reproduction.spec.comparisons.values():
        found = [_trained(reproduction, figure, results, name, one) for name in names]
        series[one.title] = [None if ours is None else ours.training for ours in found]
    return bars(figure.title, [Bars("speed-up of the training", names, series, line=1.0)])
