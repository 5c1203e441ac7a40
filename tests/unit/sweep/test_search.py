"""Does a search ask for points that are new, allowed and better, and for the same ones after a stop?"""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("optuna")

from gpusim.base.errors import UserError
from gpusim.config.sweep import SweepOverrides, SweepSpec, load_sweep
from gpusim.results.store.keeper import axis_value
from gpusim.results.store.reading import StoreReader
from gpusim.study.sweep.objectives import Objectives, add_objective_columns, read
from gpusim.study.sweep.points import Point
from gpusim.study.sweep.search import Search
from tests.support.sweeps import stored_sweep

SIB, BUFFER = "engine.sib_kib", "engine.prefetch_buffer_kib"
SUM = f"{SIB} + {BUFFER}"
ONE_BY_ONE = {"batch": 1, "random": 8, "patience": 0}


def spec(**values: Any) -> SweepSpec:
    usual = {
        "run": "layerB",
        "axes": {SIB: {"low": 1, "high": 64}, BUFFER: [1, 2, 4, 8]},
        "method": "search",
        "points": 24,
        "objectives": {"kernel.cycles": "minimize"},
        "search": {"batch": 4, "random": 8, "patience": 0},
    }
    return SweepSpec(**{**usual, **values})


def cost(point: Point) -> list[float]:
    return [abs(point[SIB] - 20) + abs(point[BUFFER] - 4)]


def searched(found: SweepSpec, known: list[Point] | None = None, stop: int = 1 << 20) -> list[Point]:
    """All points in order; a new search for each batch, as after a stop."""
    points = list(known or [])
    while len(points) < min(stop, found.points or 0):
        more = Search(found).next(points, [cost(point) for point in points])
        if not more:
            break
        points += more
    return points


def test_it_goes_the_way_that_its_objective_says() -> None:
    drawn, less, more = (
        [cost(point)[0] for point in searched(spec(points=32, objectives={"kernel.cycles": way}, search=ONE_BY_ONE))][
            8:
        ]
        for way in ("minimize", "minimize", "maximize")
    )
    assert drawn == less
    assert 2 * sum(less) < sum(more)


def test_the_last_designs_are_steps_from_the_best() -> None:
    axes = {SIB: [4, 8, 16, 32], BUFFER: [1, 2, 4, 8]}
    points = searched(spec(axes=axes, points=8, search={"batch": 1, "random": 4, "patience": 0, "steps": 0.5}))

    def apart(one: Point, other: Point) -> int:
        return sum(abs(values.index(one[path]) - values.index(other[path])) for path, values in axes.items())

    assert apart(points[4], min(points[:4], key=cost)) == 1
    for number in range(5, 8):
        assert min(apart(points[number], one) for one in points[:number]) == 1


def test_of_equally_good_designs_the_smaller_is_found() -> None:
    # the second objective differs alone among the designs that the first cannot tell apart
    def two(point: Point) -> list[float]:
        return [100.0 if point[SIB] < 16 else 50.0, float(point[SIB] + point[BUFFER])]

    found = []
    for seed in range(12):
        asked = spec(
            axes={SIB: [4, 8, 16, 32, 64, 128], BUFFER: [1, 2, 4, 8, 16, 32]}, seed=seed, points=12,
            objectives={"kernel.cycles": "minimize", SUM: "minimize"}, search={"batch": 1, "random": 4, "patience": 0},
        )  # fmt: skip
        points: list[Point] = []
        while len(points) < 12:
            points += Search(asked).next(points, [two(point) for point in points])
        found.append(min(two(point) for point in points))
    assert sum(one[0] == 50.0 and one[1] <= 18.0 for one in found) >= 9, found


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 23), st.integers(0, 3))
def test_one_that_was_stopped_asks_for_the_points_of_one_that_was_not(stop: int, seed: int) -> None:
    found = spec(seed=seed)
    search, whole = Search(found), []
    while len(whole) < 24:
        whole += search.next(whole, [cost(point) for point in whole])
    assert searched(found, searched(found, stop=stop)) == whole
    assert len({repr(point) for point in whole}) == 24


