"""Is a claim judged by its values, and by nothing else?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.config.claim import BoundRule, ClaimSpec, OrderRule, ValueRule
from gpusim.reproduce.claims import BESIDE, FAILS, HOLDS, MIXED, UNKNOWN, Judged, Verdict, judge
from gpusim.reproduce.values import Value, times

NUMBERS = st.floats(0.01, 100)


def claim(where: dict | None = None, **rule: object) -> ClaimSpec:
    return ClaimSpec(text="a claim", said="", measure="speedup", where=where or {}, **rule)  # type: ignore[arg-type]


def value(number: float, batch: int = 1, case: str = "A", count: int = 1, limit: float | None = None) -> Value:
    return Value("speedup", "ours", {"case": case, "batch": str(batch)}, number, limit, (f"{case}",), count)


@pytest.mark.parametrize(
    ("found", "state"), [(1.24, HOLDS), (1.24 * 1.0999, HOLDS), (1.24 * 0.9, HOLDS), (1.24 * 1.11, FAILS), (1.0, FAILS)]
)
def test_a_figure_holds_within_its_tolerance(found: float, state: str) -> None:
    rule = claim(value=ValueRule(value=1.24, tolerance=0.1 + 1e-9))
    assert judge(rule, [value(found)], times, True).state == state


def test_the_mean_counts_layers_of_equal_shape() -> None:
    verdict = judge(claim(value=ValueRule(value=2.5)), [value(1, count=1), value(3, count=3)], times, True)
    assert (verdict.state, verdict.ours) == (HOLDS, "2.50× (1.00× … 3.00×)")


def test_only_values_of_the_measure_and_the_labels_count() -> None:
    other = Value("transactions", "ours", {"case": "A", "batch": "1"}, 9.0)
    verdict = judge(
        claim({"batch": [1, 2]}, value=ValueRule(value=2)), [value(2), value(7, batch=4), other], times, True
    )
    assert verdict.ours == "2.00×"


def test_an_unknown_label_is_named() -> None:
    with pytest.raises(UserError, match="unknown label 'batsch'; did you mean 'batch'"):
        judge(claim({"batsch": 1}, value=ValueRule(value=2)), [value(2)], times, True)


@given(st.lists(NUMBERS, min_size=1), NUMBERS)
def test_a_bound_holds_where_every_value_keeps_it(found: list[float], bound: float) -> None:
    values = [value(number) for number in found]
    above = judge(claim(bound=BoundRule(above=bound)), values, times, True).state
    below = judge(claim(bound=BoundRule(below=bound)), values, times, True).state
    kept, broken = [n > bound for n in found], [n < bound for n in found]
    assert above == (HOLDS if all(kept) else MIXED if any(kept) else FAILS)
    assert below == (HOLDS if all(broken) else MIXED if any(broken) else FAILS)


@given(st.dictionaries(st.sampled_from("ABCDE"), st.tuples(NUMBERS, NUMBERS), min_size=1))
def test_an_order_compares_what_differs_in_one_label_alone(found: dict[str, tuple[float, float]]) -> None:
    values = [value(n, batch, case) for case, pair in found.items() for batch, n in zip((1, 2), pair, strict=True)]
    rule = claim(order=OrderRule(label="batch", more=2, less=1))
    larger = [second > first for first, second in found.values()]
    state = HOLDS if all(larger) else MIXED if any(larger) else FAILS
    assert judge(rule, values, times, True).state == state
    assert judge(rule, list(reversed(values)), times, True).state == state


def test_an_order_of_which_one_side_is_missing_is_not_judged() -> None:
    rule = claim(order=OrderRule(label="batch", more=2, less=1))
    assert judge(rule, [value(1, batch=1), value(2, batch=2, case="B")], times, True).state == UNKNOWN


def test_what_was_not_run_is_told_from_what_a_comparison_says_nothing_of() -> None:
    rule = claim(bound=BoundRule(above=1))
    assert judge(rule, [], times, complete=False).state == UNKNOWN
    assert judge(rule, [], times, complete=True).state == BESIDE


def test_the_reasons_are_those_of_the_middle() -> None:
    values = [value(3, case="C", limit=6), value(1, case="A", limit=2), value(2, case="B")]
    verdict = judge(claim(bound=BoundRule(above=0)), values, times, True)
    assert (verdict.limits, verdict.reasons) == ((6, 2), ("B",))


@pytest.mark.parametrize(("said", "allowed"), [(6.0, True), (6.1, False)])
def test_a_speed_up_beyond_what_zeros_allow_is_seen(said: float, allowed: bool) -> None:
    rule = claim(value=ValueRule(value=said))
    verdict = judge(rule, [value(3, limit=6), value(1, limit=2)], times, True)
    found = Judged("6.16", rule, {"ours": verdict, "source": Verdict(UNKNOWN)}, "yes")
    assert (found.limits, found.is_allowed) == ((2, 6), allowed)
    assert Judged("6.16", rule, {"source": Verdict(UNKNOWN)}, "yes").is_allowed is None
