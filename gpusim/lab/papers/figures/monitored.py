"""Sparsity over trainings as it was recorded, what the sparsity monitor makes of it, and what measuring it costs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import hypot
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from gpusim.base.errors import UserError
from gpusim.base.formats import TIMES
from gpusim.base.picture import Picture
from gpusim.base.plain_data import parse_as, read_json
from gpusim.base.spec import param
from gpusim.base.table import Table
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor import picture as drawing
from gpusim.lab.monitor.closed_loop import DENSE, ORACLE, THRESHOLD, SparsePass, TimedTraining, closed_loop
from gpusim.lab.monitor.curves import find_curves
from gpusim.lab.monitor.overhead import TABLE_6_6, expected_share, monitored_overhead
from gpusim.lab.monitor.replay import MapReplay, Replay, replay
from gpusim.lab.monitor.scheduler import MonitorError
from gpusim.lab.papers.long_table import FigureRecord
from gpusim.lab.papers.pictures import bars, build_panel, lines
from gpusim.lab.papers.publication import Figure, Publication
from gpusim.lab.papers.views import CLOSED_LOOP, CURVES, MONITOR, OVERHEADS, OVERHEADS_MEASURED, SPARSE_PASSES


@dataclass(frozen=True)
class _StoredTraining:
    """The part of a monitored training's file that is read again."""

    curves: str
    iteration_us: float
    passes: tuple[SparsePass, ...]
    measuring_us: dict[str, float]


@dataclass(frozen=True)
class _MonitorPlan:
    """The part of a measurement's plan that tables show."""

    batch: int
    iterations: int
    place: str


@dataclass(frozen=True)
class _OverheadShares:
    """Overheads of measuring in each iteration and by the monitor, of the plain time."""

    exhaustive: float
    monitored: float


@dataclass(frozen=True)
class _StoredOverheads:
    """The part of a measured training's file that is read again, all times in seconds."""

    plan: _MonitorPlan
    device: str
    plain_s: float
    exhaustive_s: float
    monitored_s: float
    share_measured: float
    overhead: _OverheadShares


def _read_overheads(path: Path) -> dict[str, Any]:
    """Read a file of measured overheads; raises UserError for another one."""
    content = read_json(path)
    parse_as(_StoredOverheads, content, str(path), "`gpusim monitor --train MODEL --json FILE` writes it")
    return dict(content)


def _parse_settings(settings: dict[str, Any]) -> MonitorSpec:
    """Return the monitor's settings; raises UserError."""
    return parse_as(MonitorSpec, settings, "settings")


LATE = 0.5  # of a training: from there on its curves are called stable


