"""Which compilers, linkers and device libraries this machine has, and which of them belong together.

AMD's device library is LLVM bitcode: OpenCL's built-in functions and the mathematics of HIP (Debian's package
rocm-device-libs, which has the release of LLVM behind its name from Debian 13 on). A compiler reads bitcode of its own
release and of earlier ones alone, so that each is tried.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpusim.base.files import write_whole
from gpusim.base.jit import cache_folders
from workloads.toolchain.errors import KernelBuildError

LIBRARY_VARIABLE = "GPUSIM_DEVICE_LIBRARY"
LIBRARY_PACKAGE = "rocm-device-libs, in Debian 13 rocm-device-libs-17"
HIP_PACKAGE = "libamdhip64-dev"
ROCM_VARIABLE = "ROCM_PATH"  # of AMD's own tools: where ROCm is installed
DEFAULT_GPU = "gfx803"  # of most code objects that are shipped
_ROOT = Path("/")
# of Debian 12, of Debian 13 (a package for each release of LLVM), of others, of AMD's own packages
_LIBRARY_PATTERNS = (
    "usr/lib/*/amdgcn/bitcode",
    "usr/lib/llvm-*/lib/clang/*/amdgcn/bitcode",
    "usr/lib/amdgcn/bitcode",
    "opt/rocm*/amdgcn/bitcode",
)
_HIP_PATTERNS = ("usr", "opt/rocm*")
_LIBRARY_FILES = ("opencl.bc", "ocml.bc", "ockl.bc", "oclc_isa_version_803.bc")
_RELEASES = (19, 21, 20, 18, 17, 16, 15)  # the shipped code objects' own release goes first
CLANGS = (*(f"clang-{release}" for release in _RELEASES), "clang", "clang-14")
_PROBE = "kernel void probe(global float *x) { x[0] = sin(x[1]); }"


@dataclass(frozen=True)
class Toolchain:
    """A compiler with its linker, and the device library that it can read; None if it is used without one."""

    clang: str
    """Path of the compiler."""
    linker: str
    """Path of the linker."""
    library: Path | None
    """Folder of the device library; None: it is used without one."""

    @property
    def text(self) -> str:
        """The tools as text, such as 'clang 19.1.7, device library /usr/lib/...'."""
        library = f"device library {self.library}" if self.library else "gpusim's OpenCL header"
        return f"clang {version_of(self.clang)}, {library}"


def target_flags(gpu: str) -> tuple[str, ...]:
    """Return the flags that make the compiler write code for a GPU."""
    return ("-target", "amdgcn-amd-amdhsa", f"-mcpu={gpu}")


def device_library() -> Path | None:
    """Find the folder of AMD's device library with gfx803's part; None where there is none.

    The environment variable GPUSIM_DEVICE_LIBRARY names another folder, or 'none' for doing without. Raise
    KernelBuildError where it names a folder that holds no such library.
    """
    named = os.environ.get(LIBRARY_VARIABLE)
    if named and named.lower() == "none":
        return None
    if named:
        missing = [name for name in _LIBRARY_FILES if not (Path(named) / name).is_file()]
        if missing:
            raise KernelBuildError(f"{LIBRARY_VARIABLE}={named}: not AMD's device library, has no {', '.join(missing)}")
        return Path(named).resolve()
    found = (folder for pattern in _LIBRARY_PATTERNS for folder in sorted(_ROOT.glob(pattern)))
    return next((f for f in found if all((f / name).is_file() for name in _LIBRARY_FILES)), None)


def find_hip_tools(gpu: str = DEFAULT_GPU) -> tuple[Toolchain, tuple[str, ...]]:
    """Return tools and flags for HIP; raise KernelBuildError that says what is missing."""
    tools, root = with_library(), hip_root()
    if tools is None or tools.library is None:
        raise KernelBuildError(f"HIP {explain_missing_library()}")
    if root is None:
        folders = ", ".join(f"/{pattern}/include" for pattern in _HIP_PATTERNS)
        where = f"(Debian: {HIP_PACKAGE}; another folder: {ROCM_VARIABLE})"
        raise KernelBuildError(f"HIP needs its headers {where}; no hip/hip_runtime.h in {folders}")
    return tools, hip_flags(tools.library, root, gpu)


def with_library() -> Toolchain | None:
    """Find the first compiler that can use the device library; None where there is no library, or no such compiler."""
    library = device_library()
    if library is None:
        return None
    return next((Toolchain(c, linker, library) for c, linker in _pairs() if can_read(c, library)), None)


def without_library() -> Toolchain | None:
    """Find the first compiler with a linker; None where there is none."""
    return next((Toolchain(clang, linker, None) for clang, linker in _pairs()), None)


def explain_missing_library() -> str:
    """Tell what is missing for the device library, as a clause of an error message."""
    library = device_library()
    if without_library() is None:
        return f"needs {CLANGS[0]} with {linkers_of(CLANGS[0])[0]}, or another release from 15 on; none is installed"
    if library is None:
        return f"needs AMD's device library (Debian: {LIBRARY_PACKAGE}; another folder: {LIBRARY_VARIABLE}); none found"
    have = ", ".join(f"clang {version_of(clang)}" for clang, _ in _pairs())
    return f"needs a compiler that can read the device library in {library}; {have} cannot"


def identity_of(program: str) -> str:
    """Return what tells a program from another one in the same place, and a package's release from the next."""
    status = os.stat(program)
    return f"{os.path.realpath(program)} {status.st_size} {status.st_mtime_ns}"


