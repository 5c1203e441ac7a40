"""Is the fastest convolution algorithm of each layer and pass found, taken and said?"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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
from gpusim.networks.choice import PASSES, Place
from gpusim.networks.job import NetworkJob
from gpusim.networks.run import NetworkRecord, Wanted
from gpusim.report.document import document
from gpusim.report.result import choice_text, read
from gpusim.report.rows import choice_lines
from gpusim.results.record import KernelChoice, RunRecord
from gpusim.running import runner
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


@dataclass(frozen=True)
class Found:
    """A dense run: how each algorithm was chosen, its steps, its record, the JSON object."""

    choices: Mapping[Place, KernelChoice]
    last: NetworkRecord
    record: RunRecord
    document: dict[str, Any]


def record_of(convolution: str = AUTO, **values: Any) -> Found:
    settings = NetworkSettings(gpu=values.pop("gpu", GPU), convolution=convolution)
    job = NetworkJob(load_network(NETWORK), settings, Wanted(**{"batch": 2, "train": True, **values}))
    with Interrupt() as interrupt:
        (record,) = runner.run(job, Reporter(quiet=True), interrupt)
    choices = {(s.step.layer, s.step.what): job.choice_of((s.step.layer, s.step.what)) for s in job.found[""].steps}
    known = {place: one for place, one in choices.items() if one is not None}
    return Found(known, job.found[""], record, document(job.resolved(), [record], about=job.about))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("choice") / "s.db"


@pytest.fixture(scope="module")
def found(store: Path) -> Found:
    return record_of(store=store)


def cycles(record: Found, name: str, what: Pass) -> int:
    (step,) = (s for s in record.last.steps if (s.step.layer, s.step.what) == (name, what))
    assert step.facts is not None
    return step.facts.cycles


def test_each_pass_has_the_fastest_of_what_computes_it(found: Found) -> None:
    assert found.record.verification is not None and found.record.verification.passed
    by_pass = found.choices
    assert set(by_pass) == {("square", p) for p in PASSES - {Pass.BACKWARD_DATA}} | {("wide", p) for p in PASSES}
    assert {"winograd_2x2", "winograd_4x4", "implicit", "im2col"} <= set(by_pass["square", Pass.FORWARD].cycles)
    assert not {name for name in by_pass["wide", Pass.FORWARD].cycles if name.startswith("winograd")}
    for place, one in found.choices.items():
        assert list(one.cycles.values()) == sorted(one.cycles.values()) and one.kernel == next(iter(one.cycles))
        (step,) = (s for s in found.last.steps if (s.step.layer, s.step.what) == place)
        assert f"({one.kernel})" in step.operators[0]


@pytest.mark.parametrize("algorithm", ["implicit", "im2col"])
def test_what_is_said_of_an_algorithm_is_what_a_run_by_it_takes(found: Found, store: Path, algorithm: str) -> None:
    alone = record_of(algorithm, store=store)
    for place, one in found.choices.items():
        assert one.cycles[algorithm] == cycles(alone, *place)
        assert cycles(found, *place) <= cycles(alone, *place)


def test_what_a_store_knows_is_not_measured_again(found: Found, store: Path) -> None:
    again = record_of(store=store)
    assert again.choices == found.choices
    assert not any(s.simulated for s in again.last.steps if s.step.what in PASSES and s.step.layer != "fc")
    assert all(s.facts is None or s.facts.sampling is None for s in again.last.steps)


def test_what_cannot_be_faster_is_not_measured(monkeypatch: pytest.MonkeyPatch, found: Found) -> None:
    monkeypatch.setattr(choice, "ATTAINED", 1e-6)  # as if multiply-accumulates took all the time
    few = record_of(layers="square").choices
    assert few.keys() == {("square", Pass.FORWARD), ("square", Pass.BACKWARD_WEIGHTS)}
    for place, one in few.items():
        assert list(one.cycles) == ["winograd_4x4"]
        assert one.at_least.keys() == found.choices[place].cycles.keys() - {"winograd_4x4"}
        assert min(one.at_least.values()) > one.cycles["winograd_4x4"]


def test_bounds_are_below_what_is_measured(monkeypatch: pytest.MonkeyPatch, found: Found) -> None:
    asked: dict[Any, Any] = {}

    def instead(candidates: Any, _: Any) -> Any:
        asked.update(candidates)
        return {}

    monkeypatch.setattr(choice, "choose_all", instead)
    record_of()
    assert asked.keys() == found.choices.keys()
    for place, candidates in asked.items():
        assert all(0 < one.least <= found.choices[place].cycles[one.name] for one in candidates)


def test_it_is_said(found: Found) -> None:
    said = {(row["name"], row["pass"]): row["choice"] for row in found.document["rows"] if "choice" in row}
    assert said == {(layer, str(what)): asdict(one) for (layer, what), one in found.choices.items()}
    assert len(choice_lines(read(found.document))) == 1 + len(said)
    one = KernelChoice("implicit", {"implicit": 100, "im2col": 250, "winograd_2x2": 300}, {"direct": 400, "x": 99})
    text = "implicit by measurement; im2col 2.50 ×, winograd_2x2 3.00 ×, direct at least 4.00 ×, x not measured"
    assert choice_text(asdict(one)) == text


def test_an_algorithm_that_does_not_fit_the_memory_is_left_out() -> None:
    small = GPU.model_copy(update={"memory_mib": 3})
    found = record_of(gpu=small, layers="square", train=False, batch=128)
    (one,) = found.choices.values()
    assert "implicit" in one.cycles and "winograd_2x2" not in one.cycles


def test_a_script_may_say_auto() -> None:
    result = gpusim.run_network(NETWORK, layers="wide", sets={"convolution": "auto"}, quiet=True)
    assert result["rows"][0]["choice"]["kernel"] in DENSE_ALGORITHMS
