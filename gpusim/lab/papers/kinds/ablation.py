"""What each part of the engine is worth: the same runs with one part changed at a time, beside what that part costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import hypot
from typing import Any

from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.table import Column, Table, amount
from gpusim.config.run import RunConfig
from gpusim.lab.papers.kept import PointRecord, ReproductionResults
from gpusim.lab.papers.pictures import BarPanel, bars
from gpusim.lab.papers.points import ReproductionPoint, list_points
from gpusim.lab.papers.specs.figure import AblationFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import OURS, FigureValue, spreads, thousands, times
from gpusim.model.energy.area import added_um2, engine_area

# how requests were answered: shares of all of them
_MODES = {"accurate": "accurate", "prudent": "prudent", "hasty": "hasty", "prefetched": "prefetch_buffer_hits"}


@dataclass(frozen=True)
class AblationRun:
    """A run of a variant with one change."""

    point: ReproductionPoint
    """Point of the run."""
    change: str
    """Name of the change."""
    run: PointRecord
    """Run with the change."""
    as_is: PointRecord
    """Run without the change."""
    base: PointRecord | None
    """Run of the dense variant; None: unknown."""

    @cached_property
    def config(self) -> RunConfig:
        """The run's configuration."""
        return self.point.config()

    @property
    def slowdown(self) -> float:
        """How many times as long as without the change."""
        return float(self.run.metrics["kernel.time_us"] / self.as_is.metrics["kernel.time_us"])

    def gain(self, run: PointRecord) -> float | None:
        """Return how many times as fast as the dense way a run is; None where that is not known."""
        return None if self.base is None else float(self.base.metrics["kernel.time_us"] / run.metrics["kernel.time_us"])

    @property
    def gain_kept(self) -> float | None:
        """The share of what the unchanged engine saves over the dense way; None where it saves nothing."""
        mine, whole = self.gain(self.run), self.gain(self.as_is)
        return None if mine is None or whole is None or whole <= 1 else (mine - 1) / (whole - 1)

    def doubts(self, moved: float) -> dict[str, float]:
        """Return half-widths of cycles, slowdown and gain kept where each time may have moved so far, relative.

        There are none where the change moves no launch, and so does nothing.
        """
        if self.run.launches == self.as_is.launches:
            return {}
        mine, whole = self.gain(self.run), self.gain(self.as_is)
        found = {"slowdown": self.slowdown * hypot(moved, moved), "cycles": self.run.metrics["kernel.cycles"] * moved}
        if mine is not None and whole is not None and whole > 1:
            found["gain_kept"] = moved * hypot(mine / (whole - 1), whole * (mine - 1) / (whole - 1) ** 2)
        return found

    def share(self, mode: str) -> float | None:
        """Return the share of the requests that were answered in a way; None without requests."""
        return self._ratio(f"engine.{_MODES[mode]}", "engine.requests")

    @property
    def anew(self) -> float | None:
        """The searches for each request that began anew; None where that was not counted."""
        return self._ratio("engine.searches_anew", "engine.requests")

    @property
    def searching(self) -> float | None:
        """The share of the cycles for which shifters are busy, mean over them; None where that was not counted."""
        return None if self.anew is None else self._ratio("roofline.search", "kernel.cycles")

    def _ratio(self, part: str, whole: str) -> float | None:
        mine, of = self.run.metrics.get(part), self.run.metrics.get(whole)
        return None if mine is None or not of else float(mine / of)


def changed(reproduction: Reproduction, figure: AblationFigure, results: ReproductionResults) -> Iterator[AblationRun]:
    """Yield the known runs of each case and way, with all changes in order."""
    points = [point for point in list_points(reproduction, figure) if point.key in results.points]
    dense = {_place(point): results.points[point.key] for point in points if point.labels["path"] == figure.base}
    as_is: dict[tuple[str, ...], PointRecord] = {}
    first = next(iter(figure.changes))
    for point in (one for one in points if one.labels["path"] != figure.base):
        run, way = results.points[point.key], (*_place(point), point.labels["data"], point.labels["path"])
        if "change" not in point.labels:
            as_is[way] = run
        if way in as_is:
            yield AblationRun(point, point.labels.get("change", first), run, as_is[way], dense.get(_place(point)))


def _place(point: ReproductionPoint) -> tuple[str, ...]:
    return point.labels["case"], point.labels["batch"]


def tables(reproduction: Reproduction, figure: AblationFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table with a row for each change of each case and way."""
    columns = [Column("case"), Column("batch"), Column("way"), Column("engine"), Column("cycles", thousands)]
    columns += [Column("of its time as it is", times), Column("over the dense kernel", times)]
    columns += [Column("of the gain", percent), *(Column(mode, percent) for mode in _MODES)]
    columns += [Column("searches anew, a request", "{:.3f}".format), Column("shifters busy", percent)]
    columns += [Column("lines wasted", percent), Column("SIB and buffers, KiB", "{:,.4g}".format)]
    columns += [Column("beside L2, µm²", amount), Column("memory energy, µJ", amount)]
    rows: list[list[Any]] = []
    for one in changed(reproduction, figure, results):
        metrics, engine = one.run.metrics, one.config.engine
        way = reproduction.spec.paths[one.point.labels["path"]].title
        fetched = metrics.get("engine.lines_fetched")
        wasted = metrics["engine.lines_wasted"] / fetched if fetched else None
        area = added_um2(engine_area(engine, one.config.energy))
        row: list[Any] = [*_place(one.point), way, one.change, metrics["kernel.cycles"], one.slowdown]
        row += [one.gain(one.run), one.gain_kept, *(one.share(mode) for mode in _MODES)]
        row += [one.anew, one.searching, wasted]
        rows.append([*row, engine.sib_kib + engine.prefetch_buffer_kib + engine.data_buffer_kib, round(area),
                     round(metrics["energy.total_uj"])])  # fmt: skip
    yield Table(columns, rows)


def values(reproduction: Reproduction, figure: AblationFigure, results: ReproductionResults) -> Iterator[FigureValue]:
    """Yield what each change costs in time, which share of the gain stays, and how requests were answered."""
    moved = spreads(reproduction, results)
    for one in changed(reproduction, figure, results):
        labels, doubts = {**one.point.labels, "change": one.change}, one.doubts(moved.time(one.point.labels["path"]))
        found: dict[str, float | None] = {"cycles": one.run.metrics["kernel.cycles"], "slowdown": one.slowdown}
        found |= {"gain_kept": one.gain_kept, "anew": one.anew, "searching": one.searching}
        found |= {mode: one.share(mode) for mode in _MODES}
        for name, value in found.items():
            if value is not None:
                yield FigureValue(name, OURS, labels, value, half_width=doubts.get(name, 0.0))


def picture(reproduction: Reproduction, figure: AblationFigure, results: ReproductionResults) -> Picture | None:
    """Draw a bar for each change, as a part of the time without it, for each case and way; None where none is known."""
    held = list(changed(reproduction, figure, results))
    if not held:
        return None
    series: dict[str, dict[str, float]] = {}
    for one in held:
        way = reproduction.spec.paths[one.point.labels["path"]].title
        series.setdefault(f"{' '.join(_place(one.point))}, {way}", {})[one.change] = one.slowdown
    names = list(figure.changes)
    heights = {title: [found.get(name) for name in names] for title, found in series.items()}
    return bars(figure.title, [BarPanel("time, of the engine's as it is", names, heights, line=1.0)])
