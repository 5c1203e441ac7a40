"""A network's iteration, run: values in order, times of what is new side by side in processes.

With real data every step is executed in order, so that each finds the values that the steps before left. A launch is
simulated with timing where none of its class was before: in a process that is forked before the step, or, with one job,
in this one. With synthetic data no step needs those before it: nothing but the launches that are simulated runs.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import floor, log2, sqrt

import numpy as np

from gpusim.base import progress
from gpusim.base.children import ProcessPool
from gpusim.base.follow import overall
from gpusim.base.formats import DIGITS_4, duration
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.jobs.host.command_processor import RunOptions
from gpusim.jobs.networks.contents import deciding
from gpusim.jobs.networks.kept import LaunchCache
from gpusim.jobs.networks.launches import (
    LaunchClass,
    PrecedingLaunch,
    class_after,
    class_of_values,
    classify_synthetic_launches,
    find_launches_in_l2,
    launch_class,
)
from gpusim.jobs.networks.pieces import OperatorLaunches, pieces
from gpusim.jobs.networks.sparse import check_operators, check_synthetic_maps
from gpusim.jobs.networks.steps import (
    CycleLimitError,
    LaunchStoppedError,
    LaunchTimingOptions,
    StepOutcome,
    ZeroFractions,
    new_processor,
    run_step,
    run_synthetic,
)
from gpusim.jobs.networks.storage import Storage
from gpusim.jobs.running.operators import gpu_facts
from gpusim.model.core.facts import RunFacts, combined
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.prepare import prepare_core
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.records.record import VerificationFacts
from isa.execution.executor import program_of
from spartan.engine_spec import EngineSpec
from workloads.networks.binding import explain_dense_step, explain_separate_launches
from workloads.networks.kind import IterationSettings, Pass
from workloads.networks.schedule import Step
from workloads.operators.operator import OperatorCost
from workloads.operators.primitive import TensorOperator

MOST_ERROR = 0.05  # relative, of a class of launches with a small share of the time, unless a larger one is asked for
RUNGS = 2  # errors of classes, for each halving: networks that ask for nearly the same error have estimates in common


@dataclass(frozen=True)
class ExecutionOptions:
    """Options for simulating one network iteration."""

    selected: frozenset[str] | None = None
    """Layers whose steps are reported; None: all."""
    real: bool = True
    """Use real data; otherwise generated data."""
    timing: bool = True
    """Simulate with the timing model; otherwise execute for the results only."""
    verified: bool = True
    """Compare results with NumPy."""
    launches: RunOptions = field(default_factory=RunOptions)
    """Options of the launches."""
    jobs: int = 1
    """Worker processes."""
    sparsity: Callable[[str], float | None] = lambda layer: None
    """Returns the share of zeros in a layer's generated input, where zeros are skipped."""
    sampling: SamplingSpec | None = None
    """Sampling of launches; None: simulated whole."""
    l1_bypass: Callable[[str, Pass], bool] = lambda layer, what: False
    """Tells whether the loads of a layer's pass bypass L1."""
    places: frozenset[tuple[str, Pass]] | None = None
    """(layer, pass) pairs that are reported; None: all."""

    def is_answered_by(self, facts: RunFacts) -> bool:
        """Tell whether an earlier run's facts have all that is asked: hot spots, a series, not too many cycles."""
        most, every = self.launches.max_cycles, self.launches.every
        if every and (facts.series is None or facts.series.every != every):
            return False
        return bool(facts.hotspots or not self.launches.hotspots) and (not most or facts.cycles < most)


