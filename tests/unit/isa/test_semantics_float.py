"""Are floating-point results those of exact arithmetic, rounded once (or twice where the manual says so)?"""

from fractions import Fraction
from math import ceil, copysign, floor, frexp, inf, isinf, isnan, isqrt, trunc

import pytest

from tests.unit.isa.lane_checks import (
    FORMATS,
    LANES,
    arithmetic,
    benches,
    check,
    flushed,
    from_float,
    infinity,
    round_bits,
    sign_bit,
    to_float,
)

pytestmark = pytest.mark.compiled_tier  # there it runs both back ends, plain Python too


def nan_of(kind):
    return infinity(kind) | infinity(kind) >> 1


def is_nan(bits, kind):
    return bits & ~sign_bit(kind) > infinity(kind)


def order(kind):
    """Sort key that puts -0 before +0."""
    return lambda bits: (to_float(bits, kind), bits == 0)


def smaller(kind, best=min):
    def reference(*bits):
        numbers = [b for b in bits if not is_nan(b, kind)]
        return best(numbers, key=order(kind)) if numbers else nan_of(kind)

    return reference


def middle(kind):
    def reference(*bits):
        if any(is_nan(b, kind) for b in bits):
            return smaller(kind)(*bits)
        return sorted(bits, key=order(kind))[1]

    return reference


def rounding(function, kind):
    """Reference of a rounding to an integer; zeros keep the operand's sign."""

    def reference(bits):
        value = to_float(bits, kind)
        if isnan(value) or isinf(value):
            return bits if isinf(value) else nan_of(kind)
        return from_float(copysign(float(function(value)), value), kind)

    return reference


def fraction(kind):
    def reference(bits):
        value = to_float(bits, kind)
        if isnan(value) or isinf(value):
            return nan_of(kind)
        exact = Fraction(value) - floor(value)
        one = from_float(1.0, kind)
        return min(round_bits(exact, kind), one - 1) if exact else 0

    return reference


def unfused(kind, flush):
    """a * b rounded, then + c rounded, FP32 denormals flushed at every step."""
    multiply, add = arithmetic(lambda a, b: a * b, kind), arithmetic(lambda a, b: a + b, kind)
    step = flushed if flush else (lambda bits, kind: bits)
    return lambda a, b, c: add(step(multiply(a, b), kind), c)


def legacy(function):
    def reference(a, b, *c):
        if not to_float(a, "f32") or not to_float(b, "f32"):
            return arithmetic(lambda p, q: p + q, "f32")(0, *c) if c else 0
        return function(a, b, *c)

    return reference


def exponent_of(bits, kind):
    value = to_float(bits, kind)
    return (
        0 if isnan(value) or isinf(value) or value == 0 else frexp(value)[1] & (0xFFFF if kind == "f16" else 0xFFFFFFFF)
    )


def mantissa_of(bits, kind):
    value = to_float(bits, kind)
    if isnan(value) or isinf(value) or value == 0:
        return bits
    return from_float(frexp(value)[0], kind)


def scaled(kind, exponent_bits):
    def reference(bits, exponent):
        value = to_float(bits, kind)
        if isnan(value) or isinf(value) or value == 0:
            return bits
        exponent -= (exponent >> (exponent_bits - 1)) << exponent_bits
        return round_bits(Fraction(value) * Fraction(2) ** max(-3000, min(3000, exponent)), kind)

    return reference


def root(kind):
    def reference(bits):
        value = to_float(bits, kind)
        if isnan(value) or value < 0:
            return nan_of(kind)
        if value == 0 or isinf(value):
            return bits
        exact = Fraction(value)
        shifted = (exact.numerator << 4000) // exact.denominator
        whole = isqrt(shifted)
        inexact = whole * whole * exact.denominator != exact.numerator << 4000
        return round_bits(Fraction(whole * 4 + inexact, 1 << 2002), kind)

    return reference


def reciprocal(kind):
    def reference(bits):
        value = to_float(bits, kind)
        if value == 0:
            return bits | infinity(kind)
        return from_float(1 / value, kind) if isnan(value) or isinf(value) else round_bits(1 / Fraction(value), kind)

    return reference


