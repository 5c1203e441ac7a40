"""Conversions from and to FP32. Float to integer truncates, saturates and takes NaN to 0."""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import HOST_MODE, NARROWING, vop
from isa.semantics.float16 import flush_result
from isa.semantics.float32 import quiet

vop("v_cvt_f32_i32", "i32 -> f32")(lambda x, a: a.to("f32"))
vop("v_cvt_f32_u32", "u32 -> f32")(lambda x, a: a.to("f32"))
vop("v_cvt_u32_f32", "f32 -> u32")(lambda x, a: a.to("u32"))
vop("v_cvt_i32_f32", "f32 -> i32")(lambda x, a: a.to("i32"))
vop("v_cvt_rpi_i32_f32", "f32 -> i32")(lambda x, a: x.floor(a + 0.5).to("i32"))
vop("v_cvt_flr_i32_f32", "f32 -> i32")(lambda x, a: x.floor(a).to("i32"))
vop("v_cvt_f16_f32", "f32 -> f16")(lambda x, a: a.to("f16"))
vop("v_cvt_f32_f16", "f16 -> f32")(lambda x, a: a.to("f32"))
vop("v_cvt_f32_f64", "f64 -> f32", host_mode=NARROWING)(lambda x, a: a.to("f32"))
vop("v_cvt_f64_f32", "f32 -> f64", host_mode=HOST_MODE)(lambda x, a: a.to("f64"))
vop("v_cvt_i32_f64", "f64 -> i32", host_mode=HOST_MODE)(lambda x, a: a.to("i32"))
vop("v_cvt_u32_f64", "f64 -> u32", host_mode=HOST_MODE)(lambda x, a: a.to("u32"))
vop("v_cvt_f64_i32", "i32 -> f64", host_mode=HOST_MODE)(lambda x, a: a.to("f64"))
vop("v_cvt_f64_u32", "u32 -> f64", host_mode=HOST_MODE)(lambda x, a: a.to("f64"))


for _byte in range(4):

    @vop(f"v_cvt_f32_ubyte{_byte}", "u32 -> f32")
    def v_cvt_f32_ubyte(x, a, shift=8 * _byte):
        return ((a >> shift) & 0xFF).to("f32")


vop("v_cvt_off_f32_i4", "i32 -> f32")(lambda x, a: ((a << 28) >> 28).to("f32") * 0.0625)


def _pair(low, high):
    return low.bits().to("u32") | (high.bits().to("u32") << 16)


def half_towards_zero(x, a):
    """Round FP32 to FP16 towards zero in any rounding mode of the host; finite values never become infinite."""
    half = a.to("f16")
    too_far = abs(half).to("f32") > abs(a)
    return quiet(x, x.select(too_far, half.bits() - 1, half.bits()).as_("f16"))


@vop("v_cvt_pkrtz_f16_f32", "f32 f32 mode -> u32")
def v_cvt_pkrtz_f16_f32(x, a, b, mode):
    low, high = (flush_result(x, half_towards_zero(x, v), mode) for v in (a, b))
    return _pair(low, high)


def _clamp(x, a, low, high):
    a = x.select(a < low, x.f32(low), a)
    return x.select(a > high, x.f32(high), a)


def _normalised(x, a, low, scale, kind):
    return x.rint(_clamp(x, a, low, 1.0) * scale).to("i32").to(kind)


@vop("v_cvt_pknorm_i16_f32", "f32 f32 -> u32")
def v_cvt_pknorm_i16_f32(x, a, b):
    return _pair(_normalised(x, a, -1.0, 32767.0, "i16"), _normalised(x, b, -1.0, 32767.0, "i16"))


@vop("v_cvt_pknorm_u16_f32", "f32 f32 -> u32")
def v_cvt_pknorm_u16_f32(x, a, b):
    return _pair(_normalised(x, a, 0.0, 65535.0, "u16"), _normalised(x, b, 0.0, 65535.0, "u16"))


vop("v_cvt_pk_u16_u32", "u32 u32 -> u32")(lambda x, a, b: x.min(a, 0xFFFF) | (x.min(b, 0xFFFF) << 16))


@vop("v_cvt_pk_i16_i32", "i32 i32 -> u32")
def v_cvt_pk_i16_i32(x, a, b):
    low, high = (x.max(x.min(v, 32767), -32768).to("i16") for v in (a, b))
    return _pair(low, high)


def _insert_byte(x, value, select, into):
    shift = (select & 3) << 3
    return (into & ~(x.u32(0xFF) << shift)) | (value << shift)


_WHOLE = 2.0**23  # from here on FP32 has whole numbers alone: a sum with it is rounded as MODE says


def _to_byte(x, a):
    """Convert FP32 to 8 bits without sign, rounded as MODE says.

    AMD's manuals do not name the rounding. The manual of the CLRX assembler says MODE's for both instructions, and
    tables measured on a GFX12 card agree, where neighbouring conversions truncate.
    """
    return (_clamp(x, a, 0.0, 255.0) + _WHOLE - _WHOLE).to("u32")


vop("v_cvt_pk_u8_f32", "f32 u32 u32 -> u32")(lambda x, a, select, into: _insert_byte(x, _to_byte(x, a), select, into))
vop("v_cvt_pkaccum_u8_f32", "f32 u32 old:u32 -> u32")(
    lambda x, a, select, into: _insert_byte(x, _to_byte(x, a), select, into)
)
