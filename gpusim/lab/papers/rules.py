"""The rules that claims are judged by: what each finds among values, and how it is put into words.

A rule compares numbers, each beyond its half-width: what the half-widths leave open is neither true nor false. An order
is open too where the quotient is written as one, though the numbers are not the same.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, hypot, isfinite, sqrt
from typing import Any

import numpy as np

from gpusim.base.formats import FIXED_2
from gpusim.lab.papers.publication import FigureValue, Where, label_names, matches
from gpusim.lab.papers.specs.claim import (
    BoundRule,
    ClaimSpec,
    CorrelationRule,
    GroupRule,
    LargestRule,
    OrderRule,
    TrendRule,
    ValueRule,
)

Shown = Callable[[float], str]
SEEN = 0.005  # of a number: differences below it are written as ×1.00
OF_ROWS = ("layer", "kind", "part")  # labels of rows; the others are of points


@dataclass(frozen=True)
class RuleResult:
    """Result of a claim's rule."""

    kept: Sequence[bool | None]
    """For each comparison, whether the claim holds; None: undecided within the half-widths."""
    ours: str
    """Our value as text."""
    partly: bool = False
    """The claim does not hold, but part of it does."""


def apply_rule(claim: ClaimSpec, values: Sequence[FigureValue], shown: Shown) -> RuleResult:
    """Apply a claim's rule to the values of one comparison, of all measures of the figure."""
    rule = claim.rule
    if isinstance(rule, LargestRule):
        return _largest(rule, [one for one in values if matches(one.labels, claim.where)], shown)
    measured = [one for one in values if one.measure == claim.measure and matches(one.labels, claim.where)]
    if not measured:
        return RuleResult([], "–")
    if isinstance(rule, ValueRule):
        return _value(rule, measured, shown)
    if isinstance(rule, BoundRule):
        return _bound(rule, measured, shown)
    if isinstance(rule, OrderRule):
        return _order(rule, measured)
    if isinstance(rule, TrendRule):
        return _trend(rule, measured)
    if isinstance(rule, GroupRule):
        return _group(rule, measured)
    assert isinstance(rule, CorrelationRule)
    return _correlation(rule, measured, [one for one in values if one.measure == rule.to])


def describe_rule(claim: ClaimSpec) -> str:
    """Put a claim's rule into words; empty where it cannot be asked."""
    rule, of = claim.rule, claim.measure + _where(claim.where)
    if isinstance(rule, ValueRule):
        return f"{rule.by} of {of} = {rule.value:g} ± {100 * rule.tolerance:g} %"
    if isinstance(rule, BoundRule):
        return f"every {of} {f'> {rule.above:g}' if rule.above is not None else f'< {rule.below:g}'}"
    if isinstance(rule, OrderRule):
        return f"{of}: with {rule.label} {rule.more} > with {rule.less}"
    if isinstance(rule, TrendRule):
        return f"{of} {'falls' if rule.falls else 'rises'} with each larger {rule.label}"
    if isinstance(rule, GroupRule):
        less = _labels(rule.less) if rule.less else "all others"
        by = {"each": ("least", "largest")}.get(rule.by, (rule.by, rule.by))
        return f"{of}: {by[0]} of {_labels(rule.more)} > {f'{rule.factor:g} × ' * (rule.factor != 1)}{by[1]} of {less}"
    if isinstance(rule, CorrelationRule):
        return f"{of} ranks as {rule.to}: Spearman's coefficient > {rule.above:g}"
    if isinstance(rule, LargestRule):
        return f"largest parts{_where(claim.where)}: {' and '.join(rule.parts)}"
    return ""


def _where(where: Where) -> str:
    return f" ({_labels(where)})" if where else ""


def _labels(where: Where) -> str:
    return ", ".join(
        f"{label} {' or '.join(map(str, held)) if isinstance(held, list) else held}" for label, held in where.items()
    )


