"""Getting the compiled core ready: from the cache, or by compiling its two halves side by side."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from gpusim.core.loop import run_cycles
from gpusim.core.machine import machine_dtype
from gpusim.errors import UserError
from gpusim.jit import JIT_DISABLED, cache_dir, compile_all, is_compiled, new_record
from gpusim.jit.cache import DOMAINS
from isa.executor import compile_interpreter
from spartan.engine import engine_finish

_COMPILE_INTERPRETER = "from isa.executor import compile_interpreter; compile_interpreter()"


def _probe(place: Path) -> None:
    """UserError if compiled code cannot be kept in `place`."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=place):
            pass
    except OSError as error:
        raise UserError(
            f"{place}: compiled code cannot be kept there: {error.strerror or error}; "
            "GPUSIM_CACHE_DIR names another folder"
        ) from None


def prepare_core() -> float:
    """Make the interpreter and the timing core ready to run; returns the seconds it took.

    On the first start a second process compiles the interpreter into the cache while this one compiles the
    timing core; both are independent (gpusim.jit.cache.DOMAINS).
    """
    if JIT_DISABLED:
        return 0.0
    start = time.perf_counter()
    for domain in DOMAINS:
        _probe(cache_dir(domain))
    helper = None
    if not is_compiled("isa") and not is_compiled("timing") and (os.cpu_count() or 1) > 1:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        helper = subprocess.Popen([sys.executable, "-c", _COMPILE_INTERPRETER], env=environment)
    try:
        compile_all("timing", new_record(machine_dtype()), (run_cycles, engine_finish))
        if helper is not None:
            helper.wait()  # should it have failed, the interpreter is compiled here
    except BaseException:
        if helper is not None:
            helper.kill()
            helper.wait()
        raise
    compile_interpreter()
    return time.perf_counter() - start
