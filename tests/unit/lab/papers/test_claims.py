"""Is a claim judged by its values, and by nothing else?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.base.formats import TIMES
from gpusim.lab.papers.claims import (
    BESIDE,
    FAILS,
    HOLDS,
    MIXED,
    UNASKABLE,
    UNDECIDED,
    UNKNOWN,
    ClaimVerdict,
    JudgedClaim,
    judge,
)
from gpusim.lab.papers.long_table import FigureValue
from gpusim.lab.papers.rules import (
    BoundRule,
    ClaimSpec,
    CorrelationRule,
    GroupRule,
    LargestRule,
    OrderRule,
    TrendRule,
    ValueRule,
    spearman,
)

NUMBERS = st.floats(0.01, 100)


def claim(where: dict | None = None, **rule: object) -> ClaimSpec:
    return ClaimSpec(text="a claim", said="", measure="speedup", where=where or {}, **rule)  # type: ignore[arg-type]


def value(number: float, batch: int = 1, case: str = "A", count: int = 1, limit: float | None = None) -> FigureValue:
    return FigureValue("speedup", "ours", {"case": case, "batch": str(batch)}, number, limit, (f"{case}",), count)


@pytest.mark.parametrize(
    ("found", "state"), [(1.24, HOLDS), (1.24 * 1.0999, HOLDS), (1.24 * 0.9, HOLDS), (1.24 * 1.11, FAILS), (1.0, FAILS)]
)
def test_a_figure_holds_within_its_tolerance(found: float, state: str) -> None:
    rule = claim(value=ValueRule(value=1.24, tolerance=0.1 + 1e-9))
    assert judge(rule, [value(found)], TIMES).state == state


def test_the_mean_counts_layers_of_equal_shape() -> None:
    verdict = judge(claim(value=ValueRule(value=2.5)), [value(1, count=1), value(3, count=3)], TIMES)
    assert (verdict.state, verdict.ours) == (HOLDS, "2.50× (1.00× … 3.00×)")


def test_only_values_of_the_measure_and_the_labels_count() -> None:
    other = FigureValue("transactions", "ours", {"case": "A", "batch": "1"}, 9.0)
    verdict = judge(claim({"batch": [1, 2]}, value=ValueRule(value=2)), [value(2), value(7, batch=4), other], TIMES)
    assert verdict.ours == "2.00×"


def test_an_unknown_label_is_named() -> None:
    with pytest.raises(UserError, match="unknown label 'batsch'; did you mean 'batch'"):
        judge(claim({"batsch": 1}, value=ValueRule(value=2)), [value(2)], TIMES)


@given(st.lists(NUMBERS, min_size=1), NUMBERS)
def test_a_bound_holds_where_every_value_keeps_it(found: list[float], bound: float) -> None:
    values = [value(number) for number in found]
    above = judge(claim(bound=BoundRule(above=bound)), values, TIMES).state
    below = judge(claim(bound=BoundRule(below=bound)), values, TIMES).state
    kept, broken = [n > bound for n in found], [n < bound for n in found]
    assert above == (HOLDS if all(kept) else MIXED if any(kept) else FAILS)
    assert below == (HOLDS if all(broken) else MIXED if any(broken) else FAILS)


@given(st.dictionaries(st.sampled_from("ABCDE"), st.tuples(NUMBERS, NUMBERS), min_size=1))
def test_an_order_compares_what_differs_in_one_label_alone(found: dict[str, tuple[float, float]]) -> None:
    values = [value(n, batch, case) for case, pair in found.items() for batch, n in zip((1, 2), pair, strict=True)]
    rule = claim(order=OrderRule(label="batch", more=2, less=1))
    larger = [None if written_as_one(second, first) else second > first for first, second in found.values()]
    state = (
        HOLDS if all(larger) else MIXED if {True, False} <= {*larger} else FAILS if {*larger} == {False} else UNDECIDED
    )
    assert judge(rule, values, TIMES).state == state
    assert judge(rule, list(reversed(values)), TIMES).state == state


def written_as_one(first: float, second: float) -> bool:
    """Two numbers that are not the same, and whose quotient a reader cannot tell from one."""
    return first != second and abs(first - second) <= 0.005 * abs(second)


@pytest.mark.parametrize(("larger", "state"), [(1.0, FAILS), (1.004, UNDECIDED), (0.996, UNDECIDED), (1.006, HOLDS)])
def test_an_order_is_not_judged_by_what_cannot_be_seen(larger: float, state: str) -> None:
    rule = claim(order=OrderRule(label="batch", more=2, less=1))
    assert judge(rule, [value(1, batch=1), value(larger, batch=2)], TIMES).state == state


def test_an_order_of_which_one_side_is_missing_is_not_judged() -> None:
    rule = claim(order=OrderRule(label="batch", more=2, less=1))
    assert judge(rule, [value(1, batch=1), value(2, batch=2, case="B")], TIMES).state == UNKNOWN


def test_what_was_not_run_is_told_from_what_a_comparison_says_nothing_of() -> None:
    rule = claim(bound=BoundRule(above=1))
    assert judge(rule, [], TIMES, ["not run"]).state == UNKNOWN
    assert judge(rule, [], TIMES).state == BESIDE
    assert judge(rule, [value(3)], TIMES, ["not run"]).without == ("not run",)


def test_the_reasons_are_those_of_the_middle() -> None:
    values = [value(3, case="C", limit=6), value(1, case="A", limit=2), value(2, case="B")]
    verdict = judge(claim(bound=BoundRule(above=0)), values, TIMES)
    assert (verdict.limits, verdict.reasons) == ((6, 2), ("B",))


@pytest.mark.parametrize(("said", "allowed"), [(6.0, True), (6.1, False)])
def test_a_speed_up_beyond_what_zeros_allow_is_seen(said: float, allowed: bool) -> None:
    rule = claim(value=ValueRule(value=said))
    verdict = judge(rule, [value(3, limit=6), value(1, limit=2)], TIMES)
    found = JudgedClaim("6.16", rule, {"ours": verdict, "source": ClaimVerdict(UNKNOWN)}, "yes")
    assert (found.is_allowed("ours"), found.is_allowed("source")) == (allowed, None)


def layer(
    number: float, name: str, kind: str = "a", batch: int = 1, measure: str = "speedup", width: float = 0
) -> FigureValue:
    labels = {"layer": name, "kind": kind, "part": "all", "batch": str(batch)}
    return FigureValue(measure, "ours", labels, number, half_width=width)


def test_groups_are_compared_point_by_point() -> None:
    rule = claim(group=GroupRule(more={"kind": "a"}, less={"kind": "b"}, by="sum"))
    small = [layer(2, "x"), layer(2, "y"), layer(3, "z", "b")]
    large = [layer(1, "x", batch=2), layer(1, "y", batch=2), layer(3, "z", "b", batch=2)]
    assert judge(rule, small, TIMES).state == HOLDS
    assert judge(rule, [*small, *large], TIMES) == ClaimVerdict(MIXED, "×1.00, 1 of 2")
    each = claim(group=GroupRule(more={"kind": "a"}, by="each"))
    assert judge(each, small, TIMES).state == FAILS, "the least of the larger is 2, the largest of the others 3"
    mean = claim(group=GroupRule(more={"kind": "a"}, by="mean", factor=0.5))
    assert judge(mean, small, TIMES).state == HOLDS
    open_ = [layer(2, "x", width=2), layer(3, "z", "b")]
    assert judge(each, open_, TIMES).state == UNDECIDED


def test_a_trend_compares_neighbours_by_number() -> None:
    rule = claim(trend=TrendRule(label="batch"))
    assert judge(rule, [layer(b, "x", batch=b) for b in (16, 128, 64)], TIMES).state == HOLDS
    assert judge(rule, [layer(v, "x", batch=b) for v, b in ((1, 16), (3, 64), (2, 128))], TIMES).state == MIXED
    falls = claim(trend=TrendRule(label="batch", falls=True))
    assert judge(falls, [layer(-b, "x", batch=b) for b in (16, 128, 64)], TIMES).state == HOLDS


@pytest.mark.parametrize(
    ("first", "second", "coefficient"),
    # by hand: 1 - 6 Σd² / (n (n² - 1)); with ties Pearson's of the mean ranks
    [
        ([1, 2, 3, 4], [10, 30, 20, 40], 0.8),
        ([1, 2, 2, 3], [1, 2, 3, 4], 4.5 / (4.5 * 5) ** 0.5),
        ([1, 1], [1, 2], 0.0),
    ],
)
def test_ranks_are_spearman_s(first: list[float], second: list[float], coefficient: float) -> None:
    assert spearman(first, second) == pytest.approx(coefficient)


def test_ranks_are_taken_of_the_other_measure() -> None:
    rule = claim(correlation=CorrelationRule(to="work", above=0.7))
    values = [layer(v, name) for v, name in ((1, "x"), (5, "y"), (3, "z"), (9, "u"))]
    others = [layer(v, name, measure="work") for v, name in ((2, "x"), (4, "y"), (3, "z"), (1, "u"))]
    assert judge(rule, [*values, *others], TIMES) == ClaimVerdict(FAILS, "-0.20")
    others = [layer(v, name, measure="work") for v, name in ((2, "x"), (4, "y"), (3, "z"), (7, "u"))]
    assert judge(rule, [*values, *others], TIMES).state == HOLDS


def test_the_largest_parts_are_those_that_are_named() -> None:
    rule = ClaimSpec(text="", said="", where={"layer": "x"}, largest=LargestRule(parts=("p", "q")))
    parts = {"p": 0.5, "q": 0.3, "r": 0.2}
    assert judge(rule, [layer(v, "x", measure=m) for m, v in parts.items()], TIMES).state == HOLDS
    parts = {"p": 0.5, "q": 0.1, "r": 0.4}
    assert judge(rule, [layer(v, "x", measure=m) for m, v in parts.items()], TIMES).state == MIXED
    parts = {"p": 0.1, "q": 0.2, "r": 0.4, "s": 0.3}
    assert judge(rule, [layer(v, "x", measure=m) for m, v in parts.items()], TIMES).state == FAILS
    near = [layer(v, "x", measure=m, width=0.05) for m, v in {"p": 0.5, "q": 0.24, "r": 0.26}.items()]
    assert judge(rule, near, TIMES).state == UNDECIDED


def test_sums_are_of_each_point() -> None:
    rule = claim(value=ValueRule(value=4, by="sum"))
    values = [layer(1, "x"), layer(3, "y"), layer(2, "x", batch=2), layer(2, "y", batch=2)]
    assert judge(rule, values, TIMES).state == HOLDS
    assert judge(claim(value=ValueRule(value=4)), values, TIMES).state == FAILS


def test_what_cannot_be_asked_is_not() -> None:
    rule = ClaimSpec(text="", said="", unaskable="there is no such cache")
    assert judge(rule, [value(1)], TIMES) == ClaimVerdict(UNASKABLE, reasons=("there is no such cache",))
