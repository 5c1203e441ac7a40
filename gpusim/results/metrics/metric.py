"""What a metric is: a path in the result, a unit, a definition, and how its value follows from what was counted."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusim.base.counters import Counter, CounterTable, Counts, NotCounted
from gpusim.core.facts import RunFacts

if TYPE_CHECKING:
    from gpusim.energy.model import EnergyModel
    from gpusim.results.record import RunRecord


class Metric(NamedTuple):
    """One metric of a launch, or of the sum of several.

    sections: those of the facts that the formula `of` takes, in order; counter: the counter that the metric reports
    unchanged, None if the metric is derived.
    """

    path: str
    unit: str
    definition: str
    sections: tuple[str, ...]
    of: Callable[..., Any]
    counter: Counter | None = None

    def value(self, facts: RunFacts) -> Any:
        """Return the metric of a launch; None where it does not apply or was not counted."""
        sections = [facts[name] for name in self.sections]
        if None in sections:
            return None
        try:
            return self.of(*sections)
        except NotCounted:
            return None


class RunMetric(NamedTuple):
    """One metric of a run that a single launch does not have, such as the time on the host's clock."""

    path: str
    unit: str
    definition: str
    of: "Callable[[RunRecord], Any]"


class EnergyMetric(NamedTuple):
    """One metric of a launch, or of the sum of several, that needs the energies of the machine's events."""

    path: str
    unit: str
    definition: str
    of: "Callable[[EnergyModel, RunFacts], float | None]"

    def value(self, facts: RunFacts, energy: "EnergyModel | None") -> float | None:
        """Return the metric of a launch; None without energies, or where a count or an energy is unknown."""
        return None if energy is None else self.of(energy, facts)


def derived(path: str, unit: str, definition: str, formula: Callable[..., Any]) -> Metric:
    """Make a metric that is computed from counts: `formula`'s parameters are the sections that it reads."""
    code = formula.__code__
    return Metric(path, unit, definition, code.co_varnames[: code.co_argcount], formula)


def counted(tables: Iterable[CounterTable]) -> list[Metric]:
    """Make a metric for each counter of the tables."""
    return [
        Metric(
            f"{table.section}.{counter.name}",
            counter.unit,
            counter.meaning,
            (table.section,),
            partial(_count, counter.name),
            counter,
        )
        for table in tables
        for counter in table.counters
    ]


def _count(name: str, section: Counts) -> Any:
    return getattr(section, name)


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole; None if `whole` is 0."""
    return part / whole if whole else None
