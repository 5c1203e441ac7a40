"""All tables of what is counted in a launch: those of the machine's units, and what is known of the launch as a whole.

The sections of a launch's facts, the metrics and their documentation follow from these tables.
"""

from importlib import import_module

from gpusim.base.counters import DISTINCT, FIRST, JOINED, MAX, Counter, CounterTable
from gpusim.model.core.cu.counters import (
    CU_COUNTERS,
    INSTRUCTION_COUNTERS,
    LDS_COUNTERS,
    RUN_COUNTERS,
    STALL_COUNTERS,
    STALLS_BY_CU,
)
from gpusim.model.core.levels import ABOVE_L2, BETWEEN, L2, CacheLevel
from memory.counters import PORT_COUNTERS
from memory.dram.counters import DRAM_COUNTERS, DRAM_SPAN
from memory.network.counters import CROSSBAR_COUNTERS
from memory.translation.counters import TRANSLATION_COUNTERS
from spartan.counters import ENGINE_COUNTERS

KERNEL = CounterTable(
    "kernel",
    (
        Counter("name", "", "kernel, or kernels joined by ' + ' when a run is several launches", JOINED),
        Counter(
            "cycles", "cycles", "from the first workgroup's dispatch to the last wavefront's end, summed over launches"
        ),
        Counter("clock_ghz", "GHz", "core clock", FIRST),
        Counter(
            "workgroups_total",
            "workgroups",
            "workgroups of the grid; larger than kernel.workgroups only in a partial run",
        ),
        Counter(
            "workgroup_places",
            "workgroups",
            "places for workgroups in the waves that the grid takes: a multiple of what the GPU holds at a time",
        ),
        Counter("wavefronts", "wavefronts", "wavefronts of the workgroups that started"),
        Counter("workgroups_per_compute_unit", "workgroups", "most workgroups that fit one compute unit", MAX),
        Counter("occupancy_limiter", "", "what bounds workgroups_per_compute_unit", DISTINCT),
    ),
)

CAPACITY = CounterTable(
    "cu",
    (
        Counter("cycles", "cycles", "kernel.cycles times compute units"),
        Counter("wavefront_slot_cycles", "cycles", "kernel.cycles times the wavefront slots of the machine"),
    ),
)

DRAM_BUS = CounterTable(
    "dram",
    (
        Counter("bus_busy_cycles", "cycles", "core cycles of data transfer, summed over channels"),
        Counter("bus_available_cycles", "cycles", "kernel.cycles times channels"),
    ),
)

L2_LEFT = CounterTable(
    "l2",
    (
        Counter(
            "dirty_lines_at_end",
            "lines",
            "lines that the kernel leaves dirty, whose write-back a later one pays for",
            MAX,
        ),
    ),
)

_FEWEST = "fewest cycles that"
ROOFLINE = CounterTable(
    "roofline",
    (
        Counter("valu", "cycles", f"{_FEWEST} the vector ALUs allow: their cycles / SIMDs"),
        Counter("matrix", "cycles", f"{_FEWEST} the matrix units allow: their cycles / SIMDs"),
        Counter("salu", "cycles", f"{_FEWEST} scalar issue allows: one scalar instruction a CU and cycle"),
        Counter("lds", "cycles", f"{_FEWEST} the LDS allows: its bank cycles / CUs"),
        Counter("l1", "cycles", f"{_FEWEST} the vector L1s allow: one line looked up and 64 bytes returned a cycle"),
        *(
            Counter(level.section, "cycles", f"{_FEWEST} {level.title} allows: one request a cache and cycle")
            for level in BETWEEN
        ),
        Counter("l2", "cycles", f"{_FEWEST} L2 allows: one request a channel and cycle"),
        Counter("dram", "cycles", f"{_FEWEST} DRAM allows: data-bus cycles / channels"),
        Counter(
            "search", "cycles", f"{_FEWEST} the engine's shifters allow, for searches as they were: 0 without engine"
        ),
        Counter("fetch", "cycles", f"{_FEWEST} instruction fetch allows: one fetch a CU and cycle, one line a bank"),
        Counter("dispatch", "cycles", f"{_FEWEST} dispatch allows: to the launch of the last workgroup"),
        Counter(
            "latency",
            "cycles",
            f"{_FEWEST} the wavefronts' own issue and waits for data and instructions take, with the latencies of this "
            "run, at the number of wavefronts that were resident",
        ),
    ),
)

# what the launches of a network's layer and pass are for; a network knows, and no launch by itself
LAYER = CounterTable(
    "layer",
    (
        Counter(
            "macs",
            "multiply-accumulates",
            "of a layer's pass by its definition; an algorithm that saves some does not count fewer",
        ),
        Counter(
            "other_cycles",
            "cycles",
            "of the launches besides the products: all but those kernels that together execute nine tenths of what "
            "cannot be left out, the busiest first (such are im2col, transforms, sums)",
        ),
        Counter("launch_cycles", "cycles", "that the host needs to launch the kernels"),
        Counter(
            "data_reuse",
            "work-items",
            "of a block-circulant layer's first workgroup that use the same value (DR): bytes read from LDS over those "
            "stored there, without LDS bytes loaded over those of the lines; over launches the most",
            MAX,
        ),
        Counter(
            "read_distance",
            "values",
            "that the range spans which this workgroup reads of an array, for each of its work-items (MD), seen in "
            "lines; the longest",
            MAX,
        ),
        Counter("write_distance", "values", "the same of what it stores", MAX),
    ),
)

SIMULATOR = CounterTable(
    "simulator",
    (
        Counter("wall_s", "s", "real time of the functional and timing part alone"),
        Counter("cpu_s", "s", "processor time of the functional and timing part alone"),
        Counter("compile_s", "s", "real time for compiling or loading the compiled core"),
    ),
)


def _counters_of(level: CacheLevel) -> CounterTable:
    module, _, name = level.counters.rpartition(".")
    table: CounterTable = getattr(import_module(module), name)
    return table


# what the units themselves count; the others are known of the launch as a whole, to `simulate`
MACHINE_TABLES = (
    RUN_COUNTERS,
    INSTRUCTION_COUNTERS,
    CU_COUNTERS,
    LDS_COUNTERS,
    *map(_counters_of, ABOVE_L2),
    TRANSLATION_COUNTERS,
    CROSSBAR_COUNTERS,
    PORT_COUNTERS,
    _counters_of(L2),
    DRAM_COUNTERS,
    DRAM_SPAN,
    ENGINE_COUNTERS,
    STALL_COUNTERS,
    STALLS_BY_CU,
)

# in the order in which they are reported
TABLES = (KERNEL, *MACHINE_TABLES, CAPACITY, L2_LEFT, DRAM_BUS, ROOFLINE, LAYER, SIMULATOR)
SECTIONS: tuple[str, ...] = tuple(dict.fromkeys(table.section for table in TABLES))
