"""Do answers and figures of a sweep keep workloads apart, compare like with like, and carry error bars?

The sweep: two layers, of which B takes half of A's time; a SIB of 16, 64 or 512 KiB that matters for A alone; a share
of L2 that costs 10 %; 512 KiB only at the larger, slower share. What the tests expect is reckoned here, by hand.
"""

import csv
import io
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.cli.main import invoke
from gpusim.results.metrics import METRICS
from gpusim.results.report.sweeps.answers import describe_best_designs, matters, roles_line
from gpusim.results.report.sweeps.effects import compute_effects
from gpusim.results.report.sweeps.front import build_panels
from gpusim.results.report.sweeps.points import SweepData, mean_of, merged_repeats, ratio_of
from gpusim.results.report.sweeps.reader_names import reader_name
from gpusim.results.report.sweeps.series import FigureChoice, FigureLayout, build_series
from gpusim.results.store.reading import StoreReader
from gpusim.results.store.sweep_points import swept
from gpusim.results.store.sweeps import SweepTable
from tests.support.daily import parametrize_daily
from tests.support.sweeps import TIME, stored_sweep

SIB, SHARE, CYCLES = "engine.sib_kib", "engine.l2_share", "kernel.cycles"
BASE = {"layerA": 1000, "layerB": 500}
GAIN = {16: 2.0, 64: 1.0, 512: 1.0}  # of layer A
SLOWER = {0.25: 1.0, 0.5: 1.1}
ALLOWED = [(16, 0.25), (16, 0.5), (64, 0.25), (64, 0.5), (512, 0.5)]


def cycles(layer: str, sib: int, share: float) -> float:
    return BASE[layer] * (GAIN[sib] if layer == "layerA" else 1.0) * SLOWER[share]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    points = [
        ({"config": layer, SIB: sib, SHARE: share}, {"": {CYCLES: cycles(layer, sib, share), "l2.hit_rate": 0.5}})
        for layer in BASE
        for sib, share in ALLOWED
    ]
    stored_sweep(tmp_path / "gpusim.db", "SIB by layer", points)
    return tmp_path / "gpusim.db"


@pytest.fixture
def points(store: Path) -> Iterator[SweepData]:
    with StoreReader(store) as results:
        yield swept(results, 1, ["l2.hit_rate", SIB])


@pytest.fixture
def table(store: Path) -> SweepTable:
    with StoreReader(store) as results:
        return results.sweep(1, CYCLES)


def test_no_workload_is_chosen_and_the_best_is_that_of_their_means(points: SweepData, table: SweepTable) -> None:
    mean = math.sqrt(1000 * 500)
    assert points.roles == {"config": "workload", SIB: "design", SHARE: "design"}
    said = describe_best_designs(points)
    assert said[0] == (
        f"least {CYCLES}: {mean:.1f} cycles, geometric mean over 2 workloads (config), at {SIB} 64, {SHARE} 0.25"
    )
    assert said[1] == "its memories take 64 KiB"
    line = roles_line(points)
    assert line.startswith("config: workload (what has to be done") and "inferred from the names of config" in line
    assert [(row["config"], row[SIB], row[SHARE]) for row in table.best(CYCLES)] == [
        ("layerA", 64, 0.25),
        ("layerB", 64, 0.25),
    ]
    assert {row["config"] for row in table.pareto(CYCLES, SIB)} == set(BASE), "the slower layer has a front of its own"


def test_a_role_that_is_given_stands(store: Path) -> None:
    import json
    import sqlite3

    with sqlite3.connect(store) as db:
        (text,) = db.execute("SELECT specification FROM sweeps").fetchone()
        roles = {"roles": {"config": "design"}}
        db.execute("UPDATE sweeps SET specification = ?", [json.dumps({**json.loads(text), **roles})])
    with StoreReader(store) as results:
        assert [row["config"] for row in results.sweep(1, CYCLES).best()] == ["layerB"] * 2
        assert "geometric mean" not in describe_best_designs(swept(results, 1))[0]


