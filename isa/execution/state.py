"""The state of a functional context: one documented table for each kind of record.

A context is reached through its address, everything else through the context: sizes, strides and buffers' addresses
are read at run time, so that no kernel and no configuration compiles anything again. `isa.execution.program_table`
has the table of the program's instructions, `isa.execution.inspect` shows a wavefront's state by these names.
"""

from typing import TYPE_CHECKING, Any

from gpusim.base.jit import Field, State, i32, offset_of, record_at, record_type
from isa.architecture import EXEC, LANES, VCC
from isa.trace import GRID_RESOURCES, MAX_IMAGE_LINES, MAX_LINES

# -- registers ------------------------------------------------------------------------------------------------------
# A wavefront's scalar registers: a dword at its operand code, and after those that instructions can name two pairs:
SCALAR_FILE_BYTES = 4 * 256
SINK = 192  # takes lane masks and results that an instruction has no register for
MODE = 200  # the MODE register; vector arithmetic without a lane mask reads it instead of a mask
# as 64-bit words:
VCC_WORD, EXEC_WORD, MODE_WORD = VCC // 2, EXEC // 2, MODE // 2

# A wavefront's vector registers: rows of 64 dwords, the kernel's own, then scratch rows
SCRATCH_ROWS = 16  # four for each of the three sources, four for a result
RESULT_ROW = 12  # the first of the latter
SOURCE_ROWS = 4

HELPERS = State(
    "helpers",
    {
        "row_broadcast": Field((), "address of the lane library's function of this name"),
        "row_copy": Field((), "the same"),
        "row_copy_b64": Field((), "the same"),
        "row_sdwa_select": Field((), "the same"),
        "row_sdwa_merge": Field((), "the same"),
        "row_dpp": Field((), "the same"),
        "set_host_float_mode": Field((), "the same"),
        "restore_host_float_mode": Field((), "the same"),
    },
)

MAX_USER_SGPRS = 16

LAUNCH = State(
    "launch",
    {
        "groups": Field((3,), "workgroups in x, y, z"),
        "grid": Field((3,), "work-items of the grid in x, y, z"),
        "group_size": Field((3,), "work-items of a workgroup in x, y, z"),
        "enable_group_id": Field((3,), "1: an SGPR holds the workgroup's x, y, z"),
        "enable_group_info": Field((), "1: an SGPR says which wavefront is first and how many there are"),
        "enable_scratch_offset": Field((), "1: an SGPR holds where the wavefront's private memory begins"),
        "work_item_ids": Field((), "coordinates of the work-item that vector registers hold, x, y, z: 1 to 3"),
        "architected_scratch": Field((), "1: FLAT_SCRATCH is the address of the wavefront's private memory"),
        "packed_ids": Field((), "1: the first of these holds them all, ten bits each"),
        "user_sgprs": Field((), "user SGPRs"),
        "user_data": Field((MAX_USER_SGPRS,), "their values"),
    },
)

FAULT = State(
    "fault",
    {
        "code": Field((), "what happened: `faults.FAULT_...`, negative"),
        "slot": Field((), "wavefront slot"),
        "pc": Field((), "index of the instruction"),
        "lane": Field((), "lane, or -1: the whole wavefront"),
        "address": Field((), "byte address; of LDS and private memory, byte offset; of a branch, its target"),
        "size": Field((), "bytes accessed; a wrong register's number; instructions executed at a limit of them"),
        "workgroup": Field((), "of an access that was let through: the workgroup's linear number"),
        "wavefront": Field((), "likewise: the wavefront's number within it"),
    },
)

MAX_REGIONS = 8

REGION = State(
    "region",
    {
        "base": Field((), "device address of the dense matrix' first byte"),
        "end": Field((), "device address after its last"),
        "column_bytes": Field((), "bytes from column to column"),
        "compacted": Field((), "host address of its compacted image, uint32 at the dense elements' offsets"),
        "column_lines": Field((), "host address of the compacted lines of each column, int64"),
        "numbers": Field((), "host address of compacted lines' numbers, uint32 by dense line; 0: they have none"),
    },
)

