"""Sampling of one launch: when the machine is looked at, and when its dispatcher passes over workgroups.

The grid consists of strata of alike workgroups (`gpusim.model.sampling.work`). They are sampled together: intervals lie
all over the grid, and what they cost is moved to the work and addresses of what was skipped
(`gpusim.model.sampling.covariates`). A stratum that no interval speaks for is measured before it is skipped, or
simulated if it is too short for an interval. Where workgroups meet in few memory channels the grid is simulated up to
the last of them, and the strata after it are sampled one by one, each as a launch of its own.

After its first wave a launch is measured in intervals of a wave's time. Once it may have settled, the dispatcher skips
whole waves of workgroups between two intervals, so that intervals are spread over the grid; the machine does not
notice, since what follows are other workgroups of the same kernel. When the intervals say enough it skips to the grid's
end, where compute units run empty, and that is simulated. What was skipped cost an instruction what the intervals did
(`gpusim.model.sampling.estimate`).

Intervals and their windows are parts of the machine's time, not numbers of workgroups that ended: workgroups end in
bursts, and how much of the resident ones is done changes from wave to wave, while instructions are issued evenly.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from math import ceil

import numpy as np

from gpusim.base.formats import FIXED_0, FIXED_1, PERCENT_DIGITS_2, PERCENT_GENERAL
from gpusim.base.student import MANY_DEGREES, quantile
from gpusim.base.sums import plain_sum
from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.cu.state import NEVER
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.sampled import WHOLE, WINDOWS, Replicates, Sampling, UncertaintyComponent
from gpusim.model.core.steering import SteeredLaunch, Steerer
from gpusim.model.sampling.completion import complete
from gpusim.model.sampling.covariates import CovariateStrata, GridCovariates
from gpusim.model.sampling.decision import LEAST_ERROR, LEAST_SKIPPED, MOST_BEFORE_SKIP, MOST_MISSED
from gpusim.model.sampling.grid import RemainingGrid
from gpusim.model.sampling.independence import dependence
from gpusim.model.sampling.looks import Columns, read_counts
from gpusim.model.sampling.shortened import shortened
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.stratum import StratumMeasurement
from gpusim.model.sampling.survey import survey
from gpusim.model.sampling.within import MOST_WAVES, LoopSteering, StreamingLaunchError, UnskippableLoopError, inside
from gpusim.model.sampling.work import WorkgroupInstructions, WorkgroupStratum
from isa.execution.control_slice import ControlSliceError
from isa.execution.counting import slice_of
from isa.execution.faults import FAULT_PASSAGE, ExecutionFault
from isa.execution.passage import needed_of
from isa.object.code_object import Kernel

FIRST_STEP_CYCLES = 64
FIRST_STEPS = 64  # the first wave's end is seen within this part of it
GENERATIONS = 2  # of workgroups, after a skip: those before it, and those that find what they left in caches
WRITES_TO_COME = 0.1  # of DRAM's time, from which on they are waited for
_END = 0.05  # of a wave: standard uncertainty of when the last workgroups end, as they stand another way after a skip
_PARTIAL_END = 12**-0.5  # the same, where no whole waves were passed over: workgroups in step fill the last one or not
_CHANGE = 0.2  # of a wave: the same of where one stratum follows another
_MOST_OF_REST = 0.7  # of the workgroups left after a skip: dispatched in an interval
LEAST_INSTRUCTIONS = 5_000  # of a window: a look costs as much time
# What requests then wait for is the step in which workgroups come to ask: a skip leaves them and the engine's lanes in
# one that no whole run reaches, and they keep it.
_ONE_SEARCH = "the engine serves one search at a time: after a skip its workgroups ask in a step that no whole run has"
# A skip leaves workgroups in another step: of four generated launches the whole time was off by 4 to 10 %.
_CAMPED = "its workgroups meet in few memory channels, where their pace depends on the step that they are in"


class LaunchSampler:
    """Samples launches as a specification asks for (gpusim.model.core.steering.Steerer).

    Args:
        searches: Those that the engine which serves launches with sparse regions makes at a time, 0: there is no
            engine.
        not_within: Why iterations within workgroups cannot be passed over, if that is known already.
    """

    def __init__(self, spec: SamplingSpec, searches: int = 0, not_within: str = "") -> None:
        self._spec, self._searches, self._not_within = spec, searches, not_within

    def attach(self, launch: SteeredLaunch) -> "_LaunchSteering | LoopSteering":
        """Begin to sample a launch: within its workgroups if they are few and that may be, else by whole ones."""
        why = self._not_within
        if self._spec.goes_within and not why and launch.workgroups <= MOST_WAVES * launch.resident:
            try:
                return inside(self._spec, launch)
            except UnskippableLoopError as refused:
                why = str(refused)
        return _LaunchSteering(self._spec, launch, self._searches, why)


def sampled(run: Callable[[Steerer], RunFacts], spec: SamplingSpec, searches: int = 0) -> RunFacts:
    """Run a launch under a sampler, and again if it proves, while it runs, that a loop cannot be passed over.

    Args:
        run: simulates the launch, steered, each time in the same state.
        spec: how it is sampled.
        searches: as of `LaunchSampler`.

    Returns:
        The launch's facts, estimated; they say where the half-width of the cycles is wider than `spec` asks.

    Raises:
        ExecutionFault: the kernel is in error.
    """
    facts = _estimated(run, spec, searches)
    sampling = facts.sampling
    if sampling is not None and not facts.partial:
        width = sampling.half_width("kernel", "cycles") / max(facts.cycles, 1)
        if width > spec.error:
            said = f"not as narrow as asked: ± {PERCENT_DIGITS_2(width)} for {PERCENT_GENERAL(spec.error)}"
            facts.sampling = replace(sampling, reason=f"{sampling.reason}; {said}")
    return facts


def _estimated(run: Callable[[Steerer], RunFacts], spec: SamplingSpec, searches: int) -> RunFacts:
    try:
        try:
            return run(LaunchSampler(spec, searches))
        except StreamingLaunchError as streaming:
            return shortened(run, spec, streaming)
    except ExecutionFault as fault:
        if fault.code != FAULT_PASSAGE:
            raise
        why = "wavefronts go through its loop in different ways"
    except UnskippableLoopError as refused:
        why = str(refused)
    facts = run(LaunchSampler(spec, searches, why))
    if facts.sampling is not None:  # it found what the first run had already stored, so that results may be others
        facts.sampling = replace(facts.sampling, complete=False)
    return facts


def analyse_kernel(kernel: Kernel) -> None:
    """Find out what sampling asks of a kernel's code, for all launches of it in this process and those it forks."""
    for question in (slice_of, needed_of):
        with suppress(ControlSliceError):
            question(kernel)


