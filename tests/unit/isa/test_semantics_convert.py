"""Do conversions round, saturate and pack as the manual says?"""

from fractions import Fraction
from math import floor, inf, isnan, trunc

import pytest

from tests.unit.isa.lane_checks import check, from_float, infinity, round_bits, sign_bit, to_float

pytestmark = pytest.mark.compiled_tier  # there it runs both back ends, plain Python too

M32 = 0xFFFFFFFF


def signed(v, bits=32):
    return v - (1 << bits) if v >> (bits - 1) else v


def to_integer(kind, bits, is_signed, rounding=trunc):
    """Saturating conversion; NaN gives 0."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)

    def reference(pattern):
        value = to_float(pattern, kind)
        if isnan(value):
            return 0
        if abs(value) == inf:
            return (high if value > 0 else low) & ((1 << bits) - 1)
        return max(low, min(high, rounding(Fraction(value)))) & ((1 << bits) - 1)

    return reference


def nearest_f32(number):
    return to_float(from_float(float(number), "f32"), "f32")


def half_up(pattern):
    """floor(a + 0.5), the sum rounded to FP32 first."""
    value = to_float(pattern, "f32")
    if isnan(value) or abs(value) == inf:
        return to_integer("f32", 32, True)(pattern)
    total = Fraction(value) + Fraction(1, 2)
    rounded = to_float(round_bits(total, "f32"), "f32") if total else 0.0
    return max(-(1 << 31), min((1 << 31) - 1, floor(rounded))) & M32


def narrow(kind, to):
    return lambda bits: from_float(to_float(bits, kind), to)


def integer_to(kind, is_signed, bits=32):
    return lambda v: (
        from_float(0.0, kind) if v == 0 else round_bits(Fraction(signed(v, bits) if is_signed else v), kind)
    )


def half_towards_zero(pattern):
    value = to_float(pattern, "f32")
    if isnan(value) or abs(value) == inf or value == 0:
        return from_float(value, "f16") | (pattern >> 16 & 0x8000)
    bits = round_bits(Fraction(value), "f16")
    size = bits & 0x7FFF
    if size == infinity("f16") or abs(Fraction(to_float(size, "f16"))) > abs(Fraction(value)):
        size -= 1
    return bits & sign_bit("f16") | size


def pack(function):
    return lambda a, b: function(a) | function(b) << 16


def same_halves(got, wanted):
    """Packed FP16 with any NaN equal to any other."""
    return all(
        g == w or ((g & 0x7FFF) > 0x7C00 and (w & 0x7FFF) > 0x7C00)
        for g, w in ((got & 0xFFFF, wanted & 0xFFFF), (got >> 16, wanted >> 16))
    )


class Halves(int):
    """Packed halves that compare as numbers."""

    def __eq__(self, other):
        return same_halves(int(other), int(self))

    __hash__ = int.__hash__


def normalised(low, scale):
    def reference(pattern):
        value = to_float(pattern, "f32")
        if isnan(value):
            return 0
        value = max(low, min(1.0, value))
        product = nearest_f32(value * scale)
        return round(product) & 0xFFFF

    return reference


def byte(a):
    value = to_float(a, "f32")
    return 0 if isnan(value) else round(min(max(value, 0.0), 255.0))


def put_byte(value, select, into):
    lanes = list(into.to_bytes(4, "little"))
    lanes[select & 3] = value
    return int.from_bytes(bytes(lanes), "little")


REFERENCES = {
    "v_cvt_f32_i32": integer_to("f32", True),
    "v_cvt_f32_u32": integer_to("f32", False),
    "v_cvt_f64_i32": integer_to("f64", True),
    "v_cvt_f64_u32": integer_to("f64", False),
    "v_cvt_f16_u16": integer_to("f16", False, 16),
    "v_cvt_f16_i16": integer_to("f16", True, 16),
    "v_cvt_u32_f32": to_integer("f32", 32, False),
    "v_cvt_i32_f32": to_integer("f32", 32, True),
    "v_cvt_u32_f64": to_integer("f64", 32, False),
    "v_cvt_i32_f64": to_integer("f64", 32, True),
    "v_cvt_u16_f16": to_integer("f16", 16, False),
    "v_cvt_i16_f16": to_integer("f16", 16, True),
    "v_cvt_flr_i32_f32": to_integer("f32", 32, True, floor),
    "v_cvt_rpi_i32_f32": half_up,
    "v_cvt_f16_f32": narrow("f32", "f16"),
    "v_cvt_f32_f16": narrow("f16", "f32"),
    "v_cvt_f32_f64": narrow("f64", "f32"),
    "v_cvt_f64_f32": narrow("f32", "f64"),
    **{f"v_cvt_f32_ubyte{i}": lambda a, i=i: from_float(float(a >> 8 * i & 0xFF), "f32") for i in range(4)},
    "v_cvt_off_f32_i4": lambda a: from_float(signed(a & 15, 4) / 16, "f32"),
    "v_cvt_pkrtz_f16_f32": lambda a, b: Halves(pack(half_towards_zero)(a, b)),
    "v_cvt_pknorm_i16_f32": pack(normalised(-1.0, 32767.0)),
    "v_cvt_pknorm_u16_f32": pack(normalised(0.0, 65535.0)),
    "v_cvt_pk_u16_u32": pack(lambda a: min(a, 65535)),
    "v_cvt_pk_i16_i32": pack(lambda a: max(-32768, min(32767, signed(a))) & 0xFFFF),
    "v_cvt_pk_u8_f32": lambda a, select, into: put_byte(byte(a), select, into),
    "v_cvt_pkaccum_u8_f32": lambda a, select, into: put_byte(byte(a), select, into),
}
FLUSH = dict.fromkeys(
    ("v_cvt_f32_f64", "v_cvt_f64_f32", "v_cvt_flr_i32_f32", "v_cvt_rpi_i32_f32", "v_cvt_f16_f32"), "mode"
)


@pytest.mark.parametrize("name", REFERENCES)
def test_conversion(name):
    check(name, REFERENCES[name], FLUSH.get(name, "never"))
