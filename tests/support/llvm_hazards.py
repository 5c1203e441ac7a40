"""LLVM's hazard recognizer as oracle: the wait states that llc-19 puts between drawn vector and matrix instructions.

python -m tests.support.llvm_hazards 20000    compare so many drawn programs on each GPU, and print the counts

A program is two or three instructions with others in between that touch none of their registers. LLVM inserts s_nop;
`find_violations` must find nothing missing then, and something missing with one wait state fewer in any place.

Not drawn, since LLVM is coarser there than its rules: a comparison that writes EXEC with a vector memory instruction
(LLVM takes the EXEC that masks every lane for a scalar register that the instruction reads); several products on
gfx908 (it waits as long as the longest of those it passes demands, whichever wrote the register); a product before
another one as the last of three (it counts one wait state, not its passes).
"""

import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, groupby
from typing import NamedTuple

from isa.encoding.decoder import decode
from isa.encoding.hazards import find_violations, wait_states
from isa.encoding.instruction import Instruction
from isa.encoding.operands import parse_operands
from isa.encoding.registers import VGPRS, registers
from isa.opcodes import ARCHITECTURES, Architecture
from isa.opcodes.opcode import Opcode

LLC = "llc-19"
_FEW = 10  # registers that single operands are drawn from, so that many pairs share one
_IN_FUNCTION = 200  # programs: LLVM fails on longer functions
_FILLER = "$sgpr30 = S_MOV_B32 0"
_SEPARATORS = ("S_NOP 15", "S_NOP 15", "S_SETHALT 0")  # more wait states than any hazard needs
_MODE = "implicit $mode, implicit $exec"
# MIR of instructions that gfx908 and gfx90a have. {v}, {v2}: one vector register, two; {d}, {d2}: the same for
# destinations; {r}: an accumulation register; {w}, {w2}: data of memory instructions, which may be accumulation
# registers on gfx90a.
_OTHERS = (
    "{r} = V_ACCVGPR_WRITE_B32_e64 {v}, implicit $exec",
    "{r} = V_ACCVGPR_WRITE_B32_e64 0, implicit $exec",
    "{v} = V_ACCVGPR_READ_B32_e64 {r}, implicit $exec",
    "{v} = V_MOV_B32_e32 {v}, implicit $exec",
    f"{{v}} = V_ADD_F32_e32 {{v}}, {{v}}, {_MODE}",
    f"{{v}} = V_FMA_F32_e64 0, {{v}}, 0, {{v}}, 0, {{v}}, 0, 0, {_MODE}",
    f"{{v2}} = V_FMA_F64_e64 0, {{v2}}, 0, {{v2}}, 0, {{v2}}, 0, 0, {_MODE}",
    f"{{v2}} = V_ADD_F64_e64 0, {{v2}}, 0, {{v2}}, 0, 0, {_MODE}",
    f"{{v}} = V_EXP_F32_e32 {{v}}, {_MODE}",
    f"{{v}} = V_PK_ADD_F16 8, {{v}}, 8, {{v}}, 0, 0, 0, 0, 0, {_MODE}",
    f"V_CMPX_EQ_F32_e32 {{v}}, {{v}}, implicit-def $exec, implicit-def $vcc, {_MODE}",
    "$sgpr20 = V_READFIRSTLANE_B32 {v}, implicit $exec",
    f"{{v}} = V_DOT2_F32_F16 8, {{v}}, 8, {{v}}, 8, {{v}}, 0, 0, 0, 0, 0, {_MODE}",
    "{v} = V_DOT4_I32_I8 8, {v}, 8, {v}, 8, {v}, 0, 0, 0, 0, 0, implicit $exec",
    "{v} = V_DOT8_I32_I4 8, {v}, 8, {v}, 8, {v}, 0, 0, 0, 0, 0, implicit $exec",
    f"{{x}} = V_DOT2C_F32_F16_e32 {{v}}, {{v}}, {{x}}, {_MODE}",
    "{x} = V_DOT4C_I32_I8_e32 {v}, {v}, {x}, implicit $exec",
    "{x} = V_DOT8C_I32_I4_e32 {v}, {v}, {x}, implicit $exec",
    "{w} = GLOBAL_LOAD_DWORD {v2}, 0, 0, implicit $exec",
    "{w2} = GLOBAL_LOAD_DWORDX2 {v2}, 0, 0, implicit $exec",
    "GLOBAL_STORE_DWORD {v2}, {w}, 0, 0, implicit $exec",
    "GLOBAL_STORE_DWORDX2 {v2}, {w2}, 0, 0, implicit $exec",
    "FLAT_STORE_DWORD {v2}, {w}, 0, 0, implicit $exec, implicit $flat_scr",
    "{w} = FLAT_LOAD_DWORD {v2}, 0, 0, implicit $exec, implicit $flat_scr",
    "{w} = BUFFER_LOAD_DWORD_OFFEN {v}, $sgpr0_sgpr1_sgpr2_sgpr3, 0, 0, 0, 0, implicit $exec",
    "BUFFER_STORE_DWORD_OFFEN {w}, {v}, $sgpr0_sgpr1_sgpr2_sgpr3, 0, 0, 0, 0, implicit $exec",
    "{w} = SCRATCH_LOAD_DWORD {v}, 0, 0, implicit $exec, implicit $flat_scr",
    "{w} = DS_READ_B32_gfx9 {v}, 0, 0, implicit $exec",
    "DS_WRITE_B32_gfx9 {v}, {w}, 0, 0, implicit $exec",
    "{v} = DS_BPERMUTE_B32 {v}, {v}, 0, implicit $exec",
)
_GFX90A = (
    "{r} = V_ACCVGPR_MOV_B32 {r}, implicit $exec",
    f"{{y}} = V_FMAC_F64_e32 {{v2}}, {{v2}}, {{y}}, {_MODE}",
    f"{{v2}} = V_PK_FMA_F32 8, {{v2}}, 8, {{v2}}, 8, {{v2}}, 0, 0, 0, 0, 0, {_MODE}",
    f"{{v2}} = V_PK_ADD_F32 8, {{v2}}, 8, {{v2}}, 0, 0, 0, 0, 0, {_MODE}",
)


