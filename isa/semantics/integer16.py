"""16-bit integer arithmetic: values in the low half of a register; results clear the upper half."""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import vop
from isa.semantics.integer32 import saturated

vop("v_add_u16", "u16 u16 -> u16", manual="(a + b) % 65536")(lambda x, a, b: a + b)
vop("v_sub_u16", "u16 u16 -> u16", manual="(a - b) % 65536")(lambda x, a, b: a - b)
vop("v_subrev_u16", "u16 u16 -> u16", manual="(b - a) % 65536")(lambda x, a, b: b - a)
vop("v_add_u16.clamp", "u16 u16 -> u16", manual="min(a + b, 65535)")(lambda x, a, b: x.select(a + b < a, 0xFFFF, a + b))


@vop("v_sub_u16.clamp", "u16 u16 -> u16", manual="max(a - b, 0)")
def v_sub_u16_clamp(x, a, b):
    return x.select(a < b, 0, a - b)


vop("v_subrev_u16.clamp", "u16 u16 -> u16", manual="max(b - a, 0)")(lambda x, a, b: v_sub_u16_clamp(x, b, a))
vop("v_mul_lo_u16", "u16 u16 -> u16", manual="a * b % 65536")(lambda x, a, b: a * b)
vop("v_mul_lo_u16.clamp", "u16 u16 -> u16", manual="min(a * b, 65535)")(
    lambda x, a, b: saturated(x, a.to("u64") * b.to("u64"), "u16")
)


@vop("v_mad_u16 v_mad_i16", "u16 u16 u16 -> u16", manual="(a * b + c) % 65536")
def v_mad_u16(x, a, b, c):
    return a * b + c


@vop("v_mad_u16.clamp", "u16 u16 u16 -> u16", manual="min(a * b + c, 65535)")
def v_mad_u16_clamp(x, a, b, c):
    return saturated(x, a.to("u64") * b.to("u64") + c.to("u64"), "u16")


@vop("v_mad_i16.clamp", "i16 i16 i16 -> i16")
def v_mad_i16_clamp(x, a, b, c):
    return saturated(x, a.to("i64") * b.to("i64") + c.to("i64"), "i16")


vop("v_lshlrev_b16", "u16 u16 -> u16", manual="b << a % 16 & 65535")(lambda x, a, b: b << (a & 15))
vop("v_lshrrev_b16", "u16 u16 -> u16", manual="b >> a % 16")(lambda x, a, b: b >> (a & 15))
vop("v_ashrrev_i16", "i16 i16 -> i16", manual="signed(b, 16) >> a % 16 & 65535")(lambda x, a, b: b >> (a & 15))


for _kind in ("u16", "i16"):
    vop(f"v_min_{_kind}", f"{_kind} {_kind} -> {_kind}")(lambda x, a, b: x.min(a, b))
    vop(f"v_max_{_kind}", f"{_kind} {_kind} -> {_kind}")(lambda x, a, b: x.max(a, b))
