"""Loss and accuracy over trainings, as `gpusim capture` recorded them from several seeds."""

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.formats import FIXED_1, FIXED_2, FIXED_3, PERCENT, TIMES
from gpusim.base.spec import param
from gpusim.base.student import interval
from gpusim.base.sums import plain_sum
from gpusim.base.view import View, column
from gpusim.lab.papers.figures.kinds import FigureContent, figure_kind, with_width
from gpusim.lab.papers.long_table import FigureRecord, repeat_on
from gpusim.lab.papers.pictures import lines
from gpusim.lab.papers.publication import Figure, Publication
from gpusim.lab.papers.views import LEARNING

EPOCHS_AVERAGED = 3
_COLUMNS = ("epoch", "train_loss", "train_accuracy", "test_accuracy")


@dataclass(frozen=True)
class LearningCurve:
    """What one seed's curves say, by epoch from 1."""

    loss: list[float]
    """Loss of the training's images."""
    fitted: list[float]
    """Accuracy on the training's images."""
    accuracy: list[float]
    """Accuracy on other images."""

    def epochs_to(self, loss: float) -> float:
        """Return after how many epochs the loss is first at or below one, between epochs by a straight line.

        Infinite where it never is.
        """
        for at, value in enumerate(self.loss):
            if value <= loss:
                before = self.loss[at - 1] if at else value
                return at + 1.0 if before == value else at + (before - loss) / (before - value)
        return math.inf

    def epochs_to_accuracy(self, level: float) -> float:
        """Return after how many epochs the mean accuracy of the last three is first at or above a level, or infinity.

        A thousand test images scatter by more than a point from epoch to epoch: a single epoch's value is reached too
        early by chance.
        """
        for epoch in range(1, len(self.accuracy) + 1):
            last = self.accuracy[max(0, epoch - EPOCHS_AVERAGED) : epoch]
            if plain_sum(last) / len(last) >= level:
                return float(epoch)
        return math.inf


def read_curve(path: str) -> LearningCurve:
    """Read a file of curves; raise UserError for one that is not."""
    rows = list(csv.DictReader(Path(path).read_text(encoding="utf-8").splitlines()))
    try:
        numbers = [[float(row.get(column) or "none") for column in _COLUMNS] for row in rows]
    except ValueError:
        raise UserError(f"{path}: is no file of curves with columns {', '.join(_COLUMNS)} in every row") from None
    if not numbers:
        raise UserError(f"{path}: has no epoch")
    return LearningCurve(*([row[column] for row in numbers] for column in range(1, len(_COLUMNS))))


Means = dict[str, tuple[float, float]]  # means over seeds with their half-widths, by measure


def _list_means(curves: dict[str, list[LearningCurve]], level: float) -> list[FigureRecord]:
    """List means over seeds of each network's last epoch, its epochs to a loss, and what it loses to the first."""
    first, records = Means(), []
    for name, seeds in curves.items():
        means = {
            "test_accuracy": interval([one.accuracy[-1] for one in seeds]),
            "train_accuracy": interval([one.fitted[-1] for one in seeds]),
            "loss": interval([one.loss[-1] for one in seeds]),
            "epochs": interval([one.epochs_to(level) for one in seeds]),
        }
        is_first, first = not first, first or means
        for lost, of in (("accuracy_lost", "test_accuracy"), ("fit_lost", "train_accuracy")):
            width = 0.0 if is_first else math.hypot(first[of][1], means[of][1])
            means[lost] = first[of][0] - means[of][0], width
        (above, above_width), (below, below_width) = means["epochs"], first["epochs"]
        if not is_first and math.isfinite(above / below):
            width = above / below * math.hypot(above_width / above, below_width / below)
            means["epochs_over_first"] = above / below, width
        values = {measure: value for measure, (value, _) in means.items()}
        widths = {measure: width for measure, (_, width) in means.items()}
        counts = {"seeds": len(seeds), "last": len(seeds[0].loss)}
        records.append(FigureRecord({"weights": name}, {**values, **counts}, widths))
    return records


@figure_kind("learning", Figure, files=("trainings",), formats={"epochs_over_first": TIMES})
def show_learning(
    figure: Figure,
    publication: Publication,
    *,
    trainings: dict[str, tuple[str, ...]] = param(
        ..., "files of curves by name, one for each seed; others are compared with the first name", "gpusim capture",
        min_length=2,
    ),
) -> FigureContent:  # fmt: skip
    """Show loss and accuracy over trainings, several of each network, from different seeds.

    The loss that epochs are counted to is half-way between the first network's first and last epoch.
    """
    curves = {name: [read_curve(path) for path in paths] for name, paths in trainings.items()}
    seeds = next(iter(curves.values()))
    level = (interval([curve.loss[0] for curve in seeds])[0] + interval([curve.loss[-1] for curve in seeds])[0]) / 2
    records = _list_means(curves, level)
    formats: dict[str, Callable[[float], str]] = {"loss": FIXED_3, "epochs": FIXED_1}
    formats |= dict.fromkeys(("train_accuracy", "test_accuracy", "accuracy_lost"), PERCENT)
    rows, lines_ = [], {}
    for record in records:
        texts = {measure: with_width(record, measure, write) for measure, write in formats.items()}
        if not math.isfinite(record.values["epochs"]):
            texts["epochs"] = "never"
        rows.append({**record.row, **texts})
    for name, seeds in curves.items():
        epochs = min(len(curve.accuracy) for curve in seeds)
        means = [100 * interval([curve.accuracy[at] for curve in seeds])[0] for at in range(epochs)]
        lines_[name] = (list(range(1, epochs + 1)), means)
    table = View((*LEARNING, column("epochs", f"epochs to a loss of {FIXED_2(level)}"))).table(rows)
    of_all = repeat_on(publication.reproduction.columns, records)
    return FigureContent([table], of_all, lines(figure.title, ("epoch", "test accuracy in %"), lines_))