@dataclass
class StepResult:
    """Results of a step."""

    step: Step
    """Step of the schedule."""
    operators: tuple[str, ...]
    """Names of its operators."""
    work: tuple[OperatorCost, ...]
    """Work of each operator."""
    classes: tuple[LaunchClass, ...]
    """Classes of its launches."""
    simulated: frozenset[int] = frozenset()
    """Numbers of the launches to simulate; after the iteration, of those simulated."""
    sampling: Mapping[int, SamplingSpec] = field(default_factory=dict)
    """Sampling of launches by number."""
    verification: VerificationFacts | None = None
    """Comparison with NumPy; None: not compared."""
    mismatches: tuple[str, ...] = ()
    """Messages about wrong results."""
    facts: RunFacts | None = None
    """Sum over all launches; None until all are known."""
    zeros_of: tuple[str, ...] = ()
    """Operands whose zeros are skipped."""
    zeros: ZeroFractions | None = None
    """Shares of zeros; None: no zeros are skipped."""
    why_dense: str = ""
    """Reason why zeros are not skipped although the layer could; empty otherwise."""
    why_apart: Mapping[str, str] = field(default_factory=dict)
    """Reason for each joined layer that needs its own launches."""
    before: Mapping[int, Sequence[PrecedingLaunch]] = field(default_factory=dict)
    """Preceding launches whose lines a launch may find in L2, by number, with warm caches."""

    @property
    def name(self) -> str:
        """Return the name of the step."""
        return self.step.name

    @property
    def instructions(self) -> float:
        """The estimated number of wavefront instructions that are simulated for the step, which decides the real time
        that takes.
        """
        return 1000 + self.of_launch * len(self.simulated)

    @property
    def needed_macs(self) -> int:
        """The multiply-accumulates that the kernels cannot leave out: of operands whose zeros are skipped those of
        non-zeros; 0 while these are unknown.
        """
        of_terms = 0.0 if self.zeros is None else 1.0 - self.zeros.of_terms
        return sum(one.needed_macs or round(one.macs * of_terms) for one in self.work)

    @property
    def of_launch(self) -> float:
        """The estimated number of wavefront instructions of one launch of the step."""
        return estimate_launch_instructions(self.work, len(self.classes))


def estimate_launch_instructions(work: Sequence[OperatorCost], launch_count: int) -> float:
    """Return the estimated number of wavefront instructions of one launch of a step.

    Args:
        work: of the step's operators.
        launch_count: of the step.

    Returns:
        The number.
    """
    whole = plain_sum(w.macs / 60 + w.operations / 40 + (w.read_bytes + w.stored_bytes) / 200 for w in work)
    return whole / max(launch_count, 1)


Prepared = tuple[tuple[TensorOperator, ...], StepResult]
Keep = Callable[[str, np.ndarray], None]


