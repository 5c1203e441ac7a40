"""Counters as tables: what is counted is said once; state, facts, metrics and documentation follow from the tables.

A unit has a `CounterTable`: the section of a launch's facts that its counts go to, where its state lies in the machine
record, and a `Counter` for each count. `gpusim.base.jit.counter_fields` makes the state's fields of it,
`CounterTable.read` the facts of a launch, `CounterTable.combined` those of several, `gpusim.results.metrics` a metric
of each counter.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from itertools import zip_longest
from typing import Any

from gpusim.base.errors import unknown_name
from gpusim.base.sums import plain_sum


class Aggregation(Enum):
    """The combination of a count over the instances of a unit (CUs, channels), and over launches."""

    SUM = "sum"
    MAX = "max"
    EACH = "each"  # instances stay apart, as a list; each is summed over launches, of which some may have fewer
    FIRST = "first"  # the same for all launches
    JOINED = "joined"  # text, joined by ' + '
    DISTINCT = "distinct"  # text, each once, joined by ' + '


_OVER_LAUNCHES: dict[Aggregation, Callable[[Sequence[Any]], Any]] = {
    Aggregation.SUM: plain_sum,
    Aggregation.MAX: max,
    # launches may have run on one compute unit and on all of them, as microbenchmarks do
    Aggregation.EACH: lambda lists: [plain_sum(values) for values in zip_longest(*lists, fillvalue=0)],
    Aggregation.FIRST: lambda values: values[0],
    Aggregation.JOINED: " + ".join,
    Aggregation.DISTINCT: lambda texts: " + ".join(dict.fromkeys(texts)),
}

SUM, MAX, EACH = Aggregation.SUM, Aggregation.MAX, Aggregation.EACH
FIRST, JOINED, DISTINCT = Aggregation.FIRST, Aggregation.JOINED, Aggregation.DISTINCT


@dataclass(frozen=True)
class Counter:
    """A counter of a unit."""

    name: str
    """Name in facts and metrics."""
    unit: str
    """Unit; empty for text."""
    meaning: str
    """Definition in words."""
    aggregation: Aggregation = SUM
    """Combination over instances and launches."""
    field: str = ""
    """Field of the unit's state; empty: `name`."""
    per: str = ""
    """Field of the unit's state with the number of instances in use; empty: the unit has one."""
    elements: tuple[int, ...] = ()
    """Elements of the field that are added up; empty: the field is one count."""
    length: int = 0
    """Number of separate counts in the field; 0: one count."""

    @property
    def state_field(self) -> str:
        """Name of the field in the unit's state."""
        return self.field or self.name

    def read(self, state: Any) -> Any:
        """Return the count over all instances of the unit, in plain Python numbers. state: the unit's record."""
        values = state[self.state_field]
        if not values.ndim:  # the unit's only instance, and not worth NumPy's sums
            return int(values)
        if self.elements:
            values = values[..., list(self.elements)].sum(axis=-1)
        if self.per:
            values = values[: int(state[self.per])]
        if self.aggregation is EACH:
            return [int(n) for n in values]
        return int(values.max() if self.aggregation is MAX else values.sum())


class UnknownCountError(AttributeError):
    """A section of facts has no such count.

    The message is made when it is read, since metrics ask for missing counts thousands of times in a program of
    launches.
    """

    def __init__(self, name: str, counted: "Counts") -> None:
        super().__init__(name, counted)
        self._wanted, self._counted = name, counted

    def __str__(self) -> str:
        return unknown_name("count", self._wanted, self._counted)


class Counts(dict[str, Any]):
    """A section of facts: count by name, as a mapping and by attribute: `facts.l1.hits` is `facts["l1"]["hits"]`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise UnknownCountError(name, self) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


@dataclass(frozen=True)
class CounterTable:
    """The counters of a unit."""

    section: str
    """Section of the facts that receives the counts."""
    counters: tuple[Counter, ...]
    """Counters in the order in which they are shown."""
    state: str = ""
    """Path of the unit's record in the machine record; empty for counts of the launch as a whole."""
    present: str = ""
    """Path of the field that is 1 if the machine has the unit; empty: every machine has it."""

    @property
    def names(self) -> list[str]:
        """Names of the counts."""
        return [counter.name for counter in self.counters]

    def counts(self, state: Any) -> Counts:
        """Return the counts of a unit, over all its instances. state: the unit's record, or an array of theirs."""
        return Counts((counter.name, counter.read(state)) for counter in self.counters)

    def read(self, m: Any) -> Counts | None:
        """Return the counts of the unit in the machine record `m`; None if the unit is no part of the machine."""
        if self.present and not int(_at(m, self.present)):
            return None
        return self.counts(_at(m, self.state))

    def combined(self, launches: Iterable[Counts]) -> Counts:
        """Combine the counts of several launches, each counter over those launches that have it."""
        parts = list(launches)
        total = Counts()
        for counter in self.counters:
            values = [part[counter.name] for part in parts if counter.name in part]
            if values:
                total[counter.name] = _OVER_LAUNCHES[counter.aggregation](values)
        return total


def _at(m: Any, path: str) -> Any:
    return reduce(getattr, path.split("."), m)
