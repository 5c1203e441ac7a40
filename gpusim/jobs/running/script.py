"""Running a job for a script: its result as an object."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpusim.base.interrupt import Interrupt
from gpusim.base.picture import Picture
from gpusim.base.progress import Reporter
from gpusim.jobs.api.frames import metrics_frame, picture_of
from gpusim.jobs.api.sections import MetricGroup
from gpusim.jobs.running import runner
from gpusim.jobs.running.job import Job
from gpusim.model.core.recording import Watcher
from gpusim.results.records.record import RunRecord
from gpusim.results.report import terminal
from gpusim.results.report.document import document
from gpusim.results.report.page.parts import fragment
from isa.execution.resident import note_resident


class RunResult(MetricGroup):
    """The result of a run: the object that `gpusim run --json` writes, with its sections as attributes and mappings.

    `result.dram.reads`, `result["dram"]["reads"]`, `dict(result.dram)`; of engine="both" `result.dense`,
    `result.sparse` and `result.normalized`. records: the counts themselves, one of each variant; to_dict: plain data.
    """

    def __init__(self, values: Mapping[str, Any], records: Sequence[RunRecord]) -> None:
        super().__init__("", values)
        self.records = list(records)

    @property
    def passed(self) -> bool | None:
        """Whether every result was as expected; None where nothing was compared."""
        compared = [r.verification.passed for r in self.records if r.verification is not None]
        return all(compared) if compared else None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object as plain data."""
        return dict(self._values)

    def frame(self) -> Any:
        """Return a `pandas.DataFrame`: metrics by path, a column for each variant; raise UserError without pandas."""
        return metrics_frame(self.to_dict())

    def figure(self, name: str) -> Picture:
        """Return a picture of the report by its name, such as "stalls" or "roofline"; raise UserError for another."""
        return picture_of(self.to_dict(), name)

    def __repr__(self) -> str:
        return terminal.as_text(self._values)

    def _repr_html_(self) -> str:
        """Return the HTML that notebooks show."""
        return fragment(self._values)


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