def common(kind, flush):
    """References of the operations a format has in common with the others, and how they flush."""
    integer = {"f16": "i16", "f32": "i32", "f64": "i32"}[kind]
    table = {
        f"v_add_{kind}": (arithmetic(lambda a, b: a + b, kind), flush),
        f"v_mul_{kind}": (arithmetic(lambda a, b: a * b, kind), flush),
        f"v_fma_{kind}": (arithmetic(lambda a, b, c: a * b + c, kind), flush),
        f"v_min_{kind}": (smaller(kind), "never"),
        f"v_max_{kind}": (smaller(kind, max), "never"),
        f"v_trunc_{kind}": (rounding(trunc, kind), flush),
        f"v_ceil_{kind}": (rounding(ceil, kind), flush),
        f"v_floor_{kind}": (rounding(floor, kind), flush),
        f"v_rndne_{kind}": (rounding(round, kind), flush),
        f"v_fract_{kind}": (fraction(kind), flush),
        f"v_frexp_exp_{integer}_{kind}": (lambda b: exponent_of(b, kind), "never"),
        f"v_frexp_mant_{kind}": (lambda b: mantissa_of(b, kind), "never"),
        f"v_ldexp_{kind}": (scaled(kind, 16 if kind == "f16" else 32), flush),
        f"v_sqrt_{kind}": (root(kind), "always" if kind == "f32" else "never"),
        f"v_rcp_{kind}": (reciprocal(kind), "always" if kind == "f32" else "never"),
    }
    if kind != "f64":
        table[f"v_sub_{kind}"] = (arithmetic(lambda a, b: a - b, kind), flush)
        table[f"v_subrev_{kind}"] = (arithmetic(lambda a, b: b - a, kind), flush)
        mad = unfused(kind, kind == "f32")
        always = "always" if kind == "f32" else "never"
        table[f"v_mac_{kind}"] = (mad, always)
        table[f"v_mad_{kind}"] = (mad, always)
        table[f"v_madmk_{kind}"] = (mad, always)
    return table


multiply32 = arithmetic(lambda a, b: a * b, "f32")
REFERENCES = {
    **common("f16", "never"),
    **common("f32", "mode"),
    **common("f64", "never"),
    "v_madak_f32": (unfused("f32", True), "always"),
    "v_mul_legacy_f32": (legacy(multiply32), "mode"),
    "v_mad_legacy_f32": (legacy(unfused("f32", True)), "always"),
    "v_min3_f32": (smaller("f32"), "never"),
    "v_max3_f32": (smaller("f32", max), "never"),
    "v_med3_f32": (middle("f32"), "never"),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_float(name):
    reference, flush = REFERENCES[name]
    check(name, reference, flush)


def test_references_round_like_the_formats_say():
    assert round_bits(Fraction(1, 3), "f32") == 0x3EAAAAAB
    assert round_bits(Fraction(65519), "f16") == 0x7BFF and round_bits(Fraction(65520), "f16") == infinity("f16")
    assert (
        round_bits(Fraction(2) ** -1075, "f64") == 0 and round_bits(Fraction(3, 2) * Fraction(2) ** -1074, "f64") == 2
    )
    assert from_float(-inf, "f32") == 0xFF800000 and FORMATS["f64"] == (52, -1022)


def test_fused_half_is_not_rounded_twice():
    """Just below the tie between 1 + 2**-10 and 1 + 2**-9, where FP32 would round to the tie and FP16 then up."""
    a, b, c = (from_float(v, "f16") for v in (1 + 2.0**-10, 2.0**-11 * (1 - 2.0**-10), 1 + 2.0**-10))
    for bench in benches():
        for row, value in ((1, a), (2, b), (3, c)):
            bench.put(row, "f16", [value] * LANES)
        bench.call("v_fma_f16", 0, 1, 2, 3)
        assert (
            bench.get(0, "u32") == [arithmetic(lambda p, q, r: p * q + r, "f16")(a, b, c)] * LANES == [0x3C01] * LANES
        )
