"""Build code objects from OpenCL C, HIP, assembly or LLVM IR, and check that the committed ones are up to date.

clang and ld.lld do it where they are installed. LLVM IR needs neither: llvmlite, which Numba brings, has the back end,
and `workloads.toolchain.link` links what it gives.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from workloads.toolchain.compilers import (
    CLANGS,
    DEFAULT_GPU,
    Toolchain,
    find_hip_tools,
    opencl_flags,
    target_flags,
    version_of,
    with_library,
    without_library,
)
from workloads.toolchain.errors import KernelBuildError, OtherGpusInstructionError
from workloads.toolchain.link import link

KERNELS_DIR = Path(__file__).resolve().parents[1] / "kernels"
MICROBENCH_DIR = Path(__file__).resolve().parents[1] / "microbench"
BENCH_KERNELS_DIR = Path(__file__).resolve().parents[1] / "bench_kernels"
PLACED_KERNELS_DIR = Path(__file__).resolve().parents[1] / "placed_kernels"
MATRIX_KERNELS_DIR = Path(__file__).resolve().parents[1] / "matrix_kernels"
SHIPPED_DIRS = (KERNELS_DIR, MICROBENCH_DIR, BENCH_KERNELS_DIR, PLACED_KERNELS_DIR, MATRIX_KERNELS_DIR)
SHIPPED_GPUS = {  # those of other folders are for DEFAULT_GPU alone
    MICROBENCH_DIR: ("gfx803", "gfx900", "gfx906", "gfx908", "gfx90a"),
    PLACED_KERNELS_DIR: ("gfx803", "gfx906"),
    MATRIX_KERNELS_DIR: ("gfx908", "gfx90a"),
}
TRIPLES = ("amdgcn-amd-amdhsa", "amdgcn-amd-amdhsa-unknown")
SHIPPED_FLAGS = ("-mcode-object-version=5", "-Wall", "-Werror")
OPENCL_LIBRARY = Path(__file__).with_name("opencl.h")
LANGUAGE_FLAGS = {
    ".cl": opencl_flags(None),
    ".hip": (),  # compilers.for_hip: not without the device library
    ".s": ("-x", "assembler"),
    ".ll": ("-x", "ir", "-O3", "-nogpulib", "-fno-ident", "-Wno-override-module"),
}
_NOT_THIS_GPU = re.compile(r"^(\S+\.s):(\d+):\d+: error: .*\bthis GPU\b.*\n(.*)$", re.MULTILINE)
COMPILERS = ("clang-19", "clang")
LINKERS = ("ld.lld-19", "ld.lld")
COMPILER_VERSION = "19."  # the committed objects are this release's output


def kernel_sources(directory: Path = KERNELS_DIR) -> list[Path]:
    """List the kernel sources of a folder; raise KernelBuildError where two would give the same code object."""
    found = sorted(path for path in directory.iterdir() if path.suffix in LANGUAGE_FLAGS)
    for first, second in pairwise(found):
        if first.stem == second.stem:
            raise KernelBuildError(f"{first.name} and {second.name} would both give {first.stem}.hsaco")
    return found


def code_object_path(name: str, directory: Path = KERNELS_DIR, gpu: str = DEFAULT_GPU) -> Path:
    """Return the path of the code object of source `name` (without suffix), with the GPU where it is not gfx803.

    Args:
        name: Name of the source.
        directory: Folder of the source.
        gpu: Name of the GPU.
    """
    return directory / (f"{name}.hsaco" if gpu == DEFAULT_GPU else f"{name}.{gpu}.hsaco")


def build(source: Path, target: Path, debug: bool = False, gpu: str = DEFAULT_GPU) -> str:
    """Compile or assemble one source and link it into `target`; return what built it. Raise KernelBuildError.

    OpenCL C is linked with AMD's device library where the machine has it and a compiler that reads it, else it gets the
    header with OpenCL's built-in functions. The shipped kernels are built without the library, so that they do not
    depend on the machine: the workloads without any built-in function, the bench kernels with the header. Other sources
    also get the compiler's own code-object version.

    Args:
        debug: Keep line tables, which change no instruction.
        gpu: GPU that the code is for.
    """
    more = ("-g",) if debug else ()
    if source.suffix not in LANGUAGE_FLAGS:
        raise KernelBuildError(f"{source.name}: no kernel source; sources end in {', '.join(LANGUAGE_FLAGS)}")
    if not source.is_file():
        raise KernelBuildError(f"{source}: there is no such file")
    if source.suffix == ".ll" and not compiler_available():
        target.write_bytes(_linked(source, _compile_ir(source, gpu)))
        return "llvmlite"
    if source.suffix == ".hip":
        return _build_hip(source, target, more, gpu)
    folder = source.resolve().parent
    shipped = folder in (each.resolve() for each in SHIPPED_DIRS)
    tools = None if shipped or source.suffix != ".cl" else with_library()
    if tools is not None:
        _compile(tools, (*opencl_flags(tools.library), *more), source, target, gpu)
        return tools.text
    tools = _own_tools()
    flags: tuple[str, ...] = (*LANGUAGE_FLAGS[source.suffix], *more)
    if shipped:
        flags = (*flags, *SHIPPED_FLAGS)
    if source.suffix != ".cl":
        _compile(tools, flags, source, target, gpu)
        return f"clang {version_of(tools.clang)}"
    if folder not in (each.resolve() for each in (KERNELS_DIR, MICROBENCH_DIR, MATRIX_KERNELS_DIR)):
        flags = (*flags, "-include", str(OPENCL_LIBRARY))
    _compile(tools, flags, source, target, gpu)
    return tools.text


def _own_tools() -> Toolchain:
    """Find the compiler of the shipped code objects, or any other that is installed; raise KernelBuildError."""
    tools = without_library()
    if tools is None:
        for tools_of_a_kind in (COMPILERS, LINKERS):
            _tool(tools_of_a_kind)  # says which is missing
        raise KernelBuildError(f"building kernels needs {CLANGS[0]} and {LINKERS[0]} of one release")
    return tools


def _compile(tools: Toolchain, flags: tuple[str, ...], source: Path, target: Path, gpu: str = DEFAULT_GPU) -> None:
    """Compile and link in the folder of the source, so that no path of this machine gets into the object."""
    with tempfile.TemporaryDirectory() as scratch:
        relocatable = Path(scratch) / "kernel.o"
        linked = Path(scratch) / "kernel.hsaco"
        _run([tools.clang, *flags, *target_flags(gpu), "-c", _argument(source), "-o", str(relocatable)], source)
        _run([tools.linker, "-shared", "--no-undefined", str(relocatable), "-o", str(linked)], source)
        target.write_bytes(_with_kernels(source, linked.read_bytes()))


def _argument(source: Path) -> str:
    """Return the name of a source as a compiler's argument, which does not take it for an option."""
    return f"./{source.name}" if source.name.startswith("-") else source.name


