"""Sweeps of a store: their points as a table that knows its axes, what is best, and the Pareto front."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from gpusim.base.axis_roles import Role, roles_of
from gpusim.base.errors import UserError, unknown_name
from gpusim.base.expressions import Expression
from gpusim.base.intervals import Estimate, differ, front
from gpusim.base.sizes import sizes
from gpusim.base.sums import plain_sum
from gpusim.results.report.sweeps.decisions import DECISIONS, differing
from gpusim.results.store.decisions import read_decisions
from gpusim.results.store.table import NOTHING, VALUE, WIDTH, QueryTable

if TYPE_CHECKING:  # what a table alone does without: a store is asked in a tenth of a second
    from gpusim.base.picture import Picture
    from gpusim.results.report.page.figures import Style
    from gpusim.results.report.sweeps.points import SweepData
    from gpusim.results.report.sweeps.series import FigureKind
    from gpusim.results.store.reading import StoreReader

DEFAULT_METRICS = ("kernel.cycles", "kernel.time_us")
HALF_WIDTH = "_half_width"  # after a metric's name: the column of its confidence intervals
PREFIX = "sweep:"  # before a sweep's number or name, where a run may be meant too
Objective = str | Callable[[dict[str, Any]], float]


class SweepTable(QueryTable):
    """A sweep: a row for each known point and variant, with the axes' columns before those of the metrics.

    number, name (None without one), title. A sampled metric has a second column, with its half-width
    (`..._half_width`).

    Args:
        axes: Values by path, in order, as far as they are known.
        metrics: Columns of metrics.
        path: Path of the store.

    Attributes:
        planned: How many points it has.
        specification: Every value of its file.
        sources: Hash of the code that ran it.
        decisions: Columns of what points decided for themselves and differ in, such as 'kernel'.
    """

    def __init__(
        self, path: Path, row: Mapping[str, Any], axes: Sequence[str], metrics: Sequence[str], table: QueryTable
    ) -> None:
        super().__init__(table.columns, table.rows)
        self.path = path
        self.number: int = row["id"]
        self.name: str | None = row["name"]
        self.title: str = row["title"]
        self.planned: int = row["points"]
        self.sources: str = row["sources"]
        self.specification: dict[str, Any] = json.loads(row["specification"])
        self.metrics = list(metrics)
        self.decisions = [name for name in DECISIONS if name in self.columns and name not in axes]
        places = {path: self.columns.index(path) for path in axes}
        self.axes: dict[str, list[Any]] = {
            path: _ordered([one[place] for one in self.rows]) for path, place in places.items()
        }

    @property
    def label(self) -> str:
        """The number and the name of the sweep: 'sweep 2', or 'sweep base (2)' with a name."""
        return f"sweep {self.number}" if self.name is None else f"sweep {self.name} ({self.number})"

    @property
    def known(self) -> int:
        """The number of points that have run or failed."""
        return len({one["point"] for one in self})

    @property
    def failed(self) -> QueryTable:
        """Rows of points that failed; the run's row in the table `runs` has its error."""
        return QueryTable(self.columns, [self.rows[n] for n, one in enumerate(self) if one["state"] == "failed"])

    @property
    def roles(self) -> dict[str, Role]:
        """The role of each axis: given in the sweep's file, else that of its name."""
        return roles_of(self.axes, self.specification.get("roles") or {})

    @property
    def swept(self) -> "SweepData":
        """The points with their roles and the table's metrics: what figures and answers are made of."""
        from gpusim.results.store.sweep_points import load_sweep_data

        known = [*self.axes, *self.metrics]
        return load_sweep_data(self, {path: Expression(path, known, "metrics", "metric") for path in self.metrics})

    def answers(self, metric: str = "") -> list[str]:
        """Return in words which design is best, what is equal to it, what it costs, and what matters.

        metric: empty: the first objective, else cycles. Raises UserError for one that no point has.
        """
        from gpusim.results.report.sweeps.answers import describe_best_designs

        return describe_best_designs(self._with(metric), metric)

    def figure(
        self,
        *metrics: str,
        x: str = "",
        y: str = "",
        by: str = "",
        at: Mapping[str, Any] | None = None,
        baseline: Mapping[str, Any] | None = None,
        draw: "FigureKind | Literal['']" = "",
        style: "Style" = "screen",
        panels: Sequence[str] = (),
        **layout: Any,
    ) -> "Picture":
        """Draw the sweep, as `gpusim report --figure` does.

        Args:
            metrics: one, of the store's, or an expression; two: a Pareto front, the cost first.
            x: axis across.
            y: axis down, of a heat map.
            by: axis of lines or bars.
            at: values that points must have, by axis.
            baseline: values of the points with which others are compared, by axis.
            draw: "lines", "bars", "heat-map", "contour", "front", "slice", "parallel" or "importance"; empty: what fits
                the axes.
            style: "screen", "paper", "wide", or a template such as "ieee".
            panels: axes with a panel for each value, besides workloads.
            layout: title, labels, order, legend, x_range, y_range, columns, share_y and palette.

        Returns:
            The picture, which `save` writes to a file.

        Raises:
            UserError: the sweep cannot be drawn so.
            MissingExtraError: Matplotlib is not installed.
        """
        from gpusim.results.report.page.figures import draw_figure
        from gpusim.results.report.sweeps.series import FigureChoice, FigureLayout

        known = FigureLayout.__dataclass_fields__
        for name in layout:
            if name not in known:
                raise UserError(f"figure: {unknown_name('argument', name, known)}")
        choice = FigureChoice(
            metrics=metrics, x=x, y=y, by=by, at=at or {}, baseline=baseline or {}, kind=draw, panels=panels,
            layout=FigureLayout(**layout),
        )  # fmt: skip
        return draw_figure(self._with(*metrics), choice, style)

    def frame(self) -> Any:
        """Return a `pandas.DataFrame` of the points that have ended: metrics by the axes' values, which are its index.

        Raises UserError where pandas is not installed.
        """
        several = ["variant"] if len({row["variant"] for row in self if row["state"] == "done"}) > 1 else []
        whole = self.pandas()
        done = whole[whole["state"] == "done"].drop(
            columns=["point", "run", "state", *([] if several else ["variant"])]
        )
        return done.set_index([*self.axes, *several]).sort_index()

    def best(self, metric: str = "", least: bool = True) -> QueryTable:
        """Return the row with the least value of a metric, followed by all that cannot be distinguished from it.

        Over several workloads a design is as good as the geometric mean over all of them; the rows are those of the
        best design, one for each workload, and of its equals. Each environment has its own best. Values whose
        confidence intervals overlap cannot be distinguished, nor can equal ones.

        Args:
            metric: empty: kernel.time_us, or the nearest to it that the table has.
            least: False: the largest value is the best.

        Returns:
            Columns and rows.

        Raises:
            UserError: the table lacks the metric.
        """
        from gpusim.results.report.sweeps.points import is_rate, mean_of

        metric = self._column(metric or self.usual_metric)
        apart, workload, design = (self._with_role(role) for role in ("environment", "workload", "design"))
        chosen: list[int] = []
        for rows in self._grouped(range(len(self)), apart).values():
            wanted = len(self._grouped(rows, workload))
            ranked = []
            for numbers in self._grouped(rows, [*design, "variant"]).values() if wanted > 1 else ([n] for n in rows):
                values = [value for n in numbers if (value := self._estimate(self[n], metric)) is not None]
                if values and (wanted == 1 or len(values) == wanted):
                    ranked.append((mean_of(values, is_rate(metric)) if wanted > 1 else values[0], numbers))
            ranked.sort(key=lambda item: item[0][0] if least else -item[0][0])
            chosen += [n for value, numbers in ranked if not differ(value, ranked[0][0]) for n in numbers]
        return QueryTable(self.columns, [self.rows[n] for n in chosen])

    def pareto(self, *objectives: Objective) -> QueryTable:
        """Return the rows that no other row of the same workload and environment beats: one that is nowhere larger, and
        in one objective smaller by more than the noise.

        objectives: columns, or functions of a row that return a number, all of which are to be minimised. Raises
        UserError.
        """
        if len(objectives) < 2:
            raise UserError(
                "pareto: two objectives or more are needed, as in pareto('kernel.time_us', 'engine.sib_kib')"
            )
        for objective in objectives:
            if isinstance(objective, str):
                self._column(objective)
        chosen: list[int] = []
        apart = [*self._with_role("environment"), *self._with_role("workload")]
        for rows in self._grouped(range(len(self)), apart).values():
            points, places = [], []
            for number in rows:
                values = [self._estimate(self[number], objective) for objective in objectives]
                if None not in values and self[number]["state"] == "done":
                    points.append([value for value in values if value is not None])
                    places.append(number)
            chosen += [n for n, is_on in zip(places, front(points), strict=True) if is_on]
        return QueryTable(self.columns, [self.rows[n] for n in sorted(chosen)])

    def memory_kib(self, row: Mapping[str, Any]) -> float:
        """Return the KiB of the memories whose sizes are axes, in one row, else 0. An objective for `pareto`."""
        return plain_sum(sizes({path: row[path] for path in self.axes}).values())

    @property
    def usual_metric(self) -> str:
        """The default metric of `best`: a time, cycles, or the first of the metrics."""
        return next((metric for metric in DEFAULT_METRICS[::-1] if metric in self.metrics), self.metrics[0])

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        from gpusim.results.report.sweep_html import sweep_html

        return sweep_html(self)

    def __repr__(self) -> str:
        varied = ", ".join(f"{path} ({len(values)})" for path, values in self.axes.items())
        return f"<{self.label}: {self.title}; {self.known} of {self.planned} points over {varied}>"

    def _with(self, *metrics: str) -> "SweepData":
        """Return the points with these metrics too, which the store may have though the table has not."""
        from gpusim.results.store.reading import StoreReader
        from gpusim.results.store.sweep_points import swept

        with StoreReader(self.path) as results:
            return swept(results, self.number, [metric for metric in metrics if metric])

    def _with_role(self, role: Role) -> list[str]:
        return [path for path, held in self.roles.items() if held == role and len(self.axes[path]) > 1]

    def _grouped(self, numbers: Iterable[int], paths: Sequence[str]) -> dict[tuple[Any, ...], list[int]]:
        """Return the rows' numbers by their values in these columns."""
        found: dict[tuple[Any, ...], list[int]] = {}
        for number in numbers:
            found.setdefault(tuple(self[number][path] for path in paths), []).append(number)
        return found

    def _column(self, name: str) -> str:
        if name not in self.columns:
            known = [*self.axes, *self.metrics]
            raise UserError(
                f"{self.label}: {unknown_name('column', name, known)}; others, where the sweep is read: "
                f"sweep({self.number}, 'l2.hit_rate', …)"
            )
        return name

    def _estimate(self, row: dict[str, Any], objective: Objective) -> Estimate | None:
        """Return a row's value and its half-width; None where the value is not a number."""
        value = row[objective] if isinstance(objective, str) else objective(row)
        if not isinstance(value, int | float):
            return None
        return value, (row.get(f"{objective}{HALF_WIDTH}") or 0.0) if isinstance(objective, str) else 0.0


