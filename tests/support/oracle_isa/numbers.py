"""Floats: fused products with one rounding, denormals, conversions that saturate, and the steps of a division."""

import ctypes
import math

import numpy as np

_LIBM = ctypes.CDLL("libm.so.6")
_LIBM.fma.restype = ctypes.c_double
_LIBM.fma.argtypes = (ctypes.c_double,) * 3
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
WORDS = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}
MANTISSA = {"f16": 10, "f32": 23, "f64": 52}
BITS = {"f16": 16, "f32": 32, "f64": 64}
BIAS = {"f16": 15, "f32": 127, "f64": 1023}


def kind_of(value: np.ndarray) -> str:
    """f16, f32 or f64."""
    return f"f{value.dtype.itemsize * 8}"


def bits(value: np.ndarray) -> np.ndarray:
    """A float's bits."""
    return value.view(WORDS[kind_of(value)])


def exponent_field(value: np.ndarray) -> np.ndarray:
    """The biased exponent, int64."""
    kind = kind_of(value)
    return ((bits(value) >> WORDS[kind](MANTISSA[kind])).astype(np.int64)) & (2 * BIAS[kind] + 1)


def flushed(value: np.ndarray) -> np.ndarray:
    """Denormals become zeros of their sign."""
    kind = kind_of(value)
    sign = WORDS[kind](1 << BITS[kind] - 1)
    return np.where(exponent_field(value) == 0, bits(value) & sign, bits(value)).view(value.dtype)


def quiet(value: np.ndarray) -> np.ndarray:
    """A NaN is made quiet."""
    kind = kind_of(value)
    one = WORDS[kind](1 << MANTISSA[kind] - 1)
    return np.where(np.isnan(value), bits(value) | one, bits(value)).view(value.dtype)


def _odd_sum(product: np.ndarray, c: np.ndarray) -> np.ndarray:
    """product + c in FP64, rounded to odd: a later rounding to fewer bits is then the only one (Boldo, Melquiond)."""
    total = product + c
    part = total - product
    error = (product - (total - part)) + (c - part)
    inexact = np.isfinite(total) & (error != 0)
    word = total.view(np.int64)
    even = word & 1 == 0
    away = (error > 0) == (total > 0)
    return np.where(inexact & even, word + np.where(away, 1, -1), word).view(np.float64)


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c, rounded once to nearest."""
    if a.dtype == np.float64:
        one = _LIBM.fma
        rows = zip(a.tolist(), b.tolist(), c.tolist(), strict=True)
        return np.array([one(x, y, z) for x, y, z in rows], np.float64)
    wide = [x.astype(np.float64) for x in (a, b, c)]
    return _odd_sum(wide[0] * wide[1], wide[2]).astype(a.dtype)


def ldexp(a: np.ndarray, n: np.ndarray) -> np.ndarray:
    """a * 2**n, rounded once."""
    n = np.clip(n.astype(np.int64), -5000, 5000).astype(np.int32)
    if a.dtype == np.float64:
        return np.array([_scaled(x, int(k)) for x, k in zip(a.tolist(), n.tolist(), strict=True)])
    return np.ldexp(a.astype(np.float64), np.clip(n, -600, 600)).astype(a.dtype)


def _scaled(x: float, n: int) -> float:
    try:
        return math.ldexp(x, n)
    except OverflowError:
        return math.copysign(math.inf, x)


def to_integer(value: np.ndarray, low: int, high: int) -> np.ndarray:
    """Towards zero, saturated; NaN is 0. The result as int64 (its low 32 bits count)."""
    wide = np.trunc(value.astype(np.float64))
    return np.where(np.isnan(wide), 0, np.clip(wide, low, high)).astype(np.int64)


def larger(a: np.ndarray, b: np.ndarray, ieee: bool, sign: int = 1) -> np.ndarray:
    """The larger number, or with sign -1 the smaller: +0 above -0, a number rather than a NaN.

    ieee: a signalling NaN is what comes out, made quiet.
    """
    kind = kind_of(a)
    one = WORDS[kind](1 << MANTISSA[kind] - 1)
    key_a, key_b = _ordered(a) * sign, _ordered(b) * sign
    result = np.where(key_b > key_a, b, a)
    result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))
    if ieee:
        signals = [np.isnan(x) & (bits(x) & one == 0) for x in (a, b)]
        result = np.where(signals[0], a, np.where(signals[1], b, result))
    return quiet(result.astype(a.dtype))


def _ordered(a: np.ndarray) -> np.ndarray:
    kind = kind_of(a)
    signed = a.view(f"i{a.dtype.itemsize}").astype(np.int64)
    if kind == "f64":
        return np.where(signed < 0, ~(signed & np.int64((1 << 63) - 1)), signed)
    return np.where(signed < 0, -1 - (signed & (1 << BITS[kind] - 1) - 1), signed)


def middle(a: np.ndarray, b: np.ndarray, c: np.ndarray, ieee: bool) -> np.ndarray:
    """The middle of three; the smallest where one is a NaN."""
    nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    top = larger(larger(a, b, ieee), c, ieee)
    least = larger(larger(a, b, ieee, -1), c, ieee, -1)
    at = [bits(x) == bits(top) for x in (a, b, c)]
    rest = np.where(at[0], larger(b, c, ieee), np.where(at[1], larger(a, c, ieee), larger(a, b, ieee))).astype(a.dtype)
    return np.where(nan, least, rest).astype(a.dtype)


_SCALE = {"f32": (64, 96, 23), "f64": (128, 768, 53)}


def div_scale(a: np.ndarray, denominator: np.ndarray, numerator: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v_div_scale (manual, chapter 12): the operand, scaled where a quotient leaves the range; who must undo it."""
    kind = kind_of(a)
    by, far, tiny = _SCALE[kind]
    n = np.full(a.shape, by, np.int64)
    up, down = ldexp(a, n), ldexp(a, -n)
    of_denominator, of_numerator = bits(a) == bits(denominator), bits(a) == bits(numerator)
    difference = exponent_field(numerator) - exponent_field(denominator)
    if kind == "f32":
        wide = [x.astype(np.float64) for x in (numerator, denominator)]
    else:
        wide = [numerator, denominator]
    least = 2.0 ** (1 - BIAS[kind])
    inverse, quotient = 1.0 / wide[1], wide[0] / wide[1]
    small_inverse = (np.abs(inverse) < least) & (inverse != 0)
    small_quotient = (np.abs(quotient) < least) & (quotient != 0)
    result, flag = a.copy(), np.zeros(a.shape, bool)
    nan = np.array([math.nan]).astype(a.dtype)[0]
    done = np.zeros(a.shape, bool)

    def case(where: np.ndarray, value: np.ndarray, undo: bool) -> None:
        nonlocal result, flag, done
        chosen = where & ~done
        result = np.where(chosen, value, result).astype(a.dtype)
        flag = flag | (chosen & undo)
        done = done | where

    case((numerator == 0) | (denominator == 0), np.full(a.shape, nan, a.dtype), False)
    case(difference >= far, np.where(of_denominator, up, a), True)
    case((exponent_field(denominator) == 0) & (denominator != 0), up, False)
    case(small_inverse & small_quotient, np.where(of_denominator, down, a), True)
    case(small_inverse, down, False)
    case(small_quotient, np.where(of_numerator, up, a), True)
    case(exponent_field(numerator) <= tiny, up, False)
    return result, flag


