"""Rules that claims of a publication are judged by, and how the values that a claim counts are put together.

A rule yields comparisons, each with a margin and its half-width: what the half-widths leave open is neither true nor
false. An order is open too where the quotient is written as one, though the numbers are not the same.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from math import fsum, hypot, inf, isfinite
from typing import Any, Literal, Self

import numpy as np
from pydantic import model_validator

from gpusim.base.errors import UserError
from gpusim.base.formats import DIGITS_3, FIXED_2, GENERAL
from gpusim.base.spec import Spec, param
from gpusim.base.table import MISSING
from gpusim.lab.papers.long_table import FigureValue, Label, Where, matches

ValueFormat = Callable[[float], str]
Labels = dict[str, Label | list[Label]]
AggregationName = Literal["each", "most", "any", "mean", "mean of ratios", "ratio of sums", "sum"]
ONE_BY_ONE = ("each", "most", "any")  # the values stay apart, and the comparisons are counted
EQUAL_WITHIN = 0.005  # of a number: differences below it are written as ×1.00
OF_ROWS = ("layer", "kind", "part")  # labels of rows; the others are of points


@dataclass(frozen=True)
class RuleComparison:
    """One comparison that a rule makes."""

    place: str
    """Labels of what is compared."""
    margin: float
    """By how much the claim is kept; negative: it is broken by that."""
    half_width: float = 0.0
    """Half-width of the margin's confidence interval."""
    ratio: float | None = None
    """Quotient of the two numbers that are compared; None: one number is compared with the publication's."""
    partly: bool = False
    """The claim is broken, but part of it is kept."""

    @property
    def is_kept(self) -> bool | None:
        """Whether the claim is kept; None: the half-width leaves it open."""
        return None if self.half_width and abs(self.margin) <= self.half_width else self.margin > 0

    def describe_opening(self) -> str:
        """Say which half-width would decide it."""
        return f"{self.place}: a half-width below {DIGITS_3(abs(self.margin))}, now {DIGITS_3(self.half_width)}"


@dataclass(frozen=True)
class RuleResult:
    """Result of a claim's rule."""

    comparisons: Sequence[RuleComparison] = ()
    """Comparisons of the values."""
    ours: str = MISSING
    """Our value as text."""


class Rule(Spec):
    """Base of the rules."""

    @abstractmethod
    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: ValueFormat) -> RuleResult:
        """Judge a claim.

        Args:
            values: The values of the claim's measure that have its labels, as they are put together, at least one.
            others: All values of one comparison.
            shown: Formats a value.
        """

    @abstractmethod
    def describe(self, of: str) -> str:
        """Put the rule into words. of: the measure and labels of its values."""


class ValueRule(Rule):
    """Holds where a number is the publication's figure, within a tolerance."""

    value: float = param(..., "the publication's figure", "the publication")
    tolerance: float = param(..., "relative deviation up to which it holds", "as `basis` says", gt=0, lt=1)
    basis: str = param(..., "where the tolerance comes from", "user", min_length=1)

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: ValueFormat) -> RuleResult:
        """Judge each number; it is open where its interval has a limit of the tolerance."""
        within = self.tolerance * abs(self.value)
        return _compare_numbers(values, shown, lambda one: within - abs(one.value - self.value))

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        return f"{of} = {GENERAL(self.value)} ± {GENERAL(100 * self.tolerance)} % ({self.basis})"


class BoundRule(Rule):
    """Holds where a number is on one side of a bound."""

    above: float | None = param(None, "the bound, if numbers are to be above it", "the publication")
    below: float | None = param(None, "the bound, if they are to be below it", "the publication")
    basis: str = param("", "where the bound comes from; 0 and 1 need none: no difference, as much", "user")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.above is None) == (self.below is None):
            raise ValueError("a bound has one of above and below")
        if self._limit[0] not in (0, 1) and not self.basis:
            raise ValueError("basis: is required of a bound other than 0 and 1: where it comes from")
        return self

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: ValueFormat) -> RuleResult:
        """Judge each number."""
        bound, sign = self._limit
        return _compare_numbers(values, shown, lambda one: sign * (one.value - bound))

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        bound, sign = self._limit
        return f"{of} {'>' if sign > 0 else '<'} {GENERAL(bound)}{f' ({self.basis})' * bool(self.basis)}"

    @property
    def _limit(self) -> tuple[float, int]:
        """The bound, and 1 if numbers are to be above it, else -1."""
        return (self.above, 1) if self.above is not None else (self.below or 0.0, -1)


