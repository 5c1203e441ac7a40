"""Metrics of the memory side that follow from its counts: hit rates, throughputs, mean latencies, use of the data bus.

A level's throughput is, as Dong et al. 2018 (section 4.3) define it, the bytes asked of it over the time from its first
to its last transaction; `profile.*_throughput` is over the kernel's time, as nvprof has it.
"""

from collections.abc import Callable

from gpusim.base.counters import Counts
from gpusim.model.core.levels import ABOVE_L2, BETWEEN, L1, L2, LEVELS
from gpusim.model.core.levels import CacheLevel as CacheLevel
from gpusim.results.metrics.kernel import LINE_BYTES
from gpusim.results.metrics.metric import Metric, derived, quotient, ratio, total

CACHES = LEVELS
VECTOR_PATH = (L1, *BETWEEN, L2)  # the levels that a vector load may come to, in order

_HIT_RATE = "hits / transactions; a merge is not a hit"
_READ_LATENCY = "mean over reads, from the access at the cache to its response"


def _asked_of_l2(l2: Counts) -> int:
    return int(LINE_BYTES * l2.read_transactions + l2.bytes_written)


def _throughput(path: str, definition: str, bytes_of: Callable[[Counts], int]) -> Metric:
    """Make a metric of bytes asked of a level of memory over the time from its first to its last transaction."""
    section = path.partition(".")[0]

    def of(level: Counts, kernel: Counts) -> float | None:
        return ratio(bytes_of(level), level.span_cycles / kernel.clock_ghz)

    return Metric(path, "GB/s", f"{definition} / time of span_cycles", (section, "kernel"), of)


def _transactions(level: CacheLevel) -> Metric:
    return total(f"{level.section}.transactions", "accesses", level.accesses_meaning, *level.accesses)


def _hit_rate(level: CacheLevel) -> Metric:
    return quotient(f"{level.section}.hit_rate", "fraction", _HIT_RATE, "hits", *level.accesses)


MEMORY = (
    *(metric(level) for level in ABOVE_L2 for metric in (_transactions, _hit_rate)),
    quotient("l1.read_latency_cycles", "cycles", _READ_LATENCY, "read_latency_total_cycles", "read_transactions"),
    _throughput("l1.throughput", "bytes_asked_for", lambda l1: l1.bytes_asked_for),
    _throughput("lds.throughput", "bytes_asked_for", lambda lds: lds.bytes_asked_for),
    quotient(
        "instruction_cache.read_latency_cycles",
        "cycles",
        "mean over missing and prefetched lines, from the request to the line",
        "read_latency_total_cycles",
        "misses",
        "prefetches",
    ),
    _transactions(L2),
    total(
        "l2.write_transactions", "accesses", "those of the transactions that write, atomics included", *L2.accesses[1:]
    ),
    _hit_rate(L2),
    quotient("l2.read_hit_rate", "fraction", "read_hits / read_transactions", "read_hits", "read_transactions"),
    derived(
        "l2.write_hit_rate",
        "fraction",
        "(hits - read_hits) / write_transactions: a write hits where its line is there, in whole or in part",
        lambda l2: ratio(l2.hits - l2.read_hits, l2.store_transactions + l2.atomic_transactions),
    ),
    derived(
        "l2.hit_rate_with_merges",
        "fraction",
        "(hits + mshr_merges) / transactions: those that had no line fetched",
        lambda l2: ratio(
            l2.hits + l2.mshr_merges, l2.read_transactions + l2.store_transactions + l2.atomic_transactions
        ),
    ),
    quotient("l2.read_latency_cycles", "cycles", _READ_LATENCY, "read_latency_total_cycles", "reads_answered"),
    _throughput("l2.read_throughput", "64 bytes for each read", lambda l2: LINE_BYTES * l2.read_transactions),
    _throughput("l2.write_throughput", "bytes_written", lambda l2: l2.bytes_written),
    _throughput("l2.throughput", "64 bytes for each read, and bytes_written", _asked_of_l2),
    quotient("translation.l1_hit_rate", "fraction", "l1_hits / l1_lookups", "l1_hits", "l1_lookups"),
    quotient("translation.l2_hit_rate", "fraction", "l2_hits / l2_requests", "l2_hits", "l2_requests"),
    quotient(
        "translation.latency_cycles",
        "cycles",
        "mean over the requests to the L2 TLB, from the request to its answer",
        "latency_total_cycles",
        "l2_requests",
    ),
    total("dram.bytes", "bytes", "bytes moved, both ways", "bytes_read", "bytes_written"),
    _throughput("dram.read_throughput", "bytes_read", lambda dram: dram.bytes_read),
    _throughput("dram.write_throughput", "bytes_dirty", lambda dram: dram.bytes_dirty),
    _throughput("dram.throughput", "bytes_read and bytes_dirty", lambda dram: dram.bytes_read + dram.bytes_dirty),
    quotient(
        "dram.write_amplification",
        "bytes per byte",
        "bytes_written / bytes_dirty: 1 where no byte of a burst is masked",
        "bytes_written",
        "bytes_dirty",
    ),
    quotient(
        "dram.row_hit_rate",
        "fraction",
        "accesses that found their row open / accesses",
        "row_hits",
        "row_hits",
        "row_misses",
        "row_conflicts",
    ),
    quotient(
        "dram.read_latency_cycles",
        "cycles",
        "mean over reads, from entering the controller's queue to the data",
        "read_latency_total_cycles",
        "reads",
    ),
    quotient(
        "dram.bandwidth_utilization",
        "fraction",
        "data-bus busy time / kernel time, mean over channels",
        "bus_busy_cycles",
        "bus_available_cycles",
    ),
    quotient(
        "engine.request_latency_cycles",
        "cycles",
        "mean over the answers, from a request's arrival to its answer's leaving for L2",
        "latency_cycles",
        "responses",
    ),
)
