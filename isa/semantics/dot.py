"""Dot products of a register's parts, added to the third source (gfx906; LLVM language reference, AMDGPU intrinsics).

Those of gfx908 with a 'c' in their names add to the destination. Products of FP16 are exact in FP32; their sum and the
sum with the third source are rounded one after the other, which no manual says (assumed). Integer sums wrap unless they
are clamped.
"""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import vop
from isa.semantics.integer32 import saturated


def _parts(x, a, bits, signed):
    """Return the numbers of `bits` bits in a register as 64-bit ones, the lowest first."""
    kind = "i32" if signed else "u32"
    out = []
    for place in range(0, 32, bits):
        top = a << (32 - bits - place)
        out.append((top.as_(kind) >> (32 - bits)).to("i64" if signed else "u64"))
    return out


def _dot(x, a, b, c, bits, signed):
    total = c.as_("i32").to("i64") if signed else c.to("u64")
    for p, q in zip(_parts(x, a, bits, signed), _parts(x, b, bits, signed), strict=True):
        total = total + p * q
    return total


def products(a, b, bits, sign):
    """Return the sum of the products of the parts of two registers, for `manual`."""
    total = 0
    for place in range(0, 32, bits):
        p, q = (word >> place & (1 << bits) - 1 for word in (a, b))
        if sign:
            p, q = (v - (1 << bits) if v >> bits - 1 else v for v in (p, q))
        total += p * q
    return total


for _name, _bits, _signed in (
    ("v_dot2_i32_i16", 16, True),
    ("v_dot2_u32_u16", 16, False),
    ("v_dot4_i32_i8", 8, True),
    ("v_dot4_u32_u8", 8, False),
    ("v_dot8_i32_i4", 4, True),
    ("v_dot8_u32_u4", 4, False),
):
    _SUM = f"products(a, b, {_bits}, {_signed}) + " + ("signed(c)" if _signed else "c")
    _LIMITED = f"max(-(1 << 31), min({_SUM}, (1 << 31) - 1)) & M32" if _signed else f"min({_SUM}, M32)"

    @vop(_name, "u32 u32 u32 -> u32", manual=f"{_SUM} & M32")
    def v_dot(x, a, b, c, *, bits=_bits, signed=_signed):
        return _dot(x, a, b, c, bits, signed).to("u32")

    @vop(f"{_name}.clamp", "u32 u32 u32 -> u32", manual=_LIMITED)
    def v_dot_clamp(x, a, b, c, *, bits=_bits, signed=_signed):
        return saturated(x, _dot(x, a, b, c, bits, signed), "i32" if signed else "u32").bits()


@vop("v_dot2_f32_f16", "u32 u32 f32 -> f32")
def v_dot2_f32_f16(x, a, b, c):
    low, high = (
        p.to("u16").as_("f16").to("f32") * q.to("u16").as_("f16").to("f32") for p, q in ((a, b), (a >> 16, b >> 16))
    )
    return (low + high) + c


for _name, _bits in (("v_dot2c_i32_i16", 16), ("v_dot4c_i32_i8", 8), ("v_dot8c_i32_i4", 4)):
    _SUM = f"products(a, b, {_bits}, True) + signed(d)"

    @vop(_name, "u32 u32 old:u32 -> u32", manual=f"{_SUM} & M32")
    def v_dotc(x, a, b, d, *, bits=_bits):
        return _dot(x, a, b, d, bits, True).to("u32")

    @vop(f"{_name}.clamp", "u32 u32 old:u32 -> u32", manual=f"max(-(1 << 31), min({_SUM}, (1 << 31) - 1)) & M32")
    def v_dotc_clamp(x, a, b, d, *, bits=_bits):
        return saturated(x, _dot(x, a, b, d, bits, True), "i32").bits()


vop("v_dot2c_f32_f16", "u32 u32 old:f32 -> f32")(v_dot2_f32_f16)