def _more(first: float, second: float, width: float) -> bool | None:
    """Tell whether a number is more than another one; None where that lies within the half-width of the difference."""
    if width and abs(first - second) <= width:
        return None
    return first > second


def _mean(values: Sequence[FigureValue]) -> float:
    counts = [one.count for one in values]
    return fsum(one.value * one.count for one in values) / fsum(counts)


def _value(rule: ValueRule, values: Sequence[FigureValue], shown: Shown) -> RuleResult:
    points = list(_by_rest(values, *OF_ROWS).values()) if rule.by == "sum" else [[one] for one in values]
    width = fsum(one.half_width for one in values) / len(points)
    mean = _mean(values) if rule.by == "mean" else fsum(one.value for one in values) / len(points)
    inside = [abs(end / rule.value - 1) <= rule.tolerance for end in (mean - width, mean, mean + width)]
    straddles = (mean - width) < rule.value < (mean + width)
    kept = inside[1] if len(set(inside)) == 1 and (inside[1] or not straddles) else None
    return RuleResult([kept], shown(mean) + _range(values, shown))


def _bound(rule: BoundRule, values: Sequence[FigureValue], shown: Shown) -> RuleResult:
    bound, sign = (rule.above, 1) if rule.above is not None else (rule.below, -1)
    assert bound is not None
    kept = [_more(sign * one.value, sign * bound, one.half_width) for one in values]
    return RuleResult(kept, shown(_mean(values)) + _range(values, shown) + _count(kept))


def _by_rest(values: Sequence[FigureValue], *without: str) -> dict[tuple[tuple[str, str], ...], list[FigureValue]]:
    """Group values by their labels other than some."""
    found: dict[tuple[tuple[str, str], ...], list[FigureValue]] = {}
    for one in values:
        rest = tuple(sorted((name, label) for name, label in one.labels.items() if name not in without))
        found.setdefault(rest, []).append(one)
    return found


def _pairs(
    pairs: Sequence[tuple[FigureValue, FigureValue]], shown_ratio: Callable[[FigureValue, FigureValue], float]
) -> RuleResult:
    if not pairs:
        return RuleResult([], "–")
    kept = [_more(a.value, b.value, max(hypot(a.half_width, b.half_width), _unseen(a, b))) for a, b in pairs]
    ratios = [shown_ratio(a, b) for a, b in pairs]
    return RuleResult(kept, f"{_mean_ratio(ratios)}{_count(kept)}")


def _unseen(first: FigureValue, second: FigureValue) -> float:
    return SEEN * abs(second.value) if first.value != second.value else 0.0


def _mean_ratio(ratios: Sequence[float]) -> str:
    """Return the mean ratio as text; where something stands against nothing, that."""
    mean = fsum(ratios) / len(ratios)
    return f"×{FIXED_2(mean)}" if isfinite(mean) else "all against nothing"


def _over(first: FigureValue, second: FigureValue) -> float:
    return first.value / second.value if second.value else float("inf")


def _order(rule: OrderRule, values: Sequence[FigureValue]) -> RuleResult:
    pairs = []
    for held in _by_rest(values, rule.label).values():
        by_label = {one.labels[rule.label]: one for one in held}
        if str(rule.more) in by_label and str(rule.less) in by_label:
            pairs.append((by_label[str(rule.more)], by_label[str(rule.less)]))
    return _pairs(pairs, _over)


def _trend(rule: TrendRule, values: Sequence[FigureValue]) -> RuleResult:
    pairs = []
    for held in _by_rest(values, rule.label).values():
        ordered = sorted(held, key=lambda one: float(one.labels[rule.label]))
        for smaller, larger in pairwise(ordered):
            pairs.append((smaller, larger) if rule.falls else (larger, smaller))
    return _pairs(pairs, _over)


