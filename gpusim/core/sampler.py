"""Sampling of one launch: when the machine is looked at, and when its dispatcher passes over workgroups.

A launch runs in detail until its windows have settled; then the dispatcher jumps over whole rounds of workgroups, with
stops in between where the grid has rounds enough: after a round that is not measured, because the workgroups from
before the jump are still under way, another round of windows. The end of the grid, where compute units run empty,
is simulated. What was skipped cost an instruction what the windows did (`gpusim.sampling.estimate`).

Windows are parts of the machine's time, not numbers of workgroups that ended: workgroups end in bursts, and how much
of the resident ones is done changes from round to round, while instructions are issued evenly.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.core.count_vector import CountVector
from gpusim.core.cu.state import NEVER
from gpusim.core.facts import RunFacts
from gpusim.core.independence import dependence
from gpusim.core.sampled import WHOLE, WINDOWS, Doubt, Sampling
from gpusim.sampling.batches import batched
from gpusim.sampling.estimate import MANY_DEGREES, Columns, Replicates, estimate, rates
from gpusim.sampling.grid import jumps
from gpusim.sampling.spec import SamplingSpec
from gpusim.sampling.steady import settled
from gpusim.sampling.student import quantile
from isa.execution.executor import FunctionalContext

FIRST_STEP_CYCLES = 64
LOOKS = 64  # at the first round, at most
LEAST_INSTRUCTIONS = 50_000  # of a window: a look costs as much time as 30 000
LEAST_SKIPPED = 0.2  # of a grid: below, a jump is not worth its error
MEMORY_TOLERANCE = 0.01  # within which L2's hit rate and DRAM's lines an instruction must have settled

Execute = Callable[[range], int]


@dataclass(frozen=True)
class _Look:
    """The machine in one cycle: its counts, and instructions and number of the wavefronts that have ended."""

    counts: np.ndarray
    ended_instructions: int
    ended: int

    @property
    def row(self) -> np.ndarray:
        return np.append(self.counts, (self.ended_instructions, self.ended))


class Sampler:
    """Steers a launch on the machine `m`.

    counts: the facts of the launch up to now; resident: workgroups of a round; execute: executes workgroups of the grid
    that are passed over, returning their instructions (None: they are not executed). limit: the cycle in which `look`
    is to be called.
    """

    def __init__(
        self,
        spec: SamplingSpec,
        m: Any,
        context: FunctionalContext,
        counts: Callable[[], RunFacts],
        resident: int,
        execute: Execute | None,
    ) -> None:
        self._spec, self._m, self._context, self._counts, self._execute = spec, m, context, counts, execute
        self._resident = resident
        self._total = int(m.run.workgroups)
        self._waves = int(m.run.workgroup_waves)
        self._vector = CountVector.of(counts().sections)
        size = len(self._vector.timed)
        at = self._vector.at
        timed = np.append(self._vector.timed, (False, False))
        cycles, work = at("kernel", "cycles"), at("kernel", "wavefront_instructions")
        self._columns = Columns(cycles, work, size, size + 1, timed)
        self._blocks: list[list[_Look]] = []  # looks at the ends of windows that follow one another
        self._jumps = 0
        self._executed = 0
        self.reason = dependence(context.instructions)
        self._course = iter(()) if self.reason else self._steer()
        self.limit = next(self._course, NEVER)

    def look(self) -> None:
        """The cycle `limit` is reached."""
        self.limit = next(self._course, NEVER)

    @property
    def skipped(self) -> int:
        """Workgroups passed over."""
        return int(self._m.run.skipped)

    # -- how a launch is steered: each `yield` is a cycle in which to look again

    def _steer(self) -> Iterator[int]:
        spec = self._spec
        least = self._resident + spec.tail_rounds * self._resident
        if self._total * (1 - LEAST_SKIPPED) < least:
            self.reason = f"too few workgroups: {self._total}, of which {self._resident} are resident at a time"
            return
        first: list[_Look] = []
        yield from self._first_round(first)
        settling, round_cycles = self._pace(first[-1])
        window = self._window(first[-1], round_cycles)
        stop_cycles = spec.lap_windows * window
        stop = int(np.ceil(self._resident * (1 + stop_cycles / round_cycles)))
        self._blocks.append(_spaced(first, settling * round_cycles, window, self._columns.cycles))
        while not self._blocks[0]:
            yield int(self._m.wheel.now) + window
            if self._now(look := self._look()) >= settling * round_cycles:
                self._blocks[0].append(look)
        stops = yield from self._measure_head(window, stop)
        if stops < 0:
            self._blocks = []
            return
        for left in range(stops, -1, -1):
            planned = jumps(self._left(), self._resident, self._tail(), left, stop)
            if not planned.sizes:
                break
            self._jump(planned.sizes[0])
            if not left:
                break
            yield int(self._m.wheel.now) + round(round_cycles)
            self._blocks.append([self._look()])
            for _ in range(spec.lap_windows):
                yield int(self._m.wheel.now) + window
                self._blocks[-1].append(self._look())

    def _first_round(self, looks: list[_Look]) -> Iterator[int]:
        """Looks, evenly spaced, until as many workgroups have ended as were resident."""
        step = FIRST_STEP_CYCLES
        while int(self._m.run.done) < self._resident:
            looks.append(self._look())
            if len(looks) == LOOKS:
                del looks[1::2]
                step *= 2
            yield int(self._now(looks[-1])) + step
        looks.append(self._look())

    def _pace(self, look: _Look) -> tuple[float, float]:
        """Rounds until windows are measured, and cycles of a round at the pace so far."""
        spec, length = self._spec, look.ended_instructions / max(look.ended, 1)
        if length >= spec.long_instructions:
            settling = spec.long_settling_rounds
        else:
            medium = length >= spec.medium_instructions
            settling = spec.medium_settling_rounds if medium else spec.short_settling_rounds
        pace = self._now(look) / look.counts[self._columns.work]
        return settling, self._resident * self._waves * length * pace

    def _window(self, look: _Look, round_cycles: float) -> int:
        """Cycles of a window: a part of a round, but so many that looking at the machine is no great part of the work."""
        least = LEAST_INSTRUCTIONS * self._now(look) / look.counts[self._columns.work]
        return max(1, round(max(round_cycles / self._spec.lap_windows, least)))

    def _measure_head(self, window: int, stop: int) -> Iterator[int]:
        """Windows until they have settled and say enough; returns how many stops there are to be, -1: none helps."""
        spec = self._spec
        block = self._blocks[0]
        while True:
            whole = len(block) - 1
            if whole > 0 and whole % spec.lap_windows == 0:
                stops = self._decide(stop)
                if stops is not None:
                    return stops
            if self._left() - self._tail() < LEAST_SKIPPED * self._total:
                self.reason = "no steady state was found early enough" if whole else "too few rounds"
                return -1
            yield int(self._m.wheel.now) + window
            block.append(self._look())

    def _decide(self, stop: int) -> int | None:
        """Stops between jumps if the windows so far have settled and, with those, will say enough; None: not yet."""
        spec = self._spec
        for laps in self._candidates():
            block = self._blocks[0][-(laps * spec.lap_windows + 1) :]
            windows = _windows([block])
            if not settled(self._series(windows), spec.confidence):
                continue
            skippable = jumps(self._left(), self._resident, self._tail(), 0, 0).skipped
            if skippable < LEAST_SKIPPED * self._total:
                return None
            needed = self._needed(windows, skippable)
            affordable = int(spec.share * skippable / stop)
            wanted = -(-(needed - len(windows)) // spec.lap_windows)
            stops = min(max(affordable, wanted), spec.most_stops)
            if wanted > stops or stops * stop > skippable / 2:
                continue
            self._blocks[0] = block
            return max(stops, 0)
        return None

    def _candidates(self) -> list[int]:
        """How many of the last laps may count as settled: all, or their second half."""
        laps = (len(self._blocks[0]) - 1) // self._spec.lap_windows
        return sorted({laps, -(-laps // 2)}, reverse=True)

    def _series(self, windows: np.ndarray) -> list[tuple[np.ndarray, float]]:
        at, work = self._vector.at, np.maximum(windows[:, self._columns.work], 1)
        hits, misses = windows[:, at("l2", "hits")], windows[:, at("l2", "misses")]
        lines = windows[:, at("dram", "reads")] + windows[:, at("dram", "writes")]
        return [
            (rates(windows, self._columns), self._spec.error / 2),
            (hits / np.maximum(hits + misses, 1), MEMORY_TOLERANCE),
            (lines / work, MEMORY_TOLERANCE),
        ]

    def _needed(self, windows: np.ndarray, skipped: int) -> int:
        """Windows for which the half-width of the launch's cycles is what is wanted, if they go on like these."""
        spec, values = self._spec, rates(windows, self._columns)
        found = batched(values, spec.least_batches, spec.most_correlation)
        means = np.array([values[part].mean() for part in found.ranges(len(values))])
        spread = float(means.std(ddof=1) * np.sqrt(found.inflation)) / max(float(means.mean()), 1e-300)
        t, z = quantile(spec.confidence, found.count - 1), quantile(spec.confidence, MANY_DEGREES)
        part = skipped / self._total
        wanted = max(spec.error**2 - (z * spec.bias * part) ** 2, (spec.error / 4) ** 2)
        return int(np.ceil((t * spread * part) ** 2 / wanted * found.size))

    # -- the machine

    def _look(self) -> _Look:
        state = self._context.state
        values = self._vector.values(self._counts().sections)
        return _Look(values, int(state.ended_instructions), int(state.ended))

    def _now(self, look: _Look) -> float:
        return float(look.counts[self._columns.cycles])

    def _left(self) -> int:
        """Workgroups not dispatched yet."""
        return int(self._m.run.workgroups - self._m.run.next_workgroup)

    def _tail(self) -> int:
        return int(np.ceil(self._spec.tail_rounds * self._resident))

    def _jump(self, size: int) -> None:
        """Pass over the next `size` workgroups of the grid."""
        run = self._m.run
        first = int(run.next_workgroup + run.skipped)
        if self._execute is not None:
            self._executed += self._execute(range(first, first + size))
        run.skipped += size
        run.workgroups -= size
        self._jumps += 1

    # -- what is known at the end

    def finish(self, facts: RunFacts) -> None:
        """Add what was skipped to the facts of a launch that has ended, and say how."""
        simulated = int(facts.kernel.wavefront_instructions)
        rounds = self._total / self._resident
        confidence = self._spec.confidence
        if not self.skipped:
            facts.sampling = Sampling(confidence, WHOLE, self.reason, rounds, simulated, simulated)
            return
        windows = _windows(self._blocks)
        wavefronts = self.skipped * self._waves
        found = estimate(windows, self._columns, wavefronts, self._spec, self._executed)
        size = len(self._vector.timed)
        added, groups = found.added[:size].copy(), [g.deviations[:, :size].copy() for g in found.groups]
        at = self._vector.at
        exact = {"workgroups": self.skipped, "wavefronts_ended": wavefronts, "wavefronts": wavefronts}
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
            Doubt(self._vector, Replicates(g.factor, deviations))
            for g, deviations in zip(found.groups, groups, strict=True)
        )
        reason = (
            f"{len(windows)} windows in {found.batches.count} batches, correlation {found.batches.correlation:.2f},"
            f" {self._jumps} jump{'s' * (self._jumps > 1)}"
        )
        whole = int(facts.kernel.wavefront_instructions)
        facts.sampling = Sampling(confidence, WINDOWS, reason, rounds, whole, simulated, doubts)


def _windows(blocks: list[list[_Look]]) -> np.ndarray:
    """What was counted in each window of each block."""
    return np.concatenate([np.diff([look.row for look in block], axis=0) for block in blocks if len(block) > 1])


def _spaced(looks: list[_Look], first: float, apart: float, cycles: int) -> list[_Look]:
    """Of looks, those from cycle `first` on that are at least `apart` cycles from one another."""
    chosen: list[_Look] = []
    for look in looks:
        now = float(look.counts[cycles])
        if now >= first and (not chosen or now >= float(chosen[-1].counts[cycles]) + apart):
            chosen.append(look)
    return chosen
