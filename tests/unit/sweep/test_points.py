"""Are the points of a sweep those that its file says, and is what it cannot mean refused by name?"""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.base.expressions import condition
from gpusim.config import files
from gpusim.config.run import load_run
from gpusim.config.sweep import RangeSpec, SweepOverrides, SweepSpec, load_sweep
from gpusim.study.sweep.points import list_points, random_points
from gpusim.study.sweep.running import SweepRunner
from gpusim.study.sweep.tasks import check_paths, prepared

SIB, BUFFER = "engine.sib_kib", "engine.prefetch_buffer_kib"


def spec(**values: Any) -> SweepSpec:
    return SweepSpec(**{"run": "layerB", "axes": {SIB: [4, 8], BUFFER: [1, 2, 3]}, **values})


def pairs(found: SweepSpec) -> list[tuple[Any, Any]]:
    return [(point[SIB], point[BUFFER]) for point in list_points(found)]


def test_a_grid_has_every_combination_in_order() -> None:
    assert pairs(spec()) == [(4, 1), (4, 2), (4, 3), (8, 1), (8, 2), (8, 3)]


def test_zip_takes_values_together() -> None:
    assert pairs(spec(method="zip", axes={SIB: [4, 8, 4], BUFFER: [1, 2, 3]})) == [(4, 1), (8, 2), (4, 3)]
    with pytest.raises(UserError, match=r"engine.sib_kib has 2, engine.prefetch_buffer_kib has 3"):
        list_points(spec(method="zip"))


def test_constraints_leave_out_points() -> None:
    assert pairs(spec(constraints=[f"{SIB} / 4 >= {BUFFER}"])) == [(4, 1), (8, 1), (8, 2)]
    with pytest.raises(UserError, match="no point is left"):
        list_points(spec(constraints=[f"{SIB} < 0"]))


@pytest.mark.parametrize("method", ["random", "sobol"])
def test_drawn_points_are_the_seeds_and_none_comes_twice(method: str) -> None:
    if method == "sobol":
        pytest.importorskip("scipy")
    axes = {SIB: {"low": 1, "high": 64, "scale": "log"}, BUFFER: [1, 2, 3]}
    drawn = spec(method=method, points=16, axes=axes)
    first = pairs(drawn)
    assert first == pairs(drawn)
    assert first != pairs(spec(method=method, points=16, axes=axes, seed=2))
    assert len(set(first)) == len(first) <= 16
    assert all(1 <= sib <= 64 and isinstance(sib, int) and buffer in (1, 2, 3) for sib, buffer in first)


def test_as_many_random_points_as_there_are() -> None:
    assert sorted(pairs(spec(method="random", points=50))) == pairs(spec())


def test_sobol_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(UserError, match="needs the extra 'sweep'"):
        list_points(spec(method="sobol", points=4))


@given(st.integers(1, 50), st.integers(1, 100), st.integers(2, 20), st.sampled_from(["linear", "log"]))
def test_ranges_go_from_low_to_high(low: int, more: int, steps: int, scale: Any) -> None:
    axis = RangeSpec(low=low, high=low + more, steps=steps, scale=scale)
    values = [point[SIB] for point in list_points(spec(axes={SIB: axis}))]
    assert (values[0], values[-1]) == (low, low + more)
    assert values == sorted(set(values))
    assert len(values) <= steps


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"axes": {SIB: []}}, "axis engine.sib_kib has no values"),
        ({"axes": {SIB: [4, 8, 4]}}, "has the value 4 twice"),
        ({"axes": {SIB: {"low": 4, "high": 4}}}, "low 4 must be less than high 4"),
        ({"axes": {SIB: {"low": 0, "high": 4, "scale": "log"}}}, "must be more than 0"),
        ({"axes": {SIB: {"low": 1, "high": 4}}}, "method grid needs steps"),
        ({"axes": {}}, "at least 1"),
        ({"sets": {SIB: 4}}, "is an axis, and has one value in sets"),
        ({"method": "random"}, "method random needs points"),
        ({"points": 4}, "method grid takes no points"),
        ({"net": "lenet"}, "given: run, net"),
        ({"run": None}, "given: none"),
        ({"axes": {SIB: [1], "engine": ["a"]}}, f"axis {SIB} is a value of engine, which is itself .* to 'a'"),
        ({"axes": {SIB: [1]}, "sets": {"engine": 4}}, f"axis {SIB} is a value of engine"),
        ({"axes": {"gpu.l2.size_kib": [1], "gpu.l2": {"low": 1, "high": 2, "steps": 2}}}, "to 'a number'"),
        ({"variant": "dense"}, "says whose metrics the objectives are"),
    ],
)
def test_a_sweep_that_cannot_be_says_why(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        spec(**values)


@pytest.mark.parametrize(
    "values",
    [
        {"axes": {"gpu.l2.size_kib": [1], "gpu": ["mi6", "r9nano"]}},
        {"axes": {SIB: [1]}, "sets": {"engine": {"ports": 2}}},
        {"run": None, "net": "lenet", "axes": {SIB: [1], "engine": ["on", "both"]}},
    ],
)
def test_values_may_be_laid_over_a_section(values: dict[str, Any]) -> None:
    assert list_points(spec(**values))


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        (4, "4 is not allowed: must be a list"),
        ({"low": 4, "high": 2}, "low 4 must be less than high 2"),
        ({"low": 4, "high": 8, "step": 2}, "step: unknown key; did you mean 'steps'"),
    ],
)
def test_what_is_no_axis_is_one_line(axis: Any, said: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({"run": "layerB", "axes": {SIB: axis}}))
    with pytest.raises(UserError, match=said) as caught:
        load_sweep(str(tmp_path / "s.yaml"), SweepOverrides())
    assert len(caught.value.problems) == 1


