"""Does the command that runs publications' points alone and together see what it should?"""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpusim.lab.papers.plan import plan_points
from tests import equal_points
from tests.support.network_reproduction import loaded


def test_what_a_run_cost_the_host_is_no_digit() -> None:
    content = {"records": [{"setup_s": 1.5, "values": {"macs": 3, "spent_s": 2.0}, "launches": [["k", True, False]]}]}
    assert equal_points.digits_of(content) == {"records": [{"values": {"macs": 3}, "launches": [["k"]]}]}


@pytest.mark.nightly  # the command's own run; tests/system/test_equal_launches.py holds the law
def test_points_of_a_publication_have_the_same_digits_alone_and_together(tmp_path: Path) -> None:
    reproduction = loaded(tmp_path)
    points = list(plan_points(reproduction, reproduction.figures).points.values())
    assert equal_points.differing_points(points[:2], jobs=1) == {}


def test_points_that_differ_or_fail_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    points: list[Any] = [SimpleNamespace(key=key) for key in "abc"]

    def run_points(chosen: Sequence[Any], store: Path, jobs: int) -> dict[str, Any]:
        """What b finds depends on what else is run; c fails."""
        return {one.key: None if one.key == "c" else one.key == "b" and len(chosen) for one in chosen}

    monkeypatch.setattr(equal_points, "run_points", run_points)
    assert equal_points.differing_points(points, jobs=1) == {
        "b": ": 1 alone, 3 together",
        "c": "nothing alone and together",
    }
    assert equal_points.first_difference({"a": [1, None]}, {"a": [1, 2.0]}) == ".a[1] nothing alone"
