"""A network's iteration, run: values in order, times of what is new side by side in processes.

With real data every step is executed in order, so that each finds the values that the steps before left. A launch is
simulated with timing where none of its class was before: in a process that is forked before the step, or, with one job,
in this one. With synthetic data no step needs those before it: nothing but the launches that are simulated runs.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter, clock
from gpusim.core.facts import RunFacts, combined
from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.prepare import prepare_core
from gpusim.host.command_processor import RunOptions
from gpusim.jobs.operators import gpu_facts
from gpusim.networks.binding import Iteration
from gpusim.networks.children import Children
from gpusim.networks.kept import Kept
from gpusim.networks.launches import LaunchClass, class_of_values, deciding, launch_class
from gpusim.networks.steps import Outcome, Stopped, run_step, run_synthetic
from gpusim.networks.storage import Storage
from gpusim.results.record import VerificationFacts
from gpusim.sampling.spec import SamplingSpec
from workloads.networks.schedule import Step
from workloads.operators.operator import Work
from workloads.operators.primitive import TensorOperator

SAY_EVERY_S = 5.0


@dataclass(frozen=True)
class How:
    """How an iteration is run.

    selected: layers whose steps are reported; None: all; real: with real data, otherwise synthetic; timing: False
    executes for the results alone; verified: compare with NumPy; jobs: processes; sampling: how much of each launch is
    simulated, None: all.
    """

    selected: frozenset[str] | None = None
    real: bool = True
    timing: bool = True
    verified: bool = True
    jobs: int = 1
    sampling: SamplingSpec | None = None

    @property
    def launched(self) -> RunOptions:
        """How launches are run: over real values, what is not simulated of them is executed for those that follow."""
        sampling = self.sampling
        return RunOptions(sampling=sampling and sampling.model_copy(update={"functional": self.real}))


@dataclass
class StepResult:
    """What is known of a step.

    operators: their names; classes: of its launches; simulated: the numbers of those that are simulated for it; facts:
    of all its launches as one, None until all are known.
    """

    step: Step
    operators: tuple[str, ...]
    work: tuple[Work, ...]
    classes: tuple[LaunchClass, ...]
    simulated: frozenset[int]
    verification: VerificationFacts | None = None
    mismatches: tuple[str, ...] = ()
    facts: RunFacts | None = None

    @property
    def name(self) -> str:
        """The step's."""
        return self.step.name

    @property
    def instructions(self) -> float:
        """Wavefront instructions that are simulated for it, roughly: what its time follows."""
        whole = sum(w.macs / 60 + w.operations / 40 + (w.read_bytes + w.stored_bytes) / 200 for w in self.work)
        return 1000 + whole * len(self.simulated) / max(len(self.classes), 1)


Prepared = tuple[tuple[TensorOperator, ...], StepResult]
Keep = Callable[[str, np.ndarray], None]


