"""How old a recorded figure is: whether the model that it is compared with would be the one that made it."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gpusim.lab.versions.equivalence import Equivalence, carry_forward
from gpusim.lab.versions.model import ANY_RUN, OWN, PARTS, FigureVersion, Hashes

UNKNOWN = "a model whose version was not recorded"


@dataclass(frozen=True)
class FigureAge:
    """The age of a recorded figure."""

    made_by: str
    """Name of the version that made it; empty: not recorded."""
    changed: tuple[str, ...] | None
    """Parts that differ now; None: not known, since its version was not recorded."""

    @property
    def is_current(self) -> bool:
        """Tell whether nothing that could change it has changed."""
        return self.changed == ()

    @property
    def origin(self) -> str:
        """The model that made it, in words."""
        return f"model {self.made_by}" if self.made_by else UNKNOWN

    @property
    def mark(self) -> str:
        """The word for a table's row."""
        return "today's" if self.is_current else self.made_by or "not recorded"


def compare_version(
    version: FigureVersion, recording: str, now: Hashes, equivalences: Sequence[Equivalence] = (), kind: str = ""
) -> FigureAge:
    """Return the age of a figure.

    Args:
        version: What made it.
        recording: Name of the recording that it belongs to.
        now: Hashes of what would make it now, or would have at another time; what it lacks is not compared.
        equivalences: Changes that moved no figure.
        kind: Kind of the figure.

    Returns:
        The age.
    """
    carried = carry_forward(version.model, recording, equivalences, kind)
    if not carried.keys() & PARTS.keys():
        return FigureAge(version.name, None)
    parts = {part: value for part, value in carried.items() if version.depends_on(part)} | dict(version.own)
    # a part that is newer than the figure, and that it would depend on, is missing in what was recorded
    missing = [part for part in version.uses or ANY_RUN if part not in carried]
    changed = [part for part in (*PARTS, *OWN) if part in parts and now.get(part, parts[part]) != parts[part]]
    return FigureAge(version.name, (*changed, *missing))


def describe_ages(ages: Collection[FigureAge], what: str, now: str) -> str:
    """Return a sentence on how many figures are of the present model, and which models made the others.

    Args:
        ages: Ages of the figures.
        what: What is counted, in the plural.
        now: Name of the present model.

    Returns:
        Such as 'Older than the present model, a1b2c3d4: 3 of 12 runs. Made by ...'.
    """
    old = [age for age in ages if not age.is_current]
    if not old:
        return f"All {len(ages)} {what} are of the present model, {now}."
    origins = ", ".join(f"{origin} ({count})" for origin, count in Counter(age.origin for age in old).items())
    changed = [part for part in (*PARTS, *OWN) if any(part in (age.changed or ()) for age in old)]
    since = f"; changed since: {', '.join(changed)}" if changed else ""
    return f"**Older than the present model, {now}: {len(old)} of {len(ages)} {what}.** Made by {origins}{since}."
