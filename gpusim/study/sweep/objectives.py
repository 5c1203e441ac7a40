"""What a sweep looks for: its objectives' values at each point, and which points are on the Pareto front."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.expressions import Expression
from gpusim.base.intervals import Estimate, Standing, standings
from gpusim.config.sweep import SweepSpec
from gpusim.results import metrics
from gpusim.results.report.sweeps.answers import find_front
from gpusim.results.report.sweeps.points import VARIANT, names
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.sweep_points import swept
from gpusim.results.store.sweeps import HALF_WIDTH, SweepTable
from gpusim.results.store.table import QueryTable
from gpusim.study.sweep.tasks import known_paths

_SAID = {"front": "yes"}
_MOST_NAMED = 20  # points in a line of words
_MOST_DESIGNS = 6  # the same, with all of their values


class Objectives:
    """The objectives of a sweep; raises UserError for one that names neither a metric nor a configuration's value."""

    def __init__(self, spec: SweepSpec) -> None:
        self._spec = spec
        known = [*(metric.path for metric in metrics.METRICS), *known_paths(spec)]
        self._expressions = [Expression(text, known, "objectives", "objective") for text in spec.objectives]
        used = dict.fromkeys(path for expression in self._expressions for path in expression.paths)
        self.metrics = [path for path in used if metrics.describe(path) is not None]
        self._values = [path for path in used if path not in self.metrics]
        self._signs = [1 if direction == "minimize" else -1 for direction in spec.objectives.values()]

    def of(self, results: StoreReader, table: SweepTable) -> list[list[Estimate] | None]:
        """Return each objective's value and half-width for each row of a table that has `metrics` as columns.

        A row has None where it is another variant's, the point failed, or a value is missing.
        """
        rows, fixed = list(table), self._configured(results, table)
        last = {row["point"]: row["variant"] for row in rows}  # dense before sparse
        return [
            self._at(row, {path: values.get(row["run"]) for path, values in fixed.items()})
            if row["state"] == "done" and row["variant"] == (self._spec.variant or last[row["point"]])
            else None
            for row in rows
        ]

    def standings(self, estimates: Sequence[Sequence[Estimate] | None], table: SweepTable) -> list[Standing]:
        """Tell for each row whether it is on the front of its workload and environment, by the values that `of` found.

        Rows of different layers, or GPUs, are not compared.
        """
        apart = [path for path, role in table.roles.items() if role in ("workload", "environment")]
        groups: dict[tuple[Any, ...], list[int]] = {}
        for number, row in enumerate(table):
            if estimates[number] is not None:
                groups.setdefault(tuple(row[path] for path in apart), []).append(number)
        by_row: list[Standing] = [""] * len(estimates)
        for numbers in groups.values():
            signed = [
                [(sign * v, w) for sign, (v, w) in zip(self._signs, estimates[number] or (), strict=True)]
                for number in numbers
            ]
            for number, standing in zip(numbers, standings(signed), strict=True):
                by_row[number] = standing
        return by_row

    def _configured(self, results: StoreReader, table: SweepTable) -> dict[str, dict[int, Any]]:
        """Return the values in the configurations that are no axes: path → run → value."""
        sql = """
            SELECT runs.id, json_extract(json, ?)
            FROM points JOIN runs ON runs.id = run JOIN configurations ON configuration = hash WHERE points.sweep = ?
        """
        wanted = {path: "$" + "".join(f'."{step}"' for step in path.split(".")) for path in self._values}
        return {
            path: dict(results.rows(sql, [where, table.number]).rows)
            for path, where in wanted.items()
            if path not in table.axes
        }

    def _at(self, row: Mapping[str, Any], fixed: Mapping[str, Any]) -> list[Estimate] | None:
        held = {**{path: row.get(path) for path in (*self.metrics, *self._values)}, **fixed}
        widths = {path: row.get(path + HALF_WIDTH) or 0.0 for path in self.metrics}
        if any(not isinstance(value, int | float) for value in held.values()):
            return None
        try:
            return [expression.estimate(held, widths) for expression in self._expressions]
        except UserError:  # this point's values do not go together: a division by zero
            return None


