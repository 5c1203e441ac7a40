"""Floating-point results by exact rational arithmetic, for what NumPy has no mode: directed rounding, FP64 flushing.

Numbers are Python floats that hold FP16, FP32 or FP64 values; rounding is coded as in MODE (0 nearest even, 1 up,
2 down, 3 towards zero). `flush` makes results below the normal range zeros, judged after rounding with an unbounded
exponent as x86-64 does.
"""

from collections.abc import Callable
from fractions import Fraction
from math import copysign, inf, isfinite, isqrt, nan

import numpy as np

UP, DOWN, TOWARDS_ZERO = 1, 2, 3
_FORMAT = {"f16": (10, -14, 15), "f32": (23, -126, 127), "f64": (52, -1022, 1023)}  # mantissa bits, exponent range
_ROOT_BITS = 160  # of a square root before rounding; what is cut off only matters as "more than this"


def _steps(size: Fraction, unit: Fraction, negative: bool, rounding: int) -> int:
    """Return how many units are nearest to a magnitude in the wanted direction of rounding."""
    exact = size / unit
    if rounding == 0:
        return round(exact)
    up = (rounding == UP and not negative) or (rounding == DOWN and negative)
    whole = exact.numerator // exact.denominator
    return whole + 1 if up and whole != exact else whole


def rounded(exact: Fraction, kind: str, rounding: int, flush: bool = False) -> float:
    """Round a rational that is not zero to a format. flush: results below the normal range become zeros."""
    mantissa, least, most = _FORMAT[kind]
    negative, size = exact < 0, abs(exact)
    sign = -1.0 if negative else 1.0
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    if flush and exponent < least:
        unit = Fraction(2) ** (exponent - mantissa)
        if _steps(size, unit, negative, rounding) * unit < Fraction(2) ** least:
            return copysign(0.0, sign)
    unit = Fraction(2) ** (max(exponent, least) - mantissa)
    result = _steps(size, unit, negative, rounding) * unit
    if result >= Fraction(2) ** (most + 1):
        away = rounding == 0 or (rounding == UP and not negative) or (rounding == DOWN and negative)
        return sign * (inf if away else float((2 - Fraction(2) ** -mantissa) * 2**most))
    return sign * float(result)


def _zero_sum(a: float, b: float, rounding: int) -> float:
    """Return a + b where the exact sum is zero, with the sign that the rounding mode gives it."""
    if a == 0 and copysign(1.0, a) == copysign(1.0, b):
        return a
    return -0.0 if rounding == DOWN else 0.0


def add(a: float, b: float, kind: str, rounding: int, flush: bool) -> float:
    """Return a + b, rounded to a format."""
    if not (isfinite(a) and isfinite(b)):
        return a + b
    exact = Fraction(a) + Fraction(b)
    return rounded(exact, kind, rounding, flush) if exact else _zero_sum(a, b, rounding)


def subtract(a: float, b: float, kind: str, rounding: int, flush: bool) -> float:
    """Return a - b, rounded to a format."""
    return add(a, -b, kind, rounding, flush)


def multiply(a: float, b: float, kind: str, rounding: int, flush: bool) -> float:
    """Return a * b, rounded to a format."""
    if not (isfinite(a) and isfinite(b) and a and b):
        return a * b
    return rounded(Fraction(a) * Fraction(b), kind, rounding, flush)


def divide(a: float, b: float, kind: str, rounding: int, flush: bool) -> float:
    """Return a / b, rounded to a format."""
    if not (isfinite(a) and isfinite(b) and a and b):
        return float(np.float64(a) / np.float64(b))
    return rounded(Fraction(a) / Fraction(b), kind, rounding, flush)


def fused(a: float, b: float, c: float, kind: str, rounding: int, flush: bool) -> float:
    """Return a * b + c, rounded once to a format."""
    if not (isfinite(a) and isfinite(b) and isfinite(c)):
        return nan if a * b != a * b else (c if isfinite(a) and isfinite(b) else a * b + c)
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return rounded(exact, kind, rounding, flush)
    product = copysign(1.0, a) * copysign(1.0, b) * (0.0 if a == 0 or b == 0 else 1.0)
    return _zero_sum(product, c, rounding)


def square_root(a: float, kind: str, rounding: int, flush: bool) -> float:
    """Return the square root of a, rounded to a format."""
    if not isfinite(a) or a <= 0:
        return a if a == 0 or a == inf else nan
    exact = Fraction(a)
    shift = 2 * (_ROOT_BITS + max(0, exact.denominator.bit_length()))
    scaled = (exact.numerator << shift) // exact.denominator
    root = isqrt(scaled)
    more = root * root * exact.denominator != exact.numerator << shift
    return rounded(Fraction(2 * root + more, 2 << shift // 2), kind, rounding, flush)


def convert(a: float | int, kind: str, rounding: int, flush: bool) -> float:
    """Convert a float or an integer to a format, rounded."""
    if not isfinite(a) or a == 0:
        return float(a)
    return rounded(Fraction(a), kind, rounding, flush)


BINARY: dict[str, Callable[[float, float, str, int, bool], float]] = {
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "div": divide,
}
