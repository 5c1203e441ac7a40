"""Does a point's version follow from what decides its run, and does its page say how old it is?"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.lab.papers.ages import point_ages
from gpusim.lab.papers.plan import PlannedPoint, plan_points
from gpusim.lab.papers.publication import Publication, Reproduction
from gpusim.lab.papers.records import FILE, ReproductionResults, as_json, load
from gpusim.lab.versions.model import CONFIGURATION, KERNELS, SOURCES, FigureVersion, present_version
from tests.support.reproduction import SPEED, loaded, rendered, results_of

CYCLES = {"best": 100, "old": 200, "soft": 80, "engine": 50, "theirs": 90}
ENGINE, DENSE = "one 1 half engine", "one 1 any best"


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    return loaded(tmp_path_factory.mktemp("publication"))


@pytest.fixture(scope="module")
def made_now(reproduction: Reproduction) -> ReproductionResults:
    """Results of all points as a run would record them."""
    results, plan = results_of(reproduction, CYCLES), plan_points(reproduction, reproduction.figures)
    points = {key: replace(one, version=plan.points[key].version(["kernel"])) for key, one in results.points.items()}
    return replace(results, points=points)


def planned(reproduction: Reproduction, key: str) -> PlannedPoint:
    return plan_points(reproduction, {"speed": reproduction.figures["speed"]}).points[key]


def test_a_point_depends_on_what_it_uses(reproduction: Reproduction) -> None:
    with_engine, dense = (planned(reproduction, key).version([]) for key in (ENGINE, DENSE))
    assert with_engine.depends_on("spartan") and not dense.depends_on("spartan")
    assert dense.depends_on("sampling") and dense.depends_on("core") and not dense.depends_on("silicon")
    assert with_engine.name == dense.name == present_version().name


def test_a_default_that_is_written_out_does_not_change_a_configuration(tmp_path: Path) -> None:
    before = planned(loaded(tmp_path), ENGINE).configuration
    same = SPEED.replace("{run: layerC, sets: {", "{run: layerC, sets: {gpu.shader_arrays: 9, ")
    assert planned(loaded(tmp_path, speed=same), ENGINE).configuration == before
    other = same.replace("gpu.shader_arrays: 9", "gpu.shader_arrays: 3")
    assert planned(loaded(tmp_path, speed=other), ENGINE).configuration != before


def test_a_point_s_kernels_are_the_shipped_objects_that_have_them(reproduction: Reproduction) -> None:
    names = [[], ["sgemm_4x4"], ["sgemm_4x4", "sum_parts"], ["a library's"]]
    hashes = [planned(reproduction, DENSE).version(some).own[KERNELS] for some in names]
    assert len(set(hashes)) == 3 and hashes[0] == hashes[3]


def test_a_point_of_today_is_current_until_its_own_parts_change(
    reproduction: Reproduction, made_now: ReproductionResults
) -> None:
    results = made_now
    assert all(age.is_current for age in point_ages(Publication(reproduction, results)).values())
    version = results.points[ENGINE].version
    for part in (KERNELS, CONFIGURATION):
        changed = replace(version, own={**version.own, part: "0"})
        points = {**results.points, ENGINE: replace(results.points[ENGINE], version=changed)}
        ages = point_ages(Publication(reproduction, replace(results, points=points)))
        assert ages[ENGINE].changed == (part,)
        assert [key for key, age in ages.items() if not age.is_current] == [ENGINE]


def test_results_are_read_with_the_versions_that_they_were_written_with(
    reproduction: Reproduction, made_now: ReproductionResults, tmp_path: Path
) -> None:
    results = made_now
    legacy = FigureVersion({SOURCES: "59d56d8c7334f4fc"})
    results = replace(results, points={**results.points, DENSE: replace(results.points[DENSE], version=legacy)})
    (tmp_path / FILE).write_text(as_json(results), encoding="utf-8")
    assert load(tmp_path, results.name) == results


def test_a_file_whose_models_are_not_what_they_are_called_is_refused(
    reproduction: Reproduction, made_now: ReproductionResults, tmp_path: Path
) -> None:
    data = json.loads(as_json(made_now))
    (model,) = data["models"].values()
    model["core"] = "00000000"
    (tmp_path / FILE).write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(UserError, match=r"results.json: model .* its parts are those of"):
        load(tmp_path, "test")


def test_answers_of_old_points_say_of_which_model_they_are(
    reproduction: Reproduction, made_now: ReproductionResults
) -> None:
    results = made_now
    name = present_version().name
    page = rendered(reproduction, results).files(reproduction.figures)["README.md"]
    assert f"All {len(results.points)} runs are of the present model, {name}." in page
    assert "Older than" not in page
    old = {key: replace(one, version=FigureVersion({SOURCES: "1"})) for key, one in results.points.items()}
    files = rendered(reproduction, replace(results, points=old)).files(reproduction.figures)
    for text in (files["README.md"], files["claims.md"]):
        assert f"**Older than the present model, {name}: {len(old)} of {len(old)} runs" in text
