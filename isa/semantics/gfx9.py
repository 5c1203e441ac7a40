"""What GFX9 adds to vector and scalar arithmetic (Vega ISA manual, chapter 12).

Results of 16 bits that "keep" leave the other half of the register as it is, as all do that GFX9 adds (LLVM:
GCNSubtarget::zeroesHigh16BitsOfDest); those that GFX8 has already clear it.
"""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.host_mode import HALF_INPUTS
from isa.lanes.table import HALF, HOST_MODE, sop, vop
from isa.semantics.convert import v_cvt_pknorm_i16_f32, v_cvt_pknorm_u16_f32
from isa.semantics.divide import v_div_fixup_f16
from isa.semantics.float16 import flush_result, fma_f16, v_mac_f16, v_mad_f16, v_madmk_f16
from isa.semantics.float32 import float_max, float_med3, float_min
from isa.semantics.integer16 import v_mad_i16_clamp, v_mad_u16, v_mad_u16_clamp
from isa.semantics.integer32 import saturated


def kept(old, half):
    """Put a 16-bit value into the lower half of a register."""
    return (old & 0xFFFF0000) | half.bits().to("u32")


# -- 32-bit integers ------------------------------------------------------------------------------------------------
vop("v_add_nc_u32 v_add_nc_i32", "u32 u32 -> u32", manual="a + b & M32")(lambda x, a, b: a + b)
vop("v_sub_nc_u32 v_sub_nc_i32", "u32 u32 -> u32", manual="a - b & M32")(lambda x, a, b: a - b)
vop("v_subrev_nc_u32", "u32 u32 -> u32", manual="b - a & M32")(lambda x, a, b: b - a)
vop("v_add_nc_u32.clamp", "u32 u32 -> u32", manual="min(a + b, M32)")(
    lambda x, a, b: x.select(a + b < a, 0xFFFFFFFF, a + b)
)
vop("v_sub_nc_u32.clamp", "u32 u32 -> u32", manual="max(a - b, 0)")(lambda x, a, b: x.select(a < b, 0, a - b))
vop("v_subrev_nc_u32.clamp", "u32 u32 -> u32", manual="max(b - a, 0)")(lambda x, a, b: x.select(b < a, 0, b - a))


def limited(value, bits):
    """Return a number limited to those of `bits` bits with a sign, as bits."""
    return max(-(1 << bits - 1), min(value, (1 << bits - 1) - 1)) & ((1 << bits) - 1)


vop("v_add_nc_i32.clamp", "i32 i32 -> i32", manual="limited(signed(a) + signed(b), 32)")(
    lambda x, a, b: saturated(x, a.to("i64") + b.to("i64"), "i32")
)
vop("v_sub_nc_i32.clamp", "i32 i32 -> i32", manual="limited(signed(a) - signed(b), 32)")(
    lambda x, a, b: saturated(x, a.to("i64") - b.to("i64"), "i32")
)
vop("v_add3_u32", "u32 u32 u32 -> u32", manual="a + b + c & M32")(lambda x, a, b, c: a + b + c)
vop("v_lshl_add_u32", "u32 u32 u32 -> u32", manual="(a << b % 32) + c & M32")(lambda x, a, b, c: (a << (b & 31)) + c)
vop("v_add_lshl_u32", "u32 u32 u32 -> u32", manual="a + b << c % 32 & M32")(lambda x, a, b, c: (a + b) << (c & 31))
vop("v_xad_u32", "u32 u32 u32 -> u32", manual="(a ^ b) + c & M32")(lambda x, a, b, c: (a ^ b) + c)
vop("v_lshl_or_b32", "u32 u32 u32 -> u32", manual="a << b % 32 & M32 | c")(lambda x, a, b, c: (a << (b & 31)) | c)
vop("v_and_or_b32", "u32 u32 u32 -> u32", manual="a & b | c")(lambda x, a, b, c: (a & b) | c)
vop("v_or3_b32", "u32 u32 u32 -> u32", manual="a | b | c")(lambda x, a, b, c: a | b | c)
vop("v_xnor_b32", "u32 u32 -> u32", manual="a ^ b ^ M32")(lambda x, a, b: ~(a ^ b))
vop("v_mad_u32_u16", "u16 u16 u32 -> u32", manual="a * b + c & M32")(lambda x, a, b, c: a.to("u32") * b.to("u32") + c)
vop("v_mad_u32_u16.clamp", "u16 u16 u32 -> u32", manual="min(a * b + c, M32)")(
    lambda x, a, b, c: saturated(x, a.to("u64") * b.to("u64") + c.to("u64"), "u32")
)
vop("v_mad_i32_i16", "i16 i16 i32 -> i32", manual="signed(a, 16) * signed(b, 16) + signed(c) & M32")(
    lambda x, a, b, c: a.to("i32") * b.to("i32") + c
)
vop("v_mad_i32_i16.clamp", "i16 i16 i32 -> i32", manual="limited(signed(a, 16) * signed(b, 16) + signed(c), 32)")(
    lambda x, a, b, c: saturated(x, a.to("i64") * b.to("i64") + c.to("i64"), "i32")
)
vop("v_fmac_f32", "f32 f32 old:f32 -> f32")(lambda x, a, b, d: x.fma(a, b, d))


