"""Counters over time (`--every`): a result's series as rates, interval by interval."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpusim.base.sums import plain_sum
from gpusim.model.core.series import CountSeries, coarser
from gpusim.results.report.result import RunMetrics
from gpusim.results.report.rule import STALLS

CountsByName = Mapping[str, int]


class IntervalRate(NamedTuple):
    """A rate of an interval."""

    name: str
    """Name of the rate."""
    unit: str
    """Its unit."""
    needs: tuple[str, ...]
    """Counts that it needs."""
    of: Callable[[CountsByName, int], float | None]
    """Returns the rate of an interval by counts and cycles; None: not known."""


def _share(part: str, *whole: str) -> Callable[[CountsByName, int], float | None]:
    def share(counts: CountsByName, cycles: int) -> float | None:
        accesses = plain_sum(counts[name] for name in whole)
        return 100 * counts[part] / accesses if accesses else None

    return share


def _per_cycle(*names: str) -> Callable[[CountsByName, int], float | None]:
    return lambda counts, cycles: plain_sum(counts[name] for name in names) / cycles


_L1 = ("l1.read_transactions", "l1.write_transactions")
_L2 = ("l2.read_transactions", "l2.store_transactions", "l2.atomic_transactions")
_ROWS = ("dram.row_hits", "dram.row_misses", "dram.row_conflicts")
_DRAM = ("dram.bytes_read", "dram.bytes_written")
RATES = (
    IntervalRate(
        "instructions", "IPC", ("kernel.wavefront_instructions",), _per_cycle("kernel.wavefront_instructions")
    ),
    IntervalRate("L1 hits", "%", (*_L1, "l1.hits"), _share("l1.hits", *_L1)),
    IntervalRate("L2 hits", "%", (*_L2, "l2.hits"), _share("l2.hits", *_L2)),
    IntervalRate("DRAM", "bytes/cycle", _DRAM, _per_cycle(*_DRAM)),
    IntervalRate("DRAM row hits", "%", _ROWS, _share("dram.row_hits", *_ROWS)),
    IntervalRate("engine's reads", "lines/cycle", ("engine.lines_fetched",), _per_cycle("engine.lines_fetched")),
)


@dataclass(frozen=True)
class IntervalReport:
    """Rates and stalls of a run by interval."""

    ends: Sequence[int]
    """Last cycle of each interval."""
    rates: Mapping[IntervalRate, Sequence[float | None]]
    """Values of each rate with counts in the series; None: no accesses in the interval."""
    resident: Sequence[int]
    """Resident wavefronts at the end of each interval."""
    stalls: Mapping[str, Sequence[float]]
    """Share of each stall reason in the interval's wavefront-cycles, in %."""


def compute_interval_rates(column: RunMetrics, most: int = 0) -> IntervalReport | None:
    """Return a variant's series as rates; None without one.

    Args:
        column: The run, a column of the result.
        most: Intervals, neighbours are joined; 0: any number.
    """
    held = column.tree.get("series")
    if not held:
        return None
    series = CountSeries(**held)
    if most:
        series = coarser(series, -(-len(series.ends) // most))
    steps = [{path: values[k] for path, values in series.counts.items()} for k in range(len(series.ends))]
    cycles = [end - begin for begin, end in zip([0, *series.ends], series.ends, strict=False)]
    rates = {
        rate: [rate.of(counts, n) for counts, n in zip(steps, cycles, strict=True)]
        for rate in RATES
        if all(path in series.counts for path in rate.needs)
    }
    whole = [plain_sum(counts.get(f"stalls.{reason}", 0) for reason in STALLS) or 1 for counts in steps]
    stalls = {
        reason: [100 * counts.get(f"stalls.{reason}", 0) / n for counts, n in zip(steps, whole, strict=True)]
        for reason in STALLS
    }
    return IntervalReport(series.ends, rates, series.resident, stalls)
