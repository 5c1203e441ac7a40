"""Dependencies that the hardware does not check: which wait states are missing in a kernel's code.

The ISA manuals (chapter 4, "Manually Inserted Wait States (NOPs)") list pairs of instructions between which software
must put s_nop or independent instructions; otherwise the second one reads what the register held before. The simulator
executes in order and always reads the new value, so that such code runs here and not on hardware. An architecture's
list is `Architecture.hazards`, here is which instructions its names mean.

Every way that control flow can take to an instruction is looked at: falling through, direct branches, and jumps
through a register whose target the code computes from constants (isa.encoding.jumps); other jumps are not followed. A
register that another instruction overwrites in between is no hazard any more. Each instruction is one wait state, s_nop
one and as many more as it says (as in LLVM's GCNHazardRecognizer).

Not checked: access to VCC under the number of the SGPR pair that holds it.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from isa.architecture import HW_MODE, HW_TRAPSTS
from isa.encoding.disassembler import disassemble
from isa.encoding.instruction import Instruction
from isa.encoding.operands import SEGMENTS
from isa.encoding.registers import EXECZ, M0, SCALARS, VCC, VCCZ, VGPRS, registers, source_mask, vgpr_mask
from isa.opcodes.hazards import Hazard
from isa.opcodes.opcode import SALU, VALU, VMEM

MODE_VSKIP_BIT = 28
_WIDE_DWORDS = 3  # of a store whose data is read late
_LDS_DIRECT = 254  # operand code: the dword of LDS that M0 names
_VECTOR_ENCODINGS = ("vop1", "vop2", "vop3", "vop3p", "vopc", "ds", "flat", *SEGMENTS, "mubuf", "mtbuf", "mimg")
_SOURCES = ("src0", "src1", "src2")


class Violation(NamedTuple):
    """Too few wait states between `first` and `instruction`; `instruction` is the one that comes too early."""

    hazard: Hazard
    first: Instruction
    instruction: Instruction
    wait_states: int

    @property
    def missing(self) -> int:
        """Number of wait states to be added."""
        return self.hazard.wait_states - self.wait_states

    @property
    def text(self) -> str:
        """The violation in one line: where, what, how many wait states."""
        return (
            f"0x{self.instruction.address:x}: {disassemble(self.instruction)}: {self.hazard.wait_states} wait states"
            f" needed after {disassemble(self.first)} (0x{self.first.address:x}), {self.wait_states} there"
            f" [{self.hazard.name}: {self.hazard.first}, then {self.hazard.second}]"
        )


class _Demand(NamedTuple):
    """A rule applied to an instruction, which must not follow a `first` that `is_first` too early (see `mask`)."""

    hazard: Hazard
    is_first: Callable[[Instruction], bool]
    mask: int  # registers whose writer counts; 0: any instruction that is_first


def find_violations(instructions: Sequence[Instruction]) -> list[Violation]:
    """Find the missing wait states among a kernel's instructions, given and returned in address order."""
    masks = [registers(i) for i in instructions]
    before = _predecessors(instructions)
    violations = []
    for k, instruction in enumerate(instructions):
        for demand in _demands(instruction, masks[k]):
            worst = _nearest(demand, k, instructions, masks, before)
            if worst is not None:
                violations.append(Violation(demand.hazard, instructions[worst[0]], instruction, worst[1]))
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


def _nearest(
    demand: _Demand,
    index: int,
    instructions: Sequence[Instruction],
    masks: list[tuple[int, int]],
    before: list[list[int]],
) -> tuple[int, int] | None:
    """Find the first instruction of a violating pair with the fewest wait states in between.

    Returns its index and these wait states; None: there are enough on every path to instruction k.
    """
    worst: tuple[int, int] | None = None
    best_at: dict[tuple[int, int], int] = {}
    pending = [(p, 0, demand.mask) for p in before[index]]
    while pending:
        at, states, mask = pending.pop()
        limit = demand.hazard.wait_states if worst is None else worst[1]
        if states >= min(limit, best_at.get((at, mask), limit)):
            continue
        best_at[at, mask] = states
        written = masks[at][1]
        if demand.is_first(instructions[at]) and (not demand.mask or written & mask):
            worst = at, states
            continue
        mask &= ~written
        if demand.mask and not mask:
            continue
        pending += [(p, states + wait_states(instructions[at]), mask) for p in before[at]]
    return worst


def _is_valu(instruction: Instruction) -> bool:
    return instruction.opcode.unit == VALU


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


def _demands(instruction: Instruction, masks: tuple[int, int]) -> list[_Demand]:
    """Return the rules about instructions that the instruction must not follow too early."""
    opcode, fields = instruction.opcode, instruction.fields
    name, reads, writes = opcode.mnemonic, *masks
    rules: list[tuple[str, Callable[[Instruction], bool], int]] = []
    if opcode.unit == VALU:
        rules += [("valu-vccz", _is_valu, VCCZ)] * bool(reads & VCCZ)
        rules += [("valu-execz", _is_valu, EXECZ)] * bool(reads & EXECZ)
        if "dpp_ctrl" in fields:
            rules += [("valu-dpp", _is_valu, reads & VGPRS), ("exec-dpp", _is_valu, EXECZ)]
        if name in ("v_readlane_b32", "v_writelane_b32"):
            lane = source_mask(fields["src1"], 1)
            rules += [("valu-lane", _is_valu, lane)] * bool(lane)
        if name.startswith("v_div_fmas"):
            rules.append(("valu-div-fmas", _is_valu, VCC))
        if writes & VGPRS:
            rules.append(("wide-store", _stores_into(writes), 0))
    if opcode.unit == VMEM:
        scalars = reads & SCALARS
        rules += [("valu-vmem", _is_valu, scalars)] * bool(scalars)
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
    if "_addtid_" in name or fields.get("lds") or any(fields.get(source) == _LDS_DIRECT for source in _SOURCES):
        rules.append(("m0-lds", _is_salu, M0))
    hazards = instruction.architecture.hazards
    return [_Demand(hazards[hazard], is_first, mask) for hazard, is_first, mask in rules if hazard in hazards]


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
