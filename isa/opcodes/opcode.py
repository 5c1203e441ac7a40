"""An opcode: one row of the table, its functional unit and its rate class."""

from typing import NamedTuple

# Functional units: the issue categories of the compute unit (GCN3: at most one instruction of each a cycle).
VALU, SALU, VMEM, LDS, SMEM, BRANCH, INTERNAL, EXPORT = range(8)
UNIT_NAMES = ("valu", "salu", "vmem", "lds", "smem", "branch", "internal", "export")

# VALU rate classes: a wavefront occupies its SIMD for 4 cycles times the class
FULL_RATE, HALF_RATE, QUARTER_RATE, EIGHTH_RATE, SIXTEENTH_RATE = 1, 2, 4, 8, 16


class Opcode(NamedTuple):
    """A row of the opcode table (isa/opcodes)."""

    mnemonic: str
    """Mnemonic."""
    encoding: str
    """'sop1', 'sop2', 'sopk', 'sopc', 'sopp', 'smem', 'vop1', 'vop2', 'vopc', 'vop3', 'ds', 'flat', 'mubuf', ..."""
    number: int
    """Number in its encoding."""
    operands: str
    """Operand signature in disassembly order, such as 'vdst:32 src0:f32 vsrc1:f32' (isa/opcodes)."""
    unit: int
    """Unit: VALU to EXPORT."""
    rate: int = FULL_RATE
    """VALU rate class."""
    flags: frozenset[str] = frozenset()
    """Properties of the instruction."""
    computes: str = ""
    """Operation, where the mnemonic does not name it (see `operation`)."""

    @property
    def operation(self) -> str:
        """The operation of `isa.semantics`: one of its own, where a generation uses a mnemonic for another one."""
        return self.computes or self.mnemonic


def product_passes(opcode: Opcode) -> int:
    """Return how many passes of the matrix unit, of four cycles each, a matrix product takes."""
    return next(int(flag[4:]) for flag in opcode.flags if flag.startswith("pass"))
