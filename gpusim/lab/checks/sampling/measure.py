"""Measuring the suite: each case simulated in whole and sampled, one beside the other, in processes side by side."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from gpusim.base.children import ProcessPool
from gpusim.base.formats import FIXED_0, PERCENT, PERCENT_2, PERCENT_CHANGE_2
from gpusim.base.plain_data import parse_as, read_json
from gpusim.base.progress import Reporter
from gpusim.lab.checks.sampling.case import SamplingCase, SamplingLaunch
from gpusim.lab.checks.sampling.cases import CASES
from gpusim.lab.versions.model import UNRECORDED, FigureVersion, present_version
from gpusim.lab.versions.recorded import encode_version, parse_models, parse_version
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.occupancy import residency
from gpusim.model.core.prepare import prepare_core
from gpusim.model.core.sampled import WHOLE
from gpusim.model.core.simulator import simulate
from gpusim.model.sampling.sampler import sampled
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results import metrics
from gpusim.results.store.work import sources_hash
from isa.execution.emulator import run_functional


@dataclass(frozen=True)
class SamplingCaseResult:
    """Comparison of a launch's sampled simulation with the whole one."""

    name: str
    """Name of the case."""
    kind: str
    """Class of launches that it represents."""
    what: str
    """Description."""
    rounds: float
    """Waves of workgroups."""
    cycles: int
    """Cycles of the whole launch."""
    error: float
    """Relative error of the sampled cycles."""
    half_width: float
    """Relative half-width of the sampled cycles."""
    covered: bool
    """The true cycles lie within the half-width."""
    metrics: int
    """Number of metrics with a half-width."""
    metrics_covered: int
    """Number of these metrics whose true value lies within the half-width."""
    fraction: float
    """Share of the instructions that was simulated."""
    whole_s: float
    """Processor seconds of the whole simulation."""
    sampled_s: float
    """Processor seconds of the sampled simulation."""
    method: str
    """Sampling method."""
    reason: str
    """Reason for a whole simulation, or the parts that were measured."""
    policy: str = ""
    """Hash of the sampling code."""
    asked: float = 0.01
    """Requested relative half-width of the cycles."""
    seed: int | None = None
    """Seed of a generated launch; None: it is one of the suite that is written down."""
    version: FigureVersion = UNRECORDED
    """What made it."""

    @property
    def is_sampled(self) -> bool:
        """Whether only a part was simulated."""
        return self.method != WHOLE

    @property
    def distance(self) -> float:
        """Error of the cycles in half-widths; 0 of a launch that was simulated whole."""
        return abs(self.error) / max(self.half_width, 1e-12) if self.is_sampled else 0.0

    def described(self) -> Mapping[str, Any]:
        """Return the outcome as plain data; its model is named."""
        return vars(self) | {"version": encode_version(self.version)}


def compare(case: SamplingCase, specs: Sequence[SamplingSpec]) -> list[SamplingCaseResult]:
    """Simulate a case in whole, and sampled in one way or several."""
    whole, whole_s = _simulated(case, None)
    return [_compared(case, spec, whole, whole_s) for spec in specs]


def _compared(case: SamplingCase, spec: SamplingSpec, whole: RunFacts, whole_s: float) -> SamplingCaseResult:
    sampled, sampled_s = _simulated(case, spec)
    assert sampled.sampling is not None
    truth, found = (dict(metrics.leaves(metrics.launch_tree(facts))) for facts in (whole, sampled))
    width = found[f"kernel.cycles{metrics.SUFFIX}"] if sampled.sampling.doubts else 0.0
    known = [path for path in truth if isinstance(found.get(path + metrics.SUFFIX), float) and truth[path] is not None]
    inside = [p for p in known if _within(truth[p], found[p], found[p + metrics.SUFFIX])]
    return SamplingCaseResult(
        name=case.name,
        kind=case.kind,
        what=case.what,
        rounds=sampled.sampling.rounds,
        cycles=whole.cycles,
        error=sampled.cycles / whole.cycles - 1,
        half_width=width / whole.cycles,
        covered=abs(sampled.cycles - whole.cycles) <= width,
        metrics=len(known),
        metrics_covered=len(inside),
        fraction=sampled.sampling.fraction,
        whole_s=whole_s,
        sampled_s=sampled_s,
        method=sampled.sampling.method,
        reason=sampled.sampling.reason,
        policy=policy(),
        asked=spec.error,
        seed=case.seed,
        version=present_version(engine=True, sampled=True, more=("suite", "objects", "configurations")),
    )


