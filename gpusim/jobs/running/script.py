"""Running a job for a script: its result as an object."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.jobs.api.sections import MetricResult
from gpusim.jobs.running import runner
from gpusim.jobs.running.job import Job
from gpusim.model.core.recording import Watcher
from gpusim.results.records.record import RunRecord
from gpusim.results.report.document import document
from isa.execution.resident import note_resident


class RunResult(MetricResult):
    """The result of a run: the object that `gpusim run --json` writes, with its sections as attributes and mappings.

    `result.dram.reads`, `result["dram"]["reads"]`, `dict(result.dram)`; of engine="both" `result.dense`,
    `result.sparse` and `result.normalized`. records: the counts themselves, one of each variant; to_dict: plain data.
    """

    def __init__(self, values: Mapping[str, Any], records: Sequence[RunRecord]) -> None:
        super().__init__(values)
        self.records = list(records)

    @property
    def passed(self) -> bool | None:
        """Whether every result was as expected; None where nothing was compared."""
        compared = [r.verification.passed for r in self.records if r.verification is not None]
        return all(compared) if compared else None


def ran(job: Job, reporter: Reporter, timeline: Watcher | None = None) -> tuple[dict[str, Any], list[RunRecord]]:
    """Run a job for a script.

    Args:
        job: the job.
        reporter: notified of progress.
        timeline: what happens in the launches is drawn into it.

    Returns:
        Its JSON object and its records.

    Raises:
        KeyboardInterrupt: the run was interrupted.
    """
    with Interrupt() as interrupt:
        records = runner.run(job, reporter, interrupt, timeline)
    if interrupt.asked:
        stopped = KeyboardInterrupt()
        note_resident(stopped, records[-1].total.resident)
        raise stopped
    return document(job.resolved(), records, [variant.name for variant in job.variants], job.about), records