class OrderRule(Rule):
    """Holds where a value with one label is more than that with another label, all other labels being equal."""

    label: str = param(..., "batch, data, case or zeros; of networks batch, way, part or network", "user")
    more: Label | None = param(None, "the label of the larger one", "the publication")
    less: Label | None = param(None, "the label of the smaller one", "the publication")
    pairs: tuple[tuple[Label, Label], ...] = param((), "several such: larger and smaller", "the publication")
    across: tuple[str, ...] = param((), "further labels in which the two may differ", "user")

    @model_validator(mode="after")
    def _has_pairs(self) -> Self:
        if (self.more is None) != (self.less is None) or (self.more is None) != bool(self.pairs):
            raise ValueError("an order has more and less, or pairs")
        return self

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: ValueFormat) -> RuleResult:
        """Judge each pair."""
        compared: list[tuple[FigureValue, FigureValue]] = []
        for some in group_by_rest(values, self.label, *self.across).values():
            for more, less in self._pairs:
                larger, smaller = ([one for one in some if one.labels[self.label] == name] for name in (more, less))
                compared += product(larger, smaller)
        return _compare_pairs(compared)

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        pairs = ", ".join(f"{more} > {less}" for more, less in self._pairs)
        apart = f", whatever the {' and '.join(self.across)}" if self.across else ""
        return f"{of}: with {self.label} {pairs}{apart}"

    @property
    def _pairs(self) -> list[tuple[str, str]]:
        return [(str(more), str(less)) for more, less in self.pairs or ((self.more, self.less),)]


class TrendRule(Rule):
    """Holds where a value is more than the one with the next smaller number as its label, all else being equal."""

    label: str = param(..., "a label of numbers: batch", "user")
    falls: bool = param(False, "each is less instead", "the publication")

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: ValueFormat) -> RuleResult:
        """Judge each pair of neighbours."""
        pairs = []
        for some in group_by_rest(values, self.label).values():
            for smaller, larger in pairwise(sorted(some, key=lambda one: float(one.labels[self.label]))):
                pairs.append((smaller, larger) if self.falls else (larger, smaller))
        return _compare_pairs(pairs)

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        return f"{of} {'falls' if self.falls else 'rises'} with each larger {self.label}"


class GroupRule(Rule):
    """Holds where some values of a point together exceed others of the same point."""

    more: Labels = param(..., "labels of the larger ones", "the publication", min_length=1)
    less: Labels = param({}, "labels of the smaller ones; none: all others", "the publication")
    by: Literal["sum", "mean", "extremes"] = param(
        "mean", "what of them is compared; extremes: the least of the larger with the most of the smaller", "user"
    )
    factor: float = param(1.0, "how many times as large at least", "the publication", gt=0, le=1e6)
    basis: str = param("", "where the factor comes from, if it is not 1", "user")

    @model_validator(mode="after")
    def _has_basis(self) -> Self:
        if self.factor != 1 and not self.basis:
            raise ValueError("basis: is required of a factor other than 1: where it comes from")
        return self

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: ValueFormat) -> RuleResult:
        """Judge each point."""
        comparisons = []
        for rest, some in group_by_rest(values, *OF_ROWS).items():
            more = [one for one in some if matches(one.labels, self.more)]
            less = [one for one in some if (matches(one.labels, self.less) if self.less else one not in more)]
            if more and less:
                (first, width), (second, other) = self._together(more, min), self._together(less, max)
                ratio, both = first / second if second else inf, hypot(width, self.factor * other)
                comparisons.append(RuleComparison(_name(rest), first - self.factor * second, both, ratio))
        return _summarize_ratios(comparisons)

    def _together(self, values: Sequence[FigureValue], end: Callable[..., FigureValue]) -> tuple[float, float]:
        """Return a figure of some values, and its half-width. end: chooses the least or the most of them."""
        if self.by == "extremes":
            one = end(values, key=lambda value: value.value)
            return one.value, one.half_width
        whole, width = fsum(one.value for one in values), hypot(*(one.half_width for one in values))
        return (whole, width) if self.by == "sum" else (whole / len(values), width / len(values))

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        more, less = ("least", "largest") if self.by == "extremes" else (self.by, self.by)
        factor = f"{GENERAL(self.factor)} × " * (self.factor != 1)
        basis = f" ({self.basis})" * bool(self.basis)
        smaller = describe_labels(self.less) or "all others"
        return f"{of}: {more} of {describe_labels(self.more)} > {factor}{less} of {smaller}{basis}"