def div_fmas(a: np.ndarray, b: np.ndarray, c: np.ndarray, undo: np.ndarray) -> np.ndarray:
    """v_div_fmas: a * b + c, scaled back by what v_div_scale has noted."""
    kind = kind_of(a)
    by = _SCALE[kind][0]
    plain = fma(a, b, c)
    power = np.where(exponent_field(c) > BIAS[kind], by, -by)
    return np.where(undo, ldexp(plain, power), plain).astype(a.dtype)


def div_fixup(a: np.ndarray, denominator: np.ndarray, numerator: np.ndarray) -> np.ndarray:
    """v_div_fixup: the quotient with its sign, zeros, infinities and NaN put right."""
    kind = kind_of(a)
    word = WORDS[kind]
    sign = (bits(denominator) ^ bits(numerator)) & word(1 << BITS[kind] - 1)
    infinity = word((2 * BIAS[kind] + 1) << MANTISSA[kind])
    none = word((1 << BITS[kind] - 1) | int(infinity) | 1 << MANTISSA[kind] - 1)
    size = bits(a) & word((1 << BITS[kind] - 1) - 1)
    under = exponent_field(numerator) - exponent_field(denominator) < {"f16": -25, "f32": -150, "f64": -1075}[kind]
    result = sign | np.where(np.isnan(a), infinity, size)
    result = np.where(under, sign, result)
    result = np.where(np.isinf(denominator) | (numerator == 0), sign, result)
    result = np.where((denominator == 0) | np.isinf(numerator), sign | infinity, result)
    both = ((denominator == 0) & (numerator == 0)) | (np.isinf(denominator) & np.isinf(numerator))
    result = np.where(both, none, result)
    result = np.where(np.isnan(denominator), bits(quiet(denominator)), result)
    result = np.where(np.isnan(numerator), bits(quiet(numerator)), result)
    return result.astype(word).view(a.dtype)


def transcendental(name: str, a: np.ndarray) -> np.ndarray:
    """rcp, rsq, sqrt, exp, log (base 2), sin, cos (revolutions): correctly rounded but for FP64's rsq."""
    wide = a.astype(np.float64)
    if name in ("sin", "cos"):
        turns = wide - np.rint(wide)
        value = (np.sin if name == "sin" else np.cos)(2 * np.pi * turns)
        for turn, exact in {0.25: (1, 0), -0.25: (-1, 0), 0.5: (0, -1), -0.5: (0, -1)}.items():
            value = np.where(turns == turn, exact[name == "cos"], value)
        value = np.where(np.abs(wide) > 256, float(name == "cos"), value)
        value = np.where((wide == 0) & (name == "sin"), wide, np.where(np.isinf(wide), np.nan, value))
    else:
        value = {
            "rcp": lambda x: 1.0 / x,
            "rsq": lambda x: np.where(x == 0, np.copysign(np.inf, x), 1.0 / np.sqrt(x)),
            "sqrt": np.sqrt,
            "exp": np.exp2,
            "log": np.log2,
        }[name](wide)
    result = value.astype(a.dtype)
    word = WORDS[kind_of(a)]
    none = word((2 * BIAS[kind_of(a)] + 1) << MANTISSA[kind_of(a)] | 1 << MANTISSA[kind_of(a)] - 1)
    new = np.where(np.isnan(result), none, bits(result)).astype(word).view(a.dtype)
    return np.where(np.isnan(a), quiet(a), new).astype(a.dtype)
