"""What the timing model knows of each static instruction: one int64 an instruction, built from the decoded kernel.

bits 0-3    unit (isa.instruction): the issue category
bits 12-15  action: NONE, WAIT, WAVE_BARRIER, WAVE_END, PAUSE
bits 16-19  vmcnt limit    bits 20-23  lgkmcnt limit
bits 28-30  flags
bits 32-47  cycles a wavefront occupies its SIMD (vector ALU) or pauses beyond its turn (s_nop, s_sleep)
"""

from collections.abc import Sequence

import numpy as np

from isa.instruction import INTERNAL, LDS, SMEM, VALU, VMEM, Instruction

CYCLES_SHIFT, CYCLES_MASK = 32, 0xFFFF
ACTION_SHIFT, ACTION_MASK = 12, 0xF
VM_SHIFT, LGKM_SHIFT = 16, 20
COUNT_MASK = 0xF
RECORD = 1 << 28  # has a memory record in the trace
COHERENT = 1 << 29  # glc: a load goes past L1
INVALIDATE = 1 << 30  # empties its L1

NONE, WAIT, WAVE_BARRIER, WAVE_END, PAUSE = range(5)

VALU_CYCLES = 4  # a wavefront of 64 on a SIMD of 16 lanes
_INVALIDATIONS = ("buffer_wbinvl1", "buffer_wbinvl1_vol", "s_dcache_inv", "s_dcache_inv_vol")
SLEEP_UNIT_CYCLES = 64  # GCN3 ISA manual: s_sleep waits about 64 x SIMM16[6:0] cycles


def waitcnt_fields(simm16: int) -> tuple[int, int]:
    """vmcnt and lgkmcnt of an s_waitcnt (GCN3: vmcnt in bits 3:0, lgkmcnt in 11:8)."""
    return simm16 & 0xF, simm16 >> 8 & 0xF


def _word(instruction: Instruction) -> int:
    opcode = instruction.opcode
    word = opcode.unit
    simm16 = instruction.fields.get("simm16", 0)
    if opcode.unit == VALU:
        word |= VALU_CYCLES * opcode.rate << CYCLES_SHIFT
    if opcode.unit in (VMEM, LDS, SMEM):
        word |= RECORD
        if instruction.fields.get("glc", 0):
            word |= COHERENT
        if opcode.mnemonic in _INVALIDATIONS:
            word |= INVALIDATE
    if opcode.mnemonic == "s_waitcnt":
        vm, lgkm = waitcnt_fields(simm16)
        word |= WAIT << ACTION_SHIFT | vm << VM_SHIFT | lgkm << LGKM_SHIFT
    elif opcode.mnemonic == "s_barrier":
        word |= WAVE_BARRIER << ACTION_SHIFT
    elif opcode.mnemonic in ("s_endpgm", "s_endpgm_saved"):
        word |= WAVE_END << ACTION_SHIFT
    elif opcode.mnemonic == "s_nop":
        word |= PAUSE << ACTION_SHIFT | (simm16 & 0xF) << CYCLES_SHIFT
    elif opcode.mnemonic == "s_sleep":
        word |= PAUSE << ACTION_SHIFT | SLEEP_UNIT_CYCLES * (simm16 & 0x7F) << CYCLES_SHIFT
    if word >> ACTION_SHIFT & ACTION_MASK and opcode.unit != INTERNAL:
        raise ValueError(f"{opcode.mnemonic} must be of the internal unit")
    return word


def code_table(instructions: Sequence[Instruction]) -> np.ndarray:
    """int64 array with a word for each instruction, indexed as the trace indexes them."""
    return np.array([_word(i) for i in instructions], np.int64)