def read(
    results: StoreReader, number: int, objectives: Objectives, more: Sequence[str] = ()
) -> tuple[SweepTable, list[list[Estimate] | None]]:
    """Return the known points of a sweep, and the objectives' values at each row. more: metrics of further columns."""
    there = results.known_metrics()
    table = results.sweep(number, *(path for path in dict.fromkeys((*objectives.metrics, *more)) if path in there))
    return table, objectives.of(results, table)


def add_objective_columns(
    results: StoreReader, number: int, spec: SweepSpec, metrics: Sequence[str]
) -> tuple[QueryTable, list[str]]:
    """Add columns to a sweep's table: each objective that is no metric, and which points are best.

    Args:
        results: the store.
        number: the sweep's number.
        spec: the sweep.
        metrics: columns besides those of the objectives.

    Returns:
        The table, and which points are the best or on the Pareto front, in words.
    """
    objectives = Objectives(spec)
    table, estimates = read(results, number, objectives, metrics)
    standings = objectives.standings(estimates, table)
    columns, rows = list(table.columns), [list(row) for row in table.rows]
    for place, text in enumerate(spec.objectives):
        if text in columns:
            continue
        values = [None if of_row is None else of_row[place] for of_row in estimates]
        sampled = any(width for _, width in filter(None, values))
        columns += [text, *[text + HALF_WIDTH] * sampled]
        for row, value in zip(rows, values, strict=True):
            row += (value or (None, None))[: 1 + sampled]
    rows = [[*row, _SAID.get(standing, standing)] for row, standing in zip(rows, standings, strict=True)]
    those = {kind: [row[0] for row, s in zip(rows, standings, strict=True) if s == kind] for kind in set(standings)}
    several = any(role == "workload" and len(table.axes[path]) > 1 for path, role in table.roles.items())
    words = _over_workloads(results, number, spec) if several else _words(spec, those)
    return QueryTable([*columns, _what(spec)], [tuple(row) for row in rows]), words


def _over_workloads(results: StoreReader, number: int, spec: SweepSpec) -> list[str]:
    """Say which designs no other one beats by means over all workloads; the table says it of each workload."""
    points = replace(swept(results, number, list(spec.objectives)), objectives=dict(spec.objectives))
    if VARIANT in points.axes:
        points = points.at({VARIANT: spec.variant or points.axes[VARIANT][-1]})
    chosen = find_front(points, list(spec.objectives))
    said = f"{_what(spec)} by {_names(spec)}, means over {', '.join(points.with_role('workload'))}"
    listed = [names(one.design.values) for one in chosen]
    more = f"; and {len(listed) - _MOST_DESIGNS} more" if len(listed) > _MOST_DESIGNS else ""
    return [f"{said}: {'; '.join(listed[:_MOST_DESIGNS])}{more}"] if listed else []


def _what(spec: SweepSpec) -> str:
    return "Pareto front" if len(spec.objectives) > 1 else "best"


def _words(spec: SweepSpec, points: Mapping[Standing, Sequence[int]]) -> list[str]:
    what = _what(spec)
    names = _names(spec)
    lines = []
    if "front" in points:
        lines.append(f"{what} by {names}: {_named(points['front'])}")
    if "not distinguishable" in points:
        noise = "their confidence intervals overlap"
        lines.append(
            f"not distinguishable from the {what} by {names}: {_named(points['not distinguishable'])}: {noise}"
        )
    return lines


def _names(spec: SweepSpec) -> str:
    return ", ".join(f"{text} ({'least' if way == 'minimize' else 'most'})" for text, way in spec.objectives.items())


def _named(points: Sequence[int]) -> str:
    more = f" and {len(points) - _MOST_NAMED} more" if len(points) > _MOST_NAMED else ""
    return ("point " if len(points) == 1 else "points ") + ", ".join(map(str, points[:_MOST_NAMED])) + more
