"""The decorator of every compiled function, and ahead-of-time compilation with explicit signatures.

Numba specialises a callee for every mix of argument types it meets (literal integers, int32, int64); with
explicit signatures each function is compiled once. The signature follows from the parameter list: a
parameter named `m` is the machine record, every other one an int64 unless annotated with a Numba type.
"""

import gc
import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite.binding import Linkage
from numba import _dynfunc, types
from numba.core import codegen
from numba.core.caching import NullCache
from numba.core.cpu import CPUContext
from numba.np import arrayobj

from gpusim.jit.cache import cache_dir, domain_of

JIT_DISABLED = bool(numba.config.DISABLE_JIT)

_registered: dict[str, list[Any]] = {"isa": [], "timing": []}


def jit(function: Callable[..., Any]) -> Any:
    """Compile `function` for the core: cached, without the GIL, C division, registered for `compile_all`."""
    if JIT_DISABLED:
        return function
    domain = domain_of(function.__module__)
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_dir(domain))
    try:
        dispatcher = numba.njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    finally:
        numba.config.CACHE_DIR = before
    dispatcher.compile = _in_its_form(dispatcher)
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


@contextmanager
def _indices_as_they_are() -> Iterator[None]:
    """Compile array accesses without Python's meaning of negative indices, a comparison and a select an access."""
    fix = arrayobj.fix_integer_index

    def as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        return context.cast(builder, index, kind, types.intp)

    arrayobj.fix_integer_index = as_it_is
    try:
        yield
    finally:
        arrayobj.fix_integer_index = fix


def _is_part_of_its_callers(function: Callable[..., Any]) -> bool:
    """Whether the function says `inlined()`."""
    return "inlined" in function.__code__.co_names


_compiling: list[bool] = []  # innermost last: whether what is being compiled is a part of its callers
_parts: set[Any] = set()  # dispatchers that have been compiled as parts
_whole: set[Any] | None = None  # what is not one while parts are wanted


def _in_its_form(dispatcher: Any) -> Callable[[Any], Any]:
    """The dispatcher's `compile`, which says what it compiles and keeps a part out of the cache."""
    compile_it = dispatcher.compile

    def compile_in_its_form(signature: Any) -> Any:
        part = _whole is not None and dispatcher not in _whole
        kept = dispatcher._cache
        if part:
            dispatcher._cache = NullCache()
            _parts.add(dispatcher)
        _compiling.append(part)
        try:
            return compile_it(signature)
        finally:
            _compiling.pop()
            dispatcher._cache = kept

    return compile_in_its_form


@contextmanager
def _parts_unfinished(whole: set[Any]) -> Iterator[None]:
    """Compile all but `whole` only to what their callers take in: not optimised, no machine code."""
    global _whole

    def executable(context: Any, library: Any, description: Any, environment: Any) -> Any:
        name = description.qualname.split(".")[-1]
        return _dynfunc.make_function(description.lookup_module(), name, "not callable", 0, environment, (library,))

    def unless_part(finish: Any, otherwise: Any) -> Any:
        return lambda *arguments: (otherwise if _compiling and _compiling[-1] else finish)(*arguments)

    steps: list[tuple[Any, str, Any]] = [
        (CPUContext, "get_executable", executable),
        (codegen.CPUCodeLibrary, "_optimize_final_module", lambda library: None),
        (codegen.JITCPUCodegen, "_add_module", lambda generator, module: None),
        (codegen.JITCodeLibrary, "_finalize_specific", lambda library: None),
    ]
    before = [getattr(place, name) for place, name, _ in steps]
    for (place, name, otherwise), finish in zip(steps, before, strict=True):
        setattr(place, name, unless_part(finish, otherwise))
    _whole = whole
    try:
        yield
    finally:
        _whole = None
        for (place, name, _), finish in zip(steps, before, strict=True):
            setattr(place, name, finish)


@contextmanager
def _calls_only_within() -> Iterator[None]:
    """Compile functions that nothing else will be linked to: what they call is theirs alone.

    The optimiser then sees that no callee fails, which saves passing and testing a status, and which arguments are not
    used; calls become short. What is theirs has names of its own: the linker takes any function of a name for the one
    that is called.
    """
    optimise = codegen.CPUCodeLibrary._optimize_final_module

    def optimise_as_a_whole(library: Any) -> None:
        for function in library._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
                function.name += f".{library.name}"
        optimise(library)

    codegen.CPUCodeLibrary._optimize_final_module = optimise_as_a_whole
    try:
        yield
    finally:
        codegen.CPUCodeLibrary._optimize_final_module = optimise


def _forget_parts() -> None:
    """Drop what was compiled as a part, so that a call from Python compiles anew."""
    for dispatcher in _parts:
        dispatcher.disable_compile(False)
        dispatcher._reset_overloads()
        dispatcher.overloads.clear()
    _parts.clear()


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
                with _indices_as_they_are():
                    dispatcher.compile(signature)
            dispatcher.disable_compile()
    finally:
        if collecting:
            gc.enable()


def compile_on_the_way(dispatchers: Iterable[Any], record: Any, finished: Iterable[Any]) -> None:
    """As `compile_functions`, for callers in the core alone: only those of `finished` that do not say `inlined()` can
    be called and are kept in the cache."""
    with _parts_unfinished({d for d in finished if not _is_part_of_its_callers(d.py_func)}):
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
    with _calls_only_within():
        compile_functions(entry_points, record)
    _forget_parts()
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
        with _indices_as_they_are():
            compiled = numba.cfunc(types.int64(*[types.int64] * 4), cache=True, error_model="numpy")(py_func)
    finally:
        numba.config.CACHE_DIR = before
    return compiled.address, compiled