def test_effects_are_those_of_points_that_differ_in_one_axis(points: SweepData) -> None:
    found = {one.axis: one for one in compute_effects(points, CYCLES).axes}
    assert found[SIB].most == pytest.approx(1.0) and found[SHARE].most == pytest.approx(0.1)
    assert found[SIB].by_workload == {("layerA",): pytest.approx(1.0), ("layerB",): 0.0}
    assert found[SHARE].typical == pytest.approx(0.1) and found[SHARE].pairs == 4
    assert found[SIB].share > found[SHARE].share > 0  # type: ignore[operator]
    said = "\n".join(describe_best_designs(points))
    assert "none at layerB" in said and f"{SIB} 512 was run only at {SHARE} 0.5: compare it there" in said
    assert f"{SIB} with config: what one does depends on the other" in said
    assert [row[-1] for row in matters(points).rows] == ["matters", "matters", "one depends on the other", ""]


def test_what_has_no_effect_is_said(points: SweepData) -> None:
    said = describe_best_designs(points, "l2.hit_rate")
    assert said[0].startswith("l2.hit_rate of all 5 designs is the same: 0.5")
    assert f"{SIB}: no effect here on l2.hit_rate: the same at all its values, all else equal (4 comparisons)" in said


def test_of_a_whole_grid_the_shares_are_an_analysis_of_variance(points: SweepData) -> None:
    whole = points.at({"config": "layerA"})
    grid = type(whole)(**{**vars(whole), "places": [one for one in whole.places if one.values[SIB] != 512]})
    found = compute_effects(grid, CYCLES)
    a, b = math.log(2) ** 2, math.log(1.1) ** 2  # the sums of squares of two axes with two values, to a factor
    assert found.exact and found.together == {}
    assert {one.axis: one.share for one in found.axes} == {
        SIB: pytest.approx(a / (a + b)),
        SHARE: pytest.approx(b / (a + b)),
    }


def test_lines_compare_like_with_like(points: SweepData) -> None:
    """The larger SIB is not slower: that it was run at the slower share alone shows in the range, not in the mean."""
    series = build_series(points, FigureChoice(x=SIB))
    lines = {line.panel: line.marks for line in series.lines}
    assert list(lines) == ["layerA", "layerB", "geometric mean"] == series.panels
    assert [mark.middle[0] for mark in lines["layerA"]] == pytest.approx([2200, 1100, 1100])  # type: ignore[index]
    assert [(mark.low, mark.high) for mark in lines["layerA"]] == [(2000, 2200), (1000, 1100), (1100, 1100)]
    assert lines["geometric mean"][2].middle[0] == pytest.approx(math.sqrt(1100 * 550))  # type: ignore[index]
    assert "engine.l2_share" in series.notes[0]


def test_a_speed_up_is_over_the_point_that_is_like_it_in_all_else(points: SweepData) -> None:
    series = build_series(points, FigureChoice(x=SIB, by=SHARE, baseline={SIB: 16}))
    assert series.y == "Speed-up over SIB = 16 KiB" and series.panels == ["layerA", "layerB", "geometric mean"]
    found = {(line.panel, line.name): [mark.middle[0] for mark in line.marks] for line in series.lines}  # type: ignore[index]
    assert found["layerA", "0.25"] == pytest.approx([1.0, 2.0]) and found["layerA", "0.5"] == pytest.approx([1, 2, 2])
    assert found["layerB", "0.5"] == pytest.approx([1, 1, 1])
    assert found["geometric mean", "0.5"] == pytest.approx([1, math.sqrt(2), math.sqrt(2)])
    with pytest.raises(UserError, match="17: no point has this value; there are 16, 64, 512"):
        build_series(points, FigureChoice(baseline={SIB: 17}))


def test_fronts_are_of_each_workload_and_of_their_means(points: SweepData) -> None:
    panels = build_panels(points, SIB, CYCLES)
    on = {name: [one.x[0] for one in held if one.standing] for name, held in panels.items()}
    assert on == {"layerA": [16, 64], "layerB": [16], "geometric mean": [16, 64]}


def test_error_bars_go_through_means_and_ratios() -> None:
    assert mean_of([(4.0, 0.4), (9.0, 0.0)]) == (pytest.approx(6.0), pytest.approx(6 * 0.1 / 2))
    assert mean_of([(0.0, 0.3), (2.0, 0.4)]) == (1.0, pytest.approx(0.25)), "arithmetic, where a value is not positive"
    assert ratio_of((3.0, 0.3), (2.0, 0.1)) == (1.5, pytest.approx(1.5 * (0.1 + 0.05)))
    assert ratio_of((3.0, 0.3), (0.0, 0.1)) is None


