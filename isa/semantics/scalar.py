"""The scalar ALU: SOP1, SOP2, SOPC and SOPK instructions that do not touch the program counter, and those that set
M0 as the index of vector registers (its old value comes as the destination's: bits 7:0 the index, 15:12 the operands).

Shift amounts are masked to the width. "SCC = result is not 0" unless an instruction says otherwise. The second
parameter of SOPK instructions is the destination register's value.
"""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import sop
from isa.lanes.values import BITS


def _with_nonzero(result):
    return result, result != 0


for _width in ("32", "64"):
    _u = f"u{_width}"
    _MASK = int(_width) - 1

    sop(f"s_mov_b{_width}", f"{_u} -> {_u}")(lambda x, a: a)
    sop(f"s_cmov_b{_width}", f"{_u} scc old:{_u} -> {_u}")(lambda x, a, scc, d: x.select(scc, a, d))
    sop(f"s_cselect_b{_width}", f"{_u} {_u} scc -> {_u}")(lambda x, a, b, scc: x.select(scc, a, b))
    sop(f"s_not_b{_width}", f"{_u} -> {_u} scc")(lambda x, a: _with_nonzero(~a))
    sop(f"s_brev_b{_width}", f"{_u} -> {_u}")(lambda x, a: x.bitreverse(a))
    sop(f"s_bcnt1_i32_b{_width}", f"{_u} -> u32 scc")(lambda x, a: _with_nonzero(x.popcount(a).to("u32")))
    sop(f"s_bcnt0_i32_b{_width}", f"{_u} -> u32 scc")(lambda x, a: _with_nonzero(x.popcount(~a).to("u32")))

    @sop(f"s_ff1_i32_b{_width}", f"{_u} -> u32")
    def s_ff1(x, a):
        return x.select(a == 0, 0xFFFFFFFF, x.cttz(a).to("u32"))

    sop(f"s_ff0_i32_b{_width}", f"{_u} -> u32")(lambda x, a: s_ff1(x, ~a))
    sop(f"s_flbit_i32_b{_width}", f"{_u} -> u32")(lambda x, a: x.select(a == 0, 0xFFFFFFFF, x.ctlz(a).to("u32")))

    @sop("s_flbit_i32" if _width == "32" else "s_flbit_i32_i64", f"i{_width} -> u32")
    def s_flbit_signed(x, a):
        flipped = x.select(a < 0, ~a, a).bits()
        return x.select(flipped == 0, 0xFFFFFFFF, x.ctlz(flipped).to("u32"))

    sop(f"s_bitset0_b{_width}", f"u32 old:{_u} -> {_u}")(
        lambda x, a, d: d & ~(x.constant(d.kind, 1) << (a.to(d.kind) & (BITS[d.kind] - 1)))
    )
    sop(f"s_bitset1_b{_width}", f"u32 old:{_u} -> {_u}")(
        lambda x, a, d: d | (x.constant(d.kind, 1) << (a.to(d.kind) & (BITS[d.kind] - 1)))
    )
    sop(f"s_wqm_b{_width}", f"{_u} -> {_u} scc")(lambda x, a: _with_nonzero(_any_of_quad(x, a) * 0xF))

    @sop(f"s_quadmask_b{_width}", f"{_u} -> {_u} scc")
    def s_quadmask(x, a):
        quads = _any_of_quad(x, a)
        result = x.constant(a.kind, 0)
        for i in range(BITS[a.kind] // 4):
            result = result | (((quads >> (4 * i)) & 1) << i)
        return _with_nonzero(result)

    def _any_of_quad(x, a):
        pairs = a | (a >> 1)
        return (pairs | (pairs >> 2)) & (0x1111111111111111 & ((1 << BITS[a.kind]) - 1))

    sop(f"s_and_b{_width}", f"{_u} {_u} -> {_u} scc")(lambda x, a, b: _with_nonzero(a & b))
    sop(f"s_or_b{_width}", f"{_u} {_u} -> {_u} scc")(lambda x, a, b: _with_nonzero(a | b))
    sop(f"s_xor_b{_width}", f"{_u} {_u} -> {_u} scc")(lambda x, a, b: _with_nonzero(a ^ b))
    sop(f"s_andn2_b{_width}", f"{_u} {_u} -> {_u} scc")(lambda x, a, b: _with_nonzero(a & ~b))
    sop(f"s_orn2_b{_width}", f"{_u} {_u} -> {_u} scc")(lambda x, a, b: _with_nonzero(a | ~b))
    sop(f"s_nand_b{_width}", f"{_u} {_u} -> {_u} scc")(lambda x, a, b: _with_nonzero(~(a & b)))
    sop(f"s_nor_b{_width}", f"{_u} {_u} -> {_u} scc")(lambda x, a, b: _with_nonzero(~(a | b)))
    sop(f"s_xnor_b{_width}", f"{_u} {_u} -> {_u} scc")(lambda x, a, b: _with_nonzero(~(a ^ b)))
    sop(f"s_lshl_b{_width}", f"{_u} u32 -> {_u} scc")(
        lambda x, a, b: _with_nonzero(a << (b.to(a.kind) & (BITS[a.kind] - 1)))
    )
    sop(f"s_lshr_b{_width}", f"{_u} u32 -> {_u} scc")(
        lambda x, a, b: _with_nonzero(a >> (b.to(a.kind) & (BITS[a.kind] - 1)))
    )
    sop(f"s_ashr_i{_width}", f"i{_width} u32 -> i{_width} scc")(
        lambda x, a, b: _with_nonzero(a >> (b.to(a.bits().kind) & (BITS[a.kind] - 1)).as_(a.kind))
    )

    @sop(f"s_bfm_b{_width}", f"u32 u32 -> {_u}")
    def s_bfm(x, a, b, kind=_u, mask=_MASK):
        one = x.constant(kind, 1)
        return ((one << (a & mask).to(kind)) - 1) << (b & mask).to(kind)

    @sop(f"s_bfe_u{_width}", f"{_u} u32 -> {_u} scc")
    def s_bfe_u(x, a, b):
        """Extract a bit field: offset in the low bits, width in bits 22:16; a wider field ends at the top bit."""
        top = BITS[a.kind] - 1
        width = ((b >> 16) & 0x7F).to(a.kind)
        field = (x.constant(a.kind, 1) << (width & top)) - 1
        shifted = a >> (b & top).to(a.kind)
        return _with_nonzero(x.select(width > top, shifted, shifted & field))

    @sop(f"s_bfe_i{_width}", f"i{_width} u32 -> i{_width} scc")
    def s_bfe_i(x, a, b):
        """Extract a bit field as s_bfe_u does, sign-extended from the field's top bit."""
        top = BITS[a.kind] - 1
        width = ((b >> 16) & 0x7F).to(a.kind)
        shifted = a >> (b & top).to(a.kind)
        unused = (top + 1 - width) & top
        extended = (shifted << unused) >> unused
        result = x.select(width == 0, 0, x.select(width > top, shifted, extended))
        return _with_nonzero(result)

    @sop(f"s_bitcmp0_b{_width}", f"{_u} u32 -> scc")
    def s_bitcmp0(x, a, b):
        return ((a >> (b.to(a.kind) & (BITS[a.kind] - 1))) & 1) == 0

    @sop(f"s_bitcmp1_b{_width}", f"{_u} u32 -> scc")
    def s_bitcmp1(x, a, b):
        return ((a >> (b.to(a.kind) & (BITS[a.kind] - 1))) & 1) != 0


# EXEC-mask family: new EXEC from (EXEC, source); the executor writes the old EXEC to sdst.
_SAVEEXEC = {
    "and": lambda exec_mask, s: s & exec_mask,
    "or": lambda exec_mask, s: s | exec_mask,
    "xor": lambda exec_mask, s: s ^ exec_mask,
    "andn2": lambda exec_mask, s: s & ~exec_mask,
    "orn2": lambda exec_mask, s: s | ~exec_mask,
    "nand": lambda exec_mask, s: ~(s & exec_mask),
    "nor": lambda exec_mask, s: ~(s | exec_mask),
    "xnor": lambda exec_mask, s: ~(s ^ exec_mask),
}
for _name, _combine in _SAVEEXEC.items():

    @sop(f"s_{_name}_saveexec_b64", "u64 u64 -> u64 scc")
    def s_saveexec(x, exec_mask, source, combine=_combine):
        return _with_nonzero(combine(exec_mask, source))


sop("s_add_u32", "u32 u32 -> u32 scc", manual="(a + b & M32, a + b > M32)")(lambda x, a, b: (a + b, a + b < a))
sop("s_sub_u32", "u32 u32 -> u32 scc", manual="(a - b & M32, a < b)")(lambda x, a, b: (a - b, a < b))


def _add_signed(a, b):
    total = a + b
    return total, ((a ^ total) & (b ^ total)) < 0


@sop("s_add_i32", "i32 i32 -> i32 scc")
def s_add_i32(x, a, b):
    """Add with SCC = signed overflow."""
    return _add_signed(a, b)


@sop("s_sub_i32", "i32 i32 -> i32 scc")
def s_sub_i32(x, a, b):
    """Subtract with SCC = signed overflow."""
    return a - b, ((a ^ b) & (a ^ (a - b))) < 0


@sop("s_addc_u32", "u32 u32 scc -> u32 scc", manual="(a + b + scc & M32, a + b + scc > M32)")
def s_addc_u32(x, a, b, scc):
    partial = a + b
    total = partial + scc.to("u32")
    return total, (partial < a) | (total < partial)


sop("s_subb_u32", "u32 u32 scc -> u32 scc", manual="(a - b - scc & M32, a < b + scc)")(
    lambda x, a, b, scc: (a - b - scc.to("u32"), (a < b) | ((a == b) & scc))
)


for _kind in ("i32", "u32"):

    @sop(f"s_min_{_kind}", f"{_kind} {_kind} -> {_kind} scc")
    def s_min(x, a, b):
        """Return the minimum, with SCC = the first is strictly smaller."""
        return x.min(a, b), a < b

    @sop(f"s_max_{_kind}", f"{_kind} {_kind} -> {_kind} scc")
    def s_max(x, a, b):
        """Return the maximum, with SCC = the first is strictly larger."""
        return x.max(a, b), a > b


sop("s_mul_i32", "u32 u32 -> u32", manual="a * b & M32")(lambda x, a, b: a * b)
sop("s_absdiff_i32", "i32 i32 -> i32 scc")(lambda x, a, b: _with_nonzero(abs(a - b)))
sop("s_abs_i32", "i32 -> i32 scc")(lambda x, a: _with_nonzero(abs(a)))
sop("s_sext_i32_i8", "i8 -> i32", manual="signed(a, 8) & M32")(lambda x, a: a.to("i32"))
sop("s_sext_i32_i16", "i16 -> i32", manual="signed(a, 16) & M32")(lambda x, a: a.to("i32"))


_CONDITIONS = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}
for _condition, _compare in _CONDITIONS.items():
    for _kind in ("i32", "u32"):

        @sop(f"s_cmp_{_condition}_{_kind}", f"{_kind} {_kind} -> scc")
        def s_cmp(x, a, b, compare=_compare):
            return compare(a, b)

        @sop(f"s_cmpk_{_condition}_{_kind}", f"{_kind[0]}16 old:{_kind} -> scc")
        def s_cmpk(x, constant, d, compare=_compare):
            return compare(d, constant.to(d.kind))


