"""Making old figures new within a budget of processor time, the most read ones first.

Figures are made in small batches, each recorded before the next one begins: whoever stops a renewal loses one batch,
and of that only the runs that had not ended, since a store has the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpusim.base.errors import UserError
from gpusim.base.formats import FIXED_1
from gpusim.base.sums import plain_sum
from gpusim.lab.ages.recording import RenewalOptions, spent_seconds
from gpusim.lab.ages.stale import AgedFigure

BATCH_S = 60.0


@dataclass
class RenewalOutcome:
    """What a renewal has done."""

    renewed: int = 0
    """Figures that were made anew."""
    too_dear: int = 0
    """Old figures that the budget did not reach."""
    unknown: int = 0
    """Old figures whose cost is not known."""
    problems: list[str] = field(default_factory=list)
    """Reasons why figures could not be made."""
    seconds: float = 0.0
    """Processor seconds spent."""
    interrupted: bool = False
    """The user stopped it."""

    def sentence(self) -> str:
        """Return a sentence such as '12 figures made anew in 2.9 CPU minutes; 40 are beyond the budget'."""
        parts = [f"{self.renewed} figures made anew in {FIXED_1(self.seconds / 60)} CPU minutes"]
        parts += [f"{self.too_dear} are beyond the budget"] if self.too_dear else []
        parts += [f"of {self.unknown} the cost is not known"] if self.unknown else []
        parts += [f"{len(self.problems)} recordings or batches could not be made"] if self.problems else []
        return "; ".join(parts)


def renew_figures(
    aged: Mapping[str, Sequence[AgedFigure]], budget_s: float, options: RenewalOptions, named: bool = False
) -> RenewalOutcome:
    """Make old figures new, in order, as far as the budget goes.

    Args:
        aged: Figures with their ages, in reading order.
        budget_s: Processor seconds.
        options: How.
        named: The user has named the recordings: figures whose cost is not known are made, too.

    Returns:
        What was done.
    """
    outcome, start = RenewalOutcome(), spent_seconds()
    for figures in aged.values():
        stale = [entry for entry in figures if not entry.age.is_current]
        if stale and (obstacle := stale[0].recording.obstacle):
            outcome.problems.append(f"{stale[0].recording.name}: {len(stale)} figures: {obstacle}")
            continue
        pending = [entry for entry in stale if named or entry.figure.seconds is not None]
        outcome.unknown += len(stale) - len(pending)
        while batch := _take_batch(pending, budget_s - outcome.seconds):
            pending = [entry for entry in pending if entry not in batch]
            outcome.interrupted = not _renew_batch(batch, options, outcome)
            outcome.seconds = spent_seconds() - start
            if outcome.interrupted:
                return outcome
        outcome.too_dear += len(pending)
    return outcome


def _renew_batch(batch: Sequence[AgedFigure], options: RenewalOptions, outcome: RenewalOutcome) -> bool:
    """Make a batch, and count it; return False where the user stopped it."""
    recording, keys = batch[0].recording, [entry.figure.key for entry in batch]
    about = FIXED_1(_cost(batch) / 60)
    options.reporter.say(f"{recording.name}: {len(keys)} figures, about {about} CPU minutes")
    try:
        recording.renew(keys, options)
        outcome.renewed += len(keys)
    except UserError as error:
        outcome.problems += error.problems
        options.reporter.say(f"{recording.name}: {error}")
    except KeyboardInterrupt:
        return False
    return True


def _take_batch(figures: Sequence[AgedFigure], left_s: float) -> Sequence[AgedFigure]:
    """Return the first figures that fit what is left of the budget, together about BATCH_S; none where none fits."""
    batch: list[AgedFigure] = []
    for entry in figures:
        if _cost([*batch, entry]) <= left_s:
            if batch and _cost([*batch, entry]) > BATCH_S:
                break
            batch.append(entry)
    return batch


def _cost(figures: Sequence[AgedFigure]) -> float:
    return plain_sum(entry.figure.seconds or 0.0 for entry in figures)
