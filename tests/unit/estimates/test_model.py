"""Does the fit find coefficients that are known, hold for a group that it has not seen, and stay above hard bounds?"""

from dataclasses import replace
from math import exp

import numpy as np
import pytest

from gpusim.jobs.demand.launch_work import LaunchWork
from gpusim.jobs.estimates.cost import LaunchCost, Rates, fit_rates
from gpusim.jobs.estimates.launches import LaunchDemand
from gpusim.jobs.estimates.model import FEATURES, NONE, FitExample, extend, fit, left_out

WEIGHTS = {"share": 0.8, "turns": -0.3}
KERNELS = {"a": 0.4, "b": -0.1, "c": -0.3}  # whose mean is zero, as a shrunk fit has it
CONSTANT = 0.25
NEXT_TO_NOTHING = 1e-9  # of shrinking


def made_up(groups: str = "xyz", each: int = 60) -> list[FitExample]:
    """Examples whose cycles follow a rule; a group has values of its own, within those of the others together."""
    random, found = np.random.default_rng(5), []
    for group in groups:
        for k in range(each):
            values = {name: float(random.uniform(-1, 1)) for name in WEIGHTS}
            if k < 4:  # the ends of what is seen
                values = dict(zip(WEIGHTS, [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)][k], strict=True))
            kernel, together = "abc"[k % 3], float(random.uniform(1e3, 1e7))
            rule = CONSTANT + KERNELS[kernel] + sum(WEIGHTS[name] * value for name, value in values.items())
            found.append(FitExample(group, kernel, values, together, 1.0, together * exp(rule)))
    return found


def test_known_coefficients_are_found() -> None:
    fitted = fit(made_up(), NEXT_TO_NOTHING, NEXT_TO_NOTHING)
    for name, weight in WEIGHTS.items():
        feature = fitted.features[name]
        assert feature.weight / feature.deviation == pytest.approx(weight, abs=1e-6)
    for kernel, part in KERNELS.items():
        assert fitted.kernels[kernel] - fitted.kernels["a"] == pytest.approx(part - KERNELS["a"], abs=1e-6)


def test_a_group_left_out_is_foretold_by_the_others() -> None:
    examples = made_up()
    assert left_out(examples, NEXT_TO_NOTHING, NEXT_TO_NOTHING) == pytest.approx([e.cycles for e in examples], rel=1e-6)
    odd = [FitExample(**{**vars(e), "cycles": 3 * e.cycles}) if e.group == "z" else e for e in examples]
    found = left_out(odd, NEXT_TO_NOTHING, NEXT_TO_NOTHING)
    of_z = [estimated / e.cycles for estimated, e in zip(found, odd, strict=True) if e.group == "z"]
    assert of_z == pytest.approx([1 / 3] * len(of_z), rel=1e-6), "what z does is not in the fit that estimates it"
    shared = FitExample(**{**vars(odd[-1]), "group": "x", "key": "same"})
    found = left_out(
        [*odd[:-1], FitExample(**{**vars(odd[-1]), "key": "same"}), shared], NEXT_TO_NOTHING, NEXT_TO_NOTHING
    )
    assert found[-2] / odd[-1].cycles == pytest.approx(1 / 3, rel=1e-6), "nor is a launch of z's that x has too"


def test_an_unknown_kernel_gets_what_is_common_and_no_value_leads_out_of_what_was_seen() -> None:
    fitted = fit(made_up(), NEXT_TO_NOTHING, NEXT_TO_NOTHING)
    middle = dict.fromkeys(WEIGHTS, 0.0)
    assert fitted.factor(middle, "new") == pytest.approx(exp(CONSTANT), rel=0.02)
    assert fitted.factor({"share": 50.0, "turns": 0.0}, "a") == fitted.factor({"share": 1.0, "turns": 0.0}, "a")


def test_no_estimate_is_below_what_no_run_can_beat() -> None:
    one = FitExample("x", "a", dict.fromkeys(WEIGHTS, 0.0), 100.0, 90.0, 50.0)
    assert one.estimated(NONE) == 100.0
    assert one.estimated(fit([one])) == 90.0
    with pytest.raises(ValueError, match="two groups"):
        left_out([one])
    with pytest.raises(ValueError, match="no examples"):
        fit([])


