"""One way to choose among kernels, or algorithms, that compute the same: bounds, then estimates, then measurement.

Whoever is certain to be slower than another one is out. If one is left, it is taken and nothing is simulated. Otherwise
those in question are measured, the most promising first, until each other one takes at least what the fastest does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import NamedTuple, TypeVar

from gpusim.results.records.record import KernelChoice

K = TypeVar("K")


@dataclass(frozen=True)
class Candidate:
    """A kernel or algorithm with the range of its cycles."""

    name: str
    """Name."""
    least: float
    """Lower bound on the cycles, or an estimate's lower end; infinite: it cannot be run."""
    most: float = inf
    """Upper end of an estimate; equal to `least` for an exact estimate, which needs no measurement."""
    measured: bool = False
    """The cycles were measured."""
    measurable: bool = True
    """The cycles may be measured; otherwise the candidate is selected only if no other remains."""


class MeasurementRequest(NamedTuple):
    """The next measurement."""

    name: str
    """Name of the candidate."""
    most: float = inf
    """Cycles of the fastest candidate, at which the measurement may stop."""


# cycles; None: more than were asked for; infinite: it cannot be run after all
Measured = float | None


def find_contenders(found: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that may be the fastest: no other one is certain to be faster."""
    surely = min(one.most for one in found)
    return [one for one in found if one.least <= surely]


def likeliest(found: Sequence[Candidate]) -> Candidate:
    """Return the candidate in question with the lowest upper end; of several the one with the lowest lower end."""
    return min(find_contenders(found), key=lambda one: (one.most, one.least))


def decide(candidates: Sequence[Candidate]) -> MeasurementRequest | KernelChoice:
    """Choose by what is known, or ask for the measurement that is needed first."""
    asked = find_contenders(candidates)
    fastest = min((c.least for c in candidates if c.measured), default=inf)
    unknown = [c for c in asked if c.measurable and c.least < min(c.most, fastest)]
    if unknown and len(asked) > 1:
        return MeasurementRequest(min(unknown, key=lambda c: c.least).name, fastest)
    chosen, figures = likeliest(candidates).name, [c for c in candidates if c.least == c.most and isfinite(c.least)]
    return KernelChoice(
        chosen,
        {c.name: int(c.least) for c in sorted(figures, key=lambda c: c.least) if c.measured},
        {c.name: int(c.least) for c in candidates if c.name != chosen and c.least < c.most and isfinite(c.least)},
        {c.name: int(c.least) for c in figures if not c.measured},
    )


def choose(
    candidates: Sequence[Candidate], measure: Callable[[MeasurementRequest], Measured] = lambda asked: inf
) -> KernelChoice:
    """Choose the fastest of several candidates; the likeliest where nothing can be measured.

    Args:
        candidates: at least one.
        measure: returns a candidate's cycles.

    Returns:
        The choice and its reasons.
    """
    return choose_all({"": candidates}, lambda asked: {"": measure(asked[""])})[""]


def choose_all(
    candidates: Mapping[K, Sequence[Candidate]],
    measure: Callable[[Mapping[K, MeasurementRequest]], Mapping[K, Measured]],
) -> dict[K, KernelChoice]:
    """Choose the fastest candidate for each key.

    Args:
        candidates: at least one for each key.
        measure: called with one question for each key that has any, all at once.

    Returns:
        The choice for each key.
    """
    open_, chosen = dict(candidates), dict[K, KernelChoice]()
    while open_:
        decided = {key: decide(found) for key, found in open_.items()}
        chosen |= {key: one for key, one in decided.items() if isinstance(one, KernelChoice)}
        asked = {key: one for key, one in decided.items() if isinstance(one, MeasurementRequest)}
        answers = measure(asked) if asked else {}
        open_ = {key: [_known(one, question, answers[key]) for one in open_[key]] for key, question in asked.items()}
    return {key: chosen[key] for key in candidates}


def _known(candidate: Candidate, question: MeasurementRequest, cycles: Measured) -> Candidate:
    """Return what is known of a candidate once a question is answered."""
    if candidate.name != question.name:
        return candidate
    if cycles is None:
        return replace(candidate, least=question.most)
    return replace(candidate, least=cycles, most=cycles, measured=True)
