"""Sparsity over trainings as it was recorded, what the sparsity monitor makes of it, and what measuring it costs."""

from dataclasses import dataclass, replace
from math import hypot
from pathlib import Path
from typing import Any

import numpy as np

from gpusim.base.errors import UserError
from gpusim.base.formats import TIMES
from gpusim.base.plain_data import parse_as, read_json
from gpusim.base.spec import param
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor import picture as drawing
from gpusim.lab.monitor.closed_loop import (
    DENSE,
    ORACLE,
    THRESHOLD,
    PolicyOutcome,
    SparsePass,
    TimedTraining,
    closed_loop,
)
from gpusim.lab.monitor.curves import find_curves
from gpusim.lab.monitor.overhead import TABLE_6_6, expected_share, monitored_overhead
from gpusim.lab.monitor.replay import replay
from gpusim.lab.monitor.scheduler import MonitorError
from gpusim.lab.papers.figures.kinds import FigureContent, figure_kind
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


@figure_kind("curves", Figure)
def show_curves(
    figure: Figure,
    publication: Publication,
    *,
    curves: str = param(..., "recorded curves: a file, or the name of shipped ones", "gpusim capture"),
    maps: tuple[str, ...] = param((), "maps that are shown; none: all", "user"),
) -> FigureContent:
    """Show the sparsity of maps over a training: the first and last of each, and its range in the later half."""
    found, records, shown = find_curves(curves), [], {}
    iterations = found.iterations.tolist()
    for name in maps or found.maps:
        line = found.sparsity[:, found.maps.index(name)]
        late = line[np.asarray(iterations) >= LATE * iterations[-1]]
        values = {"first": float(line[0]), "sparsity": float(line[-1]), "later_spread": float(np.ptp(late))}
        records.append(FigureRecord({"map": name}, values))
        shown[name] = (iterations, (100 * line).tolist())
    picture = lines(figure.title, ("iteration", "sparsity in %"), shown)
    return FigureContent([CURVES.table(record.row for record in records)], records, picture)


@figure_kind("monitor", Figure)
def show_monitor(
    figure: Figure,
    publication: Publication,
    *,
    curves: str = param(..., "recorded curves: a file, or the name of shipped ones", "gpusim capture"),
    map: str = param(..., "the map that is shown", "user"),
    settings: dict[str, Any] = param({}, "of the monitor, beside its defaults", "user"),
) -> FigureContent:
    """Show the sparsity monitor's measurements of a map; the monitor runs over all maps, whose states they share.

    Values: mean and largest error of the belief, and the shares of iterations with a measurement and sparse.
    """
    replayed = replay(find_curves(curves), _parse_settings(settings))
    shown = next(one for one in replayed.maps if one.name == map)
    table = MONITOR.table(
        {"start": one.start, "last": one.last, "measured": one.sparsity, "true": float(shown.truth[one.last])}
        for one in shown.processes
    )
    values = {"mean_error": shown.mean_error, "largest_error": shown.max_error}
    values |= {"measured": shown.share_measured, "sparse": shown.share_sparse}
    picture = drawing.picture(replace(replayed, maps=(shown,)))
    return FigureContent([table], [FigureRecord({"map": map}, values)], picture)


@figure_kind("overheads", Figure, files=("measured",), formats={"reduction": TIMES})
def show_overheads(
    figure: Figure,
    publication: Publication,
    *,
    measured: dict[str, tuple[str, ...]] = param(
        {},
        "files of `gpusim monitor --train MODEL --json FILE`, by network; the first one's cost is what counts",
        "a real GPU",
    ),
) -> FigureContent:
    """Show table 6.6: the cost of measuring sparsity in a training, by the model and as measured on a real GPU.

    The monitor's overhead is that of a training as long as the publication's.
    """
    costs, records = {name: [_read_overheads(Path(file)) for file in files] for name, files in measured.items()}, []
    for name, published in TABLE_6_6.items():
        share = expected_share(published.iterations)
        cost = costs[name][0]["overhead"]["exhaustive"] if name in costs else None
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
        records.append(FigureRecord({"network": name}, values))
    tables = [OVERHEADS.table(record.row for record in records)]
    rows = [{"network": name, **one} for name, several in costs.items() for one in several]
    tables += [OVERHEADS_MEASURED.table(rows)] if rows else []
    return FigureContent(tables, records)


