"""Do several launches with copies between them run in order, and add up to one result in which each is to be seen?"""

import json
from pathlib import Path

import numpy as np
import pytest

import gpusim
from gpusim.base.jit import JIT_DISABLED

DATA = Path(__file__).parents[2] / "data"
SMALL = gpusim.GpuSpec.model_validate(
    {"name": "small", "shader_arrays": 1, "cus_per_array": 2, "memory_mib": 16, "kernel_launch_us": 2.0}
)
N = 200


def device(timing: bool = True) -> gpusim.Device:
    return gpusim.Device(SMALL, timing=timing, quiet=True)


def adder(gpu: gpusim.Device) -> gpusim.KernelFunction:
    return gpu.load(DATA / "kernels/vector_add.hsaco")["vector_add"]


def filled(gpu: gpusim.Device, value: float, size: int = N) -> gpusim.DeviceArray:
    return gpu.array(np.full(size, value, np.float32), name=f"of {value}")


@pytest.mark.parametrize("timing", [False, True])
def test_launches_and_copies_happen_in_order_at_the_end_of_the_block(timing: bool) -> None:
    gpu = device(timing)
    a, b, c = filled(gpu, 1), filled(gpu, 2), gpu.zeros(N, name="c")
    host = np.full(N, 10, np.float32)
    with gpu.queue() as queue:
        first = queue.read(a)
        queue.launch(adder(gpu), N, 64, [a, b, c, N])  # 3
        queue.write(a, host)
        host[:] = 77  # too late: what is copied was taken when the copy was added
        queue.launch(adder(gpu), N, 64, {"a": a, "b": c, "c": c, "n": N})  # 13
        queue.copy(c, b)
        found = np.zeros(N, np.float32)
        queue.copy(b, found)
        queue.copy(5.0, c)
        assert not first.any() and (c.numpy() == 0).all()  # nothing has happened yet
    assert (first == 1).all() and (found == 13).all() and (b.numpy() == 13).all() and (c.numpy() == 5).all()
    result = queue.result
    assert [launch.kernel.name for launch in result.launches] == ["vector_add", "vector_add", "device_copy"]
    whole, parts = result.kernel.wavefront_instructions, [r.kernel.wavefront_instructions for r in result.launches]
    assert whole == sum(parts) and min(parts) > 0
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()


def test_sums_are_sums_and_rates_are_weighted() -> None:
    gpu = device()
    a, c = filled(gpu, 1, 2048), gpu.zeros(2048)
    with gpu.queue(checked=True, hotspots=3) as queue:
        queue.launch(adder(gpu), 64, 64, [a, a, c, 64])
        queue.launch(adder(gpu), 2048, 256, [a, a, c, 2048])
    result, (small, large) = queue.result, queue.result.launches
    assert result.kernel.cycles == small.kernel.cycles + large.kernel.cycles
    assert result.dram.reads == small.dram.reads + large.dram.reads
    lines = [r.l1.transactions for r in (small, large)]
    rates = [r.l1.hit_rate for r in (small, large)]
    assert result.l1.hit_rate == pytest.approx(np.average(rates, weights=lines))
    cycles = [r.kernel.cycles for r in (small, large)]
    assert result.kernel.occupancy == pytest.approx(
        np.average([r.kernel.occupancy for r in (small, large)], weights=cycles)
    )
    assert [len(r.hotspots) for r in (small, large)] == [3, 3]
    # each launch alone costs what it costs by itself
    alone = device()
    b, d = filled(alone, 1, 2048), alone.zeros(2048)
    assert alone.launch(adder(alone), 64, 64, [b, b, d, 64]).kernel.cycles == small.kernel.cycles
    assert small.host.time_us == pytest.approx(small.kernel.time_us + 2.0)


def test_times_on_the_host_s_clock_follow_one_another() -> None:
    gpu = device()
    a, c = filled(gpu, 1), gpu.zeros(N, name="c")
    with gpu.queue() as queue:
        queue.write(a, 2)
        queue.launch(adder(gpu), N, 64, [a, a, c, N])
        queue.read(c)
    up, kernel, down = queue.result.commands
    copy_us = gpu.gpu.host_link.copy_us(4 * N)
    assert (up.name, up.copied_bytes, up.started_us, up.ended_us) == ("to 'of 1'", 4 * N, 0, pytest.approx(copy_us))
    assert kernel.launched_us == up.ended_us and kernel.started_us == pytest.approx(up.ended_us + 2.0)
    assert kernel.ended_us - kernel.started_us == pytest.approx(queue.result.kernel.time_us)
    assert (down.started_us, down.ended_us) == (kernel.ended_us, pytest.approx(kernel.ended_us + copy_us))
    assert queue.result.host.time_us == down.ended_us
    assert queue.result.to_dict()["commands"][0]["copied_bytes"] == 4 * N


def test_what_l2_held_is_gone_after_a_copy_over_the_host_link_and_translations_are_not() -> None:
    size = 192  # elements in 12 whole lines
    reads, walks = [], []
    for copies in (False, True):
        gpu = device()
        a, b = filled(gpu, 1, size), gpu.zeros(size)
        with gpu.queue() as queue:
            queue.launch(adder(gpu), size, 64, [a, a, b, size])
            if copies:
                queue.read(b)
            queue.launch(adder(gpu), size, 64, [b, b, b, size], caches="warm")
        reads.append(queue.result.launches[1].dram.reads)
        walks.append([launch.translation.walks for launch in queue.result.launches])
    assert reads[0] == 0 < reads[1]
    assert all(cold > 0 == warm for cold, warm in walks)


