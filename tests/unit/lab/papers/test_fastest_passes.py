"""Does a system that may choose take the fastest way for each pass, so that it never loses by a way that loses?"""

from pathlib import Path
from typing import Any

import pytest

from gpusim.base.errors import UserError
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import NetworkPointRecord
from tests.support.network_reproduction import INDEX, network, results_of, written
from tests.unit.lab.papers.test_seconds_to_accuracy import run, with_energy

FIGURE = """
kind: fastest_iterations
title: Iterations
source: Figure 9
gpus: [1]
batches: [2]
ways: [plain, lowered]
measures:
  time: {of: kernel.time_us}
  energy: {of: energy.total_uj}
systems:
  dense: [plain]
  either: [plain, lowered]
  forced: [lowered]
pairs: [[either, dense], [either, forced], [forced, dense]]
claims:
  - {text: choice wins, own: a test asks, measure: gain, aggregation: each, where: {of: either}, bound: {above: 1}}
"""
OF_ITERATIONS = INDEX[: INDEX.index("answers:")] + "figures: [iterations]\n"


def publication_of(folder: Path, of_point: Any = run, text: str = FIGURE) -> Publication:
    reproduction = load_reproduction(str(written(folder, OF_ITERATIONS, iterations=text)))
    return Publication(reproduction, results_of(reproduction, of_point))


def gains(publication: Publication) -> dict[tuple[str, str], Any]:
    records = publication.figures["iterations"].records(publication)  # type: ignore[attr-defined]
    return {(one.labels["of"], one.labels["over"]): one for one in records}


def test_each_pass_takes_the_fastest_way(tmp_path: Path) -> None:
    found = gains(publication_of(tmp_path))
    assert {pair: one.values["gain"] for pair, one in found.items()} == {
        ("either", "dense"): 2,  # 120 over 60 us
        ("either", "forced"): 1.5,
        ("forced", "dense"): pytest.approx(120 / 90),
    }
    # convolution lowered, 30 us at 5 uJ; ReLU as it is, 30 us at 2 uJ
    assert found["either", "dense"].values["energy_gain"] == pytest.approx(240 / 210)
    width = 2 * ((2 / 120) ** 2 + (2 / 60) ** 2) ** 0.5
    assert found["either", "dense"].half_widths["gain"] == pytest.approx(width), "ReLU's two passes are the same"


def test_a_way_that_loses_everywhere_changes_nothing(tmp_path: Path) -> None:
    def slower(point: Any) -> NetworkPointRecord:
        return run(point) if point.way == "plain" else with_energy(network(90, 90, images=2, width=1.0), 5.0)

    publication = publication_of(tmp_path, slower)
    choice = gains(publication)["either", "dense"]
    assert (choice.values["gain"], choice.half_widths["gain"]) == (1, 0)
    iterations, _, passes = publication.figures["iterations"].tables(publication)
    assert len(iterations.rows) == 3 and {row[5] for row in passes.rows if row[4] == "either"} == {"plain"}


def test_tables_name_the_ways_where_systems_differ(tmp_path: Path) -> None:
    publication = publication_of(tmp_path)
    iterations, ratios, passes = publication.figures["iterations"].tables(publication)
    assert [row[2] for row in iterations.rows] == ["dense", "either", "forced"]
    assert ratios.rows[0][4].startswith("2.00× ± ")
    assert ("conv1", "forward", "either", "lowered") in {tuple(row[2:6]) for row in passes.rows}
    assert publication.figures["iterations"].picture(publication) is not None


def test_a_system_whose_way_has_not_run_is_compared_with_none(tmp_path: Path) -> None:
    publication = publication_of(tmp_path, lambda point: run(point) if point.way == "plain" else None)
    assert not gains(publication)
    assert len(next(iter(publication.figures["iterations"].tables(publication))).rows) == 1


def test_a_way_in_which_a_network_is_not_run_is_none_of_a_system(tmp_path: Path) -> None:
    index = OF_ITERATIONS.replace("[1, 2]}", "[1, 2], ways: [plain]}")
    assert index != OF_ITERATIONS
    reproduction = load_reproduction(str(written(tmp_path, index, iterations=FIGURE)))
    figure = reproduction.figures["iterations"]
    assert {point.way for point in figure.points(reproduction)} == {"plain"}
    found = gains(Publication(reproduction, results_of(reproduction, run)))
    assert {pair: one.values["gain"] for pair, one in found.items()} == {("either", "dense"): 1}
    with pytest.raises(UserError, match=r"networks.*ways: .*did you mean 'plain'"):
        load_reproduction(str(written(tmp_path, index.replace("ways: [plain]", "ways: [plan]"), iterations=FIGURE)))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("either: [plain, lowered]", "either: [plain, lower]", r"systems.either: .*did you mean 'lowered'"),
        ("[forced, dense]]", "[forced, dens]]", r"pairs: .*did you mean 'dense'"),
        ("  energy: {of: energy.total_uj}\n", "", "measures: must be 'time' in microseconds and 'energy'"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, old: str, new: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        publication_of(tmp_path, text=FIGURE.replace(old, new))
