"""Are measurements of a real GPU read, shown and judged?"""

import json
from pathlib import Path

import pytest

from gpusim.base.errors import UserError
from gpusim.lab.monitor.overhead import expected_share
from gpusim.lab.papers.publication import Publication, Reproduction
from gpusim.lab.papers.records import ReproductionResults
from tests.support.reproduction import INDEX, judged, loaded

NOTHING = ReproductionResults("test", {})
LIBRARIES = """
kind: libraries
title: Libraries
source: Figure 3
measured: found.json
claims:
  - text: conversion
    said: 75 %
    own: a test asks
    aggregation: mean
    measure: conversion_share
    where: {data: 50% zeros}
    value: {value: 0.75, tolerance: 0.1, basis: assumed}
"""
OVERHEADS = """
kind: overheads
title: Overheads
source: Table 6
measured: {VGGNet-11: [host.json, device.json]}
claims:
  - text: less than a tenth
    own: a test asks
    aggregation: each
    measure: measured_exhaustive
    bound: {below: 0.1, basis: assumed}
"""


def monitored(place: str, exhaustive: float) -> str:
    """As `gpusim monitor --train` writes it, what is read of it."""
    return json.dumps(
        {
            "plan": {"batch": 7, "iterations": 11, "place": place},
            **{
                "device": "a card",
                "plain_s": 0.002,
                "exhaustive_s": 0.003,
                "monitored_s": 0.005,
                "share_measured": 0.13,
            },
            "overhead": {"exhaustive": exhaustive, "monitored": 1.5},
        }
    )


@pytest.fixture(name="reproduction")
def _reproduction(tmp_path: Path) -> Reproduction:
    folder = tmp_path / "test"
    folder.mkdir()
    times = {"zeros": 0.5, "dense_us": 30.0, "sparse_us": 20.0, "conversion_us": {"one": 60.0, "other": 20.0}}
    found = {"device": "a card", "versions": {"torch": "1"}, "shape": [64, 18_432, 1600], "times": [times]}
    (folder / "found.json").write_text(json.dumps(found))
    (folder / "host.json").write_text(monitored("host", 0.5))
    (folder / "device.json").write_text(monitored("device", 0.05))
    return loaded(tmp_path, INDEX.replace("place]", "place, three, six]"), three=LIBRARIES, six=OVERHEADS)


def shown(reproduction: Reproduction, figure: str, name: str = "") -> list[dict]:
    held = reproduction.figures[figure]
    table = next(one for one in held.tables(Publication(reproduction, NOTHING)) if one.name == name)
    return [dict(zip([c.name for c in table.columns], row, strict=True)) for row in table.rows]


def test_libraries_are_shown_by_what_converts(reproduction: Reproduction) -> None:
    first, second = shown(reproduction, "three")
    assert first["conversion's share"] == 0.75 and first["speed-up, with conversion"] == 30 / 80
    assert second["conversion's share"] == 0.5 and second["speed-up, product alone"] == 1.5


def test_the_first_measurement_is_the_cost_and_all_are_shown(reproduction: Reproduction) -> None:
    vgg, resnet = shown(reproduction, "six")[:2]
    assert vgg["exhaustive, measured"] == 0.5 and resnet["exhaustive, measured"] is None
    assert vgg["monitor, at that cost"] == pytest.approx(0.5 * expected_share(50_000))
    times = shown(reproduction, "six", "measured")
    assert [one["counted on the"] for one in times] == ["host", "device"]
    assert times[0]["an iteration, ms"] == 2.0 and times[0]["of them measured"] == 0.13


def test_what_was_measured_is_judged(reproduction: Reproduction) -> None:
    verdicts = {
        figure: [claim.verdicts["ours"].state for claim in judged(reproduction, NOTHING) if claim.figure == figure]
        for figure in ("three", "six")
    }
    assert verdicts == {"three": ["does not"], "six": ["does not"]}


def test_a_measurement_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"three\.yaml: measured: .*found\.json: there is no such file"):
        loaded(tmp_path, INDEX.replace("place]", "place, three]"), three=LIBRARIES)
