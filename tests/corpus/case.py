"""How the corpus' table of cases is written: one function a kernel, from a size to buffers, arguments and results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

HALF_ULP = 2.0**-24  # of single precision: the relative error of one rounding
ULP_16 = 2.0**-10  # of half precision
Size3 = tuple[int, int, int]


@dataclass(frozen=True)
class Close:
    """How far a result may be off: |result - expected| <= absolute + relative |expected|, and why."""

    reason: str
    absolute: Any = 0.0
    relative: float = 0.0


EXACT = Close("integers, moved values, or each operation rounded once as in NumPy")


@dataclass(frozen=True)
class Call:
    """One launch. arguments: buffers' names, integers of the argument's size, NumPy scalars (structures: np.void)."""

    buffers: Mapping[str, np.ndarray]
    arguments: tuple[Any, ...]
    global_size: Size3
    local_size: Size3
    expected: Mapping[str, np.ndarray]
    close: Close = EXACT
    dynamic_lds_bytes: int = 0


@dataclass(frozen=True)
class Case:
    """A kernel: its source and name, the sizes to test, the size to measure the speed at, and its calls by size."""

    source: str
    kernel: str
    sizes: tuple[Any, ...]
    speed: Any
    call: Callable[[np.random.Generator, Any], Call] = field(repr=False)


CASES: list[Case] = []


def case(source: str, *sizes: Any, speed: Any) -> Callable[[Any], Any]:
    """Registers a function as the case of the kernel it is named after."""

    def register(function: Any) -> Any:
        CASES.append(Case(source, function.__name__, sizes, speed, function))
        return function

    return register


def line(n: int, local: int) -> dict[str, Size3]:
    """A grid of n work-items; the last work-group is partial."""
    return {"global_size": (n, 1, 1), "local_size": (local, 1, 1)}


def groups(count: int, local: int) -> dict[str, Size3]:
    """A grid of complete work-groups."""
    return {"global_size": (count * local, 1, 1), "local_size": (local, 1, 1)}


def covering(width: int, height: int, local_x: int, local_y: int) -> dict[str, Size3]:
    """Complete work-groups over a plane."""
    x, y = -(-width // local_x) * local_x, -(-height // local_y) * local_y
    return {"global_size": (x, y, 1), "local_size": (local_x, local_y, 1)}


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Normally distributed single-precision numbers."""
    return rng.standard_normal(shape).astype(np.float32)


def zeros(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """A buffer for results."""
    return np.zeros(shape, dtype)


def sum_error(terms: int, magnitudes: Any) -> Any:
    """Bound on the error of a sum of products in single precision, in any order."""
    return (terms + 2) * HALF_ULP * np.asarray(magnitudes, np.float64)
