"""What a program asks of AMD's code object manager (comgr): sources, bitcode, objects translated by the system's clang.

The numbers of actions, languages and kinds of data are those of comgr 2 (amd_comgr.h).
"""

import subprocess
import tempfile
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from gpusim.jobs.hip.compilation import BITCODE_FLAGS, OF_THE_TARGET, write_beneath
from workloads.toolchain.compilers import (
    Toolchain,
    explain_missing_library,
    hip_root,
    target_flags,
    with_library,
    without_library,
)
from workloads.toolchain.errors import KernelBuildError

EXECUTABLE = "a.so"  # the name of what is linked
TRIPLE = "amdgcn-amd-amdhsa--"  # before the GPU's name in comgr's


class DataKind(IntEnum):
    """What a data object is."""

    SOURCE = 1
    INCLUDE = 2
    LOG = 5
    BITCODE = 6
    RELOCATABLE = 7
    EXECUTABLE = 8


class Language(IntEnum):
    """The language of sources."""

    NONE = 0
    OPENCL_1_2 = 1
    OPENCL_2_0 = 2
    HIP = 4


@dataclass(frozen=True)
class DataObject:
    """A data object of comgr."""

    kind: int
    """One of `DataKind`, or another number, which is left alone."""
    name: str
    """Name."""
    contents: bytes
    """Contents."""


@dataclass(frozen=True)
class Action:
    """An action of comgr."""

    takes: DataKind
    """Kind of the inputs."""
    gives: DataKind
    """Kind of the results."""
    suffix: str
    """Suffix of the results' names."""
    flags: tuple[str, ...]
    """Compiler flags."""
    compiles: bool = False
    """Compiles sources of a language, with the language's flags."""
    with_library: bool = False
    """Links the device library."""
    joins: bool = False
    """Combines all inputs into one result."""


_TO_BITCODE = ("-c", "-emit-llvm")
ACTIONS = {
    0x0: Action(DataKind.SOURCE, DataKind.SOURCE, ".i", ("-E",), compiles=True),
    0x2: Action(DataKind.SOURCE, DataKind.BITCODE, ".bc", _TO_BITCODE, compiles=True),
    0x4: Action(DataKind.BITCODE, DataKind.BITCODE, ".bc", (*BITCODE_FLAGS, *_TO_BITCODE), joins=True),
    0x5: Action(DataKind.BITCODE, DataKind.BITCODE, ".bc", (*BITCODE_FLAGS, *_TO_BITCODE)),
    0x6: Action(DataKind.BITCODE, DataKind.RELOCATABLE, ".o", (*BITCODE_FLAGS, "-c")),
    0x7: Action(DataKind.BITCODE, DataKind.SOURCE, ".s", (*BITCODE_FLAGS, "-S")),
    0x8: Action(DataKind.RELOCATABLE, DataKind.RELOCATABLE, ".o", ("-r",), joins=True),
    0x9: Action(DataKind.RELOCATABLE, DataKind.EXECUTABLE, ".so", (), joins=True),
    0xA: Action(DataKind.SOURCE, DataKind.RELOCATABLE, ".o", ("-x", "assembler", "-c")),
    0xF: Action(DataKind.SOURCE, DataKind.BITCODE, ".bc", _TO_BITCODE, compiles=True, with_library=True),
    0x10: Action(DataKind.SOURCE, DataKind.RELOCATABLE, ".o", ("-c",), compiles=True, with_library=True),
    0x11: Action(DataKind.SOURCE, DataKind.EXECUTABLE, ".so", (), compiles=True, with_library=True),
}
_NAMES = {
    0x1: "ADD_PRECOMPILED_HEADERS",
    0x3: "ADD_DEVICE_LIBRARIES",
    0xB: "DISASSEMBLE_RELOCATABLE_TO_SOURCE",
    0xC: "DISASSEMBLE_EXECUTABLE_TO_SOURCE",
    0xD: "DISASSEMBLE_BYTES_TO_SOURCE",
    0xE: "COMPILE_SOURCE_TO_FATBIN",
    0x12: "UNBUNDLE",
}
_LANGUAGES = {
    Language.HIP: ("-x", "hip", "--offload-device-only", "--no-gpu-bundle-output"),
    Language.OPENCL_1_2: ("-x", "cl", "-cl-std=CL1.2"),
    Language.OPENCL_2_0: ("-x", "cl", "-cl-std=CL2.0"),
}


@dataclass(frozen=True)
class TranslationRequest:
    """A translation that a program requests."""

    action: int
    """Number of the action, a key of `ACTIONS`."""
    language: int
    """Number of the source language, a value of `Language`."""
    isa: str
    """Name of the GPU in comgr's notation."""
    options: tuple[str, ...]
    """Compiler options of the program."""
    folder: str
    """Folder for relative header names; empty: none."""
    inputs: tuple[DataObject, ...]
    """Input data."""


