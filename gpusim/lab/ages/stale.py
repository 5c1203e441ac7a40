"""Which recorded figures are old, and what making them new would cost, the cheapest first."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusim.base.formats import FIXED_1
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table
from gpusim.base.view import View, column
from gpusim.lab.ages.recording import RecordedFigure, Recording
from gpusim.lab.versions.age import FigureAge
from gpusim.lab.versions.equivalence import Equivalence
from gpusim.lab.versions.model import OWN, PARTS, Hashes

RECORDINGS = View([
    column("recording"), column("old"), column("of"), column("minutes", "CPU minutes", right=True),
    column("made_by", "made by"), column("changed", "changed since"), column("command", "made anew by"),
])  # fmt: skip
FIGURES = View([
    column("recording"), column("figure"), column("minutes", "CPU minutes", right=True),
    column("made_by", "made by"), column("changed", "changed since"),
])  # fmt: skip
NOTES = (
    "CPU minutes are what the figures took when they were recorded; of a publication's points what their counted work"
    " takes, where that is less; ~: by the estimates of `--estimate`, of rows of measured tables the least",
    "+: those of some figures are not known, and not in the sum",
)


@dataclass(frozen=True)
class AgedFigure:
    """A recorded figure with its age."""

    recording: Recording
    """Recording that it belongs to."""
    figure: RecordedFigure
    """The figure."""
    age: FigureAge
    """Its age."""


def age_figures(
    recordings: Iterable[Recording], now: Hashes, equivalences: Sequence[Equivalence]
) -> Mapping[str, Sequence[AgedFigure]]:
    """Return all figures of recordings with their ages, by recording.

    Args:
        recordings: Recordings in reading order.
        now: Hashes of the present model.
        equivalences: Changes that moved no figure.
    """
    aged = {}
    for recording in recordings:
        figures, ages = recording.figures(), recording.ages(now, equivalences)
        aged[recording.name] = [AgedFigure(recording, figures[key], age) for key, age in ages.items()]
    return aged


def table_of_recordings(aged: Mapping[str, Sequence[AgedFigure]]) -> Table:
    """Make a table of the recordings with old figures, the cheapest first."""
    stale = {name: [entry for entry in figures if not entry.age.is_current] for name, figures in aged.items()}
    order = sorted((name for name, old in stale.items() if old), key=lambda name: _cost(stale[name]))
    rows = [
        {"recording": name, "old": len(stale[name]), "of": len(aged[name]), **_described(stale[name])}
        | {"command": stale[name][0].recording.command or "by hand"}
        for name in order
    ]
    old = plain_sum(len(entry) for entry in stale.values())
    total = f"{old} of {plain_sum(len(entry) for entry in aged.values())} recorded figures are old"
    return RECORDINGS.table(rows, notes=[total, *NOTES])


def table_of_figures(aged: Mapping[str, Sequence[AgedFigure]]) -> Table:
    """Make a table of all old figures, the cheapest first."""
    stale = [entry for figures in aged.values() for entry in figures if not entry.age.is_current]
    rows = [
        {"recording": entry.recording.name, "figure": entry.figure.key, **_described([entry])}
        for entry in sorted(stale, key=lambda entry: _cost([entry]))
    ]
    return FIGURES.table(rows, notes=NOTES)


def _cost(figures: Sequence[AgedFigure]) -> float:
    """Return the processor seconds of figures, infinite where none are known."""
    known = [entry.figure.seconds for entry in figures if entry.figure.seconds is not None]
    return plain_sum(known) if known else math.inf


def _described(figures: Sequence[AgedFigure]) -> dict[str, Any]:
    seconds = _cost(figures)
    unknown = any(entry.figure.seconds is None for entry in figures)
    estimated = "~" if any(entry.figure.is_estimated for entry in figures) else ""
    minutes = "not known" if math.isinf(seconds) else f"{estimated}{FIXED_1(seconds / 60)}{'+' if unknown else ''}"
    origins = Counter(entry.age.made_by or "not recorded" for entry in figures)
    changed = [part for part in (*PARTS, *OWN) if any(part in (entry.age.changed or ()) for entry in figures)]
    made_by = ", ".join(name if len(origins) == 1 else f"{name} ({count})" for name, count in origins.items())
    return {"minutes": minutes, "made_by": made_by, "changed": ", ".join(changed) or "not known"}
