"""HIP's headers, compiled ahead for programs that compile kernels as they run; the cache has them by options.

A kernel of a few lines spends three quarters of its compilation in `hip/hip_runtime.h`. AMD's hiprtc has its headers
compiled ahead, too. Options that define macros can change what a header says, and files of the program can take a
header's place: such programs get the headers as text.
"""

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gpusim.base.jit import cache_folders
from workloads.toolchain.compilers import identity_of

HEADER = "hip/hip_runtime.h"
AS_TEXT = ("-include", HEADER)
# as AMD's hiprtc has them: without what is the host's
AS_HIPRTC = ("-D__HIPCC_RTC__", *AS_TEXT, "-include", "hip/hip_fp16.h")
_FILE = "headers.pch"
_CHANGING = ("-D", "-U", "-include", "-imacros", "-isystem", "-iquote", "-M", "-save-temps")  # options: see above


def compiled_headers(command: Sequence[str], options: Sequence[str]) -> Path | None:
    """Return the file with hiprtc's headers, compiled ahead; None where the options forbid it, or it cannot be.

    Args:
        command: Compiler and flags of gpusim's.
        options: Options of the program.
    """
    if any(option.startswith(_CHANGING) for option in options):
        return None
    return _compiled((*command, *options), identity_of(command[0]))


def forget(file: Path) -> None:
    """Remove compiled headers with which a program could not be compiled, but was with the headers' text."""
    file.unlink(missing_ok=True)
    _compiled.cache_clear()


@cache
def _compiled(command: tuple[str, ...], identity: str) -> Path | None:
    """Return the file with the compiled headers, made if need be; None where none can be made, or kept."""
    place = cache_folders.writable()
    if place is None:
        return None
    name = f"headers-{hashlib.sha256(repr((command, AS_HIPRTC, identity)).encode()).hexdigest()[:16]}"
    folder = place / name
    if cache_folders.is_trusted(place, f"{name}/{_FILE}"):
        return folder / _FILE
    cache_folders.make_folder(place, name)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        made = Path(scratch) / _FILE
        whole = [*command, *AS_HIPRTC, "-Xclang", "-emit-pch", "-S", "-", "-o", str(made)]  # a file would have to stay
        done = subprocess.run(whole, cwd=scratch, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode or not made.exists():
            return None
        cache_folders.close(made.parent)
        os.replace(made, folder / _FILE)
    return folder / _FILE
