"""`gpusim disasm`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.errors import UserError

if TYPE_CHECKING:
    from isa.encoding.instruction import Instruction
    from isa.object.code_object import Kernel
    from isa.object.line_table import SourceFile, SourceLine

SOURCE_COLUMN = 24  # of source text behind its line's name
COMMENT_COLUMN = 63  # llvm-objdump: 60 characters, of which a tab is one
EXIT_MISSING = 1


def disasm(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="AMDGPU code object (ELF, gfx803).")],
    kernel: Annotated[str | None, typer.Option(metavar="NAME", help="Only this kernel.")] = None,
    source: Annotated[
        bool, typer.Option("--source", help="Print the source lines too (of what was compiled with -g).")
    ] = False,
    hazards: Annotated[
        bool, typer.Option("--hazards", help="List only where wait states (s_nop) are missing; exit code 1 if any are.")
    ] = False,
) -> int:
    """Print a code object's kernels as assembly, with resources and static instruction counts."""
    from isa.object.code_object import load_code_object
    from isa.object.names import find

    kernels = load_code_object(file).kernels
    asked = list(kernels.values()) if kernel is None else [kernels[find(kernels, kernel, str(file))]]
    if hazards:
        return _print_violations(asked)
    texts = _sources(file, asked) if source else None
    for one in asked:
        for line in listing(one, texts):
            print(line)
    return 0


class SourceTexts:
    """The source files of a code object in the folder `beside`, each read once, as far as they are found."""

    def __init__(self, beside: Path) -> None:
        self._beside = beside
        self._read: dict[SourceFile, list[str]] = {}

    def annotated(self, line: "SourceLine") -> Iterator[str]:
        """Yield the line's name and text; before a file's first line, what is wrong with the file."""
        file = line.file
        if file not in self._read:
            self._read[file], problem = self._open(file)
            if problem:
                yield f"; {file.path}: {problem}"
        texts = self._read[file]
        text = texts[line.number - 1] if line.number <= len(texts) else ""
        yield f"; {line}".ljust(SOURCE_COLUMN if text else 0) + text

    def _open(self, file: "SourceFile") -> tuple[list[str], str]:
        path = file.find(self._beside)
        if path is None:
            looked = ", ".join(str(place.parent) for place in file.places(self._beside))
            return [], f"not found; looked in {looked}"
        try:
            contents = path.read_bytes()
        except OSError as error:
            return [], f"{path} cannot be read: {error.strerror or error}"
        problem = "" if file.is_contents(contents) else f"{path} has changed since it was compiled"
        return contents.decode("utf-8", "replace").splitlines(), problem


def _sources(file: Path, kernels: "list[Kernel]") -> SourceTexts:
    tables = [kernel.lines for kernel in kernels if kernel.lines is not None]  # one for each translation unit
    if all(lines.problem for lines in tables):
        why = f"they are damaged: {tables[0].problem}" if tables else "it was compiled without -g"
        raise UserError(f"{file}: --source needs the object's line tables: {why}")
    return SourceTexts(file.absolute().parent)


def _print_violations(kernels: "list[Kernel]") -> int:
    from isa.encoding.control_flow import decode_kernel
    from isa.encoding.hazards import find_violations

    code = 0
    for kernel in kernels:
        violations = find_violations(decode_kernel(kernel))
        for violation in violations:
            print(f"{kernel.name}: {violation.text}")
        if not violations:
            print(f"{kernel.name}: no wait states are missing")
        code = EXIT_MISSING if violations else code
    return code


def listing(kernel: "Kernel", texts: SourceTexts | None = None) -> Iterator[str]:
    """Yield the lines of one kernel; `texts` adds its source. Raises DecodeError for bytes that are no instruction."""
    from isa.encoding.control_flow import decode_kernel
    from isa.encoding.disassembler import disassemble
    from isa.encoding.static_counts import static_counts
    from isa.object.names import readable

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
    if kernel.lines is not None and kernel.lines.problem:
        yield f"; its line tables cannot be read: {kernel.lines.problem}"
    yield f"{kernel.name}:"
    before = None
    for instruction in decode_kernel(kernel):
        line = kernel.source_line(instruction.address)
        if line != before and line is not None:
            yield from (f"; {line}",) if texts is None else texts.annotated(line)
        before = line
        text = f"    {disassemble(instruction)}".ljust(COMMENT_COLUMN)
        yield f"{text}// {instruction.address:012X}: {_words(kernel, instruction)}"
    yield ""


def _words(kernel: "Kernel", instruction: "Instruction") -> str:
    start = instruction.address - kernel.code_address
    code = kernel.code[start : start + instruction.size]
    return " ".join(code[i : i + 4][::-1].hex().upper() for i in range(0, len(code), 4))
