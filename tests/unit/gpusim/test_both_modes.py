"""Does a kernel do the same with timing and without: workgroups that wait for one another, private memory's bounds?"""

from typing import Any

import numpy as np
import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.occupancy import residency
from gpusim.model.core.simulator import simulate
from isa.execution.emulator import run_functional
from isa.execution.faults import FAULT_LIMIT, FAULT_PRIVATE, ExecutionFault
from isa.launch import Launch
from tests.support.functional import Device, kernel
from tests.support.machines import tight

GPU = tight()  # four compute units
MOST = 1 << 20  # instructions of a wavefront, so that one that waits for ever fails the test
HELD = residency(Device().launch(kernel("waiting", "wait_for_the_next"), 64, 64, 0, 0, 0), GPU).workgroups


def untimed(launch: Launch, gpu: GpuSpec, **more: Any) -> int:
    """Execute without timing; the workgroups that ended."""
    return run_functional(launch, **{"max_instructions": MOST, **more}, residency=residency(launch, gpu)).workgroups


def timed(launch: Launch, gpu: GpuSpec, **more: Any) -> int:
    """Simulate; the workgroups that ended."""
    return simulate(launch, gpu, **{"max_instructions": MOST, **more}).kernel.workgroups


MODES = pytest.mark.parametrize("mode", [untimed, timed])


@MODES
def test_workgroups_wait_for_later_ones_that_are_resident_with_them(mode: Any) -> None:
    groups = min(HELD, 24)
    device = Device()
    device.put("flags", np.zeros(groups, np.uint32)), device.put("out", np.zeros(64 * groups, np.uint32))
    launch = device.launch(kernel("waiting", "wait_for_the_next"), 64 * groups, 64, "flags", "out", groups)
    assert mode(launch, GPU) == groups
    item = np.arange(64 * groups)
    assert np.array_equal(device.get("out"), item // 64 + item % 64) and device.get("flags").all()


def test_one_that_waits_for_more_than_are_resident_is_an_endless_loop() -> None:
    groups = HELD + 1
    device = Device()
    device.put("flags", np.zeros(groups, np.uint32)), device.put("out", np.zeros(64 * groups, np.uint32))
    launch = device.launch(kernel("waiting", "wait_for_the_next"), 64 * groups, 64, "flags", "out", groups)
    with pytest.raises(ExecutionFault, match="endless loop") as caught:
        untimed(launch, GPU, max_instructions=400_000)
    assert caught.value.code == FAULT_LIMIT and caught.value.workgroup == 0
    assert sum(group.count for group in caught.value.resident) == HELD


@MODES
def test_a_barrier_of_the_whole_grid(mode: Any) -> None:
    groups, steps = 8, 3
    device = Device()
    start = np.arange(groups, dtype=np.uint32) ** 2
    device.put("arrived", np.zeros(1, np.uint32)), device.put("values", np.concatenate([start, 0 * start]))
    launch = device.launch(kernel("waiting", "grid_barrier"), 128 * groups, 128, "arrived", "values", groups, steps)
    assert mode(launch, GPU) == groups
    for _ in range(steps):
        start = start + np.roll(start, -1) + 1
    assert np.array_equal(device.get("values").reshape(2, -1)[steps & 1], start)


@MODES
def test_a_workgroup_that_waits_with_a_barrier_in_the_loop(mode: Any) -> None:
    device = Device()
    device.put("flag", np.zeros(1, np.uint32)), device.put("out", np.zeros(256, np.uint32))
    mode(device.launch(kernel("waiting", "barrier_in_the_loop"), 256, 128, "flag", "out"), GPU)
    assert (device.get("out") == 7).all()


@MODES
def test_a_wavefront_that_waits_for_another_of_its_workgroup(mode: Any) -> None:
    device = Device()
    device.put("out", np.zeros(64, np.uint32))
    mode(device.launch(kernel("waiting", "wait_within"), 128, 128, "out"), GPU)
    assert (device.get("out") == 5).all()


def test_the_order_without_timing_is_always_the_same() -> None:
    seen = []
    for _ in range(2):
        device = Device()
        device.put("arrived", np.zeros(1, np.uint32)), device.put("values", np.zeros(16, np.uint32))
        launch = device.launch(kernel("waiting", "grid_barrier"), 1024, 128, "arrived", "values", 8, 5)
        seen.append(run_functional(launch, residency=residency(launch, GPU)).instructions)
    assert seen[0] == seen[1]


# past the end, the first dword of the next wavefront's, before the start, far away
@pytest.mark.parametrize("at", [16, 17, 4000, (1 << 32) - 1, 1 << 24])
@pytest.mark.parametrize("name", ["private_dwords", "private_bytes", "private_flat"])
@MODES
def test_private_memory_ends_where_the_work_item_has_its_last_byte(mode: Any, name: str, at: int) -> None:
    device = Device()
    device.put("out", np.zeros(256, np.uint32))
    k = kernel("waiting", name)
    element = 1 if name == "private_bytes" else 4
    at = k.private_segment_bytes // element + at - 16 if at < 1 << 20 else at
    if name == "private_flat" and at == (1 << 32) - 1:
        at = 1 << 28  # its pointers have 64 bits: this one is the aperture's middle
    with pytest.raises(ExecutionFault) as caught:
        mode(device.launch(k, 256, 128, "out", at), GPU)
    fault = caught.value
    assert (fault.code, fault.workgroup, fault.wavefront, fault.lane) == (FAULT_PRIVATE, 0, 1, 6), str(fault)
    assert fault.size_bytes == element
    for part in ("outside the work-item's private memory", f"has {k.private_segment_bytes} bytes of private memory"):
        assert part in str(fault)
    if at < 1 << 20:
        assert fault.address == at * element
    assert not device.get("out")[64:128].any()


@pytest.mark.parametrize("name", ["private_dwords", "private_bytes", "private_flat"])
@MODES
def test_within_its_private_memory_a_kernel_is_let_alone(mode: Any, name: str) -> None:
    device = Device()
    device.put("out", np.zeros(256, np.uint32))
    mode(device.launch(kernel("waiting", name), 256, 128, "out", 15), GPU)
    item = np.arange(256)
    found = {
        "private_dwords": 15 * item + 1,
        "private_bytes": np.where(item % 128 == 70, 15, 3),
        "private_flat": 2 * item,
    }
    assert np.array_equal(device.get("out"), found[name].astype(np.uint32))


@MODES
def test_private_memory_starts_as_zeros_whoever_had_it_before(mode: Any) -> None:
    groups = 4 * HELD  # so that places are taken again
    device = Device()
    device.put("out", np.full(128 * groups, 1, np.uint32))
    mode(device.launch(kernel("waiting", "private_unwritten"), 128 * groups, 128, "out", 4), GPU)
    assert not device.get("out").any()