class Comparison(NamedTuple):
    """What LLVM and the rules say of drawn programs."""

    programs: int
    """Number of programs."""
    waiting: int
    """Number of those to which LLVM adds wait states."""
    hazards: Counter[str]
    """How often each hazard demands the last wait state of those that LLVM adds."""
    overwritten: int
    """Number of programs that are not compared: two instructions before the last write one register. Of products that
    write an operand LLVM knows the nearest alone; for other rules an overwritten writer counts."""
    differences: tuple[str, ...]
    """Programs about which the two differ, with LLVM's wait states."""


def has_llc() -> bool:
    """Whether LLVM 19's compiler is installed."""
    return shutil.which(LLC) is not None


def compare(architecture: Architecture, programs: int, seed: int = 1) -> Comparison:
    """Draw programs, let LLVM insert wait states, and compare them with the hazards' rules.

    Args:
        architecture: GFX908 or GFX90A.
        programs: how many.
        seed: of the draws.

    Returns:
        Counts and differences.
    """
    draw = random.Random(f"{seed} {architecture.name}")
    drawn = [_draw_program(draw, architecture) for _ in range(programs)]
    waiting, overwritten, hazards, differences = 0, 0, Counter[str](), []
    for code in _compiled(architecture, drawn):
        if _has_overwritten(code):
            overwritten += 1
            continue
        text = "; ".join(_text(code))
        positions = [k for k, one in enumerate(code) if isinstance(one, int)]
        waiting += bool(positions)
        if violations := find_violations(_program(code)):
            differences.append(f"more than LLVM: {text} [{violations[0].text}]")
        for position in positions:
            fewer = [*code]
            fewer[position] = code[position] - 1  # type: ignore[operator]
            if violations := find_violations(_program(fewer)):
                hazards.update({violation.hazard.name for violation in violations})
            else:
                differences.append(f"fewer than LLVM: {text}")
    return Comparison(programs, waiting, hazards, overwritten, tuple(differences))


Code = list[Instruction | int]  # a program; numbers are wait states that LLVM put there


def _has_overwritten(code: Code) -> bool:
    """Tell whether two instructions before the last write one register, except for the fillers' scalar one."""
    written = [registers(one)[1] & VGPRS for one in code[:-1] if isinstance(one, Instruction)]
    return any(one & other for one, other in combinations(written, 2))


def _text(code: Code) -> list[str]:
    from isa.encoding.disassembler import disassemble

    return [f"{one} wait states" if isinstance(one, int) else disassemble(one) for one in code]


def _program(code: Code) -> list[Instruction]:
    """Return a program at consecutive addresses, its wait states as s_nop."""
    instructions: list[Instruction] = []
    address = 0
    for one in code:
        if isinstance(one, int):
            parts = [replace(_NOP, fields={"simm16": 0}, architecture=_of(code))] * one
        else:
            parts = [one]
        for part in parts:
            instructions.append(replace(part, address=address))
            address += part.size
    return instructions


_NOP = decode(bytes.fromhex("000080bf"), 0)[0]


def _of(code: Code) -> Architecture:
    return next(one.architecture for one in code if isinstance(one, Instruction))


