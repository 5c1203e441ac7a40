"""Does the search find the values that the points were made with, and say which of them the points determine?"""

from collections.abc import Sequence
from typing import Any

import pytest

from gpusim.lab.silicon.fit import fit
from gpusim.lab.silicon.measured import FitSpec, ProductPoint
from gpusim.lab.silicon.prediction import Prediction
from gpusim.lab.silicon.views import fit_table

LAUNCH_US = 12.5
POINTS = 40


def measured(index: int) -> ProductPoint:
    return ProductPoint("NN", 64, 64, 64 + index, LAUNCH_US + 20.0 * (index + 1), "kernel")


def model(values: dict[str, Any]) -> list[Prediction]:
    """Right where depth is 3 and wide is true, together; `idle` changes nothing."""
    out = []
    for index in range(POINTS):
        factor = 1.0 + 0.1 * abs(values["depth"] - 3) * (index % 2) + (0.0 if values["wide"] else 0.05)
        out.append(Prediction(measured(index), 20.0 * (index + 1) * factor, None, 1, 1, "valu", 0.5, 1.0))
    return out


class Runs:
    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def __call__(self, wanted: Sequence[dict[str, Any]]) -> list[list[Prediction]]:
        self.asked += wanted
        return [model(values) for values in wanted]


SPEC = FitSpec(launch_us=(0.0, 40.0), model={"depth": (1, 2, 3, 4), "wide": (False, True), "idle": ("lru", "fifo")})


def test_the_values_behind_the_points_are_found() -> None:
    found = fit(SPEC, Runs())
    assert found.values == {"depth": 3, "wide": True, "idle": "lru"}
    assert found.launch_us == LAUNCH_US and found.error == pytest.approx(0.0)
    low, high = found.launch_interval_us
    assert low <= LAUNCH_US <= high
    assert found.points == POINTS


def test_what_the_points_do_not_determine_is_said() -> None:
    excluded = {(t.path, t.value): t.excluded for t in fit(SPEC, Runs()).tried}
    assert excluded == {
        **{("depth", depth): depth != 3 for depth in (1, 2, 3, 4)},
        **{("wide", False): True, ("wide", True): False},
        **{("idle", "lru"): False, ("idle", "fifo"): False},
    }


def test_the_table_says_which_values_are_excluded() -> None:
    last = {row[0]: row[-1] for row in fit_table(fit(SPEC, Runs())).rows}
    assert last["depth = 1"] == "100 % of resamples, excluded"
    assert last["depth = 3"] == last["wide = true"] == last["idle = lru"] == "found"
    assert last["idle = fifo"] == "0 % of resamples"


def test_nothing_is_run_twice() -> None:
    runs = Runs()
    fit(SPEC, runs)
    assert len({tuple(values.items()) for values in runs.asked}) == len(runs.asked)


def test_compiled_kernels_have_a_launch_time_of_their_own() -> None:
    def alike(wanted: Sequence[dict[str, Any]]) -> list[list[Prediction]]:
        out = []
        for index in range(POINTS):
            name, launch_us = ("a_ISA000_b", 20.0) if index % 2 else ("a_ISA906_b", 5.0)
            us = 20.0 * (index + 1)
            out.append(
                Prediction(ProductPoint("NN", 64, 64, 64 + index, launch_us + us, name), us, None, 1, 1, "valu", 0.5, 1)
            )
        return [out] * len(wanted)

    spec = FitSpec(launch_us=(0.0, 40.0))
    apart = fit(spec, alike, hip_apart=True)
    assert (apart.launches, apart.error) == ((5.0, 20.0, (), False), pytest.approx(0.0))
    together = fit(spec, alike)
    assert together.hip_launch_us is None and together.error > 0.01