def test_noise_makes_no_difference(tmp_path: Path) -> None:
    noisy = [
        ({"config": c, SIB: s}, {"": {TIME: (t * k, 0.2 * k)}})
        for c, k in (("A", 1), ("B", 9))
        for s, t in ((1, 5.0), (2, 5.1))
    ]
    stored_sweep(tmp_path / "n.db", "noise", noisy)
    with StoreReader(tmp_path / "n.db") as results:
        found = swept(results, 1)
        assert len(results.sweep(1, TIME).best()) == 4
    assert (
        f"{SIB}: no effect here on {TIME}: no value can be told from another, all else equal (2 comparisons)"
        in describe_best_designs(found)
    )
    series = build_series(found, FigureChoice(x=SIB, baseline={SIB: 1}))
    (mean,) = (line for line in series.lines if line.panel == "geometric mean")
    ratio = 5.0 / 5.1
    width = ratio * (0.2 / 5 + 0.2 / 5.1)
    assert mean.marks[1].middle == (pytest.approx(ratio), pytest.approx(width * math.sqrt(2) / 2))
    assert any(note.startswith("error bars") for note in series.notes)


def test_repeats_become_a_mean_with_its_interval(tmp_path: Path) -> None:
    held = [({SIB: s, "run.perturbation": n}, {"": {TIME: float(s + n)}}) for s in (10, 20) for n in (0, 1, 2)]
    stored_sweep(tmp_path / "p.db", "again", held)
    with StoreReader(tmp_path / "p.db") as results:
        found = merged_repeats(swept(results, 1))
    values = [one.measured[TIME] for one in found.places]
    student = 4.302652729696  # of 2 degrees of freedom, both sides, 95 %
    assert [value for value, _ in values] == [11.0, 21.0]
    assert [width for _, width in values] == pytest.approx([student / math.sqrt(3)] * 2)
    assert list(found.axes) == [SIB]


def test_the_command_draws_what_is_chosen(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    chosen = ["--x", SIB, "--by", "config", "--metric", "l2.hit_rate", "--at", f"{SHARE}=0.5", "--style", "paper"]
    assert invoke(["report", "sweep:1", "--figure", "rate.pdf", *chosen]) == 0
    assert Path("rate.pdf").read_bytes().startswith(b"%PDF") and not Path("report.html").exists()
    rows = list(csv.DictReader(io.StringIO(Path("rate.csv").read_text())))
    assert {row["Configuration"] for row in rows} == {"layerA", "layerB", "mean"} and len(rows) == 9
    assert {row["L2 hit rate"] for row in rows} == {"0.5"}
    for wrong, said in (
        (["--x", "engine.sib"], "did you mean 'engine.sib_kib'?"),
        (["--metric", "l2.hitrate"], "did you mean 'l2.hit_rate'?"),
        (["--at", f"{SIB}=17"], "no point has this value"),
        (["--draw", "heat-map", "--by", SIB], "--y or --by"),
        (["--metric", CYCLES, "--metric", SIB, "--x", SIB], "--x, --y, --by and --baseline are of other figures"),
    ):
        assert invoke(["report", "sweep:1", "--figure", "rate.svg", *wrong]) == 2
        assert said in capfd.readouterr().err
    assert invoke(["report", "sweep:1", "--x", SIB]) == 2
    assert invoke(["report", "sweep:1", "--figure", "rate.gif"]) == 2
    err = capfd.readouterr().err
    assert "--x: say with --figure FILE" in err and "ends in .svg, .png, .pdf" in err


CHOICES = [FigureChoice(), FigureChoice(x=SIB, y=SHARE), FigureChoice(kind="front"), FigureChoice(x="config", by=SHARE,
    at={SIB: 64}), FigureChoice([SIB, CYCLES]), FigureChoice(x=SHARE, kind="bars", baseline={SHARE: 0.5}),
    FigureChoice(x=SIB, y=SHARE, kind="contour"), FigureChoice(kind="slice"), FigureChoice(kind="parallel"),
    FigureChoice(kind="importance")]  # fmt: skip


@parametrize_daily("choice, style", [(one, style) for style in ("screen", "ieee") for one in CHOICES], range(12))
def test_every_kind_is_drawn_in_every_style(points: SweepData, choice: FigureChoice, style: Any) -> None:
    pytest.importorskip("matplotlib")
    from gpusim.results.report.page.figures import draw_figure

    picture = draw_figure(points, choice, style)
    assert choice != FigureChoice() or picture.note.startswith(f"Not shown: {SHARE}; marks are geometric means")
    assert picture.file(".svg").startswith(b"<?xml") and picture.rows
    assert picture.size[0] == {"screen": 7.2, "ieee": 3.5}[style]


def test_from_python_a_figure_is_one_call(table: SweepTable) -> None:
    pytest.importorskip("matplotlib")
    picture = table.figure("l2.hit_rate", x=SIB, style="paper")
    picture.save("rate.svg")
    assert Path("rate.svg").exists() and Path("rate.csv").read_text().startswith("panel,line,SIB (KiB),L2 hit rate")
    assert "<svg" in picture._repr_svg_()
    frame = pytest.importorskip("pandas") and table.frame()
    assert list(frame.index.names) == ["config", SIB, SHARE]
    assert frame.loc[("layerA", 64, 0.25), CYCLES] == 1000


def texts_of(picture: Any) -> list[str]:
    from xml.etree import ElementTree

    return ["".join(one.itertext()) for one in ElementTree.fromstring(picture.file(".svg")).iter() if "text" in one.tag]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("l2.hit_rate", "L2 hit rate"), (CYCLES, "Cycles"), (TIME, "Kernel time (µs)"), (SIB, "SIB (KiB)"),
        ("engine.sib_kib + engine.prefetch_buffer_kib", "SIB + prefetch buffer (KiB)"),
        ("gpu.l2.size_kib", "L2 size (KiB)"),
        ("gpu.clock_ghz", "Clock (GHz)"), ("workload.n", "N"), ("arguments.rows.value", "Rows"), ("gpu", "GPU"),
        ("dram.row_hit_rate", "DRAM row hit rate"), ("engine.requests", "Engine requests"),
        ("local_size", "Local size"),
    ],
)  # fmt: skip
def test_names_are_those_that_a_reader_knows(path: str, name: str) -> None:
    assert reader_name(path) == name


