"""When do the stages of a training do their batches? Against a recurrence of their times, and closed forms."""

from dataclasses import replace

import networkx
import pytest
from hypothesis import strategies as st

from gpusim.lab.training.fabric import HOST, link
from gpusim.lab.training.stages import (
    CPU,
    GPU,
    LINKS,
    STORAGE,
    LayerStep,
    PipelineTrace,
    Reduction,
    SnapshotWork,
    TrainingPipeline,
    buckets,
    simulate,
    steady_us,
)
from tests.support.daily import given_daily

GB_S, LATENCY_US = 1.0, 5.0
TIMES = st.integers(1, 400)


def line(read: float, prepare: float, copy: float, passes: float, update: float, **more: object) -> TrainingPipeline:
    """A line on one GPU, by the times of its stages in us."""
    graph = networkx.DiGraph()
    link(graph, HOST, "gpu0", GB_S, 0.0)
    steps = {
        "forward": (LayerStep("a f", passes / 2),),
        "backward": (LayerStep("a b", passes / 2),),
        "update": (LayerStep("a u", update),),
    }
    made = TrainingPipeline(read, (prepare,), 4, False, copy * 1e3, **steps, buffers=(2, 2, 2), graph=graph)
    return replace(made, **more)


def recurrence(t: TrainingPipeline, count: int) -> tuple[list[float], list[float]]:
    """When each batch has been copied, and each iteration ended: from the rules alone, without events."""
    read, prepare, copy = t.read_us, t.preprocess_us[0], t.copy_bytes / (GB_S * 1e3)
    passes, update = sum(s.time_us for s in (*t.forward, *t.backward)), t.update[0].time_us
    r, p, c, used, ends = [], [], [], [], []

    def at(times: list[float], n: int) -> float:
        return times[n] if n >= 0 else 0.0

    for i in range(count):
        if t.with_prefetch:
            p.append(max(at(p, i - 1), at(c, i - t.buffers[1])) + read + prepare)
        else:
            r.append(max(at(r, i - 1), at(p, i - t.buffers[0])) + read)
            p.append(max(r[i], at(p, i - 1), at(c, i - t.buffers[1])) + prepare)
        c.append(max(p[i], at(c, i - 1), at(used, i - t.buffers[2])) + copy)
        used.append(max(c[i], at(ends, i - 1)) + passes)
        ends.append(used[i] + update)
    return c, ends


@given_daily(20, 60, st.tuples(TIMES, TIMES, TIMES, TIMES, TIMES), st.tuples(*[st.integers(1, 3)] * 3), st.booleans())
def test_every_batch_is_done_when_the_rules_say(
    times: tuple[int, ...], buffers: tuple[int, int, int], together: bool
) -> None:
    training = line(*times, buffers=buffers, with_prefetch=together)
    found = simulate(training, 36)
    copied, ends = recurrence(training, 36)
    assert found.ends_us == pytest.approx(ends)
    assert found.stages["copy"].ended_us[:36] == pytest.approx(copied)
    # 12 iterations hold whole periods of 1, 2 and 3 buffers
    assert steady_us(training)[0] == pytest.approx((ends[35] - ends[23]) / 12)


@pytest.mark.parametrize(
    ("times", "resource"),
    [
        ((300, 50, 10, 200, 20), STORAGE),
        ((50, 300, 10, 200, 20), CPU),
        ((50, 60, 300, 200, 20), LINKS),
        ((50, 60, 10, 200, 20), GPU),
    ],
)
def test_the_slowest_resource_is_always_busy_and_twice_as_much_of_it_helps(
    times: tuple[int, ...], resource: str
) -> None:
    training = line(*times)
    found = simulate(training, 40)
    busy = {name: found.busy(name, 20) for name in (STORAGE, CPU, GPU)}
    busy[LINKS] = max(found.link_use(training, 20).values())
    slowest = max(times[0], times[1], times[2], times[3] + times[4])
    assert found.iteration_us(20) == pytest.approx(slowest)
    assert busy[resource] == pytest.approx(1.0)
    assert busy[STORAGE] == pytest.approx(times[0] / slowest)
    assert found.link_use(training, 20)[HOST, "gpu0"] == pytest.approx(times[2] / slowest)
    for other in busy:
        faster = simulate(training.faster(other), 40).iteration_us(20)
        assert (faster < slowest - 1) == (other == resource)


