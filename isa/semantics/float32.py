"""FP32 arithmetic, rounding, min/max and conversions."""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import FLUSH_DENORMALS, vop
from isa.lanes.values import BITS

IEEE_BIT = 1 << 9  # MODE: signalling NaN counts in min and max (GCN3 ISA manual, section 3.4)
_QUIET_BIT = {"f16": 1 << 9, "f32": 1 << 22, "f64": 1 << 51}


vop("v_add_f32", "f32 f32 -> f32")(lambda x, a, b: a + b)
vop("v_sub_f32", "f32 f32 -> f32")(lambda x, a, b: a - b)
vop("v_subrev_f32", "f32 f32 -> f32")(lambda x, a, b: b - a)
vop("v_mul_f32", "f32 f32 -> f32")(lambda x, a, b: a * b)


def _zero_wins(x, a, b, value):
    """Apply the legacy rule to a product: zero times anything, NaN and infinity included, is +0."""
    return x.select((a == 0.0) | (b == 0.0), x.f32(0.0), value)


vop("v_mul_legacy_f32", "f32 f32 -> f32")(lambda x, a, b: _zero_wins(x, a, b, a * b))
vop("v_mac_f32", "f32 f32 old:f32 -> f32", host_mode=FLUSH_DENORMALS)(lambda x, a, b, d: a * b + d)
vop("v_mad_f32", "f32 f32 f32 -> f32", host_mode=FLUSH_DENORMALS)(lambda x, a, b, c: a * b + c)
vop("v_mad_legacy_f32", "f32 f32 f32 -> f32", host_mode=FLUSH_DENORMALS)(
    lambda x, a, b, c: _zero_wins(x, a, b, a * b) + c
)


@vop("v_fmaak_f32", "f32 f32 f32 -> f32")
def v_fmaak_f32(x, a, b, k):
    """Return a * b + K, rounded once: the literal K is the third source."""
    return x.fma(a, b, k)


@vop("v_fmamk_f32", "f32 f32 f32 -> f32")
def v_fmamk_f32(x, a, k, b):
    """Return a * K + b, rounded once: the literal K is the second source."""
    return x.fma(a, k, b)


@vop("v_madak_f32", "f32 f32 f32 -> f32", host_mode=FLUSH_DENORMALS)
def v_madak_f32(x, a, b, k):
    """Return a * b + K: the literal K is the third source."""
    return a * b + k


@vop("v_madmk_f32", "f32 f32 f32 -> f32", host_mode=FLUSH_DENORMALS)
def v_madmk_f32(x, a, k, b):
    """Return a * K + b: sources in the order of the assembler, the literal K second."""
    return a * k + b


vop("v_fma_f32", "f32 f32 f32 -> f32")(lambda x, a, b, c: x.fma(a, b, c))


def ordered_key(a):
    """Return an integer that orders floats as numbers, with -0 < +0."""
    signed = a.as_(f"i{BITS[a.kind]}")
    magnitude = (1 << (BITS[a.kind] - 1)) - 1
    return signed ^ ((signed >> (BITS[a.kind] - 1)) & magnitude)


def quiet(x, a):
    """Return numbers unchanged, and a NaN made quiet."""
    return x.select(a.is_nan(), a.bits() | _QUIET_BIT[a.kind], a.bits()).as_(a.kind)


def _key_for_max(x, a, mode):
    """Return an integer that orders floats for a maximum: every NaN is the least, -0 < +0.

    With MODE's IEEE bit a signalling NaN is the greatest. Adding to a NaN's magnitude moves it past the sign bit:
    either all NaNs or those with the quiet bit.
    """
    bits, infinity = f"u{BITS[a.kind]}", x.infinity_bits(a.kind)
    quiet_bit = _QUIET_BIT[a.kind]
    step = x.select((mode & IEEE_BIT) != 0, x.constant(bits, quiet_bit), x.constant(bits, 2 * quiet_bit - 1))
    size = abs(a).bits()
    return x.select(size > infinity, (size + step).as_(f"i{BITS[a.kind]}"), ordered_key(a))


def float_max(x, a, b, mode):
    """Return the larger number; -0 < +0; a NaN loses against a number.

    It is decided on bits, so that denormals stay. With MODE's IEEE bit a signalling NaN wins.
    """
    return quiet(x, x.select(_key_for_max(x, b, mode) > _key_for_max(x, a, mode), b, a))


def float_min(x, a, b, mode):
    """Return the smaller number; -0, NaN and denormals are treated as by `float_max`."""
    return -float_max(x, -a, -b, mode)


def float_med3(x, a, b, c, mode):
    """Return the middle of three numbers; with a NaN among them the smallest (GCN3 ISA manual, v_med3_f32)."""
    nan = a.is_nan() | b.is_nan() | c.is_nan()
    middle = float_max(x, float_min(x, a, b, mode), float_min(x, float_max(x, a, b, mode), c, mode), mode)
    return x.select(nan, float_min(x, float_min(x, a, b, mode), c, mode), middle)


vop("v_min_f32", "f32 f32 mode -> f32")(float_min)
vop("v_max_f32", "f32 f32 mode -> f32")(float_max)
vop("v_min3_f32", "f32 f32 f32 mode -> f32")(lambda x, a, b, c, mode: float_min(x, float_min(x, a, b, mode), c, mode))
vop("v_max3_f32", "f32 f32 f32 mode -> f32")(lambda x, a, b, c, mode: float_max(x, float_max(x, a, b, mode), c, mode))
vop("v_med3_f32", "f32 f32 f32 mode -> f32")(float_med3)
vop("v_trunc_f32", "f32 -> f32")(lambda x, a: x.trunc(a))
vop("v_ceil_f32", "f32 -> f32")(lambda x, a: x.ceil(a))
vop("v_rndne_f32", "f32 -> f32")(lambda x, a: x.rint(a))
vop("v_floor_f32", "f32 -> f32")(lambda x, a: x.floor(a))


@vop("v_fract_f32", "f32 -> f32")
def v_fract_f32(x, a):
    below_one = x.constant("u32", 0x3F7FFFFF).as_("f32")
    part = a - x.floor(a)
    return x.select(part >= 1.0, below_one, part)


@vop("v_frexp_exp_i32_f32", "f32 -> i32")
def v_frexp_exp_i32_f32(x, a):
    size = abs(a).bits()
    biased = (size >> 23).as_("i32")
    denormal = x.i32(-117) - x.ctlz(size).as_("i32")
    exponent = x.select(biased == 0, denormal, biased - 126)
    return x.select((size == 0) | (biased == 255), 0, exponent)


@vop("v_frexp_mant_f32", "f32 -> f32")
def v_frexp_mant_f32(x, a):
    size = abs(a).bits()
    sign = a.bits() & 0x80000000
    shifted = size << ((x.ctlz(size) - 8) & 31)
    mantissa = x.select(size < 0x800000, shifted, size) & 0x7FFFFF
    result = sign | mantissa | 0x3F000000
    keep = (size == 0) | (size >= 0x7F800000)
    return x.select(keep, quiet(x, a), result.as_("f32"))


def power_of_two(x, n):
    """Return 2 ** n as FP64 for i32 n in -1022 ... 1023."""
    return ((n + 1023).to("i64") << 52).as_("f64")


def ldexp_f32(x, a, n):
    """Return a * 2 ** n, which is exact in FP64 and rounded once."""
    n = x.max(x.min(n, 400), -400)
    return (a.to("f64") * power_of_two(x, n)).to("f32")


vop("v_ldexp_f32", "f32 i32 -> f32")(ldexp_f32)