@pytest.mark.skipif(JIT_DISABLED, reason="minutes in plain Python")
def test_a_copy_within_the_device_runs_at_the_memory_s_speed() -> None:
    gpu = gpusim.Device("r9nano", quiet=True)
    size = 1 << 20
    a, b = gpu.array(np.arange(size, dtype=np.uint32)), gpu.zeros(size, np.uint32)
    with gpu.queue(checked=True) as queue:
        queue.copy(a, b)
    np.testing.assert_array_equal(a, b)
    assert queue.result.roofline.dram / queue.result.kernel.cycles > 0.5


def test_an_error_in_the_block_runs_nothing() -> None:
    gpu = device(timing=False)
    c = gpu.zeros(N, name="c")
    with pytest.raises(ZeroDivisionError), gpu.queue() as queue:
        queue.write(c, 3)
        _ = 1 / 0
    assert not c.numpy().any()
    with pytest.raises(gpusim.UserError, match="has not run"):
        _ = queue.result


def test_a_fault_is_raised_at_the_end_and_what_ran_before_has_happened() -> None:
    gpu = device()
    a, c, short = filled(gpu, 1), gpu.zeros(N, name="c"), gpu.zeros(10, name="short")
    with pytest.raises(gpusim.ExecutionFault, match="nearest allocation 'short'"), gpu.queue() as queue:
        queue.launch(adder(gpu), N, 64, [a, a, c, N])
        queue.launch(adder(gpu), N, 64, [a, a, short, N])
        queue.write(c, 9)
    assert (c.numpy() == 2).all()


def test_an_observer_ends_the_queue() -> None:
    gpu = device()
    kernel = gpu.load(DATA / "kernels/endless.hsaco")["endless"]
    c = gpu.zeros(1, np.uint32)
    reported = 0

    def observer(_: object) -> bool:
        nonlocal reported
        reported += 1
        return reported < 2

    with gpu.queue(observer=observer) as queue:
        queue.launch(kernel, 64, 64, kernarg=np.array([7, c.address], np.uint64).tobytes())
        queue.write(c, 5)
    assert queue.result.partial and len(queue.result.launches) == 1
    assert c.numpy() == 7


def test_wrong_commands_are_told_when_they_are_added() -> None:
    gpu, other = device(timing=False), device(timing=False)
    c = gpu.zeros(N, name="c")
    with gpu.queue() as queue:
        with pytest.raises(gpusim.DeviceArrayError, match=r"holds float32 of shape \(200,\), not float64 of \(200,\)"):
            queue.write(c, np.zeros(N))
        with pytest.raises(gpusim.DeviceArrayError, match=r"not float32 of \(3,\)"):
            queue.copy(gpu.zeros(3), c)
        with pytest.raises(gpusim.DeviceArrayError, match=r"not float32 of \(3,\)"):
            queue.copy(c, np.zeros(3, np.float32))
        with pytest.raises(gpusim.DeviceArrayError, match="a device array on one side"):
            queue.copy(np.zeros(3), np.zeros(3))
        for none in (lambda: queue.write(np.zeros(3), 0), lambda: queue.read("c")):  # type: ignore[arg-type]
            with pytest.raises(gpusim.DeviceArrayError, match=r"is no device array; gpu.array\(host\) makes one"):
                none()
        for wrong in (
            lambda: queue.read(other.zeros(1, name="mine")),
            lambda: queue.copy(other.zeros(N, name="mine"), c),
        ):
            with pytest.raises(gpusim.LaunchError, match="'mine' lies on another device"):
                wrong()
        with pytest.raises(gpusim.LaunchError, match="'flushed' or 'warm', not 'hot'"):
            queue.launch(adder(gpu), 64, 64, [c, c, c, 64], caches="hot")
    with pytest.raises(gpusim.UserError, match=r"make another by gpu\.queue"):
        queue.write(c, 1)
    with pytest.raises(gpusim.LaunchError, match="without timing"), gpu.queue(checked=True) as queue:
        queue.launch(adder(gpu), 64, 64, [c, c, c, 64])
    with pytest.raises(gpusim.UserError, match="runs once"), queue:
        pass


def test_arrays_of_a_queue_live_until_it_has_run() -> None:
    gpu = device(timing=False)
    with gpu.queue() as queue:
        queue.write(gpu.zeros(4, np.uint32), 3)
        found = queue.read(gpu.array(np.arange(4)))
        c = gpu.zeros(N)
        queue.launch(adder(gpu), N, 64, [filled(gpu, 1), filled(gpu, 2), c, N])
        queue.launch(adder(gpu), N, 64, {"a": c, "b": filled(gpu, 4), "c": c, "n": N})
        later = [filled(gpu, 9) for _ in range(4)]  # where arrays that were freed too early would have been
    assert list(found) == [0, 1, 2, 3]
    assert (c.numpy() == 7).all() and len(later) == 4


def test_an_empty_queue_takes_no_time() -> None:
    with device().queue() as queue:
        pass
    assert (queue.result.launches, queue.result.kernel.cycles, queue.result.host.time_us) == ([], 0, 0.0)
