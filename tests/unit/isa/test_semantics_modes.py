"""Do rounding and denormals follow MODE's fields, in every combination, in both back ends?"""

import platform
from fractions import Fraction
from math import ceil, copysign, floor, inf, isfinite, isnan, trunc

import numpy as np
import pytest

from isa.lanes.exact_rounding import rounded
from tests.unit.isa.lane_checks import (
    EXEC_MASKS,
    FORMATS,
    LANES,
    benches,
    from_float,
    infinity,
    lanes_of,
    round_bits,
    same,
    sample,
    sign_bit,
    to_float,
)

NEAREST, UP, DOWN, ZERO = range(4)
IEEE, DX10 = 1 << 9, 1 << 8
# rounding of FP32 and of FP64, all pairs; denormals one of sixteen each
MODES = [pair | (pair * 5 + 3 & 15) << 4 | (DX10 if pair & 1 else 0) | (IEEE if pair & 2 else 0) for pair in range(16)]
MODES += [0xC0, 0xF0, 0x00, 0x30, 0x9D, 0x66]

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="other hosts flush inputs and results together"
)


def fields(mode, kind):
    """Rounding, denormal inputs kept, denormal results kept."""
    if kind == "f32":
        return mode & 3, bool(mode & 0x10), bool(mode & 0x20)
    return mode >> 2 & 3, bool(mode & 0x40), bool(mode & 0x80)


def is_denormal(bits, kind):
    return 0 < bits & (sign_bit(kind) - 1) < 1 << FORMATS[kind][0]


def taken_in(bits, kind, keep):
    return bits & sign_bit(kind) if is_denormal(bits, kind) and not keep else bits


def quantised(size, unit, direction):
    """A positive rational in units; direction: 'nearest', 'out' or 'in'."""
    if direction == "nearest":
        return round(size / unit)
    return ceil(size / unit) if direction == "out" else floor(size / unit)


def rounded_bits(exact, kind, rounding, keep):
    """A non-zero rational as bits. FP32 and FP64 results are tiny if their 24 or 53 bits are below the normal range,
    FP16 results if they are denormal."""
    mantissa, least = FORMATS[kind]
    sign = sign_bit(kind) if exact < 0 else 0
    size = abs(exact)
    direction = ("nearest", "in" if sign else "out", "out" if sign else "in", "in")[rounding]
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    steps = quantised(size, Fraction(2) ** (max(exponent, least) - mantissa), direction)
    bits = ((max(exponent, least) - least) << mantissa) + steps
    if bits >= infinity(kind):
        bits = infinity(kind) - (direction == "in")
    if not keep:
        unbounded = Fraction(2) ** (exponent - mantissa)
        tiny = quantised(size, unbounded, direction) * unbounded < Fraction(2) ** least
        if is_denormal(bits, kind) if kind == "f16" else tiny:
            bits = 0
    return sign | bits


def sum_of(terms, kind, rounding, keep):
    """A sum of exact terms (signed zeros as floats) rounded once, as bits."""
    exact = sum(Fraction(t) for t in terms)
    if exact:
        return rounded_bits(exact, kind, rounding, keep)
    signs = {copysign(1.0, t) for t in terms}
    alike = len(signs) == 1 and all(t == 0 for t in terms)
    return from_float(copysign(0.0, signs.pop() if alike else (-1.0 if rounding == DOWN else 1.0)), kind)


def product(a, b):
    """An exact product, a zero with its sign."""
    return Fraction(a) * Fraction(b) if a and b else a * b


def fused(bits, kind, rounding, keep_in, keep_out):
    a, b, c = (to_float(taken_in(v, kind, keep_in), kind) for v in bits)
    if not (isfinite(a) and isfinite(b)):
        return from_float(a * b + c, kind)
    return sum_of([product(a, b), c], kind, rounding, keep_out) if isfinite(c) else from_float(c, kind)


def added(signs):
    def reference(kind, how, a, b):
        values = [s * to_float(taken_in(v, kind, how[1]), kind) for s, v in zip(signs, (a, b), strict=True)]
        if not all(map(isfinite, values)):
            return from_float(sum(values), kind)
        return sum_of(values, kind, how[0], how[2])

    return reference


def multiplied(kind, how, a, b):
    x, y = (to_float(taken_in(v, kind, how[1]), kind) for v in (a, b))
    if not (isfinite(x) and isfinite(y)):
        return from_float(x * y, kind)
    return sum_of([product(x, y)], kind, how[0], how[2])


def multiply_add(kind, how, a, b, c):
    """The product is rounded and flushed as a result, not once more as an input."""
    c = taken_in(c, kind, how[1])
    return added((1, 1))(kind, (how[0], True, how[2]), multiplied(kind, how, a, b), c)


