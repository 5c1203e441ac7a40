"""Jumps through registers whose targets the code itself tells: constants followed from the program counter on.

Long branches are written so: s_getpc_b64 gives the counter, scalar additions of constants move it, s_setpc_b64 jumps
(LLVM's relaxed branches, Tensile's assembly), and functions of the same object are called so (s_swappc_b64). From each
s_getpc_b64 the ways of control flow are followed with the scalar registers that hold known values.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from isa.architecture import SCALAR_REGISTERS
from isa.encoding.instruction import Instruction
from isa.encoding.operands import parse_operands
from isa.encoding.registers import SCALARS, SCC, registers
from isa.opcodes.formats import LITERAL

MAX_STEPS = 1 << 16  # followed in one kernel
_SCC = -1  # SCC's value among the registers'
_WORD, _SIGN = (1 << 32) - 1, 1 << 31
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": int.__eq__,
    "lg": int.__ne__,
    "gt": int.__gt__,
    "ge": int.__ge__,
    "lt": int.__lt__,
    "le": int.__le__,
}
RegisterValues = dict[int, int]


@dataclass
class JumpAnalysis:
    """Results of constant propagation along control flow; all addresses as linked."""

    targets: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Targets of each jump that was reached with a known target."""
    unknown: set[int] = field(default_factory=set)
    """Jumps that were reached with an unknown target."""
    passed: set[int] = field(default_factory=set)
    """Instructions on the followed paths."""
    ways: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Successors of each branch on the followed paths."""
    points: set[int] = field(default_factory=set)
    """Computed code addresses, whether or not a jump uses them."""
    steps: int = 0
    """Number of instructions followed."""
    complete: bool = True
    """Every path was followed to its end."""


def follow(counter: Instruction, at: Callable[[int], Instruction | None], analysis: JumpAnalysis) -> None:
    """Follow the paths from the s_getpc_b64 `counter` as long as any value is known; results go to `analysis`.

    at: the instruction at an address, if there is one.
    """
    after = counter.address + counter.size
    first = counter.fields["sdst"]
    analysis.passed.add(counter.address)
    values: RegisterValues = {first: after & _WORD, first + 1: after >> 32}
    pending = [(after, values, frozenset(values.items()))]
    seen: set[tuple[int, frozenset[tuple[int, int]]]] = set()
    written_at: dict[int, frozenset[int]] = {}
    while pending:
        address, values, state = pending.pop()
        instruction = at(address)
        key = address, state
        if instruction is None or key in seen or not any(register != _SCC for register in values):
            continue
        if analysis.steps == MAX_STEPS:
            analysis.complete = False
            return
        analysis.steps += 1
        seen.add(key)
        analysis.passed.add(address)
        following = _following(instruction, values, analysis)
        if instruction.branch_target is not None:
            analysis.ways[address].update(following)
        written = written_at.get(address)
        if written is None:
            written = written_at[address] = _written(instruction)
        if written:
            values = _after(instruction, written, values, analysis)
            state = frozenset(values.items())
        pending.extend((way, values, state) for way in following)


def _written(instruction: Instruction) -> frozenset[int]:
    """Return the scalar registers that an instruction writes, SCC among them."""
    mask = registers(instruction)[1]
    scalars = mask & SCALARS
    numbers = [register for register in range(scalars.bit_length()) if scalars >> register & 1]
    return frozenset([*numbers, _SCC] if mask & SCC else numbers)


def _following(instruction: Instruction, values: RegisterValues, analysis: JumpAnalysis) -> list[int]:
    """Return the addresses where control flow may continue; the target of a jump is noted in `analysis`."""
    address, mnemonic = instruction.address, instruction.opcode.mnemonic
    following = [] if "ends_block" in instruction.opcode.flags else [address + instruction.size]
    if instruction.branch_target is not None:
        taken = _taken(mnemonic, values)
        return (
            [instruction.branch_target]
            if taken
            else following
            if taken is False
            else ([instruction.branch_target, *following])
        )
    if mnemonic in ("s_setpc_b64", "s_swappc_b64"):
        low = instruction.fields["ssrc0"]
        if low in values and low + 1 in values:
            analysis.targets[address].add(values[low] | values[low + 1] << 32)
        else:
            analysis.unknown.add(address)
    return following


def _taken(mnemonic: str, values: RegisterValues) -> bool | None:
    """Tell whether a direct branch is taken; None: not known."""
    if mnemonic == "s_branch":
        return True
    if mnemonic in ("s_cbranch_scc0", "s_cbranch_scc1") and _SCC in values:
        return values[_SCC] == int(mnemonic[-1])
    return None


def _after(
    instruction: Instruction, written: frozenset[int], values: RegisterValues, analysis: JumpAnalysis
) -> RegisterValues:
    """Return the values that are known after an instruction; addresses that it completes are noted in `analysis`."""
    known = {register: value for register, value in values.items() if register not in written}
    if instruction.opcode.encoding not in ("sop1", "sop2", "sopc", "sopk"):
        return known
    result, scc = _computed(instruction, values)
    if scc is not None:
        known[_SCC] = scc
    if result is not None:
        destination = instruction.fields["sdst"]
        known[destination] = result & _WORD
        if instruction.opcode.mnemonic.endswith("64"):
            known[destination + 1] = result >> 32
        elif instruction.opcode.mnemonic in ("s_addc_u32", "s_subb_u32") and destination - 1 in known:
            analysis.points.add(known[destination - 1] | known[destination] << 32)
    return known


def _computed(instruction: Instruction, values: RegisterValues) -> tuple[int | None, int | None]:
    """Compute result and SCC of a scalar instruction, each None if the operands or the operation are not followed."""
    name = instruction.opcode.mnemonic
    sources = [_value(instruction, o.field, o.dwords, values) for o in parse_operands(instruction.opcode.operands)]
    if any(source is None for source in sources):
        return None, None
    operands = [source for source in sources if source is not None and source >= 0]
    match name, operands:
        case (("s_mov_b32" | "s_mov_b64" | "s_movk_i32"), [a]):
            return a, None
        case "s_abs_i32", [a]:
            size = abs(_signed(a))
            return size, int(size != 0)
        case (("s_add_u32" | "s_sub_u32" | "s_addc_u32" | "s_subb_u32"), [a, b]):
            with_carry = name in ("s_addc_u32", "s_subb_u32")
            if with_carry and _SCC not in values:
                return None, None
            carry = values[_SCC] if with_carry else 0
            total = a + b + carry if "add" in name else a - b - carry
            return total & _WORD, int(not 0 <= total <= _WORD)
        case (("s_add_i32" | "s_sub_i32"), [a, b]):
            total = _signed(a) + _signed(b) if name == "s_add_i32" else _signed(a) - _signed(b)
            return total & _WORD, int(not -_SIGN <= total < _SIGN)
        case _, [a, b] if name.startswith("s_cmp_") and name[6:8] in _COMPARISONS:
            if name.endswith("i32"):
                a, b = _signed(a), _signed(b)
            return None, int(_COMPARISONS[name[6:8]](a, b))
    return None, None


def _value(instruction: Instruction, name: str, dwords: int, values: RegisterValues) -> int | None:
    """Return the value of an operand: -1 for a destination, None where it is not known."""
    if name == "sdst":
        return -1
    if name == "literal":
        return instruction.literal
    code = instruction.fields[name]
    if name == "simm16":
        return (code ^ 0x8000) - 0x8000 & _WORD
    if code == LITERAL:
        return instruction.literal
    if code < SCALAR_REGISTERS:
        low, high = values.get(code), values.get(code + 1)
        if dwords == 1 or low is None or high is None:
            return low if dwords == 1 else None
        return low | high << 32
    if 128 <= code <= 208:  # inline integers (GCN3 ISA manual, table of source operands)
        number = code - 128 if code <= 192 else 192 - code
        return number & ((1 << 32 * dwords) - 1)
    return None


def _signed(word: int) -> int:
    return word - (1 << 32) if word & _SIGN else word
