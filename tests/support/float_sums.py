"""No product code adds floats by `sum`, whose result hangs on Python's version: it uses `gpusim.base.sums.plain_sum`.

While the tests run, `sum` looks at what product code gives to it.
"""

import builtins
import sys
from collections.abc import Iterable
from typing import Any

PRODUCT = ("gpusim", "isa", "memory", "spartan", "workloads")
_plain = builtins.sum


def strict_sum(iterable: Iterable[Any], /, start: Any = 0) -> Any:  # PyTorch's compiler compares the names with sum's
    """Add numbers as `sum` does; AssertionError for a float that product code gives to it."""
    if sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] in PRODUCT:
        iterable = list(iterable)
        floats = [number for number in (*iterable, start) if isinstance(number, float)]
        if floats and len(iterable) > 1:
            caller = sys._getframe(1)
            place = f"{caller.f_globals['__name__']}, line {caller.f_lineno}"
            raise AssertionError(f"{place}: sum() of floats; use gpusim.base.sums.plain_sum")
    return _plain(iterable, start)


def install() -> None:
    """Look at the sums of product code from now on."""
    builtins.sum = strict_sum  # type: ignore[assignment]
