"""Do figures of ways, of trainings' curves and of several GPUs say what their numbers say?"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.lab.papers.claims import FAILS, HOLDS, UNDECIDED
from gpusim.lab.papers.network_points import NetworkPoint
from gpusim.lab.papers.plan import STARTED_S, plan_points, together
from gpusim.lab.papers.publication import Publication, Reproduction
from gpusim.lab.papers.records import NetworkPointRecord, ReproductionResults
from tests.support.network_reproduction import INDEX, loaded, network, results_of
from tests.support.reproduction import judged

WAYS = INDEX.replace("figures: [time, gain]", "figures: [time, gain, more]")
RATIO = """
kind: layer_ratios
title: Ratio
source: Figure 3
gpus: [1]
batches: [2]
ways: [plain, lowered]
label: way
pairs: [[plain, lowered]]
measures: {time: {of: kernel.time_us}}
claims:
  - text: it is faster
    own: a test asks
    aggregation: each
    measure: time
    where: {layer: conv1, kind: convolution}
    bound: {above: 1}
"""
SCALING = """
kind: scaling
title: Several GPUs
source: Figure 4
gpus: [1]
batches: [2]
ways: [plain, lowered]
training: training.yaml
gpus_trained: [1, 2]
claims:
  - text: it is faster
    own: a test asks
    aggregation: each
    measure: speedup
    where: {way: lowered, gpus: 2}
    bound: {above: 1}
"""
TRAINING = "{network: net.yaml, batch: 2, gpu: mi6, storage: nvme, dataset: {resident: true}}"
MEMORY = """
kind: layer_memory
title: Memory
source: Figure 6
by: way
batches: [2]
ways: [plain, lowered]
"""
LEARNING = """
kind: learning
title: Accuracy
source: Figure 5
trainings: {dense: [a.csv, b.csv, c.csv], blocks: [d.csv, e.csv, f.csv]}
claims:
  - text: little is lost
    own: a test asks
    aggregation: each
    measure: accuracy_lost
    where: {weights: blocks}
    bound: {below: 0.04, basis: assumed}