def test_every_metric_has_a_name_without_a_path() -> None:
    names = {one.path: reader_name(one.path) for one in METRICS}
    assert [path for path, name in names.items() if "_" in name or "." in name or not name[:1].isupper()] == []


def test_labels_order_ranges_panels_and_legend_are_chosen(points: SweepData) -> None:
    pytest.importorskip("matplotlib")
    from gpusim.results.report.page.figures import draw_figure

    layout = FigureLayout(
        title="Of my paper", labels={"layerB": "Conv 2", SIB: "Index buffer (KiB)", "geometric mean": "Mean"},
        order={"config": ["layerB"]}, y_range=(0, 3000), legend="none", palette="grey",
    )  # fmt: skip
    choice = FigureChoice(x=SIB, panels=[SHARE], layout=layout)
    series = build_series(points, choice)
    assert series.panels[:2] == ["Engine L2 share = 0.25, Conv 2", "Engine L2 share = 0.25, layerA"]
    texts = texts_of(draw_figure(points, choice, "ieee"))
    assert {"Of my paper", "Index buffer (KiB)", "Cycles", "3,000"} <= set(texts)
    for wrong, text in (
        (FigureLayout(labels={"layrB": "x"}), "did you mean 'layerB'?"),
        (FigureLayout(order={"config": ["layerC"]}), "no point has layerC; there are layerA, layerB"),
        (FigureLayout(order={"config_": []}), "did you mean 'config'?"),
    ):
        with pytest.raises(UserError, match=re.escape(text)):
            build_series(points, FigureChoice(layout=wrong))


def test_workloads_have_axes_of_their_own_unless_they_are_alike(points: SweepData) -> None:
    pytest.importorskip("matplotlib")
    from gpusim.results.report.page.sweep_charts import is_scale_shared

    assert not is_scale_shared(build_series(points, FigureChoice(x=SIB)))
    assert is_scale_shared(build_series(points, FigureChoice(x=SIB, layout=FigureLayout(share_y=True))))
    assert is_scale_shared(build_series(points, FigureChoice(x=SIB, baseline={SHARE: 0.5})))


