"""What each instruction reads and writes, and how its result is known: the table that the compiled checks go by."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from gpusim.base.jit import records
from isa.architecture import EXEC, FIRST_VGPR, M0, SCALAR_REGISTERS, SCC, VCC
from isa.checking.state import ALL_KNOWN, ANY_KNOWN, CHECK_ROW, KNOWN, MOST, MOVED, SELECTED
from isa.encoding.instruction import Instruction
from isa.encoding.registers import address_registers, image_address_guessed, registers
from isa.execution.codes import InstructionKind
from isa.execution.executor import program_of
from isa.object.code_object import Kernel
from isa.opcodes.opcode import LDS, VALU, VMEM

_LANE_MASKS = ("s_and", "s_or", "s_xor", "s_nand", "s_nor", "s_xnor")  # of 64 bits: lanes beyond EXEC may hold anything
_MOVES = ("v_readlane", "v_readfirstlane", "ds_bpermute", "ds_permute", "ds_swizzle")
_ANY = (
    "v_movrel",
    "s_movrel",
    "v_writelane",
    "s_cselect",
    "s_cmov",
    "s_getreg",
    "s_getpc",
    "s_swappc",
    "s_set_gpr_idx",
)
_PLAIN = {
    InstructionKind.VALU,
    InstructionKind.VALU_LANE_MASK,
    InstructionKind.VALU_ONE_SCALAR,
    InstructionKind.VALU_GENERAL,
    InstructionKind.SALU,
    InstructionKind.SALU_STATUS,
    InstructionKind.NO_OPERATION,
}
_STATUS = {SCC: SCC, 251: VCC, 252: EXEC}  # VCCZ and EXECZ are of these registers


@cache
def check_table_of(kernel: Kernel) -> np.ndarray:
    """Return the check table of the kernel's program, made once as that is."""
    program = program_of(kernel)
    return check_table(program.instructions, program.table["kind"])


def check_table(instructions: Sequence[Instruction], kinds: np.ndarray) -> np.ndarray:
    """Return a CHECK_ROW for each instruction, indexed as traces index them. kinds: of its row of the program table."""
    table = records(CHECK_ROW, len(instructions))
    for row, instruction, kind in zip(table, instructions, kinds, strict=True):
        _fill(row, instruction, kind)
    return table


def _fill(row: np.void, instruction: Instruction, kind: int) -> None:
    name = instruction.opcode.mnemonic
    # a half of a register is moved about with the other one, as whole registers are: what reads it is looked at
    reads, writes = registers(instruction, halves=False)
    reads &= ~image_address_guessed(instruction)
    address = address_registers(instruction) & ~(3 << EXEC | 1 << M0 | image_address_guessed(instruction))
    if instruction.opcode.unit == LDS:
        reads &= ~(1 << M0)  # whose limit is not applied (isa.execution.lds_access)
    row["policy"] = _policy(instruction)
    row["control"] = int(name.startswith("s_cbranch") or (bool(writes >> EXEC & 3) and not name.startswith("v_cmpx")))
    # lanes of EXEC alone, but for matrix products, which write all
    by_lane = "matrix" not in instruction.opcode.flags
    row["vector"] = int(by_lane and (instruction.opcode.unit == VALU or bool(writes >> FIRST_VGPR)))
    row["plain"] = int(kind in _PLAIN and not writes >> EXEC & 3)
    row["synchronises"] = int(bool("atomic" in instruction.opcode.flags or instruction.fields.get("glc", 0)))
    vector_reads = _numbers(reads >> FIRST_VGPR)
    if row["policy"] == SELECTED:
        vector_reads = _selected(instruction)
        row["mask"] = 4 * (instruction.fields.get("ssrc2", instruction.fields.get("src2", VCC)))
    _list(row, "vector", vector_reads, _numbers(writes >> FIRST_VGPR), _numbers(address >> FIRST_VGPR))
    _list(row, "scalar", _scalars(reads), _scalars(writes), _scalars(address))


def _policy(instruction: Instruction) -> int:
    name, fields = instruction.opcode.mnemonic, instruction.fields
    if name.startswith(_ANY) or instruction.opcode.unit == VMEM or "matrix" in instruction.opcode.flags:
        return KNOWN
    if name.startswith(_MOVES) or "dpp_ctrl" in fields:
        return MOVED
    if name.startswith("v_cndmask") and "dst_sel" not in fields:
        return SELECTED
    if name.startswith(_LANE_MASKS) and name.endswith("_b64"):
        return ANY_KNOWN
    return ALL_KNOWN


def _selected(instruction: Instruction) -> list[int]:
    """Return the vector registers that v_cndmask chooses between, -1 for anything else."""
    codes = (instruction.fields["src0"], instruction.fields.get("src1"))
    second = codes[1] if codes[1] is not None else FIRST_VGPR + instruction.fields["vsrc1"]
    return [code - FIRST_VGPR if code >= FIRST_VGPR else -1 for code in (codes[0], second)]


def _numbers(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def _scalars(mask: int) -> list[int]:
    """Return the operand codes of scalar registers and of SCC; VCCZ and EXECZ as the registers that they are of."""
    held = _numbers(mask & ((1 << SCALAR_REGISTERS) - 1))
    return list(dict.fromkeys(held + [of for code, of in _STATUS.items() if mask >> code & 1]))


def _list(row: np.void, kind: str, reads: list[int], writes: list[int], address: list[int]) -> None:
    """Write the registers of a kind into the row, those that make an address first."""
    ordered = [*address, *(one for one in reads if one not in address)][:MOST]
    row[f"{kind}_reads"], row[f"{kind}_addresses"] = len(ordered), min(len(address), MOST)
    row[f"{kind}_read"][: len(ordered)] = ordered
    written = writes[:MOST]
    row[f"{kind}_writes"] = len(written)
    row[f"{kind}_written"][: len(written)] = written
