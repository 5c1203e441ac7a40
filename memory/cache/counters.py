"""What the caches count. At each level hits + misses + mshr_merges = transactions."""

from gpusim.base.counters import Counter, CounterTable

MAX_BANKS = 32  # of an instruction cache

_SPAN = "from the first line looked up to the last one, both included"
_READ_LATENCY = "sum over answered reads of cycles from the access at the cache to its response"

L1_COUNTERS = CounterTable(
    "l1",
    (
        Counter("read_transactions", "accesses", "lines looked up by loads", field="reads"),
        Counter("write_transactions", "accesses", "lines written or updated atomically", field="writes"),
        Counter("hits", "accesses", "accesses that found their line"),
        Counter(
            "misses",
            "accesses",
            "accesses that found neither their line nor an outstanding miss to it; stores and atomics that go on to L2 "
            "count here",
        ),
        Counter("mshr_merges", "accesses", "accesses that joined an outstanding miss", field="merges"),
        Counter("read_latency_total_cycles", "cycles", _READ_LATENCY, field="latency"),
        Counter("write_allocations", "accesses", "those of the misses that are stores whose bytes stay in a new line"),
        Counter("write_backs", "lines", "dirty lines written to L2: replaced, asked for by atomics, or released"),
        Counter("look_up_busy_cycles", "cycles", "cycles in which a line was looked up, summed over CUs", field="busy"),
        Counter(
            "return_busy_cycles",
            "cycles",
            "cycles in which the return path moved data, summed over CUs",
            field="return_busy",
        ),
        Counter(
            "full_stall_cycles",
            "cycles",
            "cycles in which look-up waited for an MSHR, a queue or a return entry, summed over CUs",
            field="stall_cycles",
        ),
        Counter(
            "bytes_asked_for", "bytes", "bytes that active lanes read, write or change, whichever lines they lie in"
        ),
        Counter("span_cycles", "cycles", f"{_SPAN}, in any of them"),
    ),
    state="l1",
)

SCALAR_CACHE_COUNTERS = CounterTable(
    "scalar_cache",
    (
        Counter("read_transactions", "accesses", "lines looked up by loads", field="reads"),
        Counter("write_transactions", "accesses", "lines written", field="writes"),
        Counter("hits", "accesses", "accesses that found their line"),
        Counter(
            "misses",
            "accesses",
            "accesses that found neither their line nor an outstanding miss to it; stores, which are written through, "
            "count here",
        ),
        Counter("mshr_merges", "accesses", "accesses that joined an outstanding miss", field="merges"),
    ),
    state="scalar",
)

INSTRUCTION_CACHE_COUNTERS = CounterTable(
    "instruction_cache",
    (
        Counter("hits", "accesses", "fetches that found their line"),
        Counter("misses", "accesses", "fetches that asked L2 for their line"),
        Counter("mshr_merges", "accesses", "fetches that joined an outstanding miss", field="merges"),
        Counter("prefetches", "lines", "lines asked for after a missing one; not among the misses"),
        Counter(
            "bank_reads",
            "lines",
            "lines that banks read for fetches, one read for all that want the line in one cycle",
            elements=tuple(range(MAX_BANKS)),
        ),
        Counter(
            "bank_conflicts",
            "cycles",
            "cycles in which a fetch found its bank reading another line for another CU, summed over CUs",
        ),
        Counter(
            "read_latency_total_cycles",
            "cycles",
            "sum over lines that came of cycles from the miss or prefetch to the line",
            field="latency_total",
        ),
    ),
    state="icache",
)

L2_COUNTERS = CounterTable(
    "l2",
    (
        Counter("read_transactions", "accesses", "read requests", field="reads"),
        Counter("store_transactions", "accesses", "write requests, atomics apart", field="writes"),
        Counter("atomic_transactions", "accesses", "atomic requests", field="atomics"),
        Counter("hits", "accesses", "accesses that found their line"),
        Counter("read_hits", "accesses", "those of the hits that are reads"),
        Counter(
            "misses",
            "accesses",
            "accesses that found neither their line nor an outstanding miss to it; writes that allocate a line without "
            "a fetch count here",
        ),
        Counter("mshr_merges", "accesses", "accesses that joined an outstanding miss", field="merges"),
        Counter("write_allocations", "accesses", "those of the misses that are writes, which fetch nothing"),
        Counter("sparse_misses", "accesses", "those of the misses that went to the compaction engine"),
        Counter(
            "write_backs",
            "lines",
            "dirty lines of 64 bytes written to DRAM, replaced or flushed; else what is dirty at a kernel's end stays",
        ),
        Counter("flush_write_backs", "lines", "those of the write-backs that a flush made, before or after the kernel"),
        Counter(
            "flush_cycles",
            "cycles",
            "cycles of the kernel's in which L2 was flushed, before its start or after its end",
        ),
        Counter("write_throughs", "accesses", "writes and atomics whose bytes went on to DRAM at once"),
        Counter("bytes_to_dram", "bytes", "dirty bytes of write-backs, and bytes of what went on to DRAM at once"),
        Counter("writes_around", "accesses", "those of the misses that are writes and got no line"),
        Counter("fills", "lines", "lines of 64 bytes that came from DRAM"),
        Counter("sparse_fills", "lines", "lines of 64 bytes that came from the compaction engine"),
        Counter(
            "paired_fetches", "lines", "those of the fills that were the other half of a missing line of 128 bytes"
        ),
        Counter("read_latency_total_cycles", "cycles", _READ_LATENCY, field="read_latency"),
        Counter("reads_answered", "accesses", "reads answered"),
        Counter("bytes_written", "bytes", "bytes that writes and atomics name"),
        Counter("span_cycles", "cycles", f"{_SPAN}, in any channel"),
        Counter(
            "full_stall_cycles",
            "cycles",
            "cycles in which a channel's oldest request waited for an MSHR, a way or a queue, summed over channels",
            field="stall_cycles",
            per="channels",
        ),
        Counter(
            "engine_stall_cycles",
            "cycles",
            "those of the full_stall_cycles that ended when the compaction engine sent a line or took a sparse miss",
            field="engine_stall_cycles",
            per="channels",
        ),
    ),
    state="l2",
)