class _LaunchSteering:
    """Steers one launch. limit: the cycle in which `look` is to be called."""

    def __init__(self, spec: SamplingSpec, launch: SteeredLaunch, searches: int, not_within: str) -> None:
        self._spec, self._launch, self._not_within = spec, launch, not_within
        self._resident = launch.resident
        self._total = launch.workgroups
        self._wavefronts = launch.wavefronts_per_workgroup
        width, *others = launch.context.launch.workgroups
        self._row = width if max(others) > 1 else 1
        self._vector = CountVector.of(launch.counts().sections)
        self._columns = Columns.of(self._vector)
        self._luck = np.random.default_rng(spec.seed)
        self._work: WorkgroupInstructions | None = None
        self._parts: CovariateStrata | None = None
        self._measurements: list[StratumMeasurement] = []
        self._at_first_skip: np.ndarray | None = None  # what was counted at the first skip
        self._changed: np.ndarray | None = None  # what was counted when work first changed after skips
        served = bool(launch.context.launch.regions)
        self.reason = dependence(launch.context.instructions, served) or (
            _ONE_SEARCH if served and searches == 1 else ""
        )
        self._course = iter(()) if self.reason else self._steer()
        self.limit = next(self._course, NEVER)

    def look(self) -> None:
        """Look at the machine, which has reached cycle `limit`, and set the next limit."""
        self.limit = next(self._course, NEVER)

    # -- how a launch is steered: each `yield` is a cycle in which to look again

    def _steer(self) -> Iterator[int]:
        """Sample each stratum of the grid; yields the cycle of each look."""
        if self._total * (1 - LEAST_SKIPPED) < self._resident + self._margin(WorkgroupStratum(0, self._total)):
            self.reason = f"too few workgroups: {self._total}, of which {self._resident} are resident at a time"
            return
        try:
            self._work = WorkgroupInstructions(self._launch.work())
        except (ControlSliceError, ExecutionFault) as why:
            self.reason = f"how much its workgroups have to do is not known before: {why}"
            return
        try:
            instructions = self._launch.context.instructions
            atomics = any("atomic" in each.opcode.flags and each.opcode.encoding != "ds" for each in instructions)
            seen = survey(self._total, self._launch.accesses, self._luck, atomics)
        except (ControlSliceError, ExecutionFault) as why:
            self.reason = f"what its addresses do is not known before: {why}"
            return
        if seen.refusal:
            self.reason = f"what its addresses do is not known before: {seen.refusal}"
            return
        strata = self._work.strata(self._resident, seen.cuts())
        self.reason = "the grid was nearly done before its intervals had settled or were enough"
        if len(strata) > 1:
            changes = len(strata) - 1
            self.reason = (
                f"not stationary: it changes {changes} time{'s' * (changes > 1)} along the grid, and no part"
                " without a change was long enough"
            )
        elif strata[0].longest_waves > 1:
            self.reason = (
                f"not stationary: its longest workgroups have {FIXED_1(strata[0].unevenness)} times the mean work"
            )
        camps, last = seen.end_of_camps(), [stratum for stratum in strata if seen.camps(stratum.start, stratum.end)]
        camped = max((stratum.end for stratum in strata if stratum in last or stratum.start < camps), default=0)
        if camped:
            self.reason = _CAMPED
        if len(strata) > 1 and not camped:
            cuts = [stratum.start for stratum in strata[1:]]
            covariates = GridCovariates.of(self._work, seen, cuts, self._resident)
            if covariates.count:
                self._parts = CovariateStrata(covariates, cuts, self._total)
                strata = [self._work.joined(strata)]
        for stratum in strata:
            if stratum.start >= camped and self._worth(stratum):
                yield from self._settled(stratum)
                yield from self._sampled(stratum)

    def _worth(self, stratum: WorkgroupStratum) -> bool:
        """Tell whether a stratum is long enough to be sampled, also in workgroups as long as its longest.

        What follows a change of work takes another time if workgroups were passed over before: where most of the launch
        does, they are not.
        """
        size = stratum.end - stratum.start
        end = 2 * stratum.end_doubt(size / self._resident) * stratum.share
        change = 2 * self._spec.change_bias * stratum.share_after
        most = max(self._spec.error, LEAST_ERROR / MOST_MISSED)
        return self._skippable(stratum) >= LEAST_SKIPPED * size and max(end, change) <= most

    def _settled(self, stratum: WorkgroupStratum) -> Iterator[int]:
        """Wait until a stratum fills the machine, and as long as its longest workgroup takes; yields each look."""
        launch = self._launch
        if stratum.start:
            yield from self._dispatched(stratum.start)
            yield from self._replaced(stratum, 1)
            # stores and atomics outlive the workgroups that issued them
            issued = launch.issued_lines
            yield from self._until(lambda _: launch.finished_lines >= issued or not self._skippable(stratum))
        done = launch.done + ceil(self._resident * stratum.longest_waves)
        yield from self._until(lambda _: launch.done >= done or not self._skippable(stratum))

    def _until(self, reached: Callable[[int], bool]) -> Iterator[int]:
        """Wait until a state is reached; yields each look. reached: is given the cycle in which waiting began."""
        since = self._launch.now
        while not reached(since):
            yield self._launch.now + max(FIRST_STEP_CYCLES, (self._launch.now - since) // FIRST_STEPS)

    def _dispatched(self, workgroup: int) -> Iterator[int]:
        """Wait until all workgroups before one have been dispatched; yields each look."""
        return self._until(lambda _: self._launch.position >= workgroup)

    def _sampled(self, stratum: WorkgroupStratum) -> Iterator[int]:
        """Take intervals and skips until enough is known, or the stratum ends; yields the cycle of each look."""
        columns, now = self._columns, self._look()
        assert self._work is not None
        length, waves = self._length(stratum), self._interval_waves(stratum)
        pace = now[columns.cycles] / max(now[columns.work], 1)
        interval_size = ceil(waves * self._resident)
        of_stratum = (stratum.end - stratum.start) / self._resident
        measurement = StratumMeasurement.of(stratum, self._spec, waves, of_stratum, length, interval_size)
        measurement.parts, place = self._parts, interval_size + GENERATIONS * self._resident
        self._measurements.append(measurement)
        ended = False
        filling = 0  # intervals, which say nothing of later ones
        while measurement.skips or self._skippable(stratum) >= LEAST_SKIPPED * (stratum.end - stratum.start):
            if self._parts:  # what a short part costs counts as it is
                begin = self._parts.next_interval(self._launch.position, place, measurement.seen)
                yield from self._dispatched(min(begin, stratum.end))
                now = self._look()
            looks, began = [now], self._launch.position
            size = waves * self._resident
            if measurement.passages and not measurement.counts[-1]:
                # cheap workgroups are dispatched faster than those that ran before
                passage = measurement.passages[-1]
                faster = min(passage[columns.cycles] / max(passage[columns.work] * pace, 1e-300), 1)
                size = min(size, _MOST_OF_REST * (stratum.end - began) * faster)
            yield from self._interval(looks, size * length * pace, stratum.end)
            if len(looks) <= self._spec.windows:
                return
            now, counted = looks[-1], looks[-1] - looks[0]
            if not measurement.intervals and filling < MOST_BEFORE_SKIP and self._filling(now, counted):
                filling += 1
                continue
            measurement.add(np.diff(looks, axis=0), began, self._launch.position)
            if ended:
                break
            pace = counted[columns.cycles] / max(counted[columns.work], 1)
            left = RemainingGrid(
                stratum.end - stratum.start,
                self._skippable(stratum),
                interval_size,
                self._resident,
                self._row,
                luck=float(self._luck.random()),
                settling=GENERATIONS * self._resident,
            )
            then = measurement.following(left, columns)
            size = then.skip
            if self._parts and size:
                size = self._parts.clip(self._launch.position, size, place, measurement.seen, measurement.skipped)
            if size >= min(then.skip, self._resident) > 0:
                self._fast_forward(measurement, size)
                before = self._look()
                yield from self._replaced(stratum, GENERATIONS)
                now = self._look()
                measurement.passages.append(now - before)
                measurement.passed.append(range(measurement.skips[-1].stop, self._launch.position))
                ended = then.enough and size == then.skip
            elif then.enough and not then.skip:
                break
            if not measurement.skips and len(measurement.intervals) >= MOST_BEFORE_SKIP:
                self.reason = f"after {MOST_BEFORE_SKIP} intervals it had not settled, or they differed too much"
                return
        if measurement.skips and self._changed is None and stratum.end < self._total and not stratum.alike:
            yield from self._dispatched(stratum.end)
            self._changed = self._look()

    def _replaced(self, stratum: WorkgroupStratum, generations: int) -> Iterator[int]:
        """Wait until the resident workgroups have ended, and those that were dispatched meanwhile; yields each look.

        What the machine does until then is their work, however cheap or costly the workgroups that are dispatched are:
        an interval would say of this place what is true of the one before. (They have ended on the machine, that is:
        execution runs ahead of timing.)

        Args:
            stratum: Where its last workgroup is dispatched, nothing is waited for any more.
            generations: How often that is waited for: workgroups that begin beside those of another place find their
                lines in caches, and are out of step.
        """
        launch = self._launch
        for _ in range(generations):
            yield from self._until(lambda begun: launch.oldest_start >= begun or launch.position >= stratum.end)

    def _interval(self, looks: list[np.ndarray], cycles: float, end: int) -> Iterator[int]:
        """Look at the end of each window of an interval of `cycles` cycles, or of fewer windows if all before `end`
        have been dispatched.
        """
        start = self._launch.now
        for k in range(1, self._spec.windows + 1):
            yield max(start + round(cycles * k / self._spec.windows), self._launch.now + 1)
            if self._launch.position >= end:
                return
            looks.append(self._look())

    # -- the machine

    def _look(self) -> np.ndarray:
        return read_counts(self._launch, self._vector)

    def _filling(self, now: np.ndarray, counted: np.ndarray) -> bool:
        """Tell whether an interval still filled L2 with what will have to be written back, so that DRAM is to have more
        work.

        Args:
            now: All that was counted.
            counted: Counts of the interval.
        """
        columns, at = self._columns, self._vector.at
        grown = counted[columns.dirty]
        done = max(self._launch.position, 1)
        to_come = grown / max(counted[columns.work], 1) * now[columns.work] / done * (self._total - done)
        moved = now[at("dram", "reads")] + now[at("dram", "writes")]
        busy = now[at("dram", "bus_busy_cycles")] / max(moved, 1) * grown
        fills = to_come > self._launch.l2_lines - now[columns.dirty]
        return bool(fills and busy > WRITES_TO_COME * counted[at("dram", "bus_available_cycles")])

    def _margin(self, stratum: WorkgroupStratum) -> int:
        """Return the workgroups at a stratum's end that are not passed over: those of an interval and around it."""
        settled = (GENERATIONS + self._spec.tail_rounds) * stratum.longest_waves
        return ceil((settled + self._interval_waves(stratum)) * self._resident)

    def _length(self, stratum: WorkgroupStratum) -> float:
        """Return the mean instructions of a stratum's workgroups."""
        if self._work is None:
            return 1.0
        return max(self._work.of(range(stratum.start, stratum.end)) / (stratum.end - stratum.start), 1.0)

    def _interval_waves(self, stratum: WorkgroupStratum) -> float:
        """Return the waves of an interval: more than one where windows would be short, or some workgroups are long."""
        least = 0.0 if self._work is None else self._spec.windows * LEAST_INSTRUCTIONS
        return max(1.0, least / (self._resident * self._length(stratum)), stratum.longest_waves / 2)

    def _skippable(self, stratum: WorkgroupStratum) -> int:
        return max(0, stratum.end - max(self._launch.position, stratum.start) - self._margin(stratum))

    def _fast_forward(self, measurement: StratumMeasurement, size: int) -> None:
        """Pass over the next `size` workgroups of the grid."""
        if self._at_first_skip is None:
            self._at_first_skip = self._look()
        passed = self._launch.skip(size)
        assert self._work is not None
        executed = self._launch.execute(passed) if self._spec.functional else 0
        measurement.add_fast_forward(passed, executed or self._work.of(passed))

    # -- what is known at the end

    def finish(self, facts: RunFacts) -> None:
        """Add estimates for what was skipped to the facts of a launch that has ended, and say how it was sampled."""
        simulated = int(facts.kernel.wavefront_instructions)
        waves = self._total / self._resident
        confidence = self._spec.confidence
        measurements = [each for each in self._measurements if each.skips]
        if not measurements:
            why = f"{self.reason}; nor within workgroups: {self._not_within}" if self._not_within else self.reason
            facts.sampling = Sampling(confidence, WHOLE, why, waves, simulated, simulated)
            return
        size = len(self._vector.timed)
        added, doubts = np.zeros(size), list[Replicates]()
        for since, bias in ((self._at_first_skip, self._spec.bias), (self._changed, self._spec.change_bias)):
            if since is not None:
                later = (self._vector.values(facts.sections) - since[:size]) * self._vector.timed
                doubts.append(Replicates(quantile(confidence, MANY_DEGREES) ** 2, bias * later[np.newaxis]))
        whole = (
            self._vector.values(facts.sections)
            * self._vector.timed
            * (self._total / (self._total - sum(each.skipped for each in measurements)))
        )
        partial = any(measurement.skipped % self._resident for measurement in measurements)
        for measurement in measurements:
            self._check_work(measurement, simulated)
            found = measurement.estimate(self._columns, self._wavefronts)
            added += found.added[:size]
            doubts += [Replicates(d.factor, d.deviations[:, :size].copy()) for d in found.doubts]
        changes = plain_sum((each.stratum.end < self._total) + each.changes(self._columns) for each in measurements)
        end = ((_PARTIAL_END if partial else _END) ** 2 + changes * _CHANGE**2) ** 0.5
        doubts.append(Replicates(quantile(confidence, MANY_DEGREES) ** 2, end / waves * whole[np.newaxis]))
        skipped = sum(each.skipped for each in measurements)
        exact = {
            "workgroups": skipped,
            "wavefronts_ended": skipped * self._wavefronts,
            "wavefronts": skipped * self._wavefronts,
        }
        complete(facts, self._vector, added, doubts, exact)
        facts.sampling = Sampling(
            confidence=confidence,
            method=WINDOWS,
            reason=_reason(measurements),
            rounds=waves,
            instructions=int(facts.kernel.wavefront_instructions),
            simulated=simulated,
            complete=self._spec.functional,
            places=sum(measurement.places for measurement in measurements),
            seen=1.0 - plain_sum(measurement.stratum.share for measurement in measurements if measurement.places < 2),
            doubts=tuple(UncertaintyComponent(self._vector, doubt) for doubt in doubts),
        )

    def _check_work(self, measurement: StratumMeasurement, simulated: int) -> None:
        """Forget what work was foretold where it was not that of what was simulated: it depends on the launch's own
        results.
        """
        assert self._work is not None
        if self._spec.functional:
            return
        foretold = self._work.total - sum(self._work.of(skip) for one in self._measurements for skip in one.skips)
        if foretold != simulated:
            measurement.work = 0


def _reason(measurements: Sequence[StratumMeasurement]) -> str:
    """Say in short how a launch was sampled."""
    intervals = [len(one.intervals) - one.left_out for one in measurements]
    skips = sum(len(one.skips) for one in measurements)
    first = measurements[0]
    waves = FIXED_0(1 + first.interval_waves * first.left_out)
    said = f"{sum(intervals)} interval{'s' * (sum(intervals) > 1)} after {waves} wave{'s' * (waves != '1')}"
    strata = f" in {len(measurements)} strata" if len(measurements) > 1 else ""
    return f"{said}{strata}, {skips} skip{'s' * (skips > 1)}"
