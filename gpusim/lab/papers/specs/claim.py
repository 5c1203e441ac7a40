"""What a publication says, as a rule that values of ours keep or break: one of seven, or why it cannot be asked."""

from typing import Literal

from pydantic import model_validator

from gpusim.base.spec import Spec, param

Label = str | int | float
Where = dict[str, Label | list[Label]]


class ValueRule(Spec):
    """Holds where the mean, or the mean of the points' sums, is the publication's figure, within a tolerance."""

    by: Literal["mean", "sum"] = param("mean", "of all values, or of the sums of each point's", "the publication")
    value: float = param(..., "the publication's figure", "the publication")
    tolerance: float = param(0.1, "relative deviation up to which it holds", "assumed", ge=0, lt=1)


class BoundRule(Spec):
    """Holds where every value is on one side of a bound."""

    above: float | None = param(None, "the bound, if values are to be above it", "the publication")
    below: float | None = param(None, "the bound, if they are to be below it", "the publication")

    @model_validator(mode="after")
    def _is_one(self) -> "BoundRule":
        if (self.above is None) == (self.below is None):
            raise ValueError("a bound has one of above and below")
        return self


class OrderRule(Spec):
    """Holds where each value with one label is more than that with another label, all other labels being equal."""

    label: str = param(..., "batch, data, case or zeros; of networks batch, way, part or network", "user")
    more: Label = param(..., "the label of the larger one", "the publication")
    less: Label = param(..., "the label of the smaller one", "the publication")


class TrendRule(Spec):
    """Holds where each value is more than the one with the next smaller number as its label, all else being equal."""

    label: str = param(..., "a label of numbers: batch", "user")
    falls: bool = param(False, "each is less instead", "the publication")


class GroupRule(Spec):
    """Holds where some values of a point together exceed others of the same point."""

    more: Where = param(..., "labels of the larger ones", "the publication", min_length=1)
    less: Where = param({}, "labels of the smaller ones; none: all others", "the publication")
    by: Literal["sum", "mean", "each"] = param(
        "mean", "what of them is compared; each: the least of the larger with the most of the smaller", "user"
    )
    factor: float = param(1.0, "how many times as large at least", "the publication", gt=0, le=1e6)


class CorrelationRule(Spec):
    """Holds where a point's values rank as those of another measure do: Spearman's coefficient is above a bound."""

    to: str = param(..., "the other measure", "the publication")
    above: float = param(..., "the bound of the coefficient", "assumed", ge=-1, lt=1)


class LargestRule(Spec):
    """Holds where a row's largest parts are those that the publication names; in part: where some of them are."""

    parts: tuple[str, ...] = param(..., "measures of the figure", "the publication", min_length=1)


class ClaimSpec(Spec):
    """One statement of the publication, and how it is judged: by exactly one rule, unless it cannot be asked here."""

    name: str = param("", "by which the page's sentences speak of it", "user")
    text: str = param(..., "the statement", "the publication")
    said: str = param(..., "the publication's figure, as it is shown", "the publication")
    measure: str = param("", "what is measured", "user")
    where: Where = param({}, "labels of the values that count", "user")
    unaskable: str = param("", "why it cannot be asked of these machines, whatever is run", "the publication")
    value: ValueRule | None = None
    bound: BoundRule | None = None
    order: OrderRule | None = None
    trend: TrendRule | None = None
    group: GroupRule | None = None
    correlation: CorrelationRule | None = None
    largest: LargestRule | None = None

    @property
    def rule(self) -> Spec | None:
        """The rule; None where the claim cannot be asked."""
        return next((rule for rule in self._rules if rule is not None), None)

    @property
    def _rules(self) -> tuple[Spec | None, ...]:
        return (self.value, self.bound, self.order, self.trend, self.group, self.correlation, self.largest)

    @model_validator(mode="after")
    def _is_one(self) -> "ClaimSpec":
        if sum(rule is not None for rule in self._rules) != (not self.unaskable):
            raise ValueError(
                "a claim has one of value, bound, order, trend, group, correlation and largest, or else unaskable"
            )
        if not self.unaskable and not self.measure and self.largest is None:
            raise ValueError("measure: the rule says nothing of what is measured")
        return self
