"""Is the shipped fit what its command writes, does its page say what it says, and is other input refused in a line?"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.config.files import opened
from gpusim.config.gpu import GPU_FOLDER
from gpusim.config.network import load_network
from gpusim.config.network_run import NetworkSettings, load_settings
from gpusim.jobs.estimates.fitted import SHIPPED, load_fitted
from gpusim.jobs.estimates.network import estimate, estimate_cost
from gpusim.jobs.estimates.views import document, error_tables, notes, table
from gpusim.jobs.networks.kept import LaunchCache
from gpusim.jobs.networks.run import NetworkRunRequest
from gpusim.lab.checks.estimates.fitting import FitPoint, known_launches
from tests.structure.imports import ROOT

pytestmark = pytest.mark.compiled_tier
FITTED = load_fitted()


def settings(*sets: str) -> NetworkSettings:
    return load_settings(opened("mi6", GPU_FOLDER), list(sets))


def test_the_shipped_file_is_whole() -> None:
    assert json.loads(SHIPPED.read_text()) == FITTED.document()
    assert set(FITTED.origin.gpus) == {"MI6", "R9 Nano"}
    assert {"alexnet", "cifarnet", "lenet", "resnet10", "resnet18", "vgg11"} <= set(FITTED.origin.networks)
    assert set(FITTED.errors.by_network) == set(FITTED.origin.networks)
    assert len(FITTED.origin.points) == FITTED.errors.iterations.number
    for error in (FITTED.errors.launches, FITTED.errors.iterations, *FITTED.errors.by_operator.values()):
        assert 0 <= error.median <= error.worst and error.mean <= error.worst and error.low <= error.high
    for network in FITTED.origin.networks:
        load_network(network)


def test_its_page_has_its_errors() -> None:
    page = (ROOT / "docs" / "explanation" / "estimates.md").read_text(encoding="utf-8")
    for one in error_tables(FITTED):
        assert one.markdown().strip() in page, (
            "gpusim fit-estimates --markdown prints what docs/explanation/estimates.md is to have"
        )


def test_an_iteration_is_the_sum_of_its_launches_and_says_what_it_is() -> None:
    found = estimate(load_network("lenet"), settings(), 4, train=True)
    cost = found.cost(rates=FITTED.rates)
    held = document(found, cost)
    assert held["estimate"] is True and len(held["launches"]) == sum(row["launches"] for row in held["layers"])
    assert held["total"]["cycles"] == pytest.approx(sum(one["cycles"] for one in held["launches"]))
    assert sum(row["share"] for row in held["layers"]) == pytest.approx(1.0)
    assert held["total"]["time_us"] - held["total"]["kernel_us"] == pytest.approx(5.0 * len(held["launches"]))
    assert all(one["cycles"] >= max(one["least"].values()) for one in held["launches"])
    assert table(found, cost).title.startswith("estimate")
    assert cost.launches == len({placed.one for placed in found.placed}) < len(found.placed)
    assert 0 < cost.sampled_s <= cost.whole_s == cost.cpu_s
    larger = estimate(load_network("lenet"), settings(), 64, train=True)
    assert larger.cycles > found.cycles
    other = estimate(load_network("lenet"), settings("gpu.name=Mine"), 1, train=False)
    assert any("Mine was not in the fit" in line for line in notes(other, cost))
    assert not any("could not be counted" in line for line in notes(other, cost))
    one = other.placed[0]
    uncounted = replace(one, asked=replace(one.asked, work=replace(one.asked.work, counted=False)))
    said = notes(replace(other, placed=(uncounted, *other.placed[1:])), cost)
    assert f"kernels whose instructions could not be counted: {one.kernel}" in said


def test_what_a_store_knows_costs_nothing(tmp_path: Path) -> None:
    network, gpu, store = load_network("lenet"), settings(), tmp_path / "s.db"
    _, whole = estimate_cost(network, gpu, NetworkRunRequest(batch=2, store=store))
    found = estimate(network, gpu, 2, train=False)
    kept = LaunchCache(store, gpu.gpu)
    from gpusim.model.core.facts import RunFacts

    kept.put(found.placed[0].one, RunFacts.of(kernel={"name": "k", "cycles": 10, "clock_ghz": 1.0}))
    kept.close()
    _, rest = estimate_cost(network, gpu, NetworkRunRequest(batch=2, store=store))
    _, alone = estimate_cost(network, gpu, NetworkRunRequest(batch=2, data="synthetic"))
    assert alone.cpu_s == alone.whole_s and whole.cpu_s == pytest.approx(whole.whole_s + whole.executed_s)
    assert (whole.known, rest.known, rest.launches) == (0, 1, whole.launches - 1)
    assert rest.instructions == whole.instructions - found.placed[0].asked.work.instructions
    assert estimate_cost(network, gpu, NetworkRunRequest(batch=2, store=store, fresh=True))[1].known == 0
    (known,) = known_launches([FitPoint(network, gpu, 2, train=False)], store)
    assert known.found == 1


def changed(**values: Any) -> str:
    return json.dumps({**FITTED.document(), **values})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is no JSON"),
        ("[]", r"\[\] is not allowed: must be a mapping .* `gpusim fit-estimates --to FILE` writes such a file"),
        (changed(format=99), "format 99"),
        (changed(correction={"constant": 0.0, "kernels": {}, "features": {"shoe size": {}}}), "another version"),
        (changed(rates={"launch_s": 1.0}), "rates.instruction_s: is required but missing"),
        (
            changed(rates={**vars(FITTED.rates), "launch_s": float("nan")}),
            "rates.launch_s: NaN and infinities are not allowed",
        ),
    ],
)
def test_another_file_is_refused_in_one_line(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(UserError, match=says) as raised:
        load_fitted(tmp_path / "f.json")
    assert "f.json" in str(raised.value) and "\n" not in str(raised.value)


def test_what_cannot_be_estimated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"a batch of \d+ fits"):
        estimate(load_network("vgg16"), settings(), 128, train=True)
    with pytest.raises(UserError, match="there is no such store"):
        known_launches([], tmp_path / "none.db")
    with pytest.raises(UserError, match=str(tmp_path)):
        load_fitted(tmp_path)
