"""Claims of a publication, and the rules that they are judged by: one of seven, or why a claim cannot be asked.

A rule compares numbers, each beyond its half-width: what the half-widths leave open is neither true nor false. An order
is open too where the quotient is written as one, though the numbers are not the same.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import fsum, hypot, isfinite, sqrt
from typing import Any, Literal

import numpy as np
from pydantic import model_validator

from gpusim.base.formats import FIXED_2, GENERAL
from gpusim.base.spec import Spec, param
from gpusim.base.table import MISSING
from gpusim.lab.papers.long_table import FigureValue, Label, Where, label_names, matches

Shown = Callable[[float], str]
Labels = dict[str, Label | list[Label]]
SEEN = 0.005  # of a number: differences below it are written as ×1.00
OF_ROWS = ("layer", "kind", "part")  # labels of rows; the others are of points


@dataclass(frozen=True)
class RuleResult:
    """Result of a claim's rule."""

    kept: Sequence[bool | None] = ()
    """For each comparison, whether the claim holds; None: undecided within the half-widths."""
    ours: str = MISSING
    """Our value as text."""
    partly: bool = False
    """The claim does not hold, but part of it does."""


class Rule(Spec):
    """Base of the rules."""

    @abstractmethod
    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: Shown) -> RuleResult:
        """Judge a claim.

        Args:
            values: The values of the claim's measure that have its labels, at least one.
            others: All values of one comparison.
            shown: Formats a value.
        """

    @abstractmethod
    def describe(self, of: str) -> str:
        """Put the rule into words. of: the measure and labels of its values."""


class ValueRule(Rule):
    """Holds where the mean, or the mean of the points' sums, is the publication's figure, within a tolerance."""

    by: Literal["mean", "sum"] = param("mean", "of all values, or of the sums of each point's", "the publication")
    value: float = param(..., "the publication's figure", "the publication")
    tolerance: float = param(0.1, "relative deviation up to which it holds", "assumed", ge=0, lt=1)

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: Shown) -> RuleResult:
        """Judge the mean; it is open where its interval has a limit of the tolerance."""
        points = list(_by_rest(values, *OF_ROWS).values()) if self.by == "sum" else [[one] for one in values]
        width = fsum(one.half_width for one in values) / len(points)
        mean = _mean(values) if self.by == "mean" else fsum(one.value for one in values) / len(points)
        inside = [abs(end / self.value - 1) <= self.tolerance for end in (mean - width, mean, mean + width)]
        straddles = (mean - width) < self.value < (mean + width)
        kept = inside[1] if len(set(inside)) == 1 and (inside[1] or not straddles) else None
        return RuleResult([kept], shown(mean) + _range(values, shown))

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        return f"{self.by} of {of} = {GENERAL(self.value)} ± {GENERAL(100 * self.tolerance)} %"


class BoundRule(Rule):
    """Holds where every value is on one side of a bound."""

    above: float | None = param(None, "the bound, if values are to be above it", "the publication")
    below: float | None = param(None, "the bound, if they are to be below it", "the publication")

    @model_validator(mode="after")
    def _is_one(self) -> "BoundRule":
        if (self.above is None) == (self.below is None):
            raise ValueError("a bound has one of above and below")
        return self

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: Shown) -> RuleResult:
        """Judge each value."""
        bound, sign = self._limit
        kept = [_more(sign * one.value, sign * bound, one.half_width) for one in values]
        return RuleResult(kept, shown(_mean(values)) + _range(values, shown) + _count(kept))

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        bound, sign = self._limit
        return f"every {of} {'>' if sign > 0 else '<'} {GENERAL(bound)}"

    @property
    def _limit(self) -> tuple[float, int]:
        """The bound, and 1 if values are to be above it, else -1."""
        return (self.above, 1) if self.above is not None else (self.below or 0.0, -1)


class OrderRule(Rule):
    """Holds where each value with one label is more than that with another label, all other labels being equal."""

    label: str = param(..., "batch, data, case or zeros; of networks batch, way, part or network", "user")
    more: Label = param(..., "the label of the larger one", "the publication")
    less: Label = param(..., "the label of the smaller one", "the publication")

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: Shown) -> RuleResult:
        """Judge each pair."""
        pairs = []
        for some in _by_rest(values, self.label).values():
            by_label = {one.labels[self.label]: one for one in some}
            if str(self.more) in by_label and str(self.less) in by_label:
                pairs.append((by_label[str(self.more)], by_label[str(self.less)]))
        return _judge_pairs(pairs)

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        return f"{of}: with {self.label} {self.more} > with {self.less}"


class TrendRule(Rule):
    """Holds where each value is more than the one with the next smaller number as its label, all else being equal."""

    label: str = param(..., "a label of numbers: batch", "user")
    falls: bool = param(False, "each is less instead", "the publication")

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: Shown) -> RuleResult:
        """Judge each pair of neighbours."""
        pairs = []
        for some in _by_rest(values, self.label).values():
            for smaller, larger in pairwise(sorted(some, key=lambda one: float(one.labels[self.label]))):
                pairs.append((smaller, larger) if self.falls else (larger, smaller))
        return _judge_pairs(pairs)

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        return f"{of} {'falls' if self.falls else 'rises'} with each larger {self.label}"


