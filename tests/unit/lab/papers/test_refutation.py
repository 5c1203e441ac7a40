"""Are claims that no run can refute found, in the shipped publications and in one that has some?"""

from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.config.files import shipped
from gpusim.lab.papers import refutation
from gpusim.lab.papers.claims import judge_all
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import ReproductionResults, load
from gpusim.lab.papers.refutation import change_results, check_claims, find_irrefutable
from gpusim.lab.papers.specs.reproduction import FOLDER
from tests.support.daily import parametrize_daily
from tests.support.network_reproduction import GAIN, loaded, network, results_of

STORED = Path(__file__).resolve().parents[4] / "results"
NAMES = [name.removesuffix(".yaml") for name in shipped(FOLDER)]
LARGE = {"bcm", "icpe2018", "matrix-cores", "spartan", "training-phase"}  # the others have their kinds of claims
SAME_LAUNCHES = GAIN.replace("kind: layer_ratios", "kind: layer_ratios\ngpus: [1]\nways: [plain, lowered]")
SAME_LAUNCHES = SAME_LAUNCHES.replace("label: gpu", "label: way").replace("the second GPU is faster", "no difference")
CLOSE = "value: {value: 1, tolerance: 0.5, basis: assumed}"


def publication(name: str) -> Publication:
    return Publication(load_reproduction(name), load(STORED / name, name))


@parametrize_daily("name", NAMES, [number for number, name in enumerate(NAMES) if name not in LARGE])
def test_no_shipped_claim_is_beyond_refutation(name: str) -> None:
    shipped_one = publication(name)
    check = check_claims(shipped_one)
    assert [f"{one.figure}: {one.claim.text}" for one in check.irrefutable] == []
    for one in check.undecided:
        assert any(verdict.openings for verdict in one.judging.values()), one.claim.text


@pytest.mark.nightly  # tests below find claims of their own that no result refutes
def test_what_is_marked_as_a_definition_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without their marks the definitions of a publication are beyond refutation, and nothing else is."""
    monkeypatch.setattr(refutation, "TRIES", 8)
    shipped_one = publication("training-phase")
    figures = {
        name: figure.model_copy(
            update={"claims": tuple(claim.model_copy(update={"definition": ""}) for claim in figure.claims)}
        )
        for name, figure in shipped_one.figures.items()
        if name in ("4", "7", "7-layers", "15", "table-4")
    }
    other = Publication(replace(shipped_one.reproduction, figures=figures), shipped_one.results)
    found = {(one.figure, one.claim.text) for one in find_irrefutable(other, judge_all(other))}
    marked = {(name, claim.text) for name in figures for claim in shipped_one.figures[name].claims if claim.definition}
    failing = {("4", "reading from one disk takes 5.4 times as long as from the array")}
    failing |= {("table-4", "equation 9 gives the printed grids")}
    assert marked - failing <= found, "what fails already is refuted"


def judged_names(found: ReproductionResults, folder: Path, rule: str) -> list[str]:
    figures = {"gain": SAME_LAUNCHES.replace("bound: {above: 1}", rule).replace("each", "mean of ratios")}
    one = Publication(loaded(folder, **figures), found)
    return [judged.claim.text for judged in find_irrefutable(one, judge_all(one))]


def test_two_ways_of_the_same_launches_refute_nothing(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path, gain=SAME_LAUNCHES)
    same = results_of(reproduction, lambda point: network(10.0, 1.0))
    apart = results_of(reproduction, lambda point: network(10.0 + (point.way == "lowered"), 1.1))
    assert judged_names(same, tmp_path, CLOSE) == ["no difference"]
    assert judged_names(apart, tmp_path, CLOSE) == []


def test_other_results_are_the_same_in_every_process_and_equal_where_runs_are() -> None:
    results = load(STORED / "layerwise", "layerwise")
    first, again, other = (change_results(results, seed) for seed in (1, 1, 2))
    assert first.networks == again.networks != other.networks
    key = next(iter(results.networks))
    before, after = (one.networks[key].rows[0].metrics for one in (results, first))
    assert before.keys() == after.keys() and before["kernel.time_us"] != after["kernel.time_us"]
    factor = after["kernel.cycles"] / before["kernel.cycles"]
    assert after["kernel.time_us"] == pytest.approx(factor * before["kernel.time_us"])
    assert all(0 < value <= 1 for path, value in after.items() if path.endswith("hit_rate"))
