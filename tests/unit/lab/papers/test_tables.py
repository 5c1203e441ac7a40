"""Are tables, claims and files what follows from the points' results?"""

import json
import re
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import pytest

from gpusim.base.errors import UserError
from gpusim.base.table import Table
from gpusim.lab.monitor.training_speedup import TABLE_6_7, training_speedup
from gpusim.lab.papers.figures.maps import crossing
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.page.quantities import filled
from gpusim.lab.papers.points import RunsFigure, bytes_of, does_fit
from gpusim.lab.papers.publication import Publication, Reproduction
from gpusim.lab.papers.records import FILE, ReproductionResults, as_json, load
from gpusim.lab.papers.values import MEASURES, compute_deviations, list_groups
from gpusim.lab.versions.model import FigureVersion, present_version
from gpusim.model.energy.area import ARRAY_EFFICIENCY, CELL_NM, CELL_UM2
from gpusim.model.energy.spec import EnergySpec
from tests.support import iterations
from tests.support.reproduction import INDEX, LAYER, SPEED, TRAIN, judged, loaded, made_up, rendered, results_of
from workloads.shapes import GemmShape

CYCLES = {"best": 1000, "old": 1200, "soft": 800, "engine": 500, "theirs": 2400}


@pytest.fixture(name="reproduction")
def _reproduction(tmp_path: Path) -> Reproduction:
    return loaded(tmp_path)


def table(reproduction: Reproduction, figure: str, results: ReproductionResults, name: str = "") -> Table:
    held = reproduction.figures[figure]
    return next(one for one in held.tables(Publication(reproduction, results)) if one.name == name)


def rows(found: Table) -> list[dict]:
    return [dict(zip([c.name for c in found.columns], row, strict=True)) for row in found.rows]


