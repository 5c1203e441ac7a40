"""Sampling across launches: one whose kernel and whose workgroups' work are those of another launch is simulated no
further than it takes to see that it goes as that one did.

The *example* was sampled, or ran whole, and left behind what it had counted at some points of its beginning and what
followed (`Learned`). Another launch of the *family* is looked at in the same cycles: in these, as many instructions
have to be done, and L1, L2 and DRAM have to have moved as much for an instruction. Then it ends there. What was not
simulated cost what it did in the example, where grids are equal; otherwise what the example's settled pace says of the
rounds that one has more than the other. Where a check fails, the launch is sampled as if nothing were known.

The doubt of such an estimate is the example's own, which both share; what the checks found between the two, carried on;
how much launches of a family differ otherwise (`SamplingSpec.across_bias`, and what the examples show of it); and how
full the last round is, which decides how long compute units run empty.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Protocol

import numpy as np

from gpusim.base.student import MANY_DEGREES, quantile
from gpusim.base.sums import plain_sum
from gpusim.core.count_vector import CountVector
from gpusim.core.cu.state import NEVER
from gpusim.core.facts import RunFacts
from gpusim.core.sampled import LAUNCHES, WHOLE, Doubt, Learned, Replicates, Sampling
from gpusim.core.steering import Steered, Steering
from gpusim.sampling.completion import complete
from gpusim.sampling.looks import Columns, looked
from gpusim.sampling.spec import SamplingSpec
from gpusim.sampling.work import Work

ALIKE = 0.05  # of a workgroup's instructions: what may differ by basic blocks within a family
LEAST_SKIPPED = 0.2  # of a launch's work: less is not worth the doubt
SAME_PACE = 0.05  # relative: instructions done in the cycles of all checks; what they differ by is doubted, too
SAME_PART = 0.1  # the same, in those of the first round or of a lap, which workgroups begin and end in
SAME_TRAFFIC = 0.08  # of L1's requests: what L1, L2 and DRAM may differ by
CHECKS = 2  # laps
CHECKED_LAP = 0.5  # of a lap of the example, that one of a check takes
FORETOLD = 1e-3  # relative: by how much the instructions that a launch had may differ from what was counted before
_TRAFFIC = (("l1", "hits"), ("l2", "hits"), ("dram", "reads"), ("dram", "writes"))
_LAST_ROUND = 0.3  # of a round: standard uncertainty of when the grid ends, by how full its last round is


@dataclass(frozen=True)
class Across:
    """What a launch has to do with others. name: its own; known: what examples of its family say, the best first."""

    name: str
    known: Sequence[Learned] = ()


class NotAlike(Exception):
    """A launch cannot be estimated from others of its family; says why."""


class Beginning:
    """What a launch has counted at points of its beginning, for others to be compared with. windows: of a lap."""

    def __init__(self, windows: int) -> None:
        self._windows = windows
        self._looks: list[np.ndarray] = []
        self.ended = False

    def add(self, look: np.ndarray, cycles: int) -> None:
        """Note a look, unless something has been passed over or it is of the same cycle as the last one."""
        if not self.ended and (not self._looks or look[cycles] > self._looks[-1][cycles]):
            self._looks.append(look)

    def after(self, laps: int) -> np.ndarray:
        """Return what was counted after so many laps, or at the last look."""
        return self._looks[min(laps * self._windows, len(self._looks) - 1)]

    @property
    def checks(self) -> np.ndarray | None:
        """What was counted where the first lap begins, and after each lap of a check; None if there are not as many."""
        step = max(1, round(self._windows * CHECKED_LAP))
        found = self._looks[: CHECKS * step + 1 : step]
        return np.array(found) if len(found) > CHECKS else None


class Begun(Steering, Protocol):
    """A steering that notes how its launch begins."""

    @property
    def beginning(self) -> Beginning:
        """How it began."""

    @property
    def work(self) -> Work | None:
        """What its workgroups have to do; None where that is not known."""

    def settled(self) -> tuple[np.ndarray | None, float]:
        """Return the counts of an instruction once the launch had settled, and the instructions until it had."""


class Example:
    """Steers a launch as another steering does, and has its facts say what others may learn of it."""

    def __init__(self, steering: Begun, launch: Steered, name: str) -> None:
        self._steering, self._name = steering, name
        self._workgroups, self._resident = launch.workgroups, launch.resident

    @property
    def limit(self) -> int:
        """The cycle in which `look` is to be called."""
        return self._steering.limit

    @property
    def over(self) -> bool:
        """Whether nothing more is to be simulated."""
        return self._steering.over

    def look(self) -> None:
        """Look at the machine, which has reached cycle `limit`."""
        self._steering.look()

    def finish(self, facts: RunFacts) -> None:
        """Complete the facts of a launch that has ended; its doubts get names, so that others can share them."""
        self._steering.finish(facts)
        checks, work, sampling = self._steering.beginning.checks, self._steering.work, facts.sampling
        if checks is None or work is None or sampling is None or not work.is_even(self._resident):
            return
        if abs(facts.kernel.wavefront_instructions / work.total - 1) > FORETOLD:  # it depends on the launch's results
            return
        vector = CountVector.of(facts.sections)
        size = len(vector.timed)
        looks, (pace, settled_work) = checks[:, :size], self._steering.settled()
        named = tuple(
            replace(one, replicates=replace(one.replicates, shared=one.replicates.shared or f"{self._name} {number}"))
            for number, one in enumerate(sampling.doubts)
        )
        learned = Learned(
            self._name,
            self._workgroups,
            self._resident,
            work.mean_blocks,
            float(work.total),
            looks,
            vector.values(facts.sections) - looks[-1],
            None if pace is None else pace[:size],
            settled_work,
            tuple(one.replicates for one in named),
        )
        facts.sampling = replace(sampling, doubts=named, learned=learned)


def apart(blocks: np.ndarray, others: np.ndarray) -> float:
    """Return by how much two workgroups differ, as a part of the first one's instructions. Arrays by basic block."""
    return float(np.abs(blocks - others).sum() / max(float(blocks.sum()), 1.0))