def test_constraints_hold_and_failed_points_are_no_hindrance() -> None:
    found = spec(constraints=[f"{SIB} + {BUFFER} <= 20"])
    points: list[Point] = []
    while len(points) < 24:
        values = [cost(point) if number % 3 else None for number, point in enumerate(points)]
        points += Search(found).next(points, values)
    assert all(point[SIB] + point[BUFFER] <= 20 for point in points)


def test_it_ends_where_there_are_no_more_points() -> None:
    axes = {SIB: [4, 8, 16], BUFFER: [1, 2]}
    assert len(searched(spec(axes=axes))) == 6
    assert len(searched(spec(axes=axes, constraints=[f"{SIB} != 8"]))) == 4


def test_a_point_is_again_what_it_was_after_the_store() -> None:
    axes = {"a": [True, False], "b": [[1, 2], [3]], "c": ["x", None], "d": [1, 2.5], "e": {"low": 0.5, "high": 1.5}}
    search = Search(spec(axes=axes))
    (point, *_) = search.next([], [])
    again = search.point_of({path: axis_value(value) for path, value in point.items()})
    assert again == point and [type(v) for v in again.values()] == [type(v) for v in point.values()]
    assert len(search.next([point], [[1.0]])) == 4


def test_it_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(UserError, match="needs the extra 'sweep'"):
        Search(spec())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"points": None}, "method search needs points"),
        ({"objectives": {}}, "method search needs objectives"),
        ({"objectives": {"kernel.cycles": "least"}}, "minimize"),
        ({"method": "random"}, "the method is random"),
        ({"method": "random", "search": {}, "objectives": {}, "variant": "dense"}, "the method is random"),
    ],
)
def test_a_search_that_cannot_be_says_why(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        spec(**values)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kernel.cycle", "did you mean 'kernel.cycles'"),
        ("engine.sib", "did you mean 'engine.sib_kib'"),
        ("kernel.cycles +", "is no objective"),
        ("open('x')", "is no objective"),
    ],
)
def test_an_objective_that_is_none_is_named_with_the_nearest(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        Objectives(spec(objectives={text: "minimize"}))


def test_options_say_what_is_looked_for() -> None:
    overrides = SweepOverrides((f"{SIB}=4,8",), "search", 2, minimize=["kernel.cycles"], maximize=["l2.hit_rate"])
    found, _ = load_sweep("layerB", overrides)
    assert found.objectives == {"kernel.cycles": "minimize", "l2.hit_rate": "maximize"}


def stored(folder: Path, found: SweepSpec, *points: tuple[int, Any]) -> int:
    rows = [({SIB: sib}, metrics) for sib, metrics in points]
    return stored_sweep(folder / "s.db", "s", rows, configuration={BUFFER: 3})


def test_the_front_and_what_cannot_be_told_apart(tmp_path: Path) -> None:
    found = spec(objectives={"kernel.cycles": "minimize", SUM: "minimize"})
    cycles = {4: (100.0, 5.0), 8: (99.0, 5.0), 16: (50.0, 1.0), 32: (60.0, 1.0)}
    number = stored(
        tmp_path, found, *((sib, {"": {"kernel.cycles": held}}) for sib, held in cycles.items()), (64, "an error")
    )
    with StoreReader(tmp_path / "s.db") as results:
        table, said = add_objective_columns(results, number, found, ["kernel.cycles"])
    assert [(row[SIB], row[SUM], row["Pareto front"]) for row in table] == [
        *[(4, 7.0, "yes"), (8, 11.0, "not distinguishable"), (16, 19.0, "yes"), (32, 35.0, ""), (64, None, "")],
    ]
    assert said[0] == f"Pareto front by kernel.cycles (least), {SUM} (least): points 0, 2"
    assert said[1].startswith("not distinguishable from the Pareto front") and "point 1:" in said[1]


def test_what_is_maximized_is_best_where_it_is_most(tmp_path: Path) -> None:
    found = spec(objectives={"l2.hit_rate": "maximize"})
    number = stored(tmp_path, found, *((sib, {"": {"l2.hit_rate": sib / 64}}) for sib in (4, 32, 16)))
    with StoreReader(tmp_path / "s.db") as results:
        table, said = add_objective_columns(results, number, found, [])
    assert [row["best"] for row in table] == ["", "yes", ""]
    assert said == ["best by l2.hit_rate (most): point 1"]


def test_a_product_of_sampled_values_has_their_widths_and_a_variant_is_chosen(tmp_path: Path) -> None:
    half = {"kernel.cycles": (100.0, 5.0), "l2.hit_rate": 0.5}
    number = stored(tmp_path, spec(), (4, {"dense": {"kernel.cycles": 7.0, "l2.hit_rate": 1.0}, "sparse": half}))
    product = {"objectives": {"-2 * kernel.cycles * l2.hit_rate": "maximize"}}
    with StoreReader(tmp_path / "s.db") as results:
        _, sparse = read(results, number, Objectives(spec(**product)))
        _, dense = read(results, number, Objectives(spec(**product, variant="dense")))
    assert sparse == [None, [(-100.0, 5.0)]]
    assert dense == [[(-14.0, 0.0)], None]


WORKLOADS = {"config": ["layerA", "layerB", "layerC"], SIB: [4, 8, 16, 32], BUFFER: [1, 2, 4, 8]}


def of_layers(point: Point) -> list[float]:
    """Layer C is done soonest whatever is chosen: a search for the least cycles must not end there."""
    return [{"layerA": 900.0, "layerB": 500.0, "layerC": 1.0}[point["config"]] * (1 + cost(point)[0] / 10)]


def test_a_design_is_run_at_all_workloads_and_judged_by_their_mean() -> None:
    found = spec(axes=WORKLOADS, points=30, search={"batch": 2, "random": 4, "patience": 0})
    points: list[Point] = []
    while more := Search(found).next(points, [of_layers(point) for point in points]):
        assert len(more) % 3 == 0 and [p["config"] for p in more[:3]] == WORKLOADS["config"]
        points += more
    designs = [(point[SIB], point[BUFFER]) for point in points[::3]]
    assert len(points) == 30 and len(set(designs)) == 10
    assert designs.count((16, 4)) == 1, "the best of sixteen designs is among ten"
    with pytest.raises(UserError, match="there is nothing to choose"):
        Search(spec(axes={"config": ["layerA", "layerB"]}))
    with pytest.raises(UserError, match="a design alone is run at 3 points"):
        Search(spec(axes=WORKLOADS, points=2))


def test_a_plateau_ends_it() -> None:
    found = spec(points=40, search={"batch": 4, "random": 4, "patience": 8})
    search, points = Search(found), list[Point]()
    while more := search.next(points, [[7.0] for _ in points]):
        points += more
    assert len(points) == 12 and search.plateau(points, [[7.0] for _ in points])
    falling = [[100.0 - number] for number in range(12)]
    assert not search.plateau(points, falling) and len(search.next(points, falling)) == 4


def test_the_front_of_a_table_is_that_of_each_workload(tmp_path: Path) -> None:
    cycles = {("layerA", 4): 90.0, ("layerA", 8): 50.0, ("layerC", 4): 9.0, ("layerC", 8): 9.0}
    points = [({"config": c, SIB: s}, {"": {"kernel.cycles": v}}) for (c, s), v in cycles.items()]
    number = stored_sweep(tmp_path / "s.db", "layers", points)
    found = SweepSpec(
        run="layerA", axes={"config": ["layerA", "layerC"], SIB: [4, 8]},
        objectives={"kernel.cycles": "minimize", SIB: "minimize"},
    )  # fmt: skip
    with StoreReader(tmp_path / "s.db") as results:
        table, said = add_objective_columns(results, number, found, [])
    assert [row["Pareto front"] for row in table] == ["yes", "yes", "yes", ""]
    assert said == [f"Pareto front by kernel.cycles (least), {SIB} (least), means over config: {SIB} 4; {SIB} 8"]