class CurvesFigure(Figure):
    """Sparsity of a map over a training."""

    kind: Literal["curves"] = param("curves", "what is shown", "")
    curves: str = param(..., "recorded curves: a file, or the name of shipped ones", "gpusim capture")
    maps: tuple[str, ...] = param((), "maps that are shown; none: all", "user")

    view: ClassVar = CURVES

    def _lines(self) -> Iterator[tuple[str, list[int], Any]]:
        """Yield the name of each map shown, its iterations, and its sparsity in each."""
        curves = find_curves(self.curves)
        for name in self.maps or curves.maps:
            yield name, curves.iterations.tolist(), curves.sparsity[:, curves.maps.index(name)]

    def records(self, publication: Publication) -> Iterator[FigureRecord]:
        """Yield the first and last sparsity of each map, and its range in the later half."""
        for name, iterations, line in self._lines():
            late = line[np.asarray(iterations) >= LATE * iterations[-1]]
            found = {"first": float(line[0]), "sparsity": float(line[-1]), "later_spread": float(np.ptp(late))}
            yield FigureRecord({"map": name}, found)

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
        found = replay(find_curves(self.curves), _parse_settings(self.settings))
        return found, next(one for one in found.maps if one.name == self.map)

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of the map's processes: their iterations, the sparsity measured, the true one at their ends."""
        _, shown = self._replay()
        yield MONITOR.table(
            {"start": one.start, "last": one.last, "measured": one.sparsity, "true": float(shown.truth[one.last])}
            for one in shown.processes
        )

    def records(self, publication: Publication) -> list[FigureRecord]:
        """Return mean and largest error of the belief, and the shares of iterations with a measurement and sparse."""
        _, shown = self._replay()
        found = {"mean_error": shown.mean_error, "largest_error": shown.max_error}
        found |= {"measured": shown.share_measured, "sparse": shown.share_sparse}
        return [FigureRecord({"map": self.map}, found)]

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
    formats: ClassVar = {"reduction": TIMES}

    def _measured(self) -> dict[str, list[dict[str, Any]]]:
        return {name: [_read_overheads(Path(file)) for file in files] for name, files in self.measured.items()}

    def records(self, publication: Publication) -> Iterator[FigureRecord]:
        """Yield the networks; the monitor's overhead is that of a training as long as the publication's."""
        measured = self._measured()
        for name, published in TABLE_6_6.items():
            share = expected_share(published.iterations)
            cost = measured[name][0]["overhead"]["exhaustive"] if name in measured else None
            values = {
                "iterations": published.iterations,
                "exhaustive": published.exhaustive,
                "monitored": published.monitored,
                "modelled": monitored_overhead(published.exhaustive, share),
                "measured_exhaustive": cost,
                "measured_overhead": None if cost is None else monitored_overhead(cost, share),
            }
            if cost is not None:
                values["reduction"] = cost / monitored_overhead(cost, share)
            yield FigureRecord({"network": name}, values)

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table with a row for each network, and one of the measurements."""
        yield OVERHEADS.table(record.row for record in self.records(publication))
        measured = [{"network": name, **one} for name, several in self._measured().items() for one in several]
        if measured:
            yield OVERHEADS_MEASURED.table(measured)


class ClosedLoopFigure(Figure):
    """Whole trainings in which the monitor decides layer by layer, beside other ways to decide."""

    kind: Literal["closed_loop"] = param("closed_loop", "what is shown", "")
    trainings: dict[str, str] = param(
        ..., "files with `closed_loop` of what `gpusim net --monitor` writes, by name", "gpusim net", min_length=1
    )
    settings: dict[str, Any] = param({}, "of the monitor, beside its defaults", "user")

    files = ("trainings",)
    formats: ClassVar = {"speedup": TIMES, "over_threshold": TIMES}

    def _trainings(self) -> Iterator[tuple[TimedTraining, list[FigureRecord]]]:
        """Yield each training with its time under each policy; raise UserError for a file of another form.

        The relative half-width of a ratio of policies' times is what the lines between simulated points leave.
        """
        for name, file in self.trainings.items():
            settings = _parse_settings(self.settings)
            try:
                stored = parse_as(
                    _StoredTraining, read_json(Path(file)), file, "`gpusim net --monitor --json` writes it"
                )
                timed = TimedTraining(stored.iteration_us, stored.passes, stored.measuring_us)
                curves = find_curves(stored.curves)
                outcomes = {outcome.policy: outcome for outcome in closed_loop(timed, curves, settings)}
            except MonitorError as error:
                raise UserError(f"{file}: {error}") from None
            records = []
            for policy, outcome in outcomes.items():
                over = {"speedup": DENSE, "over_threshold": THRESHOLD, "over_oracle": ORACLE}
                ratios = {measure: outcomes[base].time_us / outcome.time_us for measure, base in over.items()}
                widths = {what: hypot(outcome.doubt, outcomes[base].doubt) for what, base in over.items()}
                widths["speedup"] = outcome.doubt  # dense times have no line between points
                values = {**ratios, "measuring": outcome.measuring_us / outcome.time_us, "outcome": outcome}
                values |= {"iterations": curves.length, "time_s": outcome.time_us / 1e6, "doubt": outcome.doubt}
                values |= {"sparse": outcome.sparse, "misjudged": outcome.misjudged, "changes": outcome.changes}
                half_widths = {what: ratio * widths[what] for what, ratio in ratios.items()}
                records.append(FigureRecord({"training": name, "policy": policy}, values, half_widths))
            yield timed, records

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of whole trainings by policy, and one of the passes that can skip zeros."""
        trainings = list(self._trainings())
        yield CLOSED_LOOP.table(timed_pass.row for _, records in trainings for timed_pass in records)
        rows: list[dict[str, Any]] = []
        for timed, records in trainings:
            outcomes = {timed_pass.labels["policy"]: timed_pass.values["outcome"] for timed_pass in records}
            for number, timed_pass in enumerate(timed.passes):
                gains = [timed_pass.dense_us / spent for spent in timed_pass.sparse_us]
                row = {"training": records[0].labels["training"], "part": timed_pass.dense_us / timed.iteration_us}
                row |= {"layer": timed_pass.layer, "what": timed_pass.what, "zeros": timed_pass.zeros, "gains": gains}
                row |= {"line_off": timed_pass.interpolation_error, "break_even": timed_pass.break_even}
                rows.append({**row, **{policy: found.by_pass[number] for policy, found in outcomes.items()}})
        yield SPARSE_PASSES.table(rows)

    def records(self, publication: Publication) -> list[FigureRecord]:
        """Return each policy's speed-up, also over one threshold and over the oracle, and what measuring takes."""
        return [one for _, records in self._trainings() for one in records]

    def picture(self, publication: Publication) -> Picture:
        """Draw a bar for each policy of each training: its speed-up."""
        records = [one for one in self.records(publication) if one.labels["policy"] != DENSE]
        paths = ("training", "policy", "speedup")
        return bars(self.title, [build_panel("speed-up of the training", records, paths, 1.0, with_half_widths=True)])
