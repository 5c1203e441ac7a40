"""Sampling within workgroups: iterations of their loops are passed over, by all resident wavefronts at once.

For launches of few waves of long workgroups, of which whole ones cannot be passed over. Where every resident wavefront
is in its loop the machine is *calm*: nothing begins or ends. It is measured for an interval, all wavefronts are taken
on by what they would have done in a time, each by its own pace, and it is measured for another interval. Then
workgroups end, others begin, and the machine is calm again. What was passed over cost an instruction what these
intervals did.

A wavefront's pace follows from its place among the workgroups of its compute unit: where the oldest goes first, it may
be twice as fast as the next one. Places are alike on all compute units, and each place's pace is the mean over them.
Workgroups come apart, at random, as the square root of time: what one is ahead of the others of its place since the
machine is calm grows by that over a skip (those that share lines in L2 lose them so).
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from gpusim.base.formats import FIXED_0
from gpusim.base.student import MANY_DEGREES, quantile
from gpusim.base.sums import plain_sum
from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.cu.state import CU_BITS, NEVER
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.sampled import ITERATIONS, WHOLE, Replicates, Sampling, UncertaintyComponent
from gpusim.model.core.steering import SteeredLaunch
from gpusim.model.sampling.completion import complete
from gpusim.model.sampling.estimate import ratios
from gpusim.model.sampling.independence import dependence
from gpusim.model.sampling.looks import Columns, read_counts
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.work import WorkgroupInstructions
from isa.execution.control_slice import ControlSliceError
from isa.execution.faults import ExecutionFault
from isa.execution.passage import Loop, LoopFastForward, find_loop

MOST_WAVES = 8.5  # of a launch that is sampled so: of more waves, whole ones are passed over
LEAST_ITERATIONS = 48  # of every wavefront's loop: fewer leave nothing to pass over
LEAST_OF_WORK = 0.8  # of a wavefront's instructions, that its loop has
FIRST_STEP_CYCLES = 64
STEPS = 32  # a change is seen within this part of the time since the last one
SETTLED_ITERATIONS = 5.0  # of every wavefront, from which the machine may be calm
INTERVAL_ITERATIONS = 6.0  # of a mean wavefront
SKIPPED_ITERATIONS = 5.0  # the same: after a skip, when all wavefronts find the TLBs and rows of other places
LAST_ITERATIONS = 4.0  # the same: of the interval after that
LEAST_INSTRUCTIONS = 5_000  # of a window: a look costs as much time
LEFT_ITERATIONS = 2.0  # of each wavefront after the last interval
WAVE = 0.05  # of a wave, by which what is dispatched in it may differ from one
SAME_WAVES = 0.03  # relative: what two waves cost, after which others are passed over
LEAST_INTERVALS = 3.0  # that a skip is to pass over: what it changes costs more than a shorter one saves
LEAST_SHARE = 0.02  # of the launch's instructions, the same
MOST_INTERVALS_SHARE = 0.2  # of what may be passed over: intervals before a skip
SHORTER_RUNS = 3  # of a launch whose loads find nothing in L2: a line, and whether it is one
MOST_OF_LOOP = 0.5  # of its iterations, that such runs may have together
SAME = 0.02  # relative: paces of two intervals
WITHIN = "within workgroups"  # the doubt that all launches sampled so share
_LATER_WAVES = 1e9  # how long ago a launch began, for doubts that are those of `SamplingSpec.within_bias` here


class UnskippableLoopError(Exception):
    """Iterations of a launch cannot be passed over within its workgroups; says why."""


@dataclass(eq=False)
class StreamingLaunchError(Exception):
    """Raised for a launch whose loads all miss L2; shorter loops give its cost (gpusim.model.sampling.shortened)."""

    loop: Loop
    """Loop."""
    work: WorkgroupInstructions
    """Work of the workgroups."""
    ahead: float
    """Largest number of iterations that a wavefront has executed and not issued."""
    workgroups: int
    """Workgroups of the grid."""
    wavefronts: int
    """Wavefronts of a workgroup."""
    waves: float
    """Waves of workgroups in the grid."""

    @property
    def kept(self) -> int:
        """Iterations of the first of the runs with shorter loops, each of which has twice as many as the one before."""
        return max(LEAST_ITERATIONS, ceil(self.ahead + SETTLED_ITERATIONS))

    @property
    def fits(self) -> bool:
        """Whether the loop is long enough for as many such runs as are needed."""
        return ((1 << SHORTER_RUNS) - 1) * self.kept <= MOST_OF_LOOP * self.loop.iterations


def inside(spec: SamplingSpec, launch: SteeredLaunch) -> "LoopSteering":
    """Begin to sample a launch within its workgroups; raises UnskippableLoopError."""
    if spec.functional:
        raise UnskippableLoopError("its results are asked for")
    if launch.context.launch.regions:
        raise UnskippableLoopError("the engine serves it")
    why = dependence(launch.context.instructions)
    if why:
        raise UnskippableLoopError(why)
    try:
        loop, work = find_loop(launch.context.launch), WorkgroupInstructions(launch.work())
    except (ControlSliceError, ExecutionFault) as refused:
        raise UnskippableLoopError(str(refused)) from None
    of_loop = loop.length * launch.wavefronts_per_workgroup
    least = loop.iterations - (work.each[0] - work.each.min()) / of_loop
    if least < LEAST_ITERATIONS:
        raise UnskippableLoopError(f"{FIXED_0(max(least, 0))} iterations of its loop are too few to pass over some")
    if loop.iterations * of_loop < LEAST_OF_WORK * work.each[0]:
        raise UnskippableLoopError("it has much else to do than its longest loop")
    return LoopSteering(spec, launch, loop, work)


@dataclass(frozen=True)
class WavefrontPositions:
    """Positions of the resident wavefronts in their loop; arrays [wavefronts]."""

    slots: np.ndarray
    """int64: slot of the wavefront."""
    workgroups: np.ndarray
    """int64: number of its workgroup."""
    done: np.ndarray
    """Iterations issued."""
    ahead: np.ndarray
    """Iterations executed and not yet issued; many where no barrier ends a slice."""
    left: np.ndarray
    """Iterations not yet executed, which may be skipped."""
    places: np.ndarray
    """Number of its workgroup's place on the compute unit, by age and by the number of workgroups there."""


