"""Are a publication's files read, checked, and made points of?"""

from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.config.files import shipped
from gpusim.lab.papers.figures.layers import metric_paths
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.plan import plan_points, together
from gpusim.lab.papers.points import shape_of
from gpusim.lab.papers.records import _PATHS
from gpusim.lab.papers.specs.reproduction import FOLDER
from gpusim.results import metrics
from tests.support.daily import parametrize_daily
from tests.support.reproduction import CACHE, INDEX, PLACE, SPEED, TRAIN, loaded

# an hour, half of one for captured maps beside uniform zeros, half of one for products with A in registers, which the
# sampler runs whole
TWO_CORES_S = 2 * 2.0 * 3600.0


LARGE = ("spartan.yaml", "spartan-networks.yaml")  # the others are of products and of networks too


@parametrize_daily("name", shipped(FOLDER), [n for n, name in enumerate(shipped(FOLDER)) if name not in LARGE])
def test_a_shipped_publication_has_points_that_can_be_run(name: str) -> None:
    reproduction = load_reproduction(name)
    plan = plan_points(reproduction, reproduction.figures)
    if reproduction.spec.runs is not None:
        assert {one.point.network for one in plan.points.values()} and metric_paths(reproduction)
        return
    run_ = {name for name, way in reproduction.spec.paths.items() if not way.made_of}
    assert run_ == {one.point.labels["path"] for one in plan.points.values()}
    assert together(one.parts for one in plan.points.values()) <= TWO_CORES_S, (
        "sampled, it is to take two hours on two cores"
    )
    for one in plan.points.values():
        run = one.config.run
        sampled = reproduction.spec.paths[one.point.labels["path"]].sampled
        assert run.verify == (not sampled) and (run.sampling is not None) == (sampled and not run.perturbation)


