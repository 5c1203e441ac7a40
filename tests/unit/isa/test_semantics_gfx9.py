"""Are GFX9's halves, packed halves, mixed sums and dot products those of exact arithmetic? (Integers: test_manual.)"""

from fractions import Fraction
from math import inf, isnan

import pytest

from isa.lanes import CLAMP_FLAG, DX10_CLAMP_FLAG
from tests.unit.isa.lane_checks import KEEP_MODE, LANES, arithmetic, benches, check, flushed, from_float, to_float
from tests.unit.isa.test_semantics_convert import Halves, normalised, pack
from tests.unit.isa.test_semantics_float import middle, smaller, unfused
from tests.unit.isa.test_semantics_transcendental import fixup

pytestmark = pytest.mark.compiled_tier  # there it runs both back ends, plain Python too

ADD, MULTIPLY = arithmetic(lambda a, b: a + b, "f16"), arithmetic(lambda a, b: a * b, "f16")
FUSED16, FUSED32, FUSED64 = (arithmetic(lambda a, b, c: a * b + c, kind) for kind in ("f16", "f32", "f64"))


def kept(reference):
    """The result in the lower half, the destination's upper one as it was."""
    return lambda *operands: Halves(operands[-1] >> 16 << 16 | reference(*operands[:-1]))


def packed(reference):
    """The same of both halves."""
    return lambda *words: Halves(reference(*(w & 0xFFFF for w in words)) | reference(*(w >> 16 for w in words)) << 16)


def of_half(reference):
    """A reference of FP32 on halves, which are numbers of FP32 too."""
    return lambda *halves: reference(*(from_float(to_float(half, "f16"), "f32") for half in halves))


def narrowed(reference):
    """FP32's result rounded once more, to FP16."""
    return lambda *bits: Halves(from_float(to_float(reference(*bits), "f32"), "f16"))


def dot2(a, b, c):
    low, high = (
        from_float(to_float(a >> place & 0xFFFF, "f16") * to_float(b >> place & 0xFFFF, "f16"), "f32")
        for place in (0, 16)
    )
    add = arithmetic(lambda p, q: p + q, "f32")
    return add(add(low, high), c)


def mac(a, b, old):
    return unfused("f16", False)(a, b, old & 0xFFFF)


REFERENCES = {
    "v_fmac_f32": (FUSED32, "mode"),
    "v_mac_keep_f16": (lambda a, b, old: Halves(old >> 16 << 16 | mac(a, b, old)), "never"),
    "v_mad_keep_f16": (kept(unfused("f16", False)), "never"),
    "v_madmk_keep_f16": (kept(lambda a, k, b: unfused("f16", False)(a, k, b)), "never"),
    "v_fma_keep_f16": (kept(FUSED16), "never"),
    "v_div_fixup_keep_f16": (kept(fixup("f16")), "never"),
    "v_min3_f16": (kept(smaller("f16")), "never"),
    "v_max3_f16": (kept(smaller("f16", max)), "never"),
    "v_med3_f16": (kept(middle("f16")), "never"),
    "v_cvt_pknorm_i16_f16": (pack(of_half(normalised(-1.0, 32767.0))), "never"),
    "v_cvt_pknorm_u16_f16": (pack(of_half(normalised(0.0, 65535.0))), "never"),
    "v_cvt_norm_i16_f16": (of_half(normalised(-1.0, 32767.0)), "never"),
    "v_cvt_norm_u16_f16": (of_half(normalised(0.0, 65535.0)), "never"),
    "v_pk_fma_f16": (packed(FUSED16), "never"),
    "v_pk_add_f16": (packed(ADD), "never"),
    "v_pk_mul_f16": (packed(MULTIPLY), "never"),
    "v_pk_min_f16": (packed(smaller("f16")), "never"),
    "v_pk_max_f16": (packed(smaller("f16", max)), "never"),
    "v_mad_mix_f32": (unfused("f32", True), "always"),
    "v_mad_mixlo_f16": (narrowed(lambda a, b, c: flushed(unfused("f32", True)(a, b, c), "f32")), "always"),
    "v_fma_mix_f32": (FUSED32, "mode"),
    "v_fma_mixlo_f16": (narrowed(FUSED32), "mode"),
    "v_dot2_f32_f16": (dot2, "mode"),
    "v_dot2c_f32_f16": (dot2, "mode"),
    "v_fmac_f64": (FUSED64, "never"),
    "v_pk_fmac_f16": (packed(FUSED16), "never"),
}


