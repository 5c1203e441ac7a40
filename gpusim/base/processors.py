"""The host's processors."""

import os


def default_jobs() -> int:
    """Processes, where none are asked for: as many as this process may use processors."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
