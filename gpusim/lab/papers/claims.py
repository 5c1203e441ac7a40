"""Claims: whether what a publication says holds on its own way and on ours, by how much, and what moved with it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from gpusim.lab.papers.claim_spec import ClaimSpec
from gpusim.lab.papers.long_table import FigureValue, Where
from gpusim.lab.papers.points import RunsFigure, does_fit
from gpusim.lab.papers.publication import Figure, Publication
from gpusim.lab.papers.rules import RuleComparison

HOLDS, FAILS, MIXED, UNKNOWN, BESIDE = "holds", "does not", "in part", "not run", "–"
UNDECIDED, UNASKABLE, DEFINED = "undecided", "cannot be asked", "not counted"
STATES = (HOLDS, MIXED, FAILS, UNDECIDED, UNASKABLE, UNKNOWN, DEFINED)


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim by one comparison."""

    state: str
    """One of STATES, or BESIDE where the comparison has no value for the claim."""
    ours: str = "–"
    """Our value as text."""
    limits: tuple[float, ...] = ()
    """Largest speed-up that the zeros of each value allow."""
    reasons: tuple[str, ...] = ()
    """Metrics that changed with the value, or the reason why the claim cannot be checked or refuted."""
    without: tuple[str, ...] = ()
    """Points of the claim that have not been run."""
    openings: tuple[str, ...] = ()
    """For each comparison that half-widths leave open, which half-width would decide it."""
    kept: tuple[str, ...] = ()
    """Places where the claim certainly holds."""


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of a figure with its verdicts."""

    figure: str
    """Name of the figure."""
    claim: ClaimSpec
    """Claim."""
    verdicts: Mapping[str, ClaimVerdict]
    """Verdicts by comparison."""
    fits: str
    """Whether its points fit into the GPU's memory, as text."""

    @property
    def judging(self) -> Mapping[str, ClaimVerdict]:
        """The verdicts of the comparisons that have a value for the claim."""
        return {name: verdict for name, verdict in self.verdicts.items() if verdict.state != BESIDE}

    def is_allowed(self, comparison: str) -> bool | None:
        """Tell whether the publication's speed-up is within the largest limit there; None where either is unknown."""
        limits = self.verdicts[comparison].limits
        return None if self.claim.value is None or not limits else self.claim.value.value <= max(limits)


def judge_all(publication: Publication) -> list[JudgedClaim]:
    """Judge all claims of all figures, in order."""
    return judge_figures(publication, list(publication.figures))


def judge_figures(publication: Publication, names: Sequence[str]) -> list[JudgedClaim]:
    """Judge all claims of some figures, in order.

    Args:
        publication: The publication with its results.
        names: Names of the figures.
    """
    reproduction, judged_claims = publication.reproduction, []
    judge_ = judge if reproduction.spec.runs is None else judge_layers
    for name in names:
        figure, values_of_all = publication.figures[name], publication.list_values(name)
        for claim in figure.claims:
            verdicts = {}
            for column in reproduction.columns:
                values = [value for value in values_of_all if value.comparison == column]
                missing = claim.list_points(partial(_list_missing, publication, figure, column))
                verdicts[column] = judge_(claim, values, figure.format_of(claim.measure), missing)
            judged_claims.append(JudgedClaim(name, claim, verdicts, _fits(publication, figure)))
    return judged_claims


def _list_missing(publication: Publication, figure: Figure, column: str, where: Where) -> list[str]:
    return figure.list_missing(publication, where, column)


def _fits(publication: Publication, figure: Figure) -> str:
    """Return whether all the figure's layers fit at the publication's batch, or how many do, as text."""
    if not isinstance(figure, RunsFigure):
        return ""
    places = dict.fromkeys((case, batch) for case, batch, _ in figure.places())
    fitting = [does_fit(publication.spec, figure, case, batch) for case, batch in places].count("yes")
    return "yes" if fitting == len(places) else f"{fitting} of {len(places)}"


def judge(
    claim: ClaimSpec, values: Sequence[FigureValue], shown: Callable[[float], str], missing: Sequence[str] = ()
) -> ClaimVerdict:
    """Judge a claim by the values of one comparison.

    Args:
        shown: Formats one.
        missing: Its points that were not run.
    """
    if claim.unaskable:
        return ClaimVerdict(UNASKABLE, reasons=(claim.unaskable,))
    result, chosen = claim.apply(values, shown), claim.chosen(values)
    if not result.comparisons:
        return ClaimVerdict(UNKNOWN if chosen or missing else BESIDE)
    state = decide(claim.aggregation, result.comparisons)
    if claim.definition:
        ours = f"{result.ours}: {state}"
        return ClaimVerdict(DEFINED, ours, reasons=(claim.definition,), without=tuple(missing))
    limits = tuple(one.limit for one in chosen if one.limit is not None)
    in_the_middle = sorted(chosen, key=lambda one: one.value)[len(chosen) // 2]
    openings = tuple(one.describe_opening() for one in result.comparisons if one.is_kept is None)
    kept = tuple(one.place for one in result.comparisons if one.is_kept)
    return ClaimVerdict(
        state, result.ours, limits=limits, reasons=in_the_middle.explain(), without=tuple(missing), openings=openings,
        kept=kept,
    )  # fmt: skip


def judge_layers(
    claim: ClaimSpec, values: Sequence[FigureValue], shown: Callable[[float], str], missing: Sequence[str]
) -> ClaimVerdict:
    """Judge a claim about a network's layers by the points that have been run. missing: those that have not been."""
    if claim.unaskable:
        return ClaimVerdict(UNASKABLE, reasons=(claim.unaskable,))
    verdict = judge(claim, values, shown)
    if verdict.state not in (UNKNOWN, BESIDE):
        return replace(verdict, without=tuple(missing))
    if missing:
        return ClaimVerdict(UNKNOWN, reasons=(f"not run: {', '.join(missing)}",))
    if not values:
        return ClaimVerdict(BESIDE)
    absent = list(claim.list_missing_labels(values))
    if absent:
        return ClaimVerdict(UNASKABLE, reasons=(f"there is no {' and no '.join(absent)} in this figure",))
    return ClaimVerdict(
        UNASKABLE, reasons=("nothing to compare: its measure does not apply, or one of two labels is absent",)
    )


def decide(aggregation: str | None, comparisons: Sequence[RuleComparison]) -> str:
    """Return what comparisons come to.

    A claim about each value is refuted by one that breaks it beyond its half-width, whatever the others are; it holds
    in part where another one certainly keeps it. Of a claim about most values more than half have to keep it, of one
    about any value a single comparison.
    """
    states = [comparison.is_kept for comparison in comparisons]
    kept, broken = states.count(True), states.count(False)
    if aggregation in ("most", "any"):
        needed = len(states) // 2 + 1 if aggregation == "most" else 1
        return HOLDS if kept >= needed else FAILS if len(states) - broken < needed else UNDECIDED
    if broken:
        partly = any(comparison.partly for comparison in comparisons if comparison.is_kept is False)
        return MIXED if kept or partly else FAILS
    return HOLDS if kept == len(states) else UNDECIDED
