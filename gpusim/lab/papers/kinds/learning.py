"""Loss and accuracy over trainings, as `gpusim capture` recorded them from several seeds."""

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.student import interval
from gpusim.base.table import Column, Table
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.pictures import lines
from gpusim.lab.papers.specs.figure import LearningFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import FigureValue

_COLUMNS = ("epoch", "train_loss", "train_accuracy", "test_accuracy")


@dataclass(frozen=True)
class SeedMean:
    """A mean over seeds."""

    value: float
    """Mean."""
    half_width: float
    """Half-width of the 95 % confidence interval by Student's t; 0: a single seed."""

    @classmethod
    def of(cls, values: list[float]) -> "SeedMean":
        """Return the mean of independent values."""
        return cls(*interval(values))


@dataclass(frozen=True)
class LearningCurve:
    """What one seed's curves say, by epoch from 1: loss and accuracy of the training's images, accuracy of others."""

    loss: list[float]
    fitted: list[float]
    accuracy: list[float]

    def epochs_to(self, loss: float) -> float:
        """Return after how many epochs the loss is first at or below one, between epochs by a straight line.

        Infinite where it never is.
        """
        for at, held in enumerate(self.loss):
            if held <= loss:
                before = self.loss[at - 1] if at else held
                return at + 1.0 if before == held else at + (before - loss) / (before - held)
        return math.inf


def _read(path: str) -> LearningCurve:
    """Read a file of curves; raise UserError for one that is not."""
    rows = list(csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines()))
    try:
        held = [[float(row[column]) for column in _COLUMNS] for row in rows]
    except (KeyError, ValueError, TypeError):
        raise UserError(f"{path}: is no file of curves with columns {', '.join(_COLUMNS)} in every row") from None
    if not held:
        raise UserError(f"{path}: has no epoch")
    return LearningCurve(*([row[column] for row in held] for column in range(1, len(_COLUMNS))))


def _trainings(figure: LearningFigure) -> dict[str, list[LearningCurve]]:
    return {name: [_read(path) for path in paths] for name, paths in figure.trainings.items()}


def _half_way(held: dict[str, list[LearningCurve]]) -> float:
    """Return the loss half-way between the first network's first and last epoch."""
    first = next(iter(held.values()))
    return (SeedMean.of([one.loss[0] for one in first]).value + SeedMean.of([one.loss[-1] for one in first]).value) / 2


def _measured(held: dict[str, list[LearningCurve]]) -> Iterator[tuple[str, dict[str, SeedMean]]]:
    """Yield what is measured of each network, with its last epoch's values."""
    level = _half_way(held)
    base: dict[str, SeedMean] = {}
    for name, seeds in held.items():
        found = {
            "test_accuracy": SeedMean.of([one.accuracy[-1] for one in seeds]),
            "train_accuracy": SeedMean.of([one.fitted[-1] for one in seeds]),
            "loss": SeedMean.of([one.loss[-1] for one in seeds]),
            "epochs": SeedMean.of([one.epochs_to(level) for one in seeds]),
        }
        base = base or found
        fell = {"accuracy_lost": "test_accuracy", "fit_lost": "train_accuracy"}
        yield name, found | {lost: _difference(base[of], found[of]) for lost, of in fell.items()}


def _difference(first: SeedMean, other: SeedMean) -> SeedMean:
    """Return how much lower another mean is than the first one; 0 of the first itself."""
    return SeedMean(
        first.value - other.value, math.hypot(first.half_width, other.half_width) if other is not first else 0.0
    )


def tables(reproduction: Reproduction, figure: LearningFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table with a row for each network: means over seeds with half-widths."""
    held = _trainings(figure)
    columns = [Column("weights"), Column("seeds"), Column("epochs")]
    columns += [Column("loss, last epoch"), Column("accuracy on its own images"), Column("test accuracy")]
    columns += [Column("accuracy lost")]
    columns += [Column(f"epochs to a loss of {_half_way(held):.2f}")]
    rows: list[list[object]] = []
    for name, found in _measured(held):
        epochs = found["epochs"]
        rows.append(
            [
                name,
                len(held[name]),
                len(held[name][0].loss),
                _text(found["loss"], "{:.3f}".format),
                *(_text(found[of], percent) for of in ("train_accuracy", "test_accuracy", "accuracy_lost")),
                _text(epochs, partial("{:.1f}".format)) if math.isfinite(epochs.value) else "never",
            ]
        )
    yield Table(columns, rows)


def _text(mean: SeedMean, shown: object) -> str:
    assert callable(shown)
    return f"{shown(mean.value)} ± {shown(mean.half_width)}" if mean.half_width else str(shown(mean.value))


def values(reproduction: Reproduction, figure: LearningFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield each network's values of the last epoch, and its epochs to a loss over the first network's; for any GPU."""
    held = _trainings(figure)
    first: dict[str, SeedMean] = {}
    for name, found in _measured(held):
        first = first or found
        for gpu in reproduction.columns:
            labels = {"weights": name, "gpu": gpu}
            for measure in ("test_accuracy", "train_accuracy", "loss", "accuracy_lost", "fit_lost"):
                yield FigureValue(measure, gpu, labels, found[measure].value, half_width=found[measure].half_width)
            above, below = found["epochs"], first["epochs"]
            ratio = above.value / below.value
            if found is not first and math.isfinite(ratio):
                width = ratio * math.hypot(above.half_width / above.value, below.half_width / below.value)
                yield FigureValue("epochs_over_first", gpu, labels, ratio, half_width=width)


def picture(reproduction: Reproduction, figure: LearningFigure, results: ReproductionResults) -> Picture:
    """Draw the mean test accuracy of each network over the epochs."""
    curves = {}
    for name, seeds in _trainings(figure).items():
        epochs = min(len(one.accuracy) for one in seeds)
        means = [100 * SeedMean.of([one.accuracy[at] for one in seeds]).value for at in range(epochs)]
        curves[name] = (list(range(1, epochs + 1)), means)
    return lines(figure.title, ("epoch", "test accuracy in %"), curves)
