"""Which instructions a kernel needs for some of its registers: a backward slice that knows of lanes.

A vector register is overwritten in active lanes alone. So what is wanted of one is kept apart by the lanes that it is
wanted of: those of a mask, EXEC or a pair of scalar registers, or any. Where a mask is written, its lanes are among
those of the masks that it is made of: at the end of a branch, which switches lanes on again from the mask saved at its
beginning, they are those of the saved one, and from there on those of EXEC again. What is wanted of active lanes alone
is settled by an instruction that overwrites the register.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isa.architecture import EXEC as EXEC_CODE
from isa.architecture import SCALAR_REGISTERS
from isa.encoding.instruction import Instruction
from isa.encoding.registers import EXEC, EXECZ, VCC, VCCZ, VGPRS, registers, scalar_mask
from isa.opcodes.opcode import LDS, VALU, VMEM

ANY = -1  # in place of a mask's first register: lanes that no mask is known to hold
Made = Mapping[int, tuple[int, ...]]  # of each mask written, by its first register, masks that hold its lanes together


@dataclass(frozen=True)
class _Effects:
    """Effects of an instruction on registers, as bit masks; of vector registers in active lanes."""

    reads: int
    """Registers read."""
    writes: int
    """Registers written."""
    overwrites: int
    """Registers overwritten as a whole."""
    of_any_lane: int = 0
    """Vector registers read in lanes that need not be active."""
    made: Made = field(default_factory=dict)
    """For each written lane mask, the masks of which it is known to be composed."""


def mark(
    needed: list[bool], instructions: Sequence[Instruction], after: Sequence[Sequence[int]], asked: Sequence[int]
) -> list[int]:
    """Mark, backwards along control flow, all instructions that write what a needed one reads, or what is asked.

    Return the scalar registers wanted before each.

    Args:
        after: The instructions that may follow each.
        asked: Of each instruction, the registers that are to be known where it stands.
    """
    effects = [_effects(one) for one in instructions]
    before: list[list[int]] = [[] for _ in needed]
    for k, ways in enumerate(after):
        for way in ways:
            before[way].append(k)
    scalars: list[int] = [0] * len(needed)  # wanted before each instruction
    vectors: list[dict[int, int]] = [{} for _ in needed]  # the same, by the mask of lanes
    pending = list(range(len(needed)))
    while pending:
        k = pending.pop()
        does, live, of_lanes = effects[k], 0, dict[int, int]()
        for way in after[k]:
            live |= scalars[way]
            for mask, wanted in vectors[way].items():
                of_lanes[mask] = of_lanes.get(mask, 0) | wanted
        every = live
        for wanted in of_lanes.values():
            every |= wanted
        needed[k] = needed[k] or bool(does.writes & every)
        of_lanes = _masks_before(does, of_lanes)
        active = of_lanes.get(EXEC_CODE, 0)
        if needed[k]:
            live, active = live & ~does.overwrites | does.reads & ~VGPRS, active & ~does.overwrites
            active |= does.reads & VGPRS & ~does.of_any_lane
            of_lanes[ANY] = of_lanes.get(ANY, 0) | does.of_any_lane
        live, of_lanes[EXEC_CODE] = live | asked[k] & ~VGPRS, active | asked[k] & VGPRS
        if (live, of_lanes) != (scalars[k], vectors[k]):
            scalars[k], vectors[k] = live, of_lanes
            pending += before[k]
    return scalars


def _masks_before(does: _Effects, of_lanes: dict[int, int]) -> dict[int, int]:
    """Return what is wanted of vector registers, by the masks before an instruction instead of those after it."""
    written = [mask for mask in of_lanes if mask != ANY and does.writes & scalar_mask(mask, 2)]
    if not written:
        return of_lanes
    held = {mask: of_lanes.pop(mask) for mask in written}
    for mask, wanted in held.items():
        for one in does.made.get(mask, (ANY,)):
            of_lanes[one] = of_lanes.get(one, 0) | wanted
    return of_lanes


def _effects(instruction: Instruction) -> _Effects:
    """Return the effects of an instruction."""
    opcode = instruction.opcode
    name = opcode.mnemonic
    reads, writes = registers(instruction)
    reads |= (VCC if reads & VCCZ else 0) | (EXEC if reads & EXECZ else 0)
    if opcode.unit in (VALU, VMEM, LDS):
        reads |= EXEC
    if "movrel" in name:  # M0 says which registers
        every = VGPRS if opcode.unit == VALU else scalar_mask(0, SCALAR_REGISTERS)
        reads, writes = (reads | every, writes | every) if "movrels" in name else (reads, writes | every)
        return _Effects(reads & ~(VCCZ | EXECZ), writes & ~(VCCZ | EXECZ), 0, reads & VGPRS)
    reads, writes = reads & ~(VCCZ | EXECZ), writes & ~(VCCZ | EXECZ)
    partly = name.startswith("v_writelane") or any(word in instruction.fields for word in ("dst_sel", "dpp_ctrl"))
    crosses = name.startswith("v_readlane") or "matrix" in opcode.flags
    of_any_lane = reads & VGPRS if crosses else 0
    return _Effects(reads, writes, 0 if partly else writes, of_any_lane, _made(instruction, writes))


def _made(instruction: Instruction, writes: int) -> Made:
    """Return what the masks that an instruction writes are made of."""
    name, fields = instruction.opcode.mnemonic, instruction.fields
    if name.startswith("v_cmp"):  # 0 for lanes that are not active
        return {mask: (EXEC_CODE,) for mask in range(0, EXEC_CODE + 1, 2) if writes & scalar_mask(mask, 2)}
    sources = [fields[one] for one in ("ssrc0", "ssrc1") if one in fields]
    if not name.endswith("_b64") or "sdst" not in fields or any(one > EXEC_CODE for one in sources):
        return {}
    saved = {fields["sdst"]: (EXEC_CODE,)}
    match name.removesuffix("_b64"):
        case "s_mov":
            return {fields["sdst"]: (sources[0],)}
        case "s_and":
            return {fields["sdst"]: (EXEC_CODE if EXEC_CODE in sources else sources[0],)}
        case "s_andn2":
            return {fields["sdst"]: (sources[0],)}
        case "s_or" | "s_xor":
            return {fields["sdst"]: tuple(sources)}
        case "s_and_saveexec":
            return {**saved, EXEC_CODE: (EXEC_CODE,)}
        case "s_or_saveexec" | "s_xor_saveexec":
            return {**saved, EXEC_CODE: (EXEC_CODE, sources[0])}
        case "s_andn2_saveexec":
            return {**saved, EXEC_CODE: (sources[0],)}
    return {}
