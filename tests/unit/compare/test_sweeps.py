"""Are the points of sweeps paired by their values, is the largest change first, and is noise no change?"""

import json
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.cli.main import invoke
from gpusim.results import metrics
from gpusim.results.store.reading import StoreReader
from gpusim.study.compare.sweeps import MEASURED, VARIES, SweepComparison, compare_sweeps
from tests.support.sweeps import TIME, Metrics, stored_sweep

SIB = "engine.sib_kib"
L2 = "gpu.l2.size_kib"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "gpusim.db"


def timed(time: float | tuple[float, float], **more: float) -> dict[str, Metrics]:
    return {"": {TIME: time, **{path.replace("__", "."): value for path, value in more.items()}}}


def compared(store: Path, *numbers: int) -> SweepComparison:
    with StoreReader(store) as results:
        return compare_sweeps(results, numbers)


def test_points_are_paired_by_their_values_whatever_their_order(store: Path) -> None:
    stored_sweep(store, "a", [({SIB: 64}, timed(10.0)), ({SIB: 128}, timed(8.0)), ({SIB: 256}, timed(7.0))])
    stored_sweep(store, "b", [({SIB: 256.0}, timed(7.0)), ({SIB: 128}, timed(4.0)), ({SIB: 64}, timed(12.0))])
    found = compared(store, 1, 2)
    assert [(p.values[SIB], p.ratios) for p in found.points] == [(128, [0.5]), (64, [1.2]), (256, [1.0])]
    assert [list(p.runs) for p in found.points] == [[2, 5], [1, 6], [3, 4]]
    (mean,) = found.means
    assert mean.ratio == pytest.approx((0.5 * 1.2) ** (1 / 3))
    assert (mean.faster, mean.slower, mean.same, mean.half_width) == (1, 1, 1, 0.0)
    assert found.fixed == {"of": ["a", "b"]}


def test_an_axis_of_one_sweep_is_what_the_other_one_s_configuration_says(store: Path) -> None:
    swept = [({SIB: sib, L2: l2}, timed(float(sib + l2))) for sib in (1, 2) for l2 in (1024, 2048)]
    stored_sweep(store, "a", [({SIB: 1}, timed(10.0)), ({SIB: 2}, timed(20.0))], configuration={L2: 2048})
    stored_sweep(store, "b", swept)
    stored_sweep(store, "c", [({SIB: 1}, timed(10.0)), ({SIB: 3}, timed(20.0))], sets={L2: 1024})
    found = compared(store, 1, 2)
    assert [dict(p.values) for p in found.points] == [{SIB: 1, L2: 2048}, {SIB: 2, L2: 2048}]
    assert found.alone == [[], [f"{SIB} 1, {L2} 1024", f"{SIB} 2, {L2} 1024"]]
    assert [dict(p.values) for p in compared(store, 2, 3).points] == [{SIB: 1, L2: 1024}]


def test_what_is_the_same_for_all_points_pairs_none_and_is_said(store: Path) -> None:
    stored_sweep(store, "a", [({SIB: 1, L2: 1024}, timed(10.0)), ({SIB: 2, L2: 1024}, timed(10.0))])
    stored_sweep(store, "b", [({SIB: 1}, timed(5.0)), ({SIB: 2}, timed(5.0))], sets={L2: 2048})
    found = compared(store, 1, 2)
    assert list(found.axes) == [SIB] and len(found.points) == 2
    assert found.fixed == {L2: [1024, 2048], "of": ["a", "b"]}


def test_a_value_that_differs_in_some_points_is_not_said_to_be_one(store: Path) -> None:
    for title, factor in (("a", 1), ("b", 2)):
        points = [({SIB: n, "engine.shifters": 1 if n == 1 else factor}, timed(1.0)) for n in (1, 2)]
        stored_sweep(store, title, [({SIB: v[SIB]}, m) for v, m in points])
    with StoreReader(store) as results:
        original = StoreReader.configuration

        def configuration(self: StoreReader, run: int) -> dict[str, Any]:
            held = original(self, run)
            return held | ({"late": run} if run in (2, 4) else {})

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(StoreReader, "configuration", configuration)
            found = compare_sweeps(results, [1, 2])
    assert found.fixed["late"] == [VARIES, VARIES]


