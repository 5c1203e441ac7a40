"""Dependencies that the hardware does not check: which wait states are missing in a kernel's code.

The ISA manuals (chapter 4, "Manually Inserted Wait States (NOPs)") list pairs of instructions between which software
must put s_nop or independent instructions; otherwise the second one reads what the register held before. The simulator
executes in order and always reads the new value, so that such code runs here and not on hardware. An architecture's
list is `Architecture.hazards`, here is which instructions its names mean.

Every way that control flow can take to an instruction is looked at: falling through, direct branches, and jumps
through a register whose target the code computes from constants (isa.encoding.jumps); other jumps are not followed. A
register that another instruction overwrites in between is no hazard any more. Each instruction is one wait state, s_nop
one and as many more as it says (as in LLVM's GCNHazardRecognizer). What matrix instructions demand is in
`isa.encoding.matrix_hazards`.

Not checked: access to VCC under the number of the SGPR pair that holds it.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from isa.architecture import HW_MODE, HW_TRAPSTS
from isa.encoding.disassembler import disassemble
from isa.encoding.instruction import Instruction
from isa.encoding.matrix_hazards import HazardRule, has_matrix_hazards, is_valu, matrix_rules
from isa.encoding.operands import SEGMENTS, loads_into_lds
from isa.encoding.registers import EXECZ, M0, SCALARS, VCC, VCCZ, VGPRS, registers, source_mask, vgpr_mask
from isa.opcodes.hazards import Hazard
from isa.opcodes.opcode import SALU, VALU, VMEM

MODE_VSKIP_BIT = 28
_WIDE_DWORDS = 3  # of a store whose data is read late
_LDS_DIRECT = 254  # operand code: the dword of LDS that M0 names
_VECTOR_ENCODINGS = ("vop1", "vop2", "vop3", "vop3p", "vopc", "ds", "flat", *SEGMENTS, "mubuf", "mtbuf", "mimg")
_SOURCES = ("src0", "src1", "src2")


class Violation(NamedTuple):
    """Too few wait states between two instructions."""

    hazard: Hazard
    """The rule."""
    first: Instruction
    """Instruction that the rule begins with."""
    instruction: Instruction
    """Instruction that comes too early."""
    wait_states: int
    """Wait states between them."""

    @property
    def missing(self) -> int:
        """Number of wait states to be added."""
        return self.needed - self.wait_states

    @property
    def needed(self) -> int:
        """Number of wait states that must stand between the two."""
        return self.hazard.needed_after(self.first.opcode)

    @property
    def text(self) -> str:
        """The violation in one line: where, what, how many wait states."""
        return (
            f"0x{self.instruction.address:x}: {disassemble(self.instruction)}: {self.needed} wait states"
            f" needed after {disassemble(self.first)} (0x{self.first.address:x}), {self.wait_states} there"
            f" [{self.hazard.name}: {self.hazard.first}, then {self.hazard.second}]"
        )


def find_violations(instructions: Sequence[Instruction]) -> list[Violation]:
    """Find the missing wait states among a kernel's instructions, given and returned in address order."""
    masks = [registers(i) for i in instructions]
    before = _predecessors(instructions)
    matrix = any(has_matrix_hazards(i) for i in instructions)
    violations = []
    for k, instruction in enumerate(instructions):
        hazards = instruction.architecture.hazards
        rules = _rules(instruction, masks[k]) + (matrix_rules(instruction, *masks[k]) if matrix else [])
        for rule in rules:
            if rule.name not in hazards:
                continue
            worst = _worst(hazards[rule.name], rule, k, instructions, masks, before)
            if worst is not None:
                violations.append(Violation(hazards[rule.name], instructions[worst[0]], instruction, worst[1]))
    return violations


def wait_states(instruction: Instruction) -> int:
    """Return the number of wait states that the instruction is worth."""
    if instruction.opcode.mnemonic == "s_nop":
        return 1 + (instruction.fields["simm16"] & 0xF)
    return 1


def _predecessors(instructions: Sequence[Instruction]) -> list[list[int]]:
    index = {instruction.address: k for k, instruction in enumerate(instructions)}
    before: list[list[int]] = [[] for _ in instructions]
    for k, (one, other) in enumerate(pairwise(instructions)):
        if "ends_block" not in one.opcode.flags and one.address + one.size == other.address:
            before[k + 1].append(k)
    for k, instruction in enumerate(instructions):
        for target in (instruction.branch_target, *instruction.jump_targets):
            if target in index:
                before[index[target]].append(k)
    return before


def _worst(
    hazard: Hazard,
    rule: HazardRule,
    index: int,
    instructions: Sequence[Instruction],
    masks: list[tuple[int, int]],
    before: list[list[int]],
) -> tuple[int, int] | None:
    """Find the first instruction of a violating pair that lacks the most wait states, the nearest of several.

    Returns its index and the wait states there; None: there are enough on every path to the instruction at `index`.
    """
    worst: tuple[int, int] | None = None
    missing, most = 0, hazard.most
    best_at: dict[tuple[int, int, bool], int] = {}
    pending = [(p, 0, rule.mask, rule.is_between is None) for p in before[index]]
    while pending:
        at, states, mask, complete = pending.pop()
        if most - states <= missing or states >= best_at.get((at, mask, complete), most):
            continue
        best_at[at, mask, complete] = states
        first = instructions[at]
        counting = masks[at][1] if rule.registers is None else rule.registers(first)
        if complete and (not rule.mask or counting & mask) and rule.is_first(first):
            lacking = hazard.needed_after(first.opcode) - states
            if lacking > missing:
                worst, missing = (at, states), lacking
        mask &= ~counting
        if rule.mask and not mask:
            continue
        complete = complete or (rule.is_between is not None and rule.is_between(first))
        pending += [(p, states + _turns(first, instructions[index]), mask, complete) for p in before[at]]
    return worst


