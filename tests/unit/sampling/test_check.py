"""Does the comparison of sampled with whole launches say what it found? (The whole suite needs a large host.)"""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpusim.base.errors import UserError
from gpusim.lab.checks.sampling.cases import CASES, FEW, GPUS, find_main_launch, product, select_cases
from gpusim.lab.checks.sampling.measure import SamplingCaseResult, one_line, policy, read_outcomes, renewed
from gpusim.lab.checks.sampling.views import MANY_WAVES, document, lines, markdown, picture, summary
from gpusim.lab.cli.check_sampling import check_sampling
from gpusim.lab.versions.model import present_version
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.report.document import as_json


def outcome(name: str, error: float, half_width: float, fraction: float, rounds: float = 100) -> SamplingCaseResult:
    covered = abs(error) <= half_width
    return SamplingCaseResult(
        name, "kind", "what", rounds, 1000, error, half_width, covered, 10, 9, fraction, 2.0, 0.5, "windows", "why"
    )


SOME = (
    outcome("a", 0.01, 0.02, 0.1),
    outcome("b", -0.03, 0.02, 0.05),
    outcome("c", 0.02, 0.02, 0.5, rounds=20),
    outcome("exact", 0.0, 0.0, 1.0),
)


def test_the_figures_are_of_what_was_sampled() -> None:
    found = summary(SOME)
    assert (found.cases, found.sampled) == (4, 3)
    assert found.mean_error == pytest.approx(0.02) and found.bias == pytest.approx(0)
    assert found.largest_error == pytest.approx(0.03) and found.coverage == pytest.approx(2 / 3)
    assert found.metrics_coverage == pytest.approx(0.9)
    assert found.speed_up == pytest.approx(10) and found.largest_speed_up == pytest.approx(20)
    assert summary(()).sampled == 0


def test_the_saving_is_the_median_of_launches_of_many_rounds() -> None:
    many = [outcome(str(k), 0, 0.1, 1 / k, rounds) for k, rounds in ((2, MANY_WAVES), (4, 31), (8, 400), (16, 30.5))]
    few = outcome("few", 0, 0.1, 1 / 64, MANY_WAVES - 1)
    assert summary([*many, few]).speed_up == 6, "with as many above as below: between the two in the middle"
    assert summary([*many[:3], few]).speed_up == 4 and summary([*many, few]).largest_speed_up == 64
    assert summary([few]).speed_up == 1


def test_of_launches_that_all_ran_whole_no_share_is_said() -> None:
    assert lines(summary((SOME[3], SOME[3]))) == ["none of 2 launches was sampled: all ran whole"]
    assert lines(summary(SOME))[0] == "4 launches, 3 of them sampled, the others whole"


def test_tables_and_picture_have_every_case() -> None:
    table = markdown(SOME)
    assert all(f"| {one.name} |" in table for one in SOME) and table.count("**no**") == 1
    assert (
        "| 15 to 30 | 1 | 1/2.0 | 1/3.6 | 1/4.0 |" in table and "| 60 to 150 | 3 | 1/10.0 | 1/18.2 | 1/4.0 |" in table
    )
    assert "NOT within" in one_line(SOME[1]) and "NOT" not in one_line(SOME[0])
    said = document(SOME, SamplingSpec())
    assert [case["name"] for case in said["cases"]] == ["a", "b", "c", "exact"] and said["summary"]["sampled"] == 3
    drawn = picture(SOME)
    svg = drawn.file(".svg")
    assert b"truth within the bar (2)" in svg and b"not within (1)" in svg
    assert [row[0] for row in drawn.rows] == ["a", "b", "c"]


def test_launches_whose_work_differs_have_figures_of_their_own() -> None:
    uneven = replace(outcome("u", 0.3, 0.02, 0.1), kind="uneven")
    alike, differing = markdown((*SOME, uneven)).split("## Work that differs along the grid\n")
    assert "largest 3.00 %" in alike and "largest 30.00 %" in differing and "| u | uneven: what |" in differing


def test_the_suite_has_what_it_should() -> None:
    assert len(CASES) >= 40
    kinds = {case.kind for case in CASES.values()}
    assert kinds >= {
        *("dense product", "sparse, engine", "sparse, software", "im2col"),
        *("element-wise", "pooling", "reduction", "transpose", "irregular", "uneven", FEW),
    }
    assert all(any(name.startswith(gpu) for name in CASES) for gpu in GPUS)
    depths = [
        int(case.what.split(" x ")[2].split(",")[0])
        for case in CASES.values()
        if case.kind != FEW and " x " in case.what
    ]
    assert min(depths) == 64 and max(depths) == 4608
    assert [case.name for case in select_cases(["mi6 relu"])] == ["mi6 relu"]
    with pytest.raises(UserError, match="--only mi7"):
        select_cases(["mi7"])


def test_cases_that_are_not_measured_again_stay_and_say_by_which_version(tmp_path: Path) -> None:
    names = ("mi6 relu", "mi6 add", "r9nano relu")
    before = [replace(outcome(name, 0.0, 0.01, 0.1), policy="old") for name in names]
    again = replace(before[0], error=0.005, policy="new")
    suite = renewed(before, [again])
    assert [one.name for one in suite] == [name for name in CASES if name in names]
    assert suite[0] == again and {one.policy for one in suite[1:]} == {"old"}
    table = markdown(suite)
    assert "Version new of sampling:\n\n- 1 launches" in table and "Version old of sampling:\n\n- 2 launches" in table
    assert "| mi6 relu | kind: what | 100.0 | +0.50 % | 1.00 % | yes | 10.0 % | why | new |" in table
    assert "ersion" not in markdown(before)
    (tmp_path / "suite.json").write_text(as_json(document(suite, SamplingSpec())))
    assert read_outcomes(tmp_path / "suite.json") == suite
    assert len(policy()) == 16


def test_a_file_that_is_no_result_cannot_be_updated(tmp_path: Path) -> None:
    for name, text, said in (
        ("a.json", "{}", "cases: is required but missing; this version's check-sampling --json writes it"),
        ("b.json", "x", "is no JSON: .*: line 1 column 1"),
        ("c.json", None, "cannot be read: No such file"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(UserError, match=f"{name}: {said}"):
            check_sampling(only=["mi6 relu"], jobs=1, markdown=True, quiet=True, update=tmp_path / name)


def test_the_launch_that_multiplies_is_measured_where_parts_are_added_up() -> None:
    chosen = product("mi6", 64, 64, 4096)
    assert chosen.launch.kernel.name.startswith("sgemm") and chosen.before == ()
    launches = [SimpleNamespace(kernel=SimpleNamespace(name=name)) for name in ("transpose", "sgemm_nn", "sum_parts")]
    assert find_main_launch(launches) == 1  # type: ignore[arg-type]
    assert find_main_launch(launches[:2]) == 1  # type: ignore[arg-type]


def test_versions_of_cases_are_read_as_they_were_written(tmp_path: Path) -> None:
    made = [replace(one, version=present_version(sampled=True)) for one in SOME[:2]]
    outcomes = [*made, SOME[2]]
    (tmp_path / "suite.json").write_text(as_json(document(outcomes, SamplingSpec())))
    assert read_outcomes(tmp_path / "suite.json") == outcomes
