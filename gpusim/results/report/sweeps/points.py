"""The points of a sweep with the roles of their axes, and means over workloads that carry their error bars."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpusim.base.axis_roles import Role
from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import amount, is_number
from gpusim.base.intervals import Estimate
from gpusim.base.sizes import sizes
from gpusim.base.student import interval
from gpusim.base.sums import plain_sum
from gpusim.results import metrics

VARIANT = "variant"  # the axis of a run's variants, dense and sparse, where there are several
MEAN = "geometric mean"  # the name of what is averaged over workloads, beside them
MEAN_OF_RATES = "mean"  # the same of rates: a hit rate of 0 is a value, and ratios of rates mean nothing
MEANS = (MEAN, MEAN_OF_RATES)
_TIMES = ("cycles", "us", "ns", "s")  # units of what has a speed-up
_UNITS = {"kib": "KiB", "mib": "MiB", "bytes": "bytes", "ghz": "GHz", "cycles": "cycles", "us": "us", "gbps": "Gb/s"}
PointKey = tuple[Any, ...]


@dataclass(frozen=True)
class SweepPoint:
    """A point of a sweep."""

    number: int
    """Number in the sweep."""
    values: Mapping[str, Any]
    """Values by axis."""
    measured: Mapping[str, Estimate]
    """Measured values by metric or expression."""
    run: str = ""
    """Name of its run."""
    decided: Mapping[str, str] = field(default_factory=dict)
    """What it decided for itself, by name (`gpusim.results.report.sweeps.decisions`)."""


@dataclass(frozen=True)
class Design:
    """A design with its results at each workload."""

    values: Mapping[str, Any]
    """Values by design axis."""
    by_workload: Mapping[PointKey, Estimate]
    """Result by the values of the workload axes."""
    mean: Estimate | None
    """Mean over all workloads; None: a workload is missing."""
    places: Sequence[SweepPoint] = ()
    """Points of the design."""

    @property
    def memory_kib(self) -> float:
        """The KiB of the memories whose sizes are among the values; 0 without any."""
        return float(plain_sum(sizes(self.values).values()))


@dataclass(frozen=True)
class SweepData:
    """Finished points of a sweep."""

    title: str
    """Title."""
    label: str
    """Label."""
    axes: Mapping[str, Sequence[Any]]
    """Values of each axis by path, in order."""
    roles: Mapping[str, Role]
    """Role of each axis."""
    places: Sequence[SweepPoint]
    """Points."""
    told: Collection[str] = ()
    """Axes whose role the sweep's file states."""
    objectives: Mapping[str, str] = field(default_factory=dict)
    """'minimize' or 'maximize' by metric or expression."""
    constraints: Sequence[str] = ()
    """Constraints as in the file."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Values common to all points, by path."""
    planned: int = 0
    """Number of planned points."""
    failed: int = 0
    """Number of failed points."""
    wall_s: float = 0.0
    """Total wall time of the runs in seconds."""
    method: str = "grid"
    """Search method."""
    decisions: Sequence[str] = ()
    """Names of the decisions that the points differ in."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Assignment that states a decision, such as 'kernels.dense=sgemm', by what was decided."""

    def with_role(self, *wanted: Role) -> list[str]:
        """Return the axes of these roles that have several values."""
        return [path for path, values in self.axes.items() if self.roles[path] in wanted and len(values) > 1]

    def at(self, fixed: Mapping[str, Any]) -> "SweepData":
        """Return the points that have these values; raise UserError for an axis or value that no point has."""
        for path, value in fixed.items():
            if path not in self.axes:
                raise UserError(f"{path}: {unknown_name('axis', path, self.axes)}")
            if value not in self.axes[path]:
                there = ", ".join(map(format_axis_value, self.axes[path]))
                raise UserError(f"{path}={format_axis_value(value)}: no point has this value; there are {there}")
        kept = [one for one in self.places if all(one.values[path] == value for path, value in fixed.items())]
        if not kept:
            raise UserError(f"{_named(fixed)}: no point has these values together")
        return replace(self, places=kept, axes=_values(self.axes, kept))

    def groups(self, paths: Iterable[str]) -> dict[PointKey, list[SweepPoint]]:
        """Return the points by their values of these axes, in the order of the axes' values."""
        by = list(paths)
        found: dict[PointKey, list[SweepPoint]] = {}
        for one in self.places:
            found.setdefault(tuple(one.values[path] for path in by), []).append(one)
        order = {path: {value: n for n, value in enumerate(self.axes[path])} for path in by}
        places = {key: [order[path][value] for path, value in zip(by, key, strict=True)] for key in found}
        return {key: found[key] for key in sorted(found, key=places.__getitem__)}

    def designs(self, metric: str) -> list[Design]:
        """Return every design with its values of a metric, those that lack a workload included."""
        by_design, by_workload = self.with_role("design"), self.with_role("workload")
        wanted = set(self.groups(by_workload))
        made = []
        for key, held in self.groups(by_design).items():
            of = {tuple(p.values[w] for w in by_workload): p for p in held if metric in p.measured}
            values = {workload: one.measured[metric] for workload, one in of.items()}
            whole = mean_of(list(values.values()), is_rate(metric)) if set(values) == wanted else None
            made.append(Design(dict(zip(by_design, key, strict=True)), values, whole, list(of.values())))
        return made

    @property
    def metric(self) -> str:
        """What the sweep is about: its first objective that is measured, else cycles or the first metric."""
        known = dict.fromkeys(text for one in self.places for text in one.measured)
        measured = [
            text for text in self.objectives if text in known and text not in self.axes and not self._is_size(text)
        ]
        usual = [text for text in ("kernel.cycles", "kernel.time_us") if text in known]
        return next(iter([*measured, *usual, *known]), "")

    def is_minimized(self, text: str) -> bool:
        """Tell whether less of it is better: as the objectives say, else all that is no rate or speed-up."""
        if text in self.objectives:
            return self.objectives[text] == "minimize"
        return not (text.endswith(("_rate", "speed_up", "_utilization", "occupancy", "ipc")))

    def _is_size(self, text: str) -> bool:
        """Tell whether an objective is made of the axes alone: it costs nothing to know."""
        return all(word in self.axes for word in text.replace("+", " ").split())


