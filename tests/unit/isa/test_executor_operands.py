"""Does every way of naming an operand reach the instruction: one assembly kernel, one row of results each?"""

import numpy as np
import pytest

from tests.support.functional import Device, kernel

ROWS = 40
MASK = 0xFFFFFFFF
LANE = np.arange(64)
RNG = np.random.default_rng(11)
INTEGERS = RNG.integers(0, 1 << 32, 64).astype(np.uint32)
FLOATS = RNG.uniform(-2, 2, 64).astype(np.float32)
V1 = INTEGERS.astype(np.int64)
S10, S11 = 0x12345678, 7


@pytest.fixture(scope="module")
def out():
    device = Device()
    device.put("in", np.concatenate([INTEGERS, FLOATS.view(np.uint32)]))
    device.put("out", np.zeros(64 * ROWS, np.uint32))
    device.run(kernel("operands", "operands"), 64, 64, "in", "out")
    return device.get("out").reshape(ROWS, 64)


def same(row, expected):
    np.testing.assert_array_equal(row, np.broadcast_to(np.asarray(expected, np.int64) & MASK, 64))


def same_float(row, expected):
    np.testing.assert_array_equal(row.view(np.float32), np.asarray(expected, np.float32))


def test_scalar_and_constant_sources(out):
    same(out[0], V1 + S10)
    same(out[1], V1 ^ 0xDEADBEEF)
    same(out[2], V1 - 16)
    same_float(out[3], FLOATS * np.float32(0.5))
    same(out[4], S11 * (V1 & 0xFFFFFF) + S11)


def test_source_and_output_modifiers(out):
    same_float(out[5], np.float32(1) - np.abs(FLOATS))
    same_float(out[6], FLOATS * np.float32(8))
    same_float(out[7], np.clip(FLOATS + np.float32(0.5), 0, 1))
    same_float(out[8], FLOATS * np.float32(3) + FLOATS)


def test_lane_masks(out):
    same(out[9], np.where(INTEGERS.view(np.int32) > 0, 9, 5))
    same(out[10], MASK)  # lanes 32 to 63
    same(out[11], (V1 + MASK) >> 32)


def test_sdwa(out):
    same(out[12], (V1 >> 8 & 255) + LANE)
    same(out[13], V1.astype(np.uint32).view(np.int16)[1::2])
    same(out[14], V1 & 0xFF00FFFF | (LANE & 255) << 16)


def test_dpp(out):
    same(out[15], V1[LANE & ~3 | 3 - (LANE & 3)])
    source = np.minimum(LANE + 3, 63)
    inside = LANE % 16 < 13
    same(out[16], np.where(inside, V1[source], -1))
    same(out[17], np.where(LANE // 16 % 2 == 0, np.where(inside, V1[source], 0), -1))


def test_exec_masks(out):
    same(out[18], np.where(LANE < 20, 2, 1))
    same(out[19], np.where((LANE >= 4) & (LANE < 12), 3, 1))


def test_lane_access(out):
    same(out[20], V1[13])
    same(out[21], np.where(LANE == 5, S10, LANE))
    same(out[22], 4)


def test_scalar_arithmetic(out):
    same(out[23], S11 + (S10 + 0xF0000000 >> 32))
    same(out[24], 1)
    same(out[25], 3)
    same(out[26], 22)
    same(out[27], S11)


def test_wide_operands(out):
    # v1 is the upper half of v[0:1]
    same(out[28], (V1 << 32 | LANE) << 7 >> 32)
    same(out[29], LANE - 2)
    same_float(out[30], np.full(64, 3.0))


def test_relative_moves(out):
    same(out[31], 77)
    same(out[32], V1)
    same(out[33], 13)  # s10 + M0 is s12, the lane number used above


def test_float_mode(out):
    same(out[34], 3)
    same(out[35], 0x00400000)
    same(out[36], 0)


def test_integer_clamp_calls_and_half_precision(out):
    same(out[37], np.minimum(V1 + V1, MASK))
    same(out[38], 42)
    halves = FLOATS.astype(np.float16) * np.float16(4)
    same(out[39], halves.view(np.uint16))
