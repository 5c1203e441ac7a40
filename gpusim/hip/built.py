"""The runtime library and gpusim's own HIP programs: built from `shim/` and `programs/` with the system's C++ compiler
when they are first needed, kept in the cache."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.progress import current_reporter
from gpusim.hip.functions import stubs, version_script
from gpusim.hip.protocol import header
from gpusim.jit import cache_folders

SOURCES = Path(__file__).with_name("shim")
PROGRAMS = Path(__file__).with_name("programs")
COMPILER_VARIABLE = "CXX"
COMPILERS = ("c++", "g++", "clang++")
MAJORS = (5, 6)
LIBRARY, COMPILATION_LIBRARY = "libamdhip64.so.{}", "libhiprtc.so.{}"
# of the C++ library only what is used, within: a program may bring an older or a newer one
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra")
_LINK_PROGRAM = ("-static-libstdc++", "-static-libgcc")
_LINK = ("-shared", *_LINK_PROGRAM, "-pthread", "-Wl,-z,defs")


class HipBuildError(UserError):
    """The runtime library cannot be built."""


def libraries() -> Path:
    """The folder with the runtime library under each of its names, and with the programs; built if need be.

    Raises HipBuildError.
    """
    generated = {"generated.h": header(), "stubs.cpp": stubs(), "versions.map": version_script()}
    sources = sorted(path for path in SOURCES.iterdir() if path.suffix in (".cpp", ".h"))
    programs = sorted(PROGRAMS.glob("*.cpp"))
    texts = (*generated.values(), *(path.read_text() for path in (*sources, *programs)))
    digest = hashlib.sha256("\0".join(texts).encode())
    name = f"hip-{digest.hexdigest()[:16]}"
    for place in cache_folders.readable():
        if (place / name).is_dir():
            return place / name
    kept = cache_folders.writable()
    if kept is None:
        raise HipBuildError("the runtime library for HIP programs can be kept nowhere; GPUSIM_CACHE_DIR names a folder")
    compiler = _compiler()
    current_reporter().say(f"gpusim: building the runtime library for HIP programs with {compiler}")
    with tempfile.TemporaryDirectory(prefix=f"{name}.", dir=kept) as folder:
        _build(compiler, Path(folder), generated, [path for path in sources if path.suffix == ".cpp"])
        try:
            os.rename(_results(Path(folder)), kept / name)
        except OSError:
            if not (kept / name).is_dir():  # else another process was faster
                raise
    return kept / name


def _compiler() -> str:
    named = os.environ.get(COMPILER_VARIABLE)
    found = shutil.which(named) if named else next((c for c in COMPILERS if shutil.which(c)), None)
    if not found:
        what = f"{COMPILER_VARIABLE}={named} is not there" if named else f"none of {', '.join(COMPILERS)} is there"
        raise HipBuildError(f"gpusim hip needs a C++ compiler, once (Debian: apt install g++); {what}")
    return found


def _build(compiler: str, folder: Path, generated: dict[str, str], sources: list[Path]) -> None:
    for name, text in generated.items():
        (folder / name).write_text(text)
    include = (f"-I{folder}", f"-I{SOURCES}")
    common = [path for path in sources if path.name != "soname.cpp"]
    _run([compiler, *_FLAGS, *include, "-c", *map(str, common), str(folder / "stubs.cpp")], folder)
    objects = sorted(str(path) for path in folder.glob("*.o"))
    results = _results(folder)
    results.mkdir()
    for major in MAJORS:
        own = folder / f"soname-{major}.out"
        source = str(SOURCES / "soname.cpp")
        _run([compiler, *_FLAGS, f"-DGPUSIM_HIP_MAJOR={major}", "-c", source, "-o", str(own)], folder)
        library = LIBRARY.format(major)
        named = (f"-Wl,-soname,{library}", f"-Wl,--version-script={folder / 'versions.map'}")
        _run([compiler, *_LINK, *named, *objects, str(own), "-o", str(results / library)], folder)
        (results / COMPILATION_LIBRARY.format(major)).symlink_to(library)
    for program in PROGRAMS.glob("*.cpp"):
        _run([compiler, *_FLAGS, *_LINK_PROGRAM, str(program), "-o", str(results / program.stem), "-ldl"], folder)


def _results(folder: Path) -> Path:
    return folder / "libraries"


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
        raise HipBuildError(f"the runtime library for HIP programs does not build: {first.strip()} ({command[0]})")
