"""State of the compute units: wavefront slots, SIMDs, LDS and scalar pipes, workgroups, stall accounts.

A wavefront slot is numbered `w = cu * SLOTS + simd * MAX_WAVES_PER_SIMD + i`. Within a SIMD the masks of
who wants what are kept by *rank*: bit 0 is the oldest resident wavefront, so the lowest set bit is the oldest.
"""

from gpusim.core.cu_spec import MAX_WAVES_PER_SIMD, SIMDS
from gpusim.jit import Field, State
from isa.trace import TRACE_WORDS
from memory.crossbar import MAX_ARRAYS, MAX_CUS

SLOTS = SIMDS * MAX_WAVES_PER_SIMD
MAX_SLOTS = MAX_CUS * SLOTS
MAX_SIMDS = MAX_CUS * SIMDS
MAX_WORKGROUPS = SLOTS  # resident on a CU
MAX_WORKGROUP_WAVES = 16
MAX_IN_FLIGHT = 15  # vmcnt and lgkmcnt have four bits
FLAT_ENTRY = 1 << 32  # the instruction counts in lgkmcnt too
EVENTS = 1024  # LDS results in flight on a CU
NEVER = 1 << 60

# words of a wavefront's way through its code, side by side because they are used together
PC = 0  # static index of the next instruction
STOP = 1  # static index up to which it goes on without a look at segment or granule
SEGMENT_END = 2  # static index one past the segment
READY_AT = 3  # cycle from which its granule is in the instruction buffer, NEVER: unknown
GRANULE = 4  # granule that its next instruction ends in
NEXT_GRANULE = 5  # granule to be fetched next
SEGMENT = 6  # segment of the slice it is in
MEMORY_WORD = 7  # next memory word of the slice
ARRIVES = 8  # from here: cycles in which fetched granules are in the buffer, by granule
ARRIVALS = 8  # granules of an instruction buffer at most, a power of two

# words of a CU's instruction fetch: masks of wavefronts by slot, and whose turn it is
WANT = 0  # those with room in their instruction buffer
STARVED = 1  # those whose next instruction is neither there nor under way
MISSING = 2  # those whose next granule misses the instruction cache
TURN = 3  # slot that is looked at first

# wavefront states
FREE, READY, WAITING, AT_BARRIER, PAUSED, VM_FULL, LGKM_FULL, FETCHING = range(8)

# stall reasons, in the order of gpusim.results.STALL_REASONS
ISSUED, NOT_SELECTED, EXECUTION, MEMORY, THROTTLE, SYNCHRONISATION, FETCH, IDLE = range(8)
REASONS = 8

OLDEST, ROUND_ROBIN, GREEDY = range(3)

