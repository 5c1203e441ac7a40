"""Every metric that gpusim reports: path, unit, definition and how it follows from what was counted.

Each counter of the tables in `gpusim.core.counters` is a metric of its own; what is derived from several (rates,
means, shares) is a formula in one of this package's files. The one list of them is `METRICS`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

from gpusim.core.counters import TABLES
from gpusim.core.facts import RunFacts
from gpusim.energy.model import EnergyModel
from gpusim.results.metrics.energy import ENERGY
from gpusim.results.metrics.half_widths import SUFFIX, half_widths
from gpusim.results.metrics.kernel import KERNEL
from gpusim.results.metrics.memory import CACHES, DRAM, ENGINE, TRANSLATION
from gpusim.results.metrics.metric import EnergyMetric, Metric, RunMetric, counted, ratio
from gpusim.results.metrics.profile import PROFILE
from gpusim.results.metrics.run import DATA, HOST, SIMULATOR, VERIFICATION
from gpusim.results.record import RunRecord

SCHEMA_VERSION = 3

# in the order in which they are reported
GROUPS = (
    "kernel",
    "profile",
    "host",
    "data",
    "cu",
    "l1",
    "scalar_cache",
    "instruction_cache",
    "translation",
    "crossbar",
    "ports",
    "l2",
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


AnyMetric = Metric | EnergyMetric | RunMetric


def _group(path: str) -> str:
    return path.partition(".")[0]


METRICS: tuple[AnyMetric, ...] = tuple(
    sorted(
        (
            *counted(TABLES),
            *KERNEL,
            *PROFILE,
            *HOST,
            *DATA,
            *CACHES,
            *TRANSLATION,
            *DRAM,
            *ENGINE,
            *ENERGY,
            *VERIFICATION,
            *SIMULATOR,
        ),
        key=lambda metric: GROUPS.index(_group(metric.path)),
    )
)
_POSITION = {metric.path: number for number, metric in enumerate(METRICS)}


_OF_LAUNCHES = tuple(metric for metric in METRICS if not isinstance(metric, RunMetric))


def to_tree(run: RunRecord) -> dict[str, Any]:
    """Return the metrics of one run as nested plain values, by the metrics' paths."""
    total = run.total
    tree = _tree((m.path, m.of(run) if isinstance(m, RunMetric) else _value(m, total, run.energy)) for m in METRICS)
    _add_sampling(tree, total, run.energy)
    if total.sampling is not None and tree["host"] is not None:  # launches run one after another
        tree["host"][f"time_us{SUFFIX}"] = tree["kernel"][f"time_us{SUFFIX}"]
    return tree


def launch_tree(facts: RunFacts, energy: EnergyModel | None = None) -> dict[str, Any]:
    """Return the metrics of one launch of a run, without those of the run as a whole.

    energy: of the machine's events, None: energies are not reported.
    """
    blank, applicable = _applicable(frozenset(facts), energy is not None)
    known: dict[str, dict[str, Any]] = {}
    for group, name, metric in applicable:
        value = _value(metric, facts, energy)
        if value is not None:
            known.setdefault(group, dict(blank[group]))[name] = value
    tree: dict[str, Any] = {group: known.get(group) for group in blank}
    _add_sampling(tree, facts, energy)
    return tree


@cache
def _applicable(
    sections: frozenset[str], energy: bool
) -> tuple[Mapping[str, Mapping[str, None]], Sequence[tuple[str, str, Metric | EnergyMetric]]]:
    """Return all names of launches' metrics by group, and the metrics that can have a value if only these sections are
    counted.

    A program may launch thousands of kernels that are not timed, for which few metrics are known.
    """
    blank: dict[str, dict[str, None]] = {}
    applicable = []
    for metric in _OF_LAUNCHES:
        group, _, name = metric.path.partition(".")
        blank.setdefault(group, {})[name] = None
        if energy if isinstance(metric, EnergyMetric) else sections.issuperset(metric.sections):
            applicable.append((group, name, metric))
    return blank, applicable


def _value(metric: Metric | EnergyMetric, facts: RunFacts, energy: EnergyModel | None) -> Any:
    return metric.value(facts, energy) if isinstance(metric, EnergyMetric) else metric.value(facts)


def _add_sampling(tree: dict[str, Any], facts: RunFacts, energy: EnergyModel | None) -> None:
    """Add the half-width of each metric of sampled facts, and how they were sampled; nothing for unsampled facts."""
    if facts.sampling is None:
        return
    figures = {m.path: partial(_value, m, energy=energy) for m in _OF_LAUNCHES}
    for path, width in half_widths(figures, facts).items():
        group, _, name = path.partition(".")
        tree[group][name + SUFFIX] = width
    tree["sampling"] = facts.sampling.described()


def _tree(values: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Build group → name → value; a group without any known value is None as a whole."""
    tree: dict[str, Any] = {}
    for path, value in values:
        group, _, name = path.partition(".")
        tree.setdefault(group, {})[name] = value
    return {group: held if any(v is not None for v in held.values()) else None for group, held in tree.items()}


def leaves(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, value) for every leaf of a metrics tree."""
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
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
        if path not in _POSITION or _group(path) in _NOT_COMPARED or isinstance(value, bool | str) or value is None:
            continue
        reference = base.get(path)
        if isinstance(reference, int | float):
            out[path] = ratio(value, reference)
    return out


def describe(path: str) -> AnyMetric | None:
    """Return the metric of a path; None for an unknown path."""
    return METRICS[_POSITION[path]] if path in _POSITION else None


def position(path: str) -> int:
    """Return the position of a path's metric in METRICS; for an unknown path the position after the last one."""
    return _POSITION.get(path, len(METRICS))
