"""By which code a result was made: hashes of the sources that decide it, the same on every host."""

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# what decides the facts of a launch that is given, simulated whole or sampled
SIMULATOR = ("isa", "memory", "spartan", "gpusim/core", "gpusim/jit", "gpusim/sampling")
# what beside it decides a run's result: how configurations are read, work becomes launches, and counts metrics
_ROOMS = (
    "api",
    "config",
    "correlation",
    "energy",
    "hip",
    "host",
    "jobs",
    "microbench",
    "networks",
    "results",
    "running",
)
_AROUND = ("workloads", *(f"gpusim/{room}" for room in _ROOMS))
ALL = (*SIMULATOR, *_AROUND)
KINDS = (".py", ".hsaco", ".cpp")


@cache
def sources_hash(places: tuple[str, ...] = ALL) -> str:
    """Hash the source files and code objects under `places`, by their paths and contents."""
    h = hashlib.sha256()
    for place in places:
        for file in sorted(f for f in (ROOT / place).rglob("*") if f.suffix in KINDS):
            h.update(f"{file.relative_to(ROOT).as_posix()} {file.stat().st_size}\n".encode())
            h.update(file.read_bytes())
    return h.hexdigest()[:16]