PASSAGE = State(
    "passage",
    {
        "wanted": Field((), "address of int64 by wavefront slot: iterations to pass over before its next slice"),
        "length": Field((), "instructions of an iteration"),
        "steps": Field((), "rows of `fast` that one takes"),
        "exact": Field((), "address of a program of what addresses and control flow need, row for row, with a stop"),
        "fast": Field((), "the same, which jumps over what is not needed"),
        "plain": Field((), "`exact` without the stop"),
        "trace": Field((), "address of a trace buffer that nobody reads"),
    },
)

CONTEXT = State(
    "context",
    {
        # the program
        "program": Field((), "address of the program table"),
        "program_length": Field((), "instructions in it"),
        "start_index": Field((), "index of the kernel's first instruction"),
        "end_index": Field((), "index of an s_endpgm, where wavefronts without work-items start"),
        "index_of": Field(
            (), "address of int32 [indexed bytes / 4]: instruction index at each dword of the code, or -1"
        ),
        "indexed_from": Field((), "bytes of code before the first of these dwords"),
        "indexed_bytes": Field((), "bytes of code in these dwords"),
        "flop_prefix": Field((), "address of int64 [instructions + 1]: a lane's floating-point operations before one"),
        "slice_flops": Field((), "floating-point operations of the present slice so far, packed as in the trace"),
        "lane_counts": Field((), "address of int64 [instructions + 1, 2]: see `interpreter.count_stretch`; 0: none"),
        "code_address": Field((), "device address of the code's first byte"),
        "float_mode": Field((), "MODE at a wavefront's start: rounding, denormals, DX10_CLAMP, IEEE"),
        "memory_function": Field((), "address of the function that executes instructions with a memory record"),
        "lanes_function": Field((), "address of `memory_access.access_lanes`"),
        "image_function": Field((), "address of `image_access.image_access`"),
        # wavefronts
        "wavefronts": Field((), "address of the wavefront records, one a slot"),
        "traces": Field((), "address of slot 0's trace buffer (`isa.trace`)"),
        "trace_stride": Field((), "bytes from slot to slot; 0: all write into the same one"),
        "trace_offset": Field((), "bytes from there to the buffer that is written: a slot has two, or one"),
        "vectors": Field((), "address of register file 0's vector registers"),
        "vectors_stride": Field((), "bytes from file to file"),
        "vector_registers": Field((), "vector registers the kernel may use; the scratch rows follow"),
        "scalars": Field((), "address of register file 0's scalar registers; the others follow"),
        "free_files": Field((), "address of a stack of int64: register files that no wavefront holds"),
        "free_file_count": Field((), "files on the stack"),
        "max_instructions": Field((), "instructions of one wavefront before it counts as an endless loop"),
        "max_without_end": Field((), "those of all wavefronts without one of them ending, likewise"),
        "executed": Field((), "instructions executed by all wavefronts: the clock that s_memtime reads"),
        "last_end": Field((), "its value when a wavefront last ended"),
        "ended": Field((), "wavefronts that have ended"),
        "ended_instructions": Field((), "instructions they executed"),
        # memory
        "lds": Field((), "address of workgroup slot 0's LDS"),
        "lds_stride": Field((), "bytes from slot to slot"),
        "lds_bytes": Field((), "bytes a workgroup allocates"),
        "image": Field((), "host address of the device memory's image"),
        "memory_base": Field((), "device address of the image's first byte"),
        "memory_lines": Field((), "64-byte lines in the image"),
        "permissions": Field((), "address of the permission map, a byte a line"),
        "ends": Field((), "address of int64: the allocations' ends, sorted"),
        "end_count": Field((), "how many"),
        "scratch": Field((), "device address of register file 0's private memory; the others' follows"),
        "scratch_stride": Field((), "bytes from one to the next: a wavefront's"),
        "scratch_bytes": Field((), "bytes of all private memory"),
        "shared_aperture": Field((), "bits 63:32 of flat addresses of LDS"),
        "private_aperture": Field((), "bits 63:32 of flat addresses of private memory"),
        "flat_scratch_bytes": Field((), "a work-item's private memory where FLAT_SCRATCH is its address; else 0"),
        "element_bits": Field((), "of a swizzled buffer's elements, where its resource does not say it; else 0"),
        "work": Field((), "address of the work area of memory instructions"),
        "images": Field((), "address of the work area of image instructions"),
        "image_generation": Field((), "whose layout their resources have"),
        "region_count": Field((), "sparse regions in use"),
        "regions": Field((MAX_REGIONS,), "sparse regions", REGION.dtype()),
        "passage": Field((), "address of what wavefronts are to pass over (PASSAGE), or 0"),
        # barriers of the grid, by resource of the global data share
        "grid_left": Field((GRID_RESOURCES,), "wavefronts that are still to come before the last one"),
        "grid_waiters": Field((GRID_RESOURCES,), "wavefronts that wait for one another, that one included"),
        "grid_round": Field((GRID_RESOURCES,), "how often all have come"),
        "grid_clock": Field((GRID_RESOURCES,), "instructions executed by then, the last time"),
        "grid_tickets": Field(
            (), "address of int64, by wavefront slot: the round whose end it waits for << 8 | resource"
        ),
        "idle": Field((), "slices since the last one that was not empty"),
        "most_idle": Field((), "how many mean that nobody comes whom the others wait for"),
        # accesses outside of allocations that are let through
        "slack": Field((), "1: in the rest of a line that holds an allocation's end too"),
        "strays": Field((), "how many there were"),
        "stray": Field((), "the first of them, `pc` as the address of its row", FAULT.dtype()),
        "drops_lds": Field((), "1: accesses beyond a workgroup's LDS read 0 and write nothing, as on a GPU"),
        "lds_strays": Field((2,), "lanes that made such accesses: loads, others"),
        "lds_stray": Field((2,), "the first of each, `pc` likewise", FAULT.dtype()),
        "watch": Field((), "address of what the accesses of workgroups side by side are noted in (WATCH), or 0"),
        "check": Field((), "address of what is remembered while the launch is checked (isa.checking), or 0"),
        "launch": Field((), "the launch", LAUNCH.dtype()),
        "helpers": Field((), "the lane library's helpers", HELPERS.dtype()),
        "fault": Field((), "what the last fault was about", FAULT.dtype()),
    },
)

