"""Do rounding and denormals follow MODE's fields, in every combination, in both back ends?"""

import platform
from fractions import Fraction
from functools import cache
from math import isnan

import numpy as np
import pytest

from gpusim.base.jit import JIT_DISABLED
from isa.lanes import library
from isa.lanes.exact_rounding import rounded
from isa.lanes.host_mode import HostMode
from isa.lanes.lane_library import compile_object, load_semantics, loaded, module_text
from isa.lanes.llvm_backend import LlvmBackend
from isa.lanes.llvm_module import ModuleText
from tests.unit.isa.lane_checks import (
    EXEC_MASKS,
    FORMATS,
    LANES,
    Bench,
    benches,
    from_float,
    infinity,
    lanes_of,
    round_bits,
    same,
    sample,
    sign_bit,
    to_float,
)
from tests.unit.isa.mode_references import CASES, DX10, IEEE, NEAREST, rounded_bits

# rounding of FP32 and of FP64, all pairs; of each, all pairs with denormals: where one has the other's rounding
MODES = [pair | (pair >> 2 | (pair & 3) << 2) << 4 for pair in range(16)]
MODES = [mode | (DX10 if mode & 1 else 0) | (IEEE if mode & 2 else 0) for mode in MODES]
FEW_MODES = [MODES[pair] for pair in (0, 5, 10, 15, 3, 9)]  # each rounding and each way with denormals of both formats

pytestmark = [
    pytest.mark.skipif(
        platform.machine() not in ("x86_64", "AMD64"), reason="other hosts flush inputs and results together"
    ),
    pytest.mark.compiled_tier,  # there it runs both back ends, plain Python too
]


def numbers(rng, kind):
    """Samples with many denormals and numbers of like size, so that sums cancel and results are inexact."""
    lanes = sample(rng, kind)
    if kind[0] != "f":
        return lanes
    mantissa, least = FORMATS[kind]
    for i in range(0, LANES, 2):
        exponent = int(rng.choice([0, 1, 2, mantissa, -least, -least + 1, -least - 1, -2 * least]))
        exponent = min(exponent, (infinity(kind) >> mantissa) - 1)
        lanes[i] = (int(rng.integers(0, 2)) << (int(kind[1:]) - 1)) | exponent << mantissa
        lanes[i] |= int(rng.integers(0, 1 << mantissa))
    return lanes


@pytest.mark.parametrize("modes", [FEW_MODES, pytest.param(MODES, marks=pytest.mark.nightly)], ids=len)
@pytest.mark.parametrize("name", CASES)
def test_every_rounding_and_denormal_mode(name, modes):
    reference = cache(CASES[name])  # both back ends see the same operands
    for number, bench in enumerate(benches()):
        signature = bench.lib.signature(name)
        rng = np.random.default_rng(list(name.encode()))
        for trial, mode in enumerate(modes):
            live = EXEC_MASKS[trial % len(EXEC_MASKS)]
            bench.put(0, "u64", sample(rng, "u64"))
            row, rows, operands = 8, [], []
            for token in signature.operands:
                if token == "mode":
                    continue
                lanes = [0] * LANES if token == "mask" else numbers(rng, token.removeprefix("old:"))
                if token.startswith("old:"):
                    bench.put(0, token[4:], lanes)
                elif token != "mask":
                    bench.put(row, token, lanes)
                    rows.append(row)
                    row += 4
                operands.append(lanes)
            kept = bench.get(0, "u64")
            mask = bench.call(name, 0, *(rows + [0, 0, 0])[:3], live, 0, mode)
            got = bench.get(0, signature.destination) if signature.destination else lanes_of(mask)
            for lane, on in enumerate(lanes_of(live)):
                bits = [o[lane] for o in operands]
                where = (name, number, hex(mode), lane, *map(hex, bits))
                if not on:
                    assert bench.get(0, "u64")[lane] == kept[lane] or not signature.destination, where
                    continue
                wanted = reference(mode, *bits)
                assert agrees(name, got[lane], wanted, signature.destination), (where, hex(got[lane]), hex(wanted))


def agrees(name, got, wanted, kind):
    if name == "v_cvt_pkrtz_f16_f32":
        return all(same(got >> s & 0xFFFF, wanted >> s & 0xFFFF, "f16") for s in (0, 16))
    return same(got, wanted, kind) if kind else got == wanted


FROM_INTEGERS = ("v_cvt_f16_u16", "v_cvt_f16_i16", "v_cvt_f32_u32", "v_cvt_f32_i32", "v_cvt_f64_u32", "v_cvt_f64_i32")
FROM_INTEGERS += tuple(f"v_cvt_f32_ubyte{byte}" for byte in range(4))


