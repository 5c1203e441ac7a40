"""Do kernels that stock clang built give NumPy's results?"""

import numpy as np
import pytest

from gpusim.base.jit import JIT_DISABLED
from tests.support.functional import Device, kernel

RNG = np.random.default_rng(7)
GEMM = 16 if JIT_DISABLED else 64


def test_vector_add_with_a_partial_workgroup():
    device = Device()
    a, b = RNG.standard_normal(200).astype(np.float32), RNG.standard_normal(200).astype(np.float32)
    device.put("a", a), device.put("b", b), device.put("c", np.zeros(200, np.float32))
    result = device.run(kernel("vector_add", "vector_add"), 200, 64, "a", "b", "c", 200)
    np.testing.assert_array_equal(device.get("c"), a + b)
    assert result.workgroups == 4 and result.store_bytes == 800 and result.finished


def test_lds_gemm():
    device = Device()
    a, b = (RNG.standard_normal((GEMM, GEMM)).astype(np.float32) for _ in range(2))
    device.put("a", np.asfortranarray(a)), device.put("b", np.asfortranarray(b))
    device.put("c", np.zeros(GEMM * GEMM, np.float32))
    device.run(kernel("lds_gemm", "lds_gemm"), (GEMM, GEMM), (16, 16), "a", "b", "c", GEMM, GEMM, GEMM)
    c = device.get("c").reshape(GEMM, GEMM).T
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, atol=GEMM * 1e-6)


def test_divergent_loop():
    device = Device()
    values = RNG.integers(1, 200, 128).astype(np.uint32)
    device.put("in", values), device.put("out", np.zeros(128, np.uint32))
    device.run(kernel("divergent", "collatz"), 128, 64, "in", "out", 500)
    expected = []
    for v in values.tolist():
        steps = 0
        while v > 1 and steps < 500:
            if v & 1:
                v = 3 * v + 1
            elif v & 2:
                v >>= 1
            else:
                v >>= 2
                steps += 1
            steps += 1
        expected.append(steps)
    np.testing.assert_array_equal(device.get("out"), expected)


