"""Does a launch's result follow from the launch, whatever ran before it, beside it, or with which store?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.gpu import load_gpu
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings
from gpusim.jobs.networks.run import NetworkRunRequest, run_iteration
from gpusim.model.core.facts import RunFacts
from tests.support.daily import parametrize_daily
from tests.support.small_networks import layer

GPU = load_gpu("mi6")
BATCH = 16
Digits = Mapping[str, list[Any]]  # by step: what each launch counted


def digits_of(facts: RunFacts) -> Any:
    """All that a launch counts, without the time that this took the host."""
    return {name: counts for name, counts in facts.sections.items() if name != "simulator"}


def run_point(described: Mapping[str, Any], settings: Mapping[str, Any], **wanted: Any) -> Digits:
    """What each step of a network's iteration counts, launch by launch."""
    how = NetworkRunRequest(**{"batch": 2, "train": True, **wanted})
    with Interrupt() as interrupt:
        network = load_network({"input_gradients": True, **described})
        record = run_iteration(network, NetworkSettings(gpu=GPU, **settings), how, Reporter(quiet=True), interrupt)
    assert record.passed is not False
    return {step.name: [digits_of(record.of_class[one]) for one in step.classes] for step in record.steps}


def circulant(flow: str, outputs: int = 64, block: int = 16) -> dict[str, Any]:
    return layer("fc", "block_circulant", outputs=outputs, block=block, flow=flow, bias=False)


def point(seed: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A small network, its settings and how it is run: of few values, so that points have launches in common."""
    random = np.random.default_rng(seed)

    def one_of(*values: Any) -> Any:
        return values[random.integers(len(values))]

    side, channels = one_of(6, 8), one_of(4, 16)
    shape = [channels, side, side]
    kinds = {
        "convolution": layer("c", "convolution", filters=one_of(4, 8), kernel=one_of(1, 3), padding=one_of(0, 1)),
        "fully_connected": layer("f", "fully_connected", outputs=16),
        "batch_norm": layer("b", "batch_norm"),
        "max_pool": layer("p", "max_pool", kernel=2, stride=2),
        "tanh": layer("t", "tanh"),
        "lrn": layer("l", "lrn"),
    }
    drawn = sorted(
        random.permutation(list(kinds))[: one_of(1, 1, 2)], key=lambda name: name == "fully_connected"
    )  # it ends the maps
    chosen = [kinds[name] for name in drawn]
    described: dict[str, Any] = {"input": shape, "layers": chosen}
    if one_of(False, True, False):
        described = {"input": [64], "layers": [circulant(one_of("fused", "o1_sum", "o2_sum"))]}
    settings = {"convolution": one_of("implicit", "im2col"), "training": {"update": one_of("none", "sgd")}}
    return described, settings, {"data": one_of("real", "real", "real", "synthetic"), "batch": one_of(2, 3)}


# the daily ones have every kind of layer that all have, batches of 2 and 3, real and made-up values
@pytest.mark.parametrize("seeds", [(2, 3, 5, 7, 8, 9, 10), pytest.param(range(12), marks=pytest.mark.nightly)])
def test_a_point_has_the_same_digits_alone_and_with_all_others(tmp_path: Path, seeds: Sequence[int]) -> None:
    """From an empty store and from one that others filled, in another order, in several processes and without one."""
    points = [point(seed) for seed in seeds]
    alone = [run_point(described, settings, **how) for described, settings, how in points]
    store = tmp_path / "all.db"
    for number in np.random.default_rng(0).permutation(len(points)):
        described, settings, how = points[number]
        assert run_point(described, settings, store=store, **how) == alone[number], f"point {number}, with all"
    for number in range(3, len(points), 4):
        described, settings, how = points[number]
        again = run_point(described, settings, store=store, jobs=2, **how)
        assert again == alone[number], f"point {number}, from the full store"
        forked = run_point(described, settings, store=tmp_path / f"{number}.db", jobs=3, **how)
        assert forked == alone[number], f"point {number}, in several processes"


def test_a_layer_alone_and_real_or_made_up_values_have_the_same_digits() -> None:
    layers = [layer("c", "convolution", filters=8, kernel=3, padding=1), layer("b", "batch_norm"), layer("t", "tanh")]
    described = {"input": [8, 8, 8], "layers": layers}
    whole = run_point(described, {}, data="real")
    assert run_point(described, {}, data="synthetic") == whole, "no whole numbers of the network's decide"
    for name in "cbt":
        part = run_point(described, {}, data="synthetic", layers=name)
        assert part and part == {step: one for step, one in whole.items() if step in part}


FUSED = {"input": [256], "layers": [circulant("fused", 256, 64)]}
WITHOUT_UPDATE = {"training": {"update": "none"}}


@pytest.fixture(scope="module")
def fused_alone() -> Digits:
    return run_point(FUSED, WITHOUT_UPDATE, data="synthetic", batch=BATCH)


@parametrize_daily("first", ["o1_sum", "o2_sum"], [0])
def test_a_fused_layer_takes_the_same_time_after_another_flow(tmp_path: Path, fused_alone: Digits, first: str) -> None:
    """Their transforms are equal launches at other places of the network's memory."""
    how = {"data": "synthetic", "batch": BATCH, "store": tmp_path / "s.db"}
    run_point({"input": [256], "layers": [circulant(first, 256, 64)]}, WITHOUT_UPDATE, **how)
    assert run_point(FUSED, WITHOUT_UPDATE, **how) == fused_alone
