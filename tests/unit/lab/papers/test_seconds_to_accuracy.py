"""Are seconds to an accuracy the fastest passes' times, times the steps of the recorded trainings?"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.base.student import interval
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.network_points import NetworkPoint
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import NetworkPointRecord
from tests.support.network_reproduction import INDEX, network, results_of, written

FIGURE = """
kind: seconds_to_accuracy
title: Seconds
source: Figure 9
networks: [net]
gpus: [1]
ways: [plain, lowered]
images: 20
accuracies: [0.5, 0.8]
measures:
  time: {of: kernel.time_us}
  energy: {of: energy.total_uj}
systems:
  dense: {trainings: [a.csv, b.csv], ways: [plain]}
  faster: {trainings: [a.csv, b.csv], ways: [plain, lowered]}
  other: {trainings: [c.csv, a.csv], ways: [lowered]}
claims:
  - {text: all are faster, own: a test asks, measure: gain, aggregation: each, bound: {above: 1}}
"""
ONE_BATCH = INDEX.replace("batches: [1, 2]", "batches: [2]").replace("[time, gain]", "[seconds]")
ONE_BATCH = ONE_BATCH[: ONE_BATCH.index("answers:")] + ONE_BATCH[ONE_BATCH.index("figures:") :]


def curve(folder: Path, name: str, accuracies: list[float]) -> None:
    rows = [f"{epoch},{epoch * 10},1.0,0.5,{value}" for epoch, value in enumerate(accuracies, start=1)]
    (folder / name).write_text("\n".join(["epoch,steps,train_loss,train_accuracy,test_accuracy", *rows]) + "\n")


def figure_of(folder: Path, text: str = FIGURE) -> Any:
    path = written(folder, ONE_BATCH, seconds=text)
    # the mean of three epochs is first at 0.5 in epoch 5: the single 0.8 of the second is chance
    curve(folder / "nets", "a.csv", [0.1, 0.8, 0.2, 0.4, 0.9, 0.9])
    curve(folder / "nets", "b.csv", [0.6, 0.6, 0.6, 0.6, 0.9, 0.9])
    curve(folder / "nets", "c.csv", [0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    return load_reproduction(str(path))


def with_energy(record: NetworkPointRecord, of_time: float) -> NetworkPointRecord:
    """The record with an energy of so many microjoules a microsecond."""
    rows = [
        replace(row, metrics={**row.metrics, "energy.total_uj": of_time * row.metrics["kernel.time_us"]})
        for row in record.rows
    ]
    return replace(record, rows=rows)


def run(point: NetworkPoint) -> NetworkPointRecord:
    """As it is, the convolution takes 30 us forward and 60 backward; lowered 10 and 20, but the ReLU twice as long."""
    if point.way == "plain":
        return with_energy(network(30, 10, images=2, width=1.0), 2.0)
    return with_energy(network(10, 20, images=2, width=1.0), 5.0)


def test_each_pass_takes_the_fastest_way(tmp_path: Path) -> None:
    reproduction = figure_of(tmp_path)
    publication = Publication(reproduction, results_of(reproduction, run))
    records = {
        (one.labels["system"], one.labels["accuracy"]): one
        for one in reproduction.figures["seconds"].records(publication)
    }
    times = {name: records[name, "0.5"].values["iteration_us"] for name in ("dense", "faster", "other")}
    assert times == {"dense": 120, "faster": 60, "other": 90}
    assert records["faster", "0.5"].half_widths["iteration_us"] == 4.0, "widths of four passes"
    steps = 10  # twenty images, two a batch
    dense = records["dense", "0.5"]
    mean, width = interval([5, 1])
    assert dense.values["epochs"] == mean and dense.half_widths["epochs"] == width
    assert dense.values["seconds"] == pytest.approx(mean * steps * 120e-6)
    # convolution lowered (30 us at 5 uJ), ReLU as it is (30 us at 2 uJ)
    assert records["faster", "0.5"].values["joules"] == pytest.approx(mean * steps * (30 * 5 + 30 * 2) * 1e-6)


def test_the_same_trainings_scatter_cancels_in_their_ratio(tmp_path: Path) -> None:
    reproduction = figure_of(tmp_path)
    publication = Publication(reproduction, results_of(reproduction, run))
    records = [one for one in reproduction.figures["seconds"].records(publication) if one.labels["accuracy"] == "0.5"]
    dense, faster, other = records
    assert "gain" not in dense.values and faster.values["gain"] == 2
    assert faster.half_widths["gain"] == pytest.approx(2 * ((2 / 120) ** 2 + (2 / 60) ** 2) ** 0.5), (
        "ReLU's two are the same"
    )
    assert other.values["gain"] == pytest.approx(dense.values["seconds"] / other.values["seconds"])
    assert other.half_widths["gain"] > other.values["gain"] * dense.half_widths["epochs"] / dense.values["epochs"]
    assert other.values["epochs_over_first"] == pytest.approx(interval([1, 5])[0] / interval([5, 1])[0])


def test_an_accuracy_that_a_seed_misses_has_no_seconds(tmp_path: Path) -> None:
    reproduction = figure_of(tmp_path)
    publication = Publication(reproduction, results_of(reproduction, run))
    figure = reproduction.figures["seconds"]
    missed = [one for one in figure.records(publication) if one.labels["accuracy"] == "0.8"][2]
    assert missed.values["reached"] == 0 and not {"seconds", "gain", "epochs"} & set(missed.values)
    (table,) = figure.tables(publication)
    assert "0 of 2" in table.rows[-1] and figure.picture(publication) is not None


def test_a_system_whose_way_has_not_run_is_left_out(tmp_path: Path) -> None:
    reproduction = figure_of(tmp_path)
    results = results_of(reproduction, lambda point: run(point) if point.way == "plain" else None)
    records = reproduction.figures["seconds"].records(Publication(reproduction, results))
    assert {one.labels["system"] for one in records} == {"dense"}


def test_energy_of_compute_units_has_the_uncertainty_of_its_factor(tmp_path: Path) -> None:
    text = FIGURE.replace("measures:\n", "measures:\n  compute: {of: kernel.cycles, factor: 0.002, uncertainty: 0.5}\n")
    reproduction = figure_of(tmp_path, text)
    dense, *_ = reproduction.figures["seconds"].records(Publication(reproduction, results_of(reproduction, run)))
    mean, width = interval([5, 1])
    joules = mean * 10 * 120e3 * 0.002 * 1e-6  # 120 us at 1,000 cycles a microsecond, 10 steps an epoch
    assert dense.values["compute_joules"] == pytest.approx(joules)
    assert dense.half_widths["compute_joules"] == pytest.approx(joules * ((width / mean) ** 2 + 0.5**2) ** 0.5)
    assert dense.values["joules"] == pytest.approx(mean * 10 * 240e-6), "of the memory system alone, as before"
    relative = ((width / mean) ** 2 + (dense.half_widths["iteration_us"] / 120) ** 2) ** 0.5
    assert dense.half_widths["seconds"] == pytest.approx(dense.values["seconds"] * relative), "not the factor's"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("ways: [plain]}", "ways: [plan]}", r"systems.dense.ways: .*did you mean 'plain'"),
        ("  energy: {of: energy.total_uj}\n", "", "measures: must be 'time' in microseconds and 'energy'"),
        ("b.csv], ways: [plain]", "d.csv], ways: [plain]", "d.csv: there is no such file"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        figure_of(tmp_path, FIGURE.replace(old, new))
