"""Moves, logic, shifts, bit fields and 32-bit integer arithmetic of the vector ALU."""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import vop

vop("v_nop v_clrexcp", "->", manual="()")(lambda x: ())
vop("v_mov_b32", "u32 -> u32", manual="a")(lambda x, a: a)
vop("v_not_b32", "u32 -> u32", manual="a ^ M32")(lambda x, a: ~a)
vop("v_bfrev_b32", "u32 -> u32")(lambda x, a: x.bitreverse(a))
vop("v_ffbh_u32", "u32 -> u32")(lambda x, a: x.select(a == 0, 0xFFFFFFFF, x.ctlz(a)))
vop("v_ffbl_b32", "u32 -> u32")(lambda x, a: x.select(a == 0, 0xFFFFFFFF, x.cttz(a)))


@vop("v_ffbh_i32", "u32 -> u32")
def v_ffbh_i32(x, a):
    flipped = x.select(a.as_("i32") < 0, ~a, a)
    return x.select(flipped == 0, 0xFFFFFFFF, x.ctlz(flipped))


vop("v_cndmask_b32", "u32 u32 mask -> u32", manual="b if mask else a")(lambda x, a, b, mask: x.select(mask, b, a))


# Carry arithmetic: GCN3's v_add_u32, v_sub_u32, v_subrev_u32 always write a carry-out.
@vop("v_add_u32", "u32 u32 -> u32 mask")
def v_add_u32(x, a, b):
    total = a + b
    return total, total < a


vop("v_sub_u32", "u32 u32 -> u32 mask")(lambda x, a, b: (a - b, a < b))
vop("v_subrev_u32", "u32 u32 -> u32 mask")(lambda x, a, b: (b - a, b < a))


@vop("v_addc_u32", "u32 u32 mask -> u32 mask")
def v_addc_u32(x, a, b, carry):
    partial = a + b
    total = partial + carry.to("u32")
    return total, (partial < a) | (total < partial)


def _subtract_borrow(a, b, borrow):
    partial = a - b
    return partial - borrow.to("u32"), (a < b) | ((a == b) & borrow)


vop("v_subb_u32", "u32 u32 mask -> u32 mask")(lambda x, a, b, borrow: _subtract_borrow(a, b, borrow))
vop("v_subbrev_u32", "u32 u32 mask -> u32 mask")(lambda x, a, b, borrow: _subtract_borrow(b, a, borrow))


# Saturating forms: the clamp bit of an integer VOP3 instruction.
@vop("v_add_u32.clamp", "u32 u32 -> u32 mask", manual="(min(a + b, M32), a + b > M32)")
def v_add_u32_clamp(x, a, b):
    total, carry = v_add_u32(x, a, b)
    return x.select(carry, 0xFFFFFFFF, total), carry


vop("v_sub_u32.clamp", "u32 u32 -> u32 mask", manual="(max(a - b, 0), a < b)")(
    lambda x, a, b: (x.select(a < b, 0, a - b), a < b)
)
vop("v_subrev_u32.clamp", "u32 u32 -> u32 mask", manual="(max(b - a, 0), b < a)")(
    lambda x, a, b: (x.select(b < a, 0, b - a), b < a)
)
vop("v_mul_lo_u32 v_mul_lo_i32", "u32 u32 -> u32", manual="a * b & M32")(lambda x, a, b: a * b)


@vop("v_mul_hi_u32", "u32 u32 -> u32", manual="a * b >> 32")
def v_mul_hi_u32(x, a, b):
    return ((a.to("u64") * b.to("u64")) >> 32).to("u32")


@vop("v_mul_hi_i32", "i32 i32 -> i32", manual="signed(a) * signed(b) >> 32 & M32")
def v_mul_hi_i32(x, a, b):
    return ((a.to("i64") * b.to("i64")) >> 32).to("i32")


def _low24(a):
    return (a << 8) >> 8


vop("v_mul_u32_u24", "u32 u32 -> u32")(lambda x, a, b: _low24(a) * _low24(b))
vop("v_mul_i32_i24", "i32 i32 -> i32")(lambda x, a, b: _low24(a) * _low24(b))
vop("v_mul_hi_u32_u24", "u32 u32 -> u32")(lambda x, a, b: v_mul_hi_u32(x, _low24(a), _low24(b)))
vop("v_mul_hi_i32_i24", "i32 i32 -> i32")(lambda x, a, b: v_mul_hi_i32(x, _low24(a), _low24(b)))
vop("v_mad_u32_u24", "u32 u32 u32 -> u32")(lambda x, a, b, c: _low24(a) * _low24(b) + c)
vop("v_mad_i32_i24", "i32 i32 i32 -> i32")(lambda x, a, b, c: _low24(a) * _low24(b) + c)