def test_speed_ups_are_over_the_one_base_beside_limit_and_own_share(reproduction: Reproduction) -> None:
    found = rows(table(reproduction, "speed", results_of(reproduction, CYCLES)))
    assert len(found) == 8
    assert found[1] == {
        "case": "one", "batch": 1, "data": "most", "best dense": 1.0, "old dense": pytest.approx(1 / 1.2),
        "software": 1.25, "engine": 2.0, "their engine": pytest.approx(1 / 2.4), "the engine's own share": 1.6,
        "limit 1/(1-s)": pytest.approx(10), "limit without padding": pytest.approx(10 * 49 / 81),
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
    assert ours["training, if gradients gained as much"] == pytest.approx(expected)
    forward = 1 / (1 - share + share * (2 / 3 + 1 / 3 * sum(0.25 / gain for gain in gains)))
    assert ours["training, forward passes alone"] == pytest.approx(forward) and ours["simulated"] == "no"
    assert ours["weighted by time"] == pytest.approx(4 / sum(1 / gain for gain in gains))


def test_a_simulated_iteration_gives_the_shares(tmp_path: Path) -> None:
    """Of 100 us the layers take 40 and 20, forward 10 and 4; engines are twice as fast."""
    (tmp_path / "test").mkdir()
    passes = [["one", "forward", 10.0], ["one", "backward_data", 30.0], ["many", "forward", 4.0], ["many", "b", 16.0]]
    held = {"point": "a net", "iteration_us": 100.0, "convolutions": passes}
    (tmp_path / "test" / "iteration.json").write_text(json.dumps(held))
    reproduction = loaded(tmp_path, train=TRAIN.replace("batch: 2}", "batch: 2}, iteration: iteration.json"))
    ours = rows(table(reproduction, "train", results_of(reproduction, CYCLES)))[-1]
    assert ours["the layers' part of an iteration"] == pytest.approx(0.6) and ours["simulated"] == "yes"
    assert ours["training, forward passes alone"] == pytest.approx(100 / (100 - 14 / 2))
    (tmp_path / "test" / "iteration.json").write_text(json.dumps({**held, "convolutions": passes[:2]}))
    with pytest.raises(UserError, match="a net: unknown layer 'many'"):
        table(reproduction, "train", results_of(reproduction, CYCLES))


FASTEST = INDEX.replace("comparisons:", """  either: {title: either, sparse: true, fastest_of: [soft, theirs]}
comparisons:
  either: {title: either way, path: engine, base: either}""")  # fmt: skip


def test_a_way_may_be_the_fastest_of_others(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path, FASTEST, speed=SPEED.replace("engine, theirs]", "engine, theirs, either]"))
    results = results_of(reproduction, CYCLES)
    assert not any("either" in key for key in results.points)
    assert rows(table(reproduction, "speed", results))[0]["either"] == 1.25
    slow = {key: one for key, one in results.points.items() if not key.endswith("theirs")}
    assert rows(table(reproduction, "speed", replace(results, points=slow)))[0]["either"] is None
    with pytest.raises(UserError, match=r"speed.yaml: paths: either is made of ways of which theirs is missing"):
        loaded(tmp_path, FASTEST, speed=SPEED.replace("engine, theirs]", "engine, either]"))
    with pytest.raises(UserError, match=r"paths.either.fastest_of: unknown way that is run 'sof'"):
        loaded(tmp_path, FASTEST.replace("[soft, theirs]", "[sof]"))


PART = INDEX.replace("comparisons:", """  bare: {title: bare, sparse: true, part_of: soft, leaves_out: [convert]}
comparisons:
  bare: {title: bare, path: engine, base: bare}""")  # fmt: skip


def test_a_way_may_be_a_part_of_another_s_launches(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path, PART, speed=SPEED.replace("engine, theirs]", "engine, theirs, bare]"))
    results = results_of(reproduction, CYCLES)
    assert not any("bare" in key for key in results.points)
    key = "one 1 half soft"
    both = replace(results.points[key], launches=[("convert_blocks", 600), ("product", 200)])
    found = rows(table(reproduction, "speed", replace(results, points={**results.points, key: both})))
    assert found[0]["software"] == 1.25 and found[0]["bare"] == pytest.approx(5.0)
    assert found[1]["bare"] == found[1]["software"], "nothing is left out where no kernel has such a name"
    with pytest.raises(UserError, match=r"paths.bare.part_of: unknown way that is run 'sof'"):
        loaded(tmp_path, PART.replace("part_of: soft", "part_of: sof"))
    with pytest.raises(UserError, match="part_of and leaves_out belong together"):
        loaded(tmp_path, PART.replace(", leaves_out: [convert]", ""))


BREAK_EVEN = f"""
kind: break_even
title: From where on
source: Not there
cases: {{one: {{run: layerC, sets: {{workload.layer: {LAYER}}}}}}}
batches: [1, 2]
data:
  most: {{workload.data: synthetic, workload.sparsity: 0.9}}
  half: {{workload.data: synthetic, workload.sparsity: 0.5}}
paths: [best, soft, engine]
ratios:
  - {{title: software over dense, path: soft, base: best}}
  - {{title: engine over dense, path: engine, base: best}}
claims:
  - {{text: faster, own: a test asks, aggregation: each, measure: speedup, where: {{path: soft}}, bound: {{above: 1}}}}
"""


def test_break_even_lies_between_the_points_around_it(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path, INDEX.replace("place]", "place, even]"), even=BREAK_EVEN)
    results = results_of(reproduction, CYCLES)
    slow = replace(results.points["one 1 half soft"], metrics={"kernel.time_us": 2.0, "data.zero_fraction": 0.5})
    results = replace(results, points={**results.points, "one 1 half soft": replace(slow, half_width=0.1)})
    first, second = rows(table(reproduction, "even", results))
    # 0.5 of the dense speed at 50 % zeros, 1.25 at 90 %: a line meets 1 after two thirds of the way
    assert first["software over dense: faster"] == "from 76.7 %" and second["software over dense: faster"] == "at all"
    assert len(rows(table(reproduction, "even", results, "ratios"))) == 4
    slow = rows(table(reproduction, "even", results_of(reproduction, {**CYCLES, "soft": 5000})))
    assert slow[0]["software over dense: faster"] == "at none"


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        ((2.0, 1.5, 1.2), "at all"), ((0.5, 0.9, 1.0), "at none"), ((0.5, 1.5, 2.0), "from 60.0 %"),
        ((2.0, 1.5, 0.5), "up to 80.0 %"), ((0.5, 1.5, 0.5), "at some in between"), ((), "–"),
    ],
)  # fmt: skip
def test_a_crossing_is_where_a_line_meets_one(gains: tuple[float, ...], said: str) -> None:
    assert crossing(list(zip((0.5, 0.7, 0.9), gains, strict=False))) == said


