"""What a DRAM channel counts; one read or write moves one 64-byte line."""

from gpusim.base.counters import MAX, Counter, CounterTable

DRAM_COUNTERS = CounterTable(
    "dram",
    (
        Counter("reads", "lines", "reads accepted, for L2 fills and for the engine"),
        Counter("engine_reads", "lines", "those of the reads that the compaction engine issued"),
        Counter("writes", "lines", "writes accepted"),
        Counter("read_forwards", "lines", "reads answered from a queued write of the whole line"),
        Counter("write_merges", "lines", "writes that joined a queued write of the same line"),
        Counter("bytes_read", "bytes", "read over the data bus"),
        Counter("bytes_written", "bytes", "written over the data bus, masked bytes of a burst included"),
        Counter("bytes_dirty", "bytes", "those of the bytes_written that are not masked"),
        Counter("bytes_merged", "bytes", "bytes of writes that a queued write of the line had as well"),
        Counter("masked_bursts", "bursts", "bursts written of which some bytes are masked"),
        Counter("row_hits", "accesses", "accesses that found their row open"),
        Counter("row_misses", "accesses", "accesses that found their bank precharged"),
        Counter("row_conflicts", "accesses", "accesses that found another row open in their bank"),
        Counter("activates", "commands", "rows opened"),
        Counter("precharges", "commands", "precharge commands, precharge-all counted once"),
        Counter("refreshes", "commands", "refreshes of a rank or of a set of banks, summed over channels"),
        Counter(
            "data_bus_busy_clocks",
            "command clocks",
            "clocks in which the data bus carried data, summed over channels",
            field="data_bus_busy",
        ),
        Counter("batches", "batches", "runs of reads or of writes on the data bus, between its turnarounds"),
        Counter(
            "read_latency_total_cycles",
            "cycles",
            "sum over reads of cycles from entering the controller's queue to the data",
            field="read_latency",
        ),
        Counter("read_latency_max_cycles", "cycles", "the longest of them", MAX, field="read_latency_max"),
    ),
    state="dram.channel",
)

# of all channels together
DRAM_SPAN = CounterTable(
    "dram",
    (Counter("span_cycles", "cycles", "from the first read or write accepted to the last one, both included"),),
    state="dram",
)
