"""The division helpers v_div_scale, v_div_fmas, v_div_fixup (operands: scaled value, denominator, numerator).

v_div_scale returns in the lane mask whether v_div_fmas must scale back. Three passages of the manual's text cannot give
right quotients and are read as the purpose demands: with 1 / denominator and the quotient both denormal, the
denominator is scaled down; v_div_fmas scales up or down by the exponent of its third operand, the scaled quotient;
a quotient that v_div_fixup finds to be NaN though both numbers are finite has overflowed on the way and is infinite.
"""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import HOST_MODE, KEEP_DENORMALS, vop
from isa.lanes.values import BITS
from isa.semantics.float32 import ldexp_f32, quiet
from isa.semantics.float64 import ldexp_f64

# mantissa bits, exponent bias, scaling exponent, exponent difference of "far apart", exponent of a "tiny" numerator
_FORMAT = {"f32": (23, 127, 64, 96, 23), "f64": (52, 1023, 128, 768, 53)}
_UNDERFLOW = {"f16": -25, "f32": -150, "f64": -1075}


def _exponent(a):
    mantissa = {16: 10, 32: 23, 64: 52}[BITS[a.kind]]
    return (abs(a).bits() >> mantissa).to("u32").as_("i32")


def _ldexp(x, a, n):
    n = x.i32(n)
    return ldexp_f32(x, a, n) if a.kind == "f32" else ldexp_f64(x, a, n)


def _is_denormal(a, minimum):
    return (abs(a) < minimum) & (a != 0.0)


def div_scale(x, a, denominator, numerator):
    mantissa, bias, scale, far, tiny = _FORMAT[a.kind]
    up, down = _ldexp(x, a, scale), _ldexp(x, a, -scale)
    is_denominator = a.bits() == denominator.bits()
    is_numerator = a.bits() == numerator.bits()
    if a.kind == "f32":
        quotient = numerator.to("f64") / denominator.to("f64")
        reciprocal = 1.0 / denominator.to("f64")
    else:
        quotient = numerator / denominator
        reciprocal = 1.0 / denominator
    minimum = 2.0 ** (1 - bias)
    quotient_denormal = _is_denormal(quotient, minimum)
    reciprocal_denormal = _is_denormal(reciprocal, minimum)
    zero = (denominator.bits() << 1 == 0) | (numerator.bits() << 1 == 0)
    far_apart = _exponent(numerator) - _exponent(denominator) >= far
    denormal_denominator = (_exponent(denominator) == 0) & (denominator.bits() << 1 != 0)
    no = x.b(False)
    nan = x.constant(f"u{BITS[a.kind]}", x.infinity_bits(a.kind) | 1 << (mantissa - 1)).as_(a.kind)
    cases = [
        (zero, nan, no),
        (far_apart, x.select(is_denominator, up, a), ~no),
        (denormal_denominator, up, no),
        (reciprocal_denormal & quotient_denormal, x.select(is_denominator, down, a), ~no),
        (reciprocal_denormal, down, no),
        (quotient_denormal, x.select(is_numerator, up, a), ~no),
        (_exponent(numerator) <= tiny, up, no),
    ]
    result, flag = a, no
    for condition, value, case_flag in reversed(cases):
        result = x.select(condition, value, result)
        flag = (condition & case_flag) | (~condition & flag)
    return result, flag


vop("v_div_scale_f32", "f32 f32 f32 -> f32 mask", host_mode=KEEP_DENORMALS)(div_scale)
vop("v_div_scale_f64", "f64 f64 f64 -> f64 mask", host_mode=KEEP_DENORMALS)(div_scale)


def _scale_back(x, value, c, mask):
    _, bias, scale, _, _ = _FORMAT[c.kind]
    scaled = x.select(_exponent(c) > bias, _ldexp(x, value, scale), _ldexp(x, value, -scale))
    return x.select(mask, scaled, value)


vop("v_div_fmas_f32", "f32 f32 f32 mask -> f32")(lambda x, a, b, c, mask: _scale_back(x, x.fma(a, b, c), c, mask))
vop("v_div_fmas_f64", "f64 f64 f64 mask -> f64")(lambda x, a, b, c, mask: _scale_back(x, x.fma(a, b, c), c, mask))


def div_fixup(x, a, denominator, numerator):
    """Return the quotient a with its sign and the special cases of numerator / denominator put right."""
    kind, width = a.kind, BITS[a.kind]
    unsigned = f"u{width}"
    infinity = x.infinity_bits(kind)
    sign = (denominator.bits() ^ numerator.bits()) & (1 << (width - 1))
    bottom, top = abs(denominator).bits(), abs(numerator).bits()
    default_nan = x.constant(unsigned, (1 << (width - 1)) | infinity | _quiet_bit(width))
    underflow = _exponent(numerator) - _exponent(denominator) < _UNDERFLOW[kind]
    result = sign | x.select(a.is_nan(), infinity, abs(a).bits())
    result = x.select(underflow, sign, result)
    result = x.select((bottom == infinity) | (top == 0), sign, result)
    result = x.select((bottom == 0) | (top == infinity), sign | infinity, result)
    undefined = ((bottom == 0) & (top == 0)) | ((bottom == infinity) & (top == infinity))
    result = x.select(undefined, default_nan, result)
    result = x.select(denominator.is_nan(), quiet(x, denominator).bits(), result)
    result = x.select(numerator.is_nan(), quiet(x, numerator).bits(), result)
    return result.as_(kind)


def _quiet_bit(width):
    return 1 << {16: 9, 32: 22, 64: 51}[width]


vop("v_div_fixup_f32", "f32 f32 f32 -> f32")(div_fixup)
vop("v_div_fixup_f64", "f64 f64 f64 -> f64", host_mode=HOST_MODE)(div_fixup)


@vop("v_div_fixup_f16", "f16 f16 f16 -> f16", host_mode=HOST_MODE)
def v_div_fixup_f16(x, a, b, c):
    return div_fixup(x, a, b, c)