def test_options_of_a_figure_come_from_a_file_and_the_command_goes_first(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    Path("figure.yaml").write_text(
        f"x: {SIB}\nby: config\nmetric: [{CYCLES}]\nstyle: ieee\ntitle: From the file\ny_range: [0, 2500]\n"
        f"label: {{layerA: Conv 1}}\norder: {{config: [layerB]}}\n"
    )
    given = ["report", "sweep:1", "--figure", "a.svg", "--figure-options", "figure.yaml"]
    assert invoke(given) == 0
    assert "From the file" in Path("a.svg").read_text() and "Conv 1" in Path("a.svg").read_text()
    assert invoke([*given, "--title", "Over it", "--label", "layerA=A", "--y-range", "0:9000"]) == 0
    assert "Over it" in Path("a.svg").read_text() and "8,000" in Path("a.svg").read_text()
    Path("figure.yaml").write_text("ttle: x\n")
    assert invoke(given) == 2
    assert "figure.yaml: unknown option 'ttle'; did you mean 'title'?" in capfd.readouterr().err
    Path("figure.yaml").write_text("style: ieeee\n")
    assert invoke(given) == 2
    assert 'figure.yaml: style: "ieeee" is not allowed' in capfd.readouterr().err
    for wrong, text in (
        (["--y-range", "3:1"], "the first number must be less than the second"),
        (["--label", "a"], "expected NAME=VALUE"),
    ):
        assert invoke([*given[:4], *wrong]) == 2
        assert text in capfd.readouterr().err
    assert invoke(["report", "sweep:1", "--title", "x", "--palette", "tol"]) == 2
    assert "--title, --palette: say with --figure FILE" in capfd.readouterr().err


def test_figures_of_all_axes_show_shares_slices_and_lines(points: SweepData) -> None:
    pytest.importorskip("matplotlib")
    from gpusim.results.report.page.figures import draw_figure

    importance = draw_figure(points, FigureChoice(kind="importance"))
    effects = compute_effects(points, CYCLES)
    assert [row[2] for row in importance.rows if row[1] == "axis"] == sorted(
        (one.share for one in effects.axes), reverse=True
    )  # type: ignore[type-var]
    assert any(row[:2] == ("SIB × Configuration", "pair") for row in importance.rows)
    slices = draw_figure(points, FigureChoice(kind="slice"))
    assert len(slices.rows) == 2 * len(points.places) and min(row[3] for row in slices.rows) == 1.0
    lines = draw_figure(points, FigureChoice(kind="parallel"))
    assert len(lines.rows) == len(points.places) and max(row[-1] for row in lines.rows) == pytest.approx(2.2)
    with pytest.raises(UserError, match="is of all axes"):
        draw_figure(points, FigureChoice(kind="slice", x=SIB))
    with pytest.raises(UserError, match="needs axes of numbers"):
        build_series(points, FigureChoice(x="config", y=SIB, kind="contour"))


def test_a_layer_that_takes_longer_explains_nothing(points: SweepData) -> None:
    """Shares are of what varies within a layer: of both layers' whole grid, of which one depends on the SIB."""
    grid = type(points)(**{**vars(points), "places": [one for one in points.places if one.values[SIB] != 512]})
    a, b = math.log(2) ** 2, math.log(1.1) ** 2
    shares = {one.axis: one.share for one in compute_effects(grid, CYCLES).axes}
    assert shares == {SIB: pytest.approx(a / 2 / (a + 2 * b)), SHARE: pytest.approx(2 * b / (a + 2 * b))}


def test_a_design_that_lacks_a_workload_is_not_compared(tmp_path: Path) -> None:
    cycles = {("A", 1): 90.0, ("B", 1): 9.0, ("B", 2): 8.0}
    held: list[Any] = [({"config": c, SIB: s}, {"": {CYCLES: v}}) for (c, s), v in cycles.items()]
    stored_sweep(tmp_path / "m.db", "missing", [*held, ({"config": "A", SIB: 2}, "no space")])
    with StoreReader(tmp_path / "m.db") as results:
        table, found = results.sweep(1, CYCLES), swept(results, 1)
    assert [(row["config"], row[SIB]) for row in table.best()] == [("A", 1), ("B", 1)]
    said = describe_best_designs(found)
    assert said[0].endswith(f"at {SIB} 1") and "1 of 2 designs lack a workload and are not compared" in said
