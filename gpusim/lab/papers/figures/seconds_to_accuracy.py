"""Simulated seconds to an accuracy: what an iteration takes, times the steps that recorded trainings needed.

A system may train faster by the iteration and slower by the epoch: circulant weights are the case. Neither number alone
answers which is trained first, so they are multiplied here, and bars over seeds go with the result.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from gpusim.base.errors import UserError
from gpusim.base.formats import FIXED_1, FIXED_2, GENERAL, TIMES
from gpusim.base.spec import Spec, param
from gpusim.base.student import interval
from gpusim.lab.papers.figures.fastest_passes import IterationCost, check_systems, list_costs
from gpusim.lab.papers.figures.kinds import FigureContent, figure_kind, with_width
from gpusim.lab.papers.figures.layers import LayersFigure
from gpusim.lab.papers.figures.learning import read_curve
from gpusim.lab.papers.long_table import FigureRecord
from gpusim.lab.papers.pictures import lines
from gpusim.lab.papers.publication import Figure, Publication, locate_files
from gpusim.lab.papers.specs.reproduction import ReproductionSpec
from gpusim.lab.papers.views import SECONDS_TO_ACCURACY

Accuracy = Annotated[float, Field(gt=0, lt=1)]


class SystemSpec(Spec):
    """A system that trains a network."""

    trainings: tuple[str, ...] = param(..., "files of curves, one for each seed", "gpusim capture", min_length=2)
    ways: tuple[str, ...] = param(
        ..., "the publication's ways with these weights: each pass takes the fastest of them", "user", min_length=1
    )


FORMATS: Mapping[str, Callable[[float], str]] = dict(
    epochs=FIXED_1, seconds=FIXED_2, joules=FIXED_2, compute_joules=FIXED_2, gain=TIMES, epochs_over_first=TIMES
)


def _locate(figure: Any, path: Path) -> Any:
    """Return the figure with the files of all systems' curves found; raise UserError."""
    systems = {
        name: system.model_copy(update={"trainings": locate_files(path, system.trainings)})
        for name, system in figure.systems.items()
    }
    return figure.model_copy(update={"systems": systems})


def _check(figure: Any, spec: ReproductionSpec, figures: Mapping[str, Figure]) -> None:
    """Raise UserError for ways that are not the figure's, several networks or batches, and absent measures."""
    check_systems(figure, spec, figures, _list_ways(figure.systems), ".ways")
    batches = [batch for network in figure.networks for batch in spec.runs.networks[network].batches]  # type: ignore[union-attr]
    if len(figure.networks) != 1 or len(batches) != 1:
        raise UserError("networks: must be one, which has one batch: curves are of a network and a batch")


def _list_ways(systems: Mapping[str, SystemSpec]) -> dict[str, tuple[str, ...]]:
    return {name: system.ways for name, system in systems.items()}


