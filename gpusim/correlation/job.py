"""Points measured on a real card as a job: a row is a point, with its measured time next to the model's."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.progress import Reporter, clock
from gpusim.config.measured import MeasuredTable, Point
from gpusim.correlation.compare import Compared
from gpusim.correlation.fit import fit
from gpusim.correlation.predict import Conditions, Prediction, predicted, replaced
from gpusim.correlation.report import point_said, said
from gpusim.energy.spec import EnergySpec
from gpusim.results.record import PartLaunch, PartRecord, RunRecord
from gpusim.running.job import Context, FunctionTask, Job, JobOptions, Variant
from gpusim.store.work import Work


class MeasuredJob(Job):
    """A table of measured points (gpusim.running.job.Job), on the card's model at the clock that it was measured at.

    points: those that are run; files: the table's, the points' and the kernels'; paths: of the kernels' code objects;
    limit_gflop: larger products are run in part; fits: the table's parameters are searched; jobs: processes.
    """

    kind = "correlate"
    energy_spec = EnergySpec(enabled=False)
    options = JobOptions(verify=False)

    def __init__(
        self,
        table: MeasuredTable,
        points: Sequence[Point],
        files: Sequence[Path],
        paths: Sequence[Path],
        limit_gflop: float,
        fits: bool,
        jobs: int,
    ) -> None:
        self.table, self.points, self.files, self.paths = table, points, files, paths
        self.limit_gflop, self.fits, self.jobs = limit_gflop, fits, jobs
        self.title = f"{table.title}, {len(points)} points"
        self.gpu = Conditions.of(table, limit_gflop).gpu

    @property
    def variants(self) -> Sequence[Variant]:
        """The one variant that there is."""
        return [Variant("", False, lambda: FunctionTask(self._run))]

    def resolved(self) -> dict[str, Any]:
        """Return the GPU, and of the table what decides the results."""
        table = self.table.model_dump(mode="json", exclude={"gpu"})
        asked = {"only": [point.label for point in self.points], "limit_gflop": self.limit_gflop, "fit": self.fits}
        return {"gpu": self.table.gpu.model_dump(mode="json"), "table": table, "points": asked}

    @property
    def work(self) -> Work:
        """What a store knows equal runs by."""
        return Work("correlate", self.title, self.resolved(), [*self.files, *self.paths], self.table.gpu.name)

    def _run(self, context: Context, record: RunRecord) -> None:
        """Run the points; after an interrupt the record has those that were finished, unless values are fitted."""
        fitted, launch_us = None, self.table.launch_us
        runs = _Runs(self, context.reporter)
        try:
            if self.fits:
                runs.points = _searched(self.points, self.table)
                fitted = fit(self.table.fit, runs.all_of)
                runs.points = self.points
                (predictions,), launch_us = runs.all_of([fitted.values]), fitted.launch_us
            else:
                (predictions,) = runs.all_of([{}])
        except KeyboardInterrupt:
            predictions = [] if self.fits else runs.done_so_far()
            record.partial = True
        rows = [Compared(prediction, launch_us) for prediction in predictions]
        record.parts = [_part(row) for row in rows]
        record.launch_count = sum(len(part.launches) for part in record.parts)
        record.values = said(self.table, rows, fitted)


def _part(row: Compared) -> PartRecord:
    prediction = row.prediction
    launches = [PartLaunch(prediction.point.kernel)] * prediction.launches
    return PartRecord(prediction.point.label, "", {"point": point_said(row)}, launches, prediction.facts)


def _searched(points: Sequence[Point], table: MeasuredTable) -> Sequence[Point]:
    """Return the points that take part in a search; raises UserError where none is small enough."""
    most = table.fit.most_gflop
    chosen = [p for p in points if most is None or p.gflop <= most]
    if not chosen:
        raise UserError(f"fit.most_gflop: {most:g}: every point chosen has more work")
    return chosen


class _Runs:
    """The points under one or several sets of values, with progress."""

    def __init__(self, job: MeasuredJob, reporter: Reporter) -> None:
        self.points = job.points
        self._job, self._reporter = job, reporter
        self._done: dict[tuple[int, int], Prediction] = {}

    def all_of(self, values: Sequence[dict[str, Any]]) -> list[list[Prediction]]:
        """Predict all points for each set of values, laid over the table's GPU."""
        job = self._job
        work, under = [], []
        for variant, held in enumerate(values):
            condition = Conditions.of(job.table, job.limit_gflop)
            for path, value in held.items():
                condition = condition.with_gpu(replaced(condition.gpu, path, value))
            work += [((variant, index), point) for index, point in enumerate(self.points)]
            under += [condition] * len(self.points)
        self._done = {}
        start = time.monotonic()
        processes = min(job.jobs, len(work))
        found = predicted(work, under, list(job.paths), job.table.kernels.multiply_accumulate, processes)
        for key, prediction in found:
            self._done[key] = prediction
            self._reporter.say(
                f"{len(self._done)}/{len(work)} points, {clock(time.monotonic() - start)}: {prediction.point.label}, "
                f"{prediction.time_us:.1f} us, measured {prediction.point.time_us:.1f} us"
            )
        return [[self._done[variant, index] for index in range(len(self.points))] for variant in range(len(values))]

    def done_so_far(self) -> list[Prediction]:
        """Return the predictions of the points that were run, in the table's order."""
        return [self._done[key] for key in sorted(self._done)]
