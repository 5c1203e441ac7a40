"""What a metric is: a path in the result, a unit, a definition, and how its value follows from what was counted."""

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from gpusim.base.counters import Counter, CounterTable, Counts, UnknownCountError
from gpusim.base.sums import plain_sum
from gpusim.model.core.facts import RunFacts
from gpusim.model.energy.model import EnergyModel
from gpusim.results.records.record import RunRecord


class Metric(NamedTuple):
    """A metric of a launch, of the sum of several, or of a run."""

    path: str
    """Path, such as 'l2.hit_rate'."""
    unit: str
    """Unit; empty for text."""
    definition: str
    """Definition in words."""
    reads: tuple[str, ...]
    """Inputs of the formula in order, by the names of `known_of`."""
    of: Callable[..., Any]
    """Formula."""
    counter: Counter | None = None
    """Counter that the metric reports unchanged; None: derived."""

    @property
    def of_run(self) -> bool:
        """Whether a single launch does not have it, such as the time on the host's clock."""
        return "run" in self.reads

    def value(self, known: Mapping[str, Any]) -> Any:
        """Return the metric by what is known (`collect_formula_inputs`); None where it does not apply or was not
        counted."""
        held = [known.get(name) for name in self.reads]
        if None in held:
            return None
        try:
            return self.of(*held)
        except UnknownCountError:
            return None


def collect_formula_inputs(
    facts: RunFacts, energy: EnergyModel | None = None, run: RunRecord | None = None
) -> dict[str, Any]:
    """Return what formulas may read, by the names of their parameters.

    These are the sections of the facts, and where there are: `facts`, all of them; `energy`, of the machine's events;
    `run`, as a whole.
    """
    more = {"facts": facts, "energy": energy, "run": run}
    return facts.sections | {name: held for name, held in more.items() if held is not None}


def derived(path: str, unit: str, definition: str, formula: Callable[..., Any]) -> Metric:
    """Make a metric that is computed: `formula`'s parameters are what it reads, by the names of
    `collect_formula_inputs`."""
    code = formula.__code__
    return Metric(path, unit, definition, code.co_varnames[: code.co_argcount], formula)


def total(path: str, unit: str, definition: str, *counts: str) -> Metric:
    """Make a metric that is the sum of counts of its own section."""
    return Metric(path, unit, definition, (path.partition(".")[0],), lambda section: _sum(section, counts))


def quotient(path: str, unit: str, definition: str, part: str, *whole: str) -> Metric:
    """Make a metric that is a count of its own section, divided by the sum of other counts of it."""

    def of(section: Counts) -> float | None:
        return ratio(getattr(section, part), _sum(section, whole))

    return Metric(path, unit, definition, (path.partition(".")[0],), of)


def counted(tables: Iterable[CounterTable]) -> list[Metric]:
    """Make a metric for each counter of the tables."""
    return [
        Metric(f"{table.section}.{c.name}", c.unit, c.meaning, (table.section,), attrgetter(c.name), c)
        for table in tables
        for c in table.counters
    ]


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole; None if `whole` is 0."""
    return part / whole if whole else None


def _sum(section: Counts, names: Iterable[str]) -> Any:
    return plain_sum(getattr(section, name) for name in names)