PAGE_BITS = 12  # allocations begin on pages of their own

WATCH = State(
    "watch",
    {
        "marks": Field(
            (), "address of int64 [lines, 2]: accessed dwords of each line (`watch.note_access`), and by whom"
        ),
        "stored": Field((), "address of a byte a page: 1: workgroups store there, and loads are marked"),
        "touched": Field((), "address of a byte a page: 1: lines of it are marked"),
        "claims": Field((), "address of a byte a page that all threads share: 0, SAVING or SAVED"),
        "pages": Field((), "address of int64: the pages that this thread has saved"),
        "saved": Field((), "address of what they held"),
        "saved_pages": Field((), "how many"),
        "workgroup": Field((), "the present workgroup: its number and 1"),
        "surprise": Field((), "a page and 1, that a workgroup stored to though `stored` is 0; 0: none"),
        "conflict": Field((), "1: two workgroups have met in memory, or one waits"),
    },
)

WAVEFRONT = State(  # one host line
    "wavefront",
    {
        "pc": Field((), "index of the next instruction"),
        "scc": Field((), "the status bit SCC"),
        "executed": Field((), "instructions executed"),
        "workgroup": Field((), "linear number of its workgroup"),
        "vectors": Field((), "address of its vector registers"),
        "scalars": Field((), "address of its scalar registers"),
        "workgroup_slot": Field((), "workgroup slot: whose LDS it uses", i32),
        "number": Field((), "its number within the workgroup", i32),
        "status": Field((), "what its last slice returned: `trace.MORE`, BARRIER, END or GRID_BARRIER", i32),
        "register_file": Field((), "the register file it holds: 1 more than its number; 0: none", i32),
    },
)

HASH_ENTRIES = 1024
POSITION_BITS = 9  # of a line among those of an instruction
LDS_BANKS = 32
BANK_DEPTH = 32  # words of one bank that a step of an access can ask for

