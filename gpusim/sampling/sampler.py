"""Sampling of one launch: when the machine is looked at, and when its dispatcher passes over workgroups.

After the first round of workgroups a launch is measured in laps of a round's time. Once it may have settled, the
dispatcher jumps over whole rounds of workgroups between two laps, so that laps are spread over the grid; the machine
does not notice, since what follows are other workgroups of the same kernel. When the laps say enough it jumps to the
grid's end, where compute units run empty, and that is simulated. What was skipped cost an instruction what the laps did
(`gpusim.sampling.estimate`).

Laps and their windows are parts of the machine's time, not numbers of workgroups that ended: workgroups end in bursts,
and how much of the resident ones is done changes from round to round, while instructions are issued evenly.
"""

from collections.abc import Iterator
from math import ceil

import numpy as np

from gpusim.core.count_vector import CountVector
from gpusim.core.cu.state import NEVER
from gpusim.core.facts import RunFacts
from gpusim.core.sampled import WHOLE, WINDOWS, Doubt, Replicates, Sampling
from gpusim.core.steering import Steered
from gpusim.sampling.decision import LEAST_SKIPPED, MOST_BEFORE_JUMP, Measured, following
from gpusim.sampling.estimate import estimate
from gpusim.sampling.grid import Left
from gpusim.sampling.independence import dependence
from gpusim.sampling.looks import Columns
from gpusim.sampling.spec import SamplingSpec

FIRST_STEP_CYCLES = 64
FIRST_STEPS = 64  # the first round's end is seen within this part of it
LEAST_INSTRUCTIONS = 5_000  # of a window: a look costs as much time


class Sampler:
    """Samples launches as a specification asks for (gpusim.core.steering.Steerer)."""

    def __init__(self, spec: SamplingSpec) -> None:
        self._spec = spec

    def attach(self, launch: Steered) -> "_Course":
        """Begin to sample a launch."""
        return _Course(self._spec, launch)