def test_a_stage_that_is_ahead_for_long_is_no_busier_for_it() -> None:
    training = line(199, 60, 10, 180, 20, buffers=(9, 9, 9))  # fills the buffers by a 200th of one in an iteration
    assert simulate(training, 40).busy(STORAGE, 20) == pytest.approx(199 / 200)


def test_threads_of_the_host_share_a_batch_and_take_turns() -> None:
    training = line(10, 0, 10, 20, 5, preprocess_us=(90.0, 60.0, 60.0), cpu_threads=2)
    assert simulate(training, 30).iteration_us(20) == pytest.approx(120)  # 60 and 60 on one thread beside 90
    assert steady_us(training)[0] == pytest.approx(120)


def test_a_snapshot_delays_a_training_that_waits_for_it() -> None:
    saved = SnapshotWork(10, 40e3, 500.0, blocking=True, most=1)
    training = line(50, 60, 10, 200, 20)

    def delay_us(snapshot: SnapshotWork, of: TrainingPipeline = training) -> float:
        return simulate(replace(of, snapshot=snapshot), 30).ends_us[-1] - simulate(of, 30).ends_us[-1]

    assert delay_us(saved) == pytest.approx(40 + 500)  # copied back at 1 GB/s, then written
    assert delay_us(replace(saved, blocking=False)) == pytest.approx(0)  # storage has time for it
    bound = line(300, 60, 10, 200, 20)
    assert delay_us(replace(saved, blocking=False), bound) == pytest.approx(500)  # its reads wait for the write


def of_gpus(count: int, reduction: Reduction) -> TrainingPipeline:
    graph = networkx.DiGraph()
    for number in range(count):
        link(graph, f"gpu{number}", f"gpu{(number + 1) % count}", GB_S, LATENCY_US)
        link(graph, HOST, f"gpu{number}", 1e4, 0.0)
    backward = (
        LayerStep("c backward", 100.0, 40e3),
        LayerStep("b backward", 100.0),
        LayerStep("a backward", 100.0, 20e3),
    )
    made = line(1, 1, 0.001, 100, 7, backward=backward, graph=graph, gpus=count, reduction=reduction)
    return replace(made, forward=(LayerStep("a forward", 50.0),))


def ring_us(count: int, size: float) -> float:
    return 2 * (count - 1) * (size / count / (GB_S * 1e3) + LATENCY_US)


@pytest.mark.parametrize("count", [2, 4, 8])
def test_sums_hide_behind_the_backward_pass(count: int) -> None:
    """Those of layer c begin 200 us before the pass ends, those of layer a with its end."""
    first, last = ring_us(count, 40e3), ring_us(count, 20e3)
    apart = simulate(of_gpus(count, Reduction("ring", 30e3)), 6)
    exposed = max(first - 200, 0) + last
    assert apart.exposed_us[1:] == pytest.approx([exposed] * 5)
    assert apart.iteration_us(1) == pytest.approx(50 + 300 + exposed + 7)
    together = simulate(of_gpus(count, Reduction("ring", 60e3)), 6)
    assert together.exposed_us[1:] == pytest.approx([ring_us(count, 60e3)] * 5)
    after = simulate(of_gpus(count, Reduction("ring", 30e3, overlap=False)), 6)
    assert after.exposed_us[1:] == pytest.approx([first + last] * 5)


def test_a_bucket_ends_when_it_is_full_and_at_the_end() -> None:
    def sizes(bucket_bytes: float, gpus: int = 2) -> list[tuple[str, float]]:
        made = buckets(replace(of_gpus(2, Reduction("ring", bucket_bytes)), gpus=gpus))
        return [(step.name[0], bucket.size_bytes) for step, bucket in made if bucket is not None]

    assert sizes(1) == [("c", 40e3), ("a", 20e3)]
    assert sizes(50e3) == [("a", 60e3)]
    assert sizes(1, gpus=1) == []


def test_images_that_are_there_are_not_waited_for() -> None:
    training = line(900, 60, 10, 200, 20, fed=False)
    found: PipelineTrace = simulate(training, 8)
    assert found.iteration_us(2) == steady_us(training)[0] == 220
    assert found.busy(STORAGE, 2) == 0
