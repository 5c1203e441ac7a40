"""Which instructions the names of hazards about matrix products, accumulation registers and dot products mean.

MFMA is a matrix product of any type but FP64, DMFMA one of FP64; SrcA, SrcB and SrcC are its operands. An architecture
whose products add to accumulation registers alone (flag 'sums_accumulate') moves these by v_accvgpr_read and
v_accvgpr_write, and nothing else reaches them; on later ones they are vector registers as others are.
"""

from collections.abc import Callable
from typing import NamedTuple

from isa.architecture import VECTOR_FILE
from isa.encoding.instruction import Instruction
from isa.encoding.operands import parse_operands
from isa.encoding.registers import EXECZ, VGPRS, source_mask, vgpr_mask
from isa.opcodes.opcode import EXPORT, LDS, VALU, VMEM

_VECTOR_UNITS = (VALU, VMEM, LDS, EXPORT)
_READ, _WRITE = "v_accvgpr_read_b32", "v_accvgpr_write_b32"
_FMA64 = ("v_fma_f64", "v_fmac_f64")
_FACTORS = ("src0", "src1", "vsrc1")

Test = Callable[[Instruction], bool]


class HazardRule(NamedTuple):
    """A hazard's rule applied to an instruction, which must not follow some others too early."""

    name: str
    """Name of the hazard."""
    is_first: Test
    """Tells whether an instruction is one of those."""
    mask: int
    """Registers whose writer counts; 0: whatever it writes."""
    is_between: Test | None = None
    """Tells whether an instruction in between makes it a hazard; None: it is one without."""
    registers: Callable[[Instruction], int] | None = None
    """Mask of the registers that count of one of those; None: those that it writes."""


def has_matrix_hazards(instruction: Instruction) -> bool:
    """Tell whether the instruction is one that each of these rules has as its first, second or one in between."""
    return bool(instruction.opcode.flags & {"matrix", "accumulation"}) or _is_dot(instruction)


def matrix_rules(instruction: Instruction, reads: int, writes: int) -> list[HazardRule]:
    """Return the rules about instructions that the instruction must not follow too early.

    Args:
        instruction: the second instruction.
        reads: mask of the registers that it reads.
        writes: mask of those that it writes.

    Returns:
        The rules, of all architectures.
    """
    if instruction.opcode.unit not in _VECTOR_UNITS:
        return []
    if "matrix" in instruction.opcode.flags:
        return [rule for rule in _product_rules(instruction) if rule.mask]
    reads, writes = reads & VGPRS, writes & VGPRS
    rules = [rule for rule in _other_rules(instruction, reads, writes) if rule.mask]
    if instruction.opcode.mnemonic in _FMA64:
        rules.append(HazardRule("dmfma-fma", _is_double, 0))
    return rules


def is_valu(instruction: Instruction) -> bool:
    """Tell whether the vector ALU or its matrix unit executes the instruction."""
    return instruction.opcode.unit == VALU


def _product_rules(instruction: Instruction) -> list[HazardRule]:
    """Return the rules of a matrix product about writers of certain registers."""
    factors, addend = _operand_mask(instruction, *_FACTORS), _operand_mask(instruction, "src2")
    vectors = factors | addend
    if "sums_accumulate" in instruction.opcode.flags:
        vectors &= vgpr_mask(0, VECTOR_FILE)

    def is_same(first: Instruction) -> bool:
        return _operand_mask(first, "vdst") == addend

    def is_same_short(first: Instruction) -> bool:
        return _is_double(first) and first.opcode.passes == instruction.opcode.passes == 4 and is_same(first)

    def is_other_product(first: Instruction) -> bool:
        return _is_product(first) and not is_same(first)

    def is_other_double(first: Instruction) -> bool:
        return _is_double(first) and not is_same(first)

    rules = [
        HazardRule("exec-mfma", is_valu, EXECZ),
        HazardRule("valu-mfma", _is_plain_valu, vectors),
        HazardRule("dot-mfma", _is_dot, vectors),
        HazardRule("accvgpr-write-mfma-c", _is_write, addend),
        HazardRule("accvgpr-write-mfma-ab", _is_write, factors),
        HazardRule("mfma-mfma-ab", _is_product, factors),
        HazardRule("dmfma-mfma-ab", _is_double, factors),
    ]
    if not _is_double(instruction):
        return [*rules, HazardRule("mfma-mfma-c", is_other_product, addend)]
    return [
        *rules,
        HazardRule("mfma-dmfma-c", is_other_product, addend),
        HazardRule("dmfma-dmfma-c", is_other_double, addend),
        HazardRule("dmfma-same-c", is_same_short, addend),
    ]


