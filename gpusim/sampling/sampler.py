"""Sampling of one launch: when the machine is looked at, and when its dispatcher passes over workgroups.

A launch runs in detail until its windows have settled; then the dispatcher jumps over whole rounds of workgroups, with
stops in between where the grid has rounds enough: after a round that is not measured, because the workgroups from
before the jump are still under way, another round of windows. The end of the grid, where compute units run empty,
is simulated. What was skipped cost an instruction what the windows did (`gpusim.sampling.estimate`).

Windows are parts of the machine's time, not numbers of workgroups that ended: workgroups end in bursts, and how much
of the resident ones is done changes from round to round, while instructions are issued evenly.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np

from gpusim.core.count_vector import CountVector
from gpusim.core.cu.state import NEVER
from gpusim.core.facts import RunFacts
from gpusim.core.sampled import WHOLE, WINDOWS, Doubt, Replicates, Sampling
from gpusim.core.steering import Steered
from gpusim.sampling.decision import Stops, decide
from gpusim.sampling.estimate import estimate
from gpusim.sampling.grid import jumps
from gpusim.sampling.independence import dependence
from gpusim.sampling.looks import Columns, spaced, windows_of
from gpusim.sampling.spec import SamplingSpec

FIRST_STEP_CYCLES = 64
LOOKS = 64  # at the first round, at most
LEAST_INSTRUCTIONS = 50_000  # of a window: a look costs as much time as 30 000
LEAST_SKIPPED = 0.2  # of a grid: below, a jump is not worth its error


@dataclass(frozen=True)
class _Pace:
    """round_cycles: of a round; settled_cycle: from which to measure; least_window_cycles: below, looking costs more
    than simulating."""

    round_cycles: float
    settled_cycle: float
    least_window_cycles: float


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
        self._spec, self._launch, self._m = spec, launch, launch.m
        self._resident = launch.resident
        self._total = int(launch.m.run.workgroups)
        self._waves = int(launch.m.run.workgroup_waves)
        self._vector = CountVector.of(launch.counts().sections)
        self._columns = Columns.of(self._vector)
        self._blocks: list[list[np.ndarray]] = []  # looks at the ends of windows that follow one another
        self._jumps = 0
        self._executed = 0
        self.reason = dependence(launch.context.instructions, bool(launch.context.launch.regions))
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
        if self._total * (1 - LEAST_SKIPPED) < self._resident + self._tail():
            self.reason = f"too few workgroups: {self._total}, of which {self._resident} are resident at a time"
            return
        self.reason = "the grid ended before its windows had settled"
        first: list[np.ndarray] = []
        yield from self._first_round(first)
        pace = self._pace(first)
        window = max(1, round(max(pace.round_cycles / spec.lap_windows, pace.least_window_cycles)))
        self._blocks.append(spaced(first, pace.settled_cycle, window, self._columns.cycles))
        if first[-1][self._columns.cycles] < pace.settled_cycle:
            yield round(pace.settled_cycle)
            self._blocks[0] = [self._look()]
        stops = yield from self._head(window)
        if stops is None:
            return
        for left in range(stops.count, -1, -1):
            lap_rounds = spec.lap_windows * window / pace.round_cycles
            stop = int(np.ceil(self._resident * spec.stop_rounds(stops.laps * lap_rounds)))
            planned = jumps(self._left(), self._resident, self._tail(), left, stop)
            if not planned.sizes:
                break
            self._jump(planned.sizes[0])
            if left:
                yield int(self._m.wheel.now) + round(pace.round_cycles)
                self._blocks.append([self._look()])
                for _ in range(spec.lap_windows * stops.laps):
                    yield int(self._m.wheel.now) + window
                    self._blocks[-1].append(self._look())

    def _first_round(self, looks: list[np.ndarray]) -> Iterator[int]:
        """Looks, evenly spaced, until as many workgroups have ended as were resident."""
        step = FIRST_STEP_CYCLES
        while int(self._m.run.done) < self._resident:
            looks.append(self._look())
            if len(looks) == LOOKS:
                del looks[1::2]
                step *= 2
            yield int(self._m.wheel.now) + step
        looks.append(self._look())

    def _pace(self, looks: list[np.ndarray]) -> _Pace:
        """What the first round says of those that follow."""
        spec, columns, last = self._spec, self._columns, looks[-1]
        length = last[columns.ended_work] / max(last[columns.ended], 1)
        # without the ramp: from the middle of the round on
        windows = windows_of([[looks[len(looks) // 2], last]])
        rate = float(columns.rates(windows)[0])
        if columns.l2_hit_rates(windows)[0] < spec.streaming_hit_rate:
            settling = spec.streaming_settling_rounds
        elif length >= spec.long_instructions:
            settling = spec.long_settling_rounds
        else:
            medium = length >= spec.medium_instructions
            settling = spec.medium_settling_rounds if medium else spec.short_settling_rounds
        round_cycles = self._resident * self._waves * length * rate
        return _Pace(round_cycles, settling * round_cycles, LEAST_INSTRUCTIONS * rate)

    def _head(self, window: int) -> Generator[int, None, Stops | None]:
        """Windows until they have settled and say enough; returns where to stop between jumps, None: nowhere helps."""
        spec, block = self._spec, self._blocks[0]
        while True:
            skippable = jumps(self._left(), self._resident, self._tail(), 0, 0).skipped
            if skippable < LEAST_SKIPPED * self._total:
                self.reason = "the grid was nearly done before its windows had settled or were enough"
                return None
            count = len(block) - 1
            if count > 0 and count % spec.lap_windows == 0:
                share, rounds = skippable / self._total, skippable / self._resident
                stops = decide(windows_of([block]), self._columns, spec, share, rounds)
                if stops is not None:
                    del block[: -(stops.kept + 1)]
                    return stops
            yield int(self._m.wheel.now) + window
            block.append(self._look())

    # -- the machine

    def _look(self) -> np.ndarray:
        state = self._launch.context.state
        values = self._vector.values(self._launch.counts().sections)
        return np.append(values, (int(state.ended_instructions), int(state.ended)))

    def _left(self) -> int:
        """Workgroups not dispatched yet."""
        return int(self._m.run.workgroups - self._m.run.next_workgroup)

    def _tail(self) -> int:
        return int(np.ceil(self._spec.tail_rounds * self._resident))

    def _jump(self, size: int) -> None:
        """Pass over the next `size` workgroups of the grid."""
        run = self._m.run
        first = int(run.next_workgroup + run.skipped)
        if self._spec.functional:
            self._executed += self._launch.execute(range(first, first + size))
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
        windows = windows_of(self._blocks)
        wavefronts = self.skipped * self._waves
        found = estimate(windows, self._columns, wavefronts, self._spec, self._executed)
        size = len(self._vector.timed)
        added, groups = found.added[:size].copy(), [d.deviations[:, :size].copy() for d in found.doubts]
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
            Doubt(self._vector, Replicates(d.factor, deviations))
            for d, deviations in zip(found.doubts, groups, strict=True)
        )
        reason = (
            f"{len(windows)} windows in {found.batches.count} batches, correlation {found.batches.correlation:.2f},"
            f" {self._jumps} jump{'s' * (self._jumps > 1)}"
        )
        whole = int(facts.kernel.wavefront_instructions)
        facts.sampling = Sampling(confidence, WINDOWS, reason, rounds, whole, simulated, self._spec.functional, doubts)