@dataclass(frozen=True)
class PhaseStart:
    """The beginning of a steady phase."""

    kind: tuple[int, ...]
    """Occupied places, and number of wavefronts."""
    position: int
    """Next workgroup of the grid."""
    look: np.ndarray
    """float64 [columns]: counts at the beginning."""
    phases: int
    """Number of earlier phases."""


@dataclass
class SteadyPhase:
    """A phase in which the machine is steady."""

    kind: tuple[int, ...]
    """Occupied places, and number of wavefronts."""
    intervals: list[np.ndarray] = field(default_factory=list)
    """float64 [windows, columns] of the detailed intervals before and after the fast-forward."""
    before: int = 0
    """Number of detailed intervals before the fast-forward."""
    passed: int = 0
    """Instructions skipped."""
    settled: bool = False
    """The last detailed intervals were alike."""
    skipped: np.ndarray = field(default_factory=lambda: np.zeros(1))
    """float64 [columns]: counts right after the fast-forward, whose cost no whole run has; they are estimated too."""
    times: float = 1.0
    """Number of times that the phase counts: once, and for each skipped wave of workgroups."""

    @property
    def unsettled(self) -> int:
        """Intervals that do not count: the first half of those before the skip, or all if there is a better one after
        it.
        """
        return self.before if len(self.intervals) > self.before and not self.settled else self.before // 2

    @property
    def counted(self) -> list[np.ndarray]:
        """The intervals that count."""
        return self.intervals[self.unsettled :]

    def weights(self) -> list[float]:
        """Return the weight of each interval that counts: those before the skip have as much as those after it."""
        before, after = self.before - self.unsettled, len(self.intervals) - self.before
        sides = (before > 0) + (after > 0)
        return [1 / (sides * n) for n in (before, after) for _ in range(n)]