def host_without_avx512():
    """The conversions from integers as an x86-64 without AVX-512 compiles them: it has none of unsigned words."""
    names = (*FROM_INTEGERS, "v_trig_preop_f64", "row_flush_f16")
    compiled = compile_object(module_text(names), cpu="x86-64-v3")
    return Bench(loaded(compiled, names))


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_integers_become_the_same_floats_on_a_host_without_avx512():
    """In every rounding mode, and 0 becomes +0: not a difference, which is -0 where the host rounds down."""
    library()
    bench = host_without_avx512()
    edges = [0, 1, 2, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFF7F, 0xFFFFFF80]
    edges += [0xFFFFFF81, 0xFFFFFFFF, 0x1000001, 0x1000003, 0x80000080, 0x80000081, 0x100000F, 2047, 2049]
    lanes = (edges * 3)[:LANES]
    for name in FROM_INTEGERS:
        signature = bench.lib.signature(name)
        bench.put(8, signature.sources[0], lanes)
        for rounding in range(4):
            mode = 0xF0 | rounding | rounding << 2
            bench.call(name, 0, 8, mode=mode)
            for bits, got in zip(lanes, bench.get(0, signature.destination), strict=True):
                if name.startswith("v_cvt_f32_ubyte"):
                    wanted = from_float(float(bits >> 8 * int(name[-1]) & 0xFF), "f32")
                else:
                    width = int(signature.sources[0][1:])
                    wanted = CASES[name](mode, bits & (1 << width) - 1)
                assert got == wanted, (name, rounding, hex(bits), hex(got), hex(wanted))


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_a_product_of_no_bits_is_plus_zero_on_a_host_without_avx512():
    """v_trig_preop_f64 far past the bits of 2 / pi that it knows converts a 64-bit zero."""
    library()
    for bench in (host_without_avx512(), *benches()):
        bench.put(8, "f64", [from_float(2.0**1000, "f64")] * LANES)
        bench.put(12, "u32", [31] * LANES)
        bench.call("v_trig_preop_f64", 0, 8, 12, mode=0xF0 | 2 | 2 << 2)
        assert bench.get(0, "f64") == [0] * LANES


def test_no_unsigned_conversion_is_left_to_the_compiler():
    load_semantics()
    assert "uitofp" not in module_text()


@pytest.mark.parametrize("kind, to", [("u64", "f32"), ("i64", "f32"), ("u32", "f16"), ("i32", "f16")])
def test_conversions_that_would_round_twice_are_refused(kind, to):
    x = LlvmBackend(LANES, ModuleText(HostMode()))
    with pytest.raises(TypeError, match=f"{kind} to {to} would be rounded twice"):
        x.constant(kind, 1).to(to)


@pytest.mark.parametrize("name", ["v_exp_f32", "v_log_f32", "v_sin_f32", "v_rsq_f32", "v_exp_f16", "v_div_scale_f64"])
def test_transcendentals_and_scaling_do_not_look_at_mode(name):
    """All three modes keep FP16 denormals."""
    for bench in benches():
        signature = bench.lib.signature(name)
        rng = np.random.default_rng(6)
        for place, token in enumerate(signature.sources):
            bench.put(4 + 4 * place, token, sample(rng, token))
        results = []
        for mode in (0xF0, 0xC1, 0xFE):
            mask = bench.call(name, 0, 4, 8, 12, mode=mode)
            results.append((mask, bench.get(0, signature.destination)))
        assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("kind", ["f16", "f32", "f64"])
def test_signalling_nan_in_min_and_max(kind):
    quiet = infinity(kind) | 1 << (FORMATS[kind][0] - 1)
    signalling, one = infinity(kind) | 1, from_float(1.0, kind)
    pairs = [(signalling, one), (one, signalling), (quiet, one), (one, quiet), (quiet, signalling), (one, one)]
    pairs += [(sign_bit(kind) - 1, infinity(kind) | sign_bit(kind)), (signalling | sign_bit(kind), infinity(kind))]
    for bench in benches():
        for place in (0, 1):
            bench.put(4 + 4 * place, kind, [p[place] for p in pairs] + [one] * (LANES - len(pairs)))
        for mode in (0xC0, 0xC0 | IEEE):
            for name in ("min", "max"):
                bench.call(f"v_{name}_{kind}", 0, 4, 8, mode=mode)
                for (a, b), got in zip(pairs, bench.get(0, kind), strict=False):
                    counts = mode & IEEE and signalling in (a & (sign_bit(kind) - 1), b & (sign_bit(kind) - 1))
                    number = b if isnan(to_float(a, kind)) else a
                    assert same(got, quiet if counts or isnan(to_float(number, kind)) else number, kind), (a, b, mode)
                    if got & (sign_bit(kind) - 1) > infinity(kind):
                        assert got & quiet == quiet


def test_min3_takes_the_number_after_a_signalling_pair():
    for bench in benches():
        for row, bits in ((4, 0x7F800001), (8, 0x3F800000), (12, 0x40000000)):
            bench.put(row, "f32", [bits] * LANES)
        bench.call("v_min3_f32", 0, 4, 8, 12, mode=0xC0 | IEEE)
        assert bench.get(0, "f32")[0] == 0x40000000
        bench.call("v_min3_f32", 0, 4, 8, 12, mode=0xC0)
        assert bench.get(0, "f32")[0] == 0x3F800000


def test_exact_rounding_agrees_with_the_reference():
    rng = np.random.default_rng(4)
    for _ in range(3000):
        kind = ("f16", "f32", "f64")[int(rng.integers(0, 3))]
        least = FORMATS[kind][1]
        exponent = int(rng.integers(-4, 4)) + int(rng.choice([0, least, -least]))
        exact = Fraction(int(rng.integers(1, 1 << 62)) * int(rng.choice([-1, 1])), 1 << 62) * Fraction(2) ** exponent
        rounding, flush = int(rng.integers(0, 4)), bool(rng.integers(0, 2)) and kind != "f16"
        wanted = rounded_bits(exact, kind, rounding, not flush)
        assert from_float(rounded(exact, kind, rounding, flush), kind) == wanted
        if rounding == NEAREST and not flush:
            assert wanted == round_bits(exact, kind)
