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
from gpusim.sampling.decision import Left, Stops, decide
from gpusim.sampling.estimate import estimate
from gpusim.sampling.grid import block_weights, jumps
from gpusim.sampling.independence import dependence
from gpusim.sampling.looks import Columns, spaced, windows_of
from gpusim.sampling.spec import SamplingSpec

FIRST_STEP_CYCLES = 64
LOOKS = 64  # at the first round, at most
LEAST_INSTRUCTIONS = 50_000  # of a window: a look costs as much time as 30 000
LEAST_SKIPPED = 0.2  # of a grid: below, a jump is not worth its error


@dataclass(frozen=True)
class _Pace:
    """round_cycles: of a round; least_window_cycles: of a window, below which looking costs more than simulating."""

    round_cycles: float
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
        self._spec, self._launch = spec, launch
        self._resident = launch.resident
        self._total = launch.workgroups
        self._waves = launch.wavefronts_per_workgroup
        self._vector = CountVector.of(launch.counts().sections)
        self._columns = Columns.of(self._vector)
        self._blocks: list[list[np.ndarray]] = []  # looks at the ends of windows that follow one another
        self._jumps: list[int] = []
        self._executed = 0
        self.reason = dependence(launch.context.instructions, bool(launch.context.launch.regions))
        self._course = iter(()) if self.reason else self._steer()
        self.limit = next(self._course, NEVER)

    def look(self) -> None:
        """The cycle `limit` is reached."""
        self.limit = next(self._course, NEVER)

    # -- how a launch is steered: each `yield` is a cycle in which to look again

    def _steer(self) -> Iterator[int]:
        spec = self._spec
        if self._total * (1 - LEAST_SKIPPED) < self._resident + self._tail():
            self.reason = f"too few workgroups: {self._total}, of which {self._resident} are resident at a time"
            return
        self.reason = "the grid ended before its windows had settled"
        first: list[np.ndarray] = []
        yield from self._first_round(first)
        settling = self._settling_rounds(first)
        if settling > 1:
            pace = yield from self._settle(first[-1], settling)
        else:
            pace = self._pace(first[len(first) // 2], first[-1])  # without the ramp
        window = max(1, round(max(pace.round_cycles / spec.lap_windows, pace.least_window_cycles)))
        from_cycle = settling * pace.round_cycles if settling <= 1 else self._launch.now
        self._blocks.append(spaced([*first, self._look()], from_cycle, window, self._columns.cycles))
        lap_rounds = spec.lap_windows * window / pace.round_cycles
        least = spec.least_stops if settling > spec.long_settling_rounds else 0
        found = yield from self._head(window, lap_rounds, least)
        if found is None:
            return
        stops, stop_rounds = found
        stop = int(np.ceil(self._resident * stop_rounds))
        for left in range(stops.count, -1, -1):
            planned = jumps(self._launch.waiting, self._resident, self._tail(), left, stop)
            if not planned.sizes:
                break
            self._jump(planned.sizes[0])
            if left:
                yield self._launch.now + round(pace.round_cycles)
                yield from self._measure([self._look()], window, spec.lap_windows * stops.laps)

    def _measure(self, block: list[np.ndarray], window: int, count: int) -> Iterator[int]:
        """So many windows more, as a block of their own."""
        self._blocks.append(block)
        for _ in range(count):
            yield self._launch.now + window
            if not self._launch.waiting:  # the machine runs empty
                return
            block.append(self._look())

    def _first_round(self, looks: list[np.ndarray]) -> Iterator[int]:
        """Looks, evenly spaced, until as many workgroups have ended as were resident."""
        step = FIRST_STEP_CYCLES
        while self._launch.done < self._resident:
            looks.append(self._look())
            if len(looks) == LOOKS:
                del looks[1::2]
                step *= 2
            yield self._launch.now + step
        looks.append(self._look())

    def _settling_rounds(self, looks: list[np.ndarray]) -> float:
        """Rounds until windows are worth measuring, from what the first round's workgroups were like."""
        spec, columns, last = self._spec, self._columns, looks[-1]
        length = self._waves * last[columns.ended_work] / max(last[columns.ended], 1)
        if columns.l2_hit_rates(windows_of([[looks[0], last]]))[0] < spec.streaming_hit_rate:
            return spec.streaming_settling_rounds
        if length >= spec.long_instructions:
            return spec.long_settling_rounds
        medium = length >= spec.medium_instructions
        return spec.medium_settling_rounds if medium else spec.short_settling_rounds

    def _settle(self, before: np.ndarray, rounds: float) -> Generator[int, None, _Pace]:
        """Wait until so many rounds have ended; returns the pace of the rounds after the first, which began at once."""
        step = max(1, int(before[self._columns.cycles]) // self._spec.lap_windows)
        while self._launch.done < rounds * self._resident:
            yield self._launch.now + step
        return self._pace(before, self._look())

    def _pace(self, before: np.ndarray, now: np.ndarray) -> _Pace:
        """The pace between two looks."""
        columns = self._columns
        length = now[columns.ended_work] / max(now[columns.ended], 1)
        rate = float(columns.rates(windows_of([[before, now]]))[0])
        return _Pace(self._resident * self._waves * length * rate, LEAST_INSTRUCTIONS * rate)

    def _head(self, window: int, lap_rounds: float, least: int) -> Generator[int, None, tuple[Stops, float] | None]:
        """Windows until they have settled and say enough; returns where to stop between jumps, and the rounds that a
        stop takes; None: nowhere helps."""
        spec, block = self._spec, self._blocks[0]
        while True:
            skippable = jumps(self._launch.waiting, self._resident, self._tail(), 0, 0).skipped
            if skippable < LEAST_SKIPPED * self._total:
                self.reason = "the grid was nearly done before its windows had settled or were enough"
                return None
            count = len(block) - 1
            if count > 0 and count % spec.lap_windows == 0:
                left = Left(skippable / self._total, skippable / self._resident, lap_rounds, least)
                stops = decide(windows_of([block]), self._columns, spec, left)
                if stops is not None:
                    del block[: -(stops.kept + 1)]
                    return stops, left.stop_rounds(stops.laps)
            yield self._launch.now + window
            block.append(self._look())

    # -- the machine

    def _look(self) -> np.ndarray:
        state = self._launch.context.state
        values = self._vector.values(self._launch.counts().sections)
        return np.append(values, (int(state.ended_instructions), int(state.ended)))

    def _tail(self) -> int:
        return int(np.ceil(self._spec.tail_rounds * self._resident))

    def _jump(self, size: int) -> None:
        """Pass over the next `size` workgroups of the grid."""
        passed = self._launch.skip(size)
        if self._spec.functional:
            self._executed += self._launch.execute(passed)
        self._jumps.append(size)

    # -- what is known at the end

    def finish(self, facts: RunFacts) -> None:
        """Add what was skipped to the facts of a launch that has ended, and say how."""
        simulated = int(facts.kernel.wavefront_instructions)
        rounds = self._total / self._resident
        confidence = self._spec.confidence
        skipped = sum(self._jumps)
        if not skipped:
            facts.sampling = Sampling(confidence, WHOLE, self.reason, rounds, simulated, simulated)
            return
        windows = windows_of(self._blocks[: len(self._jumps)])
        wavefronts = skipped * self._waves
        counts = [len(block) - 1 for block in self._blocks[: len(self._jumps)]]
        weighted = windows * block_weights(self._jumps, counts)[:, np.newaxis]
        found = estimate(weighted, self._columns, wavefronts, self._spec, self._executed)
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
        reason = (
            f"{len(windows)} windows in {found.batches.count} batches, correlation {found.batches.correlation:.2f},"
            f" {len(self._jumps)} jump{'s' * (len(self._jumps) > 1)}"
        )
        whole = int(facts.kernel.wavefront_instructions)
        facts.sampling = Sampling(confidence, WINDOWS, reason, rounds, whole, simulated, self._spec.functional, doubts)
