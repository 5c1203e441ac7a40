"""Is a claim judged by its values, and by nothing else?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base.errors import UserError
from gpusim.base.formats import TIMES
from gpusim.lab.papers.claim_spec import ClaimSpec
from gpusim.lab.papers.claims import (
    BESIDE,
    DEFINED,
    FAILS,
    HOLDS,
    MIXED,
    UNASKABLE,
    UNDECIDED,
    UNKNOWN,
    ClaimVerdict,
    JudgedClaim,
    decide,
    judge,
)
from gpusim.lab.papers.long_table import FigureValue, RatioParts
from gpusim.lab.papers.rules import (
    BoundRule,
    CorrelationRule,
    GroupRule,
    LargestRule,
    OrderRule,
    RuleComparison,
    TrendRule,
    ValueRule,
    spearman,
)

NUMBERS = st.floats(0.01, 100)


def claim(where: dict | tuple[dict, ...] = (), **rule: object) -> ClaimSpec:
    """A claim of a test's own; of a value by the mean, else of each."""
    named = {"aggregation": "mean" if "value" in rule else "each", "own": "a test asks", **rule}
    return ClaimSpec(text="a claim", measure="speedup", where=where or {}, **named)  # type: ignore[arg-type]


def figure(number: float, tolerance: float = 0.1) -> ValueRule:
    return ValueRule(value=number, tolerance=tolerance, basis="assumed")


def bound(**limit: float) -> BoundRule:
    return BoundRule(**limit, basis="assumed")


def value(number: float, batch: int = 1, case: str = "A", count: int = 1, limit: float | None = None) -> FigureValue:
    return FigureValue("speedup", "ours", {"case": case, "batch": str(batch)}, number, limit, lambda: (case,), count)


@pytest.mark.parametrize(
    ("found", "state"), [(1.24, HOLDS), (1.24 * 1.0999, HOLDS), (1.24 * 0.9, HOLDS), (1.24 * 1.11, FAILS), (1.0, FAILS)]
)
def test_a_figure_holds_within_its_tolerance(found: float, state: str) -> None:
    rule = claim(value=figure(1.24, 0.1 + 1e-9))
    assert judge(rule, [value(found)], TIMES).state == state


def test_the_mean_counts_layers_of_equal_shape() -> None:
    verdict = judge(claim(value=figure(2.5)), [value(1, count=1), value(3, count=3)], TIMES)
    assert (verdict.state, verdict.ours) == (HOLDS, "2.50× (1.00× … 3.00×)")


def test_only_values_of_the_measure_and_the_labels_count() -> None:
    other = FigureValue("transactions", "ours", {"case": "A", "batch": "1"}, 9.0)
    verdict = judge(claim({"batch": [1, 2]}, value=figure(2)), [value(2), value(7, batch=4), other], TIMES)
    assert verdict.ours == "2.00×"


def test_an_unknown_label_is_named() -> None:
    with pytest.raises(UserError, match="unknown label 'batsch'; did you mean 'batch'"):
        judge(claim({"batsch": 1}, value=figure(2)), [value(2)], TIMES)


@given(st.lists(NUMBERS, min_size=1), NUMBERS)
def test_a_bound_holds_where_every_value_keeps_it(found: list[float], limit: float) -> None:
    values = [value(number) for number in found]
    above = judge(claim(bound=bound(above=limit)), values, TIMES).state
    below = judge(claim(bound=bound(below=limit)), values, TIMES).state
    kept, broken = [n > limit for n in found], [n < limit for n in found]
    assert above == (HOLDS if all(kept) else MIXED if any(kept) else FAILS)
    assert below == (HOLDS if all(broken) else MIXED if any(broken) else FAILS)


