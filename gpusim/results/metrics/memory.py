"""Metrics of the memory side that follow from its counts: hit rates, mean latencies, use of the data bus."""

from gpusim.results.metrics.metric import derived, quotient, ratio, total

_TRANSACTIONS = "all line accesses, reads and writes: hits + misses + mshr_merges"
_FETCHES = "fetches that were looked up: hits + misses + mshr_merges"
_HIT_RATE = "hits / transactions; a merge is not a hit"
_READ_LATENCY = "mean over reads, from the access at the cache to its response"
_LOADS_STORES = ("read_transactions", "write_transactions")
_FETCHED = ("hits", "misses", "mshr_merges")
_AT_L2 = ("read_transactions", "store_transactions", "atomic_transactions")

MEMORY = (
    total("l1.transactions", "accesses", _TRANSACTIONS, *_LOADS_STORES),
    quotient("l1.hit_rate", "fraction", _HIT_RATE, "hits", *_LOADS_STORES),
    quotient("l1.read_latency_cycles", "cycles", _READ_LATENCY, "read_latency_total_cycles", "read_transactions"),
    total("scalar_cache.transactions", "accesses", _TRANSACTIONS, *_LOADS_STORES),
    quotient("scalar_cache.hit_rate", "fraction", _HIT_RATE, "hits", *_LOADS_STORES),
    total("instruction_cache.transactions", "accesses", _FETCHES, *_FETCHED),
    quotient("instruction_cache.hit_rate", "fraction", _HIT_RATE, "hits", *_FETCHED),
    quotient(
        "instruction_cache.read_latency_cycles",
        "cycles",
        "mean over missing and prefetched lines, from the request to the line",
        "read_latency_total_cycles",
        *("misses", "prefetches"),
    ),
    total("l2.transactions", "accesses", _TRANSACTIONS, *_AT_L2),
    total("l2.write_transactions", "accesses", "those of the transactions that write, atomics included", *_AT_L2[1:]),
    quotient("l2.hit_rate", "fraction", _HIT_RATE, "hits", *_AT_L2),
    derived(
        "l2.hit_rate_with_merges",
        "fraction",
        "(hits + mshr_merges) / transactions: those that had no line fetched",
        lambda l2: ratio(
            l2.hits + l2.mshr_merges, l2.read_transactions + l2.store_transactions + l2.atomic_transactions
        ),
    ),
    quotient("l2.read_latency_cycles", "cycles", _READ_LATENCY, "read_latency_total_cycles", "reads_answered"),
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
        *("row_hits", "row_misses", "row_conflicts"),
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
