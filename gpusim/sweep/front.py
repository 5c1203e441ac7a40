"""The points of a sweep with what its objectives come to, and the Pareto front among them."""

from collections.abc import Mapping, Sequence

from gpusim.base.intervals import Standing
from gpusim.config.sweep import SweepSpec
from gpusim.store.reading import Results
from gpusim.store.sweeps import HALF_WIDTH
from gpusim.store.table import Table
from gpusim.sweep.objectives import Objectives, read

COLUMN = "front"  # 'front', 'not distinguishable' or empty
_MOST_NAMED = 20  # points in a line of words


def with_front(results: Results, number: int, spec: SweepSpec, metrics: Sequence[str]) -> tuple[Table, list[str]]:
    """Return the sweep's table with a column for each objective that is no metric, and COLUMN; and its front in words.

    metrics: columns besides those of the objectives.
    """
    objectives = Objectives(spec)
    table, found = read(results, number, objectives, metrics)
    standings = objectives.standings(found)
    columns, rows = list(table.columns), [list(row) for row in table.rows]
    for place, text in enumerate(spec.objectives):
        if text in columns:
            continue
        values = [None if one is None else one[place] for one in found]
        sampled = any(width for _, width in filter(None, values))
        columns += [text, *[text + HALF_WIDTH] * sampled]
        for row, value in zip(rows, values, strict=True):
            row += (value or (None, None))[: 1 + sampled]
    rows = [[*row, standing] for row, standing in zip(rows, standings, strict=True)]
    those = {kind: [row[0] for row, s in zip(rows, standings, strict=True) if s == kind] for kind in set(standings)}
    return Table([*columns, COLUMN], [tuple(row) for row in rows]), _words(spec, those)


def _words(spec: SweepSpec, points: Mapping[Standing, Sequence[int]]) -> list[str]:
    what = "Pareto front" if len(spec.objectives) > 1 else "best"
    names = ", ".join(f"{text} ({'least' if way == 'minimize' else 'most'})" for text, way in spec.objectives.items())
    said = []
    if "front" in points:
        said.append(f"{what} by {names}: {_named(points['front'])}")
    if "not distinguishable" in points:
        noise = "their confidence intervals overlap"
        said.append(f"not distinguishable from the {what} by {names}: {_named(points['not distinguishable'])}: {noise}")
    return said


def _named(points: Sequence[int]) -> str:
    more = f" and {len(points) - _MOST_NAMED} more" if len(points) > _MOST_NAMED else ""
    return ("point " if len(points) == 1 else "points ") + ", ".join(map(str, points[:_MOST_NAMED])) + more
