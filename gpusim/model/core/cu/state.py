"""State of the compute units: wavefront slots, SIMDs, LDS, workgroups, stall accounts.

A SIMD is numbered `simd = cu << SIMDS_BITS | number in its CU`, a wavefront slot `w = simd << SIMD_BITS | number in
its SIMD`. Within a SIMD the masks of who wants what are kept by *rank*: bit 0 is the oldest resident wavefront, so the
lowest set bit is the oldest.
"""

from gpusim.base.jit import Field, State, counter_fields, i16, i32
from gpusim.model.core.cu.counters import (
    CU_COUNTERS,
    INSTRUCTION_COUNTERS,
    LDS_COUNTERS,
    RUN_COUNTERS,
    STALL_COUNTERS,
    STALL_REASONS,
)
from gpusim.model.core.cu.spec import MAX_WAVES_PER_SIMD, SIMDS
from isa.trace import GRID_RESOURCES, TRACE_WORDS
from memory.network.state import MAX_ARRAYS, MAX_CUS

SIMD_BITS = 4  # numbers for more slots than a SIMD has, so that slot, SIMD and CU follow from each other by shifts
SIMDS_BITS = 2
CU_BITS = SIMD_BITS + SIMDS_BITS
SLOTS = 1 << CU_BITS
ORDER_BITS = SIMD_BITS  # a slot among those of its SIMD
TURN_CYCLES = SIMDS  # a SIMD is visited every fourth cycle
assert MAX_WAVES_PER_SIMD < 1 << SIMD_BITS and SIMDS == 1 << SIMDS_BITS
MAX_SLOTS = MAX_CUS * SLOTS
MAX_SIMDS = MAX_CUS * SIMDS
CU_WORDS = MAX_CUS // 64  # of a mask of CUs; a power of two
MAX_WORKGROUPS = SIMDS * MAX_WAVES_PER_SIMD  # resident on a CU
MAX_WORKGROUP_WAVES = 16
MAX_IN_FLIGHT = 15  # lgkmcnt has four bits, as vmcnt has on GFX8
VM_ENTRIES = 64  # of a wavefront: more than six bits of vmcnt can count (Vega ISA manual, section 4.4), a power of two
# the token that names a vector memory instruction in flight on a CU: slot | entry | generation
TOKEN_ENTRY_SHIFT, TOKEN_GENERATION_SHIFT = 6, 12
assert SLOTS <= 1 << TOKEN_ENTRY_SHIFT and VM_ENTRIES == 1 << TOKEN_GENERATION_SHIFT - TOKEN_ENTRY_SHIFT
FLAT_ENTRY = 1 << 14  # the instruction counts in lgkmcnt too
EVENTS = 1024  # LDS results in flight on a CU
NEVER = 1 << 60

ARRIVALS = 8  # granules of an instruction buffer at most, a power of two

# words of a CU's instruction fetch: masks of wavefronts by slot, and the round-robin pointer
WANT = 0  # those with space in their instruction buffer
STARVED = 1  # those whose next instruction is neither there nor under way
MISSING = 2  # those whose next granule misses the instruction cache
NEXT_SLOT = 3  # round-robin pointer: the slot that is looked at first

# wavefront states
FREE, READY, WAITING, AT_BARRIER, PAUSED, VM_FULL, LGKM_FULL, FETCHING = range(8)

# stall reasons, in the order of STALL_REASONS
REASONS = len(STALL_REASONS)
ISSUED, NOT_SELECTED, EXECUTION, MATRIX_UNIT, MEMORY, THROTTLE, SYNCHRONIZATION, FETCH, BRANCH_LATENCY, IDLE = range(
    REASONS
)

