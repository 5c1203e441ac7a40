"""Metrics of the memory side that follow from its counts: hit rates, throughputs, mean latencies, use of the data bus.

A level's throughput is, as Dong et al. 2018 (section 4.3) define it, the bytes asked of it over the time from its first
to its last transaction; `profile.*_throughput` is over the kernel's time, as nvprof has it.
"""

from collections.abc import Callable

from gpusim.base.counters import Counts
from gpusim.results.metrics.kernel import LINE_BYTES
from gpusim.results.metrics.metric import Metric, derived, quotient, ratio, total

_TRANSACTIONS = "all line accesses, reads and writes: hits + misses + mshr_merges"
_FETCHES = "fetches that were looked up: hits + misses + mshr_merges"
_HIT_RATE = "hits / transactions; a merge is not a hit"
_READ_LATENCY = "mean over reads, from the access at the cache to its response"
_LOADS_STORES = ("read_transactions", "write_transactions")
_FETCHED = ("hits", "misses", "mshr_merges")
_AT_L2 = ("read_transactions", "store_transactions", "atomic_transactions")


def _asked_of_l2(l2: Counts) -> int:
    return int(LINE_BYTES * l2.read_transactions + l2.bytes_written)


def _throughput(path: str, definition: str, bytes_of: Callable[[Counts], int]) -> Metric:
    """Make a metric of bytes asked of a level of memory over the time from its first to its last transaction."""
    section = path.partition(".")[0]

    def of(level: Counts, kernel: Counts) -> float | None:
        return ratio(bytes_of(level), level.span_cycles / kernel.clock_ghz)

    return Metric(path, "GB/s", f"{definition} / time of span_cycles", (section, "kernel"), of)


MEMORY = (
    total("l1.transactions", "accesses", _TRANSACTIONS, *_LOADS_STORES),
    quotient("l1.hit_rate", "fraction", _HIT_RATE, "hits", *_LOADS_STORES),
    quotient("l1.read_latency_cycles", "cycles", _READ_LATENCY, "read_latency_total_cycles", "read_transactions"),
    _throughput("l1.throughput", "bytes_asked_for", lambda l1: l1.bytes_asked_for),
    _throughput("lds.throughput", "bytes_asked_for", lambda lds: lds.bytes_asked_for),
    total("scalar_cache.transactions", "accesses", _TRANSACTIONS, *_LOADS_STORES),
    quotient("scalar_cache.hit_rate", "fraction", _HIT_RATE, "hits", *_LOADS_STORES),
    total("instruction_cache.transactions", "accesses", _FETCHES, *_FETCHED),
    quotient("instruction_cache.hit_rate", "fraction", _HIT_RATE, "hits", *_FETCHED),
    quotient(
        "instruction_cache.read_latency_cycles",
        "cycles",
        "mean over missing and prefetched lines, from the request to the line",
        "read_latency_total_cycles",
        "misses",
        "prefetches",
    ),
    total("l2.transactions", "accesses", _TRANSACTIONS, *_AT_L2),
    total("l2.write_transactions", "accesses", "those of the transactions that write, atomics included", *_AT_L2[1:]),
    quotient("l2.hit_rate", "fraction", _HIT_RATE, "hits", *_AT_L2),
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