def _group(rule: GroupRule, values: Sequence[FigureValue]) -> RuleResult:
    kept, ratios = [], []
    for held in _by_rest(values, *OF_ROWS).values():
        more = [one for one in held if matches(one.labels, rule.more)]
        less = [one for one in held if (matches(one.labels, rule.less) if rule.less else one not in more)]
        if not more or not less:
            continue
        (first, width), (second, other) = _together(rule.by, more, True), _together(rule.by, less, False)
        kept.append(_more(first, rule.factor * second, sqrt(width**2 + (rule.factor * other) ** 2)))
        ratios.append(first / second if second else float("inf"))
    if not kept:
        return RuleResult([], "–")
    return RuleResult(kept, f"{_mean_ratio(ratios)}{_count(kept)}")


def _together(by: str, values: Sequence[FigureValue], least: bool) -> tuple[float, float]:
    """Return a figure of some values, and its half-width."""
    if by == "each":
        one = (min if least else max)(values, key=lambda value: value.value)
        return one.value, one.half_width
    whole, width = fsum(one.value for one in values), sqrt(fsum(one.half_width**2 for one in values))
    return (whole, width) if by == "sum" else (whole / len(values), width / len(values))


def _correlation(rule: CorrelationRule, values: Sequence[FigureValue], others: Sequence[FigureValue]) -> RuleResult:
    kept: list[bool | None] = []
    found = []
    to = {tuple(sorted(one.labels.items())): one.value for one in others}
    for held in _by_rest(values, *OF_ROWS).values():
        both = [(one.value, to[key]) for one in held if (key := tuple(sorted(one.labels.items()))) in to]
        if len(both) > 2:
            found.append(spearman([a for a, _ in both], [b for _, b in both]))
            kept.append(found[-1] > rule.above)
    return RuleResult(kept, f"{FIXED_2(fsum(found) / len(found))}{_count(kept)}" if found else "–")


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Spearman's rank correlation, equal values with their mean rank; 0 where all of one are equal."""
    a, b = _ranks(first), _ranks(second)
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / norm if norm else 0.0


def _ranks(values: Sequence[float]) -> Any:
    held = np.asarray(values, float)
    _, place, counts = np.unique(held, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[place]


def _largest(rule: LargestRule, values: Sequence[FigureValue], shown: Shown) -> RuleResult:
    kept: list[bool | None] = []
    partly, texts = False, []
    for rest, held in _by_rest(values).items():
        ordered = sorted(held, key=lambda one: -one.value)
        most, said_ = ordered[: len(rule.parts)], set(rule.parts)
        names = {one.measure for one in most}
        beside = ordered[len(rule.parts) : len(rule.parts) + 1]
        open_ = (
            bool(beside) and _more(most[-1].value, beside[0].value, most[-1].half_width + beside[0].half_width) is None
        )
        kept.append(None if open_ and names != said_ else names == said_)
        partly = partly or bool(names & said_)
        texts.append(f"{_row(dict(rest))}{', '.join(f'{one.measure} {shown(one.value)}' for one in most)}")
    more = f", {len(texts) - 1} more" if len(texts) > 1 else ""
    return RuleResult(kept, f"{texts[0]}{more}{_count(kept)}" if texts else "–", partly)


def _row(labels: Mapping[str, str]) -> str:
    if "layer" not in labels:
        return ""
    return f"{labels['layer']} {labels.get('part', '')}".replace("_", " ").removesuffix(" all").rstrip() + ": "


def _count(kept: Sequence[bool | None]) -> str:
    return f", {sum(one is True for one in kept)} of {len(kept)}" if len(kept) > 1 else ""


def _range(values: Sequence[FigureValue], shown: Shown) -> str:
    numbers = [one.value for one in values]
    if len(numbers) == 1:
        return ""
    return f" ({shown(min(numbers))} … {shown(max(numbers))})"


def labels_missing(where: Where, values: Sequence[FigureValue]) -> Iterator[str]:
    """Yield the wanted labels that none of the values has, such as "layer 'conv2'"."""
    for label, wanted in where.items():
        names = label_names(wanted)
        if not names & {one.labels[label] for one in values if label in one.labels}:
            yield f"{label} {' or '.join(sorted(names))}"