def saturated(x, wide, kind):
    """Limit a 64-bit number to the range of a narrower kind."""
    bits = int(kind[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind[0] == "i" else (0, (1 << bits) - 1)
    return x.max(x.min(wide, high), low).to(kind)


vop("v_mad_u32_u24.clamp", "u32 u32 u32 -> u32")(
    lambda x, a, b, c: saturated(x, _low24(a).to("u64") * _low24(b).to("u64") + c.to("u64"), "u32")
)
vop("v_mad_i32_i24.clamp", "i32 i32 i32 -> i32")(
    lambda x, a, b, c: saturated(x, _low24(a).to("i64") * _low24(b).to("i64") + c.to("i64"), "i32")
)
vop("v_mul_u32_u24.clamp", "u32 u32 -> u32")(
    lambda x, a, b: saturated(x, _low24(a).to("u64") * _low24(b).to("u64"), "u32")
)
vop("v_mul_i32_i24.clamp", "i32 i32 -> i32")(
    lambda x, a, b: saturated(x, _low24(a).to("i64") * _low24(b).to("i64"), "i32")
)


@vop("v_mad_u64_u32.clamp", "u32 u32 u64 -> u64 mask", manual="(min(a * b + c, M64), a * b + c >> 64)")
def v_mad_u64_u32_clamp(x, a, b, c):
    total, carry = v_mad_u64_u32(x, a, b, c)
    return x.select(carry, (1 << 64) - 1, total), carry


@vop("v_mad_i64_i32.clamp", "i32 i32 i64 -> i64 mask")
def v_mad_i64_i32_clamp(x, a, b, c):
    total, negative = v_mad_i64_i32(x, a, b, c)
    end = x.select(negative, x.i64(-(1 << 63)), x.i64((1 << 63) - 1))
    return x.select((total < 0) ^ negative, end, total), negative


@vop("v_mad_u64_u32", "u32 u32 u64 -> u64 mask", manual="(a * b + c & M64, a * b + c >> 64)")
def v_mad_u64_u32(x, a, b, c):
    total = a.to("u64") * b.to("u64") + c
    return total, total < c


@vop("v_mad_i64_i32", "i32 i32 i64 -> i64 mask")
def v_mad_i64_i32(x, a, b, c):
    product = a.to("i64") * b.to("i64")
    total = product + c
    # carry-out: bit 64 of the sum of the sign-extended operands, where the 64-bit sign is wrong
    overflow = ((product ^ total) & (c ^ total)) < 0
    return total, (total < 0) ^ overflow


vop("v_min_i32", "i32 i32 -> i32")(lambda x, a, b: x.min(a, b))
vop("v_max_i32", "i32 i32 -> i32")(lambda x, a, b: x.max(a, b))
vop("v_min_u32", "u32 u32 -> u32")(lambda x, a, b: x.min(a, b))
vop("v_max_u32", "u32 u32 -> u32")(lambda x, a, b: x.max(a, b))


for _kind in ("i32", "u32"):
    vop(f"v_min3_{_kind}", f"{_kind} {_kind} {_kind} -> {_kind}")(lambda x, a, b, c: x.min(x.min(a, b), c))
    vop(f"v_max3_{_kind}", f"{_kind} {_kind} {_kind} -> {_kind}")(lambda x, a, b, c: x.max(x.max(a, b), c))
    vop(f"v_med3_{_kind}", f"{_kind} {_kind} {_kind} -> {_kind}")(
        lambda x, a, b, c: x.max(x.min(a, b), x.min(x.max(a, b), c))
    )


vop("v_and_b32", "u32 u32 -> u32", manual="a & b")(lambda x, a, b: a & b)
vop("v_or_b32", "u32 u32 -> u32", manual="a | b")(lambda x, a, b: a | b)
vop("v_xor_b32", "u32 u32 -> u32", manual="a ^ b")(lambda x, a, b: a ^ b)
vop("v_lshlrev_b32", "u32 u32 -> u32", manual="b << a % 32 & M32")(lambda x, a, b: b << (a & 31))
vop("v_lshrrev_b32", "u32 u32 -> u32", manual="b >> a % 32")(lambda x, a, b: b >> (a & 31))
vop("v_ashrrev_i32", "i32 i32 -> i32", manual="signed(b) >> a % 32 & M32")(lambda x, a, b: b >> (a & 31))
vop("v_mov_b64", "u64 -> u64", manual="a")(lambda x, a: a)
vop("v_lshl_add_u64", "u64 u32 u64 -> u64", manual="(a << b % 8) + c & M64")(
    lambda x, a, b, c: (a << (b & 7).to("u64")) + c
)
vop("v_lshlrev_b64", "u32 u64 -> u64", manual="b << a % 64 & M64")(lambda x, a, b: b << (a & 63).to("u64"))
vop("v_lshrrev_b64", "u32 u64 -> u64", manual="b >> a % 64")(lambda x, a, b: b >> (a & 63).to("u64"))
vop("v_ashrrev_i64", "u32 i64 -> i64", manual="signed(b, 64) >> a % 64 & M64")(lambda x, a, b: b >> (a & 63).to("i64"))
vop("v_bfe_u32", "u32 u32 u32 -> u32", manual="(a >> b % 32) % (1 << c % 32)")(
    lambda x, a, b, c: (a >> (b & 31)) & ((x.u32(1) << (c & 31)) - 1)
)


@vop("v_bfe_i32", "i32 u32 u32 -> i32")
def v_bfe_i32(x, a, b, c):
    width = c & 31
    field = (a >> (b & 31).as_("i32")).as_("u32")
    unused = (32 - width) & 31
    extended = (field << unused).as_("i32") >> unused.as_("i32")
    return x.select(width == 0, 0, extended)


vop("v_bfi_b32", "u32 u32 u32 -> u32")(lambda x, a, b, c: (a & b) | (~a & c))
vop("v_bfm_b32", "u32 u32 -> u32", manual="(2 ** (a % 32) - 1) * 2 ** (b % 32) & M32")(
    lambda x, a, b: ((x.u32(1) << (a & 31)) - 1) << (b & 31)
)


def _funnel(a, b, bits):
    return (((a.to("u64") << 32) | b.to("u64")) >> bits.to("u64")).to("u32")


vop("v_alignbit_b32", "u32 u32 u32 -> u32", manual="(a << 32 | b) >> c % 32 & M32")(
    lambda x, a, b, c: _funnel(a, b, c & 31)
)
vop("v_alignbyte_b32", "u32 u32 u32 -> u32", manual="(a << 32 | b) >> 8 * (c % 4) & M32")(
    lambda x, a, b, c: _funnel(a, b, (c & 3) << 3)
)


@vop("v_perm_b32", "u32 u32 u32 -> u32")
def v_perm_b32(x, a, b, c):
    # selects: 0-3 bytes of b, 4-7 bytes of a, 8-11 signs of b's and a's halves, 12 zero, above 0xff
    out = x.u32(0)
    for i in range(4):
        select = (c >> (8 * i)) & 0xFF
        source = x.select(select > 3, a, b)
        byte = (source >> ((select & 3) << 3)) & 0xFF
        half = x.select(select > 9, a, b)
        sign = ((half >> (((select & 1) << 4) + 15)) & 1) * 0xFF
        byte = x.select(select > 7, sign, byte)
        byte = x.select(select == 12, 0, x.select(select > 12, 0xFF, byte))
        out = out | (byte << (8 * i))
    return out


vop("v_bcnt_u32_b32", "u32 u32 -> u32")(lambda x, a, b: x.popcount(a) + b)


@vop("v_mbcnt_lo_u32_b32", "u32 u32 -> u32")
def v_mbcnt_lo_u32_b32(x, a, b):
    lane = x.lane()
    below = x.select(lane < 32, (x.u32(1) << (lane & 31)) - 1, 0xFFFFFFFF)
    return x.popcount(a & below) + b


@vop("v_mbcnt_hi_u32_b32", "u32 u32 -> u32")
def v_mbcnt_hi_u32_b32(x, a, b):
    lane = x.lane()
    below = x.select(lane < 32, 0, (x.u32(1) << (lane & 31)) - 1)
    return x.popcount(a & below) + b
