"""What the compaction engine counts."""

from gpusim.base.counters import EACH, Counter, CounterTable

LATENCY_BUCKETS = 24

ENGINE_COUNTERS = CounterTable(
    "engine",
    (
        Counter("requests", "requests", "sparse L2 misses that the engine took"),
        Counter("accurate", "requests", "those searched in accurate mode (compacted line's mapping held)"),
        Counter("prudent", "requests", "those searched in prudent mode (by the sparsity bitmask)"),
        Counter("hasty", "requests", "those searched in hasty mode (line after line, warm-up)"),
        Counter(
            "prefetch_buffer_hits", "requests", "those answered by a compacted line already in the prefetch buffer"
        ),
        Counter(
            "past_end",
            "requests",
            "those answered at look-up from the column's known length: past its end, or all zero",
        ),
        Counter(
            "compacted_fetched",
            "requests",
            "those answered by a compacted line read from DRAM, where the write phase had put it (compact: on_write)",
        ),
        Counter("responses", "responses", "compacted lines sent to L2"),
        Counter(
            "response_mismatches",
            "responses",
            "those that differ from the packed matrix in a bit or in `last`; always 0",
        ),
        Counter(
            "faults", "requests", "requests outside every sparse region; always 0, the functional part refuses them"
        ),
        Counter("lines_fetched", "lines", "sparse lines read from DRAM by the engine"),
        Counter("lines_needed", "lines", "those with at least one non-zero that went into a delivered compacted line"),
        Counter("lines_wasted", "lines", "those that were not needed; lines_needed + lines_wasted = lines_fetched"),
        Counter(
            "lines_handed_over",
            "lines",
            "dense lines of the sparse regions that L2 handed over in the write phase (compact: on_write)",
        ),
        Counter("compacted_written", "lines", "compacted lines that the engine wrote to DRAM in the write phase"),
        Counter("write_phase_cycles", "cycles", "cycles of the write phase, before the launch's first workgroup"),
        Counter("sib_evictions", "entries", "columns whose sparsity-information entry was replaced"),
        Counter("cmi_evictions", "entries", "mapping entries that left a column's full window"),
        Counter("buffer_evictions", "lanes", "prefetch-buffer lanes closed to make space"),
        Counter(
            "buffer_lines_dropped", "lines", "finished compacted lines that nobody waited for and that found no space"
        ),
        Counter(
            "lookup_blocked_cycles", "cycles", "cycles the oldest looked-up request waited for a SIB entry or a lane"
        ),
        Counter(
            "bank_conflict_cycles",
            "cycles",
            "cycles that lines waited for a port of their bank of the prefetch buffer, summed over reads and writes",
        ),
        Counter(
            "searches_anew",
            "searches",
            "those that began at the column's first bit or at its mappings, as no lane stood where its line begins",
        ),
        Counter(
            "shifter_busy_cycles",
            "cycles",
            "cycles that shifters searched, or waited for an address calculator, summed over the shifters",
        ),
        Counter("compu_busy_cycles", "cycles", "cycles a compaction unit took a line, summed over the units"),
        Counter(
            "l2_stall_cycles",
            "cycles",
            "cycles a channel's sparse-miss queue was full, whether or not a miss waited, summed over the channels",
        ),
        Counter(
            "latency_cycles",
            "cycles",
            "from a request's arrival to its answer's leaving for L2, summed over the answers",
        ),
        Counter(
            "latency_histogram",
            "requests",
            "answers by latency: bucket b counts latencies of 2^b to 2^(b+1) - 1 cycles",
            EACH,
            length=LATENCY_BUCKETS,
        ),
    ),
    state="engine",
    present="run.engine_on",
)
