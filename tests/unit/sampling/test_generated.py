"""Does the generated suite go on where it stopped, say what it costs, and count errors in half-widths?"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter
from gpusim.lab.checks.sampling import generated_suite
from gpusim.lab.checks.sampling.case import SamplingCase
from gpusim.lab.checks.sampling.generated import generated_cases, scale_of
from gpusim.lab.checks.sampling.generated_suite import (
    expected_seconds,
    measure_generated,
    pending_cases,
    row_name,
    stored_rows,
)
from gpusim.lab.checks.sampling.generated_views import (
    distribution,
    generated_lines,
    generated_markdown,
    simulated_by_error,
)
from gpusim.lab.checks.sampling.measure import SamplingCaseResult
from gpusim.lab.cli.check_sampling import Suite, check_sampling
from gpusim.lab.versions.model import FigureVersion, present_version
from gpusim.model.sampling.spec import SamplingSpec

SEED, COUNT = 7, 27
SPECS = [SamplingSpec(error=error) for error in (0.005, 0.03)]
Record = Callable[[list[SamplingCaseResult]], None]


def result(case: SamplingCase, asked: float, error: float = 0.0, half_width: float = 0.01) -> SamplingCaseResult:
    return SamplingCaseResult(
        name=case.name, kind=case.kind, what=case.what, rounds=30.0, cycles=1000, error=error, half_width=half_width,
        covered=abs(error) <= half_width, metrics=1, metrics_covered=1, fraction=0.5, whole_s=1.0, sampled_s=0.5,
        method="windows", reason="why", policy="present", version=present_version(engine=True, sampled=True),
        asked=asked, seed=case.seed,
    )  # fmt: skip


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of launches that were measured; five at a time are, then the measurement is stopped."""
    names: list[str] = []

    def measure(cases: Sequence[SamplingCase], specs: Sequence[SamplingSpec], *others: object) -> None:
        record: Record = others[-1]  # type: ignore[assignment]
        for case in cases[:5]:
            names.append(case.name)
            record([result(case, spec.error) for spec in specs])

    monkeypatch.setattr(generated_suite, "measure", measure)
    return names


def measured(path: Path, cases: Sequence[SamplingCase]) -> list[SamplingCaseResult]:
    return measure_generated(cases, SPECS, 1, Reporter(quiet=True), lambda: False, path)


def test_a_stopped_measurement_goes_on_and_older_rows_are_renewed(tmp_path: Path, asked: list[str]) -> None:
    path, cases = tmp_path / "rows.json", generated_cases(SEED, COUNT)
    assert len(measured(path, cases)) == 10
    rows = measured(path, cases)
    assert len(rows) == 20 and asked == [case.name for case in cases[:10]]
    assert stored_rows(path) == rows and rows[0].name == row_name(cases[0].name, SPECS[0])
    assert pending_cases(cases, SPECS, rows) == cases[10:]
    assert pending_cases(cases, [*SPECS, SamplingSpec(error=0.01)], rows) == cases, "another error is another row"
    other = [replace(rows[0], version=FigureVersion({"isa": "older"})), *rows[1:]]
    assert pending_cases(cases, SPECS, other) == [cases[0], *cases[10:]], "by another model"
    other = [replace(rows[0], what="of another grammar"), *rows[1:]]
    assert pending_cases(cases, SPECS, other) == [cases[0], *cases[10:]]


def test_a_file_has_rows_of_several_seeds(tmp_path: Path, asked: list[str]) -> None:
    path = tmp_path / "rows.json"
    measured(path, generated_cases(SEED, COUNT))
    rows = measured(path, generated_cases(SEED + 1, COUNT))
    assert {row.seed for row in rows} == {SEED, SEED + 1} and len(rows) == 20
    for policy in ("earlier", rows[-1].policy):  # an earlier seed stays known, also where it is measured again
        held = [replace(row, policy=policy) if row.seed == SEED else row for row in rows]
        page = generated_markdown(held)
        later, earlier = page.index(f"## Seed {SEED + 1}"), page.index(f"## Seed {SEED}\n")
        assert later < earlier, "what was measured last comes first"
        assert "before the sampling code reached its present version" in page[earlier:]
        assert "before the sampling code reached its present version" not in page[:earlier]