@dataclass
class Execution:
    """Execution of iterations in a network's memory."""

    storage: Storage
    """Device memory of the network."""
    gpu: GpuSpec
    """GPU."""
    how: ExecutionOptions
    """Options."""
    reporter: Reporter
    """Receives progress and messages."""
    interrupt: Interrupt
    """Tells whether the user has stopped the run."""
    kept: LaunchCache | None = None
    """Stored facts of earlier runs, to which this one adds; None: no store."""
    engine_spec: EngineSpec | None = None
    """Engine for launches with sparse regions; None: no engine."""
    of_class: dict[LaunchClass, RunFacts] = field(default_factory=dict)
    """Facts of launches by class."""
    partial: bool = False
    """An interrupt ended the run."""

    def run(self, iteration: IterationSettings, keep: Keep | None = None) -> list[StepResult]:
        """Run an iteration and return the results of its steps in order; those of unfinished steps have no facts.

        keep: called with each tensor that a step has written, with real data.
        """
        if self.how.timing:
            prepare_core()
        prepared = self._prepared(iteration)
        told = _StepReporter(self.reporter, [result for _, result in prepared if self._is_selected(result.step)])
        self.interrupt.deferred = True
        try:
            run = self._in_order if self.how.real else self._alone
            run(prepared, told, keep)
        except (LaunchStoppedError, CycleLimitError, KeyboardInterrupt):
            self.partial = True
        finally:
            self.interrupt.deferred = False
        results = [result for _, result in prepared if self._is_selected(result.step)]
        for result in results:
            if self.how.timing and all(one in self.of_class for one in result.classes):
                result.facts = combined([self.of_class[one] for one in result.classes])
            result.simulated = frozenset(n for n in result.simulated if result.classes[n] in self.of_class)
        return results

    def _prepared(self, iteration: IterationSettings) -> list[Prepared]:
        """Return the operators of the steps that are needed, each with an empty result.

        Steps after the last selected one are left out; with synthetic data all that are not selected.
        """
        steps = list(self.storage.plan.schedule.steps)
        last = max((n for n, step in enumerate(steps) if self._is_selected(step)), default=-1)
        prepared: list[Prepared] = []
        chain: list[PrecedingLaunch] = []
        for step in steps[: last + 1]:
            if not (self.how.real or self._is_warm or self._is_selected(step)):
                continue
            operators = self.storage.operators(step, gpu_facts(self.gpu), iteration)
            where = f"{self.storage.plan.schedule.network.source}: layer '{step.layer}' ({step.what})"
            check_operators(operators, self.engine_spec, where)
            if not self.how.real:
                check_synthetic_maps(operators, self.how.sparsity(step.layer), step.layer, where)
            classes = self._classes(step, operators, iteration)
            before: dict[int, Sequence[PrecedingLaunch]] = {}
            if self._is_warm:
                classes, before = self._distinguish(operators, classes, chain)
            names, work = tuple(o.name for o in operators), tuple(o.primitive.work for o in operators)
            schedule = self.storage.plan.schedule
            dense, apart = (
                explain_dense_step(schedule, step, iteration),
                explain_separate_launches(schedule, step, iteration),
            )
            skipped = tuple(name for o in operators for name in o.primitive.skips_zeros_of)
            result = StepResult(
                step, names, work, classes, zeros_of=skipped, why_dense=dense, why_apart=apart, before=before
            )
            if self.how.real or self._is_selected(step):
                prepared.append((operators, result))
        if self.how.timing:
            in_order = self.how.real and self._is_warm  # launches that are not asked for leave their lines in L2 too
            self._decide([one for one in prepared if in_order or self._is_selected(one[1].step)])
        return prepared

    @property
    def _is_warm(self) -> bool:
        """Tell whether launches find in L2 what earlier launches left there."""
        return self.how.timing and self.gpu.caches == "warm"

    def _distinguish(
        self, operators: Sequence[TensorOperator], classes: Sequence[LaunchClass], chain: list[PrecedingLaunch]
    ) -> tuple[tuple[LaunchClass, ...], dict[int, Sequence[PrecedingLaunch]]]:
        """Distinguish launches of one class by what they find in L2, and add them to the chain of all launches.

        With real data each launch is simulated after all earlier ones, and none stands for another one.
        """
        distinguished: list[LaunchClass] = []
        before: dict[int, Sequence[PrecedingLaunch]] = {}
        for operator in operators:
            work = operator.primitive.work
            moved_bytes = (work.read_bytes + work.stored_bytes) / max(len(operator.launches), 1)
            for number in range(len(operator.launches)):
                shared_class = classes[len(distinguished)]
                if self.how.real:
                    distinguished.append(shared_class._replace(after=len(chain), transferable=False))
                else:
                    recent = find_launches_in_l2(chain, self.gpu.l2.size_kib << 10)
                    before[len(distinguished)] = recent
                    this = PrecedingLaunch(operator, number, shared_class, moved_bytes)
                    distinguished.append(class_after(recent, this, self.how.launches.perturbation))
                chain.append(PrecedingLaunch(operator, number, shared_class, moved_bytes))
        return tuple(distinguished), before

    def _decide(self, prepared: Sequence[Prepared]) -> None:
        """Decide which launches are simulated, each class once, and how precisely."""
        shares = [(class_key, result.of_launch) for _, result in prepared for class_key in result.classes]
        specs = sampling_of_classes(shares, self.how.sampling, functional=self.how.real and self._is_warm)
        seen: set[LaunchClass] = set()
        for _, result in prepared:
            result.sampling = {n: specs[class_key] for n, class_key in enumerate(result.classes) if class_key in specs}
            result.classes = tuple(class_key.sampled(specs.get(class_key)) for class_key in result.classes)
            new = set()
            for number, class_key in enumerate(result.classes):
                if class_key not in seen and not self._is_known(class_key):
                    new.add(number)
                seen.add(class_key)
            result.simulated = frozenset(new)

    def _classes(
        self, step: Step, operators: tuple[TensorOperator, ...], iteration: IterationSettings
    ) -> tuple[LaunchClass, ...]:
        past, draw = self.how.l1_bypass(step.layer, step.what), self.how.launches.perturbation
        if not self.how.real:
            return tuple(classify_synthetic_launches(operators, str(self.how.sparsity(step.layer)), past, draw))
        classes = []
        # rounding in sparse layers changes the values of all later steps
        made_by = f"{step.name}{', after sparse layers' if iteration.sparse_convolution else ''}"
        for operator in operators:
            primitive = operator.primitive
            for number, launch in enumerate(operator.launches):  # each skips other images' zeros
                part = f", launch {number}" if primitive.skips_zeros_of else ""
                values = class_of_values(primitive, made_by + part)
                classes.append(launch_class(operator, launch, values, not deciding(primitive), past, draw=draw))
        return tuple(classes)

    def _is_known(self, class_key: LaunchClass) -> bool:
        """Tell whether a launch need not be simulated, because an earlier iteration or an earlier run did so."""
        if class_key not in self.of_class and self.kept is not None and class_key.transferable:
            facts = self.kept.get(class_key)
            if facts is not None and self.how.is_answered_by(facts):
                self.of_class[class_key] = facts if self.how.launches.every else replace(facts, series=None)
        return class_key in self.of_class

    def _is_selected(self, step: Step) -> bool:
        asked = self.how.places is None or (step.layer, step.what) in self.how.places
        layers = {step.layer, *step.joined}
        return asked and (self.how.selected is None or not layers.isdisjoint(self.how.selected))

    def _observe(self, _: object) -> bool:
        return not self.interrupt.asked

    def _timing(self, result: StepResult) -> LaunchTimingOptions:
        past = self.how.l1_bypass(result.step.layer, result.step.what)
        return LaunchTimingOptions(self.engine_spec, self.how.launches, result.sampling, past)

    def _in_order(self, prepared: list[Prepared], step_reporter: "_StepReporter", keep: Keep | None) -> None:
        alone = self.how.jobs == 1 or not self.how.timing or self._is_warm
        children = None if alone else ProcessPool(self.how.jobs)
        processor = new_processor(self.gpu, LaunchTimingOptions(self.engine_spec)) if self._is_warm else None
        try:
            for operators, result in prepared:
                selected = self._is_selected(result.step)
                compared = selected and self.how.verified
                forked = children is not None and bool(result.simulated)
                if children is not None and forked:
                    while children.full:
                        self._collect(children, step_reporter)
                    known = (operators, self.gpu, result.simulated, compared, lambda _: True, self._timing(result))
                    children.start(result, partial(run_step, *known))
                here = frozenset[int]() if forked else result.simulated
                timing = self._timing(result)
                outcome = run_step(operators, self.gpu, here, compared and not forked, self._observe, timing, processor)
                if selected and not forked:
                    self._take(result, outcome)
                    step_reporter.done(result)
                for name in result.step.writes.values() if keep is not None else ():
                    keep(name, self.storage.array(name))  # type: ignore[misc]
                if self.interrupt.asked:
                    raise LaunchStoppedError
            while children is not None and children.running:
                self._collect(children, step_reporter)
        finally:
            if children is not None:
                children.stop()

    def _alone(self, prepared: list[Prepared], step_reporter: "_StepReporter", keep: Keep | None) -> None:
        children = ProcessPool(self.how.jobs)
        # the longest first, so that none is left alone at the end
        ordered = sorted(prepared, key=lambda one: -one[1].instructions)
        waiting = deque(piece for operators, result in ordered for piece in pieces(operators, result))
        try:
            while waiting or children.running:
                put_off = 0  # pieces that another run over the same store is at
                while put_off < len(waiting) and not children.full:
                    piece = waiting.popleft()
                    if not self._hold(piece):
                        waiting.append(piece)
                        put_off += 1
                    elif self._is_found(piece):
                        self._finish(piece, step_reporter)
                    else:
                        self._begin(piece, children)
                self._collect(children, step_reporter)
        finally:
            children.stop()

    def _begin(self, piece: OperatorLaunches, children: ProcessPool) -> None:
        timing = replace(self._timing(piece.result), sampling=piece.sampling)
        sparsity = self.how.sparsity(piece.result.step.layer) or 0.0
        known = (piece.operator, self.gpu, piece.numbers, lambda _: True, timing, sparsity, piece.before)
        # what is the same for all launches of a kernel is found out here, and not by each process for itself
        for kernel in {piece.operator.launches[number].kernel for number in piece.numbers}:
            _ = program_of(kernel).instructions  # decoded once, for all that are forked
            if piece.sampling:
                from gpusim.model.sampling.sampler import analyse_kernel

                analyse_kernel(kernel)
        children.start(piece, partial(run_synthetic, *known))

    def _hold(self, piece: OperatorLaunches) -> bool:
        """Hold a piece's launches until it is finished; return False where another run is at one of them."""
        if self.kept is None or all(self.kept.hold(one) for one in piece.classes):
            return True
        self._release(piece)
        return False

    def _release(self, piece: OperatorLaunches) -> None:
        if self.kept is not None:
            for one in piece.classes:
                self.kept.release(one)

    def _is_found(self, piece: OperatorLaunches) -> bool:
        """Tell whether another run has kept a piece's launches since this one began; they are not simulated then."""
        result = piece.result
        if not all(self._is_known(result.classes[n]) for n in piece.of_step):
            return False
        result.simulated -= piece.of_step
        return True

    def _finish(self, piece: OperatorLaunches, step_reporter: "_StepReporter") -> None:
        """Let other runs have a piece, and count its step once nothing of it is left."""
        self._release(piece)
        if all(piece.result.classes[n] in self.of_class for n in piece.result.simulated):
            step_reporter.done(piece.result)

    def _collect(self, children: ProcessPool, step_reporter: "_StepReporter") -> None:
        """Wait a moment for a process that ends; raises LaunchStoppedError once the user has interrupted."""
        for key, outcome in children.finished():
            if isinstance(key, OperatorLaunches):
                self._take(key.result, key.in_step(outcome))
                self._finish(key, step_reporter)
            else:
                self._take(key, outcome)
                step_reporter.done(key)
        if self.interrupt.asked:
            raise LaunchStoppedError

    def _take(self, result: StepResult, outcome: StepOutcome) -> None:
        for number, facts in outcome.facts.items():
            one = result.classes[number]
            self.of_class[one] = facts
            if self.kept is not None and one.transferable:
                self.kept.put(one, facts)
        result.verification, result.mismatches = outcome.verification, tuple(outcome.mismatches)
        result.zeros = outcome.zeros or result.zeros
        for mismatch in outcome.mismatches:
            self.reporter.say(f"{result.step.name}: {mismatch}")


