"""Are tables, claims and files what follows from the points' results?"""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.base.table import Table
from gpusim.config.reproduction import Reproduction
from gpusim.reproduce.kept import FILE, Results, as_json, load
from gpusim.reproduce.kinds import kind_of
from gpusim.reproduce.page.quantities import filled
from gpusim.reproduce.page.writing import contents, judged
from gpusim.reproduce.points import bytes_of, does_fit
from gpusim.reproduce.values import MEASURES
from tests.support.reproduction import loaded, results_of
from workloads.monitor.training_speedup import TABLE_6_7, training_speedup
from workloads.shapes import GemmShape

CYCLES = {"best": 1000, "old": 1200, "soft": 800, "engine": 500, "theirs": 2400}


@pytest.fixture(name="reproduction")
def _reproduction(tmp_path: Path) -> Reproduction:
    return loaded(tmp_path)


def table(reproduction: Reproduction, figure: str, results: Results, name: str = "") -> Table:
    held = reproduction.figures[figure]
    return next(one for one in kind_of(held).tables(reproduction, held, results) if one.name == name)


def rows(found: Table) -> list[dict]:
    return [dict(zip([c.name for c in found.columns], row, strict=True)) for row in found.rows]


def test_speed_ups_are_over_the_one_base_beside_limit_and_own_share(reproduction: Reproduction) -> None:
    found = rows(table(reproduction, "speed", results_of(reproduction, CYCLES)))
    assert len(found) == 8
    assert found[1] == {
        "case": "one", "batch": 1, "data": "most", "best dense": 1.0, "old dense": pytest.approx(1 / 1.2),
        "software": 1.25, "engine": 2.0, "their engine": pytest.approx(1 / 2.4), "the engine's own share": 1.6,
        "limit 1/(1-s)": pytest.approx(10),
    }  # fmt: skip


def test_measures_of_the_memory_are_over_each_way_s_own_base(reproduction: Reproduction) -> None:
    (row,) = rows(table(reproduction, "cache", results_of(reproduction, CYCLES)))
    for measure, expected in (
        ("transactions", 0.5), ("hit_rate", -10.0), ("hit_rate_with_merges", -30.0), ("read_latency", 1.5),
    ):  # fmt: skip
        found = [row[f"{MEASURES[measure].title}: {whose}"] for whose in ("their way", "our way")]
        assert found == pytest.approx([expected] * 2), measure


def test_a_map_has_a_row_for_each_place(reproduction: Reproduction) -> None:
    results = results_of(reproduction, CYCLES)
    slow = replace(results.points["one 1 half soft 1 2048"], metrics={"kernel.cycles": 9000, "kernel.time_us": 9.0})
    results = replace(results, points={**results.points, "one 1 half soft 1 2048": slow})
    found = rows(table(reproduction, "place", results))
    assert [(row["arrays"], row["L2"], row["engine over software"]) for row in found] == [
        ("1", "1024", 1.6), ("2", "1024", 1.6), ("1", "2048", 18.0), ("2", "2048", 1.6),
    ]  # fmt: skip


def test_the_training_weights_layers_by_time_and_number(reproduction: Reproduction) -> None:
    results = results_of(reproduction, CYCLES)
    fast = replace(
        results.points["many 2 half engine"],
        metrics={**results.points["many 2 half engine"].metrics, "kernel.time_us": 0.25},
    )
    results = replace(results, points={**results.points, "many 2 half engine": fast})
    ours = rows(table(reproduction, "train", results))[-1]
    share = TABLE_6_7["AlexNet"].conv_share
    gains = [2.0, 8.0, 8.0, 8.0]
    assert ours["layers"] == 4 and ours["mean of the layers"] == pytest.approx(6.5)
    expected = training_speedup(share, [0.25] * 4, [[1.0]] * 4, [[gain] for gain in gains])
    assert ours["training by the equation"] == pytest.approx(expected)
    assert ours["training, if the mean held"] == pytest.approx(1 / (1 - share + share / 6.5))
    assert ours["weighted by time"] == pytest.approx(4 / sum(1 / gain for gain in gains))


def test_a_training_of_which_a_layer_is_missing_is_not_computed(reproduction: Reproduction) -> None:
    results = results_of(reproduction, CYCLES)
    held = {key: one for key, one in results.points.items() if key != "many 2 half engine"}
    found = rows(table(reproduction, "train", replace(results, points=held)))
    assert [row["whose"] for row in found] == ["published", "their way"]


