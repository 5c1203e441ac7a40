"""Does a launch leave the same, bit for bit, whatever the number of threads that execute it?"""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.base.processors import limit_threads, share_threads, thread_limit, threads_given
from gpusim.cli.options import parse_threads
from isa.execution import emulator
from isa.execution.emulator import FINISHED, FunctionalResult, run_functional
from isa.execution.executor import FunctionalContext
from isa.execution.faults import ExecutionFault
from isa.execution.threads import SideBySide
from isa.execution.watch import dwords_of
from isa.launch import Launch
from tests.corpus.build import BASE
from tests.corpus.execute import call_of, kernel_of
from tests.corpus.table import CASES
from tests.support.functional import Device, kernel

pytestmark = pytest.mark.compiled_tier

# cases of several workgroups that share lines, whole rows, or nothing, and some that have to be executed in order
INDEPENDENT = ("vector_add", "saxpy", "reduce_sum", "scan_add", "transpose", "gemm_tiles", "softmax", "places")
DEPENDENT = ("histogram_global", "find_largest", "bfs_step", "gemm_half")
PRIVATE = ("spilling",)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads begin with the first workgroup, however little there is to do."""
    monkeypatch.setattr(emulator, "_FIRST_SLICES", 0)
    monkeypatch.setattr(emulator, "_LEAST_LEFT_S", -1)


def digest(device: Device) -> str:
    """All bytes of a device's memory."""
    return hashlib.sha1(device.memory.image.tobytes()).hexdigest()


def outcome(make: Callable[[], tuple[Device, Launch]], count: int, **more: Any) -> tuple[Any, FunctionalResult]:
    """All that a launch leaves with this number of threads, or its fault, and its result."""
    device, launch = make()
    result = run_functional(launch, threads=count, **more)
    counted = (result.instructions, result.lines, result.workgroups, result.wavefronts, result.store_bytes)
    left = (counted, result.lds_cycles, result.memory_records, result.finished, digest(device))
    return left, result


def corpus_launch(name: str) -> Callable[[], tuple[Device, Launch]]:
    """Make a launch of a case of the corpus, of its last size."""
    case = next(case for case in CASES if case.kernel == name)
    call = call_of(case, case.sizes[-1])

    def make() -> tuple[Device, Launch]:
        device = Device()
        for buffer, array in call.buffers.items():
            device.put(buffer, array)
        k = kernel_of(BASE, case)
        return device, device.launch(
            k, call.global_size, call.local_size, *call.arguments, dynamic_lds_bytes=call.dynamic_lds_bytes
        )

    return make


@pytest.mark.parametrize("name", INDEPENDENT + DEPENDENT + PRIVATE)
def test_all_is_equal_for_any_number_of_threads(name: str) -> None:
    expected, alone = outcome(corpus_launch(name), 1)
    assert alone.threads == 1 and not alone.serial_reason
    for count in (2, 3):
        left, result = outcome(corpus_launch(name), count)
        assert left == expected
        assert (result.threads == count) == (name in INDEPENDENT) == (not result.serial_reason)
        assert ("private memory" in result.serial_reason) == (name in PRIVATE)


def shifted(items: int, shift: int) -> Callable[[], tuple[Device, Launch]]:
    """Make a launch that adds arrays of one buffer: workgroups load what others, `shift` elements on, store."""
    case = next(case for case in CASES if case.kernel == "vector_add")

    def make() -> tuple[Device, Launch]:
        device = Device()
        start = device.put("buffer", np.arange(3 * items, dtype=np.float32))
        k = kernel_of(BASE, case)
        return device, device.launch(k, items, 64, start, start + 4, start + 4 * shift, items)

    return make


@settings(deadline=None, max_examples=12)
@given(items=st.integers(130, 3000), shift=st.integers(0, 3000), count=st.integers(2, 4))
def test_workgroups_that_store_what_others_load_are_executed_in_order(items: int, shift: int, count: int) -> None:
    shift %= items
    expected, _ = outcome(shifted(items, shift), 1)
    left, result = outcome(shifted(items, shift), count)
    assert left == expected
    if 64 <= shift < items - 64:
        assert "stores to what another" in result.serial_reason


