"""Do figures differ exactly where they are listed as old? Figures are drawn by a seed, made anew, and compared.

A figure that is equal is of the present model from then on, so that what is listed is what differs or was not drawn.
The same comparison proves that a change of the model moves no figure: a share of the points of each kind, drawn by a
seed, is run again from an empty store, and all digits are equal.
"""

import math
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from gpusim.base.errors import UserError
from gpusim.base.formats import GENERAL
from gpusim.base.sums import plain_sum
from gpusim.base.view import View, column
from gpusim.lab.ages.commands import FileRecording
from gpusim.lab.ages.recording import RecordedFigure, Recording, RenewalOptions
from gpusim.lab.ages.stale import AgedFigure
from gpusim.lab.versions.equivalence import Equivalence, carry_forward
from gpusim.lab.versions.model import OWN, PARTS, FigureVersion, Hashes

CHECKED = View([
    column("recording"), column("figure"), column("age", "listed as"), column("difference", "made anew"),
    column("verdict"),
])  # fmt: skip
EQUAL = "equal"
SHARE = 0.1  # of the points of each kind, which a proof runs again
LEAST_DRAWN = 3  # of a kind, where it has as many


@dataclass(frozen=True)
class CheckedFigure:
    """A figure that was made anew."""

    aged: AgedFigure
    """The figure as it was recorded."""
    difference: str
    """EQUAL, or where it differs first."""
    version: FigureVersion
    """What made it anew."""

    @property
    def verdict(self) -> str:
        """Say whether its age is right; an old figure that is equal is older than it need be."""
        if self.aged.age.is_current:
            return "right" if self.difference == EQUAL else "WRONG"
        return "right" if self.difference != EQUAL else "older than need be"

    def row(self) -> dict[str, str]:
        """Return the row of a table."""
        return {
            "recording": self.aged.recording.name,
            "figure": self.aged.figure.key,
            "age": self.aged.age.mark,
            "difference": self.difference,
            "verdict": self.verdict,
        }


def draw_figures(
    aged: Mapping[str, Sequence[AgedFigure]], count: int, seed: int, most_s: float
) -> Mapping[str, Sequence[AgedFigure]]:
    """Draw figures among those that can be made by themselves: from each recording in turn, so that none is left out.

    Args:
        aged: Figures by recording.
        count: Number of figures.
        seed: Seed of the draw.
        most_s: Processor seconds that a figure may take, which bounds what the draw costs.

    Returns:
        The drawn figures by recording.

    Raises:
        UserError: No figure takes so little.
    """
    able = {name: [entry for entry in figures if _can_check(entry, most_s)] for name, figures in aged.items()}
    pending = {name: random.Random(f"{seed} {name}").sample(some, len(some)) for name, some in able.items() if some}
    if not pending:
        raise UserError(f"no recorded figure takes at most {GENERAL(most_s)} CPU seconds")
    drawn = {name: list[AgedFigure]() for name in pending}
    for _ in range(min(count, plain_sum(map(len, pending.values())))):
        name = min((name for name in pending if pending[name]), key=lambda name: len(drawn[name]))
        drawn[name].append(pending[name].pop())
    return drawn


def describe_undrawn(aged: Mapping[str, Sequence[AgedFigure]], most_s: float) -> Sequence[str]:
    """Say which recordings have figures that no draw can have, how many, and why.

    Args:
        aged: Figures by recording.
        most_s: Processor seconds that a figure may take.
    """
    reasons = Counter[tuple[str, str]]()
    for entry in (entry for figures in aged.values() for entry in figures if not _can_check(entry, most_s)):
        if _is_file(entry):
            reasons["files and tables", "a command makes each as a whole"] += 1
        else:
            obstacle = entry.recording.obstacle or entry.figure.obstacle
            reasons[
                entry.recording.name, obstacle or f"more than {GENERAL(most_s)} CPU seconds each, or not known"
            ] += 1
    return [f"{count} of {name}: {reason}" for (name, reason), count in reasons.items()]


def _is_file(entry: AgedFigure) -> bool:
    return isinstance(entry.recording, FileRecording)


def _can_check(entry: AgedFigure, most_s: float) -> bool:
    seconds = entry.figure.seconds
    is_cheap = seconds is not None and seconds <= most_s
    return is_cheap and not _is_file(entry) and not (entry.recording.obstacle or entry.figure.obstacle)


def check_figures(figures: Sequence[AgedFigure], options: RenewalOptions) -> list[CheckedFigure]:
    """Make figures of one recording anew in a copy of its files, and compare all digits.

    Args:
        figures: Figures of one recording.
        options: How; the store is an empty one of its own.

    Returns:
        What was found, in order.
    """
    if not figures:
        return []
    keys = [entry.figure.key for entry in figures]
    with _copied(figures[0].recording, options) as (recording, own):
        recording.renew(keys, own)
        made = recording.figures()
    return [_compare(entry, made[entry.figure.key]) for entry in figures]


