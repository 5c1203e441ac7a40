"""Are transcendental functions within an ulp, with the manual's special cases, and do the division helpers divide?"""

import math
from fractions import Fraction
from math import inf, isnan

import numpy as np
import pytest

from tests.unit.isa.lane_checks import (
    FLUSH_MODE,
    FORMATS,
    KEEP_MODE,
    LANES,
    arithmetic,
    benches,
    check,
    flushed,
    from_float,
    infinity,
    round_bits,
    same,
    sample,
    sign_bit,
    to_float,
)

pytestmark = pytest.mark.compiled_tier  # there it runs both back ends, plain Python too

NAN = math.nan


def exp2(v):
    return 0.0 if v < -1080 else inf if v > 1025 else math.pow(2.0, v)


def log2(v):
    return -inf if v == 0 else NAN if v < 0 else math.log2(v)


def rsq(v):
    return math.copysign(inf, v) if v == 0 else NAN if v < 0 else 1 / math.sqrt(v)


def turn(function, outside):
    def value(v):
        if abs(v) == inf:
            return NAN
        if abs(v) > 256:
            return outside
        if v and v == int(v):
            return function(0.0)
        return function(2 * math.pi * math.fmod(v, 1.0))

    return value


def cosine(angle):
    """Exact at the zeros of the cosine, where pi is not."""
    quarter = abs(angle) / (math.pi / 2)
    return 0.0 if quarter in (1.0, 3.0) else math.cos(angle)


def sine(angle):
    return 0.0 if abs(angle) in (math.pi, 2 * math.pi) else math.sin(angle)


FUNCTIONS = {"exp": exp2, "log": log2, "rsq": rsq, "sin": turn(sine, 0.0), "cos": turn(cosine, 1.0)}


def reference(function, kind):
    def of(bits):
        value = to_float(bits, kind)
        return from_float(NAN if isnan(value) else function(value), kind)

    return of


@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_one_unit(name):
    check(f"v_{name}_f32", reference(FUNCTIONS[name], "f32"), "always", ulps=1)
    check(f"v_{name}_f16", reference(FUNCTIONS[name], "f16"), ulps=1)


def special_values(kind):
    """Zeros, denormals, some numbers, infinities, quiet and signalling NaNs with payloads, of both signs."""
    top, unit = infinity(kind), 1 << FORMATS[kind][0]
    quiet = unit >> 1
    sizes = [0, 1, quiet, unit - 1, unit, unit + 1, from_float(0.25, kind), from_float(1.0, kind), top - 1, top]
    sizes += [top | 1, top | quiet - 1, top | quiet, top | quiet | 1, top | quiet | 0x155, top | 2 * quiet - 1]
    sizes += [from_float(v, kind) for v in (0.1, 0.5, 2.0, 3.0, 255.0, 256.0, 257.0, 1000.0)]
    return [sign | size for sign in (0, sign_bit(kind)) for size in sizes]


@pytest.mark.parametrize("mode", [KEEP_MODE, FLUSH_MODE])
@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in ("rcp", "sqrt", *FUNCTIONS) for kind in ("f16", "f32")]
    + [(name, "f64") for name in ("rcp", "rsq", "sqrt")],
)
def test_special_values_give_the_same_bits_compiled_and_not(name, kind, mode):
    """A NaN keeps its sign and payload and is made quiet; where a number gives one, it is positive and empty."""
    values = special_values(kind)
    values += values[: LANES - len(values)]
    found = []
    for bench in benches():
        bench.put(2, kind, values)
        bench.call(f"v_{name}_{kind}", 0, 2, mode=mode)
        found.append([bits & 2 * sign_bit(kind) - 1 for bits in bench.get(0, kind)])
    assert all(one == found[0] for one in found[1:])
    quiet = 1 << FORMATS[kind][0] - 1
    for bits, got in zip(values, found[0], strict=True):
        if isnan(to_float(bits, kind)):
            assert got == bits | quiet, hex(bits)
        elif isnan(to_float(got, kind)):
            assert got == infinity(kind) | quiet, hex(bits)


def test_legacy_names_and_f64():
    for name, plain in (("v_exp_legacy_f32", "exp"), ("v_log_legacy_f32", "log")):
        check(name, reference(FUNCTIONS[plain], "f32"), "always", ulps=1, trials=2)
    check("v_rsq_f64", reference(rsq, "f64"), ulps=1)


