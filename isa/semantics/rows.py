"""Row helpers: source and output modifiers, SDWA, DPP; their arguments are listed in `isa.lanes`."""

from isa.lanes.table import vop
from isa.lanes.values import BITS

vop("row_broadcast", "imm -> u32")(lambda x, value: value)
vop("row_broadcast_b64", "imm imm -> u32x2")(lambda x, low, high: (low, high))
vop("row_copy", "u32 -> u32")(lambda x, a: a)
vop("row_copy_b64", "u64 -> u64")(lambda x, a: a)
vop("row_select", "u32 u32 mask -> u32")(lambda x, a, b, mask: x.select(mask, b, a))


def _sign(x, a, flags):
    sign = 1 << (BITS[a.kind] - 1)
    flags = flags.to(a.kind)
    keep = ~((flags & 1) << (BITS[a.kind] - 1))
    return (a & keep) ^ (((flags >> 1) & 1) * sign)


vop("row_sign_f32", "u32 imm -> u32")(_sign)
vop("row_sign_f16", "u16 imm -> u16")(_sign)
vop("row_sign_f64", "u64 imm -> u64")(_sign)
vop("row_flush_f16", "u16 imm -> u16")(
    lambda x, a, keep: x.select(((a & 0x7C00) == 0) & (keep.to("u16") == 0), a & 0x8000, a)
)


def _output(x, a, flags, wide):
    omod = flags & 3
    factor = x.constant(wide, 1.0)
    for code, number in ((1, 2.0), (2, 4.0), (3, 0.5)):
        factor = x.select(omod == code, x.constant(wide, number), factor)
    scaled = (a.to(wide) * factor).to(a.kind)
    scaled = x.select(scaled.bits() << 1 == 0, x.constant(a.kind, 0.0), scaled)
    scaled = x.select(omod == 0, a, scaled)
    zero, one = x.constant(a.kind, 0.0), x.constant(a.kind, 1.0)
    clamped = x.select(scaled > zero, x.select(scaled > one, one, scaled), zero)
    clamped = x.select(scaled.is_nan() & ((flags & 8) == 0), scaled, clamped)
    return x.select((flags & 4) != 0, clamped, scaled)


vop("row_output_f32", "f32 imm -> f32")(lambda x, a, flags: _output(x, a, flags, "f32"))
vop("row_output_f32x2", "f32x2 imm -> f32x2")(lambda x, a, flags: tuple(_output(x, part, flags, "f32") for part in a))
vop("row_output_f16", "f16 imm -> f16")(lambda x, a, flags: _output(x, a, flags, "f32"))
vop("row_output_f64", "f64 imm -> f64")(lambda x, a, flags: _output(x, a, flags, "f64"))


def _sdwa_width(x, select):
    """Return the bit offset and width of an SDWA select: bytes 0-3, words 4-5, dword 6."""
    word = select > 3
    offset = x.select(word, (select & 1) << 4, (select & 3) << 3)
    offset = x.select(select == 6, 0, offset)
    return offset, x.select(select == 6, 32, x.select(word, x.u32(16), x.u32(8)))


@vop("row_sdwa_select", "u32 imm imm -> u32")
def row_sdwa_select(x, a, select, sign_extend):
    offset, width = _sdwa_width(x, select)
    top = a << ((32 - width - offset) & 31)
    down = (32 - width) & 31
    return x.select(sign_extend != 0, (top.as_("i32") >> down.as_("i32")).as_("u32"), top >> down)


@vop("row_sdwa_merge", "u32 imm imm old:u32 -> u32")
def row_sdwa_merge(x, a, select, unused, old):
    offset, width = _sdwa_width(x, select)
    field = x.u32(0xFFFFFFFF) >> ((32 - width) & 31)
    placed = (a & field) << offset
    sign = (a >> ((width - 1) & 31)) & 1
    above = ~((field << offset) | ((x.u32(1) << offset) - 1))
    extended = placed | x.select(sign != 0, above, 0)
    kept = placed | (old & ~(field << offset))
    return x.select(unused == 2, kept, x.select(unused == 1, extended, placed))


def _dpp_source(x, lane, control):
    """Return the source lane, and whether it exists, by DPP_CTRL (GCN3 ISA manual, table of DPP_CTRL)."""
    row, in_row = lane & 0x30, lane & 15
    amount = control & 15
    quad = (lane & 0x3C) | ((control >> ((lane & 3) << 1)) & 3)
    source, exists = quad, lane == lane

    def case(condition, new_source, new_exists):
        nonlocal source, exists
        source = x.select(condition, new_source, source)
        exists = x.select(condition, new_exists, exists)

    every = lane == lane
    kind = control >> 4
    case(kind == 0x10, lane + amount, in_row + amount < 16)  # row_shl
    case(kind == 0x11, lane - amount, in_row >= amount)  # row_shr
    case(kind == 0x12, row | ((in_row - amount) & 15), every)  # row_ror
    case(control == 0x130, lane + 1, lane < 63)  # wave_shl
    case(control == 0x134, (lane + 1) & 63, every)  # wave_rol
    case(control == 0x138, lane - 1, lane > 0)  # wave_shr
    case(control == 0x13C, (lane - 1) & 63, every)  # wave_ror
    case(control == 0x140, row | (15 - in_row), every)  # row_mirror
    case(control == 0x141, (lane & 0x38) | (7 - (lane & 7)), every)  # row_half_mirror
    case(kind == 0x15, row | amount, every)  # row_newbcast
    case(control == 0x142, (row - 1) & 63, row > 0)  # row_bcast:15
    case(control == 0x143, lane & 0 | 31, lane > 31)  # row_bcast:31
    return source & 63, exists


@vop("row_dpp", "row imm imm mask -> u32 mask")
def row_dpp(x, control, bound, allowed):
    source, exists = _dpp_source(x, x.lane(), control)
    exists = exists & x.mask_lane("exec", source)  # a disabled lane is as invalid as one out of bounds
    value = x.gather("a", source)
    return x.select(exists, value, 0), allowed & (exists | (bound != 0))
