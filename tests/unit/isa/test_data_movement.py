"""Do blocks of four lanes by four dwords move as lane by lane, compiled and in plain Python?"""

import numpy as np
import pytest

from gpusim.base.jit import JIT_DISABLED, address_of
from isa.architecture import LANES
from isa.execution import data_movement
from tests.unit.jit.twins import compiled

WORDS = np.random.default_rng(7).integers(0, 1 << 32, 64).astype(np.uint32)
PLACES = [3, 30, 13, 15]  # in dwords: without alignment, and the last two overlap


def ways(name):
    operation = getattr(data_movement, name)
    return [operation] if JIT_DISABLED else [operation.twin, compiled(operation, 5, "void")]


@pytest.mark.parametrize("move", ways("load_block"))
def test_a_block_is_loaded(move):
    rows, memory = np.zeros((4, LANES), np.uint32), WORDS.copy()
    move(address_of(rows) + 4 * 8, *(address_of(memory) + 4 * place for place in PLACES))
    wanted = np.zeros_like(rows)
    for lane, place in enumerate(PLACES):
        wanted[:, 8 + lane] = WORDS[place : place + 4]
    np.testing.assert_array_equal(rows, wanted)


@pytest.mark.parametrize("move", ways("store_block"))
def test_a_block_is_stored_in_the_order_of_lanes(move):
    rows, memory = np.resize(WORDS, (4, LANES)) ^ np.arange(4, dtype=np.uint32)[:, None], np.zeros(64, np.uint32)
    move(address_of(rows) + 4 * 8, *(address_of(memory) + 4 * place for place in PLACES))
    wanted = np.zeros_like(memory)
    for lane, place in enumerate(PLACES):
        wanted[place : place + 4] = rows[:, 8 + lane]
    np.testing.assert_array_equal(memory, wanted)