CHANGED = f"""
kind: ablation
title: Changed
source: Not there
cases: {{one: {{run: layerC, sets: {{workload.layer: {LAYER}}}}}}}
batches: [1]
data: {{half: {{workload.data: synthetic, workload.sparsity: 0.5}}}}
paths: [best, engine]
base: best
changes: {{as it is: {{}}, small: {{engine.sib_kib: 64}}, own: {{engine.l2_share: 0}}}}
claims:
  - text: small keeps the gain
    own: a test asks
    measure: gain_kept
    aggregation: each
    where: {{change: small}}
    bound: {{above: 0.95, basis: assumed}}
"""


def changed(folder: Path, index: str = "") -> tuple[Reproduction, ReproductionResults]:
    text = (index or INDEX).replace("place]", "place, changed]")
    reproduction = loaded(folder, text, changed=CHANGED)
    results = results_of(reproduction, CYCLES)
    engine = {"engine.requests": 8, "engine.accurate": 2, "engine.prudent": 0, "engine.hasty": 6, "energy.total_uj": 3}
    engine |= {"engine.prefetch_buffer_hits": 0, "engine.lines_fetched": 4, "engine.lines_wasted": 1}
    times = {"one 1 half engine": 500, "one 1 half engine small": 550, "one 1 half engine own": 450}
    ran = {
        key: replace(made_up(cycles), metrics={**results.points[key].metrics, **engine, **made_up(cycles).metrics})
        for key, cycles in times.items()
    }
    return reproduction, replace(results, points=results.points | ran)


def test_changes_of_the_engine_are_beside_it_as_it_is(tmp_path: Path) -> None:
    reproduction, results = changed(tmp_path)
    found = rows(table(reproduction, "changed", results))
    assert [row["of its time as it is"] for row in found] == pytest.approx([1.0, 1.1, 0.9])
    assert [row["of the gain"] for row in found] == pytest.approx([1.0, 1000 / 550 - 1, 1000 / 450 - 1])
    assert found[0]["accurate"] == 0.25 and found[0]["lines wasted"] == 0.25
    kept, own = (found[place]["beside L2, µm²"] for place in (0, 2))
    area = 8 * (1 << 20) * CELL_UM2 / ARRAY_EFFICIENCY * (EnergySpec().process_nm / CELL_NM) ** 2
    assert own - kept == pytest.approx(area, abs=1)
    assert [one.verdicts["ours"].state for one in judged(reproduction, results) if one.figure == "changed"] == [
        "does not"
    ]


def test_searches_of_a_changed_engine_are_shown_where_they_were_counted(tmp_path: Path) -> None:
    reproduction, results = changed(tmp_path)
    key = "one 1 half engine small"
    counted = {**results.points[key].metrics, "engine.searches_anew": 4, "roofline.search": 440.0}
    points = {**results.points, key: replace(results.points[key], metrics=counted)}
    found = rows(table(reproduction, "changed", replace(results, points=points)))
    assert [row["searches anew, a request"] for row in found] == [None, 0.5, None]
    assert [row["shifters busy"] for row in found] == [None, 0.8, None], "of 550 cycles; before it was counted: unknown"


def test_what_moves_with_nothing_that_matters_is_undecided(tmp_path: Path) -> None:
    """Three draws of the engine a tenth apart: twice as fast is still faster, another batch's equal speed is open."""
    reproduction, results = changed(tmp_path, INDEX + "spread: [changed]\n")
    grows = next(one for one in judged(reproduction, results) if one.claim.text == "grows with the batch")
    assert grows.verdicts["ours"].state == "undecided" and grows.verdicts["source"].state == "does not"
    (opening,) = grows.verdicts["ours"].openings[:1]
    assert opening.startswith("one 2 half engine best > one 1 half engine best: a half-width below")
    small = next(one for one in judged(reproduction, results) if one.figure == "changed")
    assert small.verdicts["ours"].state == "undecided", "0.82 of the gain, of times that move by a tenth"
    as_it_is = results.points["one 1 half engine"]
    same = {**results.points, "one 1 half engine small": as_it_is}
    held = next(one for one in judged(reproduction, replace(results, points=same)) if one.figure == "changed")
    assert held.verdicts["ours"].state == "holds", "a change that changes no launch leaves nothing open"
    with pytest.raises(UserError, match="spread: unknown figure of changes 'speed'"):
        changed(tmp_path, INDEX + "spread: [speed]\n")