def test_a_grid_that_is_too_large_is_refused_at_once() -> None:
    axes = {f"engine.{name}": list(range(1000)) for name in ("sib_kib", "prefetch_buffer_kib", "ports")}
    with pytest.raises(UserError, match="1,000,000,000 points"):
        list_points(spec(axes=axes))


@pytest.mark.parametrize(
    ("text", "values", "holds"),
    [
        ("a.b + 2 * c <= 8", {"a.b": 4, "c": 2}, True),
        ("a.b + 2 * c < 8", {"a.b": 4, "c": 2}, False),
        ("1 < c <= 2 and not a.b == 3", {"a.b": 4, "c": 2}, True),
        ("1 < c <= 2 or a.b % 3 == 0", {"a.b": 3, "c": 1}, True),
        ("a.b in ['x', 'y'] and -c // 2 != 1", {"a.b": "y", "c": 2}, True),
        ("a.b not in ('x', 'y')", {"a.b": "y", "c": 2}, False),
        ("(a.b - c) / 2 >= 1.5", {"a.b": 5, "c": 2}, True),
    ],
)
def test_conditions(text: str, values: dict[str, Any], holds: bool) -> None:
    assert bool(condition(text, values).value(values)) is holds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.c < 1", "did you mean 'a.b'"),
        ("a.b <", "is no condition"),
        ("a.b ** 9 ** 9 ** 9 > 1", "is no condition"),
        ("__import__('os').system('x')", "is no condition"),
        ("open('x')", "is no condition"),
        ("[x for x in a.b]", "is no condition"),
        ("a.b < 'x'", "not supported"),
        ("1 / (a.b - a.b) > 1", "division by zero"),
        ("", "is no condition"),
    ],
)
def test_what_is_no_condition_is_refused(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        condition(text, {"a.b": 1}).value({"a.b": 1})


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"axes": {"engine.sib": [1]}}, "did you mean 'engine.sib_kib'"),
        ({"axes": {"gpu.engine.sib_kib": [1]}}, "did you mean 'engine.sib_kib'"),
        ({"sets": {"workload.bach": 1}}, "did you mean 'workload.batch'"),
        ({"run": None, "net": "lenet", "axes": {"kernels.dense": ["a"]}}, "kernels.dense: unknown path"),
    ],
)
def test_a_path_that_is_not_there_is_named_with_the_nearest(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        check_paths(spec(**values))


def test_any_path_may_be_an_axis(tmp_path: Path) -> None:
    here = tmp_path / "sweep.yaml"
    axes = {"config": ["layerA", "layerC"], "kernels.dense": ["sgemm_wide"], "gpu.l2.size_kib": [1024]}
    axes |= {"gpu": ["r9nano"], "run.engine": ["off"]}
    found = spec(axes=axes)
    check_paths(found)
    work, _ = prepared(found, list_points(found)[1], here)
    sets = ["gpu=r9nano", "gpu.l2.size_kib=1024", "kernels.dense=sgemm_wide", "run.engine=off"]
    assert work.configuration == load_run("layerC", sets).resolved()
    axes = {"network": ["cifarnet"], "layers": ["conv1"], "batch": [2], "gpu": ["r9nano"]}
    net = spec(run=None, net="lenet", axes=axes)
    check_paths(net)
    work, _ = prepared(net, list_points(net)[0], here)
    assert (work.kind, work.batch, work.gpu, work.title) == ("net", 2, "R9 Nano", "cifarnet, inference, batch 2, conv1")


@pytest.mark.parametrize(
    "values", [{"batch": 0}, {"phase": "trains"}, {"data": "x"}, {"layers": "conv9"}, {"gpu": "m6"}]
)
def test_a_point_of_a_network_that_cannot_be(values: dict[str, Any], tmp_path: Path) -> None:
    net = spec(run=None, net="lenet", axes={name: [value] for name, value in values.items()})
    with pytest.raises(UserError, match=next(iter(values)) if "gpu" not in values else "m6"):
        prepared(net, list_points(net)[0], tmp_path / "s.yaml")[1].run()


def test_options_make_a_sweep_of_any_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found, _ = load_sweep("layerB", SweepOverrides((f"{SIB}=4,8", "workload.batch=2", "gpu.name=[a]")))
    assert found.kind == "run" and found.varied.endswith("layerB.yaml")
    assert (found.axes, found.sets) == ({SIB: [4, 8]}, {"workload.batch": 2, "gpu.name": ["a"]})
    assert load_sweep("lenet", SweepOverrides(("batch=1,2",)))[0].kind == "net"
    assert load_sweep("vector_add", SweepOverrides(("gpu=mi6,r9nano",)))[0].kind == "exec"
    (tmp_path / "s.yaml").write_text(yaml.safe_dump({"run": "layerB", "axes": {SIB: [1, 2], BUFFER: [3, 4]}}))
    over, _ = load_sweep("s.yaml", SweepOverrides((f"{SIB}=7", f"{BUFFER}=5,6"), "random", 3, 9))
    assert (over.axes, over.sets) == ({BUFFER: [5, 6]}, {SIB: 7})
    assert (over.method, over.points, over.seed) == ("random", 3, 9)


@pytest.mark.parametrize(
    ("name", "sets", "said"),
    [
        ("layerB", (), "nothing is varied"),
        ("layrB", (), "no such configuration file"),
        ("mi6", (), "is a GPU, not a sweep"),
        ("layerB", ("engine.sib_kib",), "expected path=value"),
        ("layerB", ("engine.sib_kib=",), "there is no value"),
        ("layerB", ("engine.sib_kib=4,]",), "with YAML values"),
        ("sib_prefetch", ("axes.x=1,2",), "axes.x: unknown path"),
    ],
)
def test_what_is_no_sweep_says_so(name: str, sets: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        check_paths(load_sweep(name, SweepOverrides(sets))[0])


def test_an_axis_of_an_option_stands_where_the_file_s_did() -> None:
    file, _ = load_sweep("sib_prefetch", SweepOverrides())
    for place, path in enumerate(file.axes):
        found, _ = load_sweep("sib_prefetch", SweepOverrides(axes={path: [1, 2], "workload.batch": [3, 4]}))
        assert list(found.axes) == [*file.axes, "workload.batch"] and found.axes[path] == [1, 2], place
    with pytest.raises(UserError, match=r"sets: engine.sib_kib: \[4, 8\] is no value of this axis, as 16 is"):
        load_sweep("sib_prefetch", SweepOverrides(fixed={SIB: [4, 8]}))
    found, _ = load_sweep("sib_prefetch", SweepOverrides(fixed={SIB: 4}))
    assert list(found.axes) == [path for path in file.axes if path != SIB]


def test_the_same_axes_in_another_order_are_another_sweep() -> None:
    """Their points have other numbers."""

    def identity(found: SweepSpec) -> str:
        return SweepRunner(found, Path("x"), *[None] * 4).identity  # type: ignore[arg-type]

    turned = spec(axes={BUFFER: [1, 2, 3], SIB: [4, 8]})
    assert list_points(turned) != list_points(spec())
    assert identity(turned) != identity(spec()) == identity(spec(title="other"))


@pytest.mark.parametrize("name", files.shipped("sweeps"))
def test_the_points_of_shipped_sweeps_can_be(name: str) -> None:
    found, document = load_sweep(name, SweepOverrides())
    check_paths(found)
    points = list(islice(random_points(found, 1), 8)) if found.method == "search" else list_points(found)
    assert len(points) > 1
    for point in (points[0], points[len(points) // 2], points[-1]):
        prepared(found, point, document.path)


def test_a_sweep_is_not_taken_for_a_run() -> None:
    with pytest.raises(UserError, match="use gpusim sweep"):
        load_run(str(files.SHIPPED / "sweeps" / "sib_prefetch.yaml"))


@pytest.mark.parametrize("text", ["c * 4000000000 == 'b'", "'%9999999999d' % a.b == 'b'", "[1] * 1000000000 == 2"])
def test_texts_and_lists_are_not_multiplied(text: str) -> None:
    values = {"a.b": 1, "c": "a"}
    with pytest.raises(UserError, match="texts and lists can be joined by \\+ alone"):
        bool(condition(text, values).value(values))


def test_texts_can_be_joined() -> None:
    values = {"a": "x", "b": "y"}
    assert condition("a + b == 'xy'", values).value(values)