@dataclass
class Execution:
    """Iterations over a network's memory.

    kept: what earlier runs found, and where this one adds to it; of_class: what is known of launches; partial: an
    interrupt ended it.
    """

    storage: Storage
    gpu: GpuSpec
    how: How
    reporter: Reporter
    interrupt: Interrupt
    kept: Kept | None = None
    of_class: dict[LaunchClass, RunFacts] = field(default_factory=dict)
    partial: bool = False

    def run(self, iteration: Iteration, keep: Keep | None = None) -> list[StepResult]:
        """Run an iteration; the results of its steps in order, those of unfinished steps without facts.

        keep: is shown each tensor that a step has written, with real data.
        """
        if self.how.timing:
            prepare_core()
        prepared = self._prepared(iteration)
        told = _Told(self.reporter, [result for _, result in prepared if self._is_selected(result.step)])
        self.interrupt.deferred = True
        try:
            run = self._in_order if self.how.real else self._alone
            run(prepared, told, keep)
        except (Stopped, KeyboardInterrupt):
            self.partial = True
        finally:
            self.interrupt.deferred = False
        results = [result for _, result in prepared if self._is_selected(result.step)]
        for result in results:
            if self.how.timing and all(one in self.of_class for one in result.classes):
                result.facts = combined([self.of_class[one] for one in result.classes])
        return results

    def _prepared(self, iteration: Iteration) -> list[Prepared]:
        """Operators of the steps that are needed, with results of which nothing is known yet.

        Steps after the last selected one are left out; with synthetic data all that are not selected.
        """
        steps = list(self.storage.plan.schedule.steps)
        last = max((n for n, step in enumerate(steps) if self._is_selected(step)), default=-1)
        seen: set[LaunchClass] = set()
        prepared: list[Prepared] = []
        for step in steps[: last + 1]:
            if not (self.how.real or self._is_selected(step)):
                continue
            operators = self.storage.operators(step, gpu_facts(self.gpu), iteration)
            classes = self._classes(step, operators)
            new = set()
            for number, one in enumerate(classes):
                if self.how.timing and self._is_selected(step) and one not in seen:
                    seen.add(one)
                    if not self._is_known(one):
                        new.add(number)
            names, work = tuple(o.name for o in operators), tuple(o.work for o in operators)
            prepared.append((operators, StepResult(step, names, work, classes, frozenset(new))))
        return prepared

    def _classes(self, step: Step, operators: tuple[TensorOperator, ...]) -> tuple[LaunchClass, ...]:
        found = []
        for operator in operators:
            values = class_of_values(operator.primitive, step.name if self.how.real else "made up")
            transferable = not (self.how.real and deciding(operator.primitive))
            found += [launch_class(launch, values, transferable) for launch in operator.launches]
        return tuple(found)

    def _is_known(self, one: LaunchClass) -> bool:
        """Whether nothing has to be simulated for a launch: an earlier iteration or an earlier run did."""
        if one not in self.of_class and self.kept is not None and one.transferable:
            facts = self.kept.get(one)
            if facts is not None:
                self.of_class[one] = facts
        return one in self.of_class

    def _is_selected(self, step: Step) -> bool:
        return self.how.selected is None or step.layer in self.how.selected

    def _observe(self, _: object) -> bool:
        return not self.interrupt.asked

    def _in_order(self, prepared: list[Prepared], told: "_Told", keep: Keep | None) -> None:
        children = Children(self.how.jobs) if self.how.jobs > 1 and self.how.timing else None
        try:
            for operators, result in prepared:
                selected = self._is_selected(result.step)
                compared = selected and self.how.verified
                forked = children is not None and bool(result.simulated)
                if children is not None and forked:
                    while children.full:
                        self._collect(children, told)
                    work = partial(
                        run_step, operators, self.gpu, result.simulated, compared, lambda _: True, self.how.launched
                    )
                    children.start(result, work)
                here = frozenset[int]() if forked else result.simulated
                outcome = run_step(operators, self.gpu, here, compared and not forked, self._observe, self.how.launched)
                if selected and not forked:
                    self._take(result, outcome, told)
                for name in result.step.writes.values() if keep is not None else ():
                    keep(name, self.storage.array(name))  # type: ignore[misc]
                if self.interrupt.asked:
                    raise Stopped
            while children is not None and children.running:
                self._collect(children, told)
        finally:
            if children is not None:
                children.stop()

    def _alone(self, prepared: list[Prepared], told: "_Told", keep: Keep | None) -> None:
        children = Children(self.how.jobs)
        try:
            # the longest first, so that none is left alone at the end
            for operators, result in sorted(prepared, key=lambda one: -one[1].instructions):
                if not result.simulated:
                    continue
                while children.full:
                    self._collect(children, told)
                options = self.how.launched
                work = partial(run_synthetic, operators, self.gpu, result.simulated, lambda _: True, options)
                children.start(result, work)
            while children.running:
                self._collect(children, told)
        finally:
            children.stop()

    def _collect(self, children: Children, told: "_Told") -> None:
        """Wait a moment for a process that ends; raises Stopped once the user has interrupted."""
        for result, outcome in children.finished():
            self._take(result, outcome, told)
        if self.interrupt.asked:
            raise Stopped

    def _take(self, result: StepResult, outcome: Outcome, told: "_Told") -> None:
        for number, facts in outcome.facts.items():
            one = result.classes[number]
            self.of_class[one] = facts
            # what is kept is exact: it serves runs that ask for other bars, or for none
            if self.kept is not None and one.transferable and (facts.sampling is None or facts.sampling.fraction == 1):
                self.kept.put(one, facts)
        result.verification, result.mismatches = outcome.verification, tuple(outcome.mismatches)
        for mismatch in outcome.mismatches:
            self.reporter.say(f"{result.step.name}: {mismatch}")
        told.done(result)


class _Told:
    """Progress over steps, with the time left."""

    def __init__(self, reporter: Reporter, results: list[StepResult]) -> None:
        self._reporter, self._steps = reporter, len(results)
        self._left = sum(result.instructions for result in results)
        self._start = self._said = time.monotonic()
        self._ended, self._done = 0, 0.0

    def done(self, result: StepResult) -> None:
        """A step has ended."""
        self._ended += 1
        self._done += result.instructions
        self._left -= result.instructions
        now = time.monotonic()
        if now - self._said < SAY_EVERY_S:
            return
        self._said = now
        left = clock((now - self._start) * self._left / self._done)
        spent = clock(now - self._start)
        self._reporter.say(f"{self._ended}/{self._steps} steps, {spent}, {left} left: {result.step.name}")
