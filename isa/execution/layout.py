"""Memory layout of a functional context: which word holds what.

A context is a block of int64 words reached through its address; the interpreter reads sizes, strides and
buffer addresses from it at run time, so that no kernel and no configuration compiles anything again.
"""

# -- context words ---------------------------------------------------------------------------------------
(
    C_PROGRAM,  # address of the program table
    C_PROGRAM_LENGTH,  # instructions in it
    C_PC_TABLE,  # address of int32 [code bytes / 4]: instruction index at each dword of the code, or -1
    C_CODE_BYTES,
    C_CODE_ADDRESS,  # device address of the code's first byte
    C_FREE_FILES,  # address of a stack of the register files that no wavefront holds
    C_FREE_FILE_COUNT,
    C_VGPRS,  # address of register file 0's vector registers: rows of 64 x 32 bits
    C_VGPR_STRIDE,  # bytes between files
    C_VGPR_COUNT,  # rows the kernel may use; the scratch rows follow
    C_SGPRS,  # address of register file 0's scalar registers, at their operand codes
    C_SGPR_STRIDE,
    C_WAVES,  # address of slot 0's wavefront words
    C_LDS,  # address of workgroup slot 0's LDS
    C_LDS_STRIDE,
    C_LDS_BYTES,  # bytes a workgroup allocates
    C_TRACE,  # address of slot 0's trace buffer
    C_IMAGE,  # address of the device memory image
    C_MEMORY_BASE,  # device address of the image's first byte
    C_MEMORY_LINES,  # 64-byte lines in the image
    C_PERMISSIONS,  # address of the permission map, a byte a line
    C_ENDS,  # address of int64 [allocations]: sorted ends of the allocations
    C_ENDS_COUNT,
    C_PATTERNS,  # address of the access pattern cache
    C_WORK,  # address of the work area of memory instructions
    C_MAX_INSTRUCTIONS,  # limit of one wavefront
    C_TOTAL,  # instructions executed by all wavefronts: the clock that s_memtime reads
    C_SCRATCH,  # device address of slot 0's private memory
    C_SCRATCH_STRIDE,  # bytes of private memory of a wavefront
    C_SCRATCH_TOTAL,  # bytes of all private memory
    C_REGIONS,  # address of the sparse regions' words
    C_REGION_COUNT,
    C_FLOAT_MODE,  # MODE register at wavefront start: rounding, denormals, DX10_CLAMP, IEEE
    C_LAUNCH,  # address of the launch words
    C_FAULT,  # address of the fault words
    C_START_INDEX,  # index of the kernel's first instruction
    C_END_INDEX,  # index of an s_endpgm, where wavefronts without work-items start
    C_MEMORY_FUNCTION,  # address of the function that executes instructions with a memory record
    C_LANES_FUNCTION,  # address of `access_lanes`
    C_HELPERS,  # address of the addresses of the lane library's row helpers
    C_WORDS,
) = range(41)

# -- lane library functions, in the order of the words at C_HELPERS ------------------------------------------
HELPERS = (
    "row_broadcast",
    "row_copy",
    "row_copy_b64",
    "row_sign_f32",
    "row_sign_f16",
    "row_sign_f64",
    "row_output_f32",
    "row_output_f16",
    "row_output_f64",
    "row_sdwa_select",
    "row_sdwa_merge",
    "row_dpp",
    "set_host_float_mode",
    "restore_host_float_mode",
)
(
    H_BROADCAST,
    H_COPY,
    H_COPY_B64,
    H_SIGN_F32,
    H_SIGN_F16,
    H_SIGN_F64,
    H_OUTPUT_F32,
    H_OUTPUT_F16,
    H_OUTPUT_F64,
    H_SDWA_SELECT,
    H_SDWA_MERGE,
    H_DPP,
    H_SET_MODE,
    H_RESTORE_MODE,
) = range(14)

# -- wavefront words -------------------------------------------------------------------------------------
(
    W_PC,
    W_SCC,
    W_EXECUTED,
    W_WORKGROUP,
    W_WORKGROUP_SLOT,
    W_WAVE,
    W_STATUS,
    W_FILE,  # register file that it holds; 1 more than its number, 0 none
    W_VGPRS,  # address of its vector registers
    W_SGPRS,  # address of its scalar registers
    W_WORDS,
) = range(11)
WAVE_BYTES = 8 * W_WORDS

