"""Is a figure old exactly where what it depends on has changed, and no equivalence declares the change to be none?"""

import json
from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.lab.versions.age import FigureAge, compare_version, describe_ages
from gpusim.lab.versions.equivalence import FILE, Equivalence, carry_forward, load_equivalences, save_equivalences
from gpusim.lab.versions.model import ANY_RUN, PARTS, RUN, SOURCES, UNRECORDED, FigureVersion, present_model
from gpusim.lab.versions.recorded import encode_models, encode_version, parse_models, parse_version

MODEL = dict.fromkeys(PARTS, "1" * 8)
WITHOUT_ENGINE = FigureVersion(MODEL, RUN, {"kernels": "k1", "configuration": "c1"})
LEGACY = FigureVersion({SOURCES: "59d56d8c7334f4fc"})


def equivalence(older: dict[str, str], newer: dict[str, str], *recordings: str) -> Equivalence:
    return Equivalence(
        recordings=recordings, older=older, newer=newer, drawn=2, points=20, seed=1, date="2026-11-29", why="renamed"
    )


@pytest.mark.parametrize(
    ("now", "changed"),
    [
        ({}, ()),
        ({"core": "2"}, ("core",)),
        ({"spartan": "2", "sampling": "2", "microbench": "2"}, ()),
        ({"kernels": "k1", "configuration": "c1"}, ()),
        ({"kernels": "k2", "memory": "2"}, ("memory", "kernels")),
        ({"configuration": "c2"}, ("configuration",)),
    ],
)
def test_a_figure_is_old_where_what_it_depends_on_has_changed(now: dict[str, str], changed: tuple[str, ...]) -> None:
    age = compare_version(WITHOUT_ENGINE, "spartan", {**MODEL, **now})
    assert age == FigureAge(WITHOUT_ENGINE.name, changed) and age.is_current == (not changed)


@pytest.mark.parametrize("version", [UNRECORDED, LEGACY])
def test_a_figure_from_before_there_were_versions_is_old(version: FigureVersion) -> None:
    assert compare_version(version, "bcm", MODEL) == FigureAge("", None)


def test_a_part_that_a_figure_would_depend_on_and_does_not_have_makes_it_old() -> None:
    model = {part: value for part, value in MODEL.items() if part != "metrics"}
    assert compare_version(FigureVersion(model, RUN), "bcm", MODEL).changed == ("metrics",)


def test_an_equivalence_carries_the_points_of_its_recordings_forward() -> None:
    rows = [
        equivalence({"core": MODEL["core"]}, {"core": "2"}, "spartan"),
        equivalence({"core": "2"}, {"core": "3"}, "spartan", "bcm"),
    ]
    now = {**MODEL, "core": "3"}
    assert compare_version(WITHOUT_ENGINE, "spartan", now, rows).is_current
    assert not compare_version(WITHOUT_ENGINE, "bcm", now, rows).is_current
    assert not compare_version(WITHOUT_ENGINE, "spartan", now, rows[::-1]).is_current, "in order of time"


def test_an_equivalence_gives_points_without_a_version_one() -> None:
    rows = [equivalence({SOURCES: LEGACY.model[SOURCES]}, MODEL, "spartan")]
    assert compare_version(LEGACY, "spartan", MODEL, rows).is_current
    assert compare_version(LEGACY, "spartan", {**MODEL, "spartan": "2"}, rows).changed == ("spartan",)
    assert carry_forward({SOURCES: "other"}, "spartan", rows) == {SOURCES: "other"}


def test_equivalences_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = (equivalence({"core": "1"}, {"core": "2"}, "spartan"), equivalence({"isa": "1"}, {"isa": "2"}, "a", "b"))
    assert load_equivalences(tmp_path) == ()
    save_equivalences(tmp_path, rows)
    assert load_equivalences(tmp_path) == rows


@pytest.mark.parametrize("without", ["why", "older", "recordings", "drawn"])
def test_an_equivalence_without_a_proof_is_refused(tmp_path: Path, without: str) -> None:
    save_equivalences(tmp_path, [equivalence({"core": "1"}, {"core": "2"}, "spartan")])
    row = json.loads((tmp_path / FILE).read_text(encoding="utf-8"))[0]
    row[without] = type(row[without])()
    (tmp_path / FILE).write_text(json.dumps([row]), encoding="utf-8")
    with pytest.raises(UserError, match=f"{FILE}: 0: .*points drawn"):
        load_equivalences(tmp_path)


def test_versions_are_read_as_they_were_written() -> None:
    versions = [WITHOUT_ENGINE, FigureVersion({**MODEL, "isa": "2"}, ANY_RUN), LEGACY, UNRECORDED]
    models = parse_models(json.loads(json.dumps(encode_models(versions))))
    assert len(models) == 2
    assert [parse_version(json.loads(json.dumps(encode_version(one))), models) for one in versions] == versions
    assert parse_version(None, {}, "59d56d8c7334f4fc") == LEGACY


def test_a_model_that_is_not_what_its_name_says_is_refused() -> None:
    with pytest.raises(UserError, match="model 12345678: its parts are those of "):
        parse_models({"12345678": MODEL})
    with pytest.raises(UserError, match="is not among the file's models"):
        parse_version(encode_version(WITHOUT_ENGINE), {})


def test_a_sentence_counts_what_is_old_by_model_and_by_part() -> None:
    ages = [FigureAge("a", ()), FigureAge("b", ("core",)), FigureAge("", None), FigureAge("b", ("isa",))]
    assert describe_ages(ages, "runs", "a") == (
        "**Older than the present model, a: 3 of 4 runs.** Made by model b (2), a model whose version was not recorded "
        "(1); changed since: isa, core."
    )
    assert describe_ages(ages[:1], "rows", "a") == "All 1 rows are of the present model, a."
    assert [age.mark for age in ages] == ["today's", "b", "not recorded", "b"]


def test_the_present_model_has_all_parts() -> None:
    model = present_model()
    assert list(model) == list(PARTS) and len(set(model.values())) == len(PARTS)