def test_claims_are_judged_by_each_comparison_s_own_pair(reproduction: Reproduction) -> None:
    mean, grows, fewer = judged(reproduction, results_of(reproduction, CYCLES))
    assert (mean.verdicts["ours"].state, mean.verdicts["ours"].ours) == ("holds", "2.00× (2.00× … 2.00×)")
    assert (mean.verdicts["source"].state, mean.verdicts["source"].ours) == ("does not", "0.50× (0.50× … 0.50×)")
    assert grows.verdicts["ours"].state == "does not" and fewer.verdicts["source"].state == "holds"
    assert any("accesses hit L2: 70.0 % → 60.0 %" in text for text in mean.verdicts["ours"].reasons)


def test_nothing_known_is_said_to_be_not_run(reproduction: Reproduction) -> None:
    states = {v.state for one in judged(reproduction, Results("test", {})) for v in one.verdicts.values()}
    assert states == {"not run"}


def test_the_page_has_all_figures_and_names_what_failed(reproduction: Reproduction) -> None:
    results = replace(results_of(reproduction, CYCLES), errors={"one 1 any old": "no memory"})
    files = contents(reproduction, results, reproduction.figures)
    assert set(files) == {
        "README.md", "claims.md", "claims.csv", FILE, "speed-cycles.csv", "speed.csv",
        "cache-cycles.csv", "cache.csv", "train.csv", "place.csv",
    }  # fmt: skip
    page = files["README.md"]
    assert "- one 1 any old: no memory" in page and all(f"## {name}: " in page for name in reproduction.figures)
    assert "| speed | half | 4 | 50.0 % | 2.00× | 0.50× | 2.00× | 1.60× |" in page


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{speed | half | ours} and {speed | most | source}", "2.00× and 0.50×"),
        ("{speed|all|share}", "1.60×"),
        ("{speed | half | soft}", "1.25×"),
        ("{speed | most | limit}, {speed | most | zeros}", "10.00×, 90.0 %"),
        ("{cache | half | engine l2.hit_rate}", "60.0 %"),
        ("{cache | half | old l2.hits / l2.transactions}", "70.0 %"),
        ("{cache | half | theirs l2.read_latency_cycles}", "90"),
        ("{cache | half | engine engine.requests}", "–"),
    ],
)
def test_a_text_names_what_was_found(reproduction: Reproduction, text: str, expected: str) -> None:
    assert filled(text, reproduction, results_of(reproduction, CYCLES)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{speed | half}", "expected {FIGURE | DATA | WHAT}"),
        ("{sped | half | ours}", "unknown figure 'sped'; did you mean 'speed'"),
        ("{speed | halve | ours}", "unknown data 'halve'; did you mean 'half'"),
        ("{speed | half | our}", "unknown quantity 'our'; did you mean 'ours'"),
        ("{place | half | ours}", "unknown figure 'place'"),
    ],
)
def test_a_name_that_is_none_is_said(reproduction: Reproduction, text: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        filled(text, reproduction, Results("test", {}))


def test_results_are_read_as_they_were_written(reproduction: Reproduction, tmp_path: Path) -> None:
    results = replace(results_of(reproduction, CYCLES), errors={"x": "y"}, said={"jobs": 3})
    (tmp_path / FILE).write_text(as_json(results))
    assert load(tmp_path, "test") == results
    assert json.loads(as_json(results))["points"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("{", "is no file of results"),
        ('{"schema": 1}', "is no file of results"),
        ('{"schema": 1, "reproduction": "other"}', "has results of 'other'"),
        (
            '{"schema": 1, "reproduction": "test", "errors": {}, "run": {}, "points": {"a": {}}}',
            "is no file of results",
        ),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / FILE).write_text(text)
    with pytest.raises(UserError, match=message):
        load(tmp_path, "test")


def test_matrices_that_do_not_fit_are_named_with_their_size(tmp_path: Path) -> None:
    assert bytes_of(GemmShape(64, 10, 576)) == 4 * (576 * 80 + 10 * 576 + 10 * 64)
    from gpusim.config.reproduction import load_reproduction

    spartan = load_reproduction("spartan")
    figure = spartan.figures["6.18"]
    said = {case: does_fit(spartan, figure, case, figure.batches[0]) for case in figure.cases}  # type: ignore[attr-defined]
    assert {case for case, one in said.items() if one != "yes"} == {"conv2", "conv4"}
    assert said["conv2"].startswith("no: ") and said["conv2"].endswith("of 4.0 GiB at 64")
