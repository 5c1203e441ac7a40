"""Does the clamp bit of integer instructions saturate, and does a kernel that traps end with an error?"""

import numpy as np
import pytest

from isa.execution.faults import FAULT_TRAP, ExecutionFault
from tests.support.functional import Device, kernel

EDGES = [0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFF, 0x800000, 0xFFFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x12345678]
RNG = np.random.default_rng(5)


def _signed(x, bits):
    return (x + (1 << bits - 1) & (1 << bits) - 1) - (1 << bits - 1)


def _unsigned_16(x):
    return np.clip(x, 0, 0xFFFF)


def _numbers(*rows):
    return [row.tolist() for row in rows]


def _words(numbers):
    return [np.array([n >> shift & 0xFFFFFFFF for n in numbers]) for shift in (0, 32)]


def _wide_product(a, b, low):
    total = _signed(a, 32) * _signed(b, 32) + _signed(b << 32 | low, 64)
    return max(-(1 << 63), min((1 << 63) - 1, total))


def test_integer_clamp():
    a, b, c = (RNG.choice(np.concatenate([EDGES, RNG.integers(0, 1 << 32, 12)]), 64) for _ in range(3))
    device = Device()
    device.put("in", np.concatenate([a, b, c]).astype(np.uint32)), device.put("out", np.zeros(18 * 64, np.uint32))
    device.run(kernel("saturate", "saturate"), 64, 64, "in", "out")
    a16, b16, c16 = (x & 0xFFFF for x in (a, b, c))
    product_16 = _signed(a, 16) * _signed(b, 16) + _signed(c, 16)
    a24, b24 = a & 0xFFFFFF, b & 0xFFFFFF
    product_24 = _signed(a24, 24) * _signed(b24, 24) + _signed(c, 32)
    expected = [
        np.clip(a + b, 0, 0xFFFFFFFF),
        np.clip(a - b, 0, 0xFFFFFFFF),
        _unsigned_16(a16 + b16),
        _unsigned_16(a16 - b16),
        _unsigned_16(b16 - a16),
        _unsigned_16(a16 * b16 + c16),
        np.clip(product_16, -0x8000, 0x7FFF) & 0xFFFF,
        np.clip(a24 * b24 + c, 0, 0xFFFFFFFF),
        np.clip(product_24, -0x80000000, 0x7FFFFFFF) & 0xFFFFFFFF,
        _unsigned_16((a >> 16) + b16) << 16 | c16,
        np.clip(a24 * b24, 0, 0xFFFFFFFF),
        np.clip(_signed(a24, 24) * _signed(b24, 24), -0x80000000, 0x7FFFFFFF) & 0xFFFFFFFF,
        np.clip(abs(a - b) + c, 0, 0xFFFFFFFF),
        *_words([min(p * q + (q << 32 | r), (1 << 64) - 1) for p, q, r in zip(*_numbers(a, b, c), strict=True)]),
        *_words([_wide_product(p, q, r) for p, q, r in zip(*_numbers(a, b, c), strict=True)]),
        _unsigned_16(a16 * b16),
    ]
    for row, (got, wanted) in enumerate(zip(device.get("out").reshape(18, 64), expected, strict=True)):
        np.testing.assert_array_equal(got, wanted, f"result {row}")


def _trap(first):
    device = Device()
    device.put("in", np.array([first], np.uint32)), device.put("out", np.zeros(1, np.uint32))
    device.run(kernel("saturate", "trap"), 64, 64, "in", "out")


def test_a_trap_is_an_error_where_it_is_reached():
    _trap(1)
    with pytest.raises(ExecutionFault, match=r"pc 0x\w+ \(s_trap 2\): the kernel stopped itself") as info:
        _trap(0)
    assert info.value.code == FAULT_TRAP