def test_exact_points_are_simulated_in_whole_and_compared(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    runs = [one.config.run for one in plan_points(reproduction, reproduction.figures, exact=True).points.values()]
    assert all(run.sampling is None and run.verify for run in runs)


def test_a_kernel_whose_work_is_not_known_before_is_estimated_whole() -> None:
    """The sparse kernel with A in registers jumps by what it loads: the sampler runs it whole."""
    spartan = load_reproduction("spartan")
    sampled, whole = (plan_points(spartan, {"6.17": spartan.figures["6.17"]}, exact).points for exact in (False, True))
    place, zeros = "conv5 128", "65% zeros"
    for way in ("engine", "software", "chosen", "source_engine"):
        assert sampled[f"{place} {zeros} {way}"].seconds == whole[f"{place} {zeros} {way}"].seconds, way
    for way in ("best", "source_dense", "same_tile"):
        assert sampled[f"{place} any {way}"].seconds < whole[f"{place} any {way}"].seconds, way


def test_points_are_cases_by_batches_by_data_by_ways(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    plan = plan_points(reproduction, reproduction.figures)
    speed = plan.by_figure["speed"]
    assert len(speed) == 2 * 2 * (2 + 2 * 3), "ways that do not skip zeros run once for all data"
    assert set(plan.by_figure["cache"]) < set(speed), "points of one name are one run"
    assert plan.by_figure["train"] == ()
    one = plan.points["one 2 most engine"].config
    assert (one.workload.batch, one.workload.sparsity, one.run.engine, one.kernels.sparse) == (
        2, 0.9, "on", "sgemm_dib_tiled",
    )  # fmt: skip
    assert plan.points["one 2 any old"].config.run.engine == "off"
    assert shape_of(one).n == 18 and shape_of(one, batch=4).n == 36


def test_a_map_lays_both_axes_over(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    point = plan_points(reproduction, reproduction.figures).points["one 1 half engine 2 1024"].config
    assert (point.gpu.shader_arrays, point.gpu.l2.size_kib, point.engine.sib_kib) == (2, 1024, 64)


def test_a_table_s_layer_is_taken_by_its_name(tmp_path: Path) -> None:
    text = SPEED.replace(
        "one: {run: layerC, sets: {",
        "one: {layer: alexnet/conv3, sets: {workload.batch: 1}}\n  x: {run: layerC, sets: {",
    )
    reproduction = loaded(tmp_path, speed=text, cache=text)
    shape = shape_of(plan_points(reproduction, reproduction.figures).points["one 1 any best"].config)
    assert (shape.m, shape.n, shape.k) == (384, 169, 1728)


VALUE = "value: {value: 2, tolerance: 0.1, basis: assumed}"


@pytest.mark.parametrize(
    ("index", "figures", "message"),
    [
        (INDEX.replace("path: theirs", "path: thiers"), {}, "source: unknown path 'thiers'; did you mean 'theirs'"),
        (INDEX.replace("[speed, ", "[sped, "), {}, "there is no such figure; did you mean 'speed'"),
        (INDEX.replace("figures:", "figurs:"), {}, "figurs"),
        (INDEX, {"speed": SPEED.replace("best, old", "best, olt")}, "unknown path 'olt'; did you mean 'old'"),
        (INDEX, {"speed": SPEED.replace("normalized_to: best", "normalized_to: bast")}, "did you mean 'best'"),
        (INDEX, {"speed": SPEED.replace("run: layerC", "layer: alexnet/conv9", 1)}, "unknown layer 'conv9'"),
        (INDEX, {"speed": SPEED.replace("run: layerC, ", "", 1)}, "one of run and layer"),
        (INDEX, {"speed": SPEED.replace(VALUE, "bound: {above: 1, below: 2}")}, "one of above and below"),
        (INDEX, {"speed": SPEED.replace(VALUE, "")}, "one of value, bound, order"),
        (INDEX, {"speed": SPEED.replace("    place: page 1\n", "")}, "a claim has quote and place"),
        (INDEX, {"speed": SPEED.replace("place: page 1", "own: a test asks")}, "or else own: why it is asked"),
        (INDEX, {"speed": SPEED.replace("quote:", "quota:")}, "unknown key; did you mean 'quote'"),
        (INDEX, {"speed": SPEED.replace("of ratios", "of rations")}, "did you mean 'mean of ratios'"),
        (INDEX, {"speed": SPEED.replace("    aggregation: mean of ratios\n", "")}, "aggregation: is required"),
        (INDEX, {"speed": SPEED.replace("aggregation: each", "aggregation: mean")}, "of a value or a bound"),
        (INDEX, {"speed": SPEED.replace(", basis: assumed", "")}, "basis: is required but missing"),
        (INDEX, {"speed": SPEED.replace(VALUE, "bound: {above: 3}")}, "basis: is required of a bound other"),
        (INDEX, {"place": PLACE.replace("batches: [1]", "batches: [1, 2]")}, "one case, one batch"),
        (INDEX, {"train": TRAIN.replace("figure: speed", "figure: place")}, "'place' is no figure of speed-ups"),
        (INDEX, {"train": "kind: curve\ntitle: t\nsource: s\n"}, "curve"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(tmp_path: Path, index: str, figures: dict[str, str], message: str) -> None:
    with pytest.raises(UserError) as error:
        loaded(tmp_path, index, **figures)
    assert message in str(error.value)


def test_a_point_s_configuration_is_checked_and_named(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path, speed=SPEED.replace("workload.sparsity: 0.9", "workload.sparsity: 1.5"))
    with pytest.raises(UserError, match=r"one 1 most soft: .*sparsity"):
        plan_points(reproduction, reproduction.figures)


def test_two_points_of_one_name_must_be_the_same(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path, cache=CACHE.replace("sparsity: 0.5", "sparsity: 0.6"))
    with pytest.raises(UserError, match="cache: 'one 1 half engine' is another point"):
        plan_points(reproduction, reproduction.figures)


def test_a_figure_is_chosen_by_name(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    assert list(reproduction.chosen(["place", "speed"])) == ["speed", "place"]
    with pytest.raises(UserError, match="--only plase: unknown figure 'plase'; did you mean 'place'"):
        reproduction.chosen(["plase"])


def test_what_is_kept_of_a_run_are_metrics() -> None:
    assert [path for path in sorted(_PATHS) if metrics.describe(path) is None] == []
