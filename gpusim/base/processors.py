"""The host's processors."""

import os


def default_jobs() -> int:
    """Processes, where none are asked for: as many as this process may use processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_left(processes: int) -> float:
    """The part of a processor that each of `processes` can expect beside as many others as wanted to run in the last
    minute; 1 where the system does not tell."""
    try:
        others = os.getloadavg()[0]
    except (AttributeError, OSError):
        return 1.0
    return min(1.0, (os.cpu_count() or 1) / (processes + others))
