"""The timed units, in the order in which they run within a cycle: the table that wheel, machine and run loop follow.

`python -m gpusim.model.core.write_units` writes three files from it, which a test holds to the table:

- `memory/unit_classes.py`: the units' classes in the wake-up wheel, by which units wake one another;
- `gpusim/model/core/unit_states.py`: their states, parts of the machine record, and how each is set up from a GPU;
- `gpusim/model/core/run_units.py`: the run loop.

A new timed unit is its file and its row here. Rows name what they need as text, so that a file may import the constant
of its own class, which is written from its row.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Unit:
    """A class of timed units.

    A unit with several reasons to run has a class for each, so that a visit handles one of them.
    """

    wheel_class: str
    """Name in memory.unit_classes."""
    meaning: str
    """Unit and event in words."""
    most: int
    """Largest number of units."""
    tick: str
    """Function that runs one unit: tick(m, now, unit), or tick(m, now) where there is at most one."""
    count: str | None = None
    """Field of the machine record with the number of units; None: one."""
    rotating: bool = False
    """Run the units of a cycle from a start that rotates (`count` is then a power of two); otherwise by number."""
    prefetch: str | None = None
    """Function that returns the first address that tick(m, now, unit) reads, fetched one unit ahead; None: none."""
    state: str | None = None
    """Part of the machine record, declared at the first class of the unit; None: none of its own."""
    configure: str | None = None
    """Function that sets up the state from the machine record and any of `gpu` and `l2_taken`; None: none."""

    @property
    def alone(self) -> bool:
        """Whether there can be only one unit of the class."""
        return self.most == 1


_MEMORY_SIDE = "gpusim.model.core.cu.memory_side"

UNITS = (
    Unit(
        "TRANSLATION",
        "L2 TLB and page walkers",
        1,
        "memory.translation.l2_tlb.translation_tick",
        state="memory.translation.state.TRANSLATION_STATE",
        configure="memory.translation.state.configure_translation(gpu.translation, gpu.replacement_seed)",
    ),
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
    # channels that want the same slot of a queue in one cycle: each goes first as often
    Unit(
        "L2_FILL",
        "an L2 channel: lines from DRAM and the engine",
        32,
        "memory.cache.l2_fill.l2_fill_tick",
        "map.l2_channels",
        rotating=True,
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
    ),
    Unit(
        "L2_TAKE",
        "a request from the crossbar",
        32,
        "memory.cache.l2.l2_take_tick",
        "map.l2_channels",
        rotating=True,
    ),
    Unit(
        "ENGINE",
        "the compaction engine",
        1,
        "spartan.engine.engine_tick",
        "run.engine_on",
        state="spartan.state.ENGINE",
    ),
    Unit(
        "DRAM",
        "channels",
        32,
        "memory.dram.controller.dram_tick",
        "map.dram_channels",
        rotating=True,
        state="memory.dram.state.DRAM",
        configure="memory.dram.state.configure_dram(gpu.dram, gpu.clock_hz)",
    ),
    Unit(
        "CU_ISSUE",
        "a CU's visit to one of its SIMDs",
        128,
        "gpusim.model.core.cu.issue.issue_tick",
        "cu.cus",
        prefetch="gpusim.model.core.cu.issue.simd_address",
        state="gpusim.model.core.cu.state.CU",
        configure="gpusim.model.core.cu.configure.configure_cus("
        "gpu.cu, gpu.shader_arrays, gpu.cus_per_array, gpu.architecture)",
    ),
    Unit(
        "DISPATCH",
        "the dispatcher",
        1,
        "gpusim.model.core.cu.dispatch.dispatch_tick",
        state="gpusim.model.core.cu.state.RUN",
        configure="gpusim.model.core.cu.configure.configure_dispatch("
        "gpu.dispatch, gpu.shader_arrays, gpu.cus_per_array)",
    ),
)
