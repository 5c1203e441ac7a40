"""Ahead-of-time compilation of the core with explicit signatures, through Numba.

Numba specialises a callee for every mix of argument types it meets (literal integers, int32, int64); with
explicit signatures each function is compiled once. The signature follows from the parameter list: a
parameter named `m` is the machine record, every other one an int64 unless annotated with a record's type
(`gpusim.base.jit.by_address`) or Numba's.
"""

import gc
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numba
from numba import types
from numba.extending import typeof_impl

from gpusim.base.jit import cache_folders, compile_progress, numba_hooks
from gpusim.base.jit.cache import domain_of, numba_folder
from gpusim.base.jit.entry_points import load, save
from gpusim.base.jit.functions import JIT_DISABLED, CoreFunction, Intrinsic, primitives, registered
from gpusim.base.jit.operations_llvm import type_of_record

T = TypeVar("T")

numba.config.DISABLE_JIT = int(JIT_DISABLED)  # one of the two places in which Numba looks counts: the environment


def _in_cache(domain: str, make: Callable[[bool], T]) -> T:
    """Call `make` while the domain's folder is Numba's cache, and return its result.

    `make` gets True if there is such a folder, False if nothing can be cached.
    """
    before, folder = numba.config.CACHE_DIR, numba_folder(domain)
    numba.config.CACHE_DIR = str(folder or "")
    try:
        return make(folder is not None)
    finally:
        numba.config.CACHE_DIR = before
        if folder is not None:
            cache_folders.close(folder)


def _define_operations() -> list[Any]:
    """Return Numba's intrinsics of all operations.

    They have to exist before a compilation begins, since Numba does not notice those that are made during one.
    """
    return [operation.intrinsic for operation in primitives()]


@cache
def _dispatcher(function: CoreFunction) -> Any:
    _define_operations()
    options: dict[str, Any] = dict(nogil=True, error_model="numpy", no_cfunc_wrapper=True, forceinline=function.inline)
    if not numba_hooks.PLAIN:
        # nothing in the core makes an array: it needs no code that counts who uses one
        options |= dict(pipeline_class=numba_hooks.CorePipeline, _nrt=False)
    dispatcher = _in_cache(
        domain_of(function.__module__), lambda kept: numba.njit(cache=kept, **options)(function.py_func)
    )
    if function.outline or function.cold:
        numba_hooks.set_attributes(function.py_func, "noinline", *["cold"] * function.cold)
    return dispatcher


def dispatcher_of(function: Any) -> Any:
    """Return Numba's dispatcher of a function of the core, or the argument itself if it is a dispatcher."""
    return _dispatcher(function) if isinstance(function, CoreFunction) else function


@typeof_impl.register(CoreFunction)
def _type_of_function(function: CoreFunction, context: Any) -> Any:
    return types.Dispatcher(_dispatcher(function))


@typeof_impl.register(Intrinsic)
def _type_of_primitive(primitive: Intrinsic, context: Any) -> Any:
    return numba_hooks.type_of_intrinsic(primitive.intrinsic)


def signature_of(function: Callable[..., Any], record: Any) -> tuple[Any, ...]:
    """Return the argument types by convention: `m` is the record, annotations win, all else is int64."""
    out = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "m":
            out.append(record)
        elif parameter.annotation is not inspect.Parameter.empty:
            out.append(getattr(parameter.annotation, "numba_type", parameter.annotation))
        else:
            out.append(types.int64)
    return tuple(out)


@dataclass(frozen=True)
class FunctionSplit:
    """Functions of a domain without its entry points, split at some packages; lists are in definition order.

    Functions in none of the lists call into these packages.
    """

    inside: list[Any]
    """Functions of these packages."""
    exported: list[Any]
    """Functions of `inside` that other packages call."""
    apart: list[Any]
    """Functions of other packages that do not call into these packages."""


def _called(function: CoreFunction) -> set[int]:
    """Return the identities (`id`) of the functions that a function may call."""
    code, names = function.py_func.__code__, function.py_func.__globals__
    return {id(names.get(name)) for name in code.co_names}


def split(domain: str, packages: tuple[str, ...], entry_points: Sequence[Any]) -> FunctionSplit:
    """Split the functions of a domain; entry points are outside wherever they stand.

    Args:
        domain: 'isa' or 'timing'.
        packages: beginnings of module names.
        entry_points: functions called from Python.

    Returns:
        The functions of these modules, and the others.
    """
    functions = registered(domain)
    inside = [f for f in functions if f.py_func.__module__.startswith(packages) and f not in entry_points]
    apart = []
    callers = {id(f) for f in inside}
    wanted: set[int] = set()  # what is called from outside the packages
    for function in functions:
        if function in inside:
            continue
        wanted |= _called(function)
        if _called(function) & callers:
            callers.add(id(function))
        elif function not in entry_points:
            apart.append(function)
    return FunctionSplit(inside, [function for function in inside if id(function) in wanted], apart)


