"""A launch's counts as a vector of numbers, so that what was counted in a part of it can be added and scaled."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gpusim.base.counters import EACH, SUM, Counts
from gpusim.model.core.counters import SIMULATOR, TABLES

_TIME_UNITS = ("cycles", "wavefront-cycles")
_ADDED_UP = [(t.section, c) for t in TABLES if t is not SIMULATOR for c in t.counters if c.aggregation in (SUM, EACH)]


@dataclass(frozen=True)
class CountVector:
    """Layout of a vector of additive counts: one element for each count of a launch."""

    keys: tuple[tuple[str, str], ...]
    """Section and name of each count."""
    sizes: tuple[int, ...]
    """Number of elements of each count; more than one where instances are separate."""
    whole: tuple[bool, ...]
    """Integrality of each count: True for whole numbers."""

    @classmethod
    def of(cls, sections: Mapping[str, Counts]) -> "CountVector":
        """Return the layout for the counts in the sections of a launch's facts."""
        held = [(s, c.name, sections[s][c.name]) for s, c in _ADDED_UP if c.name in sections.get(s, ())]
        sizes = tuple(len(value) if isinstance(value, list) else 1 for _, _, value in held)
        whole = tuple(isinstance(value[0] if isinstance(value, list) else value, int) for _, _, value in held)
        return cls(tuple((section, name) for section, name, _ in held), sizes, whole)

    @cached_property
    def _starts(self) -> dict[tuple[str, str], int]:
        ends = np.cumsum(self.sizes)
        return {key: int(end) - size for key, end, size in zip(self.keys, ends, self.sizes, strict=True)}

    def at(self, section: str, name: str) -> int:
        """Return the index in the vector of a count that has one element."""
        return self._starts[section, name]

    def values(self, sections: Mapping[str, Counts]) -> np.ndarray:
        """Return the counts in a launch's sections as a vector (float64, one element each or one an instance)."""
        out: list[float] = []
        for section, name in self.keys:
            value = sections[section][name]
            out.extend(value) if isinstance(value, list) else out.append(value)
        return np.array(out, np.float64)

    @cached_property
    def timed(self) -> np.ndarray:
        """Mask of the elements that grow with time rather than with the work done in it."""
        units = {(section, c.name): c.unit for section, c in _ADDED_UP}
        marks = [units[key] in _TIME_UNITS and "busy" not in key[1] and key[0] != "roofline" for key in self.keys]
        return np.repeat(np.array(marks), self.sizes)

    def added(self, base: Mapping[str, Counts], more: np.ndarray) -> dict[str, Counts]:
        """Return the sections with the vector `more` added to their counts; whole counts stay whole."""
        sections = {name: Counts(counts) for name, counts in base.items()}
        for key, whole in zip(self.keys, self.whole, strict=True):
            section, name = key
            start, old = self._starts[key], sections[section][name]
            if isinstance(old, list):
                sections[section][name] = [_sum(o, d, whole) for o, d in zip(old, more[start:], strict=False)]
            else:
                sections[section][name] = _sum(old, more[start], whole)
        return sections

    def deviated(self, base: Mapping[str, Counts], deviations: np.ndarray) -> Iterator[dict[str, Counts]]:
        """Yield the sections with each row of `deviations` (float64, rows of vectors) added to their counts."""
        places: list[tuple[str, str, int | slice]] = []
        for (section, name), start in self._starts.items():
            value = base[section][name]
            places.append((section, name, slice(start, start + len(value)) if isinstance(value, list) else start))
        for numbers in (self.values(base) + deviations).tolist():
            sections = {name: Counts(counts) for name, counts in base.items()}
            for section, name, place in places:
                sections[section][name] = numbers[place]
            yield sections


def _sum(old: float, more: Any, whole: bool) -> float:
    return old + round(more) if whole else old + float(more)
