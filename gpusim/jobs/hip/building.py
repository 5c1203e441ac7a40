"""Building the runtime library and gpusim's own HIP programs from `shim/` and `programs/` with a C++ compiler.

Imports nothing that is not in Python's library: a wheel is built where gpusim's requirements are not installed.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.jobs.hip.functions import (
    COMGR_TABLE,
    opencl_dispatch,
    runtime_script,
    stand_ins,
    stubs,
    version_script,
)
from gpusim.jobs.hip.protocol import header

SOURCES = Path(__file__).with_name("shim")
PROGRAMS = Path(__file__).with_name("programs")
COMPILER_VARIABLE = "CXX"
COMPILERS = ("c++", "g++", "clang++")
MAJORS = (5, 6)
CHECKSUMS = "SHA256SUMS"  # as sha256sum writes and checks it
LIBRARY, COMPILATION_LIBRARY = "libamdhip64.so.{}", "libhiprtc.so.{}"
COMGR_LIBRARY, OPENCL_LIBRARY, ROCTX_LIBRARY = "libamd_comgr.so.2", "libOpenCL.so.1", "libroctx64.so.1"
DRIVER_LIBRARY = "libgpusim_driver.so"  # loaded before all others, for the kernel driver's files
STAND_IN = "stand-in-"  # before the name of a library that is used where the real one is missing
ICD = "opencl.icd"  # for OpenCL's loaders: the name of the library
# the names by which programs open libraries that they were not linked with
_WITHOUT_RELEASE = {
    "libamdhip64.so": LIBRARY.format(MAJORS[-1]),
    "libhiprtc.so": COMPILATION_LIBRARY.format(MAJORS[-1]),
    "libamd_comgr.so": COMGR_LIBRARY,
    "libroctx64.so": ROCTX_LIBRARY,
    # programs of ROCm 7 that use what is in release 6 too
    LIBRARY.format(7): LIBRARY.format(MAJORS[-1]),
    COMPILATION_LIBRARY.format(7): LIBRARY.format(MAJORS[-1]),
    OPENCL_LIBRARY: LIBRARY.format(MAJORS[-1]),
    "libOpenCL.so": LIBRARY.format(MAJORS[-1]),
}
_OF_THEIR_OWN = ("soname.cpp", "comgr.cpp", "roctx.cpp", "driver.cpp")  # not in every library
# of the C++ library only what is used, within: a program may bring an older or a newer one
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra")
_LINK_PROGRAM = ("-static-libstdc++", "-static-libgcc")
_LINK = ("-shared", *_LINK_PROGRAM, "-pthread", "-Wl,-z,defs")


class HipBuildError(UserError):
    """The runtime library cannot be built."""


def name() -> str:
    """Return the name of the folder with the results: 'hip-' and a hash of all sources."""
    files = (*_sources(), *sorted(PROGRAMS.glob("*.cpp")))
    texts = (CHECKSUMS, *_generated().values(), *(path.read_text() for path in files))
    return f"hip-{hashlib.sha256(chr(0).join(texts).encode()).hexdigest()[:16]}"


def _generated() -> dict[str, str]:
    """Return the sources that are generated from tables, by file name."""
    return {
        "generated.h": header(),
        "stubs.cpp": stubs(),
        "versions.map": runtime_script(),
        "opencl_dispatch.cpp": opencl_dispatch(),
        "comgr_stubs.cpp": stubs(COMGR_TABLE),
        "comgr_versions.map": version_script(COMGR_TABLE),
        **{f"{STAND_IN}{one.library}.cpp": one.source for one in stand_ins()},
        **{f"{STAND_IN}{one.library}.map": one.version_script for one in stand_ins() if one.version_script},
    }


def _sources() -> list[Path]:
    return sorted(path for path in SOURCES.iterdir() if path.suffix in (".cpp", ".h"))


def compiler() -> str:
    """Return the system's C++ compiler, or the one that CXX names; raises HipBuildError that says what is missing."""
    named = os.environ.get(COMPILER_VARIABLE)
    found = shutil.which(named) if named else next((c for c in COMPILERS if shutil.which(c)), None)
    if not found:
        what = f"{COMPILER_VARIABLE}={named} is not there" if named else f"none of {', '.join(COMPILERS)} is there"
        raise HipBuildError(f"gpusim hip needs a C++ compiler, once (Debian: apt install g++); {what}")
    return found