"""


def values(reproduction: Reproduction, results: ReproductionResults) -> list[Any]:
    return list(reproduction.figures["more"].values(Publication(reproduction, results)))


def twice_as_fast(point: NetworkPoint) -> NetworkPointRecord:
    """A way that halves all times, by layers of a kind of their own."""
    if point.way == "plain":
        return network(30, 10)
    made = network(15, 5)
    return replace(made, rows=[replace(row, kind="another_kind") for row in made.rows])


def test_ways_are_compared_though_their_layers_are_of_other_kinds(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path, WAYS, more=RATIO)
    results = results_of(reproduction, twice_as_fast)
    assert [one.value for one in values(reproduction, results)] == [2.0] * 4
    claim = next(one for one in judged(reproduction, results) if one.figure == "more")
    assert claim.verdicts["mi6"].state == HOLDS, "the kind is that of the way which is divided"


def test_a_way_with_the_engine_is_run_with_it(tmp_path: Path) -> None:
    index = WAYS.replace("{title: plain}", "{title: plain, engine: true}")
    reproduction = loaded(tmp_path, index, more=RATIO)
    points = plan_points(reproduction, {"more": reproduction.figures["more"]}).points
    engines = {key: one.task(tmp_path).arguments[2].engine for key, one in points.items()}
    assert engines == {"net 2 mi6 plain": "on", "net 2 mi6 lowered": "off"}


def test_an_iteration_on_several_gpus_waits_for_its_gradients(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets" / "training.yaml").write_text(TRAINING)
    (tmp_path / "nets" / "net.yaml").write_text("base: unused")
    reproduction = loaded(tmp_path, WAYS, more=SCALING)
    found = values(reproduction, results_of(reproduction, twice_as_fast))
    held = {(one.measure, one.labels["way"], one.labels["gpus"]): one.value for one in found}
    # directions of the made-up run: conv1 30 + 60 us, fc1's backward pass 10 us
    assert held["iteration_ms", "plain", "1"] == pytest.approx(0.1, rel=0.01)
    assert held["speedup", "lowered", "1"] == pytest.approx(2, rel=0.01)
    assert held["exposed_ms", "plain", "1"] == 0 < held["exposed_ms", "plain", "2"]
    assert held["speedup", "lowered", "2"] < 1.9, "the sum of gradients is as long for both"


def curves(folder: Path, name: str, losses: list[float], accuracies: list[float]) -> None:
    held = enumerate(zip(losses, accuracies, strict=True), start=1)
    rows = [f"{n},{loss},{acc + 0.05},{acc}" for n, (loss, acc) in held]
    (folder / "nets" / name).write_text("\n".join(["epoch,train_loss,train_accuracy,test_accuracy", *rows]) + "\n")


def learning(folder: Path, accuracies: list[float]) -> tuple[Reproduction, ReproductionResults]:
    (folder / "nets").mkdir(exist_ok=True)
    for name, accuracy in zip("abc", (0.7, 0.8, 0.9), strict=True):
        curves(folder, f"{name}.csv", [3.0, 2.0, 1.0], [0.1, 0.5, accuracy])
    for name, accuracy in zip("def", accuracies, strict=True):
        curves(folder, f"{name}.csv", [3.0, 2.8, 1.8], [0.1, 0.2, accuracy])
    return loaded(folder, WAYS, more=LEARNING), ReproductionResults("nets", {})


def test_curves_of_seeds_have_means_and_intervals(tmp_path: Path) -> None:
    reproduction, results = learning(tmp_path, [0.5, 0.5, 0.5])
    held = {
        (one.measure, one.labels["weights"]): one for one in values(reproduction, results) if one.comparison == "mi6"
    }
    dense = held["test_accuracy", "dense"]
    # Student's t with two degrees of freedom at 95 % is 4.3027; the deviation is 0.1
    assert (dense.value, dense.half_width) == (pytest.approx(0.8), pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-4))
    assert held["accuracy_lost", "blocks"].value == pytest.approx(0.3)
    assert held["train_accuracy", "blocks"].value == pytest.approx(0.55)
    assert held["fit_lost", "blocks"].value == pytest.approx(0.3) and held["fit_lost", "dense"].value == 0
    # half-way between 3 and 1: dense after two epochs, the other at 0.8 of the way from the second to the third
    assert held["epochs_over_first", "blocks"].value == pytest.approx((2 + 0.8) / 2)


def test_what_seeds_leave_open_is_undecided(tmp_path: Path) -> None:
    verdicts = {}
    for name, accuracies in {"lost": [0.3] * 3, "kept": [0.78] * 3}.items():
        (tmp_path / name).mkdir()
        reproduction, results = learning(tmp_path / name, accuracies)
        claim = next(one for one in judged(reproduction, results) if one.figure == "more")
        verdicts[name] = claim.verdicts["mi6"].state
    assert verdicts == {"lost": FAILS, "kept": UNDECIDED}


def test_a_file_that_has_no_curves_is_named(tmp_path: Path) -> None:
    reproduction, results = learning(tmp_path, [0.5] * 3)
    (tmp_path / "nets" / "b.csv").write_text("epoch,loss\n1,2\n")
    with pytest.raises(UserError, match=r"b\.csv: is no file of curves with columns epoch, train_loss, train"):
        values(reproduction, results)


def test_memory_of_ways_has_their_workspaces_and_parameters(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path, WAYS, more=MEMORY)
    results = ReproductionResults("nets", {})
    parameters = {one.value for one in values(reproduction, results) if one.measure == "parameters_mib"}
    assert parameters == {(3 * 2 * 3 * 3 + 3 * 3 * 3 * 3) * 4 / 2**20}, "two layers' weights, in four bytes each"
    planned = {one.labels["way"]: one.value for one in values(reproduction, results) if one.measure == "way_mib"}
    alone = [one for one in values(reproduction, results) if one.measure == "compression"]
    assert set(planned) == {"plain", "lowered"} and min(planned.values()) > 4 * parameters.pop()
    assert [one.value for one in alone] == [1.0] * len(alone) and len(alone) == 4


def test_what_ways_have_in_common_is_estimated_once(tmp_path: Path) -> None:
    more = "    again: {title: again, sets: {}}\n    engine: {title: zeros, engine: true, sets: {}}\n  sets: {training"
    index = WAYS.replace("  sets: {training", more)
    ratio = RATIO.replace("ways: [plain, lowered]", "ways: [plain, lowered, again, engine]")
    reproduction = loaded(tmp_path, index, more=ratio)
    points = plan_points(reproduction, {"more": reproduction.figures["more"]}).points
    alone = {point.labels["way"]: one for one in points.values() if (point := one.point)}

    def seconds(*ways: str) -> float:
        return together(alone[way].parts for way in ways)

    plain, started = alone["plain"].seconds, STARTED_S
    assert seconds("plain") == pytest.approx(plain) and plain > started
    assert seconds("plain", "again") == pytest.approx(plain + started), "the same launches"
    assert plain + started < seconds("plain", "lowered") < plain + alone["lowered"].seconds, "but for the convolution"
    assert seconds("plain", "engine") == pytest.approx(plain + alone["engine"].seconds), "other kernels than estimated"
