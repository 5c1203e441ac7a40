"""What instructions compute under a MODE register, by exact rational arithmetic on one lane's bits.

FP32 and FP64 results count as denormal where their 24 or 53 bits are below the normal range whatever the exponent's
limit, as x86-64 does it; FP16 results where the rounded number is denormal.
"""

from fractions import Fraction
from math import ceil, copysign, floor, inf, isfinite, isnan, isqrt, nan, trunc

from tests.unit.isa.lane_checks import FORMATS, from_float, infinity, sign_bit, to_float

NEAREST, UP, DOWN, ZERO = range(4)
IEEE, DX10 = 1 << 9, 1 << 8


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


def square_root(kind, how, a):
    x = to_float(taken_in(a, kind, how[1]), kind)
    if x <= 0 or not isfinite(x):
        return from_float(x if x == 0 or x == inf else nan, kind)
    scaled_up = Fraction(x) * Fraction(4) ** 1300  # an integer, and enough digits of the root
    whole = isqrt(int(scaled_up))
    return rounded_bits(Fraction(2 * whole + (whole * whole != scaled_up), 2 << 1300), kind, how[0], how[2])


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


def rounded_byte(mode, a, select, into):
    value = to_float(taken_in(a, "f32", fields(mode, "f32")[1]), "f32")
    whole = (
        0
        if isnan(value)
        else quantised(Fraction(min(max(value, 0.0), 255.0)), 1, ("nearest", "out", "in", "in")[mode & 3])
    )
    shift = 8 * (select & 3)
    return into & ~(0xFF << shift) & 0xFFFFFFFF | whole << shift


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
    "v_sqrt_f64": of_kind("f64", square_root),
    "v_sqrt_f32": lambda mode, a: square_root("f32", (NEAREST, False, False), a),
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
    "v_cvt_pk_u8_f32": rounded_byte,
    "v_cvt_pkaccum_u8_f32": rounded_byte,
}
