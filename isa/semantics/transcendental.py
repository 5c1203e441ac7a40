"""Reciprocal, square root, exponential, logarithm, sine and cosine, and their FP16 forms.

The hardware approximates within about 1 ulp by tables we do not know. Here: polynomials in FP64 (relative error below
1e-12), rounded once to FP32, so at most a hair above half an ulp; reciprocal and square root are correctly rounded.
Plain multiplications and additions, no fused ones, so that both back ends give the same bits.
A NaN operand comes back quiet, with its payload; where a number gives none, as the square root of a negative one, the
result is the positive quiet NaN without a payload, and not the host's.
FP32 denormals count as zeros in and out and results round to nearest, whatever MODE says; FP16 forms flush denormals
as MODE says; FP64 forms follow MODE.
"""
# mypy: disable-error-code="no-untyped-def"

import math

from isa.lanes.table import FLUSH_NEAREST, HALF_NEAREST, vop
from isa.semantics.float32 import power_of_two, quiet

_LN2 = math.log(2.0)
_EXP2 = [_LN2**i / math.factorial(i) for i in range(12)]  # |r| <= 1/2: next term below 2e-14
_LOG2_TERMS = 11  # odd powers of s = (m - 1) / (m + 1), |s| <= 0.172: next term below 1e-17
_SINE_TERMS = 11  # odd powers of t, |t| <= pi / 2: next term below 2e-18
_SQRT_HALF_BITS = 0x3F3504F3  # FP32 sqrt(1/2): where a mantissa is moved to the next octave
_TRIGONOMETRIC_LIMIT = 256.0  # revolutions: valid inputs of v_sin and v_cos
_NAN = {"f16": 0x7E00, "f32": 0x7FC00000, "f64": 0x7FF8 << 48}


def exp2(x, a):
    """Return 2 ** a for FP64 a, exact at integers; saturates far outside FP32's range."""
    a = x.select(a > 300.0, x.f64(300.0), x.select(a < -300.0, x.f64(-300.0), a))
    n = x.rint(a)
    r = a - n
    polynomial = x.f64(_EXP2[-1])
    for coefficient in reversed(_EXP2[:-1]):
        polynomial = polynomial * r + coefficient
    return polynomial * power_of_two(x, n.to("i32"))


def log2_of_normal(x, a):
    """Return log2 of a positive normal FP32 value, as FP64."""
    bits = a.as_("i32")
    exponent = (bits - _SQRT_HALF_BITS) >> 23
    mantissa = (bits - (exponent << 23)).as_("f32").to("f64")
    s = (mantissa - 1.0) / (mantissa + 1.0)
    square = s * s
    polynomial = x.f64(1.0 / (2 * _LOG2_TERMS + 1))
    for i in reversed(range(_LOG2_TERMS)):
        polynomial = polynomial * square + 1.0 / (2 * i + 1)
    return exponent.to("f64") + s * polynomial * (2.0 / _LN2)


def _sine_of_quarter(x, r):
    t = r * (2.0 * math.pi)
    square = t * t
    polynomial = x.f64((-1.0) ** _SINE_TERMS / math.factorial(2 * _SINE_TERMS + 1))
    for i in reversed(range(_SINE_TERMS)):
        polynomial = polynomial * square + (-1.0) ** i / math.factorial(2 * i + 1)
    return t * polynomial


def sine(x, revolutions):
    """Return the sine of an angle in revolutions, FP64."""
    r = revolutions - x.rint(revolutions)
    r = x.select(r > 0.25, 0.5 - r, x.select(r < -0.25, -0.5 - r, r))
    return _sine_of_quarter(x, r)


def cosine(x, revolutions):
    """Return the cosine of an angle in revolutions, FP64."""
    r = revolutions - x.rint(revolutions)
    return _sine_of_quarter(x, 0.25 - abs(r))


def _zero(x, a):
    return (a.bits() & 0x80000000).as_("f32")


def _counts_as_zero(a):
    """Tell whether a is zero or denormal, decided on the bits: the compiler takes `a == 0` for zero alone."""
    return (a.bits() & 0x7F800000) == 0


def _with_nans(x, a, result):
    """Return a result whose NaNs are the operand's, or the one without a payload."""
    none = x.constant(f"u{a.kind[1:]}", _NAN[a.kind]).as_(a.kind)
    return x.select(a.is_nan(), quiet(x, a), x.select(result.is_nan(), none, result))


def rcp32(x, a):
    return 1.0 / a


def rsq32(x, a):
    """Return 1 / sqrt(a), rounded once from FP64; -0 gives -inf."""
    wide = a.to("f64")
    infinity = x.constant("u32", 0x7F800000) | (a.bits() & 0x80000000)
    return x.select(_counts_as_zero(a), infinity.as_("f32"), (1.0 / x.sqrt(wide)).to("f32"))


def exp32(x, a):
    return exp2(x, a.to("f64")).to("f32")


def log32(x, a):
    """Return log2(a); zero gives -inf, negative numbers NaN."""
    infinity = x.f32(float("inf"))
    flushed = x.select(_counts_as_zero(a), _zero(x, a), a)
    result = log2_of_normal(x, flushed).to("f32")
    result = x.select(flushed == infinity, infinity, result)
    result = x.select(flushed == 0.0, x.f32(float("-inf")), result)
    return x.select(flushed < 0.0, x.f32(math.nan), result)


def _periodic(x, a, function, outside):
    wide = a.to("f64")
    size = abs(a)
    result = function(x, wide).to("f32")
    result = x.select(size > _TRIGONOMETRIC_LIMIT, x.f32(outside), result)
    return x.select(size.bits() >= 0x7F800000, x.f32(math.nan), result)


def sin32(x, a):
    """Return the sine of revolutions: 0 outside -256 ... 256, NaN for infinities."""
    return x.select(_counts_as_zero(a), _zero(x, a), _periodic(x, a, sine, 0.0))


def cos32(x, a):
    """Return the cosine of revolutions: 1 outside -256 ... 256, NaN for infinities."""
    return _periodic(x, a, cosine, 1.0)


def sqrt32(x, a):
    return x.sqrt(a)


_FUNCTIONS = {
    "rcp": ("v_rcp_f32 v_rcp_iflag_f32", rcp32),
    "rsq": ("v_rsq_f32", rsq32),
    "sqrt": ("v_sqrt_f32", sqrt32),
    "exp": ("v_exp_f32 v_exp_legacy_f32", exp32),
    "log": ("v_log_f32 v_log_legacy_f32", log32),
    "sin": ("v_sin_f32", sin32),
    "cos": ("v_cos_f32", cos32),
}

for _name, (_names, _function) in _FUNCTIONS.items():

    @vop(_names, "f32 -> f32", host_mode=FLUSH_NEAREST)
    def single(x, a, function=_function):
        return _with_nans(x, a, function(x, a))

    # FP16 values, denormals included, are normal in FP32: nothing is flushed on the way.
    @vop(f"v_{_name}_f16", "f16 -> f16", host_mode=HALF_NEAREST)
    def half(x, a, function=_function):
        return _with_nans(x, a, function(x, a.to("f32")).to("f16"))


vop("v_rcp_f64", "f64 -> f64")(lambda x, a: _with_nans(x, a, 1.0 / a))
vop("v_rsq_f64", "f64 -> f64")(lambda x, a: _with_nans(x, a, 1.0 / x.sqrt(a)))
vop("v_sqrt_f64", "f64 -> f64")(lambda x, a: _with_nans(x, a, x.sqrt(a)))