def test_a_turn_of_the_circle():
    turns = [i / 64 - 0.5 for i in range(LANES)]
    for bench in benches():
        bench.put(1, "f32", [from_float(v, "f32") for v in turns])
        bench.call("v_sin_f32", 2, 1)
        bench.call("v_cos_f32", 3, 1)
        s = [to_float(b, "f32") for b in bench.get(2, "f32")]
        c = [to_float(b, "f32") for b in bench.get(3, "f32")]
        assert (s[16], s[48], c[0], c[32], s[0], c[16]) == (-1.0, 1.0, -1.0, 1.0, 0.0, 0.0)
        assert all(abs(p * p + q * q - 1) < 3e-7 for p, q in zip(s, c, strict=True))


def quotient_kinds(kind):
    rng = np.random.default_rng(11)
    pairs = []
    for _ in range(12):
        pairs += list(zip(sample(rng, kind), sample(rng, kind), strict=True))
    exponent_bits = {"f32": 23, "f64": 52}[kind]
    biased = {"f32": 254, "f64": 2046}[kind]
    for _ in range(12 * LANES):  # wide spread of exponents, denormals included
        n, d = (
            (int(rng.integers(0, biased + 1)) << exponent_bits) | int(rng.integers(0, 1 << exponent_bits)) for _ in "nd"
        )
        pairs.append((n, d))
    return pairs


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_division_sequence_is_correctly_rounded(kind):
    """The sequence that LLVM emits for an IEEE division, against exact division."""
    pairs = quotient_kinds(kind)
    divide = arithmetic(lambda n, d: n / d, kind)

    def expected(n, d):
        top, bottom = to_float(n, kind), to_float(d, kind)
        sign = (n ^ d) & sign_bit(kind)
        if isnan(top) or isnan(bottom) or (top == 0 and bottom == 0) or (abs(top) == inf and abs(bottom) == inf):
            return infinity(kind) | 1
        if bottom == 0 or abs(top) == inf:
            return sign | infinity(kind)
        if abs(bottom) == inf or top == 0:
            return sign
        return divide(n, d)

    rows = {name: 2 * i for i, name in enumerate(("n", "d", "ds", "ns", "r", "e", "q", "one", "x", "zero"))}
    for bench in benches():

        def run(op, to, *sources, mask=0, bench=bench):
            places = ([rows[s] for s in sources] + [0, 0])[:3]
            return bench.call(f"v_{op}_{kind}", rows[to], *places, -1, mask, KEEP_MODE)

        def negated(to, source, bench=bench):
            bench.call_raw(f"row_sign_{kind}", bench.address(rows[to]), bench.address(rows[source]), 2, 0, -1, 0)

        for start in range(0, len(pairs), LANES):
            block = pairs[start : start + LANES]
            bench.put(rows["n"], kind, [n for n, _ in block])
            bench.put(rows["d"], kind, [d for _, d in block])
            bench.put(rows["one"], kind, [from_float(1.0, kind)] * LANES)
            run("div_scale", "ds", "d", "d", "n")
            mask = run("div_scale", "ns", "n", "d", "n")
            run("rcp", "r", "ds")
            negated("x", "ds")
            for _ in range(2):
                run("fma", "e", "x", "r", "one")
                run("fma", "r", "e", "r", "r")
            run("mul", "q", "ns", "r")
            run("fma", "e", "x", "q", "ns")
            run("fma", "q", "e", "r", "q")
            run("fma", "e", "x", "q", "ns")
            run("div_fmas", "q", "e", "r", "q", mask=mask)
            run("div_fixup", "q", "q", "d", "n")
            for (n, d), got in zip(block, bench.get(rows["q"], kind), strict=True):
                wanted = expected(n, d)
                smallest = {"f32": 1 << 23, "f64": 1 << 52}[kind]
                denormal = wanted & ~sign_bit(kind) < smallest
                assert same(got, wanted, kind, ulps=1 if denormal else 0), (hex(n), hex(d), hex(got), hex(wanted))


def fixup(kind):
    def of(quotient, bottom, top):
        n, d = to_float(top, kind), to_float(bottom, kind)
        sign = (top ^ bottom) & sign_bit(kind)
        if isnan(n) or isnan(d) or (n == 0 and d == 0) or (abs(n) == inf and abs(d) == inf):
            return infinity(kind) | 1
        if d == 0 or abs(n) == inf:
            return sign | infinity(kind)
        if abs(d) == inf or n == 0:
            return sign
        mantissa = {"f16": 10, "f32": 23, "f64": 52}[kind]
        gap = (top & ~sign_bit(kind)) >> mantissa
        gap -= (bottom & ~sign_bit(kind)) >> mantissa
        if gap < {"f16": -25, "f32": -150, "f64": -1075}[kind]:
            return sign
        return sign | (infinity(kind) if isnan(to_float(quotient, kind)) else quotient & ~sign_bit(kind))

    return of


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_fixup(kind):
    check(f"v_div_fixup_{kind}", fixup(kind))


