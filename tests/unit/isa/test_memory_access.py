"""Do the rarer forms of memory instructions do what the manual says?"""

import numpy as np
import pytest

from tests.support.functional import Device, kernel

ROWS = 24
LANE = np.arange(64)
DATA = np.random.default_rng(5).integers(0, 1 << 32, 256).astype(np.uint32)


@pytest.fixture(scope="module")
def out():
    device = Device()
    device.put("in", DATA)
    device.put("out", np.zeros(64 * ROWS, np.uint32))
    device.put("work", np.arange(256, dtype=np.uint32) * 3)
    device.run(kernel("memory_forms", "memory_forms"), 64, 64, "in", "out", "work")
    return device.get("out").reshape(ROWS, 64)


def same(row, expected):
    np.testing.assert_array_equal(row, np.broadcast_to(np.asarray(expected).astype(np.int64) & 0xFFFFFFFF, 64))


def test_buffer_loads_and_their_range(out):
    same(out[0], np.where(LANE < 40, DATA[:64], 0))
    same(out[1], np.where(LANE + 2 < 36, DATA[6:70], 0))  # a raw buffer's range counts from the scalar offset
    record = np.minimum(LANE, 15) * 3
    same(out[2], np.where(LANE < 16, DATA[record + 1], 0))
    same(out[3], np.where(LANE < 16, DATA[record + 2], 0))
    signed = DATA.view(np.int8)[12 * np.minimum(LANE, 15) + LANE % 4 + 4]
    same(out[4], np.where(LANE < 16, signed, 0))


def test_buffer_stores_and_atomics(out):
    expected = np.where(LANE < 40, 1000 + LANE, 3 * LANE)
    same(out[5], expected)
    same(out[6], np.where(LANE < 40, expected, 0))


def test_scalar_buffer_range_and_wide_loads(out):
    same(out[7], DATA[38].astype(np.int64) + DATA[39])
    same(out[8], 0)
    same(out[9], DATA[13 + 15])


def test_lds_two_addresses_and_96_bits(out):
    lds = np.arange(128)
    same(out[10], lds[LANE + 3])
    same(out[11], lds[LANE + 60])
    for d in range(3):
        same(out[12 + d], lds[np.minimum(LANE + 5 + d, 127)])
    same(out[15], -2)


def test_lds_atomics(out):
    same(out[16], np.where(LANE == 0, 5, 4))
    same(out[17], 100 - 63)
    same(out[18], np.where(LANE == 0, 0, np.where(LANE < 6, 5, 4)))  # lane 0 stores 5, which lane 5 makes 4
    assert out[19].view(np.float32)[0] == -53


def test_append_and_consume(out):
    same(out[20], np.where(LANE < 40, 40, out[20]))
    same(out[21], 40)


def test_flat_compare_and_swap_and_scalar_store(out):
    same(out[22], LANE)
    same(out[23], 4242)