@figure_kind(
    "seconds_to_accuracy",
    LayersFigure,
    located=_locate,
    check=_check,
    format_of=lambda figure, measure: FORMATS.get(measure, FIXED_2),
)
def show_seconds_to_accuracy(
    figure: LayersFigure,
    publication: Publication,
    *,
    accuracies: tuple[Accuracy, ...] = param(..., "shares of right answers on test images", "user", min_length=1),
    images: int = param(..., "images of an epoch", "gpusim capture", ge=1),
    systems: dict[str, SystemSpec] = param(
        ..., "systems by name; others are compared with the first", "user", min_length=2
    ),
) -> FigureContent:
    """Show simulated seconds and joules of each system until a network reaches accuracies on test images.

    Values: each system's epochs, seconds and joules to each accuracy, and the first system's seconds over its.
    """
    curves = {name: [read_curve(path) for path in system.trainings] for name, system in systems.items()}
    (network,) = figure.networks
    (batch,) = publication.reproduction.runs.networks[network].batches
    steps = images // batch
    costs = {(place.gpu, name): cost for place, name, cost in list_costs(figure, publication, _list_ways(systems))}
    records, lines_ = [], {}
    for (gpu, name), cost in costs.items():
        accuracy = [curve.accuracy for curve in curves[name]]
        epochs_run = range(1, min(map(len, accuracy)) + 1)
        means = [100 * interval([one[epoch - 1] for one in accuracy])[0] for epoch in epochs_run]
        epoch_seconds = steps * cost.time_us / 1e6
        lines_[name] = ([epoch * epoch_seconds for epoch in epochs_run], means)
        for level in accuracies:
            reached = [curve.epochs_to_accuracy(level) for curve in curves[name]]
            values = {"iteration_us": cost.time_us, "seeds": len(reached)}
            widths = {"iteration_us": cost.time_half_width}
            values["reached"] = sum(map(math.isfinite, reached))
            if values["reached"] == len(reached):
                epochs, spread = interval(reached)
                values |= {"epochs": epochs, "seconds": epochs * steps * cost.time_us / 1e6}
                values["joules"] = epochs * steps * cost.energy_uj / 1e6
                relative = math.hypot(spread / epochs, cost.time_half_width / cost.time_us)
                widths |= {"epochs": spread, "seconds": relative * values["seconds"]}
                widths["joules"] = spread / epochs * values["joules"]
                if cost.compute_uj:
                    values["compute_joules"] = epochs * steps * cost.compute_uj / 1e6
                    relative = math.hypot(spread / epochs, cost.compute_half_width / cost.compute_uj)
                    widths["compute_joules"] = relative * values["compute_joules"]
            labels = {"network": network, "batch": str(batch), "gpu": gpu, "system": name, "accuracy": GENERAL(level)}
            records.append(FigureRecord(labels, values, widths, gpu))
    records = list(_compare(records, costs, systems))
    tables = [SECONDS_TO_ACCURACY.table(map(_row, records))] if records else []
    picture = lines(figure.title, ("simulated seconds", "test accuracy in %"), lines_) if lines_ else None
    return FigureContent(tables, records, picture)


def _compare(
    records: list[FigureRecord], costs: Mapping[tuple[str, str], IterationCost], systems: Mapping[str, SystemSpec]
) -> Iterator[FigureRecord]:
    """Yield the records with the ratios to the first system's, where both reach the accuracy.

    Args:
        records: What each system takes to each accuracy.
        costs: Iterations by GPU and system.
        systems: Systems by name.
    """
    first = next(iter(systems))
    firsts = {
        (record.labels["gpu"], record.labels["accuracy"]): record
        for record in records
        if record.labels["system"] == first
    }
    for record in records:
        base = firsts.get((record.labels["gpu"], record.labels["accuracy"]))
        ratios, widths = dict[str, float](), dict[str, float]()
        if base is not None and base is not record and "seconds" in base.values and "seconds" in record.values:
            if systems[record.labels["system"]].trainings == systems[first].trainings:
                # the same epochs: their scatter cancels, and so does that of passes that are the same
                pair = [costs[record.labels["gpu"], name] for name in (first, record.labels["system"])]
                ratios["gain"] = pair[0].time_us / pair[1].time_us
                widths["gain"] = ratios["gain"] * pair[0].ratio_half_width(pair[1])
            else:
                pairs = {"gain": ("seconds", base, record), "epochs_over_first": ("epochs", record, base)}
                for name, (measure, above, below) in pairs.items():
                    ratios[name] = above.values[measure] / below.values[measure]
                    parts = [side.half_widths[measure] / side.values[measure] for side in (above, below)]
                    widths[name] = ratios[name] * math.hypot(*parts)
        yield FigureRecord(
            record.labels, {**record.values, **ratios}, {**record.half_widths, **widths}, record.comparison
        )


def _row(record: FigureRecord) -> dict[str, object]:
    """Return a record's row, with half-widths as texts."""
    texts: dict[str, object] = {
        measure: with_width(record, measure, write) for measure, write in FORMATS.items() if measure in record.values
    }
    texts["iteration"] = FIXED_2(record.values["iteration_us"] / 1e3)
    texts["reached"] = f"{record.values['reached']} of {record.values['seeds']}"
    return {**record.labels, **texts}