def policy() -> str:
    """Return a hash of the code that decides which part of a launch is simulated, and estimates the rest from it."""
    return sources_hash(("gpusim/model/sampling",))


@dataclass(frozen=True)
class _StoredVersions:
    """The versions of a document of `gpusim.lab.checks.sampling.views`, apart from what else its cases have."""

    cases: list[dict[str, Any]]
    models: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class _StoredOutcomes:
    """The part of such a document that is read again."""

    cases: list[SamplingCaseResult]


def read_outcomes(path: Path) -> list[SamplingCaseResult]:
    """Load the outcomes of a document that `gpusim.lab.checks.sampling.views` made; raises UserError."""
    hint = "this version's check-sampling --json writes it"
    stored = parse_as(_StoredVersions, read_json(path), str(path), hint)
    models = parse_models(stored.models, str(path))
    versions = [parse_version(case.pop("version", None), models, "", str(path)) for case in stored.cases]
    outcomes = parse_as(_StoredOutcomes, {"cases": stored.cases}, str(path), hint).cases
    return [replace(outcome, version=version) for outcome, version in zip(outcomes, versions, strict=True)]


def renewed(before: Sequence[SamplingCaseResult], measured: Sequence[SamplingCaseResult]) -> list[SamplingCaseResult]:
    """Return the suite's cases in its order, with the new measurements, or the earlier ones where there is no new one.

    Args:
        before: Earlier measurements.
        measured: New measurements.
    """
    found = {one.name: one for one in (*before, *measured)}
    return [found[name] for name in CASES if name in found]


def _within(truth: float, found: float, width: float) -> bool:
    """Tell whether a true value lies within the half-width, apart from an error by rounding to whole counts."""
    return abs(truth - found) <= width + max(1e-9 * abs(truth), 1.0 if isinstance(found, int) else 0.0)


def _simulated(case: SamplingCase, spec: SamplingSpec | None) -> tuple[RunFacts, float]:
    """Simulate a case from fresh memory; return its facts and the processor time of simulating it."""
    prepared: SamplingLaunch = case.make()
    for launch in prepared.before:
        run_functional(launch, residency=residency(launch, prepared.gpu))
    start = time.process_time()
    searches = 0 if prepared.engine is None else prepared.engine.shifters
    run = partial(simulate, prepared.launch, prepared.gpu, prepared.engine)
    facts = run() if spec is None else sampled(lambda steerer: run(steerer=steerer), spec, searches)
    return facts, time.process_time() - start


def measure(
    cases: Sequence[SamplingCase],
    specs: Sequence[SamplingSpec],
    jobs: int,
    reporter: Reporter,
    stopped: Callable[[], bool],
    record: Callable[[list[SamplingCaseResult]], None] = lambda results: None,
) -> list[SamplingCaseResult]:
    """Measure cases in processes side by side.

    Args:
        cases: The cases.
        specs: Ways of sampling; each case is simulated whole once for all of them.
        jobs: Number of processes.
        reporter: Where progress is reported.
        stopped: Ends the measurement by returning True.
        record: Called with the results of each case.

    Returns:
        The results of the cases that were measured, in their order.
    """
    prepare_core()
    children, outcomes = ProcessPool(jobs), dict[str, list[SamplingCaseResult]]()
    waiting = list(cases)
    try:
        while (waiting or children.running) and not stopped():
            while waiting and not children.full:
                case = waiting.pop(0)
                children.start(case, partial(compare, case, specs))
            for case, results in children.finished():
                outcomes[case.name] = results
                record(results)
                for result in results:
                    reporter.say(f"{len(outcomes)}/{len(cases)} {one_line(result)}")
    finally:
        children.stop()
    return [result for case in cases for result in outcomes.get(case.name, ())]


def one_line(outcome: SamplingCaseResult) -> str:
    """Return the outcome of a case as a line of text."""
    return (
        f"{outcome.name}: {PERCENT_CHANGE_2(outcome.error)} ± {PERCENT_2(outcome.half_width)},"
        f" {PERCENT(outcome.fraction)} of {FIXED_0(outcome.rounds)} rounds simulated"
        + ("" if outcome.covered else ", NOT within")
    )
