"""Compilation while a program runs (hiprtc, OpenCL): by the system's clang, with AMD's device library.

OpenCL C alone does without the library: with gpusim's header, as far as that goes.
"""

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from gpusim.jobs.hip.headers import AS_HIPRTC, AS_TEXT, compiled_headers, forget
from gpusim.jobs.hip.protocol import Source
from isa.object.code_object import CodeObjectError, load_code_object
from isa.object.names import KernelNameError, find
from workloads.toolchain.build import OPENCL_LIBRARY
from workloads.toolchain.compilers import (
    explain_missing_library,
    find_hip_tools,
    opencl_flags,
    target_flags,
    with_library,
    without_library,
)
from workloads.toolchain.errors import KernelBuildError

# chosen by gpusim: what the program says of the GPU is what it was told
BITCODE_FLAGS = ("-x", "ir", "-nogpulib", "-Wno-override-module")
_LINK = ("-Xclang", "-mlink-bitcode-file", "-Xclang")
# headers that belong to a release of clang, perhaps another one: CuPy has found those of hipcc's
_OF_A_COMPILER = re.compile(r"-I.*/lib/clang/[\d.]+(/|$)")
OF_THE_TARGET = ("--gpu-architecture", "--offload-arch", "-arch", "-march=", "-mcpu=")


@dataclass(frozen=True)
class CompileRequest:
    """What a program wants compiled."""

    source: str
    """Source text."""
    name: str
    """Name of the source."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Contents by name: headers for #include, or the bitcode that is linked."""
    options: tuple[str, ...] = ()
    """Options of the compiler."""
    expressions: tuple[str, ...] = ()
    """Expressions whose symbols it asks for."""
    language: Source = Source.HIP
    """Language of the source."""


@dataclass(frozen=True)
class CompileResult:
    """Result of a compilation."""

    code: bytes
    """Code object; empty where the compilation failed."""
    log: str
    """Messages of the compiler."""
    lowered: tuple[str, ...]
    """Symbol of each name expression; empty for an unknown one."""


def compile_program(request: CompileRequest, gpu: str) -> CompileResult:
    """Compile a program's source for a GPU; what is wrong with it, or what is missing here, is in the log."""
    nothing = ("",) * len(request.expressions)
    try:
        clang, flags = _COMMANDS[request.language](gpu)
    except KernelBuildError as error:
        return CompileResult(b"", f"gpusim: {error}\n", nothing)
    with tempfile.TemporaryDirectory(prefix="gpusim-hiprtc-") as folder:
        root = Path(folder)
        for name, contents in request.files.items():
            write_beneath(root, name, contents)
        sources = _linked(list(request.files)) if request.language in _LINKED else ["program"]
        if request.language not in _LINKED:
            (root / "program").write_text(_with_uses(request), encoding="utf-8")
        given = [one for one in request.options if not one.startswith(OF_THE_TARGET) and not _OF_A_COMPILER.match(one)]
        command = [clang, *flags, "-I.", "-Wno-unused-command-line-argument"]
        done = _run_compiler(command, given, sources, root, request)
        log = done.stderr if request.language in _LINKED else _named(done.stderr, request.name)
        if done.returncode:
            return CompileResult(b"", log, nothing)
        code = (root / "program.co").read_bytes()
    return CompileResult(code, log, tuple(_lowered(code, expression) for expression in request.expressions))


def _run_compiler(
    command: list[str], options: list[str], sources: list[str], folder: Path, request: CompileRequest
) -> "subprocess.CompletedProcess[str]":
    """Compile in a folder. HIP goes as hiprtc does it, without the host's C library; what does not compile so, with
    it. The headers of hiprtc are compiled ahead where that can be.
    """

    def run(*headers: str) -> "subprocess.CompletedProcess[str]":
        whole = [*command, *options, *headers, *sources, "-o", "program.co"]
        return subprocess.run(whole, cwd=folder, capture_output=True, text=True, check=False)

    if request.language is not Source.HIP:
        return run()
    ahead = None if request.files else compiled_headers(command, options)
    if ahead is not None and not (done := run("-Xclang", "-include-pch", "-Xclang", str(ahead))).returncode:
        return done
    done = run(*AS_HIPRTC)
    if done.returncode:
        return run(*AS_TEXT)
    if ahead is not None:
        forget(ahead)
    return done


