"""The host's processors."""

import os
import platform
from pathlib import Path

_thread_limit: list[int] = []  # the limit that holds now, last
_given: list[bool] = []  # whether it was chosen


def default_jobs() -> int:
    """Return the default number of processes: the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def limit_threads(count: int | None) -> None:
    """Limit the threads of this process that execute a launch, from now on. count: None: as many as processors."""
    _thread_limit[:] = [count or default_jobs()]
    _given[:] = [count is not None]


def share_threads(processes: int) -> None:
    """Take this process's share of its threads, one of so many processes that run at a time."""
    _thread_limit[:] = [max(1, thread_limit() // processes)]


def thread_limit() -> int:
    """Return how many threads of this process may execute a launch."""
    return _thread_limit[-1] if _thread_limit else default_jobs()


def threads_given() -> bool:
    """Tell whether the limit of threads is a number that was chosen: where it is not, launches choose by their size."""
    return bool(_given and _given[-1])


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
