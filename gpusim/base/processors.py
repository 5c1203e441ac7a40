"""The host's processors."""

import os
import platform
from pathlib import Path


def default_jobs() -> int:
    """Return the default number of processes: the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_left(processes: int) -> float:
    """Return the part of a processor that each of `processes` can expect.

    As many others compete for the processors as wanted to run in the last minute; 1 where the system does not tell.
    """
    try:
        others = os.getloadavg()[0]
    except (AttributeError, OSError):
        return 1.0
    return min(1.0, (os.cpu_count() or 1) / (processes + others))


def processor_name() -> str:
    """Return the processor's model name, as far as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
