"""What all GCN GPUs have in common: lanes, the operand codes of registers, hardware registers, the MODE register."""

LANES = 64  # work-items of a wavefront
ROW_BYTES = 4 * LANES  # a vector register: one dword of each lane

# -- operand codes (GCN3 ISA manual, section 3.1.4); a pair is named by its first register -------------------------
SCALAR_REGISTERS = 128  # codes below it are scalar registers
FLAT_SCRATCH, XNACK_MASK, VCC, M0, EXEC = 102, 104, 106, 124, 126
VCCZ, EXECZ, SCC = 251, 252, 253
SHARED_BASE, SHARED_LIMIT, PRIVATE_BASE, PRIVATE_LIMIT = 235, 236, 237, 238  # GFX9: of the apertures
STATUS_CODES = (VCCZ, EXECZ, SCC)
LITERAL_CODE = 255
INLINE_CONSTANTS = range(128, 249)  # a reserved code among them is refused when it is decoded
FIRST_VGPR = 256
VECTOR_FILE = 256  # vector registers of a file; accumulation registers are numbered after them

# -- hardware registers of s_getreg and s_setreg --------------------------------------------------------------------
HW_MODE, HW_STATUS, HW_TRAPSTS, HW_ID = 1, 2, 3, 4
HW_SH_MEM_BASES = 15  # GFX9: bits 63:48 of the apertures, private in 15:0, shared in 31:16 (LLVM: AMDGPUAS, getreg)

# -- the MODE register (GCN3 ISA manual, section 3.4) ---------------------------------------------------------------
MODE_SINGLE_RESULTS = 1 << 5  # denormal results of FP32 are kept
MODE_WIDE_RESULTS = 1 << 7  # those of FP16 and FP64
MODE_DX10_CLAMP_BIT, MODE_IEEE_BIT = 8, 9
MODE_HALF_OVERFLOW_BIT = 23  # FP16_OVFL: a half that is too large becomes the largest one
MODE_BITS = 10  # of those an instruction's result depends on