class LoopSteering:
    """Steers one launch (gpusim.model.core.steering.Steering)."""

    def __init__(self, spec: SamplingSpec, launch: SteeredLaunch, loop: Loop, work: WorkgroupInstructions) -> None:
        # intervals of different phases are not neighbours: that they resemble one another says nothing
        self._spec = spec.model_copy(update={"most_correlation": 0.999})
        self._launch, self._loop, self._work = launch, loop, work
        self._wavefronts = launch.wavefronts_per_workgroup
        self._total = launch.workgroups
        self._passage = LoopFastForward(launch.context, loop)
        self._passed = np.zeros(launch.context.slots)  # iterations, by slot
        self._of = np.full(launch.context.slots, -1)  # by which workgroup's wavefront
        self._vector = CountVector.of(launch.counts().sections)
        self._columns = Columns.of(self._vector)
        self._phases: list[SteadyPhase] = []
        self._starts: list[PhaseStart] = []
        self._at_first_skip: np.ndarray | None = None  # what was counted when iterations were first passed over
        self._skipped, self._repeated = 0, np.zeros(len(self._columns.timed))  # workgroups, and what they cost
        self._checked = False  # what its loads find
        self._course = self._steer()
        self.limit = next(self._course, NEVER)

    def look(self) -> None:
        """Look at the machine, which has reached cycle `limit`, and set the next limit."""
        self.limit = next(self._course, NEVER)

    # -- how a launch is steered: each `yield` is a cycle in which to look again

    def _steer(self) -> Iterator[int]:
        """Measure and pass over a part of each calm time; yields the cycle of each look."""
        while True:
            since = self._launch.now
            while not self._calm(SETTLED_ITERATIONS, LEFT_ITERATIONS):
                self._check_loads()
                yield self._launch.now + max(FIRST_STEP_CYCLES, (self._launch.now - since) // STEPS)
            self._check_loads()
            stands = self._standing()
            self._repeat(PhaseStart(_kind(stands), self._launch.position, self._look(), len(self._phases)))
            yield from self._phase()
            since = self._launch.now
            while np.array_equal(self._standing().workgroups, stands.workgroups):
                yield self._launch.now + max(FIRST_STEP_CYCLES, (self._launch.now - since) // STEPS)

    def _repeat(self, start: PhaseStart) -> None:
        """Pass over the waves of whole workgroups that are left, once two of them have cost the same.

        A wave is from the beginning of one phase to that of another of its kind, a wave of workgroups later.
        """
        launch, columns = self._launch, self._columns
        count = launch.waiting // launch.resident * launch.resident
        middle = self._a_wave_before(start)
        first = None if middle is None else self._a_wave_before(middle)
        self._starts.append(start)
        if first is None or middle is None or self._skipped or not count:
            return
        costs = []
        for begin, end in ((first, middle), (middle, start)):
            intervals = [interval for phase in self._phases[begin.phases : end.phases] for interval in phase.counted]
            passed = plain_sum(phase.passed for phase in self._phases[begin.phases : end.phases])
            issued = end.look - begin.look
            cycles = issued[columns.cycles] + (passed * self._pace(intervals) if intervals else 0)
            costs.append(cycles / (issued[columns.work] + passed))
        if abs(costs[1] / costs[0] - 1) > SAME_WAVES:
            return
        phases, issued = self._phases[first.phases :], start.look - first.look
        times = self._work.of(launch.skip(count)) / (issued[columns.work] + plain_sum(phase.passed for phase in phases))
        for phase in phases:
            phase.times += times
        self._repeated += issued * times
        self._skipped = count

    def _a_wave_before(self, start: PhaseStart) -> PhaseStart | None:
        """Return the beginning of a phase of the same kind a wave before; not the launch's first one."""
        of_wave = self._launch.resident
        for then in self._starts[1:]:
            if then.kind == start.kind and abs(start.position - then.position - of_wave) <= WAVE * of_wave:
                return then
        return None

    def _phase(self) -> Iterator[int]:
        """Take intervals and skip once while the machine is calm; yields the cycle of each look."""
        launch, columns = self._launch, self._columns
        begun = self._standing()
        began, phase = launch.now, SteadyPhase(_kind(begun))
        look = self._look()
        pace = look[columns.cycles] / max(look[columns.work], 1)  # cycles of an instruction
        size = max(INTERVAL_ITERATIONS * self._loop.length * len(begun.slots), self._spec.windows * LEAST_INSTRUCTIONS)
        cycles = max(size * pace, self._spec.windows)
        alike = [one for one in self._phases if one.kind == phase.kind]
        after = SKIPPED_ITERATIONS + int(begun.ahead.max(initial=0))  # a slice ends before its wavefront skips
        skipped, last = (cycles * n / INTERVAL_ITERATIONS for n in (after, LAST_ITERATIONS))
        while not phase.passed:
            if not (yield from self._interval(phase, cycles)):
                return
            phase.before += 1
            stands = self._standing()
            paces, apart = self._moved(begun, stands)
            spent = launch.now - began
            further, space = np.zeros(0), -skipped - last
            for _ in range(2):  # how far wavefronts come apart follows from the time passed over
                further = apart * ((1 + max(space, 0) / spent) ** 0.5 - 1)
                space = float(((stands.left - LEFT_ITERATIONS - further) / paces).min()) * spent - skipped - last
            least = LEAST_SHARE * self._work.total / (float(paces.sum()) * self._loop.length / spent)
            if space < max(LEAST_INTERVALS * cycles, least):
                return
            if self._enough(phase, alike, space, cycles):
                passed = np.maximum(paces * (space / spent) + further, 1).astype(np.int64)
                self._passage.wanted[stands.slots] = passed
                self._passed[stands.slots] += passed
                phase.passed = int(passed.sum()) * self._loop.length
        self._phases.append(phase)
        look = self._look()
        self._at_first_skip = look if self._at_first_skip is None else self._at_first_skip
        yield launch.now + round(skipped)
        phase.skipped = self._look() - look
        yield from self._interval(phase, last)

    def _enough(self, phase: SteadyPhase, alike: Sequence[SteadyPhase], space: float, cycles: float) -> bool:
        """Tell whether a phase's intervals say enough for a skip over `space` cycles, or are as many as are worth it.

        alike: earlier phases of its kind. The last interval has to have the pace of the one before, or of these phases.
        """
        own = phase.intervals[phase.unsettled :]
        intervals = np.array([*(interval for before in alike for interval in before.counted), *own])
        strata = _strata([*(len(before.counted) for before in alike), len(own)])
        even = np.full(len(intervals), 1 / len(intervals))
        found = ratios(intervals, even, _LATER_WAVES, self._columns, self._spec, strata=strata)
        interval = found.interval_variance(self._columns.cycles) * found.chance.factor * len(intervals)
        now = self._pace(phase.intervals[-1:])
        others = [self._pace(held) for held in (intervals[:-1], phase.intervals[-2:-1]) if len(held)]
        phase.settled = any((other / now - 1) ** 2 <= max(interval, SAME**2) for other in others)
        spent = phase.before * cycles
        if spent >= MOST_INTERVALS_SHARE * (space + spent):
            return True
        done = self._look()[self._columns.work] + plain_sum(before.passed for before in self._phases)
        share = min(space / self._launch.now * done / self._work.total, 1.0)
        shared = (self._spec.within_bias * quantile(self._spec.confidence, MANY_DEGREES)) ** 2
        allowed = max(self._spec.error**2 - shared, self._spec.error**2 / 4)
        return phase.settled and interval / (phase.before - phase.unsettled) * share <= allowed

    def _pace(self, intervals: Sequence[np.ndarray] | np.ndarray) -> float:
        """Return the cycles an instruction of intervals."""
        counts = np.array(intervals).sum(axis=(0, 1))
        return float(counts[self._columns.cycles] / counts[self._columns.work])

    def _interval(self, phase: SteadyPhase, cycles: float) -> Generator[int, None, bool]:
        """Look at the end of each window of an interval; yields each look, returns whether the machine was calm all
        along.
        """
        start, looks, resident = self._launch.now, [self._look()], self._standing().workgroups
        for k in range(1, self._spec.windows + 1):
            yield max(start + round(cycles * k / self._spec.windows), self._launch.now + 1)
            if not self._calm(0, 0) or not np.array_equal(self._standing().workgroups, resident):
                return False
            looks.append(self._look())
        phase.intervals.append(np.diff(looks, axis=0))
        return True

    # -- the machine

    def _look(self) -> np.ndarray:
        return read_counts(self._launch, self._vector)

    def _standing(self) -> WavefrontPositions:
        """Return where the resident wavefronts stand."""
        context = self._launch.context
        held = context.resident_wavefronts
        slots, workgroups, executed = held.slots, held.workgroups, held.executed
        new = self._of[slots] != workgroups
        self._passed[slots[new]] = 0
        self._of[slots[new]] = workgroups[new]
        loop = self._loop
        ahead = np.minimum(self._launch.unissued(slots), executed)
        begun = (executed - loop.first) / loop.length + self._passed[slots]
        more = (self._work.each[workgroups] - self._work.each[0]) / (self._wavefronts * loop.length)
        units = slots >> CU_BITS
        pairs = np.unique(np.stack([units, workgroups]), axis=1)
        first = np.searchsorted(pairs[0], pairs[0])
        count = np.searchsorted(pairs[0], pairs[0], side="right") - first
        place = (np.arange(len(first)) - first) * (count.max(initial=0) + 1) + count
        which = np.searchsorted(pairs[0] * self._total + pairs[1], units * self._total + workgroups)
        ahead = ahead / loop.length
        return WavefrontPositions(slots, workgroups, begun - ahead, ahead, loop.iterations + more - begun, place[which])

    def _calm(self, done: float, left: float) -> bool:
        """Tell whether all that may be resident is, and each wavefront has done so many iterations and has so many
        left.
        """
        stands, launch = self._standing(), self._launch
        if not len(stands.slots) or (stands.done < done).any() or (stands.left < left).any():
            return False
        return not launch.waiting or len(stands.slots) == launch.resident * self._wavefronts

    def _check_loads(self) -> None:
        """Raise StreamingLaunchError, once the first wavefronts are in their loops, if L2 has answered hardly any
        load."""
        stands = self._standing()
        if self._checked or not len(stands.done) or stands.done.mean() < SETTLED_ITERATIONS:
            return
        self._checked = True
        if finds_nothing(self._launch.counts(), self._spec):
            ahead, waves = float(stands.ahead.max()), self._total / self._launch.resident
            found = StreamingLaunchError(self._loop, self._work, ahead, self._total, self._wavefronts, waves)
            if found.fits:
                raise found

    def _moved(self, begun: WavefrontPositions, stands: WavefrontPositions) -> tuple[np.ndarray, np.ndarray]:
        """Return how many iterations the place of each wavefront has moved on in the mean over all compute units, and
        how many more each wavefront's workgroup has.
        """
        moved = stands.done - begun.done

        def mean(of: np.ndarray) -> np.ndarray:
            groups, which = np.unique(of, return_inverse=True)
            return np.asarray((np.bincount(which, moved, len(groups)) / np.bincount(which))[which])

        means = np.maximum(mean(stands.places), 1e-9)
        return means, mean(stands.workgroups) - means

    # -- what is known at the end

    def finish(self, facts: RunFacts) -> None:
        """Add estimates for what was passed over to the facts of a launch that has ended; say how it was sampled."""
        confidence = self._spec.confidence
        simulated = int(facts.kernel.wavefront_instructions)
        waves = self._total / self._launch.resident
        if not self._phases and not self._skipped:
            why = "its workgroups were in their loops together for too short a time"
            facts.sampling = Sampling(confidence, WHOLE, why, waves, simulated, simulated)
            return
        columns, size = self._columns, len(self._vector.timed)
        added, doubts = self._repeated[:size].copy(), list[Replicates]()
        for kind in dict.fromkeys(phase.kind for phase in self._phases):
            phases = [phase for phase in self._phases if phase.kind == kind]
            skipped = plain_sum(phase.skipped * phase.times for phase in phases)
            passed = [(phase.passed + phase.skipped[columns.work]) * phase.times for phase in phases]
            weights = np.array([n * w for phase, n in zip(phases, passed, strict=True) for w in phase.weights()])
            intervals, whole = np.array([interval for phase in phases for interval in phase.counted]), plain_sum(passed)
            strata = _strata([len(phase.counted) for phase in phases])
            works = np.bincount(strata, weights * intervals[..., columns.work].sum(axis=1)) / np.bincount(
                strata, weights
            )
            intervals = (
                intervals * (works.mean() / works)[strata][:, np.newaxis, np.newaxis]
            )  # each phase has its own pace
            found = ratios(intervals, weights / whole, _LATER_WAVES, columns, self._spec, strata=strata)
            added += (found.values * whole - skipped)[:size]
            doubts.append(Replicates(found.chance.factor, found.chance.deviations[:, :size] * whole))
        own = self._spec.within_bias * added * self._vector.timed
        doubts.append(Replicates(quantile(confidence, MANY_DEGREES) ** 2, own[np.newaxis], WITHIN))
        if self._at_first_skip is not None:
            later = (self._vector.values(facts.sections) - self._at_first_skip[:size]) * self._vector.timed
            factor = quantile(confidence, MANY_DEGREES) ** 2
            doubts.append(Replicates(factor, self._spec.change_bias * later[np.newaxis]))
        wavefronts = self._skipped * self._wavefronts
        exact = {"workgroups": self._skipped, "wavefronts_ended": wavefronts, "wavefronts": wavefronts}
        complete(facts, self._vector, added, doubts, exact)
        facts.sampling = Sampling(
            confidence=confidence,
            method=ITERATIONS,
            reason=self._reason(),
            rounds=waves,
            instructions=int(facts.kernel.wavefront_instructions),
            simulated=simulated,
            complete=False,
            doubts=tuple(UncertaintyComponent(self._vector, doubt) for doubt in doubts),
        )

    def _reason(self) -> str:
        """Say in short how the launch was sampled."""
        intervals, skips = plain_sum(len(one.intervals) for one in self._phases), len(self._phases)
        looks = f"{intervals} intervals, {skips} skip{'s' * (skips != 1)}"
        said = f"within workgroups: {looks} in a loop of {self._loop.iterations}"
        waves = round(self._skipped / self._launch.resident)
        return f"{said} iterations" + (f"; {waves} wave{'s' * (waves > 1)} passed over" if waves else "")


def finds_nothing(facts: RunFacts, spec: SamplingSpec) -> bool:
    """Tell whether L2 answers so few of a launch's loads that what they cost lies within what is doubted."""
    return bool(facts.l2.read_hits + facts.l2.mshr_merges <= spec.within_bias * facts.l2.read_transactions)


def _strata(intervals: Sequence[int]) -> np.ndarray:
    """Return the number of the phase of each interval; intervals: how many each phase has."""
    return np.repeat(np.arange(len(intervals)), intervals)


def _kind(stands: WavefrontPositions) -> tuple[int, ...]:
    """Return what phases that may be compared have in common: how many wavefronts there are, and which places."""
    return len(stands.slots), *np.unique(stands.places).tolist()
