"""Sparsity over trainings as it was recorded, what the sparsity monitor makes of it, and what measuring it costs."""

import json
from collections.abc import Iterator
from dataclasses import replace
from math import hypot
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from gpusim.base.errors import UserError
from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.spec import param
from gpusim.base.table import Column, Table, amount
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor import picture as drawing
from gpusim.lab.monitor.closed_loop import DENSE, ORACLE, SHAPE, THRESHOLD, TimedTraining, closed_loop, timed_training
from gpusim.lab.monitor.curves import find_curves
from gpusim.lab.monitor.overhead import TABLE_6_6, expected_share, monitored_overhead
from gpusim.lab.monitor.replay import MapReplay, Replay, replay
from gpusim.lab.monitor.scheduler import MonitorError
from gpusim.lab.papers.pictures import bars, lines
from gpusim.lab.papers.publication import Figure, FigureValue, Publication
from gpusim.lab.papers.values import times
from gpusim.lab.papers.views import Cells, FigureRecord, build_panel, build_table, list_values

LATE = 0.5  # of a training: from there on its curves are called stable


class CurvesFigure(Figure):
    """Sparsity of a map over a training."""

    kind: Literal["curves"] = param("curves", "what is shown", "")
    curves: str = param(..., "recorded curves: a file, or the name of shipped ones", "gpusim capture")
    maps: tuple[str, ...] = param((), "maps that are shown; none: all", "user")

    def _lines(self) -> Iterator[tuple[str, list[int], Any]]:
        """Yield the name of each map shown, its iterations, and its sparsity in each."""
        curves = find_curves(self.curves)
        for name in self.maps or curves.maps:
            yield name, curves.iterations.tolist(), curves.sparsity[:, curves.maps.index(name)]

    def _records(self) -> Iterator[FigureRecord]:
        for name, iterations, line in self._lines():
            late = line[np.asarray(iterations) >= LATE * iterations[-1]]
            found = {"first": float(line[0]), "sparsity": float(line[-1]), "later_spread": float(np.ptp(late))}
            yield FigureRecord({"map": name}, found)

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of each map's first and last sparsity, and its range in the later half."""
        columns = [Cells("map"), Cells("first", "first", percent), Cells("last", "sparsity", percent)]
        yield build_table(self._records(), [*columns, Cells("moves later by", "later_spread", percent)])

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield the first and last sparsity of each map, and its range in the later half."""
        return list_values(self._records())

    def picture(self, publication: Publication) -> Picture:
        """Draw a line for each map."""
        shown = {name: (iterations, (100 * line).tolist()) for name, iterations, line in self._lines()}
        return lines(self.title, ("iteration", "sparsity in %"), shown)


class MonitorFigure(Figure):
    """The sparsity monitor's measurements along recorded curves."""

    kind: Literal["monitor"] = param("monitor", "what is shown", "")
    curves: str = param(..., "recorded curves: a file, or the name of shipped ones", "gpusim capture")
    map: str = param(..., "the map that is shown", "user")
    settings: dict[str, Any] = param({}, "of the monitor, beside its defaults", "user")

    def _replay(self) -> tuple[Replay, MapReplay]:
        """Return the replay of the monitor over all maps, whose states they share; and that of the map shown."""
        found = replay(find_curves(self.curves), MonitorSpec(**self.settings))
        return found, next(one for one in found.maps if one.name == self.map)

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of the map's processes: their iterations, the sparsity measured, the true one at their ends."""
        _, shown = self._replay()
        columns = [Column("first iteration"), Column("last"), Column("measured", percent), Column("true", percent)]
        yield Table(columns, [[p.start, p.last, p.sparsity, float(shown.truth[p.last])] for p in shown.processes])

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield mean and largest error of the belief, and the shares of iterations with a measurement and sparse."""
        _, shown = self._replay()
        found = {"mean_error": shown.mean_error, "largest_error": shown.max_error}
        found |= {"measured": shown.share_measured, "sparse": shown.share_sparse}
        return list_values([FigureRecord({"map": self.map}, found)])

    def picture(self, publication: Publication) -> Picture:
        """Draw the true sparsity as a line, each process as a cross, hibernation shaded."""
        found, shown = self._replay()
        return drawing.picture(replace(found, maps=(shown,)))


class OverheadsFigure(Figure):
    """Table 6.6: the cost of measuring sparsity in a training, by the model and as measured on a real GPU."""

    kind: Literal["overheads"] = param("overheads", "what is shown", "")
    measured: dict[str, tuple[str, ...]] = param(
        {},
        "files of `gpusim monitor --train MODEL --json FILE`, by network; the first one's cost is what counts",
        "a real GPU",
    )

    files = ("measured",)

    def _measured(self) -> dict[str, list[dict[str, Any]]]:
        return {name: [json.loads(Path(file).read_text()) for file in files] for name, files in self.measured.items()}

    def _records(self) -> Iterator[FigureRecord]:
        """Yield the networks; the monitor's overhead is that of a training as long as the publication's."""
        measured = self._measured()
        for name, published in TABLE_6_6.items():
            share = expected_share(published.iterations)
            cost = measured[name][0]["overhead"]["exhaustive"] if name in measured else None
            found = {
                "iterations": published.iterations,
                "exhaustive": published.exhaustive,
                "monitored": published.monitored,
                "modelled": monitored_overhead(published.exhaustive, share),
                "measured_exhaustive": cost,
                "measured_overhead": None if cost is None else monitored_overhead(cost, share),
            }
            yield FigureRecord({"network": name}, found)

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table with a row for each network, and one of the measurements."""
        columns = [
            Cells("network"),
            Cells("iterations", "iterations", amount),
            Cells("exhaustive, published", "exhaustive", percent),
            Cells("monitor, published", "monitored", percent),
            Cells("monitor, by the model", "modelled", percent),
            Cells("exhaustive, measured", "measured_exhaustive", percent),
            Cells("monitor, at that cost", "measured_overhead", percent),
        ]
        yield build_table(self._records(), columns)
        measured = self._measured()
        if not measured:
            return
        milliseconds = "{:.2f}".format
        columns = [
            Cells("network"),
            Cells("batch"),
            Cells("an iteration, ms", "plain", milliseconds),
            Cells("measuring in each, ms", "exhaustive", milliseconds),
            Cells("monitored, ms", "monitored", milliseconds),
            Cells("iterations", "iterations", amount),
            Cells("of them measured", "share_measured", percent),
            Cells("monitor's overhead", "overhead", percent),
            Cells("counted on the", "place"),
            Cells("device"),
        ]
        records = [
            FigureRecord(
                {"network": name},
                {
                    **{what: 1e3 * one[f"{what}_s"] for what in ("plain", "exhaustive", "monitored")},
                    **{"overhead": one["overhead"]["monitored"], **one["plan"]},
                    **{what: one[what] for what in ("share_measured", "device")},
                },
            )
            for name, several in measured.items()
            for one in several
        ]
        yield build_table(records, columns, "measured", "Measured, on random images:")

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield the monitor's overhead at the cost of a measurement on a real GPU, and that cost."""
        return list_values(self._records())