@dataclass(frozen=True)
class TranslationResult:
    """Result of a translation."""

    results: tuple[DataObject, ...]
    """Objects that were made."""
    log: str
    """Messages of the compiler."""
    done: bool
    """It succeeded."""


def translate(request: TranslationRequest, gpu: str) -> TranslationResult:
    """Do one of comgr's actions for a GPU; what is wrong with the inputs, or what is missing here, is in the log."""
    try:
        action, command = _command(request, gpu)
    except KernelBuildError as error:
        return TranslationResult((), f"gpusim: {error}\n", False)
    inputs = [data for data in request.inputs if data.kind == action.takes]
    if action.joins and not inputs:
        return TranslationResult((), f"gpusim: there is no data of kind {action.takes.name} to link\n", False)
    results: list[DataObject] = []
    log = ""
    with tempfile.TemporaryDirectory(prefix="gpusim-comgr-") as scratch:
        root = Path(scratch)
        for data in request.inputs:
            if data.kind == DataKind.INCLUDE:
                write_beneath(root, data.name, data.contents)
        paths = [root / f"input-{number}" for number in range(len(inputs))]
        for path, data in zip(paths, inputs, strict=True):
            path.write_bytes(data.contents)
        output = root / "output"
        for first, group in ((0, paths),) if action.joins else ((n, [p]) for n, p in enumerate(paths)):
            given = _joined(group) if action.joins and action.takes == DataKind.BITCODE else list(map(str, group))
            done = subprocess.run([*command, *given, "-o", str(output)], cwd=root, capture_output=True, check=False)
            said = done.stderr.decode("utf-8", "replace")
            for path, data in zip(paths, inputs, strict=True):
                said = said.replace(str(path), data.name)
            log += said
            if done.returncode:
                return TranslationResult(tuple(results), log, False)
            name = EXECUTABLE if action.gives == DataKind.EXECUTABLE else inputs[first].name + action.suffix
            results.append(DataObject(action.gives, name, output.read_bytes()))
    return TranslationResult(tuple(results), log, True)


def _command(request: TranslationRequest, gpu: str) -> tuple[Action, list[str]]:
    """Return the action, and the command for it without inputs; raise KernelBuildError that says what is missing."""
    action = ACTIONS.get(request.action)
    if action is None:
        named = f"AMD_COMGR_ACTION_{_NAMES[request.action]}" if request.action in _NAMES else f"no. {request.action}"
        raise KernelBuildError(f"comgr's action {named} is not supported")
    tools = with_library() or without_library()
    if tools is None or (action.with_library and tools.library is None):
        raise KernelBuildError(f"this action {explain_missing_library()}")
    if request.isa.partition(":")[0] != TRIPLE + gpu:
        raise KernelBuildError(f"comgr's ISA {request.isa or '(none)'}: code can be made for {TRIPLE}{gpu} alone")
    options = [option for option in request.options if option and not option.startswith(OF_THE_TARGET)]
    flags = _of_language(request.language, tools, action.with_library, gpu) if action.compiles else target_flags(gpu)
    more = (f"-I{request.folder}",) if request.folder and action.takes == DataKind.SOURCE else ()
    return action, [tools.clang, *flags, *action.flags, "-I.", "-Wno-unused-command-line-argument", *more, *options]


def _of_language(number: int, tools: Toolchain, linked: bool, gpu: str) -> tuple[str, ...]:
    """Return the compiler's flags for a language, with the device library if it is to be `linked`."""
    if number not in _LANGUAGES:
        raise KernelBuildError(
            f"comgr's language {number} is not supported: {', '.join(f'{n.value} ({n.name})' for n in _LANGUAGES)} are"
        )
    library = f"--rocm-device-lib-path={tools.library}" if linked else "-nogpulib"
    root = hip_root() if number == Language.HIP else None
    headers = ("-nogpuinc",) if root is None else (f"--rocm-path={root}",)
    target = (f"--offload-arch={gpu}",) if number == Language.HIP else target_flags(gpu)
    return (*_LANGUAGES[Language(number)], *target, library, *headers, "-fno-ident")


def _joined(paths: list[Path]) -> list[str]:
    """Return arguments by which the compiler links bitcode into that of the first input, and changes nothing else."""
    others = [word for path in paths[1:] for word in ("-Xclang", "-mlink-bitcode-file", "-Xclang", str(path))]
    return [*others, "-Xclang", "-disable-llvm-passes", str(paths[0])]