def sweep_table(results: "StoreReader", which: int | str, metrics: Sequence[str]) -> SweepTable:
    """Read a sweep by its number or name; raises UserError."""
    row = sweep_row(results, which)
    number = row["id"]
    axes = {}
    for path in json.loads(row["specification"])["axes"]:
        sql = "SELECT number, value FROM axes WHERE sweep = ? AND path = ?"
        if values := dict(results.rows(sql, [number, path]).rows):  # by the points' numbers
            axes[path] = values
    subjects, columns = results.whole_runs((_RUNS, [number]), metrics)
    by_run: dict[int, list[tuple[int, str]]] = {}
    for subject, run, variant in subjects:
        if any(subject in column for column in columns.values()):
            by_run.setdefault(run, []).append((subject, variant))
    sql = "SELECT number, run, state FROM points JOIN runs ON runs.id = run WHERE points.sweep = ? ORDER BY number"
    point_rows = [
        (point, run, state, subject, variant)
        for point, run, state in results.rows(sql, [number]).rows
        for subject, variant in by_run.get(run, _NO_SUBJECT)
    ]
    points, runs, states, of, variants = zip(*point_rows, strict=True) if point_rows else ((),) * 5
    heads, cells = [], []  # heads and cells of the metrics' columns
    for metric, column in columns.items():
        sampled = any(row[WIDTH] for row in column.values())  # 0: to be sampled, but ran whole
        for head, place in ((metric, VALUE), (metric + HALF_WIDTH, WIDTH))[: 1 + sampled]:
            heads.append(head)
            cells.append([column.get(subject, NOTHING)[place] for subject in of])
    varied = [map(values.get, points) for values in axes.values()]
    decided = _decided(results, row, axes, point_rows)
    rows = list(zip(points, *varied, runs, states, *decided.values(), variants, *cells, strict=True))
    columns_of_table = ["point", *axes, "run", "state", *decided, "variant", *heads]
    return SweepTable(results.path, row, list(axes), metrics, QueryTable(columns_of_table, rows))


