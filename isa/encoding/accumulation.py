"""Accumulation registers: which operands of an instruction are such registers (AMD CDNA 1 ISA manual, section 8.1).

After this, register n of that file is vector register 256 + n wherever a number or an operand code stands: text, masks
of registers, rows of the interpreter. Hence nobody else has to know of a second file.
"""

from isa.architecture import FIRST_VGPR, VECTOR_FILE
from isa.opcodes.opcode import Opcode

_DATA = {"vdst", "vdata", "data", "data0", "data1"}  # of a memory instruction


def number_registers(opcode: Opcode, fields: dict[str, int]) -> None:
    """Number accumulation registers after vector registers, in the fields of an instruction that may have them.

    Args:
        opcode: a matrix product, a move from or to an accumulation register, or a memory instruction with a bit ACC.
        fields: its raw fields, which are changed.
    """
    flags = opcode.flags
    if "matrix" in flags:
        accumulating = {f"src{number}" for number in (0, 1) if fields["acc"] >> number & 1}
        if fields["acc_cd"] or "sums_accumulate" in flags:  # gfx908 has no choice for C and D
            accumulating |= {"vdst"} if "sparse" in flags else {"vdst", "src2"}
    elif "acc" in fields:
        names = {operand.partition(":")[0] for operand in opcode.operands.split()}
        data = _DATA | {"addr"} if "gds_only" in flags else _DATA  # what a barrier of the grid counts
        accumulating = names & data if fields["acc"] else set()
    else:
        accumulating = {name for name in ("vdst", "src0") if f"acc_{name}" in flags}
    for name in accumulating:
        if name[:3] != "src" or fields[name] >= FIRST_VGPR:
            fields[name] += VECTOR_FILE