def test_a_scale_makes_the_same_launches_larger() -> None:
    cases, larger = generated_cases(SEED, COUNT), generated_cases(SEED, COUNT, 10)
    assert [case.kind for case in larger] == [case.kind for case in cases]
    ratios = [after.instructions / before.instructions for before, after in zip(cases, larger, strict=True)]
    assert 3 < median(ratios) <= 12
    assert not {case.name for case in cases} & {case.name for case in larger}
    assert {scale_of(case.name) for case in larger} == {10} and {scale_of(case.name) for case in cases} == {1}
    rows = [result(case, 0.01, 0.0) for case in cases]
    assert not any("instructions" in str(row[0]) for row in distribution(rows).rows), "all are of one size"
    both = distribution([*rows, result(larger[0], 0.01, 0.0)]).rows
    assert [(row[0], row[1]) for row in both if "instructions" in str(row[0])] == [
        ("2,000,000 instructions and more", 1),
        ("200,000 instructions and more", COUNT),
    ]


def test_errors_are_counted_in_half_widths() -> None:
    cases = generated_cases(SEED, COUNT)
    errors = (0.0, 0.004, -0.005, 0.0099, 0.01, -0.011, 0.025, 0.031, 0.3)
    rows = [result(case, 0.01, error) for case, error in zip(cases, errors, strict=False)]
    rows.append(replace(rows[0], name="whole", method="whole", half_width=0.0, fraction=1.0))
    table = distribution(rows)
    head = [column.head for column in table.columns]
    counts = dict(zip(head, table.rows[0], strict=True))
    assert [counts[name] for name in ("0 to 0.5", "0.5 to 1", "1 to 2", "2 to 3", "beyond 3")] == [3, 2, 1, 1, 2]
    assert counts["launches"] == 10 and counts["whole"] == pytest.approx(0.1)
    assert counts["within"] == pytest.approx(5 / 9)
    kinds = {row[0] for row in table.rows}
    assert {"gather", "banks", "r9nano", "1 % requested"} <= kinds
    assert generated_lines(rows)[1].endswith("56 % of the sampled launches, 2 beyond 3 half-widths")
    page = generated_markdown(rows)
    assert cases[8].name in page and cases[5].name not in page, "only what is far out is listed"


def test_simulated_shares_are_means_by_kind_and_requested_error() -> None:
    case = generated_cases(SEED, COUNT)[0]
    shares = {0.01: (0.2, 0.4), 0.03: (0.1, 1.0)}
    rows = [
        replace(result(case, error, 0.0), name=f"{launch}, {error}", kind=kind, fraction=share)
        for error, both in shares.items()
        for launch, kind, share in zip(("one", "other"), ("gather", "banks"), both, strict=True)
    ]
    assert simulated_by_error(rows).rows == [
        ["all", 2, pytest.approx(0.3), pytest.approx(0.55)],
        ["banks", 1, 0.4, 1.0],
        ["gather", 1, 0.2, 0.1],
    ]
    (without,) = (row for row in simulated_by_error(rows[:3]).rows if row[0] == "banks")
    assert without == ["banks", 1, 0.4, None]


def test_what_it_costs_is_said_before(capsys: pytest.CaptureFixture[str]) -> None:
    cases = generated_cases(SEED, COUNT)
    assert expected_seconds(cases, 3) > expected_seconds(cases, 1) > 0
    assert check_sampling(Suite.GENERATED, seed=SEED, launches=COUNT, list_=True) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == COUNT + 1
    assert printed[-1].startswith(f"{COUNT} of {COUNT} launches are to be measured: about ")


@pytest.mark.parametrize(
    ("suite", "options", "message"),
    [
        (Suite.GENERATED, {}, "--seed: is missing"),
        (Suite.GENERATED, {"seed": 1, "picture": Path("a.svg")}, "--picture: belongs to the written suite"),
        (Suite.GENERATED, {"seed": 1, "json_file": Path("-")}, "--json -: generated rows need a file"),
        (Suite.GENERATED, {"seed": 1, "only": ["mi7"]}, "--only mi7: no launch of seed 1"),
        (Suite.WRITTEN, {"seed": 1}, "--seed: belongs to the generated suite"),
        (Suite.WRITTEN, {"launches": 5}, "check-sampling generated --launches 5"),
        (Suite.WRITTEN, {"scale": 5}, "check-sampling generated --scale 5"),
        (Suite.WRITTEN, {"error": ["1%", "2%"]}, "--error: the written suite is measured for one"),
    ],
)
def test_options_that_do_not_go_together_are_refused(suite: Suite, options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_sampling(suite, **options)  # type: ignore[arg-type]
