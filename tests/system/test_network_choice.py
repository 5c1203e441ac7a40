"""Is the fastest convolution algorithm of each layer and pass found, taken and said?"""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gpusim
from gpusim.config.network import load_network
from gpusim.config.network_run import AUTO, NetworkSettings
from gpusim.jobs.estimates.network import estimate
from gpusim.jobs.host.command_processor import LaunchCommand
from gpusim.jobs.networks import choice
from gpusim.jobs.networks.choice import PASSES
from gpusim.jobs.running.dense_choice import measure_cycles
from gpusim.results.report.many import as_markdown
from gpusim.results.report.result import choice_text, read
from gpusim.results.report.rows import views_of
from tests.support.network_runs import GPU, Ran, piped, run_job
from tests.support.small_networks import layer
from workloads.networks.kind import Pass
from workloads.operators.conv_algorithms import DENSE_ALGORITHMS
from workloads.operators.conv_im2col import Im2colForward
from workloads.shapes import GemmShape

NETWORK: dict[str, Any] = {
    "input": [8, 8, 8],
    "layers": [
        layer("square", "convolution", filters=16, kernel=3, padding=1),
        layer("wide", "convolution", filters=8, kernel=5),
        layer("fc", "fully_connected", outputs=4),
        layer("softmax", "softmax"),
    ],
}

AMONG = ("implicit", "im2col", "winograd_2x2", "winograd_4x4")  # what follows is the same of few algorithms
ALGORITHMS = choice.ALGORITHMS


def record_of(convolution: str = AUTO, **values: Any) -> Ran:
    settings = {"gpu": values.pop("gpu", GPU), "convolution": convolution}
    return run_job(NETWORK, settings, **{"batch": 1, "train": True, **values})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("choice") / "s.db"


@pytest.fixture(scope="module")
def found(store: Path) -> Ran:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ALGORITHMS, "convolution", AMONG)
        return record_of(store=store)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose among as few as `found` does."""
    monkeypatch.setitem(ALGORITHMS, "convolution", AMONG)


def cycles(record: Ran, name: str, what: Pass) -> int:
    (step,) = (s for s in record.last.steps if (s.step.layer, s.step.what) == (name, what))
    assert step.facts is not None
    return step.facts.cycles


def test_each_pass_has_the_fastest_of_what_computes_it(found: Ran) -> None:
    assert found.passed is True
    by_pass = found.choices
    assert set(by_pass) == {("square", p) for p in PASSES - {Pass.BACKWARD_DATA}} | {("wide", p) for p in PASSES}
    assert {"winograd_2x2", "winograd_4x4", "implicit", "im2col"} <= set(by_pass["square", Pass.FORWARD].cycles)
    assert not {name for name in by_pass["wide", Pass.FORWARD].cycles if name.startswith("winograd")}
    for place, one in found.choices.items():
        assert list(one.cycles.values()) == sorted(one.cycles.values()) and one.kernel == next(iter(one.cycles))
        (step,) = (s for s in found.last.steps if (s.step.layer, s.step.what) == place)
        assert f"({one.kernel})" in step.operators[0]


@pytest.mark.parametrize("algorithm", ["implicit", "im2col"])
def test_what_is_said_of_an_algorithm_is_what_a_run_by_it_takes(found: Ran, store: Path, algorithm: str) -> None:
    alone = record_of(algorithm, store=store)
    for place, one in found.choices.items():
        assert one.cycles[algorithm] == cycles(alone, *place)
        assert cycles(found, *place) <= cycles(alone, *place)


def test_what_a_store_knows_is_not_measured_again(few: None, found: Ran, store: Path) -> None:
    again = record_of(store=store)
    assert again.choices == found.choices
    assert not any(s.simulated for s in again.last.steps if s.step.what in PASSES and s.step.layer != "fc")
    assert all(s.facts is None or s.facts.sampling is None for s in again.last.steps)


def _keep(asked: dict[Any, Any], candidates: Any, _: Any) -> dict[Any, Any]:
    """Keep the candidates, and choose nothing."""
    asked.update(candidates)
    return {}


def test_what_cannot_be_faster_is_not_measured(monkeypatch: pytest.MonkeyPatch, few: None, found: Ran) -> None:
    monkeypatch.setattr(choice, "ATTAINED", 1e-6)  # as if multiply-accumulates took all the time
    left = record_of(layers="square").choices
    assert left.keys() == {("square", Pass.FORWARD), ("square", Pass.BACKWARD_WEIGHTS)}
    for place, one in left.items():
        assert list(one.cycles) == ["winograd_4x4"]
        assert one.at_least.keys() == found.choices[place].cycles.keys() - {"winograd_4x4"}
        assert min(one.at_least.values()) > one.cycles["winograd_4x4"]


def test_bounds_are_below_what_is_measured(monkeypatch: pytest.MonkeyPatch, few: None, found: Ran) -> None:
    asked: dict[Any, Any] = {}

    monkeypatch.setattr(choice, "choose_all", partial(_keep, asked))
    record_of()
    assert asked.keys() == found.choices.keys()
    for place, candidates in asked.items():
        assert all(0 < one.least <= found.choices[place].cycles[one.name] for one in candidates)


def test_what_measuring_takes_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of gradients of three channels by tiles of 64 all instructions; equal launches once, and a part of a grid."""
    first = layer("first", "convolution", filters=64, kernel=3, padding=1)
    network = {**NETWORK, "input": [3, 16, 16], "layers": [first, *NETWORK["layers"][-2:]]}
    asked: dict[Any, Any] = {}
    monkeypatch.setattr(choice, "choose_all", partial(_keep, asked))
    monkeypatch.setattr(choice, "MOST_EFFORT", 3e5)
    small = GPU.model_copy(update={"shader_arrays": 1, "cus_per_array": 1})
    run_job(network, {"gpu": small, "convolution": AUTO}, batch=16, train=True)
    by_name = {one.name: one for one in asked["first", Pass.BACKWARD_WEIGHTS]}
    assert [name for name, one in by_name.items() if one.measurable] == ["im2col"]  # one product of 16 equal ones
    assert by_name["padding_free"].least > 4 * by_name["implicit"].least
    assert all(one.measurable for one in asked["first", Pass.FORWARD])


