"""Where B is compacted when it is written back: do real kernels get the right lines, and is the writing paid for?

`counts` compares results with NumPy, has every answer compared bit for bit, and asserts every conservation law.
"""

import numpy as np
import pytest

from gpusim.base.errors import UserError
from gpusim.config.engine import load_engine
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from gpusim.model.core.warm import WarmCaches
from isa.device_memory import VIRTUAL_BASE
from isa.execution.emulator import run_functional
from memory.cache.l2_state import L2Spec
from memory.dram.spec import DramSpec
from spartan.engine_spec import EngineSpec
from spartan.sizing import sized_for
from tests.support.gemm import random_gemm
from tests.system.test_engine_modes import SHAPE, SHORT_WINDOW, SMALL_CACHES, counts
from workloads.operators.verify import verify

ON_WRITE = EngineSpec(**SHORT_WINDOW, compact="on_write")
DENSE_LINES = SHAPE[1] * SHAPE[2] // 16


def compacted_lines(sparsity: float) -> int:
    """Of B, counted in NumPy; a column without non-zeros has none."""
    launch = random_gemm("sgemm_dib_tiled", SHAPE, SMALL_CACHES, sparsity).launches[0]
    (region,) = launch.regions
    start = region.address - VIRTUAL_BASE
    dense = launch.memory.image[start : start + region.column_bytes * region.columns].view(np.float32)
    columns = dense.reshape(region.columns, region.leading_dimension)[:, : region.rows]
    return int((-(-np.count_nonzero(columns, axis=1) // 16)).sum())


@pytest.mark.parametrize("kernel", ["dib_algorithm3", "sgemm_dib_tiled", "sgemm_dib_gather"])
def test_every_request_is_one_read_or_lies_past_the_end(kernel: str) -> None:
    facts = counts(kernel, 0.6, ON_WRITE)
    found = facts.engine
    assert found.lines_handed_over == DENSE_LINES and found.compacted_written == compacted_lines(0.6)
    assert found.requests == found.compacted_fetched + found.past_end and found.compacted_fetched > 0
    assert found.lines_fetched == found.accurate + found.prudent + found.hasty == 0
    assert 0 < found.write_phase_cycles < facts.cycles


def test_less_is_moved_than_in_one_dense_read() -> None:
    """By a kernel that reads each column once: B's lines read, and written, are fewer than its dense ones."""
    dense, compact = (
        counts("sgemm_dib_tiled", 0.8, EngineSpec(**SHORT_WINDOW, compact=c)) for c in ("on_read", "on_write")
    )
    assert dense.engine.lines_fetched >= DENSE_LINES
    lines = compacted_lines(0.8)
    assert lines == compact.engine.compacted_written < 0.3 * DENSE_LINES
    assert compact.engine.compacted_fetched + compact.engine.compacted_written < 0.7 * DENSE_LINES
    assert compact.dram.bytes_read < dense.dram.bytes_read - 32 * DENSE_LINES


def test_the_launch_begins_when_all_is_written() -> None:
    """What a slow write phase takes longer, the launch takes longer; nothing else changes but the state of DRAM."""
    fast, slow = (counts("sgemm_dib_tiled", 0.6, ON_WRITE.model_copy(update={"compaction_units": n})) for n in (32, 1))
    phases = [facts.engine.write_phase_cycles for facts in (fast, slow)]
    assert phases[1] >= DENSE_LINES > 2 * phases[0]
    assert slow.cycles - phases[1] == pytest.approx(fast.cycles - phases[0], rel=0.02)


def test_idle_cycles_change_nothing() -> None:
    gpu = SMALL_CACHES.model_copy(update={"dram": DramSpec(channels=2, write_queue=8, write_high=6, write_low=2)})
    found = []
    for skip_idle in (True, False):
        operator = random_gemm("sgemm_dib_tiled", (64, 16, 288), gpu, 0.5)
        facts = simulate(operator.launches[0], gpu, ON_WRITE, checked=True, skip_idle=skip_idle)
        assert verify(operator).passed
        found.append({name: values for name, values in facts.sections.items() if name != "simulator"})
    assert found[0] == found[1]


def test_a_flush_at_the_end_is_still_made() -> None:
    """The end of the write phase is not the end of the kernel."""
    gpu = SMALL_CACHES.model_copy(update={"l2": L2Spec(size_kib=64, channels=4, flush_at_end=True)})
    facts = counts("sgemm_dib_tiled", 0.6, ON_WRITE, gpu)
    assert facts.l2.dirty_lines_at_end == 0 < facts.l2.flush_write_backs


def test_after_a_kernel_that_leaves_dirty_lines() -> None:
    warm = WarmCaches()
    for engine in (None, ON_WRITE):
        kernel = "sgemm_4x4" if engine is None else "sgemm_dib_tiled"
        operator = random_gemm(kernel, SHAPE, SMALL_CACHES, 0.6)
        launch, *after = operator.launches
        facts = simulate(launch, SMALL_CACHES, engine, checked=True, warm=warm)
        for one in after:
            run_functional(one)
        assert verify(operator).passed
    assert facts.l2.flush_write_backs > 0 and facts.engine.compacted_written == compacted_lines(0.6)


def test_a_matrix_of_zeros_is_neither_written_nor_read() -> None:
    facts = counts("sgemm_dib_tiled", 1.0, ON_WRITE)
    assert facts.engine.compacted_written == facts.engine.compacted_fetched == 0 < facts.engine.past_end


def test_by_launch_l2_gets_back_what_searching_needs() -> None:
    sized = EngineSpec(compact="on_write", l2_sizing="launch")
    (launch, *_) = random_gemm("sgemm_dib_tiled", SHAPE, GpuSpec(), 0.6).launches
    assert sized_for(sized, launch.regions, 2048, 16).l2_share == 1 / 16
    assert counts("sgemm_dib_tiled", 0.6, sized, GpuSpec()).engine.compacted_fetched > 0


def test_the_hardware_of_dong_2020_can_do_it() -> None:
    sizes = ("sib_kib=16", "prefetch_buffer_kib=8", "data_buffer_lines=2", "compaction_units=4", "compact=on_write")
    listed = counts("dib_algorithm3", 0.6, load_engine("dong2020", sizes)).engine
    assert listed.bank_conflict_cycles > 0 and listed.compacted_written == compacted_lines(0.6)


def test_another_name_is_refused() -> None:
    with pytest.raises(UserError, match=r"compact=on_wirte: .*did you mean 'on_write'"):
        load_engine("default", ("compact=on_wirte",))


def test_a_write_phase_can_be_stopped() -> None:
    """In the phase: nothing of the launch has begun, and what has been written is counted."""
    launch = random_gemm("sgemm_dib_tiled", (64, 2000, 600), SMALL_CACHES, 0.6).launches[0]
    whole = simulate(launch, SMALL_CACHES, ON_WRITE)
    phase = whole.engine.write_phase_cycles
    assert phase > 4000
    limited = simulate(launch, SMALL_CACHES, ON_WRITE, max_cycles=3000, checked=True)
    assert limited.cycles == 3000
    told = simulate(launch, SMALL_CACHES, ON_WRITE, observer=lambda progress: False)
    for facts in (limited, told):
        assert facts.partial and facts.cycles < phase
        assert facts.kernel.wavefront_instructions == 0 and facts.kernel.workgroups == 0
        assert 0 < facts.engine.lines_handed_over < whole.engine.lines_handed_over
    assert simulate(launch, SMALL_CACHES, ON_WRITE, max_cycles=phase + 500).cycles == phase + 500