def sampling_of_classes(
    shares: Iterable[tuple[LaunchClass, float]], sampling: SamplingSpec | None, functional: bool = False
) -> Mapping[LaunchClass, SamplingSpec]:
    """Return how each class of launches is sampled; empty if they are simulated whole.

    Args:
        shares: each launch's class, with the time that it takes, in any unit.
        sampling: of all together; None: simulated whole.
        functional: execute skipped workgroups, as later launches need their results.

    Returns:
        Specifications by class.
    """
    if sampling is None:
        return {}
    shared = sampling.model_copy(update={"functional": functional, "within": sampling.goes_within})
    errors = allotted_errors(shares, sampling.error)
    return {one: shared.model_copy(update={"error": error}) for one, error in errors.items()}


def allotted_errors(shares: Iterable[tuple[LaunchClass, float]], wanted: float) -> Mapping[LaunchClass, float]:
    """Return the relative error to aim for in each class of launches, so that that of all together is at most the
    wanted one.

    Neyman's allocation for classes of equal relative spread, whose cost is proportional to their time: a class with a
    hundredth of the time may have ten times the relative error. Classes are independent; launches of one class share
    their error. Errors are rounded down to a ladder (`rung_below`).
    """
    time: dict[LaunchClass, float] = {}
    for one, share in shares:
        time[one] = time.get(one, 0.0) + share
    whole, most = plain_sum(time.values()), max(MOST_ERROR, wanted)
    return {
        one: rung_below(min(most, wanted * sqrt(whole / share)) if share else wanted) for one, share in time.items()
    }


def rung_below(error: float) -> float:
    """Return the largest error of the ladder that is at most the given one, but for the rounding to four digits."""
    number = floor(RUNGS * log2(error / MOST_ERROR) + 1e-3)
    return float(DIGITS_4(MOST_ERROR * 2 ** (number / RUNGS)))


class _StepReporter:
    """Reports of progress over steps, with the time left."""

    def __init__(self, reporter: Reporter, results: list[StepResult]) -> None:
        self._reporter, self._steps = reporter, len(results)
        self._left = plain_sum(result.instructions for result in results)
        self._start = self._said = time.monotonic()
        self._ended, self._done = 0, 0.0
        overall(0, self._steps, "steps", "")

    def done(self, result: StepResult) -> None:
        """Count a step as finished, and report the progress now and then."""
        self._ended += 1
        self._done += result.instructions
        self._left -= result.instructions
        overall(self._ended, self._steps, "steps", result.step.name)
        now = time.monotonic()
        if now - self._said < progress.PLAIN_INTERVAL_S:
            return
        self._said = now
        left = duration((now - self._start) * self._left / self._done)
        spent = duration(now - self._start)
        self._reporter.say(f"{self._ended}/{self._steps} steps, {spent}, {left} left: {result.step.name}")
