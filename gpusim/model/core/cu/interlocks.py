"""What the hardware makes a wavefront wait for between two of its instructions, found once in the static code.

A vector instruction delivers a scalar result (VCC, EXEC, an SGPR) late: a scalar instruction that reads it waits. A
conditional branch waits for what the instruction right in front of it changes, and some scalar instructions keep
their wavefront longer than a turn. All other results are there in the wavefront's next turn.
`docs/reference/hazards.md` lists these rules beside those that software must obey.

Only instructions that follow one another in the code are looked at: a taken branch takes longer than any of this.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpusim.model.core.cu.spec import SIMDS, ComputeUnitSpec
from isa.architecture import LANES
from isa.encoding.instruction import Instruction
from isa.encoding.registers import BRANCH_CONDITIONS, EXECZ, SCALARS, VCCZ, registers
from isa.opcodes.opcode import BRANCH, SALU, SMEM, VALU

VALU_CYCLES = 4  # a wavefront of 64 on a SIMD of 16 lanes
FLOPS_PER_CYCLE = 2 * SIMDS * LANES // VALU_CYCLES  # of a compute unit, in single precision: fused operations
TURN_CYCLES = SIMDS

# Cycles from a scalar instruction to its wavefront's next one, where that is not a turn (CLRX GcnTimings)
SAVEEXEC_CYCLES = 8
SCALAR_CYCLES = {
    "s_setreg_b32": 8,
    "s_setreg_imm32_b32": 8,
    "s_load_dwordx8": 8,
    "s_buffer_load_dwordx8": 8,
    "s_load_dwordx16": 16,  # "16-24"
    "s_buffer_load_dwordx16": 16,
}


class Interlocks(NamedTuple):
    """Waiting cycles between the instructions of a kernel."""

    pause_cycles: list[int]
    """Cycles beyond its turn that each scalar instruction delays its wavefront."""
    result_cycles: list[int]
    """Cycles that must pass between the last of `writers` and each instruction; 0: none."""
    writers: list[int]
    """Indices of the vector instructions whose scalar results other instructions wait for."""


def interlocks(instructions: Sequence[Instruction], cu: ComputeUnitSpec) -> Interlocks:
    """Find the waits between a kernel's instructions on a machine of this specification."""
    masks = [registers(i) for i in instructions]
    waits = [wait for k in range(len(masks)) for wait in _waits(k, instructions, masks, cu)]
    writers = sorted({writer for writer, _, _ in waits})
    pauses = [_pause_cycles(k, instructions, masks, cu) for k in range(len(masks))]
    results = [0] * len(masks)
    for writer, reader, cycles in waits:
        last = writers[bisect_left(writers, reader) - 1]
        # the machine remembers when the last writer issued: later than this one by a turn for each step at least
        results[reader] = max(results[reader], cycles - TURN_CYCLES * (last - writer))
    return Interlocks(pauses, results, writers)


def _follow(instructions: Sequence[Instruction], k: int) -> bool:
    """Tell whether control flow can fall through from instruction k to k + 1."""
    if k + 1 == len(instructions) or "ends_block" in instructions[k].opcode.flags:
        return False
    return instructions[k].address + instructions[k].size == instructions[k + 1].address


def _pause_cycles(
    k: int, instructions: Sequence[Instruction], masks: list[tuple[int, int]], cu: ComputeUnitSpec
) -> int:
    """Return the cycles beyond its turn that scalar instruction k keeps its wavefront."""
    opcode = instructions[k].opcode
    if opcode.unit not in (SALU, SMEM):
        return 0
    known = SAVEEXEC_CYCLES if "saveexec" in opcode.mnemonic else SCALAR_CYCLES.get(opcode.mnemonic, TURN_CYCLES)
    pause = known - TURN_CYCLES
    if opcode.mnemonic.startswith("s_set_gpr_idx"):
        pause += cu.register_index_cycles
    if _follow(instructions, k):
        condition = BRANCH_CONDITIONS.get(instructions[k + 1].opcode.mnemonic, 0)
        if masks[k][1] & condition:
            pause += cu.branch_condition_cycles
    return pause


def _waits(
    k: int, instructions: Sequence[Instruction], masks: list[tuple[int, int]], cu: ComputeUnitSpec
) -> Iterator[tuple[int, int, int]]:
    """Yield (k, reader, cycles between their issues) for each scalar instruction that waits for vector one k."""
    late = masks[k][1] & (SCALARS | VCCZ | EXECZ)
    if instructions[k].opcode.unit != VALU or not late:
        return
    slower = VALU_CYCLES * (instructions[k].opcode.rate - 1)
    scalar_cycles = slower + cu.valu_scalar_cycles
    branch_cycles = slower + VALU_CYCLES + cu.branch_condition_cycles
    reader = k
    while late and _follow(instructions, reader):
        reader += 1
        earliest = TURN_CYCLES * (reader - k)
        if earliest >= max(scalar_cycles, branch_cycles):
            return
        opcode = instructions[reader].opcode
        if opcode.unit in (SALU, SMEM, BRANCH) and masks[reader][0] & late:
            cycles = branch_cycles if opcode.mnemonic in BRANCH_CONDITIONS else scalar_cycles
            if cycles > earliest:
                yield k, reader, cycles
        late &= ~masks[reader][1]