# a wavefront's state lies together: what nearly every instruction uses fills the first line of the host's cache, what
# memory instructions, waits and jumps use the second
WAVE = State(
    "wave",
    {
        "ready_at": Field((), "cycle from which its granule is in the instruction buffer, NEVER: unknown"),
        "mark": Field((), "cycle up to which its time is accounted for"),
        "snapshot": Field((), "cycles_short of what its next instruction takes, when it began to want it"),
        "pc": Field((), "static index of the next instruction", i32),
        "stop": Field((), "static index up to which it goes on without a look at segment or granule", i32),
        "memory_word": Field((), "next memory word of the slice", i32),
        "vm_head": Field((), "oldest vector memory instruction in flight (a running number)", i32),
        "vm_tail": Field((), "one past the youngest; tail - head = vmcnt", i32),
        "lgkm": Field((), "LDS, scalar and flat accesses in flight: lgkmcnt", i32),
        "state": Field((), "FREE ... FETCHING", i32),
        "rank": Field((), "age among the SIMD's wavefronts, 0 the oldest", i32),
        "generation": Field((), "counts the slot's wavefronts, so that late answers are told apart", i32),
        "pause_reason": Field((), "stall reason of the pause", i16),
        "workgroup": Field((), "workgroup slot on the CU", i16),
        "vm_left": Field((VM_ENTRIES,), "answers that an instruction in flight still waits for | FLAT_ENTRY", i16),
        "vm_pc": Field((VM_ENTRIES,), "static index of an instruction in flight", i32),
        "resume": Field((), "cycle in which a paused wavefront goes on"),
        "scalar_result": Field((), "cycle in which it last issued a vector instruction marked SCALAR_RESULT"),
        "waited_since": Field((), "cycle up to which its wait is charged to the instructions it waits for"),
        "segment_end": Field((), "static index one past the segment", i32),
        "segment": Field((), "segment of the slice it is in, NOT_OPEN: its first one is not open", i32),
        "trace_offset": Field((), "bytes from the first trace buffer to that with the slice it is in"),
        "granule": Field((), "granule that its next instruction ends in", i32),
        "next_granule": Field((), "granule to be fetched next", i32),
        "arrives": Field((ARRIVALS,), "cycles in which fetched granules are in the buffer, by granule"),
    },
)

# a SIMD's state is one line of the host's cache
SIMD = State(
    "simd",
    {
        "want": Field((8,), "by rank: wavefronts whose next instruction is of the unit", i16),
        "last": Field((8,), "rank after the one that last issued to the unit", i16),
        "order": Field((), "slot (0-9) of each rank, ORDER_BITS each"),
        "next_resume": Field((), "a cycle not after the first in which a paused one goes on, NEVER: there is none"),
        "valu_free": Field((), "cycle in which the vector ALU is free"),
        "wanted": Field((), "by unit: 1 if a wavefront wants it", i16),
        "paused": Field((), "by rank: wavefronts with a resume cycle", i16),
        "resident": Field((), "resident wavefronts", i16),
        "free": Field((), "mask of free slots (0-9)", i16),
    },
)

# of all CUs together
LDS_USE = State(
    "lds",
    {
        "until": Field((), "cycle after the last bank access so far, 0: there was none"),
        **counter_fields(LDS_COUNTERS),
    },
)

CU = State(
    "cu",
    {
        "cus": Field((), "compute units"),
        "policy": Field((), "which wavefront issues: a number of SCHEDULES"),
        "by_age": Field((), "1: the oldest; the policy says so, and the kernel sets no priorities"),
        "branch_cycles": Field((), "cycles from a branch to the wavefront's next issue"),
        "lds_latency": Field((), "cycles from the last bank access to data"),
        "vm_limit": Field((), "vector memory instructions of a wavefront in flight at most: what vmcnt can count"),
        "lds_write_passes": Field((), "bank cycles of a write or atomic for one of a read"),
        "lds_backlog": Field((), "bank cycles queued from which the LDS takes no more"),
        "launch_cycles": Field((), "cycles from dispatch to first issue"),
        "buffer_granules": Field((), "granules of an instruction buffer"),
        "fetch_granules": Field((), "granules that one fetch brings at most"),
        "wave": Field((MAX_SLOTS,), "wavefront slots", WAVE.dtype()),
        "started": Field((MAX_SLOTS,), "cycle of dispatch, by wavefront slot"),
        "priority": Field((MAX_SLOTS,), "priority, 0 to 3, 3 goes first; by wavefront slot"),
        # barriers of the grid
        "grid_at": Field(
            (MAX_SLOTS,), "resource of the grid's barrier that it waits at, plus 1; 0: none; by wavefront slot"
        ),
        "grid_arrived": Field((GRID_RESOURCES,), "wavefronts that wait there, by resource"),
        # instruction fetch
        "fetch": Field((MAX_CUS, 4), "a CU's wavefronts that fetch, by WANT ... NEXT_SLOT"),
        "fetching_cus": Field((MAX_ARRAYS,), "mask of the array's CUs that want to fetch"),
        "array": Field((MAX_CUS,), "shader array of the CU"),
        "bit_in_array": Field((MAX_CUS,), "bit of the CU in masks of its array"),
        "simd": Field((MAX_SIMDS,), "SIMDs", SIMD.dtype()),
        "matrix_free": Field((MAX_SIMDS,), "cycle in which the SIMD's matrix unit is free"),
        "served": Field((MAX_CUS, 8), "SIMD that last issued to the unit"),
        # LDS
        "lds_free": Field((MAX_CUS,), "cycle in which the LDS banks are free"),
        "lds_at": Field((MAX_CUS, EVENTS), "cycle in which an LDS result is there"),
        "lds_who": Field(
            (MAX_CUS, EVENTS),
            "slot | generation << 8 | vector memory token + 1 << 16 (FLAT in LDS) | instruction << 40",
        ),
        "lds_head": Field((MAX_CUS,), "oldest LDS access"),
        "lds_count": Field((MAX_CUS,), "LDS accesses in flight"),
        "lds": Field((), "what all of them were used for", LDS_USE.dtype()),
        # workgroups
        "wg_used": Field((MAX_CUS, MAX_WORKGROUPS), "1: the workgroup slot is taken"),
        "wg_size": Field((MAX_CUS, MAX_WORKGROUPS), "its wavefronts"),
        "wg_left": Field((MAX_CUS, MAX_WORKGROUPS), "of these, not yet ended"),
        "wg_arrived": Field((MAX_CUS, MAX_WORKGROUPS), "of these, at the barrier"),
        "wg_slot": Field((MAX_CUS, MAX_WORKGROUPS, MAX_WORKGROUP_WAVES), "their slots on the CU"),
        "wg_resident": Field((MAX_CUS,), "resident workgroups"),
        "active_since": Field((MAX_CUS,), "cycle from which a workgroup is resident"),
        # counters
        **counter_fields(INSTRUCTION_COUNTERS),
        **counter_fields(STALL_COUNTERS, MAX_CUS),
        **counter_fields(CU_COUNTERS),
    },
)