def _decided(
    results: "StoreReader", row: Mapping[str, Any], axes: Mapping[str, Mapping[int, Any]], point_rows: Sequence[Any]
) -> dict[str, list[str | None]]:
    """Return columns of the decisions in which a sweep's rows differ."""
    specification = json.loads(row["specification"])
    decisions = read_decisions(results, row["id"])
    several = len({variant for _, _, state, _, variant in point_rows if state == "done"}) > 1
    roles = roles_of([*axes, *["variant"] * several], specification.get("roles") or {})
    points = [
        ({**{path: held.get(point) for path, held in axes.items()}, "variant": variant}, decisions[run, variant])
        for point, run, state, _, variant in point_rows
        if state == "done" and (run, variant) in decisions
    ]
    return {
        name: [decisions.get((run, variant), {}).get(name) for _, run, _, _, variant in point_rows]
        for name in differing(points, roles)
        if name not in axes
    }


_NO_SUBJECT = [(0, "")]  # stands for the subjects of a run without values, such as a failed point


_RUNS = "SELECT run FROM points WHERE sweep = ?"


def sweep_row(results: "StoreReader", which: int | str) -> dict[str, Any]:
    """Return the row of the table `sweeps` by number or name; raises UserError that says which sweeps there are."""
    rows = results.table("sweeps")
    for row in rows:
        if str(which) in (str(row["id"]), row["name"]):
            return row
    there = ", ".join(str(row["id"]) if row["name"] is None else f"{row['name']} ({row['id']})" for row in rows)
    raise UserError(f"{results.path}: there is no sweep {which} in it; it has {there or 'none'}")


def sweep_meant(results: "StoreReader", text: str) -> int | None:
    """Return the number of the sweep that a text names: `sweep:2`, `sweep:base`, or a name that no run has; else None.

    Args:
        results: The store.
        text: The text.

    Raises:
        UserError: `sweep:` has an unknown number or name.
    """
    if text.startswith(PREFIX):
        return int(sweep_row(results, text.removeprefix(PREFIX))["id"])
    named = [row["id"] for row in results.table("sweeps", name=text)]
    return named[0] if named and not results.table("runs", name=text) else None


def _ordered(values: Sequence[Any]) -> list[Any]:
    """Return each value once: numbers by size, anything else in the given order."""
    once = list(dict.fromkeys(values))
    return sorted(once) if all(isinstance(value, int | float) for value in once) else once
