"""Whether a kernel's workgroups can be passed over: whether what one does may depend on what another has done.

A workgroup learns of another through memory: by an atomic that returns the old value (a queue of work, a ticket), or by
a load that goes wave its L1 (`glc`) in a loop that waits. A kernel with neither is taken for independent.
"""

from collections.abc import Sequence

from isa.encoding.instruction import Instruction

SPARSE_LOAD = "flat_load_dwordx2"


def dependence(instructions: Sequence[Instruction], sparse: bool = False) -> str:
    """Say why a kernel's workgroups may depend on one another; empty if nothing suggests that they do.

    sparse: the launch has sparse regions, whose loads have the same glc bit.
    """
    for instruction in instructions:
        opcode = instruction.opcode
        if "atomic" in opcode.flags and opcode.encoding != "ds" and instruction.fields.get("glc"):
            return f"{opcode.mnemonic} at {instruction.address:#x} returns what another workgroup may have written"
    for instruction in instructions:
        target = instruction.branch_target
        if target is None or target > instruction.address:
            continue
        loop = [each for each in instructions if target <= each.address <= instruction.address]
        for each in loop:
            if each.opcode.mnemonic == "s_sleep":
                return f"the loop at {target:#x} waits (s_sleep at {each.address:#x})"
            past_cache = "load" in each.opcode.flags and each.opcode.encoding != "ds" and each.fields.get("glc")
            if past_cache and not (sparse and each.opcode.mnemonic == SPARSE_LOAD):
                return f"the loop at {target:#x} reads past its cache ({each.opcode.mnemonic} glc at {each.address:#x})"
    return ""
