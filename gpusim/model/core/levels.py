"""The cache levels: a row for each, from which all that lists levels follows.

`python -m tests.support.write_units` writes from the rows what compiled code takes of them: the crossbar's ports
and the units' classes. Counters, laws, rooflines, metrics, energy, sections, charts, topology and timeline read them.

A level that takes requests of others lies between them and L2: its caches are destinations of the crossbar beside L2's
channels, and have ports of their own to ask L2 through. What it takes is the crossbar's table at run time
(`memory.network.state.lead_to`), so that a configuration may do without the level.

Why so: a level is then its file, a field of `GpuSpec` and its row. Refused: a generic cache that rows configure. The
four differ in what waits for a line (return entries, instructions, wavefronts, packets) and in what is in order, which
is most of each; what they share are MSHRs (`memory.cache.missing`), sets (`memory.sets`) and the crossbar.
"""

from dataclasses import dataclass

from gpusim.model.core.unit import Unit

_MEMORY_SIDE = "gpusim.model.core.cu.memory_side"
CU, ARRAY, CHANNEL = "compute unit", "shader array", "L2 channel"
MOST = {CU: 128, ARRAY: 64, CHANNEL: 32}


@dataclass(frozen=True, kw_only=True)
class CacheLevel:
    """A level of caches."""

    section: str
    """Section of a launch's facts, group of metrics, part of the GPU's configuration."""
    name: str
    """Name in charts and tables."""
    title: str
    """Name in sentences."""
    state: str
    """Record of the level in the machine record."""
    owner: str
    """Unit that has one of the caches: CU, ARRAY or CHANNEL."""
    counters: str
    """Path of the table of its counters."""
    units: tuple[Unit, ...]
    """Timed units, in the order in which they run within a cycle."""
    missing: str = "missing"
    """Field with the missing lines of each cache, in the level's record."""
    accesses: tuple[str, ...] = ("read_transactions", "write_transactions")
    """Counts that together are all accesses."""
    accesses_meaning: str = "all line accesses, reads and writes: hits + misses + mshr_merges"
    """Definition of their sum."""
    sends: tuple[str, ...] = ()
    """Fields of the state that count packets sent to the crossbar; with a leading '-' those to be subtracted."""
    port: tuple[str, str] | None = None
    """Classes of the units that take answers at a crossbar port and send requests; None: no port of its own."""
    destination: tuple[str, str, str] | None = None
    """Classes of the units that take requests, serve them and fill lines; None: not a destination of the crossbar."""
    takes: tuple[str, ...] = ()
    """Sections of the levels between whose caches and L2 it lies."""

    @property
    def most(self) -> int:
        """Largest number of caches."""
        return MOST[self.owner]


LEVELS: tuple[CacheLevel, ...] = (
    CacheLevel(
        section="l1",
        name="L1",
        title="the vector L1",
        state="l1",
        owner=CU,
        counters="memory.cache.counters.L1_COUNTERS",
        missing="unit.missing",
        sends=("misses", "-write_allocations", "write_backs"),
        port=("CU_RESPONSE", "CU_LOOK_UP"),
        units=(
            Unit(
                "CU_RESPONSE",
                "a CU's vector L1: an answer from the crossbar",
                128,
                f"{_MEMORY_SIDE}.response_tick",
                "cu.cus",
                state="memory.cache.l1_state.L1",
                configure="memory.cache.l1_state.configure_l1(gpu.l1, gpu.cus, gpu.replacement_seed)",
            ),
            Unit("CU_RETURN", "finished loads, stores, LDS accesses", 128, f"{_MEMORY_SIDE}.return_tick", "cu.cus"),
            Unit(
                "CU_LOOK_UP",
                "the vector L1's look-up",
                128,
                f"{_MEMORY_SIDE}.look_up_tick",
                "cu.cus",
                prefetch=f"{_MEMORY_SIDE}.l1_address",
            ),
        ),
    ),
    CacheLevel(
        section="scalar_cache",
        name="scalar cache",
        title="the scalar cache",
        state="scalar",
        owner=ARRAY,
        counters="memory.cache.counters.SCALAR_CACHE_COUNTERS",
        sends=("misses",),
        port=("SCALAR", "SCALAR"),
        units=(
            Unit(
                "SCALAR",
                "scalar caches, one a shader array",
                64,
                f"{_MEMORY_SIDE}.scalar_tick",
                "scalar.arrays",
                state="memory.cache.scalar.SCALAR_CACHE",
                configure="memory.cache.scalar.configure_scalar_cache("
                "gpu.scalar_cache, gpu.shader_arrays, gpu.cus_per_array, gpu.replacement_seed)",
            ),
        ),
    ),
    CacheLevel(
        section="instruction_cache",
        name="instruction cache",
        title="the instruction cache",
        state="icache",
        owner=ARRAY,
        counters="memory.cache.counters.INSTRUCTION_CACHE_COUNTERS",
        accesses=("hits", "misses", "mshr_merges"),
        accesses_meaning="fetches that were looked up: hits + misses + mshr_merges",
        sends=("misses", "prefetches"),
        units=(
            Unit(
                "FETCH",
                "instruction fetch, one a shader array",
                64,
                "gpusim.model.core.cu.fetch.fetch_tick",
                "scalar.arrays",
                state="memory.cache.instruction.INSTRUCTION_CACHE",
                configure="memory.cache.instruction.configure_instruction_cache("
                "gpu.instruction_cache, gpu.shader_arrays, gpu.replacement_seed)",
            ),
        ),
    ),
    CacheLevel(
        section="l2",
        name="L2",
        title="L2",
        state="l2",
        owner=CHANNEL,
        counters="memory.cache.counters.L2_COUNTERS",
        accesses=("read_transactions", "store_transactions", "atomic_transactions"),
        destination=("L2_TAKE", "L2_SERVE", "L2_FILL"),
        units=(  # channels that want the same slot of a queue in one cycle: each goes first as often
            Unit(
                "L2_FILL",
                "an L2 channel: lines from DRAM and the engine",
                32,
                "memory.cache.l2_fill.l2_fill_tick",
                "map.l2_channels",
                rotating=True,
                beyond_crossbar=True,
                state="memory.cache.l2_state.L2",
                configure="memory.cache.l2_state.configure_l2(gpu.l2, l2_taken, gpu.replacement_seed)",
            ),
            Unit(
                "L2_SERVE",
                "its oldest waiting request",
                32,
                "memory.cache.l2.l2_serve_tick",
                "map.l2_channels",
                rotating=True,
                beyond_crossbar=True,
            ),
            Unit(
                "L2_TAKE",
                "a request from the crossbar",
                32,
                "memory.cache.l2.l2_take_tick",
                "map.l2_channels",
                rotating=True,
                beyond_crossbar=True,
            ),
        ),
    ),
)
L1, *_, L2 = LEVELS
BETWEEN = tuple(level for level in LEVELS if level.takes)  # levels between first-level caches and L2
ABOVE_L2 = LEVELS[:-1]
