"""Do s_set_gpr_idx_* have M0 added to the registers they name and to no others, and is what is not possible refused?"""

import struct

import numpy as np
import pytest

from isa.encoding.control_flow import decode_kernel
from isa.encoding.register_index import DST, OFF, SRC0, SRC1, indexed_operands
from isa.execution.emulator import run_functional
from isa.execution.faults import FAULT_REGISTER, ExecutionFault
from isa.execution.program import build_program
from isa.execution.translation import ProgramError
from isa.launch import Launch
from tests.support.functional import Device, kernel

ROWS = 11
LANE = np.arange(64)
RNG = np.random.default_rng(17)
INTEGERS = RNG.integers(0, 1 << 22, 64).astype(np.uint32)
FLOATS = RNG.uniform(-2, 2, 64).astype(np.float32)
V1 = INTEGERS.astype(np.int64)


def stored(name: str, number: int = 0) -> np.ndarray:
    """What a kernel of indexed.s stores, [rows, 64]."""
    device = Device()
    inputs = device.put("in", np.concatenate([INTEGERS, FLOATS.view(np.uint32)]))
    out = device.put("out", np.zeros(64 * ROWS, np.uint32))
    block = struct.pack("<QQI", inputs, out, number)
    run_functional(Launch(kernel("indexed", name), device.memory, block, (64, 1, 1), (64, 1, 1)))
    return device.get("out").reshape(ROWS, 64)


@pytest.fixture(scope="module")
def out() -> np.ndarray:
    return stored("operands")


def same(row: np.ndarray, expected) -> None:  # type: ignore[no-untyped-def]
    np.testing.assert_array_equal(row, np.broadcast_to(np.asarray(expected, np.int64) & 0xFFFFFFFF, 64))


def test_each_operand_alone(out: np.ndarray) -> None:
    same(out[0], V1 + 103)
    same(out[1], (V1 + 102) ^ 5)
    same(out[2], V1)


def test_several_operands_and_wide_ones(out: np.ndarray) -> None:
    same(out[3], ((V1 + 101) & 0xFFFFFF) ** 2 + 0x1003)
    same(out[4], 0x40100000)  # the high word of 2.0 + 2.0


def test_a_sum_over_registers_in_a_loop(out: np.ndarray) -> None:
    expected = np.zeros(64, np.float32)
    for factor in (1, 2, 3, 4):
        expected = expected + np.float32(0.5) * (FLOATS * np.float32(factor))
    np.testing.assert_allclose(out[5].view(np.float32), expected, rtol=1e-6)


def test_the_mode_changes_operands_and_not_the_index(out: np.ndarray) -> None:
    same(out[6], V1 + 106)


def test_what_is_no_vector_register_is_not_indexed(out: np.ndarray) -> None:
    np.testing.assert_array_equal(out[7].view(np.float32), FLOATS + np.float32(1))
    same(out[9], int(INTEGERS[7]) + 100)


def test_what_is_left_in_m0(out: np.ndarray) -> None:
    same(out[8], 0xABCD0000 | (SRC1 | DST) << 12 | 0x200 | 0x77)


def test_lanes_that_are_off_keep_their_values(out: np.ndarray) -> None:
    same(out[10], np.where(LANE < 8, 3, 9))


def test_a_register_that_the_wavefront_has_not() -> None:
    assert stored("past_the_last", 3).shape == (ROWS, 64)  # v63 is its last
    with pytest.raises(ExecutionFault) as caught:
        stored("past_the_last", 4)
    assert caught.value.code == FAULT_REGISTER


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("two_ways", "depends on the way taken"),
        ("writes_m0", "s_mov_b32 writes M0"),
        ("jumps", "s_setpc_b64 jumps through a register"),
        ("reads_mode", "s_getreg_b32 reads MODE"),
        ("with_lane_mask", "v_add_u32"),
        ("lane_of_indexed", "v_readlane_b32"),
        ("sum_elsewhere", "its sum would be read from another register"),
    ],
)
def test_what_is_not_possible_is_refused_before_anything_runs(name: str, reason: str) -> None:
    with pytest.raises(ProgramError, match=reason) as caught:
        build_program(kernel("indexed", name))
    assert f"kernel '{name}'" in str(caught.value)


def test_the_mode_follows_control_flow() -> None:
    code = kernel("indexed", "operands")
    instructions = decode_kernel(code)
    modes = indexed_operands(instructions, code.code_address + code.entry)
    by_name = {}
    for instruction, mode in zip(instructions, modes, strict=True):
        by_name.setdefault(instruction.opcode.mnemonic, set()).add(mode)
    assert by_name["v_mac_f32"] == {SRC1}
    assert by_name["s_cbranch_scc1"] == {SRC1}
    assert by_name["v_add_f64"] == {SRC0 | SRC1 | DST}
    assert by_name["flat_store_dword"] == {OFF}