class GroupRule(Rule):
    """Holds where some values of a point together exceed others of the same point."""

    more: Labels = param(..., "labels of the larger ones", "the publication", min_length=1)
    less: Labels = param({}, "labels of the smaller ones; none: all others", "the publication")
    by: Literal["sum", "mean", "each"] = param(
        "mean", "what of them is compared; each: the least of the larger with the most of the smaller", "user"
    )
    factor: float = param(1.0, "how many times as large at least", "the publication", gt=0, le=1e6)

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: Shown) -> RuleResult:
        """Judge each point."""
        kept, ratios = [], []
        for some in _by_rest(values, *OF_ROWS).values():
            more = [one for one in some if matches(one.labels, self.more)]
            less = [one for one in some if (matches(one.labels, self.less) if self.less else one not in more)]
            if more and less:
                (first, width), (second, other) = self._together(more, min), self._together(less, max)
                kept.append(_more(first, self.factor * second, sqrt(width**2 + (self.factor * other) ** 2)))
                ratios.append(first / second if second else float("inf"))
        return RuleResult(kept, f"{_mean_ratio(ratios)}{_count(kept)}") if kept else RuleResult()

    def _together(self, values: Sequence[FigureValue], end: Callable[..., FigureValue]) -> tuple[float, float]:
        """Return a figure of some values, and its half-width. end: chooses the least or the most of them."""
        if self.by == "each":
            one = end(values, key=lambda value: value.value)
            return one.value, one.half_width
        whole, width = fsum(one.value for one in values), sqrt(fsum(one.half_width**2 for one in values))
        return (whole, width) if self.by == "sum" else (whole / len(values), width / len(values))

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        more, less = ("least", "largest") if self.by == "each" else (self.by, self.by)
        factor = f"{GENERAL(self.factor)} × " * (self.factor != 1)
        return f"{of}: {more} of {_labels(self.more)} > {factor}{less} of {_labels(self.less) or 'all others'}"


class CorrelationRule(Rule):
    """Holds where a point's values rank as those of another measure do: Spearman's coefficient is above a bound."""

    to: str = param(..., "the other measure", "the publication")
    above: float = param(..., "the bound of the coefficient", "assumed", ge=-1, lt=1)

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: Shown) -> RuleResult:
        """Judge each point with more than two values."""
        coefficients = []
        to = {tuple(sorted(one.labels.items())): one.value for one in others if one.measure == self.to}
        for some in _by_rest(values, *OF_ROWS).values():
            both = [(one.value, to[key]) for one in some if (key := tuple(sorted(one.labels.items()))) in to]
            if len(both) > 2:
                coefficients.append(spearman([a for a, _ in both], [b for _, b in both]))
        kept = [one > self.above for one in coefficients]
        return (
            RuleResult(kept, f"{FIXED_2(fsum(coefficients) / len(coefficients))}{_count(kept)}")
            if coefficients
            else RuleResult()
        )

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        return f"{of} ranks as {self.to}: Spearman's coefficient > {GENERAL(self.above)}"


class LargestRule(Rule):
    """Holds where a row's largest parts are those that the publication names; in part: where some of them are."""

    parts: tuple[str, ...] = param(..., "measures of the figure", "the publication", min_length=1)

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: Shown) -> RuleResult:
        """Judge each row, whose parts are the values of all measures."""
        kept: list[bool | None] = []
        partly, texts, wanted = False, [], set(self.parts)
        for rest, some in _by_rest(values).items():
            ordered = sorted(some, key=lambda value: -value.value)
            most, beside = ordered[: len(self.parts)], ordered[len(self.parts) : len(self.parts) + 1]
            names = {value.measure for value in most}
            last = most[-1]
            is_open = any(
                _more(last.value, value.value, last.half_width + value.half_width) is None for value in beside
            )
            kept.append(None if is_open and names != wanted else names == wanted)
            partly = partly or bool(names & wanted)
            texts.append(f"{_row(dict(rest))}{', '.join(f'{value.measure} {shown(value.value)}' for value in most)}")
        more = f", {len(texts) - 1} more" if len(texts) > 1 else ""
        return RuleResult(kept, f"{texts[0]}{more}{_count(kept)}", partly) if texts else RuleResult()

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        return f"largest parts{of}: {' and '.join(self.parts)}"