def _named(log: str, name: str) -> str:
    """Return the compiler's messages with the name that the program has given to its source."""
    return re.sub(r"^program(?=:\d)", lambda _: name, log, flags=re.MULTILINE)


def _linked(names: Sequence[str]) -> list[str]:
    """Return the arguments by which the compiler links bitcode into that of the first file."""
    return [word for name in names[1:] for word in (*_LINK, name)] + list(names[:1])


def _for_objects(gpu: str) -> tuple[str, tuple[str, ...]]:
    """Return the compiler and its flags for linking bitcode of OpenCL C into code."""
    tools = with_library() or without_library()
    if tools is None:
        raise KernelBuildError(f"OpenCL {explain_missing_library()}")
    return tools.clang, (*target_flags(gpu), *BITCODE_FLAGS, "-O3")


def _for_library(gpu: str) -> tuple[str, tuple[str, ...]]:
    """Return the same for linking it into bitcode, as it is."""
    clang, flags = _for_objects(gpu)
    return clang, (*flags, "-c", "-emit-llvm", "-Xclang", "-disable-llvm-passes")


def _for_object(gpu: str) -> tuple[str, tuple[str, ...]]:
    """Return the same for OpenCL C that becomes bitcode; what it calls may be in another source."""
    clang, flags = _for_opencl(gpu)
    return clang, (*flags, "-c", "-emit-llvm")


def _for_hip(gpu: str) -> tuple[str, tuple[str, ...]]:
    """Return the compiler and its flags for HIP; raise KernelBuildError that says what is missing."""
    tools, flags = find_hip_tools(gpu)
    return tools.clang, flags


def _for_opencl(gpu: str) -> tuple[str, tuple[str, ...]]:
    """Return the same for OpenCL C 1.2, which the specification has a program compiled as that names no version.

    Functions of images are AMD's device library's, so the macro that announces them is defined with it alone.
    """
    tools = with_library() or without_library()
    if tools is None:
        raise KernelBuildError(f"OpenCL {explain_missing_library()}")
    version = ("-cl-std=CL1.2", "-D__IMAGE_SUPPORT__=1") if tools.library else ("-include", str(OPENCL_LIBRARY))
    return tools.clang, (*opencl_flags(tools.library), *version, *target_flags(gpu))


_COMMANDS: dict[Source, Callable[[str], tuple[str, tuple[str, ...]]]] = {
    Source.HIP: _for_hip,
    Source.OPENCL: _for_opencl,
    Source.OPENCL_OBJECT: _for_object,
    Source.OBJECTS: _for_objects,
    Source.LIBRARY: _for_library,
}
_LINKED = (Source.OBJECTS, Source.LIBRARY)


def _with_uses(request: CompileRequest) -> str:
    """Return the source with a use of each expression added, so that templates are instantiated."""
    uses = (
        f"static __device__ __attribute__((used)) const void* __gpusim_use_{number} = (const void*)({expression});"
        for number, expression in enumerate(request.expressions)
    )
    return "\n".join((request.source, *uses, ""))


def write_beneath(root: Path, name: str, contents: bytes) -> None:
    """Write a header below `root`; one that would lie elsewhere is left out, as if the system had it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        return
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(contents)


def _lowered(code: bytes, expression: str) -> str:
    try:
        return find(load_code_object(code).kernels, expression.strip().removeprefix("&").strip("()"), "the program")
    except (KernelNameError, CodeObjectError):
        return ""
