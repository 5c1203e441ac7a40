"""What tests alone do with compiled functions: count versions, compile one by itself, take one out of the core."""

from collections.abc import Callable, Iterable
from typing import Any

from numba import types

from gpusim.jit import JIT_DISABLED, compile, function_address, functions, registered


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


def take_back(taken: Iterable[Any]) -> None:
    """Unregister functions that only a part of the machine can run, such as a test's, from the core."""
    for functions_of_domain in functions._registered.values():
        functions_of_domain[:] = [noted for noted in functions_of_domain if noted not in taken]
