"""Do figures differ exactly where they are listed as old? Figures are drawn by a seed, made anew, and compared.

The same comparison proves that a change of the model moves no figure: a share of a recording's points, drawn by a seed
among those of each kind, is run again from an empty store, and all digits are equal.
"""

import math
import random
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.view import View, column
from gpusim.lab.ages.commands import FileRecording
from gpusim.lab.ages.recording import Recording, RenewalOptions
from gpusim.lab.ages.stale import AgedFigure
from gpusim.lab.versions.equivalence import Equivalence, carry_forward
from gpusim.lab.versions.model import OWN, PARTS, Hashes

CHECKED = View([
    column("recording"), column("figure"), column("age", "listed as"), column("difference", "made anew"),
    column("verdict"),
])  # fmt: skip
EQUAL = "equal"
SHARE = 0.1  # of the points of each kind, which a proof runs again


@dataclass(frozen=True)
class CheckedFigure:
    """A figure that was made anew."""

    aged: AgedFigure
    """The figure as it was recorded."""
    difference: str
    """EQUAL, or where it differs first."""

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
    """Draw figures among those that can be made by themselves.

    Args:
        aged: Figures by recording.
        count: Number of figures.
        seed: Seed of the draw.
        most_s: Processor seconds that a figure may take.

    Returns:
        The drawn figures by recording.
    """
    makable = [figures for figures in aged.values() if figures and not figures[0].recording.obstacle]
    able = [entry for figures in makable for entry in figures if _can_check(entry, most_s)]
    if not able:
        raise UserError(f"no recorded figure takes at most {most_s:g} CPU seconds")
    drawn = random.Random(seed).sample(able, min(count, len(able)))
    return {name: [entry for entry in figures if entry in drawn] for name, figures in aged.items()}


def _can_check(entry: AgedFigure, most_s: float) -> bool:
    seconds = entry.figure.seconds
    return not isinstance(entry.recording, FileRecording) and seconds is not None and seconds <= most_s


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
    return [
        CheckedFigure(entry, find_difference(entry.figure.digits, made[entry.figure.key].digits)) for entry in figures
    ]


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


def prove_equal(
    figures: Sequence[AgedFigure],
    now: Hashes,
    equivalences: Sequence[Equivalence],
    why: str,
    seed: int,
    options: RenewalOptions,
) -> list[Equivalence]:
    """Return equivalences for the models of a recording's old figures; raise UserError where a figure has moved.

    Args:
        figures: Figures of one recording.
        now: Hashes of the present model.
        equivalences: Those that are declared.
        why: What was changed.
        seed: Seed of the draw.
        options: How.

    Returns:
        A row for each model, with the numbers of points.
    """
    by_model: dict[tuple[tuple[str, str], ...], list[AgedFigure]] = {}
    for entry in figures:
        # a point whose own kernels or configuration have changed is another point
        if not entry.age.is_current and not set(entry.age.changed or ()) & set(OWN):
            carried = carry_forward(entry.figure.version.model, entry.recording.name, equivalences)
            by_model.setdefault(tuple(sorted(carried.items())), []).append(entry)
    rows = []
    for model, old in by_model.items():
        if not model:
            raise UserError(f"{old[0].recording.name}: points without any hash cannot be carried forward; renew them")
        drawn = _draw_share(old, seed)
        for checked in check_figures(drawn, options):
            if checked.difference != EQUAL:
                raise UserError(f"{old[0].recording.name}: {checked.aged.figure.key} differs: {checked.difference}")
        older = {part: value for part, value in model if now.get(part) != value}
        newer = {part: value for part, value in now.items() if part in older or not older.keys() & PARTS.keys()}
        rows.append(
            Equivalence(
                recordings=(old[0].recording.name,),
                older=older,
                newer=newer,
                drawn=len(drawn),
                points=len(old),
                seed=seed,
                date=date.today().isoformat(),
                why=why,
            )
        )
    return rows


def _draw_share(figures: Sequence[AgedFigure], seed: int) -> list[AgedFigure]:
    """Draw a share of figures, at least one of those that depend on the same parts."""
    kinds: dict[tuple[str, ...], list[AgedFigure]] = {}
    for entry in figures:
        kinds.setdefault(entry.figure.version.uses, []).append(entry)
    draw = random.Random(seed)
    return [entry for kind in kinds.values() for entry in draw.sample(kind, math.ceil(SHARE * len(kind)))]
