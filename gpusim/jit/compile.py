"""The decorator of every compiled function, and ahead-of-time compilation with explicit signatures.

Numba specialises a callee for every mix of argument types it meets (literal integers, int32, int64); with
explicit signatures each function is compiled once. The signature follows from the parameter list: a
parameter named `m` is the machine record, every other one an int64 unless annotated with a Numba type.
"""

import gc
import inspect
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

import numba
import numpy as np
from numba import types

from gpusim.jit import numba_hooks
from gpusim.jit.cache import cache_dir, domain_of

JIT_DISABLED = bool(numba.config.DISABLE_JIT)

_registered: dict[str, list[Any]] = {"isa": [], "timing": []}
_inlined: set[Any] = set()  # dispatchers whose code is part of their callers'


def jit(
    function: Callable[..., Any] | None = None, *, inline: bool = False, outline: bool = False, cold: bool = False
) -> Any:
    """Compile a function for the core: cached, without the GIL, C division, registered for `compile_all`.

    inline: on a busy path, its code becomes part of its callers'; outline: its code stays apart, so that its callers
    stay small; cold: seldom called, its code and that of its calls are kept out of the way. None changes a result.
    """
    if function is None:
        return partial(jit, inline=inline, outline=outline, cold=cold)
    if JIT_DISABLED:
        return function
    domain = domain_of(function.__module__)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_dir(domain))
    try:
        dispatcher = numba.njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, forceinline=inline)(
            function
        )
    finally:
        numba.config.CACHE_DIR = before
    if outline or cold:
        numba_hooks.set_attributes(function, "noinline", *["cold"] * cold)
    if inline:
        _inlined.add(dispatcher)
    numba_hooks.watch_compilation(dispatcher)
    _registered[domain].append(dispatcher)
    return dispatcher


def registered(domain: str) -> list[Any]:
    """Dispatchers of a domain in definition order: callees before callers."""
    return list(_registered[domain])


def signature_of(function: Callable[..., Any], record: Any) -> tuple[Any, ...]:
    """Argument types by convention: `m` is the record, annotations win, all else is int64."""
    out = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.annotation is not inspect.Parameter.empty:
            out.append(parameter.annotation)
        else:
            out.append(record if name == "m" else types.int64)
    return tuple(out)


def is_compiled(domain: str) -> bool:
    """Whether a complete compilation of the domain lies in the cache."""
    return JIT_DISABLED or (cache_dir(domain) / "complete").exists()


def split(domain: str, rooms: tuple[str, ...]) -> tuple[list[Any], list[Any]]:
    """Two of a domain's three parts, in definition order: the functions of `rooms` (beginnings of module names), and
    those that have nothing to do with them. The third part calls into the rooms."""
    inside: list[Any] = []
    apart: list[Any] = []
    callers: set[int] = set()
    for dispatcher in _registered[domain]:
        function = dispatcher.py_func
        called = {id(function.__globals__.get(name)) for name in function.__code__.co_names}
        if function.__module__.startswith(rooms):
            inside.append(dispatcher)
            callers.add(id(dispatcher))
        elif called & callers:
            callers.add(id(dispatcher))
        else:
            apart.append(dispatcher)
    return inside, apart


@cache
def _record_type(layout: np.dtype) -> Any:
    """Numba's type of a record, kept: to find a machine's takes longer than a small launch."""
    return numba.from_dtype(layout)


def compile_functions(dispatchers: Iterable[Any], record: Any) -> None:
    """Compile `dispatchers` with `record` as `m`, or load them from the cache."""
    record_type = _record_type(record.dtype)
    collecting = gc.isenabled()
    gc.disable()  # the compiler keeps what it makes: collecting is a tenth of its time
    try:
        for dispatcher in dispatchers:
            signature = signature_of(dispatcher.py_func, record_type)
            if signature not in dispatcher.signatures:
                dispatcher.disable_compile(False)  # another record type may have come before
                with numba_hooks.core_code():
                    dispatcher.compile(signature)
            dispatcher.disable_compile()
    finally:
        if collecting:
            gc.enable()


def compile_on_the_way(dispatchers: Iterable[Any], record: Any, finished: Iterable[Any]) -> None:
    """As `compile_functions`, for callers in the core alone: only those of `finished` that are not inlined can be
    called and are kept in the cache."""
    with numba_hooks.parts_unfinished(set(finished) - _inlined):
        compile_functions(dispatchers, record)


def compile_all(
    domain: str, record: Any, entry_points: tuple[Any, ...], finished: Iterable[Any] | None = None
) -> float:
    """Make a domain's `entry_points` ready to call with `record` as `m`; returns the seconds it took.

    From a complete cache only the entry points are loaded: their code holds everything they call. Of the others
    `finished` are kept in the cache too, None: all.
    """
    if JIT_DISABLED:
        return 0.0
    start = time.perf_counter()
    complete = is_compiled(domain)
    if not complete:
        others = [d for d in _registered[domain] if d not in entry_points]
        compile_on_the_way(others, record, others if finished is None else finished)
    with numba_hooks.calls_only_within():
        compile_functions(entry_points, record)
    numba_hooks.forget_parts()
    marker = cache_dir(domain) / "complete"
    marker.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    return time.perf_counter() - start


def compiled_versions(domain: str) -> int:
    """How many specialisations of the domain's functions exist: must not grow with another configuration."""
    return sum(len(d.signatures) for d in _registered[domain]) if not JIT_DISABLED else 0


_python_callbacks: dict[int, Callable[..., int]] = {}


def native_callback(function: Any) -> tuple[int, Any]:
    """Address of a compiled int64 function of four int64 arguments, callable through `call_i64_4`.

    Returns (address, object to keep alive). With the JIT disabled the address is a key of a table.
    """
    py_func = getattr(function, "py_func", function)
    if JIT_DISABLED:
        key = id(py_func)
        _python_callbacks[key] = py_func
        return key, py_func
    domain = domain_of(py_func.__module__)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_dir(domain))
    try:
        with numba_hooks.core_code():
            compiled = numba.cfunc(types.int64(*[types.int64] * 4), cache=True, error_model="numpy")(py_func)
    finally:
        numba.config.CACHE_DIR = before
    return compiled.address, compiled
