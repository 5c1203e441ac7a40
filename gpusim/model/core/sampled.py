"""What a launch's facts say of how they were found: simulated in whole or in part, and how far off they may be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np

from gpusim.base.counters import Counts
from gpusim.base.sums import plain_sum
from gpusim.model.core.count_vector import CountVector

WHOLE, WINDOWS, ITERATIONS = "whole", "windows", "iterations"
DRAWS = "draws"  # of no sampling: the mean of whole runs, each with another draw of the machine


@dataclass(frozen=True, eq=False)
class Replicates:
    """Deviations of estimated counts.

    The squared half-width of a quantity is `factor` times the sum of the squared deviations that they cause in it.
    """

    factor: float
    """Factor of the sum of squares."""
    deviations: np.ndarray
    """float64 [replicates, counts]: deviation of each count."""
    shared: str = ""
    """Name of a cause that launches share: replicates with the same name deviate together; empty: independent."""


@dataclass(frozen=True, eq=False)
class UncertaintyComponent:
    """An uncertainty component of a launch's counts, as replicates."""

    vector: CountVector
    """Layout of the counts."""
    replicates: Replicates
    """Deviations of the counts."""
    times: int = 1
    """Number of times that the launch counts."""


@dataclass(frozen=True)
class Sampling:
    """Sampling of a launch, or of several."""

    confidence: float
    """Confidence level of the intervals."""
    method: str
    """'whole', 'windows', 'iterations' or 'draws'; joined by ' + ' where launches differ."""
    reason: str
    """Reason for a whole simulation, or the parts that were measured."""
    rounds: float
    """Waves of resident workgroups in the grid."""
    instructions: float
    """Estimated wavefront instructions of the whole grid."""
    simulated: float
    """Wavefront instructions that were simulated."""
    complete: bool = True
    """Every workgroup was executed exactly once."""
    doubts: tuple[UncertaintyComponent, ...] = field(default=(), repr=False)
    """Independent uncertainty components."""
    parts: "tuple[tuple[Sampling, int], ...]" = field(default=(), repr=False)
    """Distinct launches of a sum, each with its number of occurrences."""
    unasked: float = 0.0
    """Wavefront instructions of the launches that were simulated whole because sampling was not requested."""
    places: int = 0
    """Places of the grid at which detailed intervals were measured."""
    seen: float = 1.0
    """Share of the work in strata that were measured at two places at least, or simulated whole."""

    @property
    def fraction(self) -> float:
        """Part of the instructions that was simulated."""
        return self.simulated / self.instructions if self.instructions else 1.0

    def left_out(self) -> dict[str, float]:
        """Return the instructions of several launches that were not simulated by what they are without: 'equal', those
        that are there again, or the method by which launches were sampled.
        """
        out = {"equal": 0.0}
        for part, count in self.parts:
            out["equal"] += part.instructions * (count - 1)
            out[part.method] = out.get(part.method, 0.0) + part.instructions - part.simulated
        return {by: count for by, count in out.items() if count}

    def described(self) -> dict[str, Any]:
        """Return method, reason, rounds, fraction, speed-up and confidence as plain data, for a result.

        Of detailed intervals it has also the number of places and the share of the work that was seen there; of several
        launches, how many instructions they have, and by what how many of these were left out.
        """
        return {
            "method": self.method,
            "reason": self.reason,
            "rounds": self.rounds,
            "fraction": self.fraction,
            "speed_up": 1 / self.fraction if self.fraction else 1.0,
            "confidence": self.confidence,
            **({"places": self.places, "seen": self.seen} if self.places else {}),
            **({"instructions": self.instructions, "left_out": self.left_out()} if self.parts else {}),
        }

    def half_width(self, section: str, name: str) -> float:
        """Return the half-width of the confidence interval of one count."""
        square = 0.0
        for doubts in self._apart():
            rows = [d.replicates.deviations[:, d.vector.at(section, name)] * d.times for d in doubts]
            apart = np.add.reduce(rows)
            square += doubts[0].replicates.factor * float((apart * apart).sum())
        return sqrt(square)

    def replicates(self, sections: Mapping[str, Counts]) -> Iterator[tuple[float, dict[str, Counts]]]:
        """Yield sections as they might have been, each with the factor of its squared effect on any quantity.

        The sum over all replicates of factor times squared effect is the quantity's squared half-width.
        """
        for doubts in self._apart():
            for held in _together(sections, doubts):
                yield doubts[0].replicates.factor, held

    def _apart(self) -> list[list[UncertaintyComponent]]:
        """Return the doubts, those that deviate together in one list."""
        out: list[list[UncertaintyComponent]] = []
        together: dict[tuple[str, float], list[UncertaintyComponent]] = {}
        for doubt in self.doubts:
            key = (doubt.replicates.shared, doubt.replicates.factor)
            if doubt.replicates.shared and key in together:
                together[key].append(doubt)
            else:
                out.append(together.setdefault(key, [doubt]) if doubt.replicates.shared else [doubt])
        return out


def _together(sections: Mapping[str, Counts], doubts: Sequence[UncertaintyComponent]) -> Iterator[dict[str, Counts]]:
    """Yield the sections with each row of the doubts' deviations added, all of one row together."""
    first, *others = doubts
    for k, held in enumerate(first.vector.deviated(sections, first.replicates.deviations * first.times)):
        for doubt in others:
            row = doubt.replicates.deviations[k : k + 1] * doubt.times
            held = next(doubt.vector.deviated(held, row))
        yield held


def combined_sampling(launches: Sequence[Sampling | None], instructions: Sequence[int]) -> Sampling | None:
    """Combine the sampling of several launches into one; None if none was sampled.

    instructions: of each launch, for those that ran whole without being sampled. A launch that is there more than once,
    the same object, is as wrong each time: its errors add up; errors of different launches are independent. The
    launches may be combinations themselves.
    """
    known = [sampling for sampling in launches if sampling is not None]
    if not known:
        return None
    once: dict[int, Sampling] = {}
    times: dict[int, int] = {}
    unasked = float(plain_sum(n for sampling, n in zip(launches, instructions, strict=True) if sampling is None))
    for sampling in known:
        unasked += sampling.unasked
        for part, count in sampling.parts or ((sampling, 1),):
            once[id(part)] = part
            times[id(part)] = times.get(id(part), 0) + count
    parts = tuple((part, times[key]) for key, part in once.items())
    instructions_of = [part.instructions * count for part, count in parts]
    every = unasked + plain_sum(instructions_of)
    unseen = plain_sum(size * (1 - part.seen) for size, (part, _) in zip(instructions_of, parts, strict=True))
    return Sampling(
        confidence=known[0].confidence,
        method=" + ".join(dict.fromkeys(part.method for part, _ in parts)),
        reason="; ".join(dict.fromkeys(part.reason for part, _ in parts)),
        rounds=float(plain_sum(part.rounds * count for part, count in parts)),
        instructions=every,
        simulated=unasked + plain_sum(part.simulated for part, _ in parts),
        complete=all(part.complete for part, _ in parts),
        places=int(plain_sum(part.places for part, _ in parts)),
        seen=1 - unseen / every if every else 1.0,
        doubts=tuple(replace(doubt, times=count) for part, count in parts for doubt in part.doubts),
        parts=parts,
        unasked=unasked,
    )