ELSEWHERE = ("v_pk_fma_f32", "v_pk_mul_f32", "v_pk_add_f32", "v_pk_mov_b32")  # test_gfx90a_execution
ELSEWHERE += ("v_fmaak_f32", "v_fmamk_f32")  # from here on: test_gfx942_execution
ELSEWHERE += tuple(
    f"v_cvt_{form}" for kind in ("fp8", "bf8") for form in (f"f32_{kind}", f"pk_f32_{kind}", f"pk_{kind}_f32")
)


@pytest.mark.parametrize("name", REFERENCES)
def test_operation(name):
    reference, flush = REFERENCES[name]
    check(name, reference, flush)


WORDS = (0x3C00_BC00, 0x8001_7FFF, 0xFFFF_0000, 0x1234_5678, 0x7E00_FC00)


def each_lane(name, words, flags):
    """What a helper makes of words, in both back ends, which must agree."""
    results = []
    for bench in benches():
        bench.rows[1, : len(words)] = words
        with bench.host_mode(KEEP_MODE):
            bench.call_raw(name, bench.address(0), bench.address(1), flags, 0, -1, KEEP_MODE)
        results.append(bench.get(0, "u32")[: len(words)])
    assert all(one == results[0] for one in results)
    return results[0]


@pytest.mark.parametrize("flags", range(16))
def test_halves_are_chosen_and_negated(flags):
    def wanted(word):
        low, high = word & 0xFFFF, word >> 16
        first, second = (high if flags & 1 else low), (high if flags & 2 else low)
        return (first ^ (0x8000 if flags & 4 else 0)) | (second ^ (0x8000 if flags & 8 else 0)) << 16

    assert each_lane("row_packed", WORDS, flags) == [wanted(word) for word in WORDS]


@pytest.mark.parametrize("flags", range(16))
def test_a_source_of_mixed_precision(flags):
    def wanted(word):
        bits = word
        if flags & 1:
            half = word >> 16 if flags & 2 else word & 0xFFFF
            if isnan(to_float(half, "f16")):
                return None
            bits = from_float(to_float(half, "f16"), "f32")
        bits &= 0x7FFFFFFF if flags & 4 else 0xFFFFFFFF
        return bits ^ (0x80000000 if flags & 8 else 0)

    for word, got in zip(WORDS, each_lane("row_mix", WORDS, flags), strict=True):
        assert wanted(word) in (None, got), hex(word)


@pytest.mark.parametrize("dx10", [0, DX10_CLAMP_FLAG])
def test_both_halves_are_limited(dx10):
    def one(half):
        value = to_float(half, "f16")
        if isnan(value):
            return 0 if dx10 else half
        return from_float(max(0.0, min(1.0, value)) if value > 0 else 0.0, "f16")

    words = [*WORDS, 0x4000_3800, from_float(inf, "f16") | 0x3400_0000]
    wanted = [one(word & 0xFFFF) | one(word >> 16) << 16 for word in words]
    assert each_lane("row_output_f16x2", words, CLAMP_FLAG | dx10) == wanted


def test_a_packed_sum_of_halves_is_rounded_once():
    """As of single halves: FP32 would round to a tie, and FP16 then up."""
    a, b, c = (from_float(v, "f16") for v in (1 + 2.0**-10, 2.0**-11 * (1 - 2.0**-10), 1 + 2.0**-10))
    for bench in benches():
        for row, value in ((1, a), (2, b), (3, c)):
            bench.put(row, "u32", [value * 0x10001] * LANES)
        bench.call("v_pk_fma_f16", 0, 1, 2, 3)
        assert bench.get(0, "u32") == [0x3C01_3C01] * LANES
    exact = Fraction(to_float(a, "f16")) * Fraction(to_float(b, "f16")) + Fraction(to_float(c, "f16"))
    assert exact > 1 + Fraction(1, 1 << 10)