# -- scalar register file: word index = operand code -----------------------------------------------------
SGPR_WORDS = 256
SGPR_BYTES = 4 * SGPR_WORDS
S_FLAT_SCRATCH, S_XNACK, S_VCC, S_M0, S_EXEC = 102, 104, 106, 124, 126
S_VCCZ, S_EXECZ, S_SCC = 251, 252, 253
S_SINK = 192  # takes results that an instruction has no register for
S_MODE = 200  # the MODE register, two words; read like a lane mask by vector arithmetic that has none
S_ADDRESSABLE = 128

# -- vector registers ------------------------------------------------------------------------------------
LANES = 64
ROW_BYTES = 4 * LANES
SCRATCH_ROWS = 16  # behind the kernel's own: four for each of the three sources, four for a result
RESULT_ROW = 12
BROADCAST_OFFSET = -1  # in a program being built: the first scratch row, whose place is not known yet

# -- launch words ----------------------------------------------------------------------------------------
(
    L_GROUPS_X,
    L_GROUPS_Y,
    L_GROUPS_Z,
    L_GRID_X,
    L_GRID_Y,
    L_GRID_Z,
    L_SIZE_X,
    L_SIZE_Y,
    L_SIZE_Z,
    L_USER_SGPRS,  # number of user SGPRs
    L_ENABLE_X,
    L_ENABLE_Y,
    L_ENABLE_Z,
    L_ENABLE_INFO,
    L_ENABLE_WAVE_OFFSET,
    L_WORKITEM_IDS,
    L_USER_DATA,  # 16 words, one a user SGPR
) = range(17)
L_WORDS = L_USER_DATA + 16

# -- fault words -----------------------------------------------------------------------------------------
F_CODE, F_SLOT, F_PC, F_LANE, F_ADDRESS, F_BYTES, F_WORDS = range(7)

# -- sparse regions: words of one ------------------------------------------------------------------------
R_BASE, R_END, R_COLUMN_BYTES, R_SHADOW, R_LINES, R_WORDS = range(6)
MAX_REGIONS = 8

# -- private and LDS apertures of flat addresses: bits 63:32 (as Linux' amdkfd places them for VI) ---------
SHARED_APERTURE_HIGH = 0x2000_0000
PRIVATE_APERTURE_HIGH = 0x2000_0001

# -- work area of memory instructions (words) ------------------------------------------------------------
X_ADDRESS = 0  # byte address of each lane
X_LINES = 64  # distinct lines, relative to the pattern's first line
X_MASKS = X_LINES + 128  # bytes touched in each of them
X_HASH = X_MASKS + 128  # hash table of lines: tag << 8 | position
HASH_ENTRIES = 512
X_TAG = X_HASH + HASH_ENTRIES
X_EXEC = X_TAG + 1  # lanes of an access that is done lane by lane
X_BANKS = X_TAG + 8  # 32 banks x 32 words
X_WORDS = X_BANKS + 32 * 33

# -- access pattern cache: words of one entry --------------------------------------------------------------
P_EXEC = 0
P_PHASE = 1  # byte of the first lane's line that its access starts at, or -1: empty
P_LINES = 2  # number of lines
P_BUSY = 3  # busy cycles
P_MIN = 4  # lowest and highest lane address, relative to the first active lane
P_MAX = 5
P_CONTIGUOUS = 6  # 1: all lanes active, each right behind the lane before
P_DELTA = 8  # 64 lane addresses, relative to the first active lane
P_LINE = P_DELTA + 64  # lines, relative to the first active lane's
P_MASK = P_LINE + 128
P_WORDS = P_MASK + 128
PATTERN_BYTES = 8 * P_WORDS
PATTERN_WAYS = 16  # by dword of the line that the first lane starts in

# -- program table: words of one instruction ---------------------------------------------------------------
ROW_WORDS = 32
INSTRUCTION_BYTES = 8 * ROW_WORDS