def _other_rules(instruction: Instruction, reads: int, writes: int) -> list[HazardRule]:
    """Return the rules of another vector instruction about writers of certain registers."""
    name = instruction.opcode.mnemonic

    def is_other_dot(first: Instruction) -> bool:
        return _is_dot(first) and _form(first) != _form(instruction)

    def is_same_dot(first: Instruction) -> bool:
        return _is_dot(first) and _form(first) == _form(instruction)

    rules = [
        HazardRule("mfma-read", _is_product, reads),
        HazardRule("mfma-write", _is_product, writes),
        HazardRule("mfma-c-write", _is_product, writes, registers=_addend),
        HazardRule("dmfma-write", _is_double, writes),
        HazardRule("dot-read", is_other_dot, reads),
        HazardRule("dot-write", is_other_dot, writes),
    ]
    if _is_dot(instruction):
        rules.append(HazardRule("dot-read", is_same_dot, _operand_mask(instruction, *_FACTORS)))
    if instruction.opcode.unit == VALU:
        rules.append(HazardRule("dmfma-valu-read", _is_double, reads))
    else:
        rules.append(HazardRule("dmfma-memory-read", _is_double, reads))
    if instruction.opcode.unit in (VMEM, LDS):
        rules += [
            HazardRule("accvgpr-read-memory", lambda first: first.opcode.mnemonic == _READ, reads),
            HazardRule("valu-accvgpr-memory", _is_valu_without_matrix_unit, reads, _is_move),
            HazardRule("valu-dmfma-memory", is_valu, reads, _is_double),
        ]
    if name == _READ:
        rules += [
            HazardRule("mfma-accvgpr-read", _is_product, reads),
            HazardRule("accvgpr-write-read", _is_write, reads),
        ]
    if name == _WRITE:
        rules += [
            HazardRule("exec-accvgpr-write", is_valu, EXECZ),
            HazardRule("valu-accvgpr-write", is_valu, reads),
            HazardRule("mfma-accvgpr-write", _is_product, writes),
            HazardRule("mfma-c-accvgpr-write", _is_product, writes, registers=_addend),
            HazardRule("accvgpr-write-write", _is_write, writes),
        ]
    return rules


def _addend(instruction: Instruction) -> int:
    """Return the mask of a product's SrcC; 0 for other instructions and for doubles.

    The nearest product that reads a register counts: when one starts, the one before it has read its SrcC.
    """
    return _operand_mask(instruction, "src2") if _is_product(instruction) else 0


def _is_product(instruction: Instruction) -> bool:
    return "matrix" in instruction.opcode.flags and not _is_double(instruction)


def _is_double(instruction: Instruction) -> bool:
    return instruction.opcode.mnemonic.startswith("v_mfma_f64_")


def _is_dot(instruction: Instruction) -> bool:
    return instruction.opcode.mnemonic.startswith("v_dot")


def _is_move(instruction: Instruction) -> bool:
    return "accumulation" in instruction.opcode.flags


def _is_write(instruction: Instruction) -> bool:
    return instruction.opcode.mnemonic == _WRITE


def _is_plain_valu(instruction: Instruction) -> bool:
    return is_valu(instruction) and "matrix" not in instruction.opcode.flags and not _is_dot(instruction)


def _is_valu_without_matrix_unit(instruction: Instruction) -> bool:
    return is_valu(instruction) and not instruction.opcode.flags & {"matrix", "accumulation"}


def _form(instruction: Instruction) -> tuple[str, str, bool]:
    """Return what makes two dot products the same instruction to LLVM: mnemonic, encoding, having a DPP word."""
    return instruction.opcode.mnemonic, instruction.opcode.encoding, "dpp_ctrl" in instruction.fields


def _operand_mask(instruction: Instruction, *names: str) -> int:
    """Return the mask of vector registers that the operands with these fields name."""
    mask = 0
    for operand in parse_operands(instruction.opcode.operands):
        if operand.field in names:
            code = instruction.fields[operand.field]
            of_sources = operand.field.startswith("src")
            mask |= source_mask(code, operand.dwords) if of_sources else vgpr_mask(code, operand.dwords)
    return mask & VGPRS