def scale(kind):
    """The manual's decision list; the scale of a doubly denormal case as `isa.semantics.divide` reads it."""
    mantissa, bias, by, far, tiny = {"f32": (23, 127, 64, 96, 23), "f64": (52, 1023, 128, 768, 53)}[kind]
    least = Fraction(2) ** (1 - bias)

    def times(bits, exponent):
        value = to_float(bits, kind)
        return (
            bits
            if isnan(value) or abs(value) == inf or value == 0
            else round_bits(Fraction(value) * Fraction(2) ** exponent, kind)
        )

    def denormal(numerator, denominator):
        if isnan(numerator) or abs(numerator) == inf or isnan(denominator) or abs(denominator) == inf:
            return False
        size = abs(Fraction(numerator) / Fraction(denominator))
        if kind == "f64":
            size = Fraction(float(size)) if size < 1 else size
        return 0 < size < least

    def of(a, bottom, top):
        n, d = to_float(top, kind), to_float(bottom, kind)
        exponents = [(v & ~sign_bit(kind)) >> mantissa for v in (bottom, top)]
        if n == 0 or d == 0:
            return infinity(kind) | 1, False
        if exponents[1] - exponents[0] >= far:
            return (times(a, by) if a == bottom else a), True
        if exponents[0] == 0:
            return times(a, by), False
        inverse, quotient = denormal(1.0, d), denormal(n, d)
        if inverse and quotient:
            return (times(a, -by) if a == bottom else a), True
        if inverse:
            return times(a, -by), False
        if quotient:
            return (times(a, by) if a == top else a), True
        return (times(a, by) if exponents[1] <= tiny else a), False

    return of


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_scale_of_unrelated_operands(kind):
    check(f"v_div_scale_{kind}", scale(kind))


def fmas(kind):
    plain = arithmetic(lambda a, b, c: a * b + c, kind)
    mantissa, bias, by = {"f32": (23, 127, 64), "f64": (52, 1023, 128)}[kind]

    def of(a, b, c, mask):
        bits = plain(a, b, c)
        value = to_float(bits, kind)
        if not mask or isnan(value) or abs(value) == inf or value == 0:
            return bits
        exponent = (c & ~sign_bit(kind)) >> mantissa
        return round_bits(Fraction(value) * Fraction(2) ** (by if exponent > bias else -by), kind)

    return of


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fmas(kind):
    check(f"v_div_fmas_{kind}", fmas(kind), "mode" if kind == "f32" else "never")


def two_over_pi(bits):
    """2 / pi from Gauss-Legendre in integers: floor of 2 / pi * 2 ** bits."""
    one = 1 << (bits + 80)
    a, b, t, p = one, math.isqrt(one * one // 2), one // 4, 1
    for _ in range(12):
        a, b, t, p = (a + b) // 2, math.isqrt(a * b), t - p * ((a - (a + b) // 2) ** 2 // one), 2 * p
    pi = (a + b) ** 2 // (4 * t)
    return 2 * one * one // pi >> 80


def test_segments_of_two_over_pi():
    digits = two_over_pi(1400)

    def segment(bits, number):
        exponent = bits >> 52 & 0x7FF
        shift = 53 * (number & 31) + max(0, exponent - 1077)
        window = (digits >> 199 << 199) >> (1400 - shift - 53) & ((1 << 53) - 1) if shift <= 1347 else 0
        if window == 0:
            return 0
        return round_bits(Fraction(window) * Fraction(2) ** (-53 - shift + (128 if exponent >= 1968 else 0)), "f64")

    check("v_trig_preop_f64", segment)
    for bench in benches():
        bench.put(2, "f64", [from_float(1e6, "f64")] * LANES)
        bench.put(4, "u32", [i % 24 for i in range(LANES)])
        bench.call("v_trig_preop_f64", 0, 2, 4)
        total = sum(Fraction(to_float(b, "f64")) for b in bench.get(0, "f64")[:22])
        assert abs(total - Fraction(digits, 1 << 1400)) < Fraction(1, 1 << 1000)


REFERENCES = {f"v_{n}_{k}": None for n in FUNCTIONS for k in ("f32", "f16")}
REFERENCES |= {f"v_{n}_{k}": None for n in ("div_scale", "div_fmas", "div_fixup") for k in ("f32", "f64")}
REFERENCES |= dict.fromkeys(["v_rsq_f64", "v_div_fixup_f16", "v_trig_preop_f64"])


def test_denormals_are_flushed_whatever_mode_says():
    for bench in benches():
        bench.put(1, "f32", [0x00000001] * LANES)
        bench.call("v_rcp_f32", 2, 1, mode=KEEP_MODE)
        assert bench.get(2, "f32") == [0x7F800000] * LANES
        assert flushed(0x00000001, "f32") == 0
