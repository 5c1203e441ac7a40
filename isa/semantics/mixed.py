"""Multiply-adds of FP32 with sources in FP16 or FP32 (Vega ISA manual, V_MAD_MIX_F32 and its kin; gfx906 fuses them).

A source in FP16 is converted before (`row_mix`), which is exact, and its denormals stay whatever MODE says (assumed). A
result in FP16 is rounded twice: to FP32 by the sum, then to FP16.
"""
# mypy: disable-error-code="no-untyped-def"

from isa.lanes.table import FLUSH_DENORMALS, HOST_MODE, vop
from isa.semantics.float16 import flush_result


@vop("row_mix", "u32 imm -> f32", host_mode=HOST_MODE)
def row_mix(x, a, flags):
    """Read a source: flags 1: it is in FP16, 2: in the upper half; 4: its magnitude, then 8: negated."""
    half = x.select((flags & 2) != 0, a >> 16, a & 0xFFFF).to("u16").as_("f16").to("f32")
    bits = x.select((flags & 1) != 0, half.bits(), a)
    bits = bits & ~(((flags >> 2) & 1) << 31)
    return (bits ^ (((flags >> 3) & 1) << 31)).as_("f32")


vop("v_mad_mix_f32", "f32 f32 f32 -> f32", host_mode=FLUSH_DENORMALS)(lambda x, a, b, c: a * b + c)
vop("v_mad_mixlo_f16 v_mad_mixhi_f16", "f32 f32 f32 mode -> u32", host_mode=FLUSH_DENORMALS)(
    lambda x, a, b, c, mode: flush_result(x, (a * b + c).to("f16"), mode).bits().to("u32")
)
vop("v_fma_mix_f32", "f32 f32 f32 -> f32")(lambda x, a, b, c: x.fma(a, b, c))
vop("v_fma_mixlo_f16 v_fma_mixhi_f16", "f32 f32 f32 mode -> u32", host_mode=HOST_MODE)(
    lambda x, a, b, c, mode: flush_result(x, x.fma(a, b, c).to("f16"), mode).bits().to("u32")
)
