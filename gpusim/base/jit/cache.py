"""Compiled code from one start to the next: what is kept, under which name, and when it is not believed.

What is kept. One file for each entry point (`gpusim.base.jit.entry_points`) and one for the lane library
(`isa.lanes.lane_library`): object code that LLVM loads without the compiler. Functions that Python calls although they
are no entry points, as tests do, lie in Numba's own cache; a start never needs it.

Its name. Numba watches only a function's own file: a caller would keep old code when a callee in another module
changes. So each *domain* of compiled code has a folder named after a hash of all its sources, of the compiler, of the
flags that change its output and of the host: code that does not fit is not found, and nothing is ever overwritten by
something else. A wheel may bring code for processors of a level (`gpusim.base.jit.shipped`), in files of the same form.

Whether it is believed. Machine code that is cut or has a flipped bit ends the process, so each file begins with the
checksum of the rest. A damaged one counts as missing: one line says so, and it is compiled again. A file appears whole
or not at all.

Where it lies. In the user's cache folder, or where GPUSIM_CACHE_DIR says; a warm one that cannot be written to is used
as it is. Where nothing can be kept, a folder of the user's own among the temporary files takes its place, where that
cannot be, this process's memory: each time one line says why (`gpusim.base.jit.cache_folders`).

Who compiles. One process at a time (`gpusim.base.jit.compile_lock`): who waited looks into the cache again. How far it
is is reported every few seconds (`gpusim.base.jit.compile_progress`).
"""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path

from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.jit import cache_folders
from gpusim.base.jit.machine_code import Target, own_target
from gpusim.base.jit.shipped import FOLDER, shipped_target
from gpusim.base.progress import current_reporter

ROOT = Path(__file__).resolve().parents[3]

# The instruction set's interpreter and the timing core call each other only through a function address and
# the trace layout, so editing one does not recompile the other.
DOMAINS: dict[str, tuple[str, ...]] = {
    "isa": ("gpusim/base/jit", "isa"),
    "timing": (
        "gpusim/base/jit",
        "gpusim/model/core",
        "memory",
        "spartan",
        "isa/trace.py",
        "isa/region.py",
        "isa/opcodes/opcode.py",
    ),
}
FLAGS = ("GPUSIM_PLAIN_NUMBA", "NUMBA_BOUNDSCHECK", "NUMBA_OPT")  # beside those of the target

_in_memory: dict[str, bytes] = {}  # what could be kept nowhere else


def domain_of(module: str) -> str:
    """Return the domain of compiled code that the functions of `module` belong to."""
    return "isa" if module.split(".")[0] == "isa" else "timing"


@cache
def _checksum(file: str) -> bytes:
    with open(file, "rb", buffering=0) as content:
        return hashlib.sha256(content.read()).digest()


def _sources(place: str) -> list[str]:
    """List the Python files and tables in a folder, in order, or the file itself.

    Without `Path`, which takes thrice as long.
    """
    if place.endswith(".py"):
        return [place]
    found = []
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [os.path.join(folder, name) for name in names if name.endswith((".py", ".txt"))]
    return sorted(found)


def hash_of_sources(*places: str, target: Target | None = None) -> str:
    """Hash the Python files and tables in folders, or single files, by their paths from the root, and the target.

    Args:
        places: Folders and files, relative to the root.
        target: Machine for which code is made; None: this process's own.
    """
    h, root = hashlib.sha256(), str(ROOT)
    for place in places:
        for file in _sources(os.path.join(root, place)):
            h.update(file[len(root) :].encode())
            h.update(_checksum(file))
    h.update(repr(tuple(target or own_target())).encode())
    return h.hexdigest()[:16]


@cache
def domain_hash(domain: str, target: Target | None = None) -> str:
    """Hash a domain's sources, the compiler's version, the flags that change its output, and the target.

    Args:
        domain: Name of the domain.
        target: Machine for which code is made; None: this process's own.
    """
    flags = [os.environ.get(flag, "") for flag in FLAGS]
    identity = repr((hash_of_sources(*DOMAINS[domain], target=target), version("numba"), flags))
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def domain_folder(domain: str, target: Target | None = None) -> str:
    """Return the name of a domain's folder. target: None: this process's own."""
    return f"{domain}-{domain_hash(domain, target)}"


def numba_folder(domain: str) -> Path | None:
    """Return the folder for Numba's own cache; None if there is none that can be written to."""
    if (place := cache_folders.writable()) is None:
        return None
    folder = cache_folders.make_folder(place, domain_folder(domain))
    return folder if cache_folders.is_trusted(place, folder.name) else None


def read_code(name: Callable[[Target | None], str]) -> bytes | None:
    """Return machine code from the cache, else from the installation; None if neither has it.

    name: returns the name under which what is made for a target is kept; None: this process's own.
    """
    content = read_cached(name(None))
    if content is None and (target := shipped_target()) is not None:
        content = _read_shipped(FOLDER / name(target))
    return content


def _read_shipped(path: Path) -> bytes | None:
    """Return the content of a file of the installation; None if there is none, or a damaged one."""
    try:
        checksum, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest().encode() == checksum:
        return content
    current_reporter().say_once(f"gpusim: {path}: the file is damaged; it is compiled again")
    return None


def read_cached(name: str) -> bytes | None:
    """Return the content that was kept under `name`; None if there is none, or only a damaged file."""
    damaged = None
    for place in cache_folders.readable():
        try:
            checksum, _, content = cache_folders.read(place, name).partition(b"\n")
        except cache_folders.UntrustedFileError as error:
            cache_folders.note_untrusted(error)
            continue
        except OSError:
            continue
        if hashlib.sha256(content).hexdigest().encode() == checksum:
            cache_folders.note_use(place)
            return content
        damaged = place / name
    if name in _in_memory:
        return _in_memory[name]
    if damaged is not None:
        current_reporter().say_once(f"gpusim: {damaged}: the file is damaged; it is compiled again")
    return None


def keep(name: str, content: bytes) -> None:
    """Store machine code in the first folder that takes it, else until this process ends.

    Args:
        name: the file's name.
        content: its bytes.
    """
    while (place := cache_folders.writable()) is not None:
        try:
            path = cache_folders.make_folder(place, os.path.dirname(name)) / os.path.basename(name)
            checked = hashlib.sha256(content).hexdigest().encode() + b"\n" + content
            write_whole(path, checked, mode=cache_folders.FILE_MODE)
            return
        except (OSError, UserError) as error:
            cache_folders.refuse(place, error)
    _in_memory[name] = content