class _Course:
    """Steers one launch. limit: the cycle in which `look` is to be called."""

    def __init__(self, spec: SamplingSpec, launch: Steered) -> None:
        self._spec, self._launch = spec, launch
        self._resident = launch.resident
        self._total = launch.workgroups
        self._waves = launch.wavefronts_per_workgroup
        width, *others = launch.context.launch.workgroups
        self._row = width if max(others) > 1 else 1
        self._vector = CountVector.of(launch.counts().sections)
        self._columns = Columns.of(self._vector)
        self._laps: list[np.ndarray] = []  # [window, column] of each
        self._counts = [0]  # laps between jumps
        self._jumps: list[int] = []
        self._measured: Measured | None = None
        self._executed = 0
        self.reason = dependence(launch.context.instructions, bool(launch.context.launch.regions))
        self._course = iter(()) if self.reason else self._steer()
        self.limit = next(self._course, NEVER)

    def look(self) -> None:
        """Look at the machine, which has reached cycle `limit`, and set the next limit."""
        self.limit = next(self._course, NEVER)

    # -- how a launch is steered: each `yield` is a cycle in which to look again

    def _steer(self) -> Iterator[int]:
        """Take laps and jumps until enough is known, or the grid ends; yields the cycle of each look."""
        if self._total * (1 - LEAST_SKIPPED) < self._resident + self._tail():
            self.reason = f"too few workgroups: {self._total}, of which {self._resident} are resident at a time"
            return
        self.reason = "the grid was nearly done before its laps had settled or were enough"
        yield from self._first_round()
        columns, now = self._columns, self._look()
        round_work = self._resident * self._waves * now[columns.ended_work] / max(now[columns.ended], 1)
        pace = now[columns.cycles] / max(now[columns.work], 1)
        rounds = max(1.0, self._spec.windows * LEAST_INSTRUCTIONS / round_work)  # of a lap
        while self._jumps or self._skippable() >= LEAST_SKIPPED * self._total:
            looks = [now]
            yield from self._lap(looks, rounds * round_work * pace)
            if len(looks) <= self._spec.windows:
                return
            self._laps.append(np.diff(looks, axis=0))
            self._counts[-1] += 1
            now, counted = looks[-1], self._laps[-1].sum(axis=0)
            pace = counted[columns.cycles] / max(counted[columns.work], 1)
            lap_size, passed = ceil(rounds * self._resident), sum(self._jumps)
            left = Left(self._total, self._skippable(), lap_size, self._resident, self._row, passed)
            pace_alone = np.array([one[:, (columns.cycles, columns.work)] for one in self._laps])
            self._measured = Measured(pace_alone, tuple(self._counts), tuple(self._jumps), rounds)
            then = following(self._measured, self._spec, left)
            if then.jump:
                self._jump(then.jump)
            if then.enough:
                return
            if not self._jumps and len(self._laps) >= MOST_BEFORE_JUMP:
                self.reason = f"after {MOST_BEFORE_JUMP} laps it had not settled, or they differed too much"
                return

    def _first_round(self) -> Iterator[int]:
        """Wait until as many workgroups have ended as were resident; yields the cycle of each look."""
        while self._launch.done < self._resident:
            yield self._launch.now + max(FIRST_STEP_CYCLES, self._launch.now // FIRST_STEPS)

    def _lap(self, looks: list[np.ndarray], cycles: float) -> Iterator[int]:
        """Look at the end of each window of a lap of `cycles` cycles, or of fewer windows if the machine runs empty."""
        start = self._launch.now
        for k in range(1, self._spec.windows + 1):
            yield max(start + round(cycles * k / self._spec.windows), self._launch.now + 1)
            if not self._launch.waiting:
                return
            looks.append(self._look())

    # -- the machine

    def _look(self) -> np.ndarray:
        state = self._launch.context.state
        values = self._vector.values(self._launch.counts().sections)
        return np.append(values, (int(state.ended_instructions), int(state.ended)))

    def _tail(self) -> int:
        return int(np.ceil(self._spec.tail_rounds * self._resident))

    def _skippable(self) -> int:
        return max(0, self._launch.waiting - self._tail())

    def _jump(self, size: int) -> None:
        """Pass over the next `size` workgroups of the grid."""
        passed = self._launch.skip(size)
        if self._spec.functional:
            self._executed += self._launch.execute(passed)
        self._jumps.append(size)
        self._counts.append(0)

    # -- what is known at the end

    def finish(self, facts: RunFacts) -> None:
        """Add estimates for what was skipped to the facts of a launch that has ended, and say how it was sampled."""
        simulated = int(facts.kernel.wavefront_instructions)
        rounds = self._total / self._resident
        confidence = self._spec.confidence
        skipped = sum(self._jumps)
        if not skipped:
            facts.sampling = Sampling(confidence, WHOLE, self.reason, rounds, simulated, simulated)
            return
        measured = self._measured
        assert measured is not None  # nothing is passed over before the first lap
        last = sum(self._jumps[len(measured.jumps) :])
        first = measured.first(last, self._spec)
        weights = measured.weights(first, last)
        wavefronts = skipped * self._waves
        found = estimate(
            np.array(self._laps[first:]),
            weights,
            measured.age(first),
            self._columns,
            wavefronts,
            self._spec,
            self._executed,
            measured.lap_rounds,
        )
        size = len(self._vector.timed)
        added, groups = found.added[:size].copy(), [d.deviations[:, :size].copy() for d in found.doubts]
        at = self._vector.at
        exact = {"workgroups": skipped, "wavefronts_ended": wavefronts, "wavefronts": wavefronts}
        for name, count in exact.items():
            added[at("kernel", name)] = count
            for deviations in groups:
                deviations[:, at("kernel", name)] = 0
        before = facts.stalls
        facts.sections = self._vector.added(facts.sections, added)
        scale = {reason: facts.stalls[reason] / n for reason, n in before.items() if n}
        for hotspot in facts.hotspots:
            for reason in hotspot.stalls:
                hotspot.stalls[reason] = round(hotspot.stalls[reason] * scale.get(reason, 1.0))
        doubts = tuple(
            Doubt(self._vector, Replicates(d.factor, deviations))
            for d, deviations in zip(found.doubts, groups, strict=True)
        )
        laps, jumps = len(measured.laps) - first, len(self._jumps)
        reason = (
            f"{laps} lap{'s' * (laps > 1)} after {1 + measured.lap_rounds * first:.0f} rounds,"
            f" {jumps} jump{'s' * (jumps > 1)}"
        )
        whole = int(facts.kernel.wavefront_instructions)
        facts.sampling = Sampling(confidence, WINDOWS, reason, rounds, whole, simulated, self._spec.functional, doubts)
