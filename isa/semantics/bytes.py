"""Sums of absolute differences and averages of packed bytes."""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import vop


def _byte(a, i):
    return ((a >> (8 * i)) & 0xFF).to("u32")


def _difference(x, a, b):
    return x.max(a, b) - x.min(a, b)


def _sad(x, a, b):
    total = x.u32(0)
    for i in range(4):
        total = total + _difference(x, _byte(a, i), _byte(b, i))
    return total


def _masked_sad(x, a, b):
    """Return the sum of absolute differences over the bytes of b that are not 0."""
    total = x.u32(0)
    for i in range(4):
        reference = _byte(b, i)
        total = total + x.select(reference == 0, 0, _difference(x, _byte(a, i), reference))
    return total


def _accumulated(x, sums, c):
    """Return `sums`, which cannot overflow by itself, plus c, saturated (the clamp bit)."""
    total = sums + c
    return x.select(total < c, 0xFFFFFFFF, total)


vop("v_sad_u8", "u32 u32 u32 -> u32")(lambda x, a, b, c: _sad(x, a, b) + c)
vop("v_sad_u8.clamp", "u32 u32 u32 -> u32")(lambda x, a, b, c: _accumulated(x, _sad(x, a, b), c))
vop("v_sad_hi_u8", "u32 u32 u32 -> u32")(lambda x, a, b, c: (_sad(x, a, b) << 16) + c)
vop("v_sad_hi_u8.clamp", "u32 u32 u32 -> u32")(lambda x, a, b, c: _accumulated(x, _sad(x, a, b) << 16, c))
vop("v_sad_u16", "u32 u32 u32 -> u32", manual="abs(a % 65536 - b % 65536) + abs((a >> 16) - (b >> 16)) + c & M32")(
    lambda x, a, b, c: _difference(x, a & 0xFFFF, b & 0xFFFF) + _difference(x, a >> 16, b >> 16) + c
)


@vop(
    "v_sad_u16.clamp",
    "u32 u32 u32 -> u32",
    manual="min(abs(a % 65536 - b % 65536) + abs((a >> 16) - (b >> 16)) + c, M32)",
)
def v_sad_u16_clamp(x, a, b, c):
    return _accumulated(x, _difference(x, a & 0xFFFF, b & 0xFFFF) + _difference(x, a >> 16, b >> 16), c)


vop("v_sad_u32", "u32 u32 u32 -> u32", manual="abs(a - b) + c & M32")(lambda x, a, b, c: _difference(x, a, b) + c)
vop("v_sad_u32.clamp", "u32 u32 u32 -> u32", manual="min(abs(a - b) + c, M32)")(
    lambda x, a, b, c: _accumulated(x, _difference(x, a, b), c)
)
vop("v_msad_u8", "u32 u32 u32 -> u32")(lambda x, a, b, c: _masked_sad(x, a, b) + c)
vop("v_msad_u8.clamp", "u32 u32 u32 -> u32")(lambda x, a, b, c: _accumulated(x, _masked_sad(x, a, b), c))


def _window(a, i):
    return (a >> (8 * i)).to("u32")


def _packed(x, a, b, c, sad, saturates=False):
    result = x.u64(0)
    for i in range(4):
        total = sad(x, _window(a, i), b) + (c >> (16 * i)).to("u16").to("u32")
        total = x.min(total, 0xFFFF) if saturates else total
        result = result | ((total & 0xFFFF).to("u64") << (16 * i))
    return result


vop("v_qsad_pk_u16_u8", "u64 u32 u64 -> u64")(lambda x, a, b, c: _packed(x, a, b, c, _sad))
vop("v_qsad_pk_u16_u8.clamp", "u64 u32 u64 -> u64")(lambda x, a, b, c: _packed(x, a, b, c, _sad, saturates=True))
vop("v_mqsad_pk_u16_u8", "u64 u32 u64 -> u64")(lambda x, a, b, c: _packed(x, a, b, c, _masked_sad))
vop("v_mqsad_pk_u16_u8.clamp", "u64 u32 u64 -> u64")(
    lambda x, a, b, c: _packed(x, a, b, c, _masked_sad, saturates=True)
)
vop("v_mqsad_u32_u8", "u64 u32 u32x4 -> u32x4")(
    lambda x, a, b, c: tuple(_masked_sad(x, _window(a, i), b) + c[i] for i in range(4))
)
vop("v_mqsad_u32_u8.clamp", "u64 u32 u32x4 -> u32x4")(
    lambda x, a, b, c: tuple(_accumulated(x, _masked_sad(x, _window(a, i), b), c[i]) for i in range(4))
)


@vop("v_lerp_u8", "u32 u32 u32 -> u32")
def v_lerp_u8(x, a, b, c):
    result = x.u32(0)
    for i in range(4):
        average = (_byte(a, i) + _byte(b, i) + (_byte(c, i) & 1)) >> 1
        result = result | (average << (8 * i))
    return result