def build(compiler: str, folder: Path) -> Path:
    """Build in an empty folder, and return the folder within it that has the results."""
    generated, sources = _generated(), [path for path in _sources() if path.suffix == ".cpp"]
    for name, text in generated.items():
        (folder / name).write_text(text)
    include = (f"-I{folder}", f"-I{SOURCES}")
    common = [path for path in sources if path.name not in _OF_THEIR_OWN]
    made = [str(folder / source) for source in ("stubs.cpp", "opencl_dispatch.cpp")]
    _run([compiler, *_FLAGS, *include, "-c", *map(str, common), *made], folder)
    objects = sorted(str(path) for path in folder.glob("*.o"))
    results = folder / "libraries"
    results.mkdir()
    for major in MAJORS:
        own = folder / f"soname-{major}.out"
        source = str(SOURCES / "soname.cpp")
        _run([compiler, *_FLAGS, f"-DGPUSIM_HIP_MAJOR={major}", "-c", source, "-o", str(own)], folder)
        library = LIBRARY.format(major)
        named = (f"-Wl,-soname,{library}", f"-Wl,--version-script={folder / 'versions.map'}")
        _run([compiler, *_LINK, *named, *objects, str(own), "-o", str(results / library)], folder)
        (results / COMPILATION_LIBRARY.format(major)).symlink_to(library)
    comgr = (str(SOURCES / "comgr.cpp"), str(folder / "comgr_stubs.cpp"))
    named = (f"-Wl,-soname,{COMGR_LIBRARY}", f"-Wl,--version-script={folder / 'comgr_versions.map'}")
    _run([compiler, *_FLAGS, *include, *_LINK, *named, *comgr, "-o", str(results / COMGR_LIBRARY), "-ldl"], folder)
    annotations = (f"-Wl,-soname,{ROCTX_LIBRARY}", str(SOURCES / "roctx.cpp"), "-o", str(results / ROCTX_LIBRARY))
    _run([compiler, *_FLAGS, *_LINK, *annotations], folder)
    driver = (f"-I{folder}", str(SOURCES / "driver.cpp"), "-o", str(results / DRIVER_LIBRARY), "-ldl")
    _run([compiler, *_FLAGS, "-shared", *_LINK_PROGRAM, *driver], folder)
    for one in stand_ins():
        file, script = f"{STAND_IN}{one.library}", folder / f"{STAND_IN}{one.library}.map"
        named = (f"-Wl,-soname,{one.library}", *([f"-Wl,--version-script={script}"] if one.version_script else ()))
        _run(
            [compiler, *_FLAGS, *include, *_LINK, *named, str(folder / f"{file}.cpp"), "-o", str(results / file)],
            folder,
        )
    for short, library in _WITHOUT_RELEASE.items():
        (results / short).symlink_to(library)
    (results / ICD).write_text(f"{LIBRARY.format(MAJORS[-1])}\n")
    for program in PROGRAMS.glob("*.cpp"):
        _run([compiler, *_FLAGS, *_LINK_PROGRAM, str(program), "-o", str(results / program.stem), "-ldl"], folder)
    files = sorted(path for path in results.iterdir() if not path.is_symlink())
    (results / CHECKSUMS).write_text("".join(f"{_checksum(path)}  {path.name}\n" for path in files))
    return results


def is_whole(results: Path) -> bool:
    """Tell whether the results in a folder are those that were built there, by their checksums."""
    try:
        listed = [line.split("  ", 1) for line in (results / CHECKSUMS).read_text().splitlines()]
        return bool(listed) and all(_checksum(results / name) == checksum for checksum, name in listed)
    except (OSError, ValueError):
        return False


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        raise HipBuildError(f"the runtime library for HIP programs does not build: {first.strip()} ({command[0]})")
