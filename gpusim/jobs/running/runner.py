"""The path of every run: a job's variants are prepared, put through the command queue, recorded and verified."""

import time
from dataclasses import replace

from gpusim.base.errors import UserError
from gpusim.base.follow import overall
from gpusim.base.host_memory import peak_memory_mb
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter, reporting
from gpusim.jobs.running.job import Context, Job, Task, Variant
from gpusim.model.core.recording import Watcher
from gpusim.model.energy.model import EnergyModel
from gpusim.results.records.record import RunRecord, VerificationFacts

CYCLE_LIMIT = "cycle limit"  # beside the reasons of gpusim.base.interrupt


def run(job: Job, reporter: Reporter, interrupt: Interrupt, timeline: Watcher | None = None) -> list[RunRecord]:
    """Run the job's variants in order.

    Args:
        job: the job.
        reporter: notified of progress.
        interrupt: whether the run was interrupted.
        timeline: what happens in the launches is drawn into it.

    Returns:
        One record of each variant. After an interrupt, and where a launch reached its limit of cycles, the list holds
            what is known by then, and its last record is marked partial.
    """
    records: list[RunRecord] = []
    several = len(job.variants) > 1  # of one alone its steps are told, if it has any
    for number, variant in enumerate(job.variants):
        if several:
            overall(number, len(job.variants), "variants", variant.label)
        with reporting(reporter):
            record = _drawn(job, variant, reporter, interrupt, timeline)
        records.append(record)
        record.peak_memory_mb = peak_memory_mb()
        if record.partial:
            record.stopped_by = record.stopped_by or interrupt.reason or CYCLE_LIMIT
            break
        if several:
            overall(number + 1, len(job.variants), "variants", variant.label)
    return records


def _drawn(job: Job, variant: Variant, reporter: Reporter, interrupt: Interrupt, timeline: Watcher | None) -> RunRecord:
    """Run a variant, several times if so many draws are asked for; the record of an ended one is partial.

    Of several, those that were whole count where two or more were, else what there is of the first.
    """
    draws, records = job.options.draws, list[RunRecord]()
    if draws > 1 and timeline is not None:
        raise UserError(f"timeline: shows one run, and {draws} draws are {draws} runs: run.perturbation names one")
    for draw in range(draws):
        if draws > 1:
            reporter.say(f"draw {draw + 1} of {draws}")
        record = RunRecord(variant.uses_engine, variant.label, [], variant=variant.name)
        records.append(record)
        try:
            _run_variant(job, variant, record, reporter, interrupt, timeline, draw)
        except KeyboardInterrupt:
            record.partial = True
        if record.partial:
            break
    whole = [drawn for drawn in records if not drawn.partial]
    if len(whole) < 2:
        records[0].partial, records[0].stopped_by = records[-1].partial, records[-1].stopped_by
        return records[0]
    from gpusim.jobs.running.draws import merged  # where it is asked for

    record = merged(whole)
    record.partial, record.stopped_by = len(whole) < draws, records[-1].stopped_by
    return record


def _run_variant(
    job: Job,
    variant: Variant,
    record: RunRecord,
    reporter: Reporter,
    interrupt: Interrupt,
    timeline: Watcher | None,
    draw: int,
) -> None:
    engine_spec = job.engine_spec if variant.uses_engine else None
    launches = replace(job.options.launches, perturbation=job.options.launches.perturbation + draw)
    context = Context(
        gpu=job.gpu,
        reporter=reporter,
        interrupt=interrupt,
        launches=launches,
        engine_spec=engine_spec,
        timing=job.options.timing,
        timeline=timeline,
    )
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