MATRIX_WEIGHTS = {"matrix": -0.6, "dram × matrix": 0.9}


def products(groups: str = "xy", each: int = 80) -> list[FitExample]:
    """Launches with matrix products, whose cycles follow a rule of the matrix unit's features beside a base's."""
    random, found = np.random.default_rng(6), []
    base = fit(without_products())
    for group in groups:
        for _ in range(each):
            values = {name: float(random.uniform(0, 1)) for name in FEATURES}
            rule = sum(weight * values[name] for name, weight in MATRIX_WEIGHTS.items())
            together = float(random.uniform(1e3, 1e7))
            cycles = together * base.factor(values, "p") * exp(rule)
            found.append(FitExample(group, "p", values, together, 1.0, cycles))
    return found


def without_products() -> list[FitExample]:
    """Launches whose features of the matrix unit are 0."""
    random = np.random.default_rng(7)
    rows = [{name: 0.0 if "matrix" in name else float(random.uniform(-1, 2)) for name in FEATURES} for _ in range(400)]
    return [FitExample("n", "abc"[k % 3], row, 1e4, 1.0, 1e4 * exp(0.3 * row["valu"])) for k, row in enumerate(rows)]


def test_the_matrix_units_part_leaves_other_launches_as_they_were() -> None:
    base, others = fit(without_products()), without_products()
    extended = extend(base, products(), NEXT_TO_NOTHING)
    assert [one.estimated(extended) for one in others] == [one.estimated(base) for one in others]
    for name in FEATURES:
        feature = extended.features[name]
        known = base.features[name]
        expected = MATRIX_WEIGHTS.get(name, 0.0) if "matrix" in name else known.weight / known.deviation
        assert feature.weight / feature.deviation == pytest.approx(expected, abs=1e-5), name
    again = extend(extended, products(), NEXT_TO_NOTHING)
    assert [one.estimated(again) for one in products()] == [one.estimated(extended) for one in products()]


def test_products_of_a_table_left_out_are_estimated_by_the_others() -> None:
    base = fit(without_products())
    examples = products()
    assert left_out(examples, NEXT_TO_NOTHING, base=base) == pytest.approx([one.cycles for one in examples], rel=0.01)


def asked(instructions: float, lines: float, read_bytes: float) -> LaunchDemand:
    return LaunchDemand(LaunchWork(1, 1, instructions, 0, 0, 0, 0, lines, lines, 0, 0, 0, 0), read_bytes, 0.0, 1)


def test_rates_of_simulating_are_found_and_none_is_negative() -> None:
    truth = Rates(0.004, 3e-8, 2e-7, 5e-7, 6.5, 1e8)
    random = np.random.default_rng(3)
    spent = []
    for share in (1.0, 0.25):
        for _ in range(20):
            one = asked(*(float(x) for x in random.uniform(1e4, 1e7, 2)), read_bytes=float(random.uniform(1e4, 1e8)))
            spent.append(LaunchCost(one, truth.seconds(one, share), share, 6.5 if share < 1 else None))
    found = fit_rates(spent, 1e8, 0.0)
    assert vars(found) == pytest.approx(vars(truth), rel=1e-6)
    faster = [LaunchCost(s.asked, 1e-3 + 3e-8 * s.share * s.asked.work.instructions, s.share) for s in spent]
    found = fit_rates(faster, 1e8, 4.0)
    assert min(vars(found).values()) >= 0 and found.sampled_rounds == 4.0
    assert found.instruction_s == pytest.approx(3e-8, rel=1e-3)
    without = [asked(k * 1e6, 2e5 * k * k, 0) for k in range(1, 9)]  # nothing reaches DRAM
    found = fit_rates([LaunchCost(one, replace(truth, dram_line_s=0).seconds(one), 1.0) for one in without], 1e8, 0.0)
    assert (found.launch_s, found.instruction_s, found.line_s) == pytest.approx((0.004, 3e-8, 2e-7), rel=1e-6)
    assert found.dram_line_s == 0