def _with_kernels(source: Path, code: bytes) -> bytes:
    """Return the code object; raise KernelBuildError where no symbol of it is a kernel's descriptor."""
    if b".kd\0" not in code:
        raise KernelBuildError(f"{source.name}: has no kernel, of which a code object could be made")
    return code


def _build_hip(source: Path, target: Path, more: tuple[str, ...], gpu: str) -> str:
    try:
        tools, flags = find_hip_tools(gpu)
    except KernelBuildError as error:
        raise KernelBuildError(f"{source.name}: {error}") from None
    with tempfile.TemporaryDirectory() as scratch:
        linked = Path(scratch) / "kernel.hsaco"
        _run([tools.clang, *flags, *more, _argument(source), "-o", str(linked)], source)
        shutil.copyfile(linked, target)
    return tools.text


def _compile_ir(source: Path, gpu: str) -> bytes:
    """Compile LLVM IR by llvmlite's AMDGPU back end; return the relocatable object."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        module = llvm.parse_assembly(source.read_text(encoding="utf-8"))
        module.verify()
    except (RuntimeError, UnicodeDecodeError) as error:
        raise KernelBuildError(f"{source.name}: {' '.join(str(error).split())}") from None
    if module.triple not in ("", *TRIPLES):
        raise KernelBuildError(f"{source.name}: is for target '{module.triple}', not {TRIPLES[0]}")
    target = llvm.Target.from_triple(TRIPLES[0])
    machine = target.create_target_machine(cpu=gpu, opt=3, reloc="pic")
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    llvm.create_pass_builder(machine, options).getModulePassManager().run(
        module, llvm.create_pass_builder(machine, options)
    )
    return bytes(machine.emit_object(module))


def _linked(source: Path, relocatable: bytes) -> bytes:
    try:
        return _with_kernels(source, link(relocatable))
    except KernelBuildError as error:
        raise KernelBuildError(f"{source.name}: {error}") from None


def shipped_sources() -> list[Path]:
    """List the sources of every shipped code object."""
    return [source for directory in SHIPPED_DIRS for source in kernel_sources(directory)]


def build_all(directory: Path = KERNELS_DIR) -> list[Path]:
    """Build every kernel's code object next to its source; return the paths written."""
    return [target for target, _ in build_sources(kernel_sources(directory))]