def test_each_measure_moves_by_itself(tmp_path: Path) -> None:
    made_of = "  better: {title: better, sparse: true, fastest_of: [engine, soft]}\ncomparisons:"
    index = INDEX.replace("comparisons:", made_of) + "spread: [changed]\n"
    reproduction, results = changed(tmp_path, index)
    key = "one 1 half engine small"
    metrics = {**results.points[key].metrics, "l2.hit_rate": 0.55, "l2.read_latency_cycles": 100.0, "l2.hits": 55,
               "l2.mshr_merges": 0, "l2.transactions": 100}  # fmt: skip
    some = {**results.points, key: replace(results.points[key], metrics=metrics)}
    first = "one 1 half engine"
    some[first] = replace(
        some[first], metrics={**metrics, "l2.hit_rate": 0.6, "l2.read_latency_cycles": 80.0, **made_up(500).metrics}
    )
    publication = Publication(reproduction, replace(results, points=some))
    moved = compute_deviations(publication)
    t = 4.303  # Student's, 95 % of two degrees of freedom
    assert moved["engine", "hit_rate"] == pytest.approx(t * stdev([0.0, -5.0, 0.0]), rel=1e-3), "points"
    assert moved["engine", "read_latency"] == pytest.approx(t * stdev([1.0, 1.25, 1.125]), rel=1e-3)
    assert moved["engine", "transactions"] == 0
    assert moved["engine", "speedup"] == pytest.approx(t * stdev([1.0, 500 / 550, 500 / 450]), rel=1e-3)
    assert moved["better", "hit_rate"] == moved["engine", "hit_rate"], "made of it and of one that does not move"
    _check_estimates(publication)


def test_ensembles_of_several_figures_are_pooled(tmp_path: Path) -> None:
    """The second batch has an ensemble of its own, three times as wide, in another figure."""
    text = (INDEX + "spread: [changed, more]\n").replace("place]", "place, changed, more]")
    more = CHANGED.replace("batches: [1]", "batches: [2]")
    reproduction = loaded(tmp_path, text, changed=CHANGED, more=more)
    results = results_of(reproduction, CYCLES)
    times = {1: (500, 550, 450), 2: (500, 650, 350)}
    names = ("", " small", " own")
    ran = {
        f"one {batch} half engine{name}": replace(
            made_up(one), metrics={**results.points[f"one {batch} half engine"].metrics, **made_up(one).metrics}
        )
        for batch in times
        for name, one in zip(names, times[batch], strict=True)
    }
    publication = Publication(reproduction, replace(results, points=results.points | ran))
    figure = publication.figures["speed"]
    assert isinstance(figure, RunsFigure)
    groups = {(one.case, one.batch, one.data): one for one in list_groups(publication, figure)}
    for batch, cycles in times.items():
        drawn = [1000 * batch / one for one in cycles]  # the dense way takes as long as the batch is large
        found = groups["one", batch, "half"].estimate("speedup", "engine", "best")
        assert found == pytest.approx((fmean(drawn), 4.303 * stdev(drawn) / 3**0.5), rel=1e-3)
    spreads = [stdev([500 / one for one in cycles]) for cycles in times.values()]
    pooled = (fmean(one**2 for one in spreads)) ** 0.5
    assert compute_deviations(publication)["engine", "speedup"] == pytest.approx(2.776 * pooled, rel=1e-3)