def merged_repeats(swept: SweepData) -> SweepData:
    """Return the sweep with one point in place of those that differ only in an axis of role `repeat`.

    Its values are means, with the half-width of their 95 % interval (Student), or the mean of their own half-widths
    where that is larger.
    """
    repeats = swept.with_role("repeat")
    if not repeats:
        return swept
    others = [path for path in swept.axes if path not in repeats]
    merged = []
    for held in swept.groups(others).values():
        texts = [text for text in held[0].measured if all(text in one.measured for one in held)]
        measured = {text: _mean_of_repeats([one.measured[text] for one in held]) for text in texts}
        values = {path: held[0].values[path] for path in others}
        merged.append(replace(held[0], values=values, measured=measured))
    kept = {path: values for path, values in swept.axes.items() if path in others}
    return replace(swept, places=merged, axes=kept, roles={path: swept.roles[path] for path in kept})


def _mean_of_repeats(estimates: Sequence[Estimate]) -> Estimate:
    mean, width = interval([value for value, _ in estimates])
    return mean, max(width, math.fsum(own for _, own in estimates) / len(estimates))


def mean_of(estimates: Sequence[Estimate], of_rates: bool = False) -> Estimate:
    """Return the geometric mean, of rates and values that are not all positive the arithmetic one, with its half-width.

    Args:
        estimates: values with half-widths. Their errors are taken as independent of one another: their squares add.
        of_rates: the values are rates.

    Returns:
        The mean with its half-width.
    """
    count = len(estimates)
    if count == 1:
        return estimates[0]
    if not of_rates and all(value > 0 for value, _ in estimates):
        logarithms = math.fsum(math.log(value) for value, _ in estimates)
        first = estimates[0][0]
        mean = first if all(value == first for value, _ in estimates) else math.exp(logarithms / count)
        return mean, mean * math.hypot(*(width / value for value, width in estimates)) / count
    return math.fsum(value for value, _ in estimates) / count, math.hypot(*(width for _, width in estimates)) / count