class CorrelationRule(Rule):
    """Holds where a point's values rank as those of another measure do: Spearman's coefficient is above a bound."""

    to: str = param(..., "the other measure", "the publication")
    above: float = param(..., "the bound of the coefficient", "as `basis` says", ge=-1, lt=1)
    basis: str = param(..., "where the bound comes from", "user", min_length=1)

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: ValueFormat) -> RuleResult:
        """Judge each point with more than two values."""
        comparisons = []
        to = {tuple(sorted(value.labels.items())): value.value for value in others if value.measure == self.to}
        for rest, some in group_by_rest(values, *OF_ROWS).items():
            both = [(value.value, to[key]) for value in some if (key := tuple(sorted(value.labels.items()))) in to]
            if len(both) > 2:
                coefficient = spearman([a for a, _ in both], [b for _, b in both])
                comparisons.append(RuleComparison(_name(rest), coefficient - self.above))
        mean = fsum(comparison.margin + self.above for comparison in comparisons) / max(len(comparisons), 1)
        return RuleResult(comparisons, f"{FIXED_2(mean)}{_count(comparisons)}") if comparisons else RuleResult()

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        return f"{of} ranks as {self.to}: Spearman's coefficient > {GENERAL(self.above)} ({self.basis})"


class LargestRule(Rule):
    """Holds where a row's largest parts are those that the publication names; in part: where some of them are."""

    parts: tuple[str, ...] = param(..., "measures of the figure", "the publication", min_length=1)

    def judge(self, values: Sequence[FigureValue], others: Sequence[FigureValue], shown: ValueFormat) -> RuleResult:
        """Judge each row, whose parts are the values of all measures."""
        comparisons, texts, wanted = [], [], set(self.parts)
        for rest, some in group_by_rest(values).items():
            ordered = sorted(some, key=lambda value: -value.value)
            most, beside = ordered[: len(self.parts)], ordered[len(self.parts) : len(self.parts) + 1]
            names = {value.measure for value in most}
            margin = min((most[-1].value - value.value for value in beside), default=inf) or 1e-300
            width = fsum(value.half_width for value in (most[-1], *beside)) if names != wanted else 0.0
            margin = margin if names == wanted else -margin
            comparisons.append(RuleComparison(_name(rest), margin, width, partly=bool(names & wanted)))
            texts.append(f"{_row(dict(rest))}{', '.join(f'{value.measure} {shown(value.value)}' for value in most)}")
        more = f", {len(texts) - 1} more" if len(texts) > 1 else ""
        return RuleResult(comparisons, f"{texts[0]}{more}{_count(comparisons)}") if texts else RuleResult()

    def describe(self, of: str) -> str:
        """Put the rule into words."""
        return f"largest parts of {of}: {' and '.join(self.parts)}"


def aggregate(values: Sequence[FigureValue], aggregation: str) -> list[FigureValue]:
    """Put the values that a claim counts together: as they are, or as one number; sums are of each point.

    Raises:
        UserError: The aggregation does not apply: of ratios their mean is another number than the ratio of their sums.
    """
    if aggregation in ONE_BY_ONE:
        return list(values)
    are_ratios = all(value.ratio is not None for value in values)
    if are_ratios != ("ratio" in aggregation):
        what = "are ratios: a mean of ratios or a ratio of sums" if are_ratios else "are no ratios"
        raise UserError(f"aggregation: '{aggregation}' is not allowed: values of {values[0].measure} {what}")
    if aggregation == "sum":
        return [
            _merge(some, fsum(value.value for value in some), fsum(value.half_width for value in some))
            for some in group_by_rest(values, *OF_ROWS).values()
        ]
    if aggregation == "ratio of sums":
        parts = [value.ratio for value in values if value.ratio is not None]
        above, below, *widths = (fsum(column) for column in zip(*parts, strict=True))
        ratio = above / below if below else inf
        relative = hypot(*(width / size for width, size in zip(widths, (above, below), strict=True) if size))
        return [_merge(values, ratio, ratio * relative)]
    mean = fsum(value.value * value.count for value in values) / fsum(value.count for value in values)
    return [_merge(values, mean, fsum(value.half_width for value in values) / len(values))]


