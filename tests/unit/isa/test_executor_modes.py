"""Do kernels compute as MODE says: set by s_setreg while they run, or by the kernel descriptor?"""

import platform

import numpy as np
import pytest

from tests.support.functional import Device, kernel
from tests.unit.isa.lane_checks import same
from tests.unit.isa.mode_references import CASES

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="other hosts flush inputs and results together"
)
LANES = 64
DX10_AND_IEEE = 0x300  # on by default in a descriptor


def inputs():
    """FP32 a, b and FP64 c, d with sums that cancel to denormals, their low halves as FP16."""
    rng = np.random.default_rng(7)
    exponents = rng.choice([0, 1, 2, 127, 128], (2, LANES))
    a, b = (exponents << 23 | rng.integers(0, 1 << 23, (2, LANES)) | rng.integers(0, 2, (2, LANES)) << 31).tolist()
    halves = rng.choice([0, 1, 15], (2, LANES)) << 10 | rng.integers(0, 1 << 10, (2, LANES))
    low_a, low_b = halves.tolist()
    a = [v & ~0xFFFF | h for v, h in zip(a, low_a, strict=True)]
    b = [v & ~0xFFFF | h for v, h in zip(b, low_b, strict=True)]
    wide = rng.choice([0, 1, 2, 1023, 1024], (2, LANES)).tolist()
    c, d = ([e << 52 | int(rng.integers(0, 1 << 52)) | int(rng.integers(0, 2)) << 63 for e in row] for row in wide)
    b[0], b[1] = a[0] ^ 0x80000000, 0x00800001  # exact cancellation; a denormal difference
    a[1] = 0x80800000
    return a, b, c, d


def run(name, rows):
    a, b, c, d = inputs()
    words = [a, b] + [[v >> shift & 0xFFFFFFFF for v in wide] for wide in (c, d) for shift in (0, 32)]
    device = Device()
    device.put("in", np.array(words, np.uint32).reshape(-1)), device.put("out", np.zeros(rows * LANES, np.uint32))
    device.run(kernel("modes", name), LANES, LANES, "in", "out")
    return device.get("out").reshape(rows, LANES).tolist()


def compare(mode, out):
    """Ten rows of one setting; `mode` is MODE[7:0]."""
    assert out[9] == [DX10_AND_IEEE | mode] * LANES
    wide = [[low | high << 32 for low, high in zip(out[k], out[k + 1], strict=True)] for k in (2, 4)]
    for lane, (a, b, c, d) in enumerate(zip(*inputs(), strict=True)):
        got = (out[0][lane], out[1][lane], wide[0][lane], wide[1][lane], out[6][lane], out[7][lane], out[8][lane])
        wanted = (
            CASES["v_add_f32"](mode, a, b),
            CASES["v_mad_f32"](mode, a, b, b),
            CASES["v_fma_f64"](mode, c, d, d),
            CASES["v_div_fmas_f64"](mode, c, d, c, False),
            CASES["v_add_f16"](mode, a & 0xFFFF, b & 0xFFFF),
            CASES["v_cvt_f16_f32"](mode, a),
            int(CASES["v_cmp_lt_f64"](mode, c, d)),
        )
        for kind, p, q in zip(("f32", "f32", "f64", "f64", "f16", "f16", "u32"), got, wanted, strict=True):
            assert same(p, q, kind), (hex(mode), lane, kind, hex(p), hex(q))


@pytest.mark.compiled_tier  # 256 settings; the other two are as much for plain Python
def test_every_setting_by_s_setreg():
    out = run("modes", 256 * 10)
    for mode in range(0, 256, 11):
        compare(mode, out[10 * mode : 10 * mode + 10])
    distinct = {tuple(map(tuple, out[10 * m : 10 * m + 9])) for m in range(256)}
    assert len(distinct) > 200  # flushed inputs make some sums exact


def test_a_descriptor_with_other_modes():
    compare(1 | 3 << 2 | 2 << 4 | 1 << 6, run("own", 10))


def test_dx10_clamp_ieee_and_output_modifiers():
    out = run("flags", 6)
    a = np.array(inputs()[0], np.uint32)
    nan = [v & 0x7FFFFFFF > 0x7F800000 for v in out[1]]
    assert out[0] == [0] * LANES and all(nan)
    assert all(v & 0x7FFFFFFF > 0x7F800000 for v in out[2])
    np.testing.assert_array_equal(out[3], a)
    flushed = np.where(a & 0x7F800000 == 0, a & 0x80000000, a)
    np.testing.assert_array_equal(out[4], flushed)
    doubled = np.where(a & 0x7F800000 == 0, 0, a + 0x00800000)
    np.testing.assert_array_equal(out[5], doubled)