RUN = State(
    "run",
    {
        "code": Field((), "address of the code table"),
        "granules_of": Field((), "address of the instructions' granules"),
        "granule_ends": Field((), "address of the granules' ends, as static indices"),
        "granules": Field((), "granules of the code"),
        "line_granule_bits": Field((), "log2 of the granules of a line"),
        "code_line": Field((), "line of granule 0"),
        "begins": Field((), "static index + 1 at which all wavefronts begin, 0: not all do, or no slice is made ahead"),
        "trace_base": Field((), "address of slot 0's trace buffer"),
        "producer": Field((), "address of the producer's context"),
        "start": Field((), "address of its start function"),
        "produce": Field((), "address of its produce function"),
        "workgroups": Field((), "workgroups of the grid that are simulated"),
        "next_workgroup": Field((), "workgroups dispatched so far"),
        "skipped": Field((), "workgroups of the grid passed over so far, which `workgroups` does not count"),
        "workgroup_waves": Field((), "wavefronts of a workgroup"),
        "waves_per_simd": Field((), "wavefronts of this kernel that a SIMD can hold"),
        "workgroups_per_cu": Field((), "workgroups of this kernel that a CU can hold"),
        "engines": Field((), "shader engines that have CUs"),
        "launch_interval": Field((), "cycles a shader engine needs to launch a wavefront"),
        "engine_free": Field((MAX_CUS,), "by shader engine: cycle from which it may launch the next workgroup"),
        "engine_cus": Field((MAX_CUS, CU_WORDS), "by shader engine: mask of its CUs, by position, 64 a word"),
        "engine_of": Field((MAX_CUS,), "by CU: its shader engine"),
        "dispatch_order": Field((), "which CU gets the next workgroup: a number of ORDERS"),
        "cu_order": Field((MAX_CUS,), "CUs by position: engines take turns, and within an engine its arrays"),
        "position": Field((MAX_CUS,), "by CU: its position"),
        "cu_next": Field((), "round-robin pointer: the position after that of the CU that got the last workgroup"),
        "may_have_space": Field((CU_WORDS,), "mask of the CUs not known to be full, by position"),
        "able": Field((CU_WORDS,), "mask of those of them whose engine may launch now, by position"),
        "waves_left": Field((), "wavefronts resident"),
        **counter_fields(RUN_COUNTERS),
        "ended": Field((), "cycle in which all was done but fetches that nobody needs any more, 0: not yet"),
        "fault": Field((), "negative code of a functional fault, 0 if none"),
        "hotspots": Field(
            (),
            "address of the cycles by static instruction and stall reason; 0: not wanted, nor a timeline",
        ),
        "every_cycle": Field((), "1: run every unit in every cycle (to check that skipping changes nothing)"),
        "engine_on": Field((), "1: the compaction engine is part of the machine"),
    },
)

TRACE_BYTES = TRACE_WORDS * 8
SLOT_TRACE_BYTES = 2 * TRACE_BYTES