@given(st.dictionaries(st.sampled_from("ABCDE"), st.tuples(NUMBERS, NUMBERS), min_size=1))
def test_an_order_compares_what_differs_in_one_label_alone(found: dict[str, tuple[float, float]]) -> None:
    values = [value(n, batch, case) for case, pair in found.items() for batch, n in zip((1, 2), pair, strict=True)]
    rule = claim(order=OrderRule(label="batch", more=2, less=1))
    larger = [None if written_as_one(second, first) else second > first for first, second in found.values()]
    broken = MIXED if True in larger else FAILS
    state = HOLDS if all(larger) else broken if False in larger else UNDECIDED
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
    rule = claim(bound=bound(above=1))
    assert judge(rule, [], TIMES, ["not run"]).state == UNKNOWN
    assert judge(rule, [], TIMES).state == BESIDE
    assert judge(rule, [value(3)], TIMES, ["not run"]).without == ("not run",)


def test_the_reasons_are_those_of_the_middle() -> None:
    values = [value(3, case="C", limit=6), value(1, case="A", limit=2), value(2, case="B")]
    verdict = judge(claim(bound=bound(above=0)), values, TIMES)
    assert (verdict.limits, verdict.reasons) == ((6, 2), ("B",))


@pytest.mark.parametrize(("said", "allowed"), [(6.0, True), (6.1, False)])
def test_a_speed_up_beyond_what_zeros_allow_is_seen(said: float, allowed: bool) -> None:
    rule = claim(value=figure(said))
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
    assert judge(rule, [*small, *large], TIMES) == ClaimVerdict(MIXED, "×1.00, 1 of 2", kept=("1",))
    each = claim(group=GroupRule(more={"kind": "a"}, by="extremes"))
    assert judge(each, small, TIMES).state == FAILS, "the least of the larger is 2, the largest of the others 3"
    mean = claim(group=GroupRule(more={"kind": "a"}, by="mean", factor=0.5, basis="assumed"))
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
    rule = claim(correlation=CorrelationRule(to="work", above=0.7, basis="assumed"))
    values = [layer(v, name) for v, name in ((1, "x"), (5, "y"), (3, "z"), (9, "u"))]
    others = [layer(v, name, measure="work") for v, name in ((2, "x"), (4, "y"), (3, "z"), (1, "u"))]
    assert judge(rule, [*values, *others], TIMES) == ClaimVerdict(FAILS, "-0.20")
    others = [layer(v, name, measure="work") for v, name in ((2, "x"), (4, "y"), (3, "z"), (7, "u"))]
    assert judge(rule, [*values, *others], TIMES).state == HOLDS


def test_the_largest_parts_are_those_that_are_named() -> None:
    rule = claim({"layer": "x"}, largest=LargestRule(parts=("p", "q")))
    parts = {"p": 0.5, "q": 0.3, "r": 0.2}
    assert judge(rule, [layer(v, "x", measure=m) for m, v in parts.items()], TIMES).state == HOLDS
    parts = {"p": 0.5, "q": 0.1, "r": 0.4}
    assert judge(rule, [layer(v, "x", measure=m) for m, v in parts.items()], TIMES).state == MIXED
    parts = {"p": 0.1, "q": 0.2, "r": 0.4, "s": 0.3}
    assert judge(rule, [layer(v, "x", measure=m) for m, v in parts.items()], TIMES).state == FAILS
    near = [layer(v, "x", measure=m, width=0.05) for m, v in {"p": 0.5, "q": 0.24, "r": 0.26}.items()]
    assert judge(rule, near, TIMES).state == UNDECIDED


def test_sums_are_of_each_point() -> None:
    rule = claim(value=figure(4), aggregation="sum")
    values = [layer(1, "x"), layer(3, "y"), layer(2, "x", batch=2), layer(2, "y", batch=2)]
    assert judge(rule, values, TIMES).state == HOLDS
    assert judge(claim(value=figure(4)), values, TIMES).state == FAILS


def test_what_cannot_be_asked_is_not() -> None:
    rule = ClaimSpec(text="", own="a test asks", unaskable="there is no such cache")
    assert judge(rule, [value(1)], TIMES) == ClaimVerdict(UNASKABLE, reasons=("there is no such cache",))