def build_sources(sources: list[Path], debug: bool = False, gpu: str = DEFAULT_GPU) -> list[tuple[Path, str]]:
    """Build each source's code object next to it; return the paths written, each with the name of what built it."""
    built: list[tuple[Path, str]] = []
    targets = [code_object_path(source.stem, source.parent, gpu) for source in sources]
    for number, (source, target) in enumerate(zip(sources, targets, strict=True)):
        first = sources[targets.index(target)]
        if targets.index(target) < number:
            raise KernelBuildError(
                f"{source}: would be built into {target}, as {first}: one of them needs another name"
            )
    for source, target in zip(sources, targets, strict=True):
        built.append((target, build(source, target, debug, gpu)))
    return built


def check_all() -> list[str]:
    """List what is wrong with the shipped code objects, as `check` reports it."""
    return [problem for directory in SHIPPED_DIRS for problem in check(directory)]


def check(directory: Path = KERNELS_DIR) -> list[str]:
    """List what is wrong with the committed code objects, a line each; empty if they equal what the sources give."""
    version = compiler_version()
    if not version.startswith(COMPILER_VERSION):
        raise KernelBuildError(
            f"code objects can only be compared with clang {COMPILER_VERSION}x, their compiler; found clang {version}"
        )
    problems = []
    gpus = SHIPPED_GPUS.get(directory, (DEFAULT_GPU,))
    wanted = [(source, gpu) for source in kernel_sources(directory) for gpu in gpus]
    with tempfile.TemporaryDirectory() as scratch:
        for source, gpu in wanted:
            committed = code_object_path(source.stem, directory, gpu)
            fresh = Path(scratch) / committed.name
            build(source, fresh, gpu=gpu)
            if not committed.is_file():
                problems.append(f"{committed.name}: missing")
            elif committed.read_bytes() != fresh.read_bytes():
                problems.append(f"{committed.name}: differs from what {source.name} gives")
    known = {code_object_path(source.stem, directory, gpu) for source, gpu in wanted}
    problems += [f"{path.name}: has no source" for path in sorted(set(directory.glob("*.hsaco")) - known)]
    return problems


def compiler_version() -> str:
    """Return the version of the compiler that would be used, such as '19.1.7'; raise KernelBuildError without any."""
    return _run([_tool(COMPILERS), "-dumpversion"], None).strip()


def compiler_available() -> bool:
    """Tell whether both tools that a build needs are installed."""
    return all(any(shutil.which(tool) for tool in tools) for tools in (COMPILERS, LINKERS))


def _tool(candidates: tuple[str, ...]) -> str:
    for candidate in candidates:
        if path := shutil.which(candidate):
            return path
    raise KernelBuildError(f"building kernels needs {' or '.join(candidates)}; none is installed")


def _run(command: list[str], source: Path | None) -> str:
    cwd = None if source is None else source.parent
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        first_line = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
        what = "" if source is None else f"{source.name}: "
        message = f"{what}{Path(command[0]).name} failed: {first_line}"
        if found := _NOT_THIS_GPU.search(done.stderr):
            raise OtherGpusInstructionError(f"{found[1]}:{found[2]}", found[3].strip(), message)
        raise KernelBuildError(message)
    return done.stdout


def gpus_that_assemble(instruction: str, gpus: Iterable[str]) -> list[str]:
    """Ask the assembler which of the GPUs have an instruction, as it stands in a source. Raise KernelBuildError."""
    clang = _own_tools().clang

    def accepts(gpu: str) -> bool:
        command = [clang, *LANGUAGE_FLAGS[".s"], *target_flags(gpu), "-c", "-", "-o", os.devnull]
        return subprocess.run(command, input=f"{instruction}\n", capture_output=True, text=True).returncode == 0

    return [gpu for gpu in gpus if accepts(gpu)]
