"""Does a network's launch find in L2 what those before it left there, where caches are warm, and nothing otherwise?"""

from pathlib import Path
from typing import Any

import pytest

from gpusim.jobs.networks import choice
from gpusim.jobs.networks.execution import StepResult
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from tests.support.network_runs import GPU, Ran, run_job
from tests.support.small_networks import INPUT, SHORT, layer
from tests.system.test_network_sparse import NETWORK as SPARSE

WARM = GPU.model_copy(update={"caches": "warm"})
CHAIN = {"input": [16, 32, 32], "layers": [layer("a", "relu"), layer("b", "tanh"), layer("c", "relu")]}
MAP_LINES = 4 * 16 * 32 * 32 * 4 // 64  # of a map of four images
# what commit 4c8459c, which knew no warm caches between launches, took for a training iteration of SHORT, batch 3
FLUSHED = {
    "bn1.forward": 15255, "relu1.forward": 1690, "bn2.forward": 15255, "relu2.forward": 1690, "pool.forward": 5555,
    "softmax.loss": 6664, "softmax.loss_gradient": 2859, "pool.backward_data": 2134, "relu2.backward_data": 2062,
    "bn2.backward": 19364, "relu1.backward_data": 2062, "bn1.backward": 19364, "bn1.update.scale": 3271,
    "bn1.update.bias": 3271, "bn2.update.scale": 3271, "bn2.update.bias": 3271,
}  # fmt: skip


def steps(found: Ran) -> dict[str, StepResult]:
    return {step.name: step for step in found.last.steps}


def facts(found: Ran) -> dict[str, RunFacts]:
    return {step.name: step.facts for step in found.last.steps if step.facts is not None}


def reads(found: Ran) -> list[int]:
    return [one.dram.reads for one in facts(found).values()]


def chain(gpu: GpuSpec, **values: Any) -> Ran:
    return run_job(CHAIN, {"gpu": gpu}, **{"batch": 4, **values})


@pytest.mark.parametrize("data", ["real", "synthetic"])
def test_what_a_launch_wrote_is_found_by_the_next_one(data: str) -> None:
    flushed, warm = (chain(gpu, data=data) for gpu in (GPU, WARM))
    assert all(count >= MAP_LINES for count in reads(flushed))
    first, second, third = reads(warm)
    assert first == reads(flushed)[0], "nothing was before it"
    assert max(second, third) < MAP_LINES / 50, "all it reads, which the launch before has written, is in L2"
    cycles = [[one.cycles for one in facts(found).values()] for found in (warm, flushed)]
    assert cycles[0][0] == pytest.approx(cycles[1][0], rel=0.01), (
        "warm, real data are timed where the iteration has them"
    )
    assert all(a < b for a, b in zip(cycles[0][1:], cycles[1][1:], strict=True))
    assert warm.passed is (True if data == "real" else None)


TRAINED = {"input": INPUT, "layers": [*SHORT[:2], *SHORT[4:]]}


@pytest.mark.parametrize(("described", "jobs"), [(CHAIN, (1, 2)), (CHAIN, (2, 1)), (TRAINED, (2, 1))])
def test_real_and_made_up_data_agree(described: dict[str, Any], jobs: tuple[int, int]) -> None:
    """However many processes either takes."""
    how = {"batch": 3, "train": described is TRAINED}
    real, made_up = (
        run_job(described, {"gpu": WARM}, data=data, jobs=count, **how)
        for data, count in zip(("real", "synthetic"), jobs, strict=True)
    )
    assert real.passed is True and made_up.passed is None
    assert facts(real).keys() == facts(made_up).keys()
    for name, one in facts(real).items():
        other = facts(made_up)[name]
        assert (other.cycles, other.dram.reads) == (
            *(pytest.approx(one.cycles, rel=0.01), pytest.approx(one.dram.reads, abs=4)),
        ), name


def test_launches_that_are_not_asked_for_leave_their_lines_too() -> None:
    whole = facts(chain(WARM, data="synthetic"))
    for data in ("real", "synthetic"):
        alone = facts(chain(WARM, data=data, layers="b"))
        assert alone["b.forward"].cycles == whole["b.forward"].cycles and len(alone) == 1


@pytest.mark.parametrize("data", ["real", "synthetic"])
def test_equal_launches_after_other_ones_are_simulated_again(data: str) -> None:
    twice = {"input": [16, 32, 32], "layers": [*CHAIN["layers"], layer("d", "tanh")]}
    flushed, warm = (run_job(twice, {"gpu": gpu}, batch=4, data=data) for gpu in (GPU, WARM))
    assert not steps(flushed)["d.forward"].simulated, "in empty caches it is the second layer"
    assert steps(warm)["d.forward"].simulated
    one, other = (facts(warm)[name] for name in ("b.forward", "d.forward"))
    assert other.cycles < one.cycles and other.dram.reads < one.dram.reads, "where it writes is in L2 too"


IM2COL = {"input": [16, 32, 32], "layers": [layer("c", "convolution", filters=4, kernel=3, padding=1)]}


def test_equal_chunks_are_one_class_and_simulated_once() -> None:
    small = WARM.model_copy(update={"l2": WARM.l2.model_copy(update={"size_kib": 256})})
    settings = {"gpu": small, "convolution": "im2col"}
    made_up, real = (run_job(IM2COL, settings, batch=6, data=data) for data in ("synthetic", "real"))
    (step,), (in_order,) = made_up.last.steps, real.last.steps
    assert len(step.classes) == len(in_order.classes) == 2 * 6 + 1, "two launches an image, then the bias"
    assert sorted(step.simulated) == [0, 1, 2, 3, 12], "the first chunk, one of all others, the bias"
    assert step.classes[2:12:2] == (step.classes[2],) * 5 and step.classes[3:13:2][:-1] == (step.classes[3],) * 4
    kept = [one._replace(after=(), arguments=b"", arrays=()) for one in step.classes]
    assert step.classes[1] != step.classes[3] and kept[1] == kept[3], "they differ in what was before"
    assert in_order.simulated == set(range(13)), "with real data each is simulated where it stands"
    assert step.facts is not None and in_order.facts is not None
    assert step.facts.cycles == pytest.approx(in_order.facts.cycles, rel=0.01)


def test_what_is_kept_says_what_was_before(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    first = chain(WARM, data="synthetic", store=store)
    again, flushed = (chain(gpu, data="synthetic", store=store) for gpu in (WARM, GPU))
    assert not any(step.simulated for step in again.last.steps) and facts(again) == facts(first)
    assert [len(step.simulated) for step in flushed.last.steps] == [1, 1, 1], "nothing of it is known of empty caches"
    real = chain(WARM, data="real", store=store)
    assert all(step.simulated for step in real.last.steps)


def test_each_variant_begins_with_empty_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(choice.ALGORITHMS, "convolution", ("implicit",))
    both, alone = (run_job(SPARSE, {"gpu": WARM}, batch=2, layers=":a", engine=mode) for mode in ("both", "on"))
    cycles = [[one.cycles for one in facts(found).values()] for found in (both, alone)]
    assert cycles[0] == cycles[1] and both.passed is True
    assert all(step.simulated for step in both.last.steps), "a launch that is left out would leave no lines"


@pytest.mark.parametrize("data", ["real", "synthetic"])
def test_flushed_caches_are_as_they_were(data: str) -> None:
    assert GPU.caches == "flushed"
    found = run_job({"input": INPUT, "layers": SHORT}, batch=3, train=True, data=data)
    assert {name: one.cycles for name, one in facts(found).items()} == FLUSHED
    assert all(one.after == () and not step.before for step in found.last.steps for one in step.classes)
