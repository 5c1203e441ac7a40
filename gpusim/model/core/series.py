"""Counters over time: what a launch counts in each interval of its cycles.

The run loop stops at the end of each interval, between two cycles, and the counters are read: the compiled core knows
nothing of it, and a run without intervals does nothing for them.
"""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from gpusim.base.counters import Counter
from gpusim.base.jit import Machine, address_of
from gpusim.base.sums import plain_sum
from gpusim.model.core.counters import MACHINE_TABLES
from gpusim.model.core.cu.counters import STALL_REASONS
from memory.wheel import SIZE

if TYPE_CHECKING:
    from gpusim.model.core.facts import RunFacts

MOST = 2048  # intervals of a launch, and of launches together: where there are more, neighbours are joined
_COUNTED: dict[str, tuple[str, ...]] = {
    "kernel": (
        "workgroups",
        "wavefront_instructions",
        "valu_instructions",
        "matrix_instructions",
        "vmem_instructions",
        "lds_instructions",
    ),
    "cu": ("valu_busy_cycles", "matrix_busy_cycles", "lds_busy_cycles"),
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
class CountSeries:
    """Counts of a launch, or of successive launches, by interval.

    Neighbouring intervals are merged where there would be more than MOST.
    """

    every: int
    """Requested length of an interval in cycles."""
    ends: Sequence[int]
    """Kernel cycle at the end of each interval; the end of a launch ends its last interval."""
    counts: Mapping[str, Sequence[int]]
    """Counts of each interval by metric path; a wait counts in the interval in which it ends."""
    resident: Sequence[int]
    """Resident wavefronts at the end of each interval."""


class Snapshots:
    """Reads a launch's counters every so many cycles."""

    def __init__(self, m: Machine, every: int) -> None:
        """Begin in the machine's present cycle. every: cycles of an interval, more than 0."""
        self._m, self._asked, self._every, self._delay = m, every, every, 0
        self._next = int(m.wheel.now) + every
        present = [(t, c) for t, c in _COUNTERS if not t.present or int(attrgetter(t.present)(m))]
        self._paths = [(table.section, counter.name) for table, counter in present]
        places = [_places(m, f"{table.state}.{counter.state_field}", counter) for table, counter in present]
        places.append(_places(m, "run.waves_left"))
        self._places = np.concatenate(places)
        self._starts = np.cumsum([0, *map(len, places[:-1])])
        self._words = _words(m)
        self._cycles: list[int] = []  # kernel cycles of the snapshots
        self._taken: list[np.ndarray] = []  # counts since the begin, then resident wavefronts

    def delayed(self, cycles: int) -> None:
        """Leave out cycles that are none of the kernel's and come next."""
        self._delay += cycles
        self._next += cycles

    def advance(self, run: Callable[[int], int], limit: int) -> int:
        """Run the machine to cycle `limit` by `run`, which is given a cycle and returns what run_cycles returns."""
        from gpusim.model.core.loop import RUNNING  # what reads stored series needs no machine

        m = self._m
        while True:
            stop = self._next
            if self._every < 2 * SIZE and not m.wheel.row.any():
                stop = int(m.wheel.now) + 2 * SIZE  # nothing will happen any more: run_cycles says so by then
            status = int(run(min(limit, stop)))
            now = int(m.wheel.now)
            if now >= self._next:
                self._take(now)
            if status != RUNNING or now >= limit:
                return status

    def _read(self) -> np.ndarray:
        """Return the counts, each a sum over its unit's instances, and the resident wavefronts."""
        return np.add.reduceat(self._words[self._places], self._starts)

    def _take(self, now: int) -> None:
        self._cycles.append(now - self._delay)
        self._taken.append(self._read())
        if len(self._taken) == 2 * MOST:
            del self._taken[::2], self._cycles[::2]
            self._every *= 2
        self._next = now + self._every

    def series(self, facts: "RunFacts") -> CountSeries:
        """Return the series of the launch that has ended with `facts`, whose counts are the sums of the series'."""
        kept = [k for k, cycle in enumerate(self._cycles) if cycle < facts.cycles]
        resident = int(self._read()[-1])
        last = [facts.sections[section][name] for section, name in self._paths]
        rows = np.array([[0] * (len(last) + 1), *(self._taken[k] for k in kept), [*last, resident]], np.int64)
        steps = np.diff(rows[:, :-1], axis=0).T.tolist()
        counts = {f"{section}.{name}": step for (section, name), step in zip(self._paths, steps, strict=True)}
        ends = [*(self._cycles[k] for k in kept), facts.cycles]
        return _bounded(CountSeries(self._asked, ends, counts, rows[1:, -1].tolist()))


def _words(m: Machine) -> np.ndarray:
    """Return the machine record as an array of int64, at the same place in memory."""
    row, layout = m.wheel.row, m.dtype
    wheel, at = layout.fields["wheel"][:2]
    start = address_of(row) - at - wheel.fields["row"][1]
    return np.ctypeslib.as_array((ctypes.c_int64 * (layout.itemsize // 8)).from_address(start))


def _places(m: Machine, path: str, counter: Counter | None = None) -> np.ndarray:
    """Return where in the machine record, in words, the numbers of a field lie, or those that a counter adds up."""
    layout, places = m.dtype, np.zeros((), np.int64)
    for name in path.split("."):
        kind, at = layout.fields[name][:2]
        layout, shape = (kind, ()) if kind.subdtype is None else kind.subdtype
        rows = np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape) * layout.itemsize
        places = places.reshape(places.shape + (1,) * len(shape)) + at + rows
    if layout != np.int64:
        raise TypeError(f"{path}: of type {layout}, and not int64")
    if counter is not None and counter.elements:
        places = places[..., list(counter.elements)]
    if counter is not None and counter.per:
        places = places[: int(attrgetter(f"{path.rpartition('.')[0]}.{counter.per}")(m))]
    return places.reshape(-1) // 8


def joined(launches: Sequence[tuple[CountSeries, int]]) -> CountSeries:
    """Return the series of consecutive launches, each with its cycles, as one."""
    ends: list[int] = []
    begin = 0
    for series, cycles in launches:
        ends += [begin + end for end in series.ends]
        begin += cycles
    paths = dict.fromkeys(path for series, _ in launches for path in series.counts)
    counts: dict[str, Sequence[int]] = {
        path: [n for series, _ in launches for n in series.counts.get(path) or [0] * len(series.ends)] for path in paths
    }
    resident = [n for series, _ in launches for n in series.resident]
    return _bounded(CountSeries(launches[0][0].every, ends, counts, resident))


def _bounded(series: CountSeries) -> CountSeries:
    """Join neighbours until there are at most MOST intervals."""
    while len(series.ends) > MOST:
        series = coarser(series, 2)
    return series


def coarser(series: CountSeries, factor: int) -> CountSeries:
    """Join each `factor` neighbouring intervals, the last ones with as many as are left.

    Args:
        series: Counts by interval.
        factor: Intervals to join.
    """
    lasts = [min(k + factor, len(series.ends)) - 1 for k in range(0, len(series.ends), factor)]
    counts: dict[str, Sequence[int]] = {
        path: [plain_sum(values[k : k + factor]) for k in range(0, len(values), factor)]
        for path, values in series.counts.items()
    }
    ends, resident = ([values[k] for k in lasts] for values in (series.ends, series.resident))
    return CountSeries(series.every, ends, counts, resident)
