"""Conversions of FP8 and BF8, as gfx942 has them: biases of 8 and 16, one zero, one NaN, no infinity.

AMD CDNA 3 ISA manual; ROCm's documentation of data types. To eight bits: to nearest even; what is too large, and NaN,
becomes the NaN, as without MODE.FP16_OVFL, which programs cannot set here. Stochastic rounding (v_cvt_sr_...) has no
semantics: which bits of its random number count is not published.
"""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.matrix import FP8_FORMATS
from isa.lanes.table import vop

_NAN, _SINGLE_NAN = 0x80, 0x7FC00000


def _single(x, code, kind):
    """Return the FP32 number of a byte."""
    mantissa, bias = FP8_FORMATS[kind]
    size = code & 0x7F
    normal = (size << (23 - mantissa)) + ((127 - bias) << 23)
    small = (size.to("f32") * x.f32(2.0 ** (1 - bias - mantissa))).bits()
    bits = x.select(size < (1 << mantissa), small, normal) | (code & 0x80) << 24
    return x.select(code == _NAN, _SINGLE_NAN, bits).as_("f32")


def _code(x, bits, kind):
    """Return the byte next to an FP32 number, by the number's bits."""
    mantissa, bias = FP8_FORMATS[kind]
    size, sign = bits & 0x7FFFFFFF, bits >> 24 & 0x80
    exponent = size >> 23
    least = 127 + 1 - bias  # the smallest normal number's exponent
    below = x.select(exponent < least, least - exponent, 0)
    drop = x.min(below + (23 - mantissa), x.u32(31))  # bits of the mantissa that go
    whole = (size & 0x7FFFFF) | x.select(exponent == 0, x.u32(0), 0x800000)
    kept = whole >> drop
    rest, half = whole & ((x.u32(1) << drop) - 1), x.u32(1) << (drop - 1)
    kept = kept + x.select((rest > half) | ((rest == half) & ((kept & 1) != 0)), x.u32(1), x.u32(0))
    # a normal number's leading bit counts as one step of its exponent
    code = kept + x.select(exponent < least, x.u32(0), ((exponent - least) << mantissa))
    limited = x.select((code > 0x7F) | (size > 0x7F800000 - 1), x.u32(_NAN), code | sign)
    return x.select(code == 0, x.select(size > 0x7F800000 - 1, x.u32(_NAN), x.u32(0)), limited)


for _kind in FP8_FORMATS:

    @vop(f"v_cvt_f32_{_kind}", "u32 -> f32")
    def v_cvt_f32(x, a, *, kind=_kind):
        return _single(x, a & 0xFF, kind)

    @vop(f"v_cvt_pk_f32_{_kind}", "u32 -> f32x2")
    def v_cvt_pk_f32(x, a, *, kind=_kind):
        return _single(x, a & 0xFF, kind), _single(x, a >> 8 & 0xFF, kind)

    @vop(f"v_cvt_pk_{_kind}_f32", "u32 u32 -> u32")
    def v_cvt_pk(x, a, b, *, kind=_kind):
        return _code(x, a, kind) | _code(x, b, kind) << 8