def last_round(rounds: float, others: float) -> float:
    """Return how differently full the last rounds of two grids are: 0, the same, to 1, half a round."""
    distance = abs(rounds - others) % 1
    return 2 * min(distance, 1 - distance)


class Follower:
    """Steers a launch whose family is known, and takes it from another steering once a check fails.

    otherwise: makes that steering.
    """

    def __init__(
        self,
        spec: SamplingSpec,
        launch: Steered,
        work: Work,
        known: Sequence[Learned],
        otherwise: Callable[[], Steering],
    ) -> None:
        self._spec, self._launch, self._work, self._otherwise = spec, launch, work, otherwise
        self._vector = CountVector.of(launch.counts().sections)
        self._columns = Columns.of(self._vector)
        self._workgroups = launch.workgroups
        self._waves = launch.wavefronts_per_workgroup
        self._looks: list[np.ndarray] = []
        self._over, self._limit, self._contradicted = False, NEVER, ""
        self._instead: Steering | None = None
        self._alike = [known[0]]
        try:
            self._alike = self._of_family(known)
        except NotAlike as why:
            self._take_over(str(why))
        self._like = self._alike[0]
        self._course = self._steer()
        if self._instead is None:
            self._limit = next(self._course, NEVER)

    @property
    def limit(self) -> int:
        """The cycle in which `look` is to be called."""
        return self._limit if self._instead is None else self._instead.limit

    @property
    def over(self) -> bool:
        """Whether nothing more is to be simulated."""
        return self._over if self._instead is None else self._instead.over

    def look(self) -> None:
        """Look at the machine, which has reached cycle `limit`."""
        if self._instead is None:
            self._limit = next(self._course, NEVER)
        else:
            self._instead.look()

    def _of_family(self, known: Sequence[Learned]) -> list[Learned]:
        """Return the examples whose workgroups have the same to do, the most alike first; raises NotAlike."""
        if not self._work.is_even(self._launch.resident):
            raise NotAlike("its work changes along the grid")
        blocks, rounds = self._work.mean_blocks, self._rounds
        family = [one for one in known if one.resident == self._launch.resident and apart(blocks, one.blocks) <= ALIKE]
        if not family:
            raise NotAlike("its workgroups have other work")
        family = [one for one in family if one.workgroups == self._workgroups or self._lasts(one)]
        if not family:
            raise NotAlike("it has too few rounds for their pace to hold")
        return sorted(
            family, key=lambda one: (one.workgroups != self._workgroups, last_round(rounds, one.rounds), -one.work)
        )

    def _lasts(self, one: Learned) -> bool:
        """Tell whether a grid of another size goes on for a round at least after an example's pace holds."""
        of_round = one.work / one.rounds
        return one.pace is not None and min(self._work.total, one.work) >= one.settled_work + of_round

    @property
    def _rounds(self) -> float:
        return self._workgroups / self._launch.resident

    def _steer(self) -> Iterator[int]:
        """Look when the example was looked at, until it goes another way; yields the cycle of each look."""
        work, why = self._columns.work, ""
        for number, look in enumerate(self._like.looks):
            yield int(look[self._columns.cycles])
            self._looks.append(looked(self._launch, self._vector)[: len(look)])
            since = [0.0 if not number else one[number - 1][work] for one in (self._looks, self._like.looks)]
            part = (self._looks[-1][work] - since[0]) / (look[work] - since[1]) - 1
            whole = self._looks[-1][work] / look[work] - 1
            if abs(part) > SAME_PART or (abs(whole) > SAME_PACE and number):
                why = f"its pace differs by {max(part, whole, key=abs):+.1%}"
                break
        why = why or self._other_traffic() or self._too_doubtful()
        if why:
            self._take_over(why)
        self._over = not why

    def _take_over(self, why: str) -> None:
        """Have the launch steered as if nothing were known of others."""
        self._contradicted, self._instead = why, self._otherwise()

    def _other_traffic(self) -> str:
        """Say what moves another amount than in the example; empty where nothing does."""
        own, others = (self._an_instruction(looks) for looks in (self._looks, self._like.looks))
        l1 = self._vector.at("l1", "read_transactions"), self._vector.at("l1", "write_transactions")
        scale = max(float(plain_sum(others[at] for at in l1)), 1e-300)
        for section, name in _TRAFFIC:
            at = self._vector.at(section, name)
            if abs(own[at] - others[at]) > SAME_TRAFFIC * scale:
                return f"its {section} {name} differ by {(own[at] - others[at]) / scale:+.1%} of L1's requests"
        return ""

    def _an_instruction(self, looks: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
        """Return what was counted for an instruction in the laps of the check."""
        counted = looks[-1] - looks[0]
        return np.asarray(counted / max(float(counted[self._columns.work]), 1.0))

    def _too_doubtful(self) -> str:
        """Say that too little would be saved or too little sure, if so."""
        if self._left < LEAST_SKIPPED * self._work.total:
            return "hardly anything is left after its checks"
        cycles = self._columns.cycles
        whole = self._looks[-1][cycles] + self._rest()[cycles]
        doubts = self._own_doubts()  # the example's are as small as was asked of it
        width = sqrt(plain_sum(one.factor * float((one.deviations[:, cycles] ** 2).sum()) for one in doubts))
        if width > self._spec.error * whole:
            return f"they may differ by {width / whole:.1%}"
        return ""

    # -- what is known at the end

    @property
    def _left(self) -> float:
        """Instructions after the checks."""
        return float(self._work.total - self._looks[-1][self._columns.work])

    def _shared_doubts(self) -> list[Replicates]:
        """Return the example's doubts of what follows its checks, for as much as follows those of this launch."""
        like = self._like
        ratio = self._left / (like.work - like.looks[-1][self._columns.work])
        return [replace(one, deviations=one.deviations * ratio) for one in like.doubts]

    def _rest(self) -> np.ndarray:
        """Return what is to be counted after the checks."""
        like, work = self._like, self._columns.work
        left, others = self._left, like.work - like.looks[-1][work]
        if like.workgroups == self._workgroups or like.pace is None:
            rest = like.rest * (left / others)
        else:
            rest = like.rest + like.pace * (left - others)
        return np.asarray(np.maximum(rest + self._between(), 0))

    def _between(self) -> np.ndarray:
        """Return half of what the checks found between this launch and its example, carried on to its end: that it goes
        on so, and that it was by chance, are as likely.
        """
        return (self._an_instruction(self._looks) - self._an_instruction(self._like.looks)) * (self._left / 2)

    def _own_doubts(self) -> list[Replicates]:
        """Return why this launch may take another time than its example says: independent reasons."""
        spec, columns, like = self._spec, self._columns, self._like
        timed, rest = self._vector.timed, self._rest()
        z = quantile(spec.confidence, MANY_DEGREES)
        left = self._left
        paces = [one.rest[columns.cycles] / (one.work - one.looks[-1][columns.work]) for one in self._alike]
        mean = plain_sum(paces) / len(paces)
        degrees = spec.prior_degrees + len(paces) - 1
        square = spec.prior_degrees * spec.across_bias**2 + plain_sum((pace / mean - 1) ** 2 for pace in paces)
        t = quantile(spec.confidence, degrees)
        last = _LAST_ROUND * last_round(self._rounds, like.rounds) * (self._work.total / self._rounds) / left
        return [
            Replicates(z * z, self._between()[np.newaxis]),
            Replicates(t * t, (sqrt(square / degrees) * rest * timed)[np.newaxis]),
            Replicates(z * z, (last * rest * timed)[np.newaxis]),
        ]

    def finish(self, facts: RunFacts) -> None:
        """Add what was not simulated to the facts of a launch, and say how it was estimated."""
        if self._instead is not None:
            self._instead.finish(facts)
            assert facts.sampling is not None
            why = f"{facts.sampling.reason}; not by {self._like.name}: {self._contradicted}"
            facts.sampling = replace(facts.sampling, reason=why)
            return
        simulated, rounds = int(facts.kernel.wavefront_instructions), self._rounds
        if not self._over:
            why = "it ended before its checks"
            facts.sampling = Sampling(self._spec.confidence, WHOLE, why, rounds, simulated, simulated)
            return
        rest, doubts = self._rest(), [*self._own_doubts(), *self._shared_doubts()]
        waves = self._workgroups * self._waves
        exact = {
            "workgroups": self._workgroups - int(facts.kernel.workgroups),
            "wavefronts": waves - int(facts.kernel.wavefronts),
            "wavefronts_ended": waves - int(facts.kernel.wavefronts_ended),
            "wavefront_instructions": self._work.total - simulated,
        }
        complete(facts, self._vector, rest, doubts, exact)
        facts.sampling = Sampling(
            self._spec.confidence,
            LAUNCHES,
            f"as {self._like.name}{f' and {len(self._alike) - 1} more' * (len(self._alike) > 1)}",
            rounds,
            int(facts.kernel.wavefront_instructions),
            simulated,
            False,
            tuple(Doubt(self._vector, doubt) for doubt in doubts),
        )