def test_an_algorithm_of_many_products_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    depthwise = layer("depthwise", "convolution", filters=8, kernel=3, padding=1, groups=8)
    network = {**NETWORK, "layers": [depthwise, *NETWORK["layers"]]}
    asked: dict[Any, Any] = {}
    monkeypatch.setattr(choice, "choose_all", partial(_keep, asked))
    monkeypatch.setattr(choice, "MOST_PRODUCTS", 15)  # two images of eight groups have 16
    run_job(network, {"gpu": GPU, "convolution": AUTO}, batch=2, train=True)
    names = {place: {one.name for one in candidates} for place, candidates in asked.items()}
    assert "im2col" not in names["depthwise", Pass.FORWARD] and "im2col_chunked" in names["depthwise", Pass.FORWARD]
    assert "im2col" in names["square", Pass.FORWARD]

    made: list[int] = []

    def launches(self: Im2colForward, *how: Any) -> Any:
        made.append(self.convolution.groups)
        return of_all(self, *how)

    of_all = Im2colForward.launches
    monkeypatch.setattr(Im2colForward, "launches", launches)
    settings = NetworkSettings(gpu=GPU, convolution=AUTO)
    estimate(load_network(network), settings, batch=2, train=False)
    assert set(made) == {1}, "an estimate looks at what a run measures"


def test_operators_have_no_limit_of_a_user_s_kernels(monkeypatch: pytest.MonkeyPatch, few: None, found: Ran) -> None:
    """All wavefronts of a gradient's product may take minutes to the first one's end: that is no endless loop."""
    monkeypatch.setattr(LaunchCommand.__new__, "__defaults__", (None, 1, None, None, None))
    (one,) = record_of(layers="square", train=False).choices.values()
    assert one == found.choices["square", Pass.FORWARD]
    assert measure_cycles("sgemm_4x4", GemmShape(8, 8, 8), GPU)


def test_it_is_said(found: Ran) -> None:
    tree = found.tree
    chosen = {(row["name"], row["pass"]): row for row in tree["rows"] if "choice" in row}
    assert list(chosen) == [(layer, str(what)) for layer, what in found.choices]
    for row in chosen.values():
        held = row["choice"]
        assert (
            held["kernel"] == min(held["cycles"], key=held["cycles"].get) and f"({held['kernel']})" in row["operator"]
        )
        assert held["cycles"][held["kernel"]] == row["cycles"]
    assert {place: row["choice"] for place, row in chosen.items()} == {
        (layer, str(what)): asdict(one) for (layer, what), one in found.choices.items()
    }
    measured = {"implicit": 100, "im2col": 250, "winograd_2x2": 300}
    text = "implicit by measurement; im2col 2.50 ×, winograd_2x2 3.00 ×, direct at least 4.00 ×, x not measured"
    assert choice_text({"kernel": "implicit", "cycles": measured, "at_least": {"direct": 400, "x": 99}}) == text
    head, *said = views_of(read(tree)).remarks()
    assert head == "convolution by the fastest algorithm, and how many times as long others take:"
    assert len(said) == len(chosen) and said[0].startswith(f"square forward: {one_of(chosen).get('kernel')} by ")
    assert all(f"{line}\n" in piped(tree) and f"- {line}\n" in as_markdown(tree) for line in [head, *said])


def one_of(chosen: dict[Any, Any]) -> dict[str, Any]:
    """The first row's choice."""
    choice: dict[str, Any] = next(iter(chosen.values()))["choice"]
    return choice


def test_nothing_is_said_where_nothing_was_chosen() -> None:
    assert views_of(read(record_of("implicit", layers="square", train=False).tree)).remarks() == []


def test_an_algorithm_that_does_not_fit_the_memory_is_left_out() -> None:
    small = GPU.model_copy(update={"memory_mib": 5})
    found = record_of(gpu=small, layers="square", train=False, batch=128)
    (one,) = found.choices.values()
    assert "implicit" in one.cycles and "winograd_2x2" not in one.cycles


def test_a_script_may_say_auto(few: None) -> None:
    result = gpusim.run_network(NETWORK, layers="wide", sets={"convolution": "auto"}, quiet=True)
    assert result["rows"][0]["choice"]["kernel"] in DENSE_ALGORITHMS
