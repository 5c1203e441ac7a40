"""Getting the compiled core ready: from the cache, or by compiling its parts side by side."""

import os
import signal
import sys
import threading
import time
from contextlib import ExitStack
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from gpusim.base.jit import JIT_DISABLED, load, new_record
from gpusim.base.jit.compile_lock import assume_locked, compile_lock
from gpusim.base.jit.compile_progress import compiling
from gpusim.base.processors import default_jobs
from gpusim.base.progress import Reporter, reporting
from gpusim.model.core.loop import run_cycles
from gpusim.model.core.machine import machine_dtype
from isa.execution.executor import compile_interpreter, load_interpreter
from spartan.engine import engine_finish
from spartan.format import pack_columns

if TYPE_CHECKING:
    import subprocess

_ENTRY_POINTS = (run_cycles, engine_finish, pack_columns)

_PROGRAM = "from gpusim.model.core.prepare import compile_in_another_process as run; run({packages}, {interpreter})"

# What another process compiles of the timing core. In billion instructions: the core's functions take 66, making its
# entry points of them 30, the interpreter with the lane operations 49, and each process 2 for its imports. With the
# interpreter these two packages (25) are half of all; few of their functions are called from elsewhere, and 37 of the
# rest have nothing to do with them, so that nobody waits for them.
_APART = ("memory.dram", "spartan")


class CompileShare(NamedTuple):
    """What another process compiles."""

    packages: bool
    """Compile the functions of `_APART`."""
    interpreter: bool
    """Compile the interpreter."""


def shares(processors: int, interpreter: bool) -> tuple[CompileShare, ...]:
    """Return what each helper process compiles. interpreter: whether the interpreter is to be compiled, too.

    The first helper compiles packages, which this process waits for. With two processors, the helper also compiles the
    interpreter, so that both processes end at about the same time; where the interpreter is in the cache already, this
    process ends later, since optimizing the core as a whole cannot be divided.
    """
    if processors == 1:
        return ()
    if processors == 2 or not interpreter:
        return (CompileShare(True, interpreter),)
    return (CompileShare(True, False), CompileShare(False, True))


def compile_in_another_process(packages: bool, interpreter: bool) -> None:
    """Compile a CompileShare, in a helper process. Its part of the timing core goes to standard output, after its
    length.

    The first process reports progress, holds the lock, and handles signals: this one ends with it.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    assume_locked()
    with reporting(Reporter(quiet=True)):
        if packages:
            from gpusim.base.jit.compile import compile_for_another_process, split

            share = split("timing", _APART, _ENTRY_POINTS)
            parts = compile_for_another_process(share, new_record(machine_dtype()))
            sys.stdout.buffer.write(b"%d\n" % len(parts) + parts)
            sys.stdout.buffer.flush()
        if interpreter:
            compile_interpreter()


def _end_with_the_first() -> None:
    """End this helper process when the first process has ended in whatever way, which closes the pipe between them."""
    os.read(0, 1)  # past Python's buffer, whose lock a thread may not hold when the process ends
    os._exit(1)


def _helper(share: CompileShare) -> "subprocess.Popen[bytes]":
    import subprocess

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", _PROGRAM.format(packages=share.packages, interpreter=share.interpreter)]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _received(helper: "subprocess.Popen[bytes]") -> bytes | None:
    """Read from a helper process what it compiled of the timing core; None if the helper ended early."""
    assert helper.stdout is not None
    length = int(helper.stdout.readline() or -1)
    parts = helper.stdout.read(max(length, 0))
    return parts if len(parts) == length else None


def _compile_beside(helper: "subprocess.Popen[bytes]", processes: int) -> None:
    """Compile the rest of the timing core while `helper` compiles _APART, and _APART too if the helper fails.

    processes: how many compile, this one among them.
    """
    from gpusim.base.jit.compile import compile_entry_points, compile_on_the_way, split, work_of

    share = split("timing", _APART, _ENTRY_POINTS)
    record = new_record(machine_dtype())
    received: SimpleQueue[bytes | None] = SimpleQueue()
    # a pipe holds little: without a reader `helper` would wait
    threading.Thread(target=lambda: received.put(_received(helper)), daemon=True).start()
    with compiling("the core", work_of("timing", _ENTRY_POINTS, share), processes):
        compile_on_the_way(share.apart, record)
        parts = received.get()
        compile_entry_points("timing", _ENTRY_POINTS, record, None if parts is None else (share, parts))


def _compile() -> None:
    """Compile the timing core, and the interpreter if it is missing, in as many processes as are of use.

    The interpreter goes from a helper process to this one through the cache.
    """
    from gpusim.base.jit.compile import compile_entry_points, divisible, work_of

    there = load_interpreter()
    others = shares(default_jobs(), not there) if divisible("timing") else ()
    if not others:
        with compiling("the core", work_of("timing", _ENTRY_POINTS)):
            compile_entry_points("timing", _ENTRY_POINTS, new_record(machine_dtype()))
        return
    with ExitStack() as stack:
        helpers = [stack.enter_context(_helper(share)) for share in others]
        try:
            _compile_beside(helpers[0], 1 + len(helpers))
            for helper in helpers:
                helper.wait()
        except BaseException:
            for helper in helpers:
                helper.kill()
            raise


_ahead_s: list[float] = []  # seconds of `prepare_ahead` that no launch has counted


def prepare_core() -> float:
    """Make the interpreter and the timing core ready to run; returns the seconds it took, `prepare_ahead` included."""
    if JIT_DISABLED:
        return 0.0
    start = time.perf_counter()
    if not load(_ENTRY_POINTS):
        with compile_lock():
            if not load(_ENTRY_POINTS):  # by now another process may have compiled it
                _compile()
    compile_interpreter()
    seconds = time.perf_counter() - start + sum(_ahead_s)
    _ahead_s.clear()
    return seconds


def prepare_ahead() -> None:
    """Call `prepare_core` before a kernel is translated, as translation needs the compiled lane operations.

    The seconds are counted by the launch that follows.
    """
    _ahead_s.append(prepare_core())
