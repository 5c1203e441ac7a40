"""The functions of the compiled core: which they are and how each is to be compiled, without the compiler.

`jit` and `primitive` only note a function. Numba is imported by what compiles (`gpusim.base.jit.compile`): a start that
finds its entry points in the cache (`gpusim.base.jit.entry_points`) does without it.
"""

import ctypes
import inspect
import os
from collections.abc import Callable
from functools import cached_property, partial, update_wrapper
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from gpusim.base.jit.cache import domain_of

F = TypeVar("F", bound=Callable[..., Any])


def _disabled() -> bool:
    try:
        return bool(int(os.environ.get("NUMBA_DISABLE_JIT") or 0))  # as Numba reads it
    except ValueError:
        return False


JIT_DISABLED = _disabled()

_registered: dict[str, list["CoreFunction"]] = {"isa": [], "timing": []}
_primitives: list["Intrinsic"] = []
_python_callbacks: dict[int, Callable[..., int]] = {}


class CoreFunction:
    """A function of the compiled core.

    Compiled code calls it directly. From Python a call runs its machine code if that was loaded as an entry point,
    else Numba's dispatcher, which compiles it for the arguments that it meets.
    """

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., Any], inline: bool, outline: bool, cold: bool) -> None:
        # as functools.update_wrapper has it: five hundred functions are a hundredth of a start
        self.__module__, self.__doc__ = function.__module__, function.__doc__
        self.__name__, self.__qualname__ = function.__name__, function.__qualname__
        self.py_func = self.__wrapped__ = function
        self.inline, self.outline, self.cold = inline, outline, cold
        self.address = 0  # of its C function (see `parameters`), once it is an entry point
        self._call: Callable[..., Any] = lambda *arguments: self.dispatcher(*arguments)
        self.code: Any = (
            None  # what holds its machine code (gpusim.base.jit.machine_code.LoadedCode, or Numba's function)
        )

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Names of the C function's parameters: `m` is a pointer to the machine record, all others are int64."""
        return tuple(inspect.signature(self.py_func).parameters)

    @property
    def returns_nothing(self) -> bool:
        """Whether the C function is void; else it returns an int64."""
        return inspect.signature(self.py_func).return_annotation is None

    @property
    def dispatcher(self) -> Any:
        """Numba's dispatcher of the function; imports Numba."""
        from gpusim.base.jit.compile import dispatcher_of

        return dispatcher_of(self)

    def bind(self, address: int, code: Any) -> None:
        """Let calls from Python go to the C function at `address`, and keep `code`, which holds it, alive."""
        kinds = [ctypes.c_void_p if name == "m" else ctypes.c_int64 for name in self.parameters]
        native = ctypes.CFUNCTYPE(None if self.returns_nothing else ctypes.c_int64, *kinds)(address)
        self.address, self.code = address, code
        if "m" in self.parameters:
            self._call = lambda *arguments: native(*(a if type(a) is int else _as_word(a) for a in arguments))
        else:
            self._call = native

    def __call__(self, *arguments: Any) -> Any:
        return self._call(*arguments)

    def __repr__(self) -> str:
        return f"<function of the core {self.__module__}.{self.__qualname__}>"


def _as_word(argument: Any) -> int:
    """Return the int64 that a C function takes for a record (its address) or a number."""
    return int(np.frombuffer(argument, np.uint8).ctypes.data) if isinstance(argument, np.void) else int(argument)


class Intrinsic:
    """An operation of a few machine instructions.

    `llvm_module` defines how the compiler makes the operation, under the same name, as an intrinsic of Numba's. A call
    from Python runs its twin.
    """

    def __init__(self, twin: Callable[..., Any], llvm_module: str) -> None:
        update_wrapper(self, twin)
        self.twin, self.llvm_module = twin, llvm_module

    @property
    def intrinsic(self) -> Any:
        """Numba's intrinsic of the operation; imports Numba."""
        return getattr(import_module(self.llvm_module), self.twin.__name__)

    def __call__(self, *arguments: Any) -> Any:
        return self.twin(*arguments)


def jit(
    function: Callable[..., Any] | None = None, *, inline: bool = False, outline: bool = False, cold: bool = False
) -> Any:
    """Make a function part of the compiled core: cached, without the GIL, with C's division.

    None of them changes a result.

    Args:
        inline: The function is on a busy path, and its code becomes part of its callers'.
        outline: Its code stays apart, so that its callers stay small.
        cold: It is seldom called, and its code and that of its calls are kept out of the way.
    """
    if function is None:
        return partial(jit, inline=inline, outline=outline, cold=cold)
    if JIT_DISABLED:
        return function
    noted = CoreFunction(function, inline, outline, cold)
    _registered[domain_of(function.__module__)].append(noted)
    return noted


def note_primitive(operation: Intrinsic) -> Intrinsic:
    """Register an operation, so that the compiler knows of it before it compiles a function that uses it."""
    _primitives.append(operation)
    return operation


def primitive(llvm_module: str) -> Callable[[F], F]:
    """Make a function of plain Python the twin of an operation that `llvm_module` defines under its name."""

    def decorate(twin: F) -> F:
        if JIT_DISABLED:
            return twin
        return note_primitive(Intrinsic(twin, llvm_module))  # type: ignore[return-value]

    return decorate


def registered(domain: str) -> list[Any]:
    """Return the functions of a domain in definition order: callees before callers."""
    return list(_registered[domain])


def primitives() -> list[Intrinsic]:
    """Return all registered operations, in definition order."""
    return list(_primitives)


def function_address(function: Any) -> int:
    """Return the address of an entry point of four int64, for `call_i64_4`; with the JIT disabled a key of a table."""
    if JIT_DISABLED:
        _python_callbacks[id(function)] = function
        return id(function)
    if not function.address:
        raise RuntimeError(f"{function!r} is no entry point yet")
    return int(function.address)


def python_callback(address: int) -> Callable[..., int]:
    """Return the function for an address that `function_address` returned with the JIT disabled."""
    return _python_callbacks[address]