def _compare(entry: AgedFigure, made: RecordedFigure) -> CheckedFigure:
    return CheckedFigure(entry, find_difference(entry.figure.digits, made.digits), made.version)


def stamp_equal(checked: Sequence[CheckedFigure]) -> int:
    """Record that the equal ones among old figures are of the present model; return their number."""
    equal = [entry for entry in checked if entry.difference == EQUAL and not entry.aged.age.is_current]
    for recording in dict.fromkeys(entry.aged.recording for entry in equal):
        recording.stamp({one.aged.figure.key: one.version for one in equal if one.aged.recording is recording})
    return len(equal)


@contextmanager
def _copied(recording: Recording, options: RenewalOptions) -> Iterator[tuple[Recording, RenewalOptions]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in recording.files:
            place = folder / path.relative_to(recording.folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
        other = copy(recording)
        other.folder = folder
        yield other, replace(options, store=folder / "empty.db")


def find_difference(recorded: Any, made: Any, place: str = "") -> str:
    """Return where two figures differ first, or EQUAL. What only one of them has is no difference: new metrics.

    Args:
        recorded: Digits of the recorded figure, as plain data.
        made: Digits of the one that was made anew.
        place: Where in the figure they stand.
    """
    if isinstance(recorded, Mapping) and isinstance(made, Mapping):
        pairs = [(f"{place}.{key}" if place else key, recorded[key], made[key]) for key in recorded if key in made]
    elif isinstance(recorded, list | tuple) and isinstance(made, list | tuple) and len(recorded) == len(made):
        pairs = [(f"{place}[{n}]", entry, other) for n, (entry, other) in enumerate(zip(recorded, made, strict=True))]
    else:
        return EQUAL if recorded == made else f"{place}: {recorded} → {made}"
    return next((found for at, entry, other in pairs if (found := find_difference(entry, other, at)) != EQUAL), EQUAL)


class EqualityProof(NamedTuple):
    """What a draw of a recording's old figures proves."""

    rows: Sequence[Equivalence]
    """Equivalences of the kinds whose drawn figures are all equal."""
    problems: Sequence[str]
    """Why figures of other kinds cannot be carried forward."""


def prove_equal(
    figures: Sequence[AgedFigure],
    now: Hashes,
    equivalences: Sequence[Equivalence],
    why: str,
    seed: int,
    options: RenewalOptions,
) -> EqualityProof:
    """Prove equivalences for the models of a recording's old figures, kind by kind.

    Args:
        figures: Figures of one recording.
        now: Hashes of the present model.
        equivalences: Those that are declared.
        why: What was changed.
        seed: Seed of the draw.
        options: How.

    Returns:
        A row for each kind and model, with the numbers of points, and which kinds have moved.
    """
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[AgedFigure]] = {}
    for entry in figures:
        # a point whose own kernels or configuration have changed is another point
        if not entry.age.is_current and not set(entry.age.changed or ()) & set(OWN):
            kind = entry.figure.kind
            carried = carry_forward(entry.figure.version.model, entry.recording.name, equivalences, kind)
            groups.setdefault((kind, tuple(sorted(carried.items()))), []).append(entry)
    problems = [
        f"{kind or 'all'}: {len(old)} points without any hash cannot be carried forward; check or renew them"
        for (kind, model), old in groups.items() if not model
    ]  # fmt: skip
    shares = {group: _draw_share(old, seed) for group, old in groups.items() if group[1]}
    checked = {
        one.aged.figure.key: one for one in check_figures([one for some in shares.values() for one in some], options)
    }
    rows = []
    for (kind, model), drawn in shares.items():
        old = groups[kind, model]
        moved = [one for entry in drawn if (one := checked[entry.figure.key]).difference != EQUAL]
        if moved:
            key, difference = moved[0].aged.figure.key, moved[0].difference
            problems.append(f"{kind or 'all'}: {len(old)} points: {key} differs: {difference}")
            continue
        older = {part: value for part, value in model if now.get(part) != value}
        newer = {part: value for part, value in now.items() if part in older or not older.keys() & PARTS.keys()}
        rows.append(
            Equivalence(
                recordings=(old[0].recording.name,),
                kind=kind,
                older=older,
                newer=newer,
                drawn=len(drawn),
                points=len(old),
                seed=seed,
                date=date.today().isoformat(),
                why=why,
            )
        )
    return EqualityProof(rows, problems)


def _draw_share(figures: Sequence[AgedFigure], seed: int) -> list[AgedFigure]:
    """Draw a share of figures, some of those that depend on the same parts."""
    alike: dict[tuple[str, ...], list[AgedFigure]] = {}
    for entry in figures:
        alike.setdefault(entry.figure.version.uses, []).append(entry)
    draw = random.Random(seed)
    counts = [(some, max(math.ceil(SHARE * len(some)), LEAST_DRAWN)) for some in alike.values()]
    return [entry for some, count in counts for entry in draw.sample(some, min(count, len(some)))]
