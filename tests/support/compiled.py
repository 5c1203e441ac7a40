"""What tests alone do with compiled functions: count versions, compile some by themselves, take one out of the core."""

import hashlib
import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from numba import types

from gpusim.base.jit import JIT_DISABLED, compile, function_address, functions, load, registered
from gpusim.base.jit.compile_lock import compile_lock


def compiled_versions(domain: str) -> int:
    """Count the specialisations of the domain's functions, which must not grow with another configuration."""
    noted = [] if JIT_DISABLED else registered(domain)
    return sum(len(compile._dispatcher(function).signatures) for function in noted)


def native_callback(function: Callable[..., int]) -> tuple[int, Any]:
    """Compile a function of four int64 apart from the core, so that `call_i64_4` can call it.

    Returns (address, object to keep alive). With the JIT disabled the address is a key of a table.
    """
    function = getattr(function, "py_func", function)
    if JIT_DISABLED:
        return function_address(function), function
    compile._define_operations()
    compiled = compile._c_function(function, types.int64(*[types.int64] * 4))
    return compiled.address, compiled


def compile_part(entry_points: Sequence[Any], callees: Iterable[Any], record: Any) -> None:
    """Make functions of a part of the machine callable as the core's entry points are: from the cache, or compiled.

    All that they call, `callees`, is compiled as part of them for `record` as `m`, neither finished nor kept by itself:
    that would take most of the time. One process at a time compiles. The cache goes by the core's sources: a name of
    its own tells which state of its file a function is of.
    """
    for function in entry_points:
        if not function.address:
            source = Path(inspect.getfile(function.py_func)).read_bytes()
            function.__name__ += f"_of_{hashlib.sha256(source).hexdigest()[:12]}"
    if load(entry_points):
        return
    with compile_lock():
        if not load(entry_points):  # another process may have compiled them meanwhile
            with patch.dict(functions._registered, timing=list(callees)):
                compile.compile_entry_points("timing", entry_points, record)


def take_back(taken: Iterable[Any]) -> None:
    """Unregister functions that only a part of the machine can run, such as a test's, from the core."""
    for functions_of_domain in functions._registered.values():
        functions_of_domain[:] = [noted for noted in functions_of_domain if noted not in taken]
