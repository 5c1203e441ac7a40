"""`gpusim kernels`: build code objects, compare shipped ones with their sources, say what of others can be executed."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.errors import UserError
from gpusim.base.formats import COUNT
from gpusim.base.interrupt import interrupt_python

if TYPE_CHECKING:
    from isa.object.code_object import Kernel

EXIT_DIFFERENT = 1
_WIDTH = 100
_BINARY_MAGICS = (b"\x7fELF", b"__CL", b"CCOB")


def kernels_build(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SOURCE]...", help="OpenCL C (.cl), HIP (.hip), assembly (.s) or LLVM IR (.ll). [default: shipped]"
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("-g", help="Keep line tables, for faults, hotspots and disassembly.")] = False,
    gpu: Annotated[
        str, typer.Option("--gpu", metavar="NAME", help="Build for this architecture or card.", show_default=True)
    ] = "gfx803",
) -> None:
    """Compile kernels into code objects beside their sources: through clang and lld; LLVM IR works without either."""
    interrupt_python()
    from gpusim.config.gpu import gpus_that_run
    from isa.opcodes import ARCHITECTURES
    from isa.opcodes.later import CDNA, RDNA, describe_support
    from workloads.toolchain import build
    from workloads.toolchain.errors import OtherGpusInstructionError

    cards = {card: name for name in ARCHITECTURES for card in gpus_that_run([name])}
    if gpu not in (*ARCHITECTURES, *cards):
        raise UserError(f"--gpu {gpu}: code is built for {', '.join(ARCHITECTURES)}, or for {', '.join(cards)}")
    gpu = cards.get(gpu, gpu)
    if debug and not sources:
        raise UserError("-g is for sources that are named: the shipped code objects are kept without line tables")
    try:
        built = build.build_sources(sources or build.shipped_sources(), debug, gpu)
    except OtherGpusInstructionError as error:
        having = tuple(build.gpus_that_assemble(error.text, (*ARCHITECTURES, *CDNA, *RDNA)))
        if not having:
            raise
        raise UserError(f"{error.where}: {describe_support(error.text.split()[0], having, gpu)}") from None
    for path, how in built:
        print(f"{path}  ({how})")


def kernels_check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...", help="Code objects, bundles, fat binaries, folders of them. [default: shipped]"
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the files' table as Markdown.")] = False,
) -> int:
    """Say which kernels of files can be executed, why others cannot, and which have marks of known compilers' faults.

    Without files: compare the shipped with their sources.
    """
    interrupt_python()
    from workloads.toolchain import build

    if files:
        return _check_files(files, markdown)
    problems = build.check_all()
    for problem in problems:
        print(problem)
    if not problems:
        print(f"{len(build.shipped_sources())} code objects are what their sources give")
    return EXIT_DIFFERENT if problems else 0


@dataclass
class FileSupport:
    """Executable and rejected kernels of a file."""

    file: Path
    """File with code objects."""
    kernels: int = 0
    """Number of kernels."""
    executable: int = 0
    """Number of kernels that can be executed."""
    instructions: int = 0
    """Number of instructions in the executable kernels."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Number of rejected kernels by reason."""
    marks: Counter[str] = field(default_factory=Counter)
    """Number of affected kernels by known compiler fault."""
    examples: dict[str, str] = field(default_factory=dict)
    """One kernel for each reason and fault, with the message."""
    refused: str = ""
    """Reason why the file cannot be read; empty if it can."""


def _check_files(files: list[Path], markdown: bool) -> int:
    verdicts = []
    for file in _code_files(files):
        verdicts.append(examine(file))
        for line in () if markdown else _lines(verdicts[-1]):
            print(line, flush=True)
    if markdown:
        from gpusim.base.table import Table
        from gpusim.cli.views import CODE_FILES

        print(Table(CODE_FILES, [row for verdict in verdicts for row in _rows(verdict)]).markdown(), end="")
    good = all(v.executable == v.kernels and not v.refused and not v.marks for v in verdicts)
    return 0 if good else EXIT_DIFFERENT


def examine(file: Path) -> FileSupport:
    """Decode and translate every kernel of a file, as a launch would."""
    from isa.encoding.decoder import DecodeError
    from isa.encoding.miscompiled import find_marks
    from isa.execution.program import build_program
    from isa.object.code_object import CodeObjectError, load_code_object
    from isa.object.names import short

    verdict = FileSupport(file)
    try:
        kernels = load_code_object(file).kernels
    except CodeObjectError as error:
        verdict.refused = str(error).removeprefix(f"{file}: ")
        return verdict
    for kernel in kernels.values():
        verdict.kernels += 1
        try:
            instructions = build_program(kernel).instructions
        except (CodeObjectError, DecodeError) as error:
            reason = _general(kernel, str(error))
            verdict.reasons[reason] += 1
            verdict.examples.setdefault(reason, f"{short(kernel.name)}: {error}")
        else:
            verdict.executable += 1
            verdict.instructions += len(instructions)
            for fault, mark in {mark.fault: mark for mark in reversed(find_marks(instructions))}.items():
                verdict.marks[fault] += 1
                verdict.examples.setdefault(fault, f"{short(kernel.name)}, {mark.text}")
    return verdict


def _general(kernel: "Kernel", message: str) -> str:
    """Return the message without what differs from kernel to kernel: names, addresses, words."""
    text = message.replace(f"kernel '{kernel.name}': ", "").replace(f"kernel '{kernel.name}'", "the kernel")
    text = re.sub(r"0x[0-9a-f]+( 0x[0-9a-f]+)*", "…", text)
    return re.sub(r" at …|^…: |…: ", "", text)


def _code_files(files: Iterable[Path]) -> Iterator[Path]:
    """Yield the files, and those in folders that may hold code objects."""
    for file in files:
        if file.is_dir():
            found = [path for path in sorted(file.rglob("*")) if path.is_file() and _is_binary(path)]
            if not found:
                raise UserError(f"{file}: no file in this folder is a code object, a bundle or a fat binary")
            yield from found
        else:
            yield file


def _is_binary(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) in _BINARY_MAGICS


def _rows(verdict: FileSupport) -> Iterator[tuple[str, ...]]:
    from isa.encoding.miscompiled import FAULTS

    counts = [COUNT(count).replace(",", " ") for count in (verdict.kernels, verdict.executable, verdict.instructions)]
    if verdict.refused:
        counts = [verdict.refused, "", ""]
    yield f"`{verdict.file.name}`", *counts
    for reason, count in verdict.reasons.most_common():
        yield f"– {reason}", str(count), "", ""
    for fault, count in verdict.marks.most_common():
        yield f"– miscompiled? {FAULTS[fault]}", str(count), "", ""


def _lines(verdict: FileSupport) -> Iterator[str]:
    from isa.encoding.miscompiled import FAULTS

    if verdict.refused:
        yield f"{verdict.file}: {verdict.refused}"
        return
    yield f"{verdict.file}: {verdict.executable} of {verdict.kernels} kernels can be executed"
    for reason, count in verdict.reasons.most_common():
        yield f"  {count} cannot: {reason}"
        example = verdict.examples[reason]
        yield f"    such as {example if len(example) <= _WIDTH else example[: _WIDTH - 1] + '…'}"
    for fault, count in verdict.marks.most_common():
        yield f"  {count} may be miscompiled: {FAULTS[fault]}"
        yield f"    such as {verdict.examples[fault]}"