# every instruction
I_KIND = 0
I_UNIT = 1
# vector and scalar arithmetic; an operand's address is offset + (address of the register file & mask)
I_FUNCTION = 2
I_D = 3
I_A, I_A_MASK, I_B, I_B_MASK, I_C, I_C_MASK = 4, 5, 6, 7, 8, 9
I_MASK_IN, I_MASK_OUT = 10, 11  # byte offsets of lane masks in the scalar registers
I_FLAGS = 12
I_D_DWORDS, I_A_DWORDS, I_B_DWORDS = 13, 14, 15
# slow vector path: 4 words for each source, then the result's
I_SOURCE = 16
SRC_SCALAR = 0  # byte offset of the scalar register to broadcast, or -1: none
SRC_DWORDS = 1
SRC_SIGN = 2  # helper that negates or takes the absolute value << 8 | its flags; 0: none
SRC_SDWA = 3  # 1 | select << 8 | sign extension << 16; 0: none
SOURCE_WORDS = 4
I_OUTPUT = 28  # helper << 8 | flags of omod and clamp; 0: none
I_SDWA_MERGE = 29  # 1 | destination select << 8 | unused << 16; 0: none
I_DPP = 30  # 1 | control << 8 | bound control << 24; 0: none
I_DPP_LANES = 31
# K_VALU_SCALAR instead: the one scalar register, and how many dwords of it are broadcast into the scratch rows
I_SCALAR, I_SCALAR_DWORDS = 28, 29
# branches, program counter, special registers
I_TARGET = 2
I_CONDITION = 4
I_NEXT_BYTE = 5  # byte offset in the code of the next instruction
I_IMMEDIATE = 6
I_SUBKIND = 7
# memory
M_CLASS = 2  # LOAD, STORE, ATOMIC
M_BYTES = 3  # a lane's bytes
M_SIGNED = 4
M_ADDRESS = 5  # byte offsets of vector registers
M_DATA, M_DATA1, M_DST = 6, 7, 8
M_OFFSET, M_OFFSET1 = 9, 10  # MUBUF: instruction's and, without a register, the scalar offset
M_ATOMIC, M_RETURN = 11, 12
M_PATTERN = 13  # address of the instruction's first pattern entry
M_SPARSE = 14  # 1: carries the sparse mark
M_SBASE, M_SOFFSET, M_SDATA = 15, 16, 17  # byte offsets in the scalar registers; soffset -1: none
M_MODE = 18  # mubuf: OFFEN | IDXEN
M_PAIRED = 19  # DS two-address forms
M_SUBKIND = 20

LOAD, STORE, ATOMIC = 0, 1, 2
OFFEN, IDXEN = 1, 2

# -- kinds of instructions, the interpreter's cases ----------------------------------------------------------
(
    K_VALU,  # plain vector arithmetic: vector and constant sources, no lane masks
    K_VALU_MASK,  # the same with lane masks read or written
    K_VALU_SCALAR,  # the same with one scalar register among the sources
    K_VALU_SLOW,  # modifiers, SDWA, DPP, v_cmpx, status bits as sources
    K_SALU,
    K_SALU_SPECIAL,  # reads SCC, VCCZ or EXECZ as an operand
    K_SAVEEXEC,
    K_BRANCH,
    K_LDS,  # from here to K_CACHE: instructions with a memory record
    K_FLAT,
    K_SMEM,
    K_BUFFER,
    K_LANE_EXCHANGE,
    K_CACHE,  # vector cache control: a memory record without lines
    K_NOP,
    K_BARRIER,
    K_END,
    K_READ_LANE,
    K_READ_FIRST_LANE,
    K_WRITE_LANE,
    K_GET_PC,
    K_SET_PC,
    K_SWAP_PC,
    K_GET_REGISTER,
    K_SET_REGISTER,
    K_VECTOR_MOVE_RELATIVE,
    K_SCALAR_MOVE_RELATIVE,
    K_TRAP,
) = range(28)

# conditions of K_BRANCH
ALWAYS, SCC0, SCC1, VCCZ, VCCNZ, EXECZ, EXECNZ = range(7)

# flags of vector and scalar arithmetic
FLAG_SPECIAL = 1  # a source is SCC, VCCZ or EXECZ
FLAG_CMPX = 2  # the lane mask goes to EXEC as well
FLAG_CARRY_SATURATES = 4  # clamp of an integer add: all ones where it carries
FLAG_BORROW_SATURATES = 8  # clamp of an integer subtract: zero where it borrows
FLAG_MODE_WITH_D = 16  # the operation takes MODE in the low byte of its destination's address

# relative moves (I_SUBKIND): which side M0 is added to
RELATIVE_SOURCE, RELATIVE_DESTINATION = 1, 2

# MODE register (GCN3 ISA manual, section 3.4)
MODE_SINGLE_RESULTS, MODE_WIDE_RESULTS = 1 << 5, 1 << 7  # denormal results kept: FP32; FP16 and FP64
MODE_DX10_CLAMP_BIT, MODE_IEEE_BIT = 8, 9
MODE_BITS = 10  # of those an instruction's result depends on

# hardware registers of s_getreg and s_setreg
HW_MODE, HW_STATUS, HW_TRAPSTS, HW_ID = 1, 2, 3, 4
