"""Getting the compiled core ready: from the cache, or by compiling its two halves side by side."""

import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

from gpusim.base.progress import Reporter, reporting
from gpusim.core.loop import run_cycles
from gpusim.core.machine import machine_dtype
from gpusim.jit import JIT_DISABLED, load, new_record
from gpusim.jit.cache import numba_folder
from gpusim.jit.compile_lock import assume_held, compile_lock
from gpusim.jit.compile_progress import compiling
from isa.execution.executor import compile_interpreter, load_interpreter
from spartan.engine import engine_finish

if TYPE_CHECKING:
    import subprocess

_ENTRY_POINTS = (run_cycles, engine_finish)

# what the second process compiles of the timing core before it turns to the interpreter, so that both end together
_SECOND_ROOMS = (
    "memory.dram",
    "spartan.compaction",
    "spartan.prefetch_buffer",
    "spartan.search",
    "spartan.sib",
)
_SECOND_PROCESS = "from gpusim.core.prepare import compile_in_second_process; compile_in_second_process()"


def compile_in_second_process() -> None:
    """The second process's share of the first start; tells on standard output when its part of the core is there.

    The first process speaks for both, holds the lock, and is the one that Ctrl-C speaks to.
    """
    from gpusim.jit.compile import compile_on_the_way, split

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_first, daemon=True).start()
    assume_held()
    with reporting(Reporter(quiet=True)):
        share = split("timing", _SECOND_ROOMS)
        compile_on_the_way(share.inside, new_record(machine_dtype()), share.doors)
        print("core", flush=True)
        compile_interpreter()


def _end_with_the_first() -> None:
    """End this process when the first one has ended, however that did: its end of the pipe closes."""
    os.read(0, 1)  # past Python's buffer, whose lock a thread may not hold when the process ends
    os._exit(1)


def _compile_with(helper: "subprocess.Popen[str]") -> None:
    """Compile the rest of the timing core while `helper` compiles its share. What it fails to do is done here."""
    from gpusim.jit.compile import compile_entry_points, compile_on_the_way, split, work_of

    share = split("timing", _SECOND_ROOMS)
    record = new_record(machine_dtype())
    with compiling("the core", work_of("timing", _ENTRY_POINTS, share)):
        compile_on_the_way(share.apart, record, ())
        assert helper.stdout is not None
        done = helper.stdout.readline() != ""
        compile_entry_points("timing", _ENTRY_POINTS, record, share if done else None)
        helper.wait()


def _compile() -> None:
    """Compile the timing core, with a second process if the interpreter is to be compiled too.

    That process compiles part of the timing core and the interpreter into the cache, which this one reads.
    """
    if load_interpreter() or (os.cpu_count() or 1) == 1 or numba_folder("timing") is None:
        from gpusim.jit.compile import compile_entry_points, work_of

        with compiling("the core", work_of("timing", _ENTRY_POINTS)):
            compile_entry_points("timing", _ENTRY_POINTS, new_record(machine_dtype()))
        return
    import subprocess

    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", _SECOND_PROCESS]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as helper:
        try:
            _compile_with(helper)
        except BaseException:
            helper.kill()
            raise


def prepare_core() -> float:
    """Make the interpreter and the timing core ready to run; returns the seconds it took."""
    if JIT_DISABLED:
        return 0.0
    start = time.perf_counter()
    if not load(_ENTRY_POINTS):
        with compile_lock():
            if not load(_ENTRY_POINTS):  # by now another process may have compiled it
                _compile()
    compile_interpreter()
    return time.perf_counter() - start