def _list_outcomes(
    name: str, file: str, settings: dict[str, Any]
) -> tuple[TimedTraining, dict[str, PolicyOutcome], list[FigureRecord]]:
    """Return a training with its outcome and record under each policy; raise UserError for a file of another form.

    The relative half-width of a ratio of policies' times is what the lines between simulated points leave.

    Args:
        name: Name of the training.
        file: The training's file.
        settings: Settings of the monitor.
    """
    spec = _parse_settings(settings)
    try:
        stored = parse_as(_StoredTraining, read_json(Path(file)), file, "`gpusim net --monitor --json` writes it")
        timed = TimedTraining(stored.iteration_us, stored.passes, stored.measuring_us)
        curves = find_curves(stored.curves)
        outcomes = {outcome.policy: outcome for outcome in closed_loop(timed, curves, spec)}
    except MonitorError as error:
        raise UserError(f"{file}: {error}") from None
    records = []
    for policy, outcome in outcomes.items():
        over = {"speedup": DENSE, "over_threshold": THRESHOLD, "over_oracle": ORACLE}
        ratios = {measure: outcomes[base].time_us / outcome.time_us for measure, base in over.items()}
        widths = {what: hypot(outcome.doubt, outcomes[base].doubt) for what, base in over.items()}
        widths["speedup"] = outcome.doubt  # dense times have no line between points
        values = {**ratios, "measuring": outcome.measuring_us / outcome.time_us}
        values |= {"iterations": curves.length, "time_s": outcome.time_us / 1e6, "doubt": outcome.doubt}
        values |= {"sparse": outcome.sparse, "misjudged": outcome.misjudged, "changes": outcome.changes}
        half_widths = {what: ratio * widths[what] for what, ratio in ratios.items()}
        records.append(FigureRecord({"training": name, "policy": policy}, values, half_widths))
    return timed, outcomes, records


@figure_kind("closed_loop", Figure, files=("trainings",), formats={"speedup": TIMES, "over_threshold": TIMES})
def show_closed_loop(
    figure: Figure,
    publication: Publication,
    *,
    trainings: dict[str, str] = param(
        ..., "files with `closed_loop` of what `gpusim net --monitor` writes, by name", "gpusim net", min_length=1
    ),
    settings: dict[str, Any] = param({}, "of the monitor, beside its defaults", "user"),
) -> FigureContent:
    """Show whole trainings in which the monitor decides layer by layer, beside other ways to decide.

    Values: each policy's speed-up, also over one threshold and over the oracle, and what measuring takes.
    """
    records, rows = list[FigureRecord](), list[dict[str, Any]]()
    for name, file in trainings.items():
        timed, outcomes, of_training = _list_outcomes(name, file, settings)
        records += of_training
        for number, timed_pass in enumerate(timed.passes):
            gains = [timed_pass.dense_us / spent for spent in timed_pass.sparse_us]
            row = {"training": name, "part": timed_pass.dense_us / timed.iteration_us, "gains": gains}
            row |= {"layer": timed_pass.layer, "what": timed_pass.what, "zeros": timed_pass.zeros}
            row |= {"line_off": timed_pass.interpolation_error, "break_even": timed_pass.break_even}
            rows.append({**row, **{policy: found.by_pass[number] for policy, found in outcomes.items()}})
    tables = [CLOSED_LOOP.table(record.row for record in records), SPARSE_PASSES.table(rows)]
    drawn = [record for record in records if record.labels["policy"] != DENSE]
    paths = ("training", "policy", "speedup")
    panel = build_panel("speed-up of the training", drawn, paths, 1.0, with_half_widths=True)
    return FigureContent(tables, records, bars(figure.title, [panel]))
