"""Does every mode of the data search, and every eviction, happen on the whole machine with real kernels, and go right?

Unit tests drive the engine with scripted requests. Here a kernel's wavefronts ask, through L1 and L2; results are
compared with NumPy, answers bit for bit, and every conservation law is asserted.
"""

from typing import Any

import pytest

from gpusim.config.engine import load_engine
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from isa.execution.emulator import run_functional
from memory.cache.l1_state import L1Spec
from memory.cache.l2_state import L2Spec
from spartan.engine_spec import EngineSpec
from spartan.replacement import CMI_REPLACEMENT
from tests.support.gemm import random_gemm
from workloads.data.patterns import ELEMENTS
from workloads.operators.verify import verify

# columns are asked for again when caches have lost their lines
SMALL_CACHES = GpuSpec(shader_arrays=2, cus_per_array=2, l1=L1Spec(size_kib=1), l2=L2Spec(size_kib=64, channels=4))
SHORT_WINDOW = {"entry_sizes": ((65536, 32),), "l2_share": 0.5, "sib_kib": 16, "prefetch_buffer_kib": 8}
SHAPE = (128, 64, 1152)  # four workgroups read each column


def counts(
    kernel: str,
    sparsity: float,
    engine: EngineSpec,
    gpu: GpuSpec = SMALL_CACHES,
    block: tuple[int, int] = ELEMENTS,
) -> Any:
    """What engine and L2 count; the result is checked against NumPy, the laws are asserted."""
    operator = random_gemm(kernel, SHAPE, gpu, sparsity, block=block)
    launch, *after = operator.launches  # after: sums that are made in parts are added
    facts = simulate(launch, gpu, engine, checked=True)
    for one in after:
        run_functional(one)
    assert verify(operator).passed
    found = facts.engine
    assert (
        found.requests
        == found.responses
        == (found.accurate + found.prudent + found.hasty)
        + (found.prefetch_buffer_hits + found.past_end + found.compacted_fetched)
    )
    assert facts.l2.engine_stall_cycles <= facts.l2.full_stall_cycles
    return facts


@pytest.mark.parametrize("window", CMI_REPLACEMENT)
def test_all_three_modes_with_a_window_that_mappings_leave(window: str) -> None:
    """17 mappings a column for its 50 compacted lines."""
    found = counts("dib_algorithm3", 0.3, EngineSpec(**SHORT_WINDOW, cmi_replacement=window)).engine
    assert min(found.accurate, found.prudent, found.hasty, found.cmi_evictions) > 0


def test_zero_lines_are_read_to_be_profiled_and_not_again() -> None:
    """Zeros in blocks of a sparse line leave most lines zero, which the bitmask knows once each has been read."""
    apart = counts("dib_algorithm3", 0.7, EngineSpec(**SHORT_WINDOW)).engine
    blocks = counts("dib_algorithm3", 0.7, EngineSpec(**SHORT_WINDOW), block=(16, 1)).engine
    lines = SHAPE[1] * SHAPE[2] // 16
    assert lines <= blocks.lines_fetched < 0.5 * apart.lines_fetched
    assert blocks.lines_wasted > 0.6 * lines


def test_lanes_are_evicted_and_what_they_lost_is_read_again() -> None:
    wide = counts("dib_algorithm3", 0.6, EngineSpec(**SHORT_WINDOW)).engine
    few = counts("dib_algorithm3", 0.6, EngineSpec(**SHORT_WINDOW, outstanding_columns=6)).engine
    assert few.buffer_evictions > wide.buffer_evictions
    assert few.lines_wasted > wide.lines_wasted


def test_columns_are_evicted_from_the_sib_and_profiled_again() -> None:
    small = EngineSpec(**{**SHORT_WINDOW, "sib_kib": 1})
    found, held = (counts("dib_algorithm3", 0.6, each).engine for each in (small, EngineSpec(**SHORT_WINDOW)))
    assert found.sib_evictions > 0 == held.sib_evictions
    assert found.hasty > held.hasty and found.lines_fetched > held.lines_fetched


@pytest.mark.parametrize("kernel", ["dib_algorithm3", "sgemm_dib_tiled"])
def test_the_hardware_of_dong_2020_gives_the_same_result_and_as_much_work_in_more_cycles(kernel: str) -> None:
    sizes = ("sib_kib=16", "prefetch_buffer_kib=8", "data_buffer_lines=2", "compaction_units=4")
    listed = counts(kernel, 0.6, load_engine("dong2020", sizes))
    free = counts(kernel, 0.6, load_engine("default", sizes))
    assert listed.engine.responses > 0 and listed.engine.bank_conflict_cycles > 0 == free.engine.bank_conflict_cycles
    if kernel == "sgemm_dib_tiled":  # of the other one, what is fetched, and how often, depends on who comes first
        assert listed.engine.requests == free.engine.requests
        assert listed.engine.lines_fetched == pytest.approx(free.engine.lines_fetched, rel=0.01)
        assert listed.cycles > free.cycles


def test_stalls_of_l2_that_wait_for_the_engine_are_the_engines() -> None:
    """With a slow engine and few MSHRs nearly all of L2's stalls are the engine's; a dense kernel has none."""
    few_mshrs = SMALL_CACHES.model_copy(update={"l2": L2Spec(size_kib=64, channels=4, mshrs_per_channel=2)})
    slow = EngineSpec(**SHORT_WINDOW, shifters=1, scan_bits_per_cycle=1, compaction_units=1, reads_in_flight=2)
    found = counts("dib_algorithm3", 0.6, slow, few_mshrs)
    assert found.l2.engine_stall_cycles > 0.5 * found.l2.full_stall_cycles > 0
    operator = random_gemm("mmm_local", SHAPE, few_mshrs, 0.6)
    dense = simulate(operator.launches[0], few_mshrs, None, checked=True)
    assert verify(operator).passed and dense.l2.engine_stall_cycles == 0 < dense.l2.full_stall_cycles