CU = State(
    "cu",
    {
        "cus": Field((), "compute units"),
        "policy": Field((), "OLDEST, ROUND_ROBIN or GREEDY"),
        "branch_cycles": Field((), "cycles from a branch to the wavefront's next issue"),
        "lds_latency": Field((), "cycles from the last bank access to data"),
        "lds_backlog": Field((), "bank cycles queued from which the LDS takes no more"),
        "launch_cycles": Field((), "cycles from dispatch to first issue"),
        "buffer_granules": Field((), "granules of an instruction buffer"),
        "fetch_granules": Field((), "granules that one fetch brings at most"),
        # wavefront slots
        "state": Field((MAX_SLOTS,), "FREE ... LGKM_FULL"),
        "way": Field((MAX_SLOTS, ARRIVES + ARRIVALS), "its way through the code, by PC ... ARRIVES"),
        "rank": Field((MAX_SLOTS,), "age among the SIMD's wavefronts, 0 the oldest"),
        "workgroup": Field((MAX_SLOTS,), "workgroup slot on the CU"),
        "generation": Field((MAX_SLOTS,), "counts the slot's wavefronts, so that late answers are told apart"),
        "lgkm": Field((MAX_SLOTS,), "LDS, scalar and flat accesses in flight: lgkmcnt"),
        "vm_head": Field((MAX_SLOTS,), "oldest vector memory instruction in flight (a running number)"),
        "vm_tail": Field((MAX_SLOTS,), "one past the youngest; tail - head = vmcnt"),
        "vm_left": Field((MAX_SLOTS, 16), "answers that an instruction in flight still waits for | FLAT_ENTRY"),
        "started": Field((MAX_SLOTS,), "cycle of dispatch"),
        "mark": Field((MAX_SLOTS,), "cycle up to which its time is accounted for"),
        "snapshot": Field((MAX_SLOTS,), "pipe_blocked of the pipe it wants, when it began to want it"),
        "resume": Field((MAX_SLOTS,), "cycle in which a paused wavefront goes on"),
        "pause_reason": Field((MAX_SLOTS,), "stall reason of the pause"),
        "scalar_result": Field((MAX_SLOTS,), "cycle in which it last issued a vector instruction marked SCALAR_RESULT"),
        # instruction fetch
        "fetch": Field((MAX_CUS, 4), "a CU's wavefronts that fetch, by WANT ... TURN"),
        "fetching_cus": Field((MAX_ARRAYS,), "mask of the array's CUs that want to fetch"),
        "array": Field((MAX_CUS,), "shader array of the CU"),
        "bit_in_array": Field((MAX_CUS,), "bit of the CU in masks of its array"),
        # SIMDs
        "want": Field((MAX_SIMDS, 8), "by rank: wavefronts whose next instruction is of the unit"),
        "paused": Field((MAX_SIMDS,), "by rank: wavefronts with a resume cycle"),
        "order": Field((MAX_SIMDS, MAX_WAVES_PER_SIMD), "slot (0-9) of each rank"),
        "resident": Field((MAX_SIMDS,), "resident wavefronts"),
        "free": Field((MAX_SIMDS,), "mask of free slots (0-9)"),
        "last": Field((MAX_SIMDS, 8), "rank after the one that last issued to the unit"),
        "served": Field((MAX_CUS, 8), "SIMD that last issued to the unit"),
        "valu_free": Field((MAX_SIMDS,), "cycle in which the vector ALU is free"),
        # pipes: 0-255 vector ALU by SIMD, then by CU: LDS, vector memory queue, scalar memory queue
        "pipe_total": Field((MAX_SIMDS + 3 * MAX_CUS,), "cycles it was blocked before the current interval"),
        "pipe_from": Field((MAX_SIMDS + 3 * MAX_CUS,), "start of the current blocked interval"),
        "pipe_to": Field((MAX_SIMDS + 3 * MAX_CUS,), "its end"),
        # LDS
        "lds_free": Field((MAX_CUS,), "cycle in which the LDS banks are free"),
        "lds_at": Field((MAX_CUS, EVENTS), "cycle in which an LDS result is there"),
        "lds_who": Field((MAX_CUS, EVENTS), "slot | generation << 8 | vector memory token + 1 << 16 (FLAT in LDS)"),
        "lds_head": Field((MAX_CUS,), "oldest LDS access"),
        "lds_count": Field((MAX_CUS,), "LDS accesses in flight"),
        # workgroups
        "wg_used": Field((MAX_CUS, MAX_WORKGROUPS), "1: the workgroup slot is taken"),
        "wg_size": Field((MAX_CUS, MAX_WORKGROUPS), "its wavefronts"),
        "wg_left": Field((MAX_CUS, MAX_WORKGROUPS), "of these, not yet ended"),
        "wg_arrived": Field((MAX_CUS, MAX_WORKGROUPS), "of these, at the barrier"),
        "wg_slot": Field((MAX_CUS, MAX_WORKGROUPS, MAX_WORKGROUP_WAVES), "their slots on the CU"),
        "wg_resident": Field((MAX_CUS,), "resident workgroups"),
        # counters
        "issued": Field((8,), "wavefront instructions issued, by unit"),
        "stalls": Field((MAX_CUS, REASONS), "resident wavefront-cycles by reason"),
        "issue_cycles": Field((), "cycles in which a CU issued, summed over CUs"),
        "active_since": Field((MAX_CUS,), "cycle from which a workgroup is resident"),
        "active_cycles": Field((), "cycles in which a workgroup was resident, summed over CUs"),
        "resident_cycles": Field((), "sum over ended wavefronts of cycles from dispatch to end"),
        "valu_busy": Field((), "cycles vector ALUs were occupied, summed over SIMDs"),
        "lds_busy": Field((), "LDS bank cycles, summed over CUs"),
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
        "trace_base": Field((), "address of slot 0's trace buffer"),
        "producer": Field((), "address of the producer's context"),
        "start": Field((), "address of its start function"),
        "produce": Field((), "address of its produce function"),
        "workgroups": Field((), "workgroups of the grid"),
        "next_workgroup": Field((), "next workgroup to dispatch"),
        "workgroup_waves": Field((), "wavefronts of a workgroup"),
        "waves_per_simd": Field((), "wavefronts of this kernel that a SIMD can hold"),
        "workgroups_per_cu": Field((), "workgroups of this kernel that a CU can hold"),
        "dispatch_interval": Field((), "cycles the dispatcher needs for a wavefront"),
        "dispatch_free": Field((), "cycle in which the dispatcher may place the next workgroup"),
        "dispatch_waits": Field((), "1: no CU has room"),
        "cu_order": Field((MAX_CUS,), "CUs in the order the dispatcher visits them: one of each shader array in turn"),
        "cu_next": Field((), "position in it"),
        "waves_left": Field((), "wavefronts resident"),
        "done": Field((), "workgroups finished"),
        "waves_done": Field((), "wavefronts finished"),
        "instructions": Field((), "wavefront instructions issued"),
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