def ratio_of(over: Estimate, under: Estimate) -> Estimate | None:
    """Return a ratio and its half-width, to which the relative errors of both add; None over 0.

    Args:
        over: Dividend.
        under: Divisor.
    """
    if not under[0]:
        return None
    ratio = over[0] / under[0]
    return ratio, abs(ratio) * under[1] / abs(under[0]) + over[1] / abs(under[0])


def is_rate(text: str) -> bool:
    """Tell whether a metric, or each one of a sum, is a share or a rate (a unit over another one)."""
    found = [metrics.describe(word) for word in text.split() if "." in word]
    return bool(found) and all(one is not None and (one.unit == "fraction" or "/" in one.unit) for one in found)


def mean_name(text: str) -> str:
    """Return the name of a metric's mean over workloads."""
    return MEAN_OF_RATES if is_rate(text) else MEAN


def is_time(text: str) -> bool:
    """Tell whether a metric is a time, of which a baseline makes a speed-up."""
    metric = metrics.describe(text)
    return metric is not None and metric.unit in _TIMES


def unit_of(text: str) -> str:
    """Return the unit of a metric, or that which a path of the configuration ends in; empty without one."""
    metric = metrics.describe(text)
    if metric is not None:
        return "" if metric.unit in ("fraction", "count") else metric.unit
    words = {_UNITS.get(part.rpartition("_")[2], "") for part in text.replace("+", " ").split()}
    return words.pop() if len(words) == 1 else ""


def format_axis_name(text: str) -> str:
    """Return a path or metric as an axis of a figure names it: 'engine.sib (KiB)'."""
    unit = unit_of(text)
    ends = [end for end, said_unit in _UNITS.items() if said_unit == unit and text.endswith(f"_{end}")]
    short = text.removesuffix(f"_{ends[0]}") if ends and " " not in text else text
    return f"{short} ({unit})" if unit else short


def format_axis_value(value: Any) -> str:
    """Write a value of an axis for a reader."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    return amount(value) if is_number(value) else str(value)


def format_estimate(estimate: Estimate) -> str:
    """Write a value with its half-width, where it has one."""
    value, width = estimate
    return amount(float(value)) + (f" ± {amount(float(width))}" if width else "")


def _named(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{path} {format_axis_value(value)}" for path, value in values.items())


def names(values: Mapping[str, Any]) -> str:
    """Write a point's values for a reader: 'engine.sib_kib 64, engine.l2_share 0.25'."""
    return _named(values) or "the only one"


def _values(axes: Mapping[str, Sequence[Any]], places: Sequence[SweepPoint]) -> dict[str, list[Any]]:
    """Return the axes' values that some point has, in their order."""
    there = {path: {one.values[path] for one in places} for path in axes}
    return {path: [value for value in values if value in there[path]] for path, values in axes.items()}


def replace_measurements(
    places: Iterable[SweepPoint], change: Callable[[SweepPoint], Mapping[str, Estimate]]
) -> list[SweepPoint]:
    """Return the points with other measured values."""
    return [replace(one, measured=change(one)) for one in places]


def ordered(values: Iterable[Any]) -> list[Any]:
    """Return each value once: numbers first, by size, then the others in the order given."""
    once = list(dict.fromkeys(values))
    numbers = [value for value in once if is_number(value)]
    return sorted(numbers) + [value for value in once if not is_number(value)]