def reciprocal(kind, how, a):
    x = to_float(taken_in(a, kind, how[1]), kind)
    if x == 0 or not isfinite(x):
        return from_float(x if isnan(x) else 1 / x if x else copysign(inf, x), kind)
    return rounded_bits(1 / Fraction(x), kind, how[0], how[2])


def to_whole(function):
    def reference(kind, how, a):
        x = to_float(taken_in(a, kind, how[1]), kind)
        return from_float(copysign(float(function(x)), x) if isfinite(x) else x, kind)

    return reference


def scaled(kind, how, a, exponent):
    x = to_float(taken_in(a, kind, how[1]), kind)
    width = 16 if kind == "f16" else 32
    exponent -= exponent >> (width - 1) << width
    if x == 0 or not isfinite(x):
        return from_float(x, kind)
    return rounded_bits(Fraction(x) * Fraction(2) ** max(-2500, min(2500, exponent)), kind, how[0], how[2])


def less(kind, how, a, b):
    return to_float(taken_in(a, kind, how[1]), kind) < to_float(taken_in(b, kind, how[1]), kind)


def converted(source, to, rounding=None):
    """Inputs as the source's denormals say, rounding and results as the destination's fields."""

    def reference(mode, bits):
        if source[0] == "f":
            value = to_float(taken_in(bits, source, fields(mode, source)[1]), source)
        else:
            width = int(source[1:])
            value = bits - (bits >> (width - 1) << width) if source[0] == "i" else bits
        if not isfinite(value) or value == 0:
            return from_float(float(value), to)
        own = fields(mode, to)
        return rounded_bits(Fraction(value), to, own[0] if rounding is None else rounding, own[2])

    return reference


def packed_towards_zero(mode, a, b):
    low, high = (converted("f32", "f16", ZERO)(mode, v) for v in (a, b))
    return low | high << 16


def of_kind(kind, function):
    return lambda mode, *bits: function(kind, fields(mode, kind), *bits)


CASES = {}
for _kind in ("f16", "f32", "f64"):
    CASES[f"v_add_{_kind}"] = of_kind(_kind, added((1, 1)))
    CASES[f"v_mul_{_kind}"] = of_kind(_kind, multiplied)
    CASES[f"v_fma_{_kind}"] = of_kind(_kind, lambda kind, how, *bits: fused(bits, kind, *how))
    CASES[f"v_floor_{_kind}"] = of_kind(_kind, to_whole(floor))
    CASES[f"v_trunc_{_kind}"] = of_kind(_kind, to_whole(trunc))
    CASES[f"v_ldexp_{_kind}"] = of_kind(_kind, scaled)
    CASES[f"v_cmp_lt_{_kind}"] = of_kind(_kind, less)
for _kind in ("f16", "f32"):
    CASES[f"v_sub_{_kind}"] = of_kind(_kind, added((1, -1)))
CASES |= {
    "v_mad_f16": of_kind("f16", multiply_add),
    "v_mac_f16": of_kind("f16", multiply_add),
    "v_mad_f32": lambda mode, *bits: multiply_add("f32", (mode & 3, False, False), *bits),
    "v_mac_f32": lambda mode, *bits: multiply_add("f32", (mode & 3, False, False), *bits),
    "v_rcp_f64": of_kind("f64", reciprocal),
    "v_rcp_f32": lambda mode, a: reciprocal("f32", (NEAREST, False, False), a),
    "v_rcp_f16": lambda mode, a: reciprocal("f16", (NEAREST, *fields(mode, "f16")[1:]), a),
    "v_div_fmas_f64": of_kind("f64", lambda kind, how, a, b, c, _: fused((a, b, c), kind, *how)),
    "v_div_fmas_f32": of_kind("f32", lambda kind, how, a, b, c, _: fused((a, b, c), kind, *how)),
    "v_cvt_f16_f32": converted("f32", "f16"),
    "v_cvt_f32_f16": converted("f16", "f32"),
    "v_cvt_f32_f64": converted("f64", "f32"),
    "v_cvt_f64_f32": converted("f32", "f64"),
    "v_cvt_f32_i32": converted("i32", "f32"),
    "v_cvt_f32_u32": converted("u32", "f32"),
    "v_cvt_f64_u32": converted("u32", "f64"),
    "v_cvt_f64_i32": converted("i32", "f64"),
    "v_cvt_f16_u16": converted("u16", "f16"),
    "v_cvt_f16_i16": converted("i16", "f16"),
    "v_cvt_pkrtz_f16_f32": packed_towards_zero,
}


def numbers(rng, kind):
    """Samples with many denormals and numbers of like size, so that sums cancel and results are inexact."""
    lanes = sample(rng, kind)
    if kind[0] != "f":
        return lanes
    mantissa, least = FORMATS[kind]
    for i in range(0, LANES, 2):
        exponent = int(rng.choice([0, 1, 2, mantissa, -least, -least + 1, -least - 1, -2 * least]))
        exponent = min(exponent, (infinity(kind) >> mantissa) - 1)
        lanes[i] = (int(rng.integers(0, 2)) << (int(kind[1:]) - 1)) | exponent << mantissa
        lanes[i] |= int(rng.integers(0, 1 << mantissa))
    return lanes


