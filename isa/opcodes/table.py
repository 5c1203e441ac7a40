"""How the opcode tables are written: one row an instruction, grouped by encoding and operand signature.

A table is text, in a file of its own or beside what else an extension changes. A line `encoding: ...` names an encoding
and its unit. A line `operands: ...` opens a group, the indented lines under it are its instructions, each a number and
a mnemonic. Words that begin with `+` apply to one row, or to the whole group on its first line. A word that begins with
`=` names what the row computes, where that is not what its mnemonic means elsewhere. `#` begins a comment line.

Operands stand in the order of the assembly text, each as `field:type`. `field` is the name under which the decoder
puts the operand into `Instruction.fields`; `type` is a letter and a number of bits: b (bits), u (unsigned), i (signed),
f (floating point). 32 bits and less take one register, more take consecutive ones. Operands without a field are
implied (`vcc`) or written by a modifier (`vaddr`, whose width depends on offen and idxen). `simm16:...` says how the
constant is written: imm, hex, branch, waitcnt, message, hwreg, gpr_idx, optional.

Rate classes follow CLRX GcnTimings with its factor for GPUs whose double precision runs at 1/16, which Fiji and
Polaris are: transcendental functions, 32-bit multiplies, fused multiply-add, division helpers quarter; additions,
conversions and comparisons of doubles eighth; their multiplies, fused multiply-adds, reciprocals and roots sixteenth.
64-bit shifts and integer comparisons are half rate, after the two compilers that schedule for these parts: LLVM's
SISchedule.td (Write64Bit, "half rate", 2 turns in SIQuarterSpeedModel, which gfx803 uses) and Mesa's ACO (class
valu64, 8 cycles before GFX10). CLRX puts them at the rate of double-precision additions, 32 cycles.
"""

from pathlib import Path

from isa.opcodes.opcode import (
    BRANCH,
    EIGHTH_RATE,
    FULL_RATE,
    HALF_RATE,
    INTERNAL,
    QUARTER_RATE,
    SIXTEENTH_RATE,
    UNIT_NAMES,
    VALU,
    VMEM,
    Opcode,
)

_RATES = {"half": HALF_RATE, "quarter": QUARTER_RATE, "eighth": EIGHTH_RATE, "sixteenth": SIXTEENTH_RATE}
_UNITS = {"internal": INTERNAL, "branch": BRANCH, "vmem": VMEM}


def read_rows(name: str) -> tuple[Opcode, ...]:
    """Read the table in a file of this folder."""
    return rows(Path(__file__).with_name(name).read_text("utf-8"))


def rows(text: str) -> tuple[Opcode, ...]:
    """Parse a table (see the module's docstring) into opcodes."""
    opcodes: list[Opcode] = []
    encoding, unit, operands, common = "", VALU, "", frozenset[str]()
    for words in map(str.split, text.splitlines()):
        if not words or words[0][0] == "#":
            continue
        marks = frozenset(word[1:] for word in words if word[0] == "+")
        if words[0] == "encoding:":
            encoding, unit = words[1], UNIT_NAMES.index(words[2])
        elif words[0] == "operands:":
            common = marks
            operands = " ".join(word for word in words[1:] if word[0] != "+" and word != "none")
        else:
            computes = next((word[1:] for word in words if word[0] == "="), "")
            opcodes.append(row(encoding, unit, int(words[0], 16), words[1], operands, common | marks, computes))
    return tuple(opcodes)


def row(
    encoding: str,
    unit: int,
    number: int,
    mnemonic: str,
    operands: str,
    marks: frozenset[str],
    computes: str = "",
) -> Opcode:
    """Make one opcode; marks that name a unit or a rate class set it, the others are the opcode's flags."""
    rate = FULL_RATE
    for mark in marks:
        rate = _RATES.get(mark, rate)
        unit = _UNITS.get(mark, unit)
    flags = frozenset(mark for mark in marks if mark not in _RATES and mark not in _UNITS)
    return Opcode(
        mnemonic=mnemonic,
        encoding=encoding,
        number=number,
        operands=operands,
        unit=unit,
        rate=rate,
        flags=flags,
        computes=computes,
    )
