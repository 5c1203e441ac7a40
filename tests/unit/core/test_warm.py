"""Do warm caches keep what the launch before left in L2 and in the TLBs, and nothing else?"""

import numpy as np
import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.machine import new_machine
from gpusim.model.core.occupancy import Occupancy
from gpusim.model.core.simulator import simulate
from gpusim.model.core.warm import WarmCaches
from memory.cache.l2_state import CODE_BITS, EVERY_BYTE, SOME_BYTES
from tests.support.functional import Device, kernel

N = 512
LINES = N * 4 // 64
ARGUMENT_LINES = 1  # of the kernel argument block, read through the scalar cache

# what a launch leaves is kept by code that is never compiled; two cases without the compiler are enough
host_code = pytest.mark.compiled_tier


def _gpu(translation: dict | None = None, **l2: int) -> GpuSpec:
    parts = {"l2": l2, "translation": translation or {}, "instruction_cache": {"model": "ideal"}}  # only data in L2
    return GpuSpec.model_validate({"name": "small", "shader_arrays": 1, "cus_per_array": 2, **parts})


def _device() -> tuple[Device, list]:
    device = Device()
    for name in "abcd":
        device.put(name, np.ones(N, np.float32))
    adds = [device.launch(kernel("vector_add", "vector_add"), N, 64, *names, N) for names in ("abc", "abd", "acd")]
    return device, adds


def test_warm_l2_hits_where_a_cold_one_misses() -> None:
    _, (first, other, _) = _device()
    warm = WarmCaches()
    cold = simulate(first, _gpu(), checked=True, warm=warm)
    read = 2 * LINES + ARGUMENT_LINES  # and LINES that stores allocate without reading
    assert (cold.l2.misses, cold.dram.reads) == (read + LINES, read)
    again = simulate(other, _gpu(), checked=True, warm=warm)
    assert (again.l2.misses, again.dram.reads) == (LINES, 0)
    assert again.l2.read_transactions == cold.l2.read_transactions
    assert again.l2.store_transactions == cold.l2.store_transactions
    assert again.cycles < cold.cycles
    without = simulate(other, _gpu(), checked=True)
    assert (without.cycles, without.l2.misses) == (cold.cycles, cold.l2.misses)


@host_code
def test_l1_is_empty_and_written_lines_are_read_from_l2() -> None:
    _, (first, _, reads_c) = _device()
    warm = WarmCaches()
    simulate(first, _gpu(), warm=warm)
    after = simulate(reads_c, _gpu(), checked=True, warm=warm)
    assert after.l1.hits == 0
    assert after.dram.reads == 0


@host_code
@pytest.mark.parametrize("kept", [False, True])
def test_instructions_are_kept_where_the_gpu_says_so(kept: bool) -> None:
    gpu = GpuSpec.model_validate({**_gpu().model_dump(), "instruction_cache": {"kept": kept}})
    _, (first, other, _) = _device()
    warm = WarmCaches()
    cold = simulate(first, gpu, checked=True, warm=warm)
    again = simulate(other, gpu, checked=True, warm=warm)
    assert cold.instruction_cache.misses > 0
    assert again.instruction_cache.misses == (0 if kept else cold.instruction_cache.misses)


@host_code
def test_oldest_lines_go_first_and_dirty_ones_are_written_back() -> None:
    gpu = _gpu(size_kib=16, channels=4, ways=2)  # 256 lines; a launch touches 192
    _, (first, other, _) = _device()
    warm = WarmCaches()
    simulate(first, gpu, warm=warm)
    after = simulate(other, gpu, checked=True, warm=warm)
    assert after.l2.write_backs > 0
    assert simulate(other, gpu).l2.write_backs < after.l2.write_backs


@host_code
def test_an_l2_of_another_shape_starts_empty() -> None:
    _, (first, other, _) = _device()
    warm = WarmCaches()
    simulate(first, _gpu(), warm=warm)
    after = simulate(other, _gpu(ways=8), checked=True, warm=warm)
    assert after.l2.misses == 3 * LINES + ARGUMENT_LINES


def test_lines_held_in_part_keep_their_bytes() -> None:
    launch, fit = _device()[1][0], Occupancy(1, 1, "")
    before, after = (new_machine(_gpu(), launch, fit) for _ in range(2))
    before.l2.note[5], before.l2.mask[5] = SOME_BYTES | EVERY_BYTE << CODE_BITS, (0xF0, 0)
    before.l2.note[9], before.l2.mask[9] = EVERY_BYTE | SOME_BYTES << CODE_BITS, (0, -2)
    warm = WarmCaches()
    warm.keep(before)
    warm.restore(after, _gpu())
    assert after.l2.note[[5, 9]].tolist() == before.l2.note[[5, 9]].tolist()
    assert (after.l2.mask[5, 0], after.l2.mask[9, 1]) == (0xF0, -2)


def test_the_tlbs_hold_the_pages_of_the_launch_before() -> None:
    _, (first, _, _) = _device()
    gpu, warm = _gpu({"page_kib": 4}), WarmCaches()
    cold = simulate(first, gpu, checked=True, warm=warm)
    assert cold.translation.walks > 3  # at least a page of each array and of the arguments
    again = simulate(first, gpu, checked=True, warm=warm)
    assert again.translation.l1_lookups == again.translation.l1_hits
    assert (again.translation.l2_requests, again.translation.walks) == (0, 0)


@host_code
@pytest.mark.parametrize("policy", ["lru", "random"])
def test_the_l2_tlb_answers_what_small_l1_tlbs_have_let_go(policy: str) -> None:
    _, (first, _, _) = _device()
    gpu, warm = _gpu({"page_kib": 4, "l1_entries": 1, "l2_replacement": policy}), WarmCaches()
    cold = simulate(first, gpu, checked=True, warm=warm)
    again = simulate(first, gpu, checked=True, warm=warm)
    assert again.translation.walks == 0 < cold.translation.walks
    assert again.translation.l2_hits == again.translation.l2_requests > 0
    fresh, kept = (new_machine(gpu, first, Occupancy(1, 1, "")) for _ in range(2))
    warm.restore(kept, gpu)
    assert kept.translation.l2_order > fresh.translation.l2_order  # what is the oldest, and drawn next, goes on


@host_code
def test_l2_is_flushed_alone() -> None:
    _, (first, _, _) = _device()
    gpu, warm = _gpu({"page_kib": 4}), WarmCaches()
    cold = simulate(first, gpu, checked=True, warm=warm)
    warm.flush_l2()
    again = simulate(first, gpu, checked=True, warm=warm)
    assert again.dram.reads == cold.dram.reads > 0
    assert again.translation.walks == 0


@host_code
@pytest.mark.parametrize("other", [{"page_kib": 64}, {"page_kib": 4, "l1_entries": 32}, {"page_kib": 4, "l2_ways": 16}])
def test_tlbs_of_another_shape_start_empty(other: dict) -> None:
    _, (first, _, _) = _device()
    warm = WarmCaches()
    simulate(first, _gpu({"page_kib": 4}), warm=warm)
    after = simulate(first, _gpu(other), checked=True, warm=warm)
    assert after.translation.walks == simulate(first, _gpu(other)).translation.walks > 0