class ClosedLoopFigure(Figure):
    """Whole trainings in which the monitor decides layer by layer, beside other ways to decide."""

    kind: Literal["closed_loop"] = param("closed_loop", "what is shown", "")
    trainings: dict[str, str] = param(
        ..., "files with `closed_loop` of what `gpusim net --monitor` writes, by name", "gpusim net", min_length=1
    )
    settings: dict[str, Any] = param({}, "of the monitor, beside its defaults", "user")

    files = ("trainings",)
    formats: ClassVar = {"speedup": times, "over_threshold": times}

    def _records(self) -> Iterator[tuple[TimedTraining, list[FigureRecord]]]:
        """Yield each training with its time under each policy; raise UserError for a file of another form.

        The relative half-width of a ratio of policies' times is what the lines between simulated points leave.
        """
        for name, file in self.trainings.items():
            try:
                content = json.loads(Path(file).read_text(encoding="utf-8"))
                timed, curves = timed_training(content), find_curves(content["curves"])
                found = {one.policy: one for one in closed_loop(timed, curves, MonitorSpec(**self.settings))}
            except (ValueError, KeyError, TypeError, MonitorError) as error:
                raise UserError(f"{file}: {error}") from None
            records = []
            for policy, one in found.items():
                over = {"speedup": DENSE, "over_threshold": THRESHOLD, "over_oracle": ORACLE}
                ratios = {measure: found[base].time_us / one.time_us for measure, base in over.items()}
                widths = {what: hypot(one.doubt, found[base].doubt) for what, base in over.items()}
                widths["speedup"] = one.doubt  # dense times have no line between points
                values = {**ratios, "measuring": one.measuring_us / one.time_us, "outcome": one}
                values |= {"iterations": curves.length, "time_s": one.time_us / 1e6, "doubt": one.doubt}
                values |= {"sparse": one.sparse, "misjudged": one.misjudged, "changes": one.changes}
                half_widths = {what: ratio * widths[what] for what, ratio in ratios.items()}
                records.append(FigureRecord({"training": name, "policy": policy}, values, half_widths))
            yield timed, records

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of whole trainings by policy, and one of the passes that can skip zeros."""
        trainings = list(self._records())
        columns = [
            Cells("training"),
            Cells("iterations", "iterations", "{:,}".format),
            Cells("decided by", "policy"),
            Cells("time, s", "time_s", "{:,.1f}".format),
            Cells("speed-up", "speedup", "{:.3f}×".format),
            Cells("by lines between points, at most", "doubt", "±{:.2%}".format),
            Cells("monitor's own part", "measuring", percent),
            Cells("sparse", "sparse", percent),
            Cells("not as the oracle", "misjudged", percent),
            Cells("changes"),
        ]
        yield build_table([one for _, records in trainings for one in records], columns)
        policies = (THRESHOLD, SHAPE, ORACLE)
        heads = [Column("training"), Column("layer"), Column("pass"), Column("part of an iteration", percent)]
        heads += [Column("zeros"), Column("speed-up there"), Column("line off", percent), Column("break-even", percent)]
        heads += [Column(f"sparse, {policy}", percent) for policy in policies]
        rows: list[list[Any]] = []
        for timed, records in trainings:
            outcomes = {one.labels["policy"]: one.values["outcome"] for one in records}
            for number, one in enumerate(timed.passes):
                row = [records[0].labels["training"], one.layer, one.what, one.dense_us / timed.iteration_us]
                row.append(", ".join(f"{zeros:.0%}" for zeros in one.zeros))
                row.append(", ".join(times(one.dense_us / spent) for spent in one.sparse_us))
                row += [one.interpolation_error, one.break_even]
                rows.append([*row, *(outcomes[policy].by_pass[number] for policy in policies)])
        yield Table(heads, rows, "passes", "Passes that can skip zeros, as simulated:")

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield each policy's speed-up, also over one threshold and over the oracle, and what measuring takes."""
        return list_values(one for _, records in self._records() for one in records)

    def picture(self, publication: Publication) -> Picture:
        """Draw a bar for each policy of each training: its speed-up."""
        records = [one for _, some in self._records() for one in some if one.labels["policy"] != DENSE]
        paths = ("training", "policy", "speedup")
        return bars(self.title, [build_panel("speed-up of the training", records, paths, 1.0, with_half_widths=True)])
