"""A stored sweep as its points with the roles of their axes: what figures and answers are made of."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from gpusim.base.axis_roles import roles_of
from gpusim.base.errors import UserError
from gpusim.base.expressions import Expression
from gpusim.base.intervals import Estimate
from gpusim.results.metrics import leaves
from gpusim.results.report.sweeps.decisions import KERNEL
from gpusim.results.report.sweeps.points import VARIANT, SweepData, SweepPoint, ordered
from gpusim.results.store.decisions import read_choices

if TYPE_CHECKING:
    from gpusim.results.store.reading import StoreReader
    from gpusim.results.store.sweeps import SweepTable

_MOST_CHOICES = 4  # kernels of which a run's whole result is read
_ALWAYS = ("kernel.cycles", "kernel.time_us")


def swept(results: "StoreReader", which: int | str, wanted: Sequence[str] = ()) -> SweepData:
    """Read a sweep's points that have ended, with its objectives, cycles, and more metrics or expressions.

    Args:
        results: The store.
        which: Number or name.
        wanted: Metrics, or expressions over metrics, axes and values of the configuration.

    Raises:
        UserError: A name is of something else.
    """
    known = results.known_metrics()
    plain = results.sweep(which, *(path for path in _ALWAYS if path in known))
    specification = plain.specification
    objectives: dict[str, str] = specification.get("objectives") or {}
    configuration = _configuration(results, plain.number)
    paths = [*plain.axes, *known, *configuration]
    expressions = {text: Expression(text, paths, "--metric", "metric") for text in (*objectives, *wanted)}
    for path in _ALWAYS:
        if path in known:
            expressions.setdefault(path, Expression(path, known, "--metric", "metric"))
    metrics = dict.fromkeys(p for one in expressions.values() for p in one.paths if p in known and p not in plain.axes)
    table = results.sweep(which, *metrics)
    names: dict[int, str] = dict(results.rows("SELECT id, name FROM runs WHERE name IS NOT NULL").rows)
    spent = results.rows("SELECT sum(wall_s) FROM runs JOIN points ON run = id WHERE points.sweep = ?", [table.number])
    found = load_sweep_data(table, expressions, configuration, names, spent.rows[0][0] or 0.0)
    if KERNEL not in table.decisions:
        return found
    runs = {row[KERNEL]: row["run"] for row in table if row["state"] == "done" and row[KERNEL]}
    return replace(found, choices=read_choices(results, dict(list(runs.items())[:_MOST_CHOICES])))


def load_sweep_data(
    table: "SweepTable",
    expressions: Mapping[str, Expression],
    configuration: Mapping[str, Any] = MappingProxyType({}),
    names: Mapping[int, str] = MappingProxyType({}),
    wall_s: float = 0.0,
) -> SweepData:
    """Return a table's points that have ended, with the value of each expression.

    Args:
        configuration: Values that no axis varies.
        names: Names of runs, by number.
        wall_s: What the runs took together.
    """
    specification = table.specification
    several = len({row["variant"] for row in table if row["state"] == "done"}) > 1
    places = []
    for row in table:
        if row["state"] != "done":
            continue
        values = {path: row[path] for path in table.axes} | ({VARIANT: row["variant"]} if several else {})
        held = {**configuration, **row}
        widths = {path: row.get(f"{path}_half_width") or 0.0 for path in table.metrics}
        measured = {text: value for text, each in expressions.items() if (value := _estimate(each, held, widths))}
        run = row["run"]
        label = f"run {names[run]} ({run})" if run in names else f"run {run}"
        decided = {name: row[name] for name in table.decisions if row[name] is not None}
        places.append(SweepPoint(row["point"], values, measured, label, decided))
    axes = {path: ordered(values) for path, values in table.axes.items()}
    if several:
        axes[VARIANT] = list(dict.fromkeys(point.values[VARIANT] for point in places))
    given = specification.get("roles") or {}
    return SweepData(
        title=table.title,
        label=table.label,
        axes=axes,
        roles=roles_of(axes, given),
        places=places,
        told=tuple(given),
        objectives=specification.get("objectives") or {},
        constraints=specification.get("constraints") or (),
        fixed=specification.get("sets") or {},
        planned=table.planned,
        failed=len(table.failed),
        wall_s=wall_s,
        method=specification.get("method", "grid"),
        decisions=table.decisions,
    )


def _configuration(results: "StoreReader", sweep: int) -> dict[str, Any]:
    """Return the numbers of the first run's configuration by path: those that no axis varies hold for all points."""
    sql = """
        SELECT json FROM points JOIN runs ON runs.id = run JOIN configurations ON configuration = hash
        WHERE points.sweep = ? LIMIT 1
    """
    rows = results.rows(sql, [sweep]).rows
    return (
        {path: value for path, value in leaves(json.loads(rows[0][0])) if not isinstance(value, list)} if rows else {}
    )


def _estimate(expression: Expression, values: dict[str, Any], widths: dict[str, float]) -> Estimate | None:
    """Return an expression's value at a point; None where a value is missing or is no number."""
    if any(
        isinstance(values.get(path), bool) or not isinstance(values.get(path), int | float) for path in expression.paths
    ):
        return None
    with suppress(UserError, ValueError):  # values that do not go together: a division by zero
        return expression.estimate(values, widths)
    return None