def _merge(values: Sequence[FigureValue], value: float, half_width: float) -> FigureValue:
    """Return one value for several, with the labels that they have in common."""
    common = dict(set.intersection(*(set(one.labels.items()) for one in values)))
    return replace(values[0], value=value, half_width=half_width, labels=dict(sorted(common.items())), ratio=None)


def describe_labels(where: Where) -> str:
    """Put labels into words."""
    texts = (" or ".join(map(str, names)) if isinstance(names, list) else str(names) for names in where.values())
    return ", ".join(f"{label} {names}" for label, names in zip(where, texts, strict=True))


def group_by_rest(values: Sequence[FigureValue], *without: str) -> dict[tuple[tuple[str, str], ...], list[FigureValue]]:
    """Group values by their labels other than some."""
    found: dict[tuple[tuple[str, str], ...], list[FigureValue]] = {}
    for one in values:
        rest = tuple(sorted((name, label) for name, label in one.labels.items() if name not in without))
        found.setdefault(rest, []).append(one)
    return found


def _name(labels: Sequence[tuple[str, str]]) -> str:
    return " ".join(dict.fromkeys(label for _, label in labels if label)) or "all"


def _compare_numbers(
    values: Sequence[FigureValue], shown: ValueFormat, margin: Callable[[FigureValue], float]
) -> RuleResult:
    """Compare each number with the publication's. margin: by how much the claim is kept."""
    comparisons = [RuleComparison(_name([*one.labels.items()]), margin(one), one.half_width) for one in values]
    mean = fsum(one.value * one.count for one in values) / fsum(one.count for one in values)
    return RuleResult(comparisons, f"{shown(mean)}{describe_range(values, shown)}{_count(comparisons)}")


def _compare_pairs(pairs: Sequence[tuple[FigureValue, FigureValue]]) -> RuleResult:
    """Compare pairs of which the first is to be more; differences that are written as one are open."""
    comparisons = []
    for first, second in pairs:
        unseen = EQUAL_WITHIN * abs(second.value) if first.value != second.value else 0.0
        width = max(hypot(first.half_width, second.half_width), unseen)
        ratio = first.value / second.value if second.value else inf
        names = " > ".join(_name([*one.labels.items()]) for one in (first, second))
        comparisons.append(RuleComparison(names, first.value - second.value, width, ratio))
    return _summarize_ratios(comparisons)


def _summarize_ratios(comparisons: Sequence[RuleComparison]) -> RuleResult:
    """Write the mean quotient; where something stands against nothing, that."""
    ratios = [one.ratio for one in comparisons if one.ratio is not None]
    if not ratios:
        return RuleResult()
    mean = fsum(ratios) / len(ratios)
    text = f"×{FIXED_2(mean)}" if isfinite(mean) else "all against nothing"
    return RuleResult(comparisons, f"{text}{_count(comparisons)}")


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


def _count(comparisons: Sequence[RuleComparison]) -> str:
    if len(comparisons) < 2:
        return ""
    kept, is_open = (sum(one.is_kept is state for one in comparisons) for state in (True, None))
    return f", {kept} of {len(comparisons)}{f', {is_open} open' * bool(is_open)}"


def describe_range(values: Sequence[FigureValue], shown: ValueFormat) -> str:
    """Write the least and the largest of several values, as ' (1.00× … 3.00×)'."""
    numbers = [one.value for one in values]
    return f" ({shown(min(numbers))} … {shown(max(numbers))})" if len(numbers) > 1 else ""
