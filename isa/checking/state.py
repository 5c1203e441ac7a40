"""What is remembered of registers, memory and wavefronts while a launch is checked."""

from typing import TYPE_CHECKING, Any

from gpusim.base.jit import Field, State, i16, i32, record_at, record_type

# what was found
(
    RACE_WRITES,
    RACE_READ_AFTER,
    RACE_WRITE_AFTER,
    RACE_LANES,
    RACE_UPDATES,
    UNWRITTEN_ADDRESS,
    UNWRITTEN_CONTROL,
    UNWRITTEN_STORE,
    BARRIER_DIVERGENT,
    BARRIER_MISSED,
    MISALIGNED,
) = range(11)

MEMORY, SHARED, PRIVATE = range(3)  # where an access goes

FINDING_WORDS = 8
F_KIND, F_PC, F_OTHER_PC, F_WHO, F_OTHER, F_ADDRESS, F_COUNT, F_SPACE = range(FINDING_WORDS)
MOST_FINDINGS = 256

# a word of memory, of four bytes: who wrote it last, and with what; who read it last, and with what
SHADOW_WORDS = 4
S_WRITER, S_WRITTEN, S_READER, S_READ = range(SHADOW_WORDS)
SHADOW_BYTES = 8 * SHADOW_WORDS
# who: lane in bits 0-5, wavefront of the workgroup in 6-9, workgroup in 10-41, then
BYTES_SHIFT = 42  # of the word's bytes, which
SYNCHRONISES = 1 << 46  # an atomic, or a load past L1 (glc)
SEVERAL = 1 << 47  # other wavefronts read it too
PRESENT = 1 << 48
WHO_MASK = (1 << BYTES_SHIFT) - 1
WAVE_SHIFT, GROUP_SHIFT = 6, 10
# with what: instruction in bits 0-19, barriers that the wavefront had passed in 20-31, clock in 32-62
PC_MASK = (1 << 20) - 1
EPOCH_SHIFT, EPOCH_MASK = 20, (1 << 12) - 1
CLOCK_SHIFT, CLOCK_MASK = 32, (1 << 31) - 1

ORIGIN_REGISTER = 1 << 24  # an origin: this + operand code, a register never written; less: the load that gave it

SCALAR_CODES = 256
MOST = 36  # registers of a kind that an instruction names: a matrix product reads 32 of C, two of A, two of B

# of CHECK_ROW.policy: how the result is known from the sources
ALL_KNOWN, ANY_KNOWN, KNOWN, SELECTED, MOVED = range(5)

CHECK_ROW = State(
    "check_row",
    {
        "policy": Field(
            (), "ALL_KNOWN: if all sources are; ANY_KNOWN: if one is; KNOWN: always; SELECTED: v_cndmask", i32
        ),
        "plain": Field((), "1: arithmetic that leaves EXEC, whose result is known without executing it", i32),
        "vector": Field((), "1: its result is known lane by lane", i32),
        "control": Field((), "1: decides control flow or EXEC", i32),
        "mask": Field((), "SELECTED: byte offset of the lane mask", i32),
        "synchronises": Field((), "1: an atomic, or past L1", i32),
        "vector_reads": Field((), "how many", i16),
        "vector_addresses": Field((), "of these, the first so many make the address", i16),
        "vector_writes": Field((), "how many", i16),
        "scalar_reads": Field((), "how many", i16),
        "scalar_addresses": Field((), "of these, the first so many make the address", i16),
        "scalar_writes": Field((), "how many", i16),
        "vector_read": Field((MOST,), "vector registers read", i16),
        "vector_written": Field((MOST,), "vector registers written", i16),
        "scalar_read": Field((MOST,), "operand codes read", i16),
        "scalar_written": Field((MOST,), "operand codes written", i16),
    },
)

CHECK = State(
    "check",
    {
        "rows": Field((), "address of a CHECK_ROW for each instruction"),
        "known": Field((), "address of int64 [files, vectors]: lanes whose value was written"),
        "vectors": Field((), "vector registers of a file"),
        "origins": Field((), "address of int64 [files, vectors]: where a value not written came from"),
        "scalar_known": Field((), "address of bytes [files, SCALAR_CODES]"),
        "scalar_lanes": Field((), "address of int64 [files, SCALAR_CODES]: lanes whose bit of a lane mask was written"),
        "scalar_origins": Field((), "address of int64 [files, SCALAR_CODES]"),
        "memory": Field((), "address of the shadow of device memory, SHADOW_WORDS a word"),
        "memory_bytes": Field((), "bytes of device memory that have one"),
        "arguments": Field((), "device address of the kernel's arguments"),
        "argument_bytes": Field((), "their bytes"),
        "memory_known": Field((), "address of a byte for each of device memory: 1: written; 0: all are"),
        "lds": Field((), "address of the shadow of LDS, by workgroup slot"),
        "lds_known": Field((), "address of a byte for each of LDS, by workgroup slot"),
        "lds_bytes": Field((), "bytes of each slot, a multiple of 4"),
        "private_known": Field((), "address of a byte for each of private memory"),
        "epochs": Field((), "address of int64 by wavefront slot: barriers passed"),
        "barrier": Field((), "address of int64 by wavefront slot: instruction of the last barrier, -1: none yet"),
        "live": Field((), "address of int64 by wavefront slot: lanes with a work-item"),
        "group_barriers": Field(
            (), "address of int64 by workgroup: 1 + barriers passed by the first that ended; 0: none"
        ),
        "group_ended": Field((), "address of int64 by workgroup: that wavefront, and its last barrier << 8"),
        "acquired": Field((), "address of int64 by workgroup: clock of the latest release that it knows of"),
        "released": Field((), "address of int64 by workgroup: clock of its own latest release"),
        "findings": Field((), "address of int64 [MOST_FINDINGS, FINDING_WORDS]"),
        "count": Field((), "findings so far"),
        "lost": Field((), "that found no place"),
    },
)

check_at = record_at(CHECK)
check_row_at = record_at(CHECK_ROW)
if TYPE_CHECKING:
    Check = Any
    CheckRow = Any
else:
    Check, CheckRow = record_type(CHECK), record_type(CHECK_ROW)
