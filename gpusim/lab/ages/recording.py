"""A recording: figures that one command makes, each with its version and what it took."""

import resource
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.lab.ages.long_table import RecordedValue
from gpusim.lab.versions.age import FigureAge, compare_version
from gpusim.lab.versions.equivalence import Equivalence
from gpusim.lab.versions.model import FigureVersion, Hashes


@dataclass(frozen=True, kw_only=True)
class RecordedFigure:
    """A figure that can be made anew by itself: a run, a row, a case, or a file as a whole."""

    key: str
    """Name among the figures of its recording."""
    version: FigureVersion
    """What made it."""
    digits: Any
    """Values that are equal where nothing has changed."""
    seconds: float | None = None
    """Processor seconds that making it took, or is estimated to take; None: not known."""
    is_estimated: bool = False
    """The seconds are an estimate."""
    kind: str = ""
    """What makes it, such as its kernels: figures of a kind move together, and a proof is for a kind."""

    obstacle: str = ""
    """Why it cannot be made anew here; empty where it can."""

    def age(self, recording: str, now: Hashes, equivalences: Sequence[Equivalence]) -> FigureAge:
        """Return its age.

        Args:
            recording: Name of the recording that it belongs to.
            now: Hashes of what would make it now.
            equivalences: Changes that moved no figure.
        """
        return compare_version(self.version, recording, now, equivalences, self.kind)


@dataclass(frozen=True, kw_only=True)
class RenewalOptions:
    """How figures are made anew."""

    store: Path
    """Store of finished runs, from which a stopped renewal goes on."""
    jobs: int
    """Worker processes."""
    reporter: Reporter
    """Where progress is reported."""


class Recording(ABC):
    """Base of all recordings. folder: the folder of results, `results` or a copy of it."""

    command = ""
    """What a user calls to make all of it; empty: nothing does."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder

    @property
    @abstractmethod
    def files(self) -> Sequence[Path]:
        """The files that it consists of."""

    @abstractmethod
    def figures(self) -> Mapping[str, RecordedFigure]:
        """Return the figures by key, those first that a reader meets first."""

    def values(self) -> Iterator[RecordedValue]:
        """Yield its rows of the long table; none where its figures are files as a whole."""
        yield from ()

    def own_hashes(self, keys: Sequence[str]) -> Mapping[str, Hashes]:
        """Return the present hashes of what is the figures' own, where they have any. keys: the figures."""
        return {}

    @property
    def obstacle(self) -> str:
        """Why some of its figures cannot be made anew here; empty where they can."""
        return ""

    @abstractmethod
    def renew(self, keys: Sequence[str], options: RenewalOptions) -> None:
        """Make figures anew and record them; raise UserError where this cannot be done.

        Args:
            keys: Names of the figures.
            options: How.
        """

    @abstractmethod
    def stamp(self, versions: Mapping[str, FigureVersion]) -> None:
        """Record that later models make the same digits. versions: by the figures' keys."""

    def ages(self, now: Hashes, equivalences: Sequence[Equivalence]) -> Mapping[str, FigureAge]:
        """Return the age of each figure.

        Args:
            now: Hashes of the present model.
            equivalences: Changes that moved no figure.
        """
        figures, known, ages = self.figures(), dict[tuple[Hashable, ...], FigureAge](), dict[str, FigureAge]()
        for key, one in figures.items():  # many of one version, which takes longer than to look it up
            version = one.version
            of = (id(version.model), version.uses, *version.own.items(), one.kind)
            if of not in known:
                known[of] = one.age(self.name, now, equivalences)
            ages[key] = known[of]
        current = [key for key, age in ages.items() if age.is_current]
        for key, own in (self.own_hashes(current) if current else {}).items():
            ages[key] = figures[key].age(self.name, {**now, **own}, equivalences)
        return ages


def spent_seconds() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return plain_sum(use.ru_utime + use.ru_stime for use in uses)
