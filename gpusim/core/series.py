"""Counters over time: what a launch counts in each interval of its cycles.

The run loop stops at the end of each interval, between two cycles, and the counters are read: the compiled core knows
nothing of it, and a run without intervals does nothing for them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from gpusim.base.sums import plain_sum
from gpusim.core.counters import MACHINE_TABLES
from gpusim.core.cu.counters import STALL_REASONS
from gpusim.core.loop import RUNNING
from memory.wheel import SIZE

if TYPE_CHECKING:
    from gpusim.core.facts import RunFacts

MOST = 2048  # intervals of a launch, and of launches together: where there are more, neighbours are joined
_COUNTED: dict[str, tuple[str, ...]] = {
    "kernel": ("workgroups", "wavefront_instructions", "valu_instructions", "vmem_instructions", "lds_instructions"),
    "cu": ("valu_busy_cycles", "lds_busy_cycles"),
    "stalls": STALL_REASONS,
    "l1": ("read_transactions", "write_transactions", "hits"),
    "l2": ("read_transactions", "store_transactions", "atomic_transactions", "hits"),
    "dram": ("bytes_read", "bytes_written", "row_hits", "row_misses", "row_conflicts"),
    "engine": ("requests", "responses", "lines_fetched"),
}
_COUNTERS = [
    (table, counter)
    for table in MACHINE_TABLES
    for counter in table.counters
    if counter.name in _COUNTED.get(table.section, ())
]


@dataclass(frozen=True)
class Series:
    """Counts of a launch, or of several one after another, interval by interval.

    every: cycles of an interval as asked for; ends: kernel cycles at the end of each interval, from the first launch's
    begin: a launch's last interval ends with it, and neighbours are joined where there would be more than MOST; counts:
    by metric path, in each interval: a wait is counted in that in which it ends; resident: wavefronts at its end.
    """

    every: int
    ends: Sequence[int]
    counts: Mapping[str, Sequence[int]]
    resident: Sequence[int]


class Snapshots:
    """Reads a launch's counters every so many cycles."""

    def __init__(self, m: Any, every: int) -> None:
        """Begin in the machine's present cycle. every: cycles of an interval, more than 0."""
        self._m, self._asked, self._every, self._delay = m, every, every, 0
        self._next = int(m.wheel.now) + every
        present = [(t, c) for t, c in _COUNTERS if not t.present or int(attrgetter(t.present)(m))]
        self._paths = [(table.section, counter.name) for table, counter in present]
        self._read = [(counter.read, attrgetter(table.state)(m)) for table, counter in present]
        self._taken: list[tuple[int, int, list[int]]] = []  # kernel cycle, resident wavefronts, counts since the begin

    def delayed(self, cycles: int) -> None:
        """Leave out cycles that are none of the kernel's and come next."""
        self._delay += cycles
        self._next += cycles

    def advance(self, run: Callable[[int], int], limit: int) -> int:
        """Run the machine to cycle `limit` by `run`, which is given a cycle and returns what run_cycles returns."""
        m = self._m
        while True:
            now = int(m.wheel.now)
            # where nothing will happen any more, run_cycles says so after a turn of the wheel
            stop = self._next if m.wheel.row.any() else now + 2 * SIZE
            status = int(run(min(limit, stop)))
            now = int(m.wheel.now)
            if now >= self._next:
                self._take(now)
            if status != RUNNING or now >= limit:
                return status

    def _take(self, now: int) -> None:
        counts = [read(state) for read, state in self._read]
        self._taken.append((now - self._delay, int(self._m.run.waves_left), counts))
        if len(self._taken) == 2 * MOST:
            del self._taken[::2]
            self._every *= 2
        self._next = now + self._every

    def series(self, facts: "RunFacts") -> Series:
        """Return the series of the launch that has ended with `facts`, whose counts are the sums of the series'."""
        last = [facts.sections[section][name] for section, name in self._paths]
        taken = [one for one in self._taken if one[0] < facts.cycles]
        taken.append((facts.cycles, int(self._m.run.waves_left), last))
        before = [[0] * len(last), *(counts for _, _, counts in taken)]
        steps = [[b - a for a, b in zip(*pair, strict=True)] for pair in pairwise(before)]
        counts = {f"{s}.{name}": list(c) for (s, name), c in zip(self._paths, zip(*steps, strict=True), strict=True)}
        return _bounded(Series(self._asked, [end for end, _, _ in taken], counts, [waves for _, waves, _ in taken]))


def joined(launches: Sequence[tuple[Series, int]]) -> Series:
    """Return the series of consecutive launches, each with its cycles, as one."""
    ends: list[int] = []
    begin = 0
    for one, cycles in launches:
        ends += [begin + end for end in one.ends]
        begin += cycles
    paths = dict.fromkeys(path for one, _ in launches for path in one.counts)
    counts: dict[str, Sequence[int]] = {
        path: [n for one, _ in launches for n in one.counts.get(path) or [0] * len(one.ends)] for path in paths
    }
    resident = [n for one, _ in launches for n in one.resident]
    return _bounded(Series(launches[0][0].every, ends, counts, resident))


def _bounded(series: Series) -> Series:
    """Join neighbours until there are at most MOST intervals."""
    while len(series.ends) > MOST:
        series = coarser(series, 2)
    return series


def coarser(series: Series, factor: int) -> Series:
    """Join each `factor` neighbouring intervals, the last ones with as many as are left."""
    lasts = [min(k + factor, len(series.ends)) - 1 for k in range(0, len(series.ends), factor)]
    counts: dict[str, Sequence[int]] = {
        path: [plain_sum(values[k : k + factor]) for k in range(0, len(values), factor)]
        for path, values in series.counts.items()
    }
    ends, resident = ([values[k] for k in lasts] for values in (series.ends, series.resident))
    return Series(series.every, ends, counts, resident)