# -- 16 bits --------------------------------------------------------------------------------------------------------
@vop("v_mac_keep_f16", "f16 f16 old:u32 mode -> u32", host_mode=HALF)
def v_mac_keep_f16(x, a, b, old, mode):
    bits = old.to("u16")
    flushed = ((bits & 0x7C00) == 0) & ((mode & HALF_INPUTS) == 0)
    addend = x.select(flushed, bits & 0x8000, bits).as_("f16")
    return kept(old, flush_result(x, v_mac_f16(x, a, b, addend, mode), mode))


vop("v_mad_keep_f16 v_madak_keep_f16", "f16 f16 f16 mode old:u32 -> u32", host_mode=HALF)(
    lambda x, a, b, c, mode, old: kept(old, flush_result(x, v_mad_f16(x, a, b, c, mode), mode))
)
vop("v_madmk_keep_f16", "f16 f16 f16 mode old:u32 -> u32", host_mode=HALF)(
    lambda x, a, k, b, mode, old: kept(old, flush_result(x, v_madmk_f16(x, a, k, b, mode), mode))
)
vop("v_fma_keep_f16", "f16 f16 f16 mode old:u32 -> u32", host_mode=HALF)(
    lambda x, a, b, c, mode, old: kept(old, flush_result(x, fma_f16(x, a, b, c), mode))
)
vop("v_div_fixup_keep_f16", "f16 f16 f16 old:u32 -> u32", host_mode=HOST_MODE)(
    lambda x, a, b, c, old: kept(old, v_div_fixup_f16(x, a, b, c))
)
vop("v_min3_f16", "f16 f16 f16 mode old:u32 -> u32", host_mode=HOST_MODE)(
    lambda x, a, b, c, mode, old: kept(old, float_min(x, float_min(x, a, b, mode), c, mode))
)
vop("v_max3_f16", "f16 f16 f16 mode old:u32 -> u32", host_mode=HOST_MODE)(
    lambda x, a, b, c, mode, old: kept(old, float_max(x, float_max(x, a, b, mode), c, mode))
)
vop("v_med3_f16", "f16 f16 f16 mode old:u32 -> u32", host_mode=HOST_MODE)(
    lambda x, a, b, c, mode, old: kept(old, float_med3(x, a, b, c, mode))
)


def with_upper(old, half):
    """Return the bits of a register with another lower half, for `manual`."""
    return old >> 16 << 16 | half & 0xFFFF


for _kind in ("u16", "i16"):
    _read = "signed({}, 16)" if _kind[0] == "i" else "{}"
    _A, _B, _C = (_read.format(name) for name in "abc")

    vop(f"v_min3_{_kind}", f"{_kind} {_kind} {_kind} old:u32 -> u32", manual=f"with_upper(old, min({_A}, {_B}, {_C}))")(
        lambda x, a, b, c, old: kept(old, x.min(x.min(a, b), c))
    )
    vop(f"v_max3_{_kind}", f"{_kind} {_kind} {_kind} old:u32 -> u32", manual=f"with_upper(old, max({_A}, {_B}, {_C}))")(
        lambda x, a, b, c, old: kept(old, x.max(x.max(a, b), c))
    )

    @vop(
        f"v_med3_{_kind}",
        f"{_kind} {_kind} {_kind} old:u32 -> u32",
        manual=f"with_upper(old, sorted([{_A}, {_B}, {_C}])[1])",
    )
    def v_med3(x, a, b, c, old):
        return kept(old, x.max(x.min(a, b), x.min(x.max(a, b), c)))


vop("v_mad_keep_u16 v_mad_keep_i16", "u16 u16 u16 old:u32 -> u32", manual="with_upper(old, a * b + c)")(
    lambda x, a, b, c, old: kept(old, v_mad_u16(x, a, b, c))
)
vop("v_mad_keep_u16.clamp", "u16 u16 u16 old:u32 -> u32", manual="with_upper(old, min(a * b + c, 65535))")(
    lambda x, a, b, c, old: kept(old, v_mad_u16_clamp(x, a, b, c))
)


@vop(
    "v_mad_keep_i16.clamp",
    "i16 i16 i16 old:u32 -> u32",
    manual="with_upper(old, limited(signed(a, 16) * signed(b, 16) + signed(c, 16), 16))",
)
def v_mad_keep_i16_clamp(x, a, b, c, old):
    return kept(old, v_mad_i16_clamp(x, a, b, c))


