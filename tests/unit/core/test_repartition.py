"""Is a change of L2's part for lines paid for, and is what the compaction engine reads in DRAM before it reads?"""

from typing import Any

import numpy as np
import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.machine import new_machine
from gpusim.model.core.occupancy import Occupancy
from gpusim.model.core.simulator import simulate
from gpusim.model.core.warm import WarmCaches
from memory.cache.l2_contents import dirty_lines
from memory.dram.controller import dram_totals
from memory.l2_share import L2Share
from memory.sets.rows import NO_TAG
from spartan.engine_spec import EngineSpec
from tests.support.functional import Device, kernel
from tests.support.gemm import random_gemm
from workloads.operators.verify import verify

N = 256
LINES = N * 4 // 64
HALF_SETS, HALF_WAYS = L2Share(0.5, "sets"), L2Share(0.5, "ways")


def gpu_of(**l2: Any) -> GpuSpec:
    parts = {"l2": {"size_kib": 64, "channels": 4, **l2}, "instruction_cache": {"model": "ideal"}}
    return GpuSpec.model_validate({"name": "small", "shader_arrays": 1, "cus_per_array": 2, **parts})


@pytest.fixture(scope="module")
def launch() -> Any:
    device = Device()
    for name in "abc":
        device.put(name, np.ones(N, np.float32))
    return device.launch(kernel("vector_add", "vector_add"), N, 64, *"abc", N)


def machine(launch: Any, gpu: GpuSpec, taken: L2Share | None) -> Any:
    return new_machine(gpu, launch, Occupancy(1, 1, ""), taken)


def lines_of(m: Any) -> set[int]:
    rows, stride = int(m.l2.channels * m.l2.sets), int(m.l2.stride)
    tags = m.l2.rows[: 2 * rows * stride].reshape(rows, 2, stride)[:, 0, : int(m.l2.ways)]
    return set(tags[tags != NO_TAG].tolist())


def after_a_launch(launch: Any, gpu: GpuSpec, before: L2Share | None, then: L2Share | None) -> tuple[Any, set[int]]:
    """A machine whose L2 is restored for a share, after a launch on one with another; and what that one's L2 held."""
    warm = WarmCaches()
    simulate(launch, gpu, warm=warm)
    held = machine(launch, gpu, None)
    warm.restore(held, gpu)
    if before is not None:
        first = machine(launch, gpu, before)
        warm.restore(first, gpu, before)
        warm.keep(first)
        held = first
    m = machine(launch, gpu, then)
    warm.restore(m, gpu, then)
    return m, lines_of(held)


@pytest.mark.parametrize("taken", [HALF_SETS, HALF_WAYS, L2Share(0, "sets")])
def test_before_the_engine_reads_dram_all_dirty_lines_are_there(launch: Any, taken: L2Share) -> None:
    m, held = after_a_launch(launch, gpu_of(), None, taken)
    assert (dirty_lines(m), int(m.l2.flush_write_backs), int(m.l2.write_backs)) == (0, LINES, LINES)
    assert dram_totals(m).writes == LINES
    assert LINES // 4 <= int(m.l2.flush_cycles) == int(m.wheel.now) <= 20 * LINES  # a line a channel and cycle at most
    stays = {HALF_SETS: set(), HALF_WAYS: held, L2Share(0, "sets"): held}[taken]  # 3 lines a set at most: none lost
    assert lines_of(m) == stays
    assert m.wheel.row[:, :].any() and int(m.run.workgroups) > 0 and int(m.run.ended) == 0  # the launch is to begin


def test_lines_of_ways_that_go_are_lost(launch: Any) -> None:
    gpu = gpu_of(size_kib=16, ways=4)  # 256 lines for 193
    m, held = after_a_launch(launch, gpu, None, L2Share(0.75, "ways"))
    assert dirty_lines(m) == 0 < int(m.l2.flush_write_backs)
    assert set() < lines_of(m) < held and len(lines_of(m)) <= 64


def test_when_ways_come_back_nothing_has_to_go(launch: Any) -> None:
    warm, gpu = WarmCaches(), gpu_of()
    simulate(launch, gpu_of(size_kib=32, ways=8), warm=warm)  # as with half of the ways
    m = machine(launch, gpu, None)
    warm.restore(m, gpu)
    assert (dirty_lines(m), int(m.l2.flush_cycles), len(lines_of(m))) == (LINES, 0, 3 * LINES + 1)


def test_when_sets_come_back_every_line_has_another_one(launch: Any) -> None:
    warm, gpu = WarmCaches(), gpu_of()
    simulate(launch, gpu_of(size_kib=32), warm=warm)
    m = machine(launch, gpu, None)
    warm.restore(m, gpu)
    assert (dirty_lines(m), int(m.l2.flush_write_backs), lines_of(m)) == (0, LINES, set())


def test_an_l2_that_stays_whole_is_not_flushed(launch: Any) -> None:
    m, held = after_a_launch(launch, gpu_of(), None, None)
    assert (dirty_lines(m), int(m.l2.flush_cycles), int(m.wheel.now)) == (LINES, 0, 0)
    assert lines_of(m) == held


def test_a_tree_over_the_ways_is_not_one_over_fewer(launch: Any) -> None:
    m, _ = after_a_launch(launch, gpu_of(replacement="plru"), None, HALF_WAYS)
    assert (dirty_lines(m), lines_of(m)) == (0, set())


def test_a_kernel_begins_when_the_flush_is_over(launch: Any) -> None:
    """After a launch whose L2 had other sets, and with an empty L2: its cycles are those of the flush more."""
    gpu = gpu_of()

    def second(lost: bool) -> Any:
        warm = WarmCaches()
        simulate(launch, gpu_of(size_kib=32), warm=warm)
        if lost:
            warm.flush_l2()
        return simulate(launch, gpu, checked=True, warm=warm)

    cold, flushed = second(True), second(False)
    assert flushed.l2.flush_write_backs == LINES and flushed.l2.misses == cold.l2.misses
    more = flushed.cycles - cold.cycles
    assert more == pytest.approx(flushed.l2.flush_cycles, abs=60)  # DRAM still writes when the kernel reads


@pytest.mark.compiled_tier  # the flushes above run in plain Python, too
def test_a_launch_with_the_engine_begins_with_a_flush(launch: Any) -> None:
    warm, gpu = WarmCaches(), gpu_of()
    simulate(launch, gpu, warm=warm)
    operator = random_gemm("sgemm_dib_gather", (32, 8, 64), gpu, 0.5)
    engine = EngineSpec(sib_kib=1, prefetch_buffer_kib=1, l2_share=0.5, l2_partition="ways")
    facts = simulate(operator.launches[0], gpu, engine, checked=True, warm=warm)
    assert facts.l2.flush_write_backs == LINES and facts.engine.responses > 0
    assert verify(operator).passed


def test_a_flush_at_the_end_writes_what_a_kernel_leaves(launch: Any) -> None:
    left, flushed = (simulate(launch, gpu_of(flush_at_end=each), checked=True) for each in (False, True))
    assert (left.l2.dirty_lines_at_end, left.l2.flush_write_backs, left.dram.writes) == (LINES, 0, 0)
    assert (flushed.l2.dirty_lines_at_end, flushed.l2.flush_write_backs, flushed.dram.writes) == (0, LINES, LINES)
    assert flushed.cycles - left.cycles == flushed.l2.flush_cycles >= LINES // 4
