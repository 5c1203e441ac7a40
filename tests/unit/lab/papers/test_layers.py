"""Are layers of networks' runs shown, measured and judged as a publication's figures say?"""

from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.lab.papers.claims import BESIDE, FAILS, HOLDS, MIXED, UNASKABLE, UNDECIDED, UNKNOWN
from gpusim.lab.papers.figures.layers import metric_paths
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.network_points import NetworkPoint, PointSelection
from gpusim.lab.papers.own import select_publication
from gpusim.lab.papers.page.answers import answer_question
from gpusim.lab.papers.plan import plan_points
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import ReproductionResults, as_json, load
from tests.support.network_reproduction import GAIN, INDEX, TIME, loaded, network, results_of, written
from tests.support.reproduction import judged, rendered
from tests.support.utilization import TABLE_4


def states(folder: Path, of: Any, **figures: str) -> list[tuple[str, str]]:
    """The verdicts on both GPUs of each claim of `time`, then of `gain`."""
    reproduction = loaded(folder, **figures)
    found = judged(reproduction, results_of(reproduction, of))
    return [(one.verdicts["mi6"].state, one.verdicts["r9nano"].state) for one in found]


def test_one_run_serves_all_figures(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    plan = plan_points(reproduction, reproduction.figures)
    assert set(plan.points) == {"net 1 mi6 plain", "net 2 mi6 plain", "net 2 r9nano plain"}
    one = plan.points["net 2 mi6 plain"]
    whole = plan_points(reproduction, reproduction.figures, exact=True).points["net 2 mi6 plain"]
    assert whole.work.identity != one.work.identity and one.seconds > 0, "what a store has changes no digit"


def test_measures_are_those_of_the_rows(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    results = results_of(reproduction, lambda point: network(30, 10, images=point.batch))
    figure: Any = reproduction.figures["time"]
    rows = figure.rows(Publication(reproduction, results))
    assert [row.name for row in rows[:4]] == ["conv1", "relu1", "relu1_d", "conv1_w"]
    share = {one.of.name: one.value for one in figure.measure("share", rows) if one.of.point.batch == 1}
    assert share == pytest.approx({"conv1": 0.25, "relu1": 10 / 120, "relu1_d": 20 / 120, "conv1_w": 0.5})
    an_image = {(one.of.point.batch, one.of.name): one.value for one in figure.measure("an_image", rows)}
    assert an_image[2, "conv1"] == 15 and an_image[1, "conv1"] == 30


def test_claims_hold_or_not_by_their_points(tmp_path: Path) -> None:
    faster = {"mi6": 2.0, "r9nano": 1.0}
    found = states(tmp_path, lambda point: network(30 * faster[point.gpu], 10, images=point.batch))
    # a figure of one GPU says nothing of the other; the ratio counts for the second: ReLU is as fast on both
    assert found == [(HOLDS, BESIDE), (HOLDS, BESIDE), (UNASKABLE, UNASKABLE), (UNASKABLE, BESIDE), (BESIDE, MIXED)]
    found = states(tmp_path, lambda point: network(5, 10 * point.batch**2))
    assert [mi6 for mi6, _ in found[:2]] == [FAILS, FAILS]


def test_nothing_follows_from_what_has_not_been_run(tmp_path: Path) -> None:
    found = states(tmp_path, lambda point: None if point.batch == 2 and point.gpu == "mi6" else network(30, 10))
    assert found[0] == (HOLDS, BESIDE), "of the batch that has been run"
    assert found[1] == (UNKNOWN, BESIDE), "a trend needs both"
    assert found[4] == (UNKNOWN, UNKNOWN), "a ratio needs both GPUs"
    reproduction = loaded(tmp_path)
    some = results_of(reproduction, lambda point: None if point.batch == 2 else network(30, 10))
    first = judged(reproduction, some)[0].verdicts["mi6"]
    assert (first.ours, first.without) == ("×3.00", ("net 2 mi6 plain",))
    page = rendered(reproduction, some).files({})["README.md"]
    assert "**holds** ×3.00 (without net 2 mi6 plain: not run)" in page
    nothing = results_of(reproduction, lambda _: None)
    assert answer_question(Publication(reproduction, nothing), judged(reproduction, nothing)) == []


def test_what_half_widths_leave_open_is_undecided(tmp_path: Path) -> None:
    wide = {"mi6": 11.0, "r9nano": 10.0}
    found = states(tmp_path, lambda point: network(wide[point.gpu], wide[point.gpu], width=2.0))
    assert found[4][1] == UNDECIDED
    found = states(tmp_path, lambda point: network(wide[point.gpu], wide[point.gpu], width=0.01))
    assert found[4][1] == HOLDS


def test_sentences_follow_from_verdicts(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    results = results_of(reproduction, lambda _: network(30, 10))
    (said,) = answer_question(Publication(reproduction, results), judged(reproduction, results))
    assert said == "The convolution does (×3.00)."
    results = results_of(reproduction, lambda _: network(1, 10))
    (said,) = answer_question(Publication(reproduction, results), judged(reproduction, results))
    assert said.startswith("ReLU does (×0.10): relu1: vector ALUs busy for 50.0 %, idle 75.0 %")


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    results = results_of(reproduction, lambda _: network(30, 10, width=0.5))
    (tmp_path / "results.json").write_text(as_json(results))
    assert load(tmp_path, "nets") == results


def test_pages_say_what_is_missing_and_what_is_not_asked(tmp_path: Path) -> None:
    reproduction, _ = select_publication(loaded(tmp_path), None, ["polaris11"], [])
    results = results_of(reproduction, lambda _: None)
    files = rendered(reproduction, results).files(reproduction.figures)
    page = files["README.md"]
    assert "Not run yet: `gpusim reproduce nets --gpu polaris11 --only time` runs it." in page
    assert "It is of 2 GPUs, of which 1 is named" in page
    assert "nothing is concluded of it: net 1 polaris11 plain, net 2 polaris11 plain" in page
    assert "time: sum of kind convolution > sum of all others" in files["time.md"]


def test_own_runs_are_chosen_or_take_the_place_of_the_publication_s(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    same, asked = select_publication(reproduction, "net", ["r9nano"], [2])
    assert same is reproduction and asked == PointSelection(frozenset({"net"}), frozenset({"r9nano"}), frozenset({2}))
    assert set(plan_points(same, same.figures, selection=asked).points) == {"net 2 r9nano plain"}
    other, asked = select_publication(reproduction, "lenet", ["r9nano", "mi6"], [4, 8])
    assert asked == PointSelection() and other.name == "nets-lenet-r9nano-mi6-4-8"
    points = [one.point for one in plan_points(other, other.figures).points.values()]
    first = [NetworkPoint("lenet", batch, "r9nano", "plain") for batch in (4, 8)]
    assert points == [*first, NetworkPoint("lenet", 8, "mi6", "plain")], "places of GPUs, the largest batch"


@pytest.mark.parametrize(
    ("network_name", "gpus", "batches", "message"),
    [
        ("lenett", [], [], "--network lenett: no such configuration file; did you mean 'lenet'"),
        (None, ["mi7"], [], "--gpu mi7: no such configuration file; did you mean 'mi6'"),
        (None, ["mi6", "mi6", "polaris11"], [], "--gpu: two are called 'mi6'"),
        (None, [], [0], "--batch 0: is not allowed; at least 1"),
        ("layerA", [], [], "layerA.yaml: is a run, not a network"),
    ],
)
def test_what_cannot_be_asked_for_is_named(
    tmp_path: Path, network_name: str | None, gpus: list[str], batches: list[int], message: str
) -> None:
    with pytest.raises(UserError) as error:
        select_publication(loaded(tmp_path), network_name, gpus, batches)
    assert message in str(error.value)


def test_a_batch_that_does_not_fit_is_refused_before_anything_runs(tmp_path: Path) -> None:
    reproduction, _ = select_publication(loaded(tmp_path), "alexnet", [], [1024])
    with pytest.raises(UserError, match=r"alexnet 1024 mi6 plain: .*gpu.memory_mib\): a batch of \d+ fits"):
        plan_points(reproduction, reproduction.figures)


@pytest.mark.parametrize(
    ("index", "figures", "message"),
    [
        (INDEX.replace("net.yaml", "nett.yaml"), {}, "nett.yaml: no such configuration file"),
        (INDEX.replace("claim: most", "claim: mostt"), {}, "answers: unknown claim 'mostt'; did you mean 'most'"),
        (INDEX.replace("[mi6, r9nano]", "[mi6, mi6]"), {}, "two are called 'mi6'"),
        (INDEX.replace("batches: [1, 2]", "batches: [0]"), {}, "batches: 0 is not allowed"),
        (INDEX + "paths: {best: {title: a, sparse: false, seconds_per_gmac: 1}}\n", {}, "one of paths"),
        (INDEX, {"time": TIME.replace("gpus: [1]", "gpus: [3]")}, "gpus: 3 is not allowed; the publication has 2"),
        (INDEX, {"gain": GAIN + "ways: [plane]\n"}, "ways: unknown way 'plane'; did you mean 'plain'"),
        (INDEX, {"gain": GAIN + "networks: [nett]\n"}, "networks: unknown network 'nett'; did you mean 'net'"),
        (
            INDEX,
            {"time": TIME.replace("kernel.time_us}", "kernel.time_ms}")},
            "unknown metric 'kernel.time_ms'; did you",
        ),
    ],
)
def test_what_is_wrong_in_a_file_is_said(tmp_path: Path, index: str, figures: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as error:
        metric_paths(loaded(tmp_path, index, **figures))
    assert message in str(error.value)


def test_figures_of_networks_need_runs(tmp_path: Path) -> None:
    index = "title: t\nsource: s\nfigures: [time]\npaths: {best: {title: a, sparse: false, seconds_per_gmac: 1}}\n"
    with pytest.raises(UserError, match="a figure of networks needs the publication's runs"):
        loaded(tmp_path, index)
    reproduction = written(tmp_path)
    assert reproduction.is_file()


def test_the_printed_table_of_grids_is_that_of_the_formulas() -> None:
    reproduction = load_reproduction("training-phase")
    figure: Any = reproduction.figures["table-4"]
    found = [(k.layer, k.library, k.result, k.tile, k.block_size, k.registers, k.grid) for k in figure.kernels]
    assert found == [astuple(row) for row in TABLE_4]
    records = figure.records(Publication(reproduction, ReproductionResults("training-phase", {})))
    first_gpu = next(iter(reproduction.columns))
    found = [one.values["utilisation"] for one in records if one.comparison == first_gpu]
    assert found == [row.utilization for row in TABLE_4]


STAGES = """
kind: stages
title: Stages
source: Figure 4
gpus: [1]
batches: [2]
training: fed.yaml
storages: [raid0-hdd4, hdd]
claims:
  - name: most
    text: an iteration takes as long as prefetching
    own: a test asks
    measure: iteration_over_prefetch
    aggregation: mean
    value: {value: 1, tolerance: 0.01, basis: assumed}
  - text: one disk is slower
    own: a test asks
    measure: prefetch_over_first
    aggregation: each
    where: {storage: hdd}
    bound: {above: 2, basis: assumed}
  - text: or as long as the computation
    own: a test asks
    measure: iteration_over_computation
    aggregation: mean
    value: {value: 1, tolerance: 0.01, basis: assumed}
"""


def test_stages_are_fed_by_the_times_of_layers(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "fed.yaml").write_text(
        "{network: ../net.yaml, batch: 1, gpu: mi6, storage: hdd, dataset: {record_kb: 1.0e+5}}"
    )
    for us, expected in ((10.0, [HOLDS, HOLDS, FAILS]), (1e8, [FAILS, HOLDS, HOLDS])):
        found = states(tmp_path, lambda point, us=us: network(us, 1), time=STAGES)
        assert [mi6 for mi6, _ in found[:3]] == expected
