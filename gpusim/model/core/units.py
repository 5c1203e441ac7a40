"""The timed units, in the order in which they run within a cycle: the table that wheel, machine and run loop follow.

`python -m tests.support.write_units` writes three files from it, which a test holds to the table:

- `memory/unit_classes.py`: the units' classes in the wake-up wheel, by which units wake one another;
- `gpusim/model/core/unit_states.py`: their states, parts of the machine record, and how each is set up from a GPU;
- `gpusim/model/core/run_units.py`: the run loop.

A new timed unit is its file and its row here. Rows name what they need as text, so that a file may import the constant
of its own class, which is written from its row.
"""

from gpusim.model.core.levels import LEVELS
from gpusim.model.core.unit import Unit

UNITS = (
    Unit(
        "TRANSLATION",
        "L2 TLB and page walkers",
        1,
        "memory.translation.l2_tlb.translation_tick",
        state="memory.translation.state.TRANSLATION_STATE",
        configure="memory.translation.state.configure_translation(gpu.translation, gpu.replacement_seed)",
    ),
    *(unit for level in LEVELS for unit in level.units),
    Unit(
        "ENGINE",
        "the compaction engine",
        1,
        "spartan.engine.engine_tick",
        "run.engine_on",
        beyond_crossbar=True,
        state="spartan.state.ENGINE",
    ),
    Unit(
        "DRAM",
        "channels",
        32,
        "memory.dram.controller.dram_tick",
        "map.dram_channels",
        rotating=True,
        beyond_crossbar=True,
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