def _check_estimates(publication: Publication) -> None:
    """The place whose ensemble was run has its mean and interval; another one a single run and what one may move."""
    figure = publication.figures["speed"]
    assert isinstance(figure, RunsFigure)
    groups = {(one.case, one.batch, one.data): one for one in list_groups(publication, figure)}
    drawn = [1000 / cycles for cycles in (500, 550, 450)]
    value, width = groups["one", 1, "half"].estimate("speedup", "engine", "best") or (0.0, 0.0)
    assert (value, width) == pytest.approx((fmean(drawn), 4.303 * stdev(drawn) / 3**0.5), rel=1e-3)
    other, wide = groups["one", 2, "half"].estimate("speedup", "engine", "best") or (0.0, 0.0)
    assert (other, wide) == pytest.approx((2.0, 2 * 4.303 * stdev([1.0, 500 / 550, 500 / 450])), rel=1e-3)


VGG16 = [f"conv{group}_{n}" for group, layers in enumerate((2, 2, 3, 3, 3), 1) for n in range(1, layers + 1)]
# the layers of figure 6.18 by the network's own names: conv1 to conv13, those of equal shape together
TOGETHER = {
    6: "conv6, 7",
    7: "conv6, 7",
    9: "conv9, 10",
    10: "conv9, 10",
    **dict.fromkeys((11, 12, 13), "conv11 to 13"),
}


@pytest.mark.parametrize(
    ("file", "publication", "names"),
    [
        ("iteration-alexnet", "icpe2018", {}),
        ("iteration-vgg16", "layerwise", {name: TOGETHER.get(n, f"conv{n}") for n, name in enumerate(VGG16, 1)}),
    ],
)
def test_the_shipped_iterations_are_those_of_their_publications(
    file: str, publication: str, names: dict[str, str]
) -> None:
    root = Path(__file__).resolve().parents[4]
    held = json.loads((root / f"sim_configs/reproductions/spartan/measured/{file}.json").read_text())
    kept = load(root / "results" / publication, publication).networks[held["point"]].rows
    time = {(row.by, row.layer, row.part): row.metrics["kernel.time_us"] for row in kept}
    assert held["iteration_us"] == time["network", "", "all"]
    expected: dict[tuple[str, str], float] = {}
    for row in kept:
        if row.by == "pass" and row.kind == "convolution":
            place = names.get(row.layer, row.layer), row.part
            expected[place] = expected.get(place, 0.0) + time["pass", row.layer, row.part]
    assert {(layer, part): us for layer, part, us in held["convolutions"]} == pytest.approx(expected, rel=1e-5)


def test_the_shipped_iteration_of_resnet18_has_the_passes_of_the_figure_s_layers() -> None:
    held = json.loads(iterations.TARGET.read_text())
    spent = {(layer, part): us for layer, part, us in held["convolutions"]}
    network = {"conv1", "proj3", "proj4", "proj5", *iterations.together().values()}
    passes = {(layer, part) for layer in network for part in ("forward", "backward_weights", "backward_data")}
    assert set(spent) == passes - {("conv1", "backward_data")} and all(us > 0 for us in spent.values())
    assert 0.5 < sum(spent.values()) / held["iteration_us"] < 1
    assert sorted(iterations.together()) == [f"conv{group}_{n}" for group in range(2, 6) for n in range(1, 5)]


def test_layers_that_are_one_run_are_added_up() -> None:
    rows = [
        {"name": name, "pass": what, "kind": kind, "time_us": us}
        for name, what, kind, us in (
            ("conv2_1", "forward", "convolution", 1.0), ("conv2_2", "forward", "convolution", 2.0),
            ("conv3_1", "backward data", "convolution", 4.0), ("conv2_1", "update", "convolution", 8.0),
            ("relu1", "forward", "relu", 16.0),
        )
    ]  # fmt: skip
    made = {"network": "resnet18", "batch": 64, "config": {"gpu": {"name": "MI6"}, "sampling": {"error": 0.02}}}
    found = iterations.iteration({**made, "kernel": {"time_us": 31.0}, "rows": rows})
    assert found["made_by"].endswith("--sample --error 2%")
    assert found["convolutions"] == [["conv2_1 to 4", "forward", 3.0], ["conv3_1", "backward_data", 4.0]]
    assert found["iteration_us"] == 31.0


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
    states = {v.state for one in judged(reproduction, ReproductionResults("test", {})) for v in one.verdicts.values()}
    assert states == {"not run"}


