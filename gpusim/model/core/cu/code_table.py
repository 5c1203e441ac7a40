"""What the timing model knows of each static instruction: int64 tables, built from the decoded kernel.

`code_table`, one word an instruction:

bits 0-3    unit (isa.opcodes.opcode): the issue category
bits 12-15  action: NONE, WAIT, WAVE_BARRIER, WAVE_END, PAUSE, SET_PRIORITY, WAVE_GRID_BARRIER
bits 16-21  vmcnt limit    bits 22-25  lgkmcnt limit
bits 27-31  flags
bits 32-47  cycles a wavefront occupies its SIMD (vector ALU) or pauses beyond its turn (scalar, s_nop, s_sleep);
            the priority (s_setprio)
            of matrix products instead of limits: bits 16-21 passes of the matrix unit, bits 22-24 a code of its
            floating-point operations a pass, 64 << code, 0: none
bits 48-55  cycles that must have passed since the wavefront's last vector instruction marked SCALAR_RESULT; 0: any

`fetch_table`: where each instruction lies among the granules of instruction fetch.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gpusim.base.errors import UserError
from gpusim.model.core.cu.interlocks import VALU_CYCLES, interlocks
from gpusim.model.core.cu.spec import MATRIX, ComputeUnitSpec
from isa.encoding.instruction import Instruction
from isa.opcodes.float_operations import matrix_operations
from isa.opcodes.opcode import INTERNAL, LDS, SMEM, VALU, VMEM, Opcode
from isa.trace import LINE_BYTES

CYCLES_SHIFT, CYCLES_MASK = 32, 0xFFFF
ACTION_SHIFT, ACTION_MASK = 12, 0xF
VM_SHIFT, LGKM_SHIFT = 16, 22
VM_MASK, LGKM_MASK = 0x3F, 0xF
RESULT_SHIFT = 48
SCALAR_RESULT = 1 << 27  # writes a scalar register that a scalar instruction soon reads
RECORD = 1 << 28  # has a memory record in the trace
COHERENT = 1 << 29  # glc: a load goes past L1
INVALIDATE = 1 << 30  # empties its L1
COUNTS_LGKM = 1 << 31  # a FLAT instruction: counts in vmcnt and in lgkmcnt (GCN3 ISA manual, section 4.4)

PASS_CYCLES = 4  # LLVM: SISchedule.td; AMD's matrix instruction calculator
PASSES_SHIFT, PASSES_MASK = 16, 0x3F
RATE_SHIFT, RATE_MASK, RATE_UNIT = 22, 7, 64

NONE, WAIT, WAVE_BARRIER, WAVE_END, PAUSE, SET_PRIORITY, WAVE_GRID_BARRIER = range(7)

GRANULE_MASK = (1 << 32) - 1
FIRST_GRANULE_SHIFT = 32
FETCH_BYTES = 32  # AMD GCN whitepaper (2012): 32 bytes a fetch

_INVALIDATIONS = ("buffer_wbinvl1", "buffer_wbinvl1_vol", "s_dcache_inv", "s_dcache_inv_vol")
SLEEP_UNIT_CYCLES = 64  # GCN3 ISA manual: s_sleep waits about 64 x SIMM16[6:0] cycles


def waitcnt_fields(instruction: Instruction) -> tuple[int, int]:
    """Return vmcnt and lgkmcnt of an s_waitcnt: vmcnt in bits 3:0, of GFX9 in 15:14 too, lgkmcnt in 11:8."""
    simm16 = instruction.fields["simm16"]
    above = simm16 >> 14 << 4 if "waitcnt9" in instruction.opcode.operands else 0
    return simm16 & 0xF | above, simm16 >> 8 & 0xF


def category(opcode: Opcode) -> int:
    """Return the issue category of an opcode: its unit, or MATRIX for a matrix product."""
    return MATRIX if "matrix" in opcode.flags else opcode.unit


def _matrix_fields(opcode: Opcode) -> int:
    """Return passes and the code of the operations a pass, as a word of the table has them."""
    rate = matrix_operations(opcode) // opcode.passes
    return opcode.passes << PASSES_SHIFT | (rate // RATE_UNIT).bit_length() - 1 + (rate == 0) << RATE_SHIFT


def _word(instruction: Instruction, cu: ComputeUnitSpec) -> int:
    opcode = instruction.opcode
    word = category(opcode)
    simm16 = instruction.fields.get("simm16", 0)
    if instruction.fields.get("scc") or opcode.mnemonic in ("buffer_wbl2", "buffer_invl2"):
        raise UserError(
            f"{opcode.mnemonic} at {instruction.address:#x}: the timing of coherence between devices is not modelled"
            " yet; `gpusim hip --timing off` and `gpusim check` execute the kernel without it"
        )
    if word == MATRIX:
        word |= _matrix_fields(opcode)
        turns = opcode.passes if "alone" in opcode.flags else opcode.rate
        word |= VALU_CYCLES * turns << CYCLES_SHIFT
    elif opcode.unit == VALU:
        word |= VALU_CYCLES * opcode.rate << CYCLES_SHIFT
    if opcode.unit in (VMEM, LDS, SMEM):
        word |= RECORD
        if instruction.fields.get("glc", 0):
            word |= COHERENT
        if opcode.encoding == "flat":
            word |= COUNTS_LGKM
        if opcode.mnemonic in _INVALIDATIONS:
            word |= INVALIDATE
    if opcode.mnemonic == "s_waitcnt":
        vm, lgkm = waitcnt_fields(instruction)
        word |= WAIT << ACTION_SHIFT | vm << VM_SHIFT | lgkm << LGKM_SHIFT
    elif opcode.mnemonic == "s_barrier":
        word |= WAVE_BARRIER << ACTION_SHIFT
    elif opcode.mnemonic == "ds_gws_barrier":
        word |= WAVE_GRID_BARRIER << ACTION_SHIFT
    elif opcode.mnemonic in ("s_endpgm", "s_endpgm_saved"):
        word |= WAVE_END << ACTION_SHIFT
    elif opcode.mnemonic == "s_nop":
        word |= PAUSE << ACTION_SHIFT | (((simm16 & 0xF) + 1) * cu.wait_state_cycles - 1) << CYCLES_SHIFT
    elif opcode.mnemonic == "s_sleep":
        word |= PAUSE << ACTION_SHIFT | SLEEP_UNIT_CYCLES * (simm16 & 0x7F) << CYCLES_SHIFT
    elif opcode.mnemonic == "s_setprio":
        word |= SET_PRIORITY << ACTION_SHIFT | (simm16 & 3) << CYCLES_SHIFT
    if word >> ACTION_SHIFT & ACTION_MASK and opcode.unit != INTERNAL:
        raise ValueError(f"{opcode.mnemonic} must be of the internal unit")
    return word


def code_table(instructions: Sequence[Instruction], cu: ComputeUnitSpec) -> np.ndarray:
    """Return an int64 array with a word for each instruction, indexed as the trace indexes them.

    Args:
        instructions: The kernel's instructions.
        cu: The compute unit.

    Raises:
        UserError: A unit that an instruction needs is missing.
    """
    untimed = instructions[0].architecture
    if untimed.untimed:
        raise UserError(
            f"the timing of {untimed.name} is not modelled: {untimed.untimed}; `gpusim hip --timing off` and"
            " `gpusim check` execute its kernels without it"
        )
    locks = interlocks(instructions, cu)
    words = np.array([_word(i, cu) for i in instructions], np.int64)
    words += np.array(locks.pause_cycles, np.int64) << CYCLES_SHIFT | np.array(locks.result_cycles) << RESULT_SHIFT
    words[locks.writers] |= SCALAR_RESULT
    return words


class FetchTable(NamedTuple):
    """The code for instruction fetch, in granules that are aligned to lines."""

    granule_bytes: int
    """Size of a granule in bytes."""
    granules_of: np.ndarray
    """int64 [instructions]: granule of the last byte, combined with that of the first shifted left by 32 bits."""
    ends: np.ndarray
    """int64 [granules]: index after the last instruction that ends in the granule."""
    first_line: int
    """First line of the code (byte address >> 6)."""
    last_line: int
    """Last line of the code (byte address >> 6)."""


def fetch_table(instructions: Sequence[Instruction], buffer_bytes: int, first_address: int) -> FetchTable:
    """Build the table for instruction buffers of `buffer_bytes`.

    Args:
        instructions: The kernel's instructions.
        buffer_bytes: Size of an instruction buffer.
        first_address: Byte address of the first one.
    """
    granule_bytes = FETCH_BYTES if buffer_bytes % FETCH_BYTES == 0 else FETCH_BYTES // 2
    first_line = first_address // LINE_BYTES
    offset = first_address - instructions[0].address - first_line * LINE_BYTES
    first = np.array([i.address + offset for i in instructions], np.int64)
    last = np.array([i.address + i.size - 1 + offset for i in instructions], np.int64)
    granules = np.arange(int(last[-1]) // granule_bytes + 1)
    return FetchTable(
        granule_bytes,
        last // granule_bytes | first // granule_bytes << FIRST_GRANULE_SHIFT,
        np.searchsorted(last // granule_bytes, granules, side="right").astype(np.int64),
        first_line,
        first_line + int(last[-1]) // LINE_BYTES,
    )