vop("v_add_i16", "u16 u16 old:u32 -> u32", manual="with_upper(old, a + b)")(lambda x, a, b, old: kept(old, a + b))
vop("v_sub_i16", "u16 u16 old:u32 -> u32", manual="with_upper(old, a - b)")(lambda x, a, b, old: kept(old, a - b))
vop("v_add_i16.clamp", "i16 i16 old:u32 -> u32", manual="with_upper(old, limited(signed(a, 16) + signed(b, 16), 16))")(
    lambda x, a, b, old: kept(old, saturated(x, a.to("i64") + b.to("i64"), "i16"))
)
vop("v_sub_i16.clamp", "i16 i16 old:u32 -> u32", manual="with_upper(old, limited(signed(a, 16) - signed(b, 16), 16))")(
    lambda x, a, b, old: kept(old, saturated(x, a.to("i64") - b.to("i64"), "i16"))
)
vop("v_pack_b32_f16", "u16 u16 -> u32", manual="a | b << 16")(lambda x, a, b: a.to("u32") | (b.to("u32") << 16))


@vop("v_cvt_pknorm_i16_f16", "f16 f16 -> u32", host_mode=HOST_MODE)
def v_cvt_pknorm_i16_f16(x, a, b):
    return v_cvt_pknorm_i16_f32(x, a.to("f32"), b.to("f32"))


@vop("v_cvt_pknorm_u16_f16", "f16 f16 -> u32", host_mode=HOST_MODE)
def v_cvt_pknorm_u16_f16(x, a, b):
    return v_cvt_pknorm_u16_f32(x, a.to("f32"), b.to("f32"))


vop("v_cvt_norm_i16_f16", "f16 -> u32", host_mode=HOST_MODE)(lambda x, a: v_cvt_pknorm_i16_f16(x, a, a) & 0xFFFF)
vop("v_cvt_norm_u16_f16", "f16 -> u32", host_mode=HOST_MODE)(lambda x, a: v_cvt_pknorm_u16_f16(x, a, a) & 0xFFFF)


def byte_of(number):
    """Return a number limited to 0 to 255, for `manual`."""
    return max(0, min(number, 255))


@vop("v_sat_pk_u8_i16", "u32 -> u32", manual="byte_of(signed(a, 16)) | byte_of(signed(a >> 16, 16)) << 8")
def v_sat_pk_u8_i16(x, a):
    low, high = (x.max(x.min(half.as_("i16"), 255), 0).bits().to("u32") for half in (a.to("u16"), (a >> 16).to("u16")))
    return low | (high << 8)


# -- scalar ---------------------------------------------------------------------------------------------------------
sop("s_mul_hi_u32", "u32 u32 -> u32", manual="a * b >> 32")(
    lambda x, a, b: ((a.to("u64") * b.to("u64")) >> 32).to("u32")
)
sop("s_mul_hi_i32", "i32 i32 -> i32", manual="signed(a) * signed(b) >> 32 & M32")(
    lambda x, a, b: ((a.to("i64") * b.to("i64")) >> 32).to("i32")
)


for _n in range(1, 5):

    @sop(f"s_lshl{_n}_add_u32", "u32 u32 -> u32 scc", manual=f"((a << {_n}) + b & M32, (a << {_n}) + b > M32)")
    def s_lshl_add(x, a, b, *, places=_n):
        total = (a.to("u64") << places) + b.to("u64")
        return total.to("u32"), (total >> 32) != 0


sop("s_pack_ll_b32_b16", "u32 u32 -> u32", manual="a & 0xFFFF | (b & 0xFFFF) << 16")(
    lambda x, a, b: (a & 0xFFFF) | (b << 16)
)
sop("s_pack_lh_b32_b16", "u32 u32 -> u32", manual="a & 0xFFFF | b >> 16 << 16")(
    lambda x, a, b: (a & 0xFFFF) | (b & 0xFFFF0000)
)
sop("s_pack_hh_b32_b16", "u32 u32 -> u32", manual="a >> 16 | b >> 16 << 16")(
    lambda x, a, b: (a >> 16) | (b & 0xFFFF0000)
)


# the first operand is EXEC, the second the source
@sop(
    "s_andn1_saveexec_b64 s_andn1_wrexec_b64",
    "u64 u64 -> u64 scc",
    manual="(exec_mask & ~source, exec_mask & ~source != 0)",
)
def s_andn1_saveexec_b64(x, exec_mask, source):
    return exec_mask & ~source, (exec_mask & ~source) != 0


sop("s_orn1_saveexec_b64", "u64 u64 -> u64 scc", manual="(exec_mask | source ^ M64, exec_mask | source ^ M64 != 0)")(
    lambda x, exec_mask, source: (exec_mask | ~source, (exec_mask | ~source) != 0)
)
sop("s_andn2_wrexec_b64", "u64 u64 -> u64 scc", manual="(source & ~exec_mask, source & ~exec_mask != 0)")(
    lambda x, exec_mask, source: (source & ~exec_mask, (source & ~exec_mask) != 0)
)


@sop("s_bitreplicate_b64_b32", "u32 -> u64", manual="sum((a >> i & 1) * 3 << 2 * i for i in range(32))")
def s_bitreplicate_b64_b32(x, a):
    wide = a.to("u64")
    for places, mask in (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ):
        wide = (wide | (wide << places)) & mask
    return wide | (wide << 1)
