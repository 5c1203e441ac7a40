"""`gpusim disasm`."""

from collections.abc import Iterator
from pathlib import Path

from isa.encoding.control_flow import decode_kernel
from isa.encoding.disassembler import disassemble
from isa.encoding.hazards import find_violations
from isa.encoding.instruction import Instruction
from isa.encoding.static_counts import static_counts
from isa.object.code_object import Kernel, load_code_object
from isa.object.names import find, readable

COMMENT_COLUMN = 60  # as llvm-objdump aligns its address comments
EXIT_MISSING = 1


def disasm_command(file: Path, name: str | None, hazards: bool) -> int:
    """Print the kernels of a code object as assembly, each with its resources and static counts.

    hazards: print where wait states are missing instead; the exit code tells whether any are.
    """
    kernels = load_code_object(file).kernels
    asked = list(kernels.values()) if name is None else [kernels[find(kernels, name, str(file))]]
    if hazards:
        return _print_violations(asked)
    for kernel in asked:
        for line in listing(kernel):
            print(line)
    return 0


def _print_violations(kernels: list[Kernel]) -> int:
    code = 0
    for kernel in kernels:
        violations = find_violations(decode_kernel(kernel))
        for violation in violations:
            print(f"{kernel.name}: {violation.text}")
        if not violations:
            print(f"{kernel.name}: no wait states are missing")
        code = EXIT_MISSING if violations else code
    return code


def listing(kernel: Kernel) -> Iterator[str]:
    """Lines of one kernel; raises DecodeError for code that is none."""
    counts = static_counts(kernel)
    if readable(kernel.name) != kernel.name:
        yield f"; {readable(kernel.name)}"
    yield f"; kernel {kernel.name}, code object version {kernel.code_object_version}"
    yield (
        f"; {kernel.vgprs} VGPRs, {kernel.sgprs} SGPRs, {kernel.lds_bytes} bytes of LDS, "
        f"{kernel.private_segment_bytes} bytes of private memory, {kernel.kernarg_bytes} bytes of arguments"
    )
    for argument in kernel.arguments:
        kind = f"{argument.kind} {argument.type_name}".rstrip()
        yield f";   {argument.offset:>4} {argument.name or '-'}: {kind}, {argument.size} bytes"
    total = counts.pop("total")
    used = ", ".join(f"{count} {unit}" for unit, count in counts.items() if count)
    yield f"; {total} instructions: {used}"
    yield f"{kernel.name}:"
    for instruction in decode_kernel(kernel):
        text = f"    {disassemble(instruction)}".ljust(COMMENT_COLUMN)
        yield f"{text}// {instruction.address:012X}: {_words(kernel, instruction)}"
    yield ""


def _words(kernel: Kernel, instruction: Instruction) -> str:
    start = instruction.address - kernel.code_address
    code = kernel.code[start : start + instruction.size]
    return " ".join(code[i : i + 4][::-1].hex().upper() for i in range(0, len(code), 4))