def ratio(above: float, below: float, name: str) -> FigureValue:
    parts = RatioParts(above, below, 0.1 * above, 0.0)
    return FigureValue("speedup", "ours", {"layer": name}, above / below, half_width=0.1 * above / below, ratio=parts)


def test_a_mean_of_ratios_is_not_the_ratio_of_their_sums() -> None:
    values = [ratio(10, 10, "x"), ratio(5, 1, "y")]
    found = {
        name: judge(claim(value=figure(number), aggregation=name), values, TIMES).ours
        for name, number in (("mean of ratios", 3.0), ("ratio of sums", 1.36))
    }
    assert found == {"mean of ratios": "3.00× (1.00× … 5.00×)", "ratio of sums": "1.36× (1.00× … 5.00×)"}
    (opening,) = judge(claim(bound=bound(above=1.3), aggregation="ratio of sums"), values, TIMES).openings
    assert opening == "all: a half-width below 0.0636, now 0.136"
    for aggregation in ("mean", "sum"):
        with pytest.raises(UserError, match=f"'{aggregation}' is not allowed: values of speedup are ratios"):
            judge(claim(value=figure(3), aggregation=aggregation), values, TIMES)
    with pytest.raises(UserError, match="'ratio of sums' is not allowed: values of speedup are no ratios"):
        judge(claim(value=figure(3), aggregation="ratio of sums"), [value(3)], TIMES)


@pytest.mark.parametrize(
    ("aggregation", "kept", "state"),
    [
        ("each", [True, None], UNDECIDED),
        ("each", [False, None], FAILS),
        ("each", [True, None, False], MIXED),
        ("most", [True, True, False], HOLDS),
        ("most", [True, False], FAILS),
        ("most", [True, None, False], UNDECIDED),
        ("most", [True, None, True], HOLDS),
        ("any", [False, None, True], HOLDS),
        ("any", [False, None], UNDECIDED),
        ("any", [False, False], FAILS),
    ],
)
def test_one_certain_counterexample_ends_a_claim_on_each(aggregation: str, kept: list[bool | None], state: str) -> None:
    margins = {True: (1.0, 0.5), False: (-1.0, 0.5), None: (0.1, 0.5)}
    assert decide(aggregation, [RuleComparison("", *margins[one]) for one in kept]) == state


def test_what_is_open_says_what_would_decide_it() -> None:
    values = [layer(1.3, "x", width=0.4), layer(0.5, "y", width=0.1)]
    verdict = judge(claim(bound=bound(above=1)), values, TIMES)
    assert (verdict.state, verdict.ours) == (FAILS, "0.90× (0.50× … 1.30×), 0 of 2, 1 open")
    assert verdict.openings == ("x a all 1: a half-width below 0.3, now 0.4",)


def test_an_order_has_several_pairs_and_may_leave_labels_out() -> None:
    order = OrderRule(label="case", pairs=(("A", "B"), ("B", "C")), across=("batch",))
    values = [value(3, batch=1, case="A"), value(2, batch=2, case="B"), value(1, batch=4, case="C")]
    assert judge(claim(order=order), values, TIMES).state == HOLDS
    alike = OrderRule(label="case", pairs=(("A", "B"), ("B", "C")))
    assert judge(claim(order=alike), values, TIMES).state == UNKNOWN, "no two of the same batch"
    with pytest.raises(ValueError, match="more and less, or pairs"):
        OrderRule(label="case", more="A", pairs=(("A", "B"),))


def test_several_sets_of_labels_are_alternatives() -> None:
    where = ({"case": "A", "batch": 1}, {"case": "B", "batch": 2})
    values = [value(1, 1, "A"), value(9, 2, "A"), value(3, 2, "B"), value(9, 1, "B")]
    assert judge(claim(where, value=figure(2)), values, TIMES).ours == "2.00× (1.00× … 3.00×)"


def test_a_definition_is_shown_and_not_judged() -> None:
    rule = claim(bound=bound(above=1), definition="two is more than one")
    assert judge(rule, [value(2)], TIMES) == ClaimVerdict(DEFINED, "2.00×: holds", reasons=("two is more than one",))
