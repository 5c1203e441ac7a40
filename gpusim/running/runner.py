"""The path of every run: a job's variants are prepared, put through the command queue, recorded and verified."""

import time
from dataclasses import replace

from gpusim.base.follow import overall
from gpusim.base.host_memory import peak_memory_mb
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.core.recording import Watcher
from gpusim.energy.model import EnergyModel
from gpusim.results.record import RunRecord, VerificationFacts
from gpusim.running.job import Context, Job, Task, Variant

CYCLE_LIMIT = "cycle limit"  # beside the reasons of gpusim.base.interrupt


def run(job: Job, reporter: Reporter, interrupt: Interrupt, timeline: Watcher | None = None) -> list[RunRecord]:
    """Run the job's variants in order and return one record of each.

    timeline: what happens in the launches is drawn into it. After an interrupt, and where a launch reached its limit of
    cycles, the list holds what is known by then, and its last record is marked partial.
    """
    records: list[RunRecord] = []
    several = len(job.variants) > 1  # of one alone its steps are told, if it has any
    for number, variant in enumerate(job.variants):
        if several:
            overall(number, len(job.variants), "variants", variant.label)
        record = RunRecord(variant.uses_engine, variant.label, [], variant=variant.name)
        records.append(record)
        try:
            _run_variant(job, variant, record, reporter, interrupt, timeline)
        except KeyboardInterrupt:
            record.partial = True
        record.peak_memory_mb = peak_memory_mb()
        if record.partial:
            record.stopped_by = record.stopped_by or interrupt.reason or CYCLE_LIMIT
            break
        if several:
            overall(number + 1, len(job.variants), "variants", variant.label)
    return records


def _run_variant(
    job: Job,
    variant: Variant,
    record: RunRecord,
    reporter: Reporter,
    interrupt: Interrupt,
    timeline: Watcher | None,
) -> None:
    engine_spec = job.engine_spec if variant.uses_engine else None
    context = Context(job.gpu, reporter, interrupt, job.options.launches, engine_spec, job.options.timing, timeline)
    start = time.perf_counter()
    if variant.decide is not None:
        try:
            variant, record.choice = variant.decide(reporter, context.stopped)
        finally:
            interrupt.deferred = False
        record.kernel, record.uses_engine = variant.label, variant.uses_engine
        context = replace(context, engine_spec=job.engine_spec if variant.uses_engine else None)
    if variant.label:
        reporter.say(f"{variant.label}: preparing {job.title}")
    task = variant.prepare()
    record.setup_s = time.perf_counter() - start

    if job.energy_spec.enabled and job.options.timing:
        record.energy = EnergyModel.of(job.energy_spec, job.gpu, context.engine_spec)
    try:
        task.run(context, record)
    finally:
        interrupt.deferred = False
        for name, value in task.counts().items():
            setattr(record, name, value)
    if job.options.verify and record.incomplete_results:
        reporter.say(f"{variant.label}: not verified: sampled; --functional executes the skipped workgroups too")
    elif job.options.verify and not record.partial:
        start = time.perf_counter()
        record.verification = _verified(task, variant.label, reporter)
        record.verify_s = time.perf_counter() - start
    task.finish()


def _verified(task: Task, label: str, reporter: Reporter) -> VerificationFacts | None:
    found = task.verify()
    if found is None:
        return None
    for mismatch in found.mismatches:
        reporter.say(f"{label}: {mismatch}")
    return VerificationFacts(found.passed, found.max_error, found.bound)
