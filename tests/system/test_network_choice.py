"""Is the fastest convolution algorithm of each layer and pass found, taken and said?"""

from pathlib import Path
from typing import Any

import pytest

import gpusim
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.config.gpu import load_gpu
from gpusim.config.network import load_network
from gpusim.config.network_run import AUTO, NetworkSettings
from gpusim.networks import choice
from gpusim.networks.choice import PASSES, Choice, lines
from gpusim.networks.compare import document
from gpusim.networks.modes import ModesRecord, run_modes
from gpusim.networks.run import Wanted
from tests.support.small_networks import layer
from workloads.networks.kind import Pass
from workloads.operators.conv_algorithms import DENSE_ALGORITHMS

GPU = load_gpu("mi6")
NETWORK = {
    "input": [8, 8, 8],
    "layers": [
        layer("square", "convolution", filters=16, kernel=3, padding=1),
        layer("wide", "convolution", filters=8, kernel=5),
        layer("fc", "fully_connected", outputs=4),
        layer("softmax", "softmax"),
    ],
}


def record_of(convolution: str = AUTO, **values: Any) -> ModesRecord:
    settings = NetworkSettings(gpu=values.pop("gpu", GPU), convolution=convolution)
    with Interrupt() as interrupt:
        wanted = Wanted(**{"batch": 2, "train": True, **values})
        return run_modes(load_network(NETWORK), settings, wanted, Reporter(quiet=True), interrupt)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("choice") / "s.db"


@pytest.fixture(scope="module")
def found(store: Path) -> ModesRecord:
    return record_of(store=store)


def cycles(record: ModesRecord, name: str, what: Pass) -> int:
    (step,) = (s for s in record.last.steps if (s.step.layer, s.step.what) == (name, what))
    assert step.facts is not None
    return step.facts.cycles


def test_each_pass_has_the_fastest_of_what_computes_it(found: ModesRecord) -> None:
    assert found.passed is True
    by_pass = {(one.layer, one.what): one for one in found.choices}
    assert set(by_pass) == {("square", p) for p in PASSES - {Pass.BACKWARD_DATA}} | {("wide", p) for p in PASSES}
    assert {"winograd_2x2", "winograd_4x4", "implicit", "im2col"} <= set(by_pass["square", Pass.FORWARD].cycles)
    assert not {name for name in by_pass["wide", Pass.FORWARD].cycles if name.startswith("winograd")}
    for one in found.choices:
        assert list(one.cycles.values()) == sorted(one.cycles.values())
        (step,) = (s for s in found.last.steps if (s.step.layer, s.step.what) == (one.layer, one.what))
        assert f"({one.algorithm})" in step.operators[0]


@pytest.mark.parametrize("algorithm", ["implicit", "im2col"])
def test_what_is_said_of_an_algorithm_is_what_a_run_by_it_takes(
    found: ModesRecord, store: Path, algorithm: str
) -> None:
    alone = record_of(algorithm, store=store)
    for one in found.choices:
        assert one.cycles[algorithm] == cycles(alone, one.layer, one.what)
        assert cycles(found, one.layer, one.what) <= cycles(alone, one.layer, one.what)


def test_what_a_store_knows_is_not_measured_again(found: ModesRecord, store: Path) -> None:
    again = record_of(store=store)
    assert again.choices == found.choices
    assert not any(s.simulated for s in again.last.steps if s.step.what in PASSES and s.step.layer != "fc")
    assert all(s.facts is None or s.facts.sampling is None for s in again.last.steps)


def test_what_cannot_be_faster_is_not_measured(monkeypatch: pytest.MonkeyPatch, found: ModesRecord) -> None:
    monkeypatch.setattr(choice, "ATTAINED", 1e-6)  # as if multiply-accumulates took all the time
    few = {(one.layer, one.what): one for one in record_of(layers="square").choices}
    for one in found.choices:
        if one.layer == "square":
            assert list(few["square", one.what].cycles) == ["winograd_4x4"]
            assert few["square", one.what].slower.keys() == one.cycles.keys() - {"winograd_4x4"}
            assert min(few["square", one.what].slower.values()) > few["square", one.what].best
    assert few.keys() == {("square", Pass.FORWARD), ("square", Pass.BACKWARD_WEIGHTS)}


def test_it_is_said(found: ModesRecord) -> None:
    tree = document(found)["algorithms"]
    assert [(one["name"], one["pass"]) for one in tree] == [(c.layer, str(c.what)) for c in found.choices]
    assert all(one["algorithm"] == min(one["cycles"], key=one["cycles"].__getitem__) for one in tree)
    one = Choice("a", Pass.FORWARD, {"implicit": 100, "im2col": 250}, {"direct": 400.0})
    assert lines([one]) == ["a forward: implicit, im2col 2.50x, direct >= 4.00x"]


def test_an_algorithm_that_does_not_fit_the_memory_is_left_out() -> None:
    small = GPU.model_copy(update={"memory_mib": 3})
    found = record_of(gpu=small, layers="square", train=False, batch=128)
    assert "implicit" in found.choices[0].cycles and "winograd_2x2" not in found.choices[0].cycles


def test_a_script_may_say_auto() -> None:
    result = gpusim.run_network(NETWORK, layers="wide", sets={"convolution": "auto"}, quiet=True)
    assert result.algorithms[0]["algorithm"] in DENSE_ALGORITHMS