@contextmanager
def _without_collection() -> Any:
    """Turn garbage collection off while the block compiles: the compiler keeps what it makes anyway."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def compile_functions(functions: Iterable[Any], record: Any) -> None:
    """Compile `functions` with `record` as `m`, or load them from Numba's cache."""
    record_type = type_of_record(record.dtype)
    with _without_collection():
        for dispatcher in map(dispatcher_of, functions):
            signature = signature_of(dispatcher.py_func, record_type)
            if signature not in dispatcher.signatures:
                dispatcher.disable_compile(False)  # another record type may have come before
                with numba_hooks.core_code():
                    dispatcher.compile(signature)
                compile_progress.done(_size(dispatcher))
            dispatcher.disable_compile()


def compile_on_the_way(functions: Iterable[Any], record: Any) -> None:
    """Compile functions as `compile_functions` does, but for callers in the core alone: neither optimized nor kept.

    Args:
        functions: what is compiled.
        record: Numba's type of `m`.
    """
    with numba_hooks.parts_unfinished():
        compile_functions(functions, record)


def divisible(domain: str) -> bool:
    """Tell whether another process can compile a share of a domain.

    This takes Numba's hooks, by which parts are handed over, and a cache, through which whole functions are.
    """
    return not numba_hooks.PLAIN and numba_folder(domain) is not None


def compile_for_another_process(share: FunctionSplit, record: Any) -> bytes:
    """Compile one side of a split.

    Args:
        share: the split; what is compiled is its `inside`.
        record: Numba's type of `m`.

    Returns:
        The code that `compile_entry_points` takes in another process.
    """
    compile_on_the_way(share.inside, record)
    return numba_hooks.packed_parts(map(dispatcher_of, share.exported))


def _on_the_way(domain: str, entry_points: Sequence[Any], elsewhere: FunctionSplit | None) -> list[Any]:
    left_out = [*entry_points, *(elsewhere.inside if elsewhere else ())]
    return [function for function in registered(domain) if function not in left_out]


def _size(function: Any) -> int:
    return len(function.py_func.__code__.co_code)


def _sizes(functions: Iterable[Any]) -> float:
    return float(sum(map(_size, functions)))


# what optimizing entry points takes, of what compiling all of the domain's functions on the way takes: measured
_OPTIMIZING = {"isa": 0.75, "timing": 0.4}


def work_of(domain: str, entry_points: Sequence[Any], elsewhere: FunctionSplit | None = None) -> float:
    """Estimate the work that `compile_entry_points` has to do.

    Args:
        domain: 'isa' or 'timing'.
        entry_points: functions called from Python.
        elsewhere: the split whose inside another process compiles; None: there is none.

    Returns:
        Work in the units of `gpusim.base.jit.compile_progress`.
    """
    compiled = _on_the_way(domain, entry_points, elsewhere)
    return _sizes(compiled) + _OPTIMIZING[domain] * _sizes(registered(domain))


def compile_entry_points(
    domain: str, entry_points: Sequence[Any], record: Any, elsewhere: tuple[FunctionSplit, bytes] | None = None
) -> None:
    """Compile a domain's entry points, keep their machine code and make them callable.

    Args:
        domain: 'isa' or 'timing'.
        entry_points: functions called from Python; the machine code of each contains everything that it calls.
        record: Numba's type of `m`.
        elsewhere: the split whose inside another process has compiled, and what `compile_for_another_process` returned
            there.
    """
    parts = _on_the_way(domain, entry_points, elsewhere and elsewhere[0])
    if elsewhere is not None:
        share, received = elsewhere
        _define_operations()
        numba_hooks.load_parts(received, map(dispatcher_of, share.exported))
        parts += share.exported
    compile_on_the_way(parts, record)
    compiled = []
    with numba_hooks.calls_only_within(), _without_collection():
        compile_progress.begin(_OPTIMIZING[domain] * _sizes(registered(domain)))
        for function in entry_points:
            signature = signature_of(function.py_func, type_of_record(record.dtype))
            result = types.void if function.returns_nothing else types.int64
            compiled.append(_c_function(function.py_func, result(*signature)))
    compile_progress.done(_OPTIMIZING[domain] * _sizes(registered(domain)))
    numba_hooks.forget_parts(map(dispatcher_of, parts))
    codes = [numba_hooks.object_code(c_function) for c_function in compiled]
    for function, c_function, code in zip(entry_points, compiled, codes, strict=True):
        if code is not None:
            save(function, c_function.native_name, code)
    if not load(entry_points):  # it needs Numba to run
        for function, c_function in zip(entry_points, compiled, strict=True):
            function.bind(c_function.address, c_function)


def _c_function(function: Callable[..., Any], signature: Any) -> Any:
    domain = domain_of(function.__module__)
    with numba_hooks.core_code():
        return _in_cache(
            domain, lambda kept: numba.cfunc(signature, cache=kept and numba_hooks.PLAIN, error_model="numpy")(function)
        )
