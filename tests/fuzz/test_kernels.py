"""Do random kernels do the same with timing, without, and in plain Python? A sample of `--only kernels`.

The objects are what `tests.fuzz.kernels` made of the seeds that they are named by; nobody needs an assembler.
"""

import random
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.kernels import GROUPS, ITEMS, WORDS, compare, difference, in_plain_python, text

OBJECTS = sorted((Path(__file__).parent / "objects").glob("*.hsaco"))
SEEDS = [int(path.stem) for path in OBJECTS]


@pytest.mark.compiled_tier  # compares with plain Python
@pytest.mark.parametrize("samples", [2, pytest.param(len(OBJECTS), marks=pytest.mark.nightly)])
def test_a_kernel_does_the_same_in_three_ways(samples: int) -> None:
    chosen = list(zip(OBJECTS, SEEDS, strict=True))[:samples]
    for (path, seed), memory in zip(chosen, in_plain_python(chosen), strict=True):
        assert np.count_nonzero(memory) > memory.size // 4, path
        compare(path.read_bytes(), seed, memory)


def test_a_seed_gives_the_same_kernel_again_with_loops_barriers_atomics_and_private_memory() -> None:
    random.seed(99)
    texts = [text(seed) for seed in SEEDS]
    assert texts == [text(seed) for seed in SEEDS] and len(set(texts)) == len(texts)
    for part in ("s_cbranch_scc1", "s_barrier", "flat_atomic_add", "buffer_store_dword", "s_and_saveexec", "ds_add"):
        assert any(part in one for one in texts), part


def test_where_memory_differs_is_named() -> None:
    memory = np.zeros(GROUPS * ITEMS * WORDS + 4, np.uint32)
    assert difference(memory, memory) == ""
    other = memory.copy()
    other[WORDS + 3] = 5
    assert difference(memory, other) == "1 words, first item 1, word 3: 0x0 and 0x5"
    memory[-1], other[WORDS + 3] = 7, 0
    assert difference(memory, other) == "1 words, first shared word 3: 0x7 and 0x0"