sop("s_cmp_eq_u64", "u64 u64 -> scc")(lambda x, a, b: a == b)
sop("s_cmp_lg_u64", "u64 u64 -> scc")(lambda x, a, b: a != b)
sop("s_movk_i32", "i16 -> i32", manual="signed(constant, 16) & M32")(lambda x, constant: constant.to("i32"))
sop("s_cmovk_i32", "i16 scc old:i32 -> i32", manual="signed(constant, 16) & M32 if scc else d")(
    lambda x, constant, scc, d: x.select(scc, constant.to("i32"), d)
)


@sop("s_addk_i32", "i16 old:i32 -> i32 scc")
def s_addk_i32(x, constant, d):
    """Add a constant with SCC = signed overflow."""
    return _add_signed(d, constant.to("i32"))


sop("s_mulk_i32", "i16 old:i32 -> i32", manual="signed(constant, 16) * signed(d) & M32")(
    lambda x, constant, d: d * constant.to("i32")
)
sop("s_set_gpr_idx_on", "u32 u32 old:u32 -> u32", manual="m0 & 0xFFFF0F00 | index & 0xFF | (operands & 15) << 12")(
    lambda x, index, operands, m0: (m0 & 0xFFFF0F00) | (index & 0xFF) | ((operands & 15) << 12)
)
sop("s_set_gpr_idx_idx", "u32 old:u32 -> u32", manual="m0 & 0xFFFFFF00 | index & 0xFF")(
    lambda x, index, m0: (m0 & 0xFFFFFF00) | (index & 0xFF)
)
sop("s_set_gpr_idx_mode", "u32 old:u32 -> u32", manual="m0 & 0xFFFF0FFF | (operands & 15) << 12")(
    lambda x, operands, m0: (m0 & 0xFFFF0FFF) | ((operands & 15) << 12)
)