def test_variants_are_paired_by_name_or_are_the_only_one(store: Path) -> None:
    def both(dense: float, sparse: float) -> dict[str, Metrics]:
        return {"dense": {TIME: dense}, "sparse": {TIME: sparse}}

    stored_sweep(store, "a", [({SIB: 1}, both(1.0, 4.0)), ({SIB: 2}, both(1.0, 2.0))])
    stored_sweep(store, "b", [({SIB: 1}, both(1.0, 8.0)), ({SIB: 2}, both(3.0, 2.0))])
    stored_sweep(store, "c", [({SIB: 1}, {"dense": {TIME: 1.0}}), ({SIB: 2}, {"dense": {TIME: 1.0}})])
    stored_sweep(store, "d", [({SIB: 1}, {"sparse": {TIME: 2.0}}), ({SIB: 2}, {"sparse": {TIME: 2.0}})])
    ratios = {(p.values[SIB], p.variant): p.ratios[0] for p in compared(store, 1, 2).points}
    assert ratios == {(1, "dense"): 1.0, (1, "sparse"): 2.0, (2, "dense"): 3.0, (2, "sparse"): 1.0}
    assert [p.ratios for p in compared(store, 3, 4).points] == [[2.0], [2.0]]


def test_points_within_their_half_widths_are_neither_faster_nor_a_reason(store: Path) -> None:
    def sampled(time: float, hits: float) -> dict[str, Metrics]:
        return {"": {TIME: (time, 1.0), "l2.hit_rate": hits}}

    stored_sweep(store, "a", [({SIB: n}, sampled(100.0, 0.5)) for n in (1, 2, 3)])
    others = [(101.9, 0.9), (98.1, 0.9), (50.0, 0.7)]
    stored_sweep(store, "b", [({SIB: n}, sampled(*held)) for n, held in enumerate(others, 1)])
    found = compared(store, 1, 2)
    (mean,) = found.means
    assert (mean.faster, mean.slower, mean.same) == (1, 0, 2)
    squares = sum(0.01**2 + (1 / time) ** 2 for time, _ in others)
    assert mean.half_width == pytest.approx(mean.ratio * squares**0.5 / 3)
    (moved,) = [one for one in found.moved[0] if one.topic == "hit rate"]
    assert moved.change == pytest.approx(0.2) and (moved.points, moved.of) == (1, 1)
    stored_sweep(store, "c", [({SIB: n}, sampled(100.5, 0.9)) for n in (1, 2, 3)])
    assert compared(store, 1, 3).moved == [[]]


def test_what_moved_says_in_how_many_points_and_whether_the_time_went_with_it(store: Path) -> None:
    def point(time: float, hits: float, latency: float) -> dict[str, Metrics]:
        return timed(time, l2__hit_rate=hits, dram__read_latency_cycles=latency)

    stored_sweep(store, "a", [({SIB: n}, point(100.0, 0.9, 100.0)) for n in range(5)])
    after = [point(100.0 + 10 * n, 0.9 - 0.1 * n, 50.0) for n in range(1, 6)]
    stored_sweep(store, "b", [({SIB: n}, metrics) for n, metrics in enumerate(after)])
    hits, latency = compared(store, 1, 2).moved[0]
    assert hits.text == "fewer accesses hit L2: 90.0 % → 60.0 %"
    assert hits.correlation is not None and hits.correlation < -0.99 and not hits.against
    assert (hits.points, hits.of) == (5, 5)
    assert latency.against and latency.correlation is None, "it is the same in all points"


def test_points_bound_by_something_else_are_counted(store: Path) -> None:
    def bound(dram: float, time: float) -> dict[str, Metrics]:
        return timed(time, kernel__cycles=1000.0, roofline__l2=600.0, roofline__dram=dram)

    stored_sweep(store, "a", [({SIB: n}, bound(100.0, 1.0)) for n in range(3)])
    stored_sweep(store, "b", [({SIB: n}, bound(100.0 if n else 900.0, 2.0)) for n in range(3)])
    (moved,) = compared(store, 1, 2).moved[0]
    assert moved.text == "bound by dram instead of l2: 60.0 % → 90.0 % of the cycles"
    assert (moved.points, moved.of) == (1, 3)