@pytest.mark.parametrize("name", CASES)
def test_every_rounding_and_denormal_mode(name):
    for number, bench in enumerate(benches()):
        signature = bench.lib.signature(name)
        rng = np.random.default_rng(list(name.encode()))
        for trial, mode in enumerate(MODES):
            live = EXEC_MASKS[trial % len(EXEC_MASKS)]
            bench.put(0, "u64", sample(rng, "u64"))
            row, rows, operands = 8, [], []
            for token in signature.operands:
                if token == "mode":
                    continue
                lanes = [0] * LANES if token == "mask" else numbers(rng, token.removeprefix("old:"))
                if token.startswith("old:"):
                    bench.put(0, token[4:], lanes)
                elif token != "mask":
                    bench.put(row, token, lanes)
                    rows.append(row)
                    row += 4
                operands.append(lanes)
            kept = bench.get(0, "u64")
            mask = bench.call(name, 0, *(rows + [0, 0, 0])[:3], live, 0, mode)
            got = bench.get(0, signature.destination) if signature.destination else lanes_of(mask)
            for lane, on in enumerate(lanes_of(live)):
                bits = [o[lane] for o in operands]
                where = (name, number, hex(mode), lane, *map(hex, bits))
                if not on:
                    assert bench.get(0, "u64")[lane] == kept[lane] or not signature.destination, where
                    continue
                wanted = CASES[name](mode, *bits)
                assert agrees(name, got[lane], wanted, signature.destination), (where, hex(got[lane]), hex(wanted))


def agrees(name, got, wanted, kind):
    if name == "v_cvt_pkrtz_f16_f32":
        return all(same(got >> s & 0xFFFF, wanted >> s & 0xFFFF, "f16") for s in (0, 16))
    return same(got, wanted, kind) if kind else got == wanted


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_signalling_nan_in_min_and_max(kind):
    quiet = infinity(kind) | 1 << (FORMATS[kind][0] - 1)
    signalling, one = infinity(kind) | 1, from_float(1.0, kind)
    pairs = [(signalling, one), (one, signalling), (quiet, one), (one, quiet), (quiet, signalling), (one, one)]
    pairs += [(sign_bit(kind) - 1, infinity(kind) | sign_bit(kind)), (signalling | sign_bit(kind), infinity(kind))]
    for bench in benches():
        for place in (0, 1):
            bench.put(4 + 4 * place, kind, [p[place] for p in pairs] + [one] * (LANES - len(pairs)))
        for mode in (0xC0, 0xC0 | IEEE):
            for name in ("min", "max"):
                bench.call(f"v_{name}_{kind}", 0, 4, 8, mode=mode)
                for (a, b), got in zip(pairs, bench.get(0, kind), strict=False):
                    counts = mode & IEEE and signalling in (a & (sign_bit(kind) - 1), b & (sign_bit(kind) - 1))
                    number = b if isnan(to_float(a, kind)) else a
                    assert same(got, quiet if counts or isnan(to_float(number, kind)) else number, kind), (a, b, mode)
                    if got & (sign_bit(kind) - 1) > infinity(kind):
                        assert got & quiet == quiet


def test_min3_takes_the_number_after_a_signalling_pair():
    for bench in benches():
        for row, bits in ((4, 0x7F800001), (8, 0x3F800000), (12, 0x40000000)):
            bench.put(row, "f32", [bits] * LANES)
        bench.call("v_min3_f32", 0, 4, 8, 12, mode=0xC0 | IEEE)
        assert bench.get(0, "f32")[0] == 0x40000000
        bench.call("v_min3_f32", 0, 4, 8, 12, mode=0xC0)
        assert bench.get(0, "f32")[0] == 0x3F800000


def test_exact_rounding_agrees_with_the_reference():
    rng = np.random.default_rng(4)
    for _ in range(3000):
        kind = ("f16", "f32", "f64")[int(rng.integers(0, 3))]
        least = FORMATS[kind][1]
        exponent = int(rng.integers(-4, 4)) + int(rng.choice([0, least, -least]))
        exact = Fraction(int(rng.integers(1, 1 << 62)) * int(rng.choice([-1, 1])), 1 << 62) * Fraction(2) ** exponent
        rounding, flush = int(rng.integers(0, 4)), bool(rng.integers(0, 2)) and kind != "f16"
        wanted = rounded_bits(exact, kind, rounding, not flush)
        assert from_float(rounded(exact, kind, rounding, flush), kind) == wanted
        if rounding == NEAREST and not flush:
            assert wanted == round_bits(exact, kind)