def test_the_page_has_all_figures_and_names_what_failed(reproduction: Reproduction) -> None:
    results = replace(results_of(reproduction, CYCLES), errors={"one 1 any old": "no memory"})
    files = rendered(reproduction, results).files(reproduction.figures)
    assert set(files) == {
        "README.md", "claims.md", "claims.csv", FILE, "speed-cycles.csv", "speed.csv",
        "cache-cycles.csv", "cache.csv", "train.csv", "place.csv",
    }  # fmt: skip
    page = files["README.md"]
    assert "- one 1 any old: no memory" in page and all(f"## {name}: " in page for name in reproduction.figures)
    assert "| speed | half | 4 | 50.0 % | 17.3 % | 2.00× | 1.21× | 0.50× | 2.00× | 1.60× |" in page


def test_what_was_not_run_or_by_an_older_model_is_named_below_its_tables(reproduction: Reproduction) -> None:
    whole, now = results_of(reproduction, CYCLES), present_version()
    older = FigureVersion({**now.model, "core": "0123abcd"}, now.uses)
    points = {key: replace(one, version=now) for key, one in whole.points.items() if key != "one 2 half engine"}
    for key in ("one 1 any old", "many 1 any old"):
        points[key] = replace(points[key], version=older)
    page = rendered(reproduction, replace(whole, points=points)).page
    lines = [line.rstrip() for block in page if isinstance(block, str) for line in block.splitlines()]
    assert [line for line in lines if line.startswith("Not run, ")] == [
        "Not run, 1 of 32 points: engine, half data: one 2."
    ]
    origin = f"model {older.name}"
    assert [line for line in lines if "present model" in line] == [
        f"**Older than the present model, {now.name}: 2 of {len(points)} runs.**"
        f" Made by {origin} (2); changed since: core.",
        f"Older than the present model, by {origin}, 2 of 32 points: old dense, any data: one 1, many 1.",
        f"Older than the present model, by {origin}, 1 of 4 points: old dense, any data: all.",
    ]


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
    assert filled(text, Publication(reproduction, results_of(reproduction, CYCLES))) == expected


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
        filled(text, Publication(reproduction, ReproductionResults("test", {})))


def test_results_are_read_as_they_were_written(reproduction: Reproduction, tmp_path: Path) -> None:
    results = replace(results_of(reproduction, CYCLES), errors={"x": "y"}, said={"jobs": 3})
    (tmp_path / FILE).write_text(as_json(results))
    assert load(tmp_path, "test") == results
    assert json.loads(as_json(results))["points"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("{", "is no JSON"),
        ('{"schema": 1}', "reproduction: is required but missing; gpusim reproduce test makes it"),
        ('{"schema": 1, "reproduction": "other"}', "has results of 'other'"),
        (
            '{"schema": 1, "reproduction": "test", "errors": {}, "run": {}, "points": {"a": {}}}',
            "points.a.metrics: is required but missing",
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
    spartan = load_reproduction("spartan")
    figure = spartan.figures["6.18"]
    said = {case: does_fit(spartan.spec, figure, case, figure.batches[0]) for case in figure.cases}  # type: ignore[attr-defined]
    assert {case for case, one in said.items() if one != "yes"} == {"conv2", "conv4"}
    assert said["conv2"].startswith("no: ") and said["conv2"].endswith("of 4.0 GiB at 64")


def test_a_claim_is_complete_with_its_own_points(reproduction: Reproduction) -> None:
    """Of data that no claim names, points that were not run leave verdicts as they are; its own do not."""
    whole = results_of(reproduction, CYCLES)
    states = {
        data: {
            (one.figure, one.claim.text): {name: v.state for name, v in one.verdicts.items()}
            for one in judged(
                reproduction, replace(whole, points={k: p for k, p in whole.points.items() if data not in k})
            )
        }
        for data in ("nothing", "most", "half")
    }
    mean = ("speed", "mean")
    assert states["most"][mean] == states["nothing"][mean]
    assert set(states["half"][mean].values()) == {"not run"}
