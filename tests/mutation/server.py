"""A process that has imported what pytest and the tests need, and forks for each run of them: it spares their start.

Nothing of the project is imported: each run does so anew, with the error in it. An order is a line of JSON on standard
input, its answer a line: pytest's exit code, or `null` if the run was ended.
"""

import ctypes
import json
import os
import resource
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

PRELOADED = ("numpy", "numba", "pydantic", "yaml", "rich.console", "typer", "hypothesis", "networkx", "pytest")
_MEMORY_BYTES = 6 << 30  # that a run may hold: an endless list ends before the machine's memory does
_PR_SET_PDEATHSIG = 1  # of prctl(2)
_WAITING = 10.0  # a run may take so many times its processor time: it may wait for others


def _end_with_parent() -> None:
    """Have this process killed when the one that made it ends, however that is."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _run(order: dict[str, Any]) -> NoReturn:
    """Run pytest in a forked process: nothing of it is shown."""
    _end_with_parent()
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    if order["limit_s"] is not None:
        limit_s = int(order["limit_s"])
        resource.setrlimit(resource.RLIMIT_CPU, (limit_s + 1, limit_s + 2))
    os.environ.update(order["variables"])
    import pytest

    os._exit(pytest.main(order["arguments"]))


def _held_bytes(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):  # it has just ended
        return 0
    return pages * resource.getpagesize()


def _code(process: int, limit_s: float | None) -> int | None:
    """Wait for a run, and end it where it waits for what never comes, or takes all memory; None if it was ended."""
    end = time.monotonic() + (_WAITING * limit_s if limit_s is not None else float("inf"))
    while True:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            break
        if time.monotonic() > end or _held_bytes(process) > _MEMORY_BYTES:
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return None
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(process, signal.SIGKILL)  # what it left running
    code = os.waitstatus_to_exitcode(status)
    return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code


def main() -> None:
    """Answer orders until there are no more."""
    _end_with_parent()
    sys.path.insert(0, str(Path.cwd()))
    for name in PRELOADED:
        import_module(name)
    for line in sys.stdin:
        order = json.loads(line)
        process = os.fork()
        if not process:
            _run(order)
        print(json.dumps(_code(process, order["limit_s"])), flush=True)


if __name__ == "__main__":
    main()
