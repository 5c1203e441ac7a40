"""What a run would cost, by like runs of the store: processor time, cycles, memory; and how far off that has been.

A like run is of the same kind and does the same work in the same way: its configuration says the same of the workload,
and its design differs in the fewest values, the nearest first. Other work costs something else, by no rule that a store
knows. How far off such estimates are is found by leaving each stored run out and estimating it from the others.
"""

import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.base.axis_roles import role_of
from gpusim.base.formats import FIXED_0, FIXED_2
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table
from gpusim.results.metrics import leaves
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.views import COSTS

NEAREST = 3  # like runs that an estimate is the mean of
FEWEST = 4  # stored runs from which on an error is said
MOST = 400  # of them that are read, the latest
_CPU, _CYCLES, _MEMORY = "simulator.cpu_s", "kernel.cycles", "simulator.peak_memory_mb"
# how often and how far the work is run; of `gpu` its name stands for the values, which may differ
_WAYS = frozenset(f"run.{name}" for name in ("engine", "sampling", "draws", "timing"))
_OF_RUNS = """
    SELECT runs.id, runs.wall_s, configurations.json FROM runs JOIN configurations ON configuration = hash
    WHERE kind = ? AND state = 'done' ORDER BY runs.id DESC LIMIT ?
"""
_VALUES = """
    SELECT subjects.run, metric_names.name, metric_values.value FROM metric_values
    JOIN subjects ON subjects.id = metric_values.subject JOIN metric_names ON metric_names.id = metric_values.metric
    WHERE subjects.launch IS NULL AND subjects.layer IS NULL AND metric_names.name IN (?, ?, ?)
"""


@dataclass(frozen=True)
class RunCost:
    """Cost of a run."""

    cpu_s: float
    """Processor seconds, including the work around the simulation."""
    cycles: float
    """Cycles of its kernels in all variants."""
    memory_mb: float
    """Largest resident memory in megabytes."""


@dataclass(frozen=True)
class _KnownRun:
    values: Mapping[str, Any]
    cost: RunCost


class SimilarRuns:
    """The finished runs of a kind in a store, as what an estimate is made of."""

    def __init__(self, results: StoreReader, kind: str) -> None:
        self._groups: dict[str, list[_KnownRun]] = {}
        for one in _known_runs(results, kind):
            self._groups.setdefault(_work_of(one.values), []).append(one)
        self._asked = dict[str, None]()

    def of(self, configuration: Mapping[str, Any]) -> RunCost | None:
        """Estimate the cost of a run with this configuration; None without any like run."""
        values = dict(leaves(configuration))
        work = _work_of(values)
        if work not in self._groups:
            return None
        self._asked[work] = None
        return _estimate(values, self._groups[work])

    def error(self) -> float | None:
        """Return by which factor processor time was off in the median, of the runs that were like those asked for, each
        left out in turn; None for few runs.
        """
        off = []
        for group in (self._groups[work] for work in self._asked):
            for number, one in enumerate(group):
                found = _estimate(one.values, [*group[:number], *group[number + 1 :]])
                if found is not None:
                    off.append(abs(math.log(found.cpu_s / one.cost.cpu_s)))
        return math.exp(statistics.median(off)) if len(off) >= FEWEST else None

    def notes(self) -> list[str]:
        """Return what the estimates so far rest on, and how far off such ones were; nothing where there were none."""
        known = plain_sum(len(self._groups[work]) for work in self._asked)
        if not known:
            return []
        lines = [f"estimated from {FIXED_0(known)} like run{'s' * (known != 1)} of the store; nothing was run"]
        error = self.error()
        if error is not None:
            lines.append(
                f"of those, each by the others, processor time is off by a factor of {FIXED_2(error)} in the median"
            )
        return lines


def _work_of(values: Mapping[str, Any]) -> str:
    """Return what must be equal of like runs: the workload but for its seed, what is run of it, the GPU's name."""
    held = {
        path: value
        for path, value in values.items()
        if (role_of(path) == "workload" and not path.endswith("seed"))
        or path == "gpu.name"
        or any(path == way or path.startswith(f"{way}.") for way in _WAYS)
    }
    return json.dumps(held, sort_keys=True)


def _known_runs(results: StoreReader, kind: str) -> Iterator[_KnownRun]:
    measured: dict[int, dict[str, list[float]]] = {}
    for run, name, value in results.rows(_VALUES, [_CPU, _CYCLES, _MEMORY]).rows:
        if isinstance(value, int | float):
            measured.setdefault(run, {}).setdefault(name, []).append(float(value))
    for run, wall_s, text in results.rows(_OF_RUNS, [kind, MOST]).rows:
        held = measured.get(run, {})
        if wall_s and _CYCLES in held:
            spent = max(math.fsum(held.get(_CPU, [])), 1e-3)
            cost = RunCost(spent, math.fsum(held[_CYCLES]), max(held.get(_MEMORY, [0.0])))
            yield _KnownRun(dict(leaves(json.loads(text))), cost)


def _estimate(values: Mapping[str, Any], known: Sequence[_KnownRun]) -> RunCost | None:
    """Return the geometric means over the nearest runs, of those that are equally near over all of them."""
    if not known:
        return None
    apart = sorted(((_distance(values, one.values), number) for number, one in enumerate(known)))
    last = apart[min(NEAREST, len(apart)) - 1][0]
    if apart[0][0] == 0:
        last = 0.0  # the same work by other code, or another seed
    near = [known[number].cost for distance, number in apart if distance <= last]
    return RunCost(
        statistics.geometric_mean([one.cpu_s for one in near]),
        statistics.geometric_mean([max(one.cycles, 1.0) for one in near]),
        max(one.memory_mb for one in near),
    )


def _distance(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """Return how unlike two configurations are: numbers by their ratio, anything else as one."""
    total = 0.0
    for path in one.keys() | other.keys():
        a, b = one.get(path), other.get(path)
        if a == b:
            continue
        numbers = all(isinstance(x, int | float) and not isinstance(x, bool) and x > 0 for x in (a, b))
        total += 0.1 + abs(math.log(a / b)) if numbers else 1.0  # type: ignore[operator]
    return total


def cost_table(rows: Sequence[tuple[str, RunCost | None]], notes: Sequence[str]) -> Table:
    """Make the table of estimates by what they are of, with what they rest on and how far off they are below."""
    return COSTS.table(({"what": what, "cost": cost} for what, cost in rows), notes=list(notes))