def test_three_sweeps_each_beside_the_first(store: Path) -> None:
    for title, times in (("a", (10.0, 10.0)), ("b", (5.0, 5.0)), ("c", (20.0, 40.0))):
        stored_sweep(store, title, [({SIB: n}, timed(time)) for n, time in enumerate(times)])
    found = compared(store, 1, 2, 3)
    assert [mean.ratio for mean in found.means] == pytest.approx([0.5, 8**0.5])
    assert [p.ratios for p in found.points] == [[0.5, 4.0], [0.5, 2.0]]


def test_what_cannot_be_compared_is_said(store: Path) -> None:
    stored_sweep(store, "a", [({SIB: 1}, timed(1.0)), ({SIB: 2}, "it does not fit")])
    stored_sweep(store, "b", [({SIB: 3}, timed(1.0)), ({SIB: 4}, timed(1.0))])
    with pytest.raises(UserError, match=r"sweep 1 has 1 finished points, the first at engine.sib_kib 1; .* no point"):
        compared(store, 1, 2)
    with pytest.raises(UserError, match="two sweeps"):
        compared(store, 1)
    with pytest.raises(UserError, match="there is no sweep 9 in it; it has 1, 2"):
        compared(store, 1, 9)
    stored_sweep(store, "c", [({SIB: 1}, timed(3.0)), ({SIB: 2}, timed(1.0))])
    assert compared(store, 1, 3).unfinished == [1, 0]
    assert compared(store, 1, 3).alone == [[], [f"{SIB} 2"]]


def test_all_that_is_measured_is_a_metric() -> None:
    assert [path for path in MEASURED if metrics.describe(path) is None] == []


def test_the_command_prints_it_and_writes_json(store: Path, capfd: Any) -> None:
    stored_sweep(store, "a", [({SIB: n}, timed((100.0, 2.0), l2__hit_rate=0.5)) for n in range(20)])
    stored_sweep(store, "b", [({SIB: n}, timed((101.0 + 5 * n, 2.0), l2__hit_rate=0.3)) for n in range(20)])
    assert invoke(["results", "name", "sweep:1", "base"]) == 0
    assert invoke(["compare", "base", "sweep:2"]) == 0
    out = capfd.readouterr().out
    assert "A  sweep base (1): a\nB  sweep 2: b\n" in out
    assert "20 points in all of them, paired by engine.sib_kib" in out
    assert "19 slower, 1 not distinguishable" in out
    assert "fewer accesses hit L2: 50.0 % → 30.0 %; in all points" in out
    assert "\n19\t100.0 ± 2\t196.0 ± 2\t1.960\tfewer accesses hit L2: 50.0 % → 30.0 %\n" in out
    assert "and 8 more (--all)" in out and "\n0\t" not in out
    assert invoke(["compare", "base", "sweep:2", "--all"]) == 0
    assert "\n0\t100.0 ± 2\t101.0 ± 2\t1.010\tnot distinguishable\n" in capfd.readouterr().out
    assert invoke(["compare", "sweep:base", "sweep:2", "--json", "-"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["points"][0]["time_us"] == [100.0, 196.0] and found["points"][-1]["distinguishable"] == [False]
    assert found["mean"][0]["same"] == 1 and found["axes"] == [SIB]
    assert invoke(["compare", "sweep:1", "sweep:1"]) == 0
    assert "not distinguishable: no point's times differ by more than their intervals" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sweep:1", "1"], "1 is a run: sweeps are compared with sweeps"),
        (["sweep:1", "sweep:7"], "there is no sweep 7 in it; it has 1"),
        (["sweep:", "sweep:1"], "there is no sweep  in it"),
        (["sweep:1", "sweep:1", "--store", "none.db"], "none.db: there is no such store"),
    ],
)
def test_wrong_names_are_one_line(store: Path, capfd: Any, arguments: list[str], said: str) -> None:
    stored_sweep(store, "a", [({SIB: 1}, timed(1.0)), ({SIB: 2}, timed(2.0))])
    assert invoke(["compare", *arguments]) == 2
    err = capfd.readouterr().err
    assert said in err and err.count("\n") == 1
