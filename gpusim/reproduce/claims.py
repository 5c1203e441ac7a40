"""Claims: whether what a publication says holds on its own way and on ours, by how much, and what moved with it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from gpusim.config.figure import BoundRule, ClaimSpec, OrderRule, ValueRule
from gpusim.reproduce.values import Value, matches

HOLDS, FAILS, MIXED, UNKNOWN, BESIDE = "holds", "does not", "in part", "not run", "–"
STATES = (HOLDS, MIXED, FAILS, UNKNOWN)


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim by one comparison.

    state: one of STATES, or BESIDE where the comparison has no value for the claim; ours: our figure as text; limits:
    the largest speed-up that the zeros of each of its values allow; reasons: what moved with the value.
    """

    state: str
    ours: str = "–"
    limits: tuple[float, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """A claim of a figure. verdicts: by comparison; fits: whether its points fit the GPU's memory."""

    figure: str
    claim: ClaimSpec
    verdicts: Mapping[str, Verdict]
    fits: str

    @property
    def limits(self) -> tuple[float, float] | None:
        """The least and the largest speed-up that zeros allow; None for other measures, and where it is unknown."""
        limits = [limit for verdict in self.verdicts.values() for limit in verdict.limits]
        return (min(limits), max(limits)) if limits else None

    @property
    def is_allowed(self) -> bool | None:
        """Whether the publication's speed-up lies within the largest limit; None where either is unknown."""
        if self.claim.value is None or self.limits is None:
            return None
        return self.claim.value.value <= self.limits[1]


def judge(claim: ClaimSpec, values: Sequence[Value], shown: Callable[[float], str], complete: bool) -> Verdict:
    """Judge a claim by the values of one comparison. shown: formats one; complete: whether all points are known."""
    held = [one for one in values if one.measure == claim.measure and matches(one.labels, claim.where)]
    if not held:
        return Verdict(BESIDE if complete else UNKNOWN)
    if claim.value is not None:
        state, ours = _value(claim.value, held, shown)
    elif claim.bound is not None:
        state, ours = _bound(claim.bound, held, shown)
    else:
        assert claim.order is not None
        state, ours = _order(claim.order, held)
    limits = tuple(one.limit for one in held if one.limit is not None)
    in_the_middle = sorted(held, key=lambda one: one.value)[len(held) // 2]  # its reasons stand for all
    return Verdict(state, ours, limits, in_the_middle.reasons)


def _mean(values: Sequence[Value]) -> float:
    return fmean([one.value for one in values], [one.count for one in values])


def _value(rule: ValueRule, values: Sequence[Value], shown: Callable[[float], str]) -> tuple[str, str]:
    mean = _mean(values)
    state = HOLDS if abs(mean / rule.value - 1) <= rule.tolerance else FAILS
    return state, shown(mean) + _range(values, shown)


def _bound(rule: BoundRule, values: Sequence[Value], shown: Callable[[float], str]) -> tuple[str, str]:
    bound, sign = (rule.above, 1) if rule.above is not None else (rule.below, -1)
    assert bound is not None
    inside = [sign * (one.value - bound) > 0 for one in values]
    return _share(inside), shown(_mean(values)) + _range(values, shown) + _count(inside)


def _order(rule: OrderRule, values: Sequence[Value]) -> tuple[str, str]:
    by_rest: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
    for one in values:
        rest = tuple(sorted((name, label) for name, label in one.labels.items() if name != rule.label))
        by_rest.setdefault(rest, {})[one.labels[rule.label]] = one.value
    more, less = str(rule.more), str(rule.less)
    pairs = [(held[more], held[less]) for held in by_rest.values() if more in held and less in held]
    if not pairs:
        return UNKNOWN, "–"
    larger = [first > second for first, second in pairs]
    return _share(larger), f"×{fmean(first / second for first, second in pairs):.2f}{_count(larger)}"


def _share(true: Sequence[bool]) -> str:
    return HOLDS if all(true) else MIXED if any(true) else FAILS


def _count(true: Sequence[bool]) -> str:
    return f", {sum(true)} of {len(true)}" if len(true) > 1 else ""


def _range(values: Sequence[Value], shown: Callable[[float], str]) -> str:
    numbers = [one.value for one in values]
    if len(numbers) == 1:
        return ""
    return f" ({shown(min(numbers))} … {shown(max(numbers))})"