def test_switch_over_lanes():
    device = Device()
    device.put("out", np.zeros(128, np.int32))
    device.run(kernel("divergent", "classes"), 128, 64, "out")

    def one(i: int) -> int:
        cases = {0: i * 3, 1: -i, 2: i * i, 5: i // 3}
        return cases.get(i % 7, 1000 + i if i % 3 else 2000 - i)

    np.testing.assert_array_equal(device.get("out"), [one(i) for i in range(64)] * 2)


def test_reduction_with_barriers():
    device = Device()
    values = RNG.integers(-1000, 1000, 1024).astype(np.int32)
    device.put("in", values), device.put("sums", np.zeros(4, np.int32)), device.put("total", np.zeros(1, np.int32))
    device.run(kernel("reduction", "reduce_sum"), 1024, 256, "in", "sums", "total")
    np.testing.assert_array_equal(device.get("sums"), values.reshape(4, 256).sum(1))
    assert device.get("total")[0] == values.sum()


def test_histogram_with_lds_and_global_atomics():
    device = Device()
    values = RNG.integers(0, 256, 2048).astype(np.uint8)
    device.put("in", values), device.put("bins", np.zeros(256, np.uint32))
    device.run(kernel("atomics", "histogram"), 256, 128, "in", "bins")
    np.testing.assert_array_equal(device.get("bins"), np.bincount(values, minlength=256))


def test_every_global_atomic():
    device = Device()
    n = 128
    words = np.array([0, 0, 100, -100, -1, 0, 0, 0, *range(0, 2 * n, 2)], np.int32)
    device.put("w", words), device.put("u", np.array([2**32 - 1, 0], np.uint32))
    device.put("q", np.array([0, -(2**40)], np.int64)), device.put("out", np.zeros(n, np.int32))
    device.run(kernel("atomics", "all_atomics"), n, 64, "w", "u", "q", "out")
    i = np.arange(n)
    got = device.get("w")
    expected = [i.sum(), -i.sum(), (5 - i).min(), (i - 5).max()]
    np.testing.assert_array_equal(got[:4], expected)
    assert got[4] == np.int32(~0xFFFF) and got[5] == -1
    assert got[6] == np.bitwise_xor.reduce(i * 77)
    np.testing.assert_array_equal(device.get("out"), 2 * i)
    np.testing.assert_array_equal(got[8:], np.where(i + 1 == 2 * i, -7, i + 1))
    np.testing.assert_array_equal(device.get("u"), [0x80000000, 0x80000000])
    np.testing.assert_array_equal(device.get("q"), [0x100000000 * i.sum() + n, 0])


def test_byte_and_short_operations():
    device = Device()
    a, b = RNG.integers(0, 256, 128).astype(np.uint8), RNG.integers(-128, 128, 128).astype(np.int8)
    s = RNG.integers(-32768, 32768, 128).astype(np.int16)
    for name, array in (("a", a), ("b", b), ("s", s), ("o8", a * 0), ("o16", s.view(np.uint16) * 0)):
        device.put(name, array)
    device.put("o32", np.zeros(128, np.int32))
    device.run(kernel("bytes", "byte_mix"), 128, 64, "a", "b", "s", "o8", "o16", "o32")
    x, y, z = a.astype(np.int64), b.astype(np.int64), s.astype(np.int64)
    np.testing.assert_array_equal(device.get("o8"), ((x * 3 + y) & 255) ^ (x >> 3))
    np.testing.assert_array_equal(device.get("o16"), (((z + x) & 0xFFFF) << 1 | (y & 1)) & 0xFFFF)
    np.testing.assert_array_equal(device.get("o32"), y * z - x)


def test_unaligned_dwords():
    device = Device()
    a = RNG.integers(0, 256, 400).astype(np.uint8)
    device.put("a", a), device.put("out", np.zeros(400, np.uint8))
    device.run(kernel("bytes", "unaligned"), 64, 64, "a", "out")
    expected = np.zeros(400, np.uint8)
    for i in range(64):
        expected[5 * i + 1 : 5 * i + 5] = a[5 * i + 3 : 5 * i + 7]
    np.testing.assert_array_equal(device.get("out"), expected)


def test_private_array_in_scratch():
    device = Device()
    values, n = RNG.integers(0, 1 << 20, 97).astype(np.uint32), 97
    device.put("in", values), device.put("out", np.zeros(128, np.uint32))
    device.run(kernel("scratch", "private_table"), 128, 64, "in", "out", n)
    expected = []
    for i in range(128):
        table = [int(values[(i + k) % n]) * k & 0xFFFFFFFF for k in range(40)]
        total = 0
        for k in range(40):
            at = int(values[(i * 7 + k) % n]) % 40
            table[at] = table[at] + k & 0xFFFFFFFF
            total = total * 31 + table[(at + 13) % 40] & 0xFFFFFFFF
        expected.append(total)
    np.testing.assert_array_equal(device.get("out"), expected)


def test_one_pointer_to_three_address_spaces():
    device = Device()
    g = RNG.integers(0, 1 << 20, 64).astype(np.uint32)
    device.put("g", g), device.put("out", np.zeros(64, np.uint32))
    device.run(kernel("scratch", "generic_pointer"), 64, 64, "g", "out")
    expected = []
    for i in range(64):
        mine = [int(g[(i + k) % 64]) + 1000 for k in range(8)]
        p = mine if i % 3 == 0 else [int(v) + 100 for v in g] if i % 3 == 1 else [int(v) for v in g]
        expected.append(p[i % 8] + p[0])
    np.testing.assert_array_equal(device.get("out"), expected)


@pytest.mark.parametrize(("grid", "local"), [((8, 6, 4), (4, 3, 2)), ((10, 7, 3), (4, 3, 2)), ((70, 1, 1), (70, 1, 1))])
def test_places_in_three_dimensions_and_cut_workgroups(grid, local):
    device = Device()
    device.put("out", np.zeros(grid[0] * grid[1] * grid[2], np.uint32))
    device.run(kernel("geometry", "place"), grid, local, "out", grid[0], grid[1])
    z, y, x = np.meshgrid(*(np.arange(n) for n in reversed(grid)), indexing="ij")
    expected = x % local[0] | y % local[1] << 8 | z % local[2] << 16 | (x // local[0]) << 24
    np.testing.assert_array_equal(device.get("out"), expected.ravel())


def test_function_calls_and_constant_tables():
    device = Device()
    device.put("out", np.zeros(64, np.uint32))
    device.run(kernel("geometry", "calls"), 64, 64, "out")
    primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53]
    np.testing.assert_array_equal(device.get("out"), [primes[i & 15] ** (i & 7) & 0xFFFFFFFF for i in range(64)])


def test_cross_lane_operations():
    device = Device()
    v = RNG.integers(-1000, 1000, 64).astype(np.int32)
    device.put("in", v), device.put("out", np.zeros(384, np.int32))
    device.run(kernel("geometry", "lanes"), 64, 64, "in", "out")
    i, out = np.arange(64), device.get("out").reshape(6, 64)
    np.testing.assert_array_equal(out[0], v[i * 5 & 63])
    np.testing.assert_array_equal(out[1], v[::-1])
    np.testing.assert_array_equal(out[2], v[i ^ 1])  # bit mask mode: xor 1
    np.testing.assert_array_equal(out[3], v[17] + v[0])
    np.testing.assert_array_equal(out[4], np.where(i % 16 == 0, -1, np.roll(v, 1)))  # row_shr:1
    np.testing.assert_array_equal(out[5], i)
