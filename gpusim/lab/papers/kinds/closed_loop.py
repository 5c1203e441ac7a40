"""Whole trainings over recorded zeros in which the monitor decides, layer by layer, beside other ways to decide."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import hypot
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.table import Column, Table
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor.closed_loop import DENSE, ORACLE, SHAPE, THRESHOLD, PolicyOutcome, TimedTraining, timed_training
from gpusim.lab.monitor.closed_loop import closed_loop as policies_of
from gpusim.lab.monitor.curves import find_curves
from gpusim.lab.monitor.scheduler import MonitorError
from gpusim.lab.papers.kept import ReproductionResults
from gpusim.lab.papers.pictures import BarPanel, bars
from gpusim.lab.papers.specs.figure import ClosedLoopFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import OURS, FigureValue, times


@dataclass(frozen=True)
class _Training:
    """A training: what was simulated of it, and its time under each policy by name."""

    name: str
    iterations: int
    timed: TimedTraining
    by: dict[str, PolicyOutcome]

    def speedup(self, policy: str, over: str = DENSE) -> float:
        """Return how many times as fast as under another policy it is."""
        return self.by[over].time_us / self.by[policy].time_us

    def doubt(self, *policies: str) -> float:
        """Return the relative half-width of a ratio of policies' times that the lines between points leave."""
        return hypot(*(self.by[policy].doubt for policy in policies))


def _trainings(figure: ClosedLoopFigure) -> Iterator[_Training]:
    """Yield the figure's trainings; raise UserError for a file of another form."""
    for name, file in figure.trainings.items():
        try:
            held = json.loads(Path(file).read_text(encoding="utf-8"))
            timed, curves = timed_training(held), find_curves(held["curves"])
            found = policies_of(timed, curves, MonitorSpec(**figure.settings))
        except (ValueError, KeyError, TypeError, MonitorError) as error:
            raise UserError(f"{file}: {error}") from None
        yield _Training(name, curves.length, timed, {one.policy: one for one in found})


def tables(reproduction: Reproduction, figure: ClosedLoopFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of whole trainings by policy, and one of the passes that can skip zeros."""
    held = list(_trainings(figure))
    columns = [Column("training"), Column("iterations", "{:,}".format), Column("decided by")]
    columns += [Column("time, s", "{:,.1f}".format), Column("speed-up", "{:.3f}×".format)]
    columns += [Column("by lines between points, at most", "±{:.2%}".format), Column("monitor's own part", percent)]
    columns += [Column("sparse", percent), Column("not as the oracle", percent), Column("changes")]
    rows = [
        [
            one.name,
            one.iterations,
            policy,
            done.time_us / 1e6,
            one.speedup(policy),
            done.doubt,
            done.measuring_us / done.time_us,
            done.sparse,
            done.misjudged,
            done.changes,
        ]
        for one in held
        for policy, done in one.by.items()
    ]
    yield Table(columns, rows)
    columns = [Column("training"), Column("layer"), Column("pass"), Column("part of an iteration", percent)]
    columns += [Column("zeros"), Column("speed-up there"), Column("line off", percent), Column("break-even", percent)]
    columns += [Column(f"sparse, {policy}", percent) for policy in (THRESHOLD, SHAPE, ORACLE)]
    rows = [
        [
            one.name,
            each.layer,
            each.what,
            each.dense_us / one.timed.iteration_us,
            ", ".join(f"{zeros:.0%}" for zeros in each.zeros),
            ", ".join(times(each.dense_us / spent) for spent in each.sparse_us),
            each.interpolation_error,
            each.break_even,
            *(one.by[policy].by_pass[number] for policy in (THRESHOLD, SHAPE, ORACLE)),
        ]
        for one in held
        for number, each in enumerate(one.timed.passes)
    ]
    yield Table(columns, rows, "passes", "Passes that can skip zeros, as simulated:")


def values(reproduction: Reproduction, figure: ClosedLoopFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield each policy's speed-up, the part of the oracle's gain that the closed loop has, what measuring takes."""
    for one in _trainings(figure):
        for policy in one.by:
            labels = {"training": one.name, "policy": policy}
            speedup = one.speedup(policy)
            yield FigureValue("speedup", OURS, labels, speedup, half_width=speedup * one.doubt(policy))
            yield FigureValue("measuring", OURS, labels, one.by[policy].measuring_us / one.by[policy].time_us)
            for measure, other in (("over_threshold", THRESHOLD), ("over_oracle", ORACLE)):
                ratio = one.speedup(policy, other)
                yield FigureValue(measure, OURS, labels, ratio, half_width=ratio * one.doubt(policy, other))


def picture(reproduction: Reproduction, figure: ClosedLoopFigure, results: ReproductionResults) -> Picture:
    """Draw a bar for each policy of each training: its speed-up."""
    held = list(_trainings(figure))
    series: dict[str, list[float | None]] = {
        policy: [one.speedup(policy) for one in held] for policy in held[0].by if policy != DENSE
    }
    widths = {policy: [one.speedup(policy) * one.doubt(policy) for one in held] for policy in series}
    return bars(
        figure.title, [BarPanel("speed-up of the training", [one.name for one in held], series, widths, line=1.0)]
    )
