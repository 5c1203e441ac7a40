"""Where compiled code is kept, keyed by everything that went into it.

Numba's file cache watches only a function's own file: a caller keeps old code when a callee in another
module changes. So each *domain* of compiled code gets a folder named after a hash of all its sources.
"""

import hashlib
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path

from gpusim.jit.machine_code import host

ROOT = Path(__file__).resolve().parents[2]

# The instruction set's interpreter and the timing core call each other only through a function address and
# the trace layout, so editing one does not recompile the other.
DOMAINS: dict[str, tuple[str, ...]] = {
    "isa": ("gpusim/jit", "isa"),
    "timing": (
        *("gpusim/jit", "gpusim/core", "memory", "spartan"),
        *("isa/trace.py", "isa/region.py", "isa/opcodes/opcode.py"),
    ),
}
FLAGS = ("GPUSIM_PLAIN_NUMBA", "NUMBA_BOUNDSCHECK", "NUMBA_OPT", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES")


def domain_of(module: str) -> str:
    """The domain whose hash covers a function of `module`."""
    return "isa" if module.split(".")[0] == "isa" else "timing"


@cache
def domain_hash(domain: str) -> str:
    """Hash of a domain's sources, the compiler's version, the flags that change its output and the host."""
    h = hashlib.sha256()
    for place in DOMAINS[domain]:
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            h.update(str(file.relative_to(ROOT)).encode())
            h.update(file.read_bytes())
    h.update(repr((version("numba"), host())).encode())
    for flag in FLAGS:
        h.update(os.environ.get(flag, "").encode())
    return h.hexdigest()[:16]


def cache_dir(domain: str) -> Path:
    """Folder of a domain's compiled code; `GPUSIM_CACHE_DIR` moves it."""
    return _folder(os.environ.get("GPUSIM_CACHE_DIR") or "", domain)


@cache
def _folder(base: str, domain: str) -> Path:
    if not base:
        import platformdirs

        base = platformdirs.user_cache_dir("gpusim", appauthor=False)
    return Path(base) / f"{domain}-{domain_hash(domain)}"
