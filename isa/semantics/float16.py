"""FP16 arithmetic: values in the low half of a register; results clear the upper half.

Computed in FP32 and rounded once to FP16, which is exact for one operation: to nearest because 24 >= 2 * 11 + 2 bits,
otherwise because both roundings go the same way. FP16 denormals are normal numbers in FP32; the library flushes them
around an operation where MODE says so. The multiply-adds v_mad and v_mac round (and flush) the product first.
"""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.host_mode import HALF_RESULTS
from isa.lanes.table import HOST_MODE, vop
from isa.semantics.float32 import float_max, float_min, quiet


def _round(a):
    return a.to("f16")


@vop("v_add_f16", "f16 f16 -> f16")
def v_add_f16(x, a, b):
    return _round(a.to("f32") + b.to("f32"))


vop("v_sub_f16", "f16 f16 -> f16")(lambda x, a, b: _round(a.to("f32") - b.to("f32")))
vop("v_subrev_f16", "f16 f16 -> f16")(lambda x, a, b: _round(b.to("f32") - a.to("f32")))


@vop("v_mul_f16", "f16 f16 -> f16")
def v_mul_f16(x, a, b):
    return _round(a.to("f32") * b.to("f32"))


def flush_result(x, a, mode):
    """Return an FP16 result, flushed to zero if it is denormal and MODE's bit for denormal results says so."""
    flushed = ((a.bits() & 0x7C00) == 0) & ((mode & HALF_RESULTS) == 0)
    return x.select(flushed, a.bits() & 0x8000, a.bits()).as_("f16")


def _unfused(x, a, b, c, mode):
    return v_add_f16(x, flush_result(x, v_mul_f16(x, a, b), mode), c)


@vop("v_mac_f16", "f16 f16 old:f16 mode -> f16")
def v_mac_f16(x, a, b, d, mode):
    return _unfused(x, a, b, d, mode)


@vop("v_mad_f16 v_madak_f16", "f16 f16 f16 mode -> f16")
def v_mad_f16(x, a, b, c, mode):
    """Return a * b + c; in v_madak the literal is the third source."""
    return _unfused(x, a, b, c, mode)


@vop("v_madmk_f16", "f16 f16 f16 mode -> f16")
def v_madmk_f16(x, a, k, b, mode):
    """Return a * K + b: sources in the order of the assembler, the literal K second."""
    return _unfused(x, a, k, b, mode)


def _narrow_to_odd(x, wide):
    """Convert FP64 to FP32, rounded to odd, so that rounding it again, to a narrower format, is correct."""
    single = wide.to("f32")
    error = wide - single.to("f64")
    bits = single.as_("i32")
    inexact = (error != 0.0) & (abs(single).bits() < x.infinity_bits("f32")) & ((bits & 1) == 0)
    outwards = ~((error > 0.0) ^ (single > 0.0))
    return x.select(inexact, x.select(outwards, bits + 1, bits - 1), bits).as_("f32")


def fma_f16(x, a, b, c):
    """Return a * b + c rounded once.

    The product is exact in FP32. The FP64 sum is exact, or one addend is too small to matter, or FP16 overflows.
    """
    product = (a.to("f32") * b.to("f32")).to("f64")
    return _narrow_to_odd(x, product + c.to("f32").to("f64")).to("f16")


vop("v_fma_f16", "f16 f16 f16 -> f16")(fma_f16)
vop("v_min_f16", "f16 f16 mode -> f16", host_mode=HOST_MODE)(float_min)
vop("v_max_f16", "f16 f16 mode -> f16", host_mode=HOST_MODE)(float_max)
vop("v_trunc_f16", "f16 -> f16")(lambda x, a: _round(x.trunc(a.to("f32"))))
vop("v_ceil_f16", "f16 -> f16")(lambda x, a: _round(x.ceil(a.to("f32"))))
vop("v_rndne_f16", "f16 -> f16")(lambda x, a: _round(x.rint(a.to("f32"))))
vop("v_floor_f16", "f16 -> f16")(lambda x, a: _round(x.floor(a.to("f32"))))


@vop("v_fract_f16", "f16 -> f16")
def v_fract_f16(x, a):
    below_one = x.constant("u16", 0x3BFF).as_("f16")
    wide = a.to("f32")
    part = wide - x.floor(wide)
    half = _round(part)
    return x.select(half.to("f32") >= 1.0, below_one, half)


@vop("v_frexp_exp_i16_f16", "f16 -> i16", host_mode=HOST_MODE)
def v_frexp_exp_i16_f16(x, a):
    size = abs(a).bits()
    biased = (size >> 10).as_("i16")
    denormal = x.i16(-8) - x.ctlz(size).as_("i16")
    exponent = x.select(biased == 0, denormal, biased - 14)
    return x.select((size == 0) | (biased == 31), 0, exponent)


@vop("v_frexp_mant_f16", "f16 -> f16", host_mode=HOST_MODE)
def v_frexp_mant_f16(x, a):
    size = abs(a).bits()
    shifted = size << ((x.ctlz(size) - 5) & 15)
    mantissa = x.select(size < 0x400, shifted, size) & 0x3FF
    result = (a.bits() & 0x8000) | mantissa | 0x3800
    return x.select((size == 0) | (size >= 0x7C00), quiet(x, a), result.as_("f16"))


@vop("v_ldexp_f16", "f16 i16 -> f16")
def v_ldexp_f16(x, a, n):
    n = x.max(x.min(n.to("i32"), 60), -60)  # any further overflows or vanishes; exact in FP32
    scale = ((n + 127) << 23).as_("f32")
    return _round(a.to("f32") * scale)


vop("v_cvt_f16_u16", "u16 -> f16")(lambda x, a: _round(a.to("f32")))
vop("v_cvt_f16_i16", "i16 -> f16")(lambda x, a: _round(a.to("f32")))
vop("v_cvt_u16_f16", "f16 -> u16", host_mode=HOST_MODE)(
    lambda x, a: x.max(x.min(a.to("f32").to("i32"), 0xFFFF), 0).to("u16")
)
vop("v_cvt_i16_f16", "f16 -> i16", host_mode=HOST_MODE)(
    lambda x, a: x.max(x.min(a.to("f32").to("i32"), 0x7FFF), -0x8000).to("i16")
)
