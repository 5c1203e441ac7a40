"""Build the kernels' code objects from their OpenCL C sources, and check that the committed ones are up to date."""

import shutil
import subprocess
import tempfile
from pathlib import Path

KERNELS_DIR = Path(__file__).parent / "kernels"
TARGET_FLAGS = ("-target", "amdgcn-amd-amdhsa", "-mcpu=gfx803", "-mcode-object-version=5")
LANGUAGE_FLAGS = (
    "-x",
    "cl",
    "-cl-std=CL2.0",
    "-nogpulib",
    "-O3",
    "-fno-ident",
    "-cl-kernel-arg-info",
    "-Wall",
    "-Werror",
)
COMPILERS = ("clang-19", "clang")
LINKERS = ("ld.lld-19", "ld.lld")
COMPILER_VERSION = "19."  # the committed objects are this release's output


class KernelBuildError(Exception):
    """No usable compiler, or a source that does not build; the message says which and why."""


def kernel_sources(directory: Path = KERNELS_DIR) -> list[Path]:
    """The OpenCL C sources, each the source of one code object."""
    return sorted(directory.glob("*.cl"))


def code_object_path(name: str, directory: Path = KERNELS_DIR) -> Path:
    """Where the code object of source `name` (without suffix) lies."""
    return directory / f"{name}.hsaco"


def build(source: Path, target: Path) -> None:
    """Compile and link one source into `target`; raises KernelBuildError."""
    compiler, linker = _tool(COMPILERS), _tool(LINKERS)
    with tempfile.TemporaryDirectory() as scratch:
        relocatable = Path(scratch) / "kernel.o"
        linked = Path(scratch) / "kernel.hsaco"
        flags = [*LANGUAGE_FLAGS, *TARGET_FLAGS]
        # run beside the source: no path of this machine gets into the object
        _run([compiler, *flags, "-c", source.name, "-o", str(relocatable)], source)
        _run([linker, "-shared", str(relocatable), "-o", str(linked)], source)
        shutil.copyfile(linked, target)


def build_all(directory: Path = KERNELS_DIR) -> list[Path]:
    """Build every kernel's code object beside its source; returns what was written."""
    targets = []
    for source in kernel_sources(directory):
        target = code_object_path(source.stem, directory)
        build(source, target)
        targets.append(target)
    return targets


def check(directory: Path = KERNELS_DIR) -> list[str]:
    """What is wrong with the committed code objects: one line each, none when they equal what the sources give."""
    version = compiler_version()
    if not version.startswith(COMPILER_VERSION):
        raise KernelBuildError(
            f"code objects can only be compared with clang {COMPILER_VERSION}x, their compiler; found clang {version}"
        )
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        for source in kernel_sources(directory):
            committed = code_object_path(source.stem, directory)
            fresh = Path(scratch) / committed.name
            build(source, fresh)
            if not committed.is_file():
                problems.append(f"{committed.name}: missing")
            elif committed.read_bytes() != fresh.read_bytes():
                problems.append(f"{committed.name}: differs from what {source.name} gives")
    known = {code_object_path(source.stem, directory) for source in kernel_sources(directory)}
    problems += [f"{path.name}: has no source" for path in sorted(set(directory.glob("*.hsaco")) - known)]
    return problems


def compiler_version() -> str:
    """Version of the compiler that would be used, such as '19.1.7'; raises KernelBuildError when there is none."""
    return _run([_tool(COMPILERS), "-dumpversion"], None).strip()


def compiler_available() -> bool:
    """Whether both tools that a build needs are installed."""
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
        raise KernelBuildError(f"{what}{Path(command[0]).name} failed: {first_line}")
    return done.stdout
