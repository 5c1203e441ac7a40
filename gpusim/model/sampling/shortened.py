"""Sampling of launches whose loads find nothing in L2: runs of the launch with shorter loops, and a line through them.

Where each line is loaded once, what a launch costs follows from the paths that its loads take, and these differ: the
oldest workgroups of a compute unit may take all that its path to memory gives, so that younger ones stand still for
most of the launch and there is no calm time (`gpusim.model.sampling.within`); or all loads of a workgroup go to one
channel, so that each has a pace of its own, which its place does not tell. Here no wavefront's pace is foretold. Every
wavefront passes over equally many iterations of its loop, so that the launch is a small likeness of itself, from the
first workgroup to the last one. Three such runs, each with twice the iterations of the one before, say what an
iteration costs: what lies between two of them, if both pairs agree.

Where L2 answers loads this is refused: shorter loops leave less time, and fewer other lines, between two loads of one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import log2

import numpy as np

from gpusim.base.student import MANY_DEGREES, quantile
from gpusim.base.sums import plain_sum
from gpusim.model.core.count_vector import CountVector
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.sampled import ITERATIONS, Replicates, Sampling, UncertaintyComponent
from gpusim.model.core.steering import SteeredLaunch, Steerer
from gpusim.model.sampling.completion import complete
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.model.sampling.within import (
    FIRST_STEP_CYCLES,
    MOST_OF_LOOP,
    SAME_WAVES,
    SHORTER_RUNS,
    WITHIN,
    LoopSteering,
    StreamingLaunchError,
    UnskippableLoopError,
    finds_nothing,
)

LOOK_ITERATIONS = 4.0  # of the fastest wavefront, between two looks


@dataclass(frozen=True)
class LoopShortener:
    """Has each wavefront of a launch execute only `kept` iterations of its loop
    (gpusim.model.core.steering.Steerer).
    """

    spec: SamplingSpec
    """Settings of sampling."""
    streaming: StreamingLaunchError
    """What says that the launch streams: its loop and its work."""
    kept: int
    """Iterations that are executed."""

    def attach(self, launch: SteeredLaunch) -> "ShortenedLoopSteering":
        """Begin to steer a launch."""
        return ShortenedLoopSteering(self, launch)


class ShortenedLoopSteering(LoopSteering):
    """Steers one launch: each wavefront, soon after it is in its loop, passes over what is too many of it."""

    def __init__(self, asked: LoopShortener, launch: SteeredLaunch) -> None:
        self._over = asked.streaming.loop.iterations - asked.kept
        super().__init__(asked.spec, launch, asked.streaming.loop, asked.streaming.work)

    def _steer(self) -> Iterator[int]:
        """Have those that are new in their loops pass over a part of it; yields the cycle of each look."""
        step, before, whose = FIRST_STEP_CYCLES, np.zeros(len(self._passed)), self._of.copy()
        while True:
            stands = self._standing()
            at = stands.slots
            executed = stands.done + stands.ahead
            new = at[(self._passed[at] == 0) & (executed >= 0) & (stands.left > self._over)]
            now = stands.done - self._passed[at]
            there = whose[at] == stands.workgroups
            moved = float((now - before[at])[there].max(initial=0))
            before[at], whose[at] = now, stands.workgroups
            step = max(FIRST_STEP_CYCLES, min(2 * step, int(step * LOOK_ITERATIONS / max(moved, 1e-9))))
            self._passage.wanted[new] = self._over
            self._passed[new] += self._over
            yield self._launch.now + step

    def finish(self, facts: RunFacts) -> None:
        """Leave the facts as they are: those of a launch with shorter loops."""


def shortened(run: Callable[[Steerer], RunFacts], spec: SamplingSpec, streaming: StreamingLaunchError) -> RunFacts:
    """Estimate a launch from runs with shorter loops; raises UnskippableLoopError.

    run: simulates the launch, steered, each time in the same state.
    """
    loop, total = streaming.loop, streaming.work.total
    if (streaming.work.each * streaming.workgroups != total).any():
        raise UnskippableLoopError("its loads find nothing in L2, but work differs between workgroups")
    of_iteration = loop.length * streaming.wavefronts * streaming.workgroups
    kept = streaming.kept
    runs: list[tuple[int, RunFacts]] = []
    while len(runs) < SHORTER_RUNS or _doubt(runs, loop.iterations, spec) > spec.error:
        if plain_sum(n for n, _ in runs) + kept > MOST_OF_LOOP * loop.iterations:
            if len(runs) >= SHORTER_RUNS and abs(_cost(runs[-2:]) / _cost(runs[-3:-1]) - 1) <= SAME_WAVES:
                break
            raise UnskippableLoopError("its loads find nothing in L2, but runs with shorter loops do not lie on a line")
        facts = run(LoopShortener(spec, streaming, kept))
        if facts.partial:
            return facts
        if facts.kernel.wavefront_instructions != total - (loop.iterations - kept) * of_iteration:
            raise UnskippableLoopError("wavefronts were at the end of their loops before a look at them")
        if not finds_nothing(facts, spec):
            raise UnskippableLoopError("L2 answers its later loads")
        runs.append((kept, facts))
        kept *= 2
    return _extrapolated(runs, spec, streaming)


def _cost(pair: list[tuple[int, RunFacts]]) -> float:
    """Return the cycles of an iteration more in all wavefronts."""
    (fewer, shorter), (more, longer) = pair
    return (longer.cycles - shorter.cycles) / (more - fewer)


def _doubt(found: list[tuple[int, RunFacts]], iterations: int, spec: SamplingSpec) -> float:
    """Return the relative half-width of the cycles that follows from what the last two pairs of runs differ by."""
    kept, facts = found[-1]
    last, before = _cost(found[-2:]), _cost(found[-3:-1])
    left = iterations - kept
    z = quantile(spec.confidence, MANY_DEGREES)
    return z * abs(last - before) * left * log2(iterations / kept) / (facts.cycles + last * left)


def _extrapolated(runs: list[tuple[int, RunFacts]], spec: SamplingSpec, streaming: StreamingLaunchError) -> RunFacts:
    """Complete the facts of the longest run by the iterations that are left.

    What they cost is doubted by as much as it changed from the pair of runs before to the last one, for each time that
    the loop is still to be doubled.
    """
    loop, (kept, facts) = streaming.loop, runs[-1]
    vector = CountVector.of(facts.sections)
    numbers = [n for n, _ in runs[-SHORTER_RUNS:]]
    counts = [vector.values(run_facts.sections) for _, run_facts in runs[-SHORTER_RUNS:]]
    before, last = np.diff(counts, axis=0) / np.diff(numbers)[:, np.newaxis]
    left = loop.iterations - kept
    added, changes = last * left, (last - before) * left * log2(loop.iterations / kept)
    z2 = quantile(spec.confidence, MANY_DEGREES) ** 2
    doubts = [
        Replicates(z2, changes[np.newaxis]),
        Replicates(z2, (spec.within_bias * added * vector.timed)[np.newaxis], WITHIN),
    ]
    simulated = int(plain_sum(run_facts.kernel.wavefront_instructions for _, run_facts in runs))
    for name in ("wall_s", "cpu_s"):
        facts.sections["simulator"][name] = plain_sum(run_facts.sections["simulator"][name] for _, run_facts in runs)
    complete(facts, vector, added, doubts, {})
    shares = ", ".join(str(n) for n, _ in runs[:-1])
    facts.sampling = Sampling(
        confidence=spec.confidence,
        method=ITERATIONS,
        reason=f"within workgroups: runs with {shares} and {kept} of {loop.iterations} iterations",
        rounds=streaming.waves,
        instructions=int(facts.kernel.wavefront_instructions),
        simulated=simulated,
        complete=False,
        doubts=tuple(UncertaintyComponent(vector, doubt) for doubt in doubts),
    )
    return facts
