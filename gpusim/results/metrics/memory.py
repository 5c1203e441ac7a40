"""Metrics of the memory side that follow from its counts: hit rates, mean latencies, use of the data bus."""

from gpusim.results.metrics.metric import derived, ratio

_TRANSACTIONS = "all line accesses, reads and writes: hits + misses + mshr_merges"
_HIT_RATE = "hits / transactions; a merge is not a hit"
_READ_LATENCY = "mean over reads, from the access at the cache to its response"

CACHES = (
    derived("l1.transactions", "accesses", _TRANSACTIONS, lambda l1: l1.read_transactions + l1.write_transactions),
    derived(
        "l1.hit_rate",
        "fraction",
        _HIT_RATE,
        lambda l1: ratio(l1.hits, l1.read_transactions + l1.write_transactions),
    ),
    derived(
        "l1.read_latency_cycles",
        "cycles",
        _READ_LATENCY,
        lambda l1: ratio(l1.read_latency_total_cycles, l1.read_transactions),
    ),
    derived(
        "scalar_cache.transactions",
        "accesses",
        _TRANSACTIONS,
        lambda scalar_cache: scalar_cache.read_transactions + scalar_cache.write_transactions,
    ),
    derived(
        "scalar_cache.hit_rate",
        "fraction",
        _HIT_RATE,
        lambda scalar_cache: ratio(scalar_cache.hits, scalar_cache.read_transactions + scalar_cache.write_transactions),
    ),
    derived(
        "instruction_cache.transactions",
        "accesses",
        "fetches that were looked up: hits + misses + mshr_merges",
        lambda instruction_cache: instruction_cache.hits + instruction_cache.misses + instruction_cache.mshr_merges,
    ),
    derived(
        "instruction_cache.hit_rate",
        "fraction",
        _HIT_RATE,
        lambda instruction_cache: ratio(
            instruction_cache.hits, instruction_cache.hits + instruction_cache.misses + instruction_cache.mshr_merges
        ),
    ),
    derived(
        "instruction_cache.read_latency_cycles",
        "cycles",
        "mean over missing and prefetched lines, from the request to the line",
        lambda instruction_cache: ratio(
            instruction_cache.read_latency_total_cycles, instruction_cache.misses + instruction_cache.prefetches
        ),
    ),
    derived(
        "l2.transactions",
        "accesses",
        _TRANSACTIONS,
        lambda l2: l2.read_transactions + l2.store_transactions + l2.atomic_transactions,
    ),
    derived(
        "l2.write_transactions",
        "accesses",
        "those of the transactions that write, atomics included",
        lambda l2: l2.store_transactions + l2.atomic_transactions,
    ),
    derived(
        "l2.hit_rate",
        "fraction",
        _HIT_RATE,
        lambda l2: ratio(l2.hits, l2.read_transactions + l2.store_transactions + l2.atomic_transactions),
    ),
    derived(
        "l2.hit_rate_with_merges",
        "fraction",
        "(hits + mshr_merges) / transactions: those that had no line fetched",
        lambda l2: ratio(
            l2.hits + l2.mshr_merges, l2.read_transactions + l2.store_transactions + l2.atomic_transactions
        ),
    ),
    derived(
        "l2.read_latency_cycles",
        "cycles",
        _READ_LATENCY,
        lambda l2: ratio(l2.read_latency_total_cycles, l2.reads_answered),
    ),
)

TRANSLATION = (
    derived(
        "translation.l1_hit_rate",
        "fraction",
        "l1_hits / l1_lookups",
        lambda translation: ratio(translation.l1_hits, translation.l1_lookups),
    ),
    derived(
        "translation.l2_hit_rate",
        "fraction",
        "l2_hits / l2_requests",
        lambda translation: ratio(translation.l2_hits, translation.l2_requests),
    ),
    derived(
        "translation.latency_cycles",
        "cycles",
        "mean over the requests to the L2 TLB, from the request to its answer",
        lambda translation: ratio(translation.latency_total_cycles, translation.l2_requests),
    ),
)

DRAM = (
    derived("dram.bytes", "bytes", "bytes moved, both ways", lambda dram: dram.bytes_read + dram.bytes_written),
    derived(
        "dram.write_amplification",
        "bytes per byte",
        "bytes_written / bytes_dirty: 1 where no byte of a burst is masked",
        lambda dram: ratio(dram.bytes_written, dram.bytes_dirty),
    ),
    derived(
        "dram.row_hit_rate",
        "fraction",
        "accesses that found their row open / accesses",
        lambda dram: ratio(dram.row_hits, dram.row_hits + dram.row_misses + dram.row_conflicts),
    ),
    derived(
        "dram.read_latency_cycles",
        "cycles",
        "mean over reads, from entering the controller's queue to the data",
        lambda dram: ratio(dram.read_latency_total_cycles, dram.reads),
    ),
    derived(
        "dram.bandwidth_utilization",
        "fraction",
        "data-bus busy time / kernel time, mean over channels",
        lambda dram: ratio(dram.bus_busy_cycles, dram.bus_available_cycles),
    ),
)

ENGINE = (
    derived(
        "engine.request_latency_cycles",
        "cycles",
        "mean over the answers, from a request's arrival to its answer's leaving for L2",
        lambda engine: ratio(engine.latency_cycles, engine.responses),
    ),
)