def _compiled(architecture: Architecture, programs: Sequence[Sequence[str]]) -> list[Code]:
    """Return the programs with the wait states that LLVM inserts."""
    mir = ""
    for k in range(0, len(programs), _IN_FUNCTION):
        lines = [line for program in programs[k : k + _IN_FUNCTION] for line in (*program, *_SEPARATORS)]
        body = "\n".join(f"    {line}" for line in (*lines, "S_ENDPGM 0"))
        mir += f"---\nname: drawn{k}\nbody: |\n  bb.0:\n{body}\n...\n"
    command = [LLC, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={architecture.name}", "-start-before=post-RA-hazard-rec"]
    options = ["-mattr=-xnack", "-show-mc-encoding", "-x", "mir", "-", "-o", "-"]
    result = subprocess.run([*command, *options], input=mir, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[:6000]
    encoded = re.findall(r"; encoding: \[(.*)\]", result.stdout)
    data = b"".join(bytes.fromhex(line.replace("0x", "").replace(",", "")) for line in encoded)
    codes: list[Code] = []
    current: list[Instruction] = []
    for instruction in decode(data, 0, architecture=architecture):
        if instruction.opcode.mnemonic != "s_endpgm":
            current.append(instruction)
        if instruction.opcode.mnemonic == "s_sethalt":
            codes.append(_grouped(current[: -len(_SEPARATORS)]))
            current = []
    assert len(codes) == len(programs)
    return codes


def _grouped(instructions: Sequence[Instruction]) -> Code:
    """Return a program with runs of s_nop as numbers of wait states."""
    code: Code = []
    for is_nop, run in groupby(instructions, lambda one: one.opcode.mnemonic == "s_nop"):
        members = list(run)
        code += [sum(wait_states(one) for one in members)] if is_nop else members
    return code


def _draw_program(draw: random.Random, architecture: Architecture) -> list[str]:
    """Return two instructions with up to 19 others in between, or three."""
    while True:
        if draw.random() < 0.3:
            program = [_draw_instruction(draw, architecture, share) for share in (0.2, 0.7, 0.1)]
        else:
            first, second = (_draw_instruction(draw, architecture, 0.45) for _ in range(2))
            program = [first, *[_FILLER] * (draw.randrange(20) if draw.random() < 0.3 else 0), second]
        text = "\n".join(program)
        coarse_mask = "V_CMPX" in text and re.search("GLOBAL|FLAT|BUFFER|SCRATCH", text)
        coarse_passes = architecture.name == "gfx908" and len(program) == 3 and text.count("V_MFMA") > 1
        coarse_unit = len(program) == 3 and all("V_MFMA" in line for line in program[1:])
        if not coarse_mask and not coarse_passes and not coarse_unit:
            return program


def _draw_instruction(draw: random.Random, architecture: Architecture, products_share: float) -> str:
    if draw.random() < products_share:
        products = [opcode for opcode in architecture.tables["vop3p"].values() if "matrix" in opcode.flags]
        short = [opcode for opcode in products if "f64" in opcode.mnemonic or "4x4" in opcode.mnemonic]
        return _draw_product(draw, draw.choice(short if draw.random() < 0.5 else products), architecture)
    data = ("agpr" if draw.random() < 0.5 else "vgpr") if architecture.name == "gfx90a" else "vgpr"
    kinds = {"v": ("vgpr", 1), "v2": ("vgpr", 2), "w": (data, 1), "w2": (data, 2), "r": ("agpr", 1)}
    same = {"x": _registers(draw, "vgpr", 1), "y": _registers(draw, "vgpr", 2)}
    template = draw.choice((*_OTHERS, *(_GFX90A if architecture.name == "gfx90a" else ())))
    return re.sub(r"{(\w+)}", lambda match: same.get(match[1]) or _registers(draw, *kinds[match[1]]), template)


def _draw_product(draw: random.Random, opcode: Opcode, architecture: Architecture) -> str:
    """Return a matrix product whose SrcC is often its destination."""
    dwords = {operand.field: operand.dwords for operand in parse_operands(opcode.operands)}
    sums = "vgpr" if architecture.name == "gfx90a" and draw.random() < 0.5 else "agpr"
    target = _registers(draw, sums, dwords["vdst"])
    addend = target if draw.random() < 0.3 else _registers(draw, sums, dwords["src2"])
    if architecture.name == "gfx90a" and draw.random() < 0.1:
        addend = "0"
    factors = (_registers(draw, draw.choice(("agpr", "vgpr")), dwords[field]) for field in ("src0", "src1"))
    form = "_vgprcd_e64" if sums == "vgpr" else "_e64"
    return f"{target} = {opcode.mnemonic.upper()}{form} {', '.join(factors)}, {addend}, 0, 0, 0, {_MODE}"


def _registers(draw: random.Random, name: str, count: int) -> str:
    first = draw.randrange(_FEW // 2) * 2 if count > 1 else draw.randrange(_FEW)
    return "$" + "_".join(f"{name}{first + k}" for k in range(count))


def main() -> int:
    """Compare and print; exit code 1 if anything differs."""
    code = 0
    for architecture in (ARCHITECTURES["gfx908"], ARCHITECTURES["gfx90a"]):
        result = compare(architecture, int(sys.argv[1]))
        print(
            f"{architecture.name}: {result.programs} programs, {result.overwritten} not compared,"
            f" {result.waiting} with wait states, {len(result.differences)} differences"
        )
        for name in architecture.hazards:
            print(f"  {name}: {result.hazards[name]}")
        for difference in result.differences[:40]:
            print(f"  {difference}")
        code |= bool(result.differences)
    return code


if __name__ == "__main__":
    sys.exit(main())
