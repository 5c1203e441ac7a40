"""Packed arithmetic: the same on both 16-bit halves of a register (Vega ISA manual, VOP3P).

Which half of a source each result takes, and its sign, is changed before (`row_packed`). FP16 follows MODE as that of
single halves does (`isa.semantics.float16`).
"""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.host_mode import HALF_INPUTS
from isa.lanes.table import HALF, HOST_MODE, vop
from isa.semantics.float16 import flush_result, fma_f16, v_add_f16, v_mul_f16
from isa.semantics.float32 import float_max, float_min
from isa.semantics.gfx9 import limited  # noqa: F401  (what `manual` calls)
from isa.semantics.integer32 import saturated


@vop("row_packed", "u32 imm -> u32")
def row_packed(x, a, flags):
    """Choose and negate halves: flags 1: the lower one is the upper, 2: the upper one is; 4 negates the lower, 8 it."""
    low = x.select((flags & 1) != 0, a >> 16, a & 0xFFFF)
    high = x.select((flags & 2) != 0, a >> 16, a & 0xFFFF)
    low = low ^ (((flags >> 2) & 1) << 15)
    high = high ^ (((flags >> 3) & 1) << 15)
    return low | (high << 16)


@vop("row_output_f16x2", "u32 imm -> u32", host_mode=HOST_MODE)
def row_output_f16x2(x, a, flags):
    """Limit both halves to 0 to 1; flags as of `row_output_f16`, without factors."""
    return _each(x, lambda half: _clamped(x, half.as_("f16"), flags), a)


def _clamped(x, a, flags):
    zero, one = x.f16(0.0), x.f16(1.0)
    inside = x.select(a > zero, x.select(a > one, one, a), zero)
    return x.select(a.is_nan() & ((flags & 8) == 0), a, inside)


def halves(a):
    """Return the two halves of a register as u16."""
    return a.to("u16"), (a >> 16).to("u16")


def _each(x, function, *registers):
    """Apply a function to the lower halves and to the upper halves of registers, and put its results side by side."""
    low, high = (function(*parts).bits().to("u32") for parts in zip(*(halves(r) for r in registers), strict=True))
    return low | (high << 16)


def _halves_f16(x, function, mode, *registers):
    """Apply a function of FP16 to both halves, with denormals as MODE says."""

    def one(*parts):
        keep = (mode & HALF_INPUTS) != 0
        read = [x.select(((p & 0x7C00) == 0) & ~keep, p & 0x8000, p).as_("f16") for p in parts]
        return flush_result(x, function(x, *read), mode)

    return _each(x, one, *registers)


vop("v_pk_fma_f16", "u32 u32 u32 mode -> u32", host_mode=HALF)(
    lambda x, a, b, c, mode: _halves_f16(x, fma_f16, mode, a, b, c)
)
vop("v_pk_fmac_f16", "u32 u32 old:u32 mode -> u32", host_mode=HALF)(
    lambda x, a, b, d, mode: _halves_f16(x, fma_f16, mode, a, b, d)
)
vop("v_pk_add_f16", "u32 u32 mode -> u32", host_mode=HALF)(lambda x, a, b, mode: _halves_f16(x, v_add_f16, mode, a, b))
vop("v_pk_mul_f16", "u32 u32 mode -> u32", host_mode=HALF)(lambda x, a, b, mode: _halves_f16(x, v_mul_f16, mode, a, b))
vop("v_pk_min_f16", "u32 u32 mode -> u32", host_mode=HOST_MODE)(
    lambda x, a, b, mode: _each(x, lambda p, q: float_min(x, p.as_("f16"), q.as_("f16"), mode), a, b)
)
vop("v_pk_max_f16", "u32 u32 mode -> u32", host_mode=HOST_MODE)(
    lambda x, a, b, mode: _each(x, lambda p, q: float_max(x, p.as_("f16"), q.as_("f16"), mode), a, b)
)


def both(function, *words):
    """Apply a function to the 16-bit halves of numbers, for `manual`."""
    low, high = (function(*(w >> place & 0xFFFF for w in words)) & 0xFFFF for place in (0, 16))
    return low | high << 16


def s16(value):
    """Return 16 bits as a number with a sign, for `manual`."""
    return value - 0x10000 if value & 0x8000 else value


vop("v_pk_mad_i16 v_pk_mad_u16", "u32 u32 u32 -> u32", manual="both(lambda p, q, r: p * q + r, a, b, c)")(
    lambda x, a, b, c: _each(x, lambda p, q, r: p * q + r, a, b, c)
)
vop("v_pk_mad_u16.clamp", "u32 u32 u32 -> u32", manual="both(lambda p, q, r: min(p * q + r, 65535), a, b, c)")(
    lambda x, a, b, c: _each(x, lambda p, q, r: saturated(x, p.to("u64") * q.to("u64") + r.to("u64"), "u16"), a, b, c)
)


