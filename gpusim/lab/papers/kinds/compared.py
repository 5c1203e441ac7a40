"""Ways beside one another: cycles and measures of each case, batch and data as a table and as grouped bars."""

from collections.abc import Iterator
from typing import Any

from gpusim.base.picture import Picture
from gpusim.base.progress import percent
from gpusim.base.sums import plain_sum
from gpusim.base.table import Column, Table
from gpusim.lab.papers.kept import PointRecord, ReproductionResults
from gpusim.lab.papers.pictures import BarPanel, bars
from gpusim.lab.papers.points import does_fit
from gpusim.lab.papers.specs.figure import ComparisonFigure
from gpusim.lab.papers.specs.reproduction import Reproduction
from gpusim.lab.papers.values import (
    MEASURES,
    CaseRuns,
    compared_values,
    groups,
    limit_of,
    measured,
    spreads,
    thousands,
    times,
)

values = compared_values


def _bars_of(reproduction: Reproduction, figure: ComparisonFigure) -> list[tuple[str, str, str]]:
    """Return (title, way, base) of the bars: all ways against one base, or the pair of each comparison that it has."""
    spec = reproduction.spec
    if figure.normalized_to is not None:
        return [(spec.paths[path].title, path, figure.normalized_to) for path in figure.paths]
    there = [one for one in spec.comparisons.values() if {one.path, one.base} <= {*figure.paths}]
    return [(one.title, one.path, one.base) for one in there]


def tables(reproduction: Reproduction, figure: ComparisonFigure, results: ReproductionResults) -> Iterator[Table]:
    """Yield a table of each bar's measures (of speed-ups with the engine's share and the limit), and one of cycles."""
    held = list(groups(reproduction, figure, results))
    yield _measures(reproduction, figure, held)
    yield _cycles(reproduction, figure, held)


_HEAD = (Column("case"), Column("batch"), Column("data"))
_ZEROS = Column("zeros", percent)


def _head(group: CaseRuns) -> list[Any]:
    return [group.case, group.batch, group.data]


def _cycles(reproduction: Reproduction, figure: ComparisonFigure, held: list[CaseRuns]) -> Table:
    spec = reproduction.spec
    columns = [*_HEAD, _ZEROS, Column("fits the GPU's memory")]
    columns += [Column(spec.paths[path].title, thousands) for path in figure.paths]
    chosen = [path for path in _chosen(reproduction) if path in figure.paths]
    columns += [Column(f"kernel of {spec.paths[path].title}") for path in chosen]
    columns += [Column("largest half-width", lambda value: f"±{100 * value:.2f} %"), Column("simulated", percent)]
    rows = []
    for group in held:
        cycles = [group.metric(path, "kernel.cycles") for path in figure.paths]
        ways: list[PointRecord] = list(group.ways.values())
        doubt = max((way.half_width for way in ways), default=None)
        simulated = plain_sum(way.fraction for way in ways) / len(ways) if ways else None
        fits = does_fit(reproduction, figure, group.case, group.batch)
        kernels = [_kernel(group, path) for path in chosen]
        rows.append([*_head(group), group.zeros, fits, *cycles, *kernels, doubt, simulated])
    return Table(columns, rows, "cycles", "Cycles.")


def _chosen(reproduction: Reproduction) -> list[str]:
    """Return the ways whose kernels may be chosen by shape, which are those of the last comparison."""
    one = list(reproduction.spec.comparisons.values())[-1:]
    return [path for held in one for path in (held.base, held.path)]


def _kernel(group: CaseRuns, path: str) -> str | None:
    """Return the kernel that takes longest; None where the way's run is unknown."""
    launches = group.ways[path].launches if path in group.ways else []
    return max(launches, key=lambda launch: launch[1])[0] if launches else None


def _measures(reproduction: Reproduction, figure: ComparisonFigure, held: list[CaseRuns]) -> Table:
    """Make the table of each bar's measures; of speed-ups with the engine's share, where it has both ways of it."""
    pairs, share = _bars_of(reproduction, figure), reproduction.spec.engine_share
    is_shared = share is not None and {share.path, share.base} <= {*figure.paths}
    columns = [*_HEAD]
    for measure in figure.measures:
        before = "" if len(figure.measures) == 1 else f"{MEASURES[measure].title}: "
        columns += [Column(f"{before}{title}", MEASURES[measure].shown) for title, _, _ in pairs]
    if "speedup" in figure.measures:
        columns += [Column("the engine's own share", times)] * is_shared + [Column("limit 1/(1-s)", times)]
    rows = []
    for group in held:
        row = [*_head(group)]
        row += [measured(group, measure, path, base) for measure in figure.measures for _, path, base in pairs]
        if "speedup" in figure.measures:
            row += [engine_share(reproduction, group)] * is_shared
            row.append(None if group.zeros is None else limit_of(group.zeros))
        rows.append(row)
    title = MEASURES[figure.measures[0]].title.capitalize() if len(figure.measures) == 1 else "Measures"
    over = reproduction.spec.paths[figure.normalized_to].title if figure.normalized_to is not None else ""
    title += f" over {over}" if over and figure.measures == ("speedup",) else ""
    return Table(columns, rows, title=f"{title}.")


def engine_share(reproduction: Reproduction, group: CaseRuns) -> float | None:
    """Return the speed-up by the engine of the kernel that would otherwise convert in software."""
    share = reproduction.spec.engine_share
    return None if share is None else measured(group, "speedup", share.path, share.base)


def picture(reproduction: Reproduction, figure: ComparisonFigure, results: ReproductionResults) -> Picture | None:
    """Draw a panel of grouped bars for each measure."""
    held = [group for group in groups(reproduction, figure, results) if group.ways]
    if not held:
        return None
    pairs, labels = _bars_of(reproduction, figure), [f"{g.case} {g.batch} {g.data}" for g in held]
    moved = spreads(reproduction, results)
    panels = []
    for measure in figure.measures:
        series = {title: [measured(group, measure, path, base) for group in held] for title, path, base in pairs}
        doubts = {}
        if measure == "speedup":
            doubts = {
                title: [
                    0.0 if value is None else value * moved.of(group, measure, path, base)
                    for group, value in zip(held, series[title], strict=True)
                ]
                for title, path, base in pairs
            }
        line = 0.0 if "change" in MEASURES[measure].title else 1.0
        panels.append(BarPanel(MEASURES[measure].title, labels, series, doubts, line))
    return bars(figure.title, panels)