@pytest.mark.parametrize("shift, meet", [(64, True), (1, True), (128, True), (129, False)])
def test_workgroups_of_two_threads_that_meet_are_found(shift: int, meet: bool) -> None:
    """What no thread finds alone: each has one workgroup, of which one loads what the other one stores."""
    device, launch = shifted(128, shift)()
    before = digest(device)
    alone = launch.workgroup_at_a_time
    context = FunctionalContext(launch, alone.wavefront_slots, alone.workgroup_slots, shared_trace=True)
    start = digest(device)
    work = SideBySide(context, range(2), 2)
    work._note_stored(np.arange(16))
    for number, thread in enumerate(work.threads):
        work._pool.next_workgroup, work._pool.workgroups, work._pool.share = number, number + 1, 1
        thread.step(1)
        assert thread.status == FINISHED and thread.run.counters.workgroups == 1 and not thread.watch.conflict
    assert digest(device) not in (before, start)
    assert bool(work._find_dependence()) == meet
    work._undo()
    assert digest(device) == start


def test_a_fault_is_the_same_and_leaves_the_same() -> None:
    def make() -> tuple[Device, Launch]:
        device = Device()
        for name in "abc":
            device.put(name, np.arange(1000, dtype=np.float32))
        case = next(case for case in CASES if case.kernel == "vector_add")
        return device, device.launch(kernel_of(BASE, case), 2000, 64, "a", "b", "c", 2000)

    texts, images = [], []
    for count in (1, 2, 3):
        device, launch = make()
        with pytest.raises(ExecutionFault) as caught:
            run_functional(launch, threads=count)
        texts.append(str(caught.value))
        images.append(digest(device))
    assert len(set(texts)) == len(set(images)) == 1


def test_an_allocation_that_only_a_later_workgroup_stores_to_is_learnt() -> None:
    """Of a graph whose vertices have their neighbours within their workgroup, one workgroup reaches some."""
    n, level = 384, 2
    neighbours = np.arange(n, dtype=np.uint32) // 64 * 64 + np.random.default_rng(7).integers(0, 64, n, dtype=np.uint32)
    distance = np.full(n, 0xFFFF_FFFF, np.uint32)
    distance[140:160] = level
    case = next(case for case in CASES if case.kernel == "bfs_step")

    def make() -> tuple[Device, Launch]:
        device = Device()
        buffers = {"s": np.arange(n + 1, dtype=np.uint32), "t": neighbours, "d": distance, "f": np.zeros(1, np.uint32)}
        for name, array in buffers.items():
            device.put(name, array)
        return device, device.launch(kernel_of(BASE, case), n, 64, "s", "t", "d", "f", n, level)

    expected, _ = outcome(make, 1)
    left, result = outcome(make, 2)
    assert left == expected and result.threads == 2


def test_stores_to_ever_other_allocations_are_executed_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SideBySide, "_note_stored", lambda self, pages: None)
    expected, _ = outcome(shifted(3000, 6000), 1)
    left, result = outcome(shifted(3000, 6000), 2)
    assert left == expected and result.threads == 1 and "allocations" in result.serial_reason


def test_an_observer_ends_all_threads() -> None:
    _, result = outcome(corpus_launch("gemm_tiles"), 2, observer=lambda progress: progress.workgroups_done == 0)
    assert result.finished or result.threads == 2
    _, result = outcome(corpus_launch("gemm_tiles"), 2, observer=lambda progress: False)
    assert not result.finished and result.workgroups == 0


def test_a_loop_without_end_is_the_same_fault() -> None:
    def make() -> tuple[Device, Launch]:
        device = Device()
        device.put("out", np.zeros(64, np.int32))
        return device, device.launch(kernel("geometry", "endless"), 256, 64, "out")

    texts = set()
    for count in (1, 2):
        with pytest.raises(ExecutionFault) as caught:
            run_functional(make()[1], 5000, threads=count)
        texts.add(str(caught.value))
    assert len(texts) == 1


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_dwords_of_a_mask_of_bytes(mask: int) -> None:
    expected = sum(1 << k for k in range(16) if mask >> 4 * k & 15)
    assert dwords_of.py_func(mask) == expected


def test_the_limit_of_threads() -> None:
    try:
        limit_threads(8)
        assert thread_limit() == 8
        share_threads(3)  # in one of three processes
        assert (thread_limit(), threads_given()) == (2, True)
        share_threads(3)
        assert thread_limit() == 1
    finally:
        limit_threads(None)
    assert not threads_given()
    assert parse_threads("auto") is None and parse_threads("12") == 12
    for text in ("0", "-1", "two", ""):
        with pytest.raises(UserError, match="a number of at least 1 or auto is needed"):
            parse_threads(text)
