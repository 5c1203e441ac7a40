"""How many instructions of each functional unit a kernel's code holds."""

from isa.encoding.control_flow import decode_kernel
from isa.object.code_object import Kernel
from isa.opcodes.opcode import UNIT_NAMES


def static_counts(kernel: Kernel) -> dict[str, int]:
    """Count a kernel's static instructions: 'total', then one entry a unit (UNIT_NAMES). Raises DecodeError."""
    instructions = decode_kernel(kernel)
    counts = {"total": len(instructions)} | dict.fromkeys(UNIT_NAMES, 0)
    for instruction in instructions:
        counts[UNIT_NAMES[instruction.opcode.unit]] += 1
    return counts