@cache
def can_read(clang: str, library: Path) -> bool:
    """Tell whether the compiler builds a kernel with the library, which may be of a later release of LLVM.

    Of a pair that does, the user's cache has an empty file: the next process tries it no more.
    """
    files = (clang, *(str(library / name) for name in _LIBRARY_FILES))
    pair = hashlib.sha256(" ".join(map(identity_of, files)).encode()).hexdigest()[:16]
    name, place = f"compilers/reads-{pair}", cache_folders.writable()
    if place is not None and cache_folders.is_trusted(place, name):
        return True
    command = [clang, *opencl_flags(library), *target_flags(DEFAULT_GPU), "-c", "-", "-o", os.devnull]
    able = subprocess.run(command, input=_PROBE, capture_output=True, text=True, check=False).returncode == 0
    if able and place is not None:
        write_whole(cache_folders.make_folder(place, "compilers") / Path(name).name, b"", cache_folders.FILE_MODE)
    return able


def hip_root() -> Path | None:
    """Find the folder whose include/hip holds HIP's headers; None if they are not installed.

    The environment variable ROCM_PATH names it where it is elsewhere, as for AMD's own tools.
    """
    named = os.environ.get(ROCM_VARIABLE)
    roots = (
        *([Path(named)] if named else []),
        *(root for pattern in _HIP_PATTERNS for root in sorted(_ROOT.glob(pattern))),
    )
    return next((root for root in roots if (root / "include/hip/hip_runtime.h").is_file()), None)


def opencl_flags(library: Path | None) -> tuple[str, ...]:
    """Return the flags for OpenCL C, with the device library or without one."""
    library_flag = "-nogpulib" if library is None else f"--rocm-device-lib-path={library}"
    return ("-x", "cl", "-cl-std=CL2.0", library_flag, "-O3", "-fno-ident", "-cl-kernel-arg-info")


def hip_flags(library: Path, root: Path, gpu: str = DEFAULT_GPU) -> tuple[str, ...]:
    """Return the flags for the device side of HIP alone: one linked code object, with the arguments' names.

    Without -fuse-cuid=none the object would contain a hash of its source's folder. GFX8 has no registers with the
    address of private memory: version 5 has it in implicit arguments, whose pointer clang 19 loses on the way to
    functions that it does not inline, and takes 0 for it. Version 4 has it in the queue.
    """
    version = ("-mcode-object-version=4",) if gpu.startswith("gfx8") else ()
    return (
        *version,
        "-x",
        "hip",
        f"--offload-arch={gpu}",
        "--offload-device-only",
        "--no-gpu-bundle-output",
        "-O3",
        "-fno-ident",
        "-fuse-cuid=none",
        "-fhip-kernel-arg-name",
        f"--rocm-device-lib-path={library}",
        f"--rocm-path={root}",
    )


@cache
def version_of(clang: str) -> str:
    """Return the compiler's version, such as '19.1.7'."""
    done = subprocess.run([clang, "-dumpversion"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def linkers_of(clang: str) -> tuple[str, ...]:
    """Return the names of the linkers for a compiler, that of its own release first."""
    release = re.search(r"-(\d+)$", clang)
    return (f"ld.lld-{release[1]}", "ld.lld") if release else ("ld.lld",)


def _pairs() -> Iterator[tuple[str, str]]:
    """Yield the paths of the compilers that are installed, each with that of a linker."""
    for name in CLANGS:
        clang = shutil.which(name)
        linker = next((path for linker in linkers_of(name) if (path := shutil.which(linker))), None)
        if clang and linker:
            yield clang, linker
