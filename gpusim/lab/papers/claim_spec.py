"""A claim of a publication: the words that it stands for, what is measured, how values are put together, the rule."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Self

from pydantic import model_validator

from gpusim.base.spec import Spec, param
from gpusim.lab.papers.long_table import FigureValue, Where, label_names, matches
from gpusim.lab.papers.rules import (
    ONE_BY_ONE,
    AggregationName,
    BoundRule,
    CorrelationRule,
    GroupRule,
    Labels,
    LargestRule,
    OrderRule,
    Rule,
    RuleResult,
    TrendRule,
    ValueFormat,
    ValueRule,
    aggregate,
    describe_labels,
    describe_range,
)

MOST_QUOTED = 240  # characters of a quotation


class ClaimSpec(Spec):
    """One statement, and how it is judged: by exactly one rule, unless it cannot be asked here."""

    name: str = param("", "by which the page's sentences speak of it", "user")
    text: str = param(..., "the statement", "the publication")
    quote: str = param("", "the publication's own words, short", "the publication", max_length=MOST_QUOTED)
    place: str = param("", "where they stand: section, page, figure or table", "the publication")
    own: str = param("", "in place of words and place: why it is asked, which the publication does not say", "user")
    said: str = param("–", "the publication's figure, as it is shown", "the publication")
    measure: str = param("", "what is measured", "user")
    aggregation: AggregationName | None = param(
        None,
        "how values are put together: each, most or any of them keeps the rule, or their mean, mean of ratios, ratio of"
        " sums or sum of each point does",
        "the publication",
    )
    where: Labels | tuple[Labels, ...] = param({}, "labels of the values that count; several: any of these", "user")
    unaskable: str = param("", "why it cannot be asked of these machines, whatever is run", "the publication")
    definition: str = param("", "why no run can refute it: it is shown, and not counted", "user")
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
    def is_counted(self) -> bool:
        """Whether a run could refute it."""
        return not self.definition

    @property
    def origin(self) -> str:
        """The words that it stands for with their place, or why it is asked."""
        return f"“{self.quote}” ({self.place})" if self.quote else self.own

    @property
    def _rules(self) -> list[Rule]:
        rules = (self.value, self.bound, self.order, self.trend, self.group, self.correlation, self.largest)
        return [rule for rule in rules if rule is not None]

    @property
    def _conditions(self) -> Sequence[Labels]:
        return self.where if isinstance(self.where, tuple) else (self.where,)

    @model_validator(mode="after")
    def _has_origin(self) -> Self:
        if bool(self.quote) == bool(self.own) or bool(self.quote) != bool(self.place):
            raise ValueError("a claim has quote and place, the publication's words, or else own: why it is asked")
        return self

    @model_validator(mode="after")
    def _has_one_rule(self) -> Self:
        if len(self._rules) != (not self.unaskable):
            raise ValueError(
                "a claim has one of value, bound, order, trend, group, correlation and largest, or else unaskable"
            )
        if self.unaskable:
            return self
        if not self.measure and self.largest is None:
            raise ValueError("measure: the rule says nothing of what is measured")
        if self.aggregation is None:
            raise ValueError("aggregation: is required but missing")
        if self.aggregation not in ONE_BY_ONE and self.value is None and self.bound is None:
            raise ValueError(f"aggregation: '{self.aggregation}' is one number: of a value or a bound")
        return self

    def chosen(self, values: Sequence[FigureValue]) -> list[FigureValue]:
        """List the values that count; a rule of all measures names none."""
        measures = {self.measure} if self.measure and self.largest is None else {one.measure for one in values}
        some = [one for one in values if one.measure in measures]
        return [one for one in some if any(matches(one.labels, where) for where in self._conditions)]

    def apply(self, values: Sequence[FigureValue], shown: ValueFormat) -> RuleResult:
        """Apply the rule to the values of one comparison, of all measures of the figure. shown: formats a value."""
        chosen = self.chosen(values)
        if self.rule is None or self.aggregation is None or not chosen:
            return RuleResult()
        result = self.rule.judge(aggregate(chosen, self.aggregation), values, shown)
        if self.aggregation in ONE_BY_ONE:
            return result
        return replace(result, ours=result.ours + describe_range(chosen, shown))

    def describe(self) -> str:
        """Put aggregation and rule into words; empty where the claim cannot be asked."""
        if self.rule is None:
            return ""
        where = " or ".join(filter(None, map(describe_labels, self._conditions)))
        measure = "the row" if self.largest else self.measure
        return f"{self.aggregation}: {self.rule.describe(measure + (f' ({where})' if where else ''))}"

    def list_points(self, of: Callable[[Where], Sequence[str]]) -> list[str]:
        """List points of its values. of: lists those with some labels."""
        return list(dict.fromkeys(key for where in self._conditions for key in of(where)))

    def list_missing_labels(self, values: Sequence[FigureValue]) -> Iterator[str]:
        """Yield the wanted labels that none of the values has, such as "layer 'conv2'"."""
        for where in self._conditions:
            yield from _missing(where, values)


def _missing(where: Where, values: Sequence[FigureValue]) -> Iterator[str]:
    for label, wanted in where.items():
        names = label_names(wanted)
        if not names & {one.labels[label] for one in values if label in one.labels}:
            yield f"{label} {' or '.join(sorted(names))}"