class ClaimSpec(Spec):
    """One statement of the publication, and how it is judged: by exactly one rule, unless it cannot be asked here."""

    name: str = param("", "by which the page's sentences speak of it", "user")
    text: str = param(..., "the statement", "the publication")
    said: str = param(..., "the publication's figure, as it is shown", "the publication")
    measure: str = param("", "what is measured", "user")
    where: Labels = param({}, "labels of the values that count", "user")
    unaskable: str = param("", "why it cannot be asked of these machines, whatever is run", "the publication")
    value: ValueRule | None = None
    bound: BoundRule | None = None
    order: OrderRule | None = None
    trend: TrendRule | None = None
    group: GroupRule | None = None
    correlation: CorrelationRule | None = None
    largest: LargestRule | None = None

    @property
    def rule(self) -> Rule | None:
        """The rule; None where the claim cannot be asked."""
        return next(iter(self._rules), None)

    @property
    def _rules(self) -> list[Rule]:
        rules = (self.value, self.bound, self.order, self.trend, self.group, self.correlation, self.largest)
        return [rule for rule in rules if rule is not None]

    @model_validator(mode="after")
    def _has_one_rule(self) -> "ClaimSpec":
        if len(self._rules) != (not self.unaskable):
            raise ValueError(
                "a claim has one of value, bound, order, trend, group, correlation and largest, or else unaskable"
            )
        if not self.unaskable and not self.measure and self.largest is None:
            raise ValueError("measure: the rule says nothing of what is measured")
        return self

    def chosen(self, values: Sequence[FigureValue]) -> list[FigureValue]:
        """List the values that count; a rule of all measures names none."""
        measures = {self.measure} if self.measure and self.largest is None else {one.measure for one in values}
        return [one for one in values if one.measure in measures and matches(one.labels, self.where)]

    def apply(self, values: Sequence[FigureValue], shown: Shown) -> RuleResult:
        """Apply the rule to the values of one comparison, of all measures of the figure. shown: formats a value."""
        chosen = self.chosen(values)
        return self.rule.judge(chosen, values, shown) if self.rule is not None and chosen else RuleResult()

    def describe(self) -> str:
        """Put the rule into words; empty where the claim cannot be asked."""
        where = f" ({_labels(self.where)})" if self.where else ""
        return "" if self.rule is None else self.rule.describe(where if self.largest else self.measure + where)


def _labels(where: Where) -> str:
    texts = (" or ".join(map(str, names)) if isinstance(names, list) else str(names) for names in where.values())
    return ", ".join(f"{label} {names}" for label, names in zip(where, texts, strict=True))


def _more(first: float, second: float, width: float) -> bool | None:
    """Tell whether a number is more than another one; None where that lies within the half-width of the difference."""
    if width and abs(first - second) <= width:
        return None
    return first > second


def _mean(values: Sequence[FigureValue]) -> float:
    return fsum(one.value * one.count for one in values) / fsum(one.count for one in values)


def _by_rest(values: Sequence[FigureValue], *without: str) -> dict[tuple[tuple[str, str], ...], list[FigureValue]]:
    """Group values by their labels other than some."""
    found: dict[tuple[tuple[str, str], ...], list[FigureValue]] = {}
    for one in values:
        rest = tuple(sorted((name, label) for name, label in one.labels.items() if name not in without))
        found.setdefault(rest, []).append(one)
    return found


def _judge_pairs(pairs: Sequence[tuple[FigureValue, FigureValue]]) -> RuleResult:
    """Judge pairs of which the first is to be more; differences that are written as one are open."""
    kept, ratios = [], []
    for first, second in pairs:
        unseen = SEEN * abs(second.value) if first.value != second.value else 0.0
        kept.append(_more(first.value, second.value, max(hypot(first.half_width, second.half_width), unseen)))
        ratios.append(first.value / second.value if second.value else float("inf"))
    return RuleResult(kept, f"{_mean_ratio(ratios)}{_count(kept)}") if pairs else RuleResult()


def _mean_ratio(ratios: Sequence[float]) -> str:
    """Return the mean ratio as text; where something stands against nothing, that."""
    mean = fsum(ratios) / len(ratios)
    return f"×{FIXED_2(mean)}" if isfinite(mean) else "all against nothing"


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Spearman's rank correlation, equal values with their mean rank; 0 where all of one are equal."""
    a, b = _ranks(first), _ranks(second)
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / norm if norm else 0.0


def _ranks(values: Sequence[float]) -> Any:
    _, place, counts = np.unique(np.asarray(values, float), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[place]


def _row(labels: Mapping[str, str]) -> str:
    if "layer" not in labels:
        return ""
    return f"{labels['layer']} {labels.get('part', '')}".replace("_", " ").removesuffix(" all").rstrip() + ": "


def _count(kept: Sequence[bool | None]) -> str:
    return f", {sum(one is True for one in kept)} of {len(kept)}" if len(kept) > 1 else ""


def _range(values: Sequence[FigureValue], shown: Shown) -> str:
    numbers = [one.value for one in values]
    return f" ({shown(min(numbers))} … {shown(max(numbers))})" if len(numbers) > 1 else ""


def labels_missing(where: Where, values: Sequence[FigureValue]) -> Iterator[str]:
    """Yield the wanted labels that none of the values has, such as "layer 'conv2'"."""
    for label, wanted in where.items():
        names = label_names(wanted)
        if not names & {one.labels[label] for one in values if label in one.labels}:
            yield f"{label} {' or '.join(sorted(names))}"