WORK = State(
    "work",
    {
        "address": Field((LANES,), "byte address of each lane"),
        "line": Field((MAX_IMAGE_LINES,), "distinct lines that the instruction touches, in first-touch order"),
        "mask": Field((MAX_IMAGE_LINES,), "bytes touched in each of them"),
        "hash": Field((HASH_ENTRIES,), "hash table of the lines: tag << POSITION_BITS | position"),
        "tag": Field((), "counts instructions: an entry with another tag is empty"),
        "active": Field((), "lanes of an access that is done lane by lane; of a buffer access, those in range"),
        "bank_words": Field((LDS_BANKS,), "LDS: how many words one step of an access asks of each bank", i32),
        "bank_word": Field((LDS_BANKS * BANK_DEPTH,), "which these are", i32),
    },
)

TAPS = 8  # texels of a lane: of a linear filter in three dimensions

IMAGE = State(
    "image",
    {
        "base": Field((), "device address of the first texel"),
        "size": Field((3,), "texels in x, y, z; 1 in dimensions that it has not"),
        "dimensions": Field((), "1 to 3"),
        "layers": Field((), "of an array; 0: it is none"),
        "pitch": Field((), "bytes from row to row; of a buffer, from element to element"),
        "slice": Field((), "bytes from slice to slice"),
        "texel": Field((), "bytes of a texel"),
        "channels": Field((), "numbers in a texel"),
        "bits": Field((), "bits of each"),
        "number": Field((), "what they mean: NUM_FORMAT"),
        "select": Field((4,), "where x, y, z and w come from: 0, 1, or 4 + channel"),
        "clamp": Field((3,), "what is beyond the edges in x, y, z: CLAMP_X, ..."),
        "linear": Field((), "bits 0 to 2: the filter is linear in x, y, z"),
        "compare": Field((), "DEPTH_COMPARE_FUNC"),
        "border": Field((), "BORDER_COLOR_TYPE"),
        "truncates": Field((), "1: coordinates are rounded down, TRUNC_COORD"),
        "normalised": Field((), "1: coordinates run from 0 to 1"),
        "index": Field((6,), "texels of a lane's taps in x, y, z, two of each; -1: the border"),
        "weight": Field((6,), "their weights, in 256ths"),
        "taps": Field((LANES,), "texels of each lane in memory"),
        "tap": Field((LANES * TAPS,), "their device addresses"),
        "kept": Field((), "lanes whose stores have found their texels as they leave them"),
    },
)

PATTERN_WAYS = 16  # patterns remembered of an instruction, by the dword of the line that the first lane starts in
LDS_PATTERN_WAYS = 4
EMPTY = -1  # phase of a way without a pattern

PATTERN = State(
    "pattern",
    {
        "active": Field((), "active lanes"),
        "phase": Field((), "byte of the first lane's line (LDS: of 16 bytes) that it starts at; -1: empty"),
        "line_count": Field((), "lines touched"),
        "busy": Field((), "cycles on the address and data path (LDS: bank cycles)"),
        "lowest": Field((), "lowest lane address, relative to the first active lane's"),
        "highest": Field((), "highest lane address, relative to the first active lane's"),
        "contiguous": Field((), "1: all lanes active, each directly after the lane before"),
        "low_bits": Field((), "LDS: bits 3:0 set in any lane's address"),
        "delta": Field((LANES,), "lane addresses, relative to the first active lane's"),
        "line": Field((MAX_LINES,), "lines, relative to the first active lane's"),
        "mask": Field((MAX_LINES,), "bytes touched in each of them"),
    },
)

context_at = record_at(CONTEXT)
wavefront_at = record_at(WAVEFRONT)
work_at = record_at(WORK)
image_at = record_at(IMAGE)
pattern_at = record_at(PATTERN)
passage_at = record_at(PASSAGE)
watch_at = record_at(WATCH)
SCC_OFFSET = offset_of(WAVEFRONT, "scc")

if TYPE_CHECKING:
    Context = Any
    Wavefront = Any
    Work = Any
    Image = Any
    LaunchRecord = Any
    Pattern = Any
    Passage = Any
    Watch = Any
else:
    Context, Wavefront, Work, Pattern, Passage = (record_type(s) for s in (CONTEXT, WAVEFRONT, WORK, PATTERN, PASSAGE))
    Image, LaunchRecord, Watch = (record_type(s) for s in (IMAGE, LAUNCH, WATCH))