@vop(
    "v_pk_mad_i16.clamp",
    "u32 u32 u32 -> u32",
    manual="both(lambda p, q, r: limited(s16(p) * s16(q) + s16(r), 16), a, b, c)",
)
def v_pk_mad_i16_clamp(x, a, b, c):
    def one(p, q, r):
        p, q, r = (v.as_("i16").to("i64") for v in (p, q, r))
        return saturated(x, p * q + r, "i16")

    return _each(x, one, a, b, c)


vop("v_pk_mul_lo_u16", "u32 u32 -> u32", manual="both(lambda p, q: p * q, a, b)")(
    lambda x, a, b: _each(x, lambda p, q: p * q, a, b)
)
vop("v_pk_add_u16 v_pk_add_i16", "u32 u32 -> u32", manual="both(lambda p, q: p + q, a, b)")(
    lambda x, a, b: _each(x, lambda p, q: p + q, a, b)
)
vop("v_pk_sub_u16 v_pk_sub_i16", "u32 u32 -> u32", manual="both(lambda p, q: p - q, a, b)")(
    lambda x, a, b: _each(x, lambda p, q: p - q, a, b)
)
vop("v_pk_add_u16.clamp", "u32 u32 -> u32", manual="both(lambda p, q: min(p + q, 65535), a, b)")(
    lambda x, a, b: _each(x, lambda p, q: x.select(p + q < p, 0xFFFF, p + q), a, b)
)
vop("v_pk_sub_u16.clamp", "u32 u32 -> u32", manual="both(lambda p, q: max(p - q, 0), a, b)")(
    lambda x, a, b: _each(x, lambda p, q: x.select(p < q, 0, p - q), a, b)
)
vop("v_pk_add_i16.clamp", "u32 u32 -> u32", manual="both(lambda p, q: limited(s16(p) + s16(q), 16), a, b)")(
    lambda x, a, b: _each(x, lambda p, q: saturated(x, p.as_("i16").to("i64") + q.as_("i16").to("i64"), "i16"), a, b)
)
vop("v_pk_sub_i16.clamp", "u32 u32 -> u32", manual="both(lambda p, q: limited(s16(p) - s16(q), 16), a, b)")(
    lambda x, a, b: _each(x, lambda p, q: saturated(x, p.as_("i16").to("i64") - q.as_("i16").to("i64"), "i16"), a, b)
)
vop("v_pk_lshlrev_b16", "u32 u32 -> u32", manual="both(lambda p, q: q << p % 16, a, b)")(
    lambda x, a, b: _each(x, lambda p, q: q << (p & 15), a, b)
)
vop("v_pk_lshrrev_b16", "u32 u32 -> u32", manual="both(lambda p, q: q >> p % 16, a, b)")(
    lambda x, a, b: _each(x, lambda p, q: q >> (p & 15), a, b)
)
vop("v_pk_ashrrev_i16", "u32 u32 -> u32", manual="both(lambda p, q: s16(q) >> p % 16, a, b)")(
    lambda x, a, b: _each(x, lambda p, q: q.as_("i16") >> (p & 15).as_("i16"), a, b)
)
vop("v_pk_min_u16", "u32 u32 -> u32", manual="both(min, a, b)")(lambda x, a, b: _each(x, x.min, a, b))
vop("v_pk_max_u16", "u32 u32 -> u32", manual="both(max, a, b)")(lambda x, a, b: _each(x, x.max, a, b))
vop("v_pk_min_i16", "u32 u32 -> u32", manual="both(lambda p, q: min(s16(p), s16(q)), a, b)")(
    lambda x, a, b: _each(x, lambda p, q: x.min(p.as_("i16"), q.as_("i16")), a, b)
)
vop("v_pk_max_i16", "u32 u32 -> u32", manual="both(lambda p, q: max(s16(p), s16(q)), a, b)")(
    lambda x, a, b: _each(x, lambda p, q: x.max(p.as_("i16"), q.as_("i16")), a, b)
)


@vop("row_packed_f32", "u32x2 imm -> u32x2")
def row_packed_f32(x, a, flags):
    """Choose and negate registers of a pair, with the flags of `row_packed`."""
    low = x.select((flags & 1) != 0, a[1], a[0])
    high = x.select((flags & 2) != 0, a[1], a[0])
    return low ^ ((flags >> 2) & 1) << 31, high ^ ((flags >> 3) & 1) << 31


vop("v_pk_fma_f32", "f32x2 f32x2 f32x2 -> f32x2")(
    lambda x, a, b, c: tuple(x.fma(p, q, r) for p, q, r in zip(a, b, c, strict=True))
)
vop("v_pk_mul_f32", "f32x2 f32x2 -> f32x2")(lambda x, a, b: tuple(p * q for p, q in zip(a, b, strict=True)))
vop("v_pk_add_f32", "f32x2 f32x2 -> f32x2")(lambda x, a, b: tuple(p + q for p, q in zip(a, b, strict=True)))
vop("v_pk_mov_b32", "u32x2 u32x2 -> u32x2")(lambda x, a, b: (a[0], b[0]))
