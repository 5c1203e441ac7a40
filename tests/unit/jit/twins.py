"""The two forms of what `gpusim.base.jit` offers: compiled, and the Python twin that runs with the JIT disabled."""

import importlib
import importlib.util
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any
from unittest.mock import patch

from gpusim.base.jit import JIT_DISABLED, functions


def plain(name: str) -> ModuleType:
    """A module of `gpusim.base.jit`, loaded once more as it is with the JIT disabled."""
    spec = importlib.util.find_spec(f"gpusim.base.jit.{name}")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with patch.object(functions, "JIT_DISABLED", True):
        spec.loader.exec_module(module)
    return module


_CALLERS: dict[int, Callable[[Any], Any]] = {
    1: lambda f: lambda a: f(a),
    2: lambda f: lambda a, b: f(a, b),
    3: lambda f: lambda a, b, c: f(a, b, c),
    5: lambda f: lambda a, b, c, d, e: f(a, b, c, d, e),
}


def compiled(function: Any, arguments: int, result: str = "int64") -> Callable[..., Any]:
    """The function as compiled code calls it, on int64 arguments; itself if nothing is compiled.

    The first call compiles, in the process that runs the test alone: each one collects it.
    """
    caller = _CALLERS[arguments](function)
    if JIT_DISABLED:
        return caller

    @cache
    def made() -> Callable[..., Any]:
        import numba

        # Numba learns of the core's functions and operations here
        for module in {"gpusim.base.jit.compile", *(primitive.llvm_module for primitive in functions.primitives())}:
            importlib.import_module(module)
        return numba.njit(f"{result}({', '.join(['int64'] * arguments)})")(caller)  # type: ignore[no-any-return]

    return lambda *values: made()(*values)
