"""Every metric that gpusim reports: path, unit, definition and how it follows from what was counted.

Each counter of the tables in `gpusim.model.core.counters` is a metric of its own. What is derived from several (rates,
means, shares) is a row of `derived.txt`, or of a table in `memory.py` or `energy.py`. `METRICS` lists them all.

Why so: a metric is a row with path, unit and definition, so that screen, JSON, page and documentation cannot differ.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from gpusim.model.core.counters import TABLES
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.levels import ABOVE_L2, L2
from gpusim.model.energy.model import EnergyModel
from gpusim.results.metrics.energy import ENERGY
from gpusim.results.metrics.formulas import DERIVED
from gpusim.results.metrics.half_widths import SUFFIX as SUFFIX
from gpusim.results.metrics.half_widths import half_widths
from gpusim.results.metrics.memory import MEMORY
from gpusim.results.metrics.metric import Metric, collect_formula_inputs, counted, ratio
from gpusim.results.records.record import RunRecord

SCHEMA_VERSION = 3

# in the order in which they are reported
GROUPS = (
    "kernel",
    "profile",
    "layer",
    "host",
    "data",
    "cu",
    "lds",
    *(level.section for level in ABOVE_L2),
    "translation",
    "crossbar",
    "ports",
    L2.section,
    "dram",
    "engine",
    "energy",
    "stalls",
    "stalls_by_compute_unit",
    "roofline",
    "verification",
    "simulator",
)
_NOT_COMPARED = ("data", "stalls_by_compute_unit", "verification", "simulator")


def _group(path: str) -> str:
    return path.partition(".")[0]


METRICS: tuple[Metric, ...] = tuple(
    sorted((*counted(TABLES), *MEMORY, *DERIVED, *ENERGY), key=lambda metric: GROUPS.index(_group(metric.path)))
)
_BY_PATH = {metric.path: metric for metric in METRICS}
_OF_LAUNCHES = tuple(metric for metric in METRICS if not metric.of_run)


def to_tree(run: RunRecord) -> dict[str, Any]:
    """Return the metrics of one run as nested plain values, by the metrics' paths."""
    total = run.total
    tree = _tree(total, run.energy, run)
    if total.sampling is not None and tree["host"] is not None:  # launches run one after another
        tree["host"][f"time_us{SUFFIX}"] = tree["kernel"][f"time_us{SUFFIX}"]
    return tree


def launch_tree(facts: RunFacts, energy: EnergyModel | None = None) -> dict[str, Any]:
    """Return the metrics of one launch of a run, without those of the run as a whole.

    energy: of the machine's events, None: energies are not reported.
    """
    return _tree(facts, energy)


def _tree(facts: RunFacts, energy: EnergyModel | None, run: RunRecord | None = None) -> dict[str, Any]:
    """Build group → name → value; a group without any known value is None as a whole."""
    known = collect_formula_inputs(facts, energy, run)
    blank, applicable = _applicable(frozenset(known))
    found: dict[str, dict[str, Any]] = {}
    for group, name, metric in applicable:
        value = metric.value(known)
        if value is not None:
            found.setdefault(group, dict(blank[group]))[name] = value
    tree: dict[str, Any] = {group: found.get(group) for group in blank}
    if facts.sampling is not None:
        for path, width in half_widths(_OF_LAUNCHES, facts, energy).items():
            group, _, name = path.partition(".")
            tree[group][name + SUFFIX] = width
        tree["sampling"] = facts.sampling.described()
    return tree


@cache
def _applicable(known: frozenset[str]) -> tuple[Mapping[str, Mapping[str, None]], Sequence[tuple[str, str, Metric]]]:
    """Return all names of metrics by group, and the metrics that can have a value if only this is known.

    A program may launch thousands of kernels that are not timed, for which few metrics are known.
    """
    blank: dict[str, dict[str, None]] = {}
    applicable = []
    for metric in METRICS if "run" in known else _OF_LAUNCHES:
        group, _, name = metric.path.partition(".")
        blank.setdefault(group, {})[name] = None
        if known.issuperset(metric.reads):
            applicable.append((group, name, metric))
    return blank, applicable


def chosen(paths: Iterable[str], facts: RunFacts, energy: EnergyModel | None = None) -> dict[str, tuple[Any, float]]:
    """Return some metrics of a launch, or of several as one, that apply: value and half-width by path.

    The half-width is 0 where nothing was sampled, and of a metric that is no number.
    """
    known = collect_formula_inputs(facts, energy)
    held = [_BY_PATH[path] for path in paths]
    widths = half_widths(held, facts, energy)
    found = {metric.path: metric.value(known) for metric in held}
    return {path: (value, _width(widths.get(path))) for path, value in found.items() if value is not None}


def _width(found: Any) -> float:
    return found if isinstance(found, float) else 0.0


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, value) for every leaf of a tree of metrics, or of a configuration; a list is one value.

    Args:
        tree: Tree of metrics.
        prefix: What paths begin with.
    """
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def normalized(sparse: dict[str, Any], dense: dict[str, Any]) -> dict[str, float | None]:
    """Return every comparable number of `sparse` divided by that of `dense`; None where the latter is 0.

    Paths that have no number in `dense` are left out.
    """
    base = dict(leaves(dense))
    out: dict[str, float | None] = {}
    for path, value in leaves(sparse):
        if path not in _BY_PATH or _group(path) in _NOT_COMPARED or isinstance(value, bool | str) or value is None:
            continue
        reference = base.get(path)
        if isinstance(reference, int | float):
            out[path] = ratio(value, reference)
    return out


def describe(path: str) -> Metric | None:
    """Return the metric of a path; None for an unknown path."""
    return _BY_PATH.get(path)