def _turns(between: Instruction, second: Instruction) -> int:
    """Return the wait states that an instruction is worth before another: a product waits for the unit's passes.

    rocBLAS's kernels (Tensile) rely on it: one product between the writer of a register and the product that reads it.
    """
    if "matrix" in between.opcode.flags and "matrix" in second.opcode.flags:
        return between.opcode.passes
    return wait_states(between)


def _is_salu(instruction: Instruction) -> bool:
    return instruction.opcode.unit == SALU


def _sets_register(register: int, bit: int = -1) -> Callable[[Instruction], bool]:
    """Return a test for an s_setreg of the hardware register, and of bit `bit` of it unless that is -1."""

    def check(instruction: Instruction) -> bool:
        if instruction.opcode.mnemonic not in ("s_setreg_b32", "s_setreg_imm32_b32"):
            return False
        selector = instruction.fields["simm16"]
        offset, size = selector >> 6 & 31, (selector >> 11) + 1
        return selector & 63 == register and (bit < 0 or offset <= bit < offset + size)

    return check


def _rules(instruction: Instruction, masks: tuple[int, int]) -> list[HazardRule]:
    """Return the rules about instructions that the instruction must not follow too early."""
    opcode, fields = instruction.opcode, instruction.fields
    name, reads, writes = opcode.mnemonic, *masks
    rules: list[tuple[str, Callable[[Instruction], bool], int]] = []
    if opcode.unit == VALU:
        rules += [("valu-vccz", is_valu, VCCZ)] * bool(reads & VCCZ)
        rules += [("valu-execz", is_valu, EXECZ)] * bool(reads & EXECZ)
        if "dpp_ctrl" in fields:
            rules += [("valu-dpp", is_valu, reads & VGPRS), ("exec-dpp", is_valu, EXECZ)]
        if name in ("v_readlane_b32", "v_writelane_b32"):
            lane = source_mask(fields["src1"], 1)
            rules += [("valu-lane", is_valu, lane)] * bool(lane)
        if name.startswith("v_div_fmas"):
            rules.append(("valu-div-fmas", is_valu, VCC))
        if writes & VGPRS:
            rules.append(("wide-store", _stores_into(writes), 0))
    if opcode.unit == VMEM:
        scalars = reads & SCALARS
        rules += [("valu-vmem", is_valu, scalars)] * bool(scalars)
    if opcode.encoding in _VECTOR_ENCODINGS:
        rules.append(("vskip-vector", _sets_register(HW_MODE, MODE_VSKIP_BIT), 0))
    if name in ("s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"):
        register = fields["simm16"] & 63
        rules.append(("setreg", _sets_register(register), 0))
        if name == "s_getreg_b32" and register == HW_MODE:
            rules.append(("vskip-getreg", lambda first: first.opcode.mnemonic == "s_setvskip", 0))
    if name.startswith("s_rfe"):
        rules.append(("trapsts-rfe", _sets_register(HW_TRAPSTS), 0))
    if name in ("s_sendmsg", "s_sendmsghalt", "s_ttracedata") or fields.get("gds") or "gds_only" in opcode.flags:
        rules.append(("m0-message", _is_salu, M0))
    if name.startswith("s_movrel"):
        rules.append(("m0-relative-move", _is_salu, M0))
    direct = any(fields.get(source) == _LDS_DIRECT for source in _SOURCES)
    if direct or "_addtid_" in name or loads_into_lds(instruction):
        rules.append(("m0-lds", _is_salu, M0))
    return [HazardRule(*rule) for rule in rules]


def _stores_into(written: int) -> Callable[[Instruction], bool]:
    """Return a test for a wide store whose data registers are among those `written` after it."""

    def check(first: Instruction) -> bool:
        return bool(_late_data(first) & written)

    return check


def _late_data(instruction: Instruction) -> int:
    """Return the mask of data registers of a store or compare-and-swap of more than 64 bits, read late; else 0.

    A buffer access with an SGPR as offset reads them in time (GCN3 ISA manual, note in the table).
    """
    opcode, fields = instruction.opcode, instruction.fields
    if opcode.unit != VMEM or not opcode.flags & {"store", "atomic"}:
        return 0
    flat = opcode.encoding in ("flat", *SEGMENTS)
    field = "data" if flat else "vdata"
    kind = next((o.partition(":")[2] for o in opcode.operands.split() if o.startswith(f"{field}:")), "")
    dwords = int(kind[1:] or 0) // 32
    if dwords < _WIDE_DWORDS:
        return 0
    if not flat and source_mask(fields["soffset"], 1):
        return 0
    return vgpr_mask(fields[field], dwords)
