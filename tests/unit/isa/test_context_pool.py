"""Does a context that is used again do what a new one does?"""

import numpy as np

from isa.execution.context_pool import HELD, ContextPool
from isa.execution.emulator import run_functional
from isa.execution.executor import FunctionalContext
from isa.kernarg import Pointer, pack
from isa.launch import Launch
from tests.support.functional import Device, kernel

N = 256


def launched(device: Device, seed: int, pool: ContextPool | None) -> tuple[np.ndarray, object]:
    numbers = np.random.default_rng(seed)
    k = kernel("vector_add", "vector_add")
    a, b = (device.put(f"{name}{seed}", numbers.random(N, np.float32)) for name in "ab")
    c = device.put(f"c{seed}", np.zeros(N, np.float32))
    block = pack(k, [Pointer(a), Pointer(b), Pointer(c), np.uint32(N)]).block
    done = run_functional(Launch(k, device.memory, block, (N, 1, 1), (64 * (1 + seed % 2), 1, 1)), pool=pool)
    return device.get(f"c{seed}"), (done.instructions, done.lines, done.store_bytes, done.workgroups)


def test_results_and_counts_are_those_of_new_contexts() -> None:
    pool, first, second = ContextPool(), Device(), Device()
    for seed in (0, 1, 2, 3, 4):
        with_pool, without = launched(first, seed, pool), launched(second, seed, None)
        assert np.array_equal(with_pool[0], without[0]) and with_pool[1] == without[1]


def test_contexts_are_used_again_on_their_own_memory_alone() -> None:
    pool, device = ContextPool(), Device()
    k = kernel("vector_add", "vector_add")
    block = bytes(k.kernarg_bytes)

    def context(launch: Launch) -> FunctionalContext:
        return pool.context(launch, launch.workgroup_at_a_time)

    launch = Launch(k, device.memory, block, (64, 1, 1), (64, 1, 1))
    held = context(launch)
    assert context(launch) is held
    assert context(Launch(k, device.memory, block, (128, 1, 1), (128, 1, 1))) is not held
    assert context(Launch(k, Device().memory, block, (64, 1, 1), (64, 1, 1))) is not held
    for lds in range(HELD + 1):
        context(Launch(k, device.memory, block, (64, 1, 1), (64, 1, 1), 256 * (lds + 1)))
    assert len(pool._held) == HELD


def test_nothing_of_a_launch_is_left_in_its_context() -> None:
    pool, device = ContextPool(), Device()
    launched(device, 0, pool)
    used = next(iter(pool._held.values()))
    assert used.executed_instructions and used._keep["vectors"].any() and used._keep["scalars"].any()
    again = pool.context(used.launch, used.launch.workgroup_at_a_time)
    new = type(used)(used.launch, 1, 1)
    assert again is used
    for name in ("wavefronts", "work", "free_files"):  # registers and LDS are cleared as a wavefront starts
        assert again._keep[name].tobytes() == new._keep[name].tobytes(), name
    for name in ("executed", "ended", "ended_instructions", "free_file_count", "max_instructions", "region_count"):
        assert getattr(again.state, name) == getattr(new.state, name), name
    assert (again._keep["patterns"]["phase"] == -1).all()


def test_private_memory_and_arguments_are_given_back() -> None:
    pool, device = ContextPool(), Device()
    for seed in (0, 2, 4):
        launched(device, seed, pool)
    names = [a.name for a in device.memory.allocations]
    assert names.count("kernel arguments and dispatch packet") == 1
