"""What each part of the engine is worth: the same runs with one part changed at a time, beside what that part costs."""

from collections.abc import Iterator
from math import hypot
from typing import Any, ClassVar, Literal

from pydantic import model_validator

from gpusim.base.formats import TIMES
from gpusim.base.picture import Picture
from gpusim.base.spec import param
from gpusim.base.table import Table
from gpusim.lab.papers.long_table import FigureRecord
from gpusim.lab.papers.pictures import bars, build_panel
from gpusim.lab.papers.points import ReproductionPoint, RunsFigure
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import PointRecord
from gpusim.lab.papers.values import compute_deviations
from gpusim.lab.papers.views import ABLATION
from gpusim.model.energy.area import added_um2, engine_area

# how requests were answered: shares of all of them
_MODES = {"accurate": "accurate", "prudent": "prudent", "hasty": "hasty", "prefetched": "prefetch_buffer_hits"}


class AblationFigure(RunsFigure):
    """The engine with one part changed at a time: what each part is worth."""

    kind: Literal["ablation"] = param("ablation", "what is shown", "")
    base: str = param(..., "the dense way, which has no engine to change", "user")
    changes: dict[str, dict[str, Any]] = param(
        ..., "values of the engine by the change's name; the first one, without any, is the engine as it is", "user"
    )

    formats: ClassVar = {"slowdown": TIMES}

    def check_ways(self) -> None:
        """Raise ValueError for a base that the figure does not have."""
        self.require_ways(self.base, option="base")

    @model_validator(mode="after")
    def _begins_unchanged(self) -> "AblationFigure":
        empty = [name for name, sets in self.changes.items() if not sets]
        if empty != list(self.changes)[:1]:
            raise ValueError(f"changes: the first one, and no other, is without values; without are {empty}")
        return self

    def variations(self, path: str) -> Iterator[tuple[dict[str, str], dict[str, Any]]]:
        """Yield the changes of the engine; none of the dense way."""
        changes = self.changes if path != self.base else {"": dict[str, Any]()}
        yield from (({"change": name} if sets else {}, sets) for name, sets in changes.items())

    def draws(self, publication: Publication) -> dict[str, dict[str, dict[str, PointRecord]]]:
        """Return the runs of each way and point by change, the unchanged one first."""
        draws: dict[str, dict[str, dict[str, PointRecord]]] = {}
        for point in self.points(publication.spec):
            run = publication.results.points.get(point.key)
            if run is not None and point.labels["path"] != self.base:
                change = point.labels.get("change", next(iter(self.changes)))
                key = " ".join(label for name, label in point.labels.items() if name != "change")
                draws.setdefault(point.labels["path"], {}).setdefault(key, {})[change] = run
        return draws

    def records(self, publication: Publication, costs: bool = False) -> Iterator[FigureRecord]:
        """Yield the known runs of each case and way, with all changes in order. costs: with those of the engine."""
        runs, spec, deviations = publication.results.points, publication.spec, compute_deviations(publication)
        points = [point for point in self.points(spec) if point.key in runs]
        dense = {_place(point): runs[point.key] for point in points if point.labels["path"] == self.base}
        unchanged: dict[tuple[str, ...], PointRecord] = {}
        for point in points:
            path, run = point.labels["path"], runs[point.key]
            way = (*_place(point), point.labels["data"], path)
            if "change" not in point.labels:
                unchanged[way] = run
            if path == self.base or way not in unchanged:
                continue
            as_is, base = unchanged[way], dense.get(_place(point))
            gain, full = (None if base is None else base.time_us / one.time_us for one in (run, as_is))
            values = {"cycles": run.metrics["kernel.cycles"], "slowdown": run.time_us / as_is.time_us, "gain": gain}
            is_moved = run.launches != as_is.launches  # what moves no launch does nothing
            moved = deviations.get((path, "speedup"), 0.0) if is_moved else 0.0
            widths = {"slowdown": values["slowdown"] * hypot(moved, moved), "cycles": values["cycles"] * moved}
            values["gain_kept"] = None
            if gain is not None and full is not None and full > 1:
                values["gain_kept"] = (gain - 1) / (full - 1)
                widths["gain_kept"] = moved * hypot(gain / (full - 1), full * (gain - 1) / (full - 1) ** 2)
            change = point.labels.get("change", next(iter(self.changes)))
            title = spec.paths[path].title
            values |= {
                "way": title,
                "bar": f"{' '.join(_place(point))}, {title}",
                **_engine(run),
                **(_costs(point, run) if costs else {}),
            }
            yield FigureRecord({**point.labels, "change": change}, values, widths)

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table with a row for each change of each case and way."""
        yield ABLATION.table(record.row for record in self.records(publication, costs=True))

    def picture(self, publication: Publication) -> Picture | None:
        """Draw a bar for each change, as a part of the time without it, for each case and way."""
        records = list(self.records(publication))
        panel = build_panel("time, of the engine's as it is", records, ("change", "bar", "slowdown"), line=1.0)
        return bars(self.title, [panel]) if records else None


def _place(point: ReproductionPoint) -> tuple[str, str]:
    return point.labels["case"], point.labels["batch"]


def _engine(run: PointRecord) -> dict[str, float | None]:
    """Return how requests were answered, searches that began anew for each, and how long shifters were busy."""

    def ratio(part: str, whole: str) -> float | None:
        mine, of = run.metrics.get(part), run.metrics.get(whole)
        return None if mine is None or not of else float(mine / of)

    anew = ratio("engine.searches_anew", "engine.requests")
    found = {mode: ratio(f"engine.{path}", "engine.requests") for mode, path in _MODES.items()}
    busy = None if anew is None else ratio("roofline.search", "kernel.cycles")
    return {**found, "anew": anew, "searching": busy, "wasted": ratio("engine.lines_wasted", "engine.lines_fetched")}


def _costs(point: ReproductionPoint, run: PointRecord) -> dict[str, float]:
    """Return an engine's storage and area, and the energy of the memory system."""
    config = point.config()
    engine = config.engine
    return {
        "storage_kib": engine.sib_kib + engine.prefetch_buffer_kib + engine.data_buffer_kib,
        "area_um2": round(added_um2(engine_area(engine, config.energy))),
        "energy_uj": round(run.metrics["energy.total_uj"]),
    }
