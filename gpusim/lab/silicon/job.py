"""Points measured on a real card as a job: a row is a point, with its measured time next to the model's."""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gpusim.base.errors import GpusimError, UserError
from gpusim.base.formats import FIXED_1, GENERAL, GROUPED_0, duration
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.jobs.running.job import Context, FunctionTask, Job, JobOptions, Variant
from gpusim.lab.silicon.compare import CorrelationPoint
from gpusim.lab.silicon.cost import PointCosts, check
from gpusim.lab.silicon.fit import ParameterFit, fit
from gpusim.lab.silicon.kernels import KernelSource
from gpusim.lab.silicon.measured import MeasuredPoint, MeasuredTable
from gpusim.lab.silicon.measured_convolutions import ConvolutionPoint
from gpusim.lab.silicon.predict import predicted
from gpusim.lab.silicon.prediction import Conditions, Prediction
from gpusim.lab.silicon.report import SkippedPoint, serialize_comparison, serialize_point, serialize_versions
from gpusim.lab.versions.model import FigureVersion, present_version
from gpusim.model.energy.spec import EnergySpec
from gpusim.model.sampling.spec import SamplingSpec
from gpusim.results.records.record import PartLaunch, PartRecord, RunRecord
from gpusim.results.store.pieces import ResultCache
from gpusim.results.store.records import plain_facts, restored_facts
from gpusim.results.store.work import RunDescription, hash_of_files, identity_of, sources_hash


@dataclass(frozen=True)
class CorrelationOptions:
    """Options for running measured points."""

    limit_gflop: float
    """Size in GFLOP above which products are sampled."""
    sampling: SamplingSpec | None
    """Sampling of large products; None: all are simulated whole."""
    fits: bool = False
    """Search the table's parameters."""
    budget_s: float | None = None
    """Limit of processor seconds for a point; None: no limit."""
    jobs: int = 1
    """Worker processes."""
    store: Path | None = None
    """Store of finished points; None: none."""
    fresh: bool = False
    """Ignore stored points."""


class MeasuredJob(Job):
    """A table of measured points (gpusim.jobs.running.job.Job), on the card's model at the clock of the measurement.

    Args:
        points: Those that are run.
        files: The table's, the points' and the kernels'.
        paths: Paths of the kernels' code objects.
    """

    kind = "correlate"
    energy_spec = EnergySpec(enabled=False)
    options = JobOptions(verify=False)

    def __init__(
        self,
        table: MeasuredTable,
        points: Sequence[MeasuredPoint],
        files: Sequence[Path],
        paths: Sequence[Path],
        wanted: CorrelationOptions,
    ) -> None:
        self.table, self.points, self.files, self.paths, self.wanted = table, points, files, paths, wanted
        self.title = f"{table.title}, {len(points)} points"
        self.conditions = Conditions.of(table, wanted.limit_gflop, wanted.sampling)
        self.gpu = self.conditions.gpu

    @property
    def variants(self) -> Sequence[Variant]:
        """The one variant that there is."""
        return [Variant("", False, lambda: FunctionTask(self._run))]

    def resolved(self) -> dict[str, Any]:
        """Return the GPU, and of the table and of how it is run what decides the results."""
        table = self.table.model_dump(mode="json", exclude={"gpu"})
        wanted = self.wanted
        asked = {
            "only": [point.label for point in self.points],
            "limit_gflop": wanted.limit_gflop,
            "sampling": None if wanted.sampling is None else wanted.sampling.model_dump(mode="json"),
            "budget_s": wanted.budget_s,
            "fit": wanted.fits,
        }
        return {"gpu": self.table.gpu.model_dump(mode="json"), "table": table, "points": asked}

    @property
    def work(self) -> RunDescription:
        """What a store knows equal runs by."""
        return RunDescription("correlate", self.title, self.resolved(), [*self.files, *self.paths], self.table.gpu.name)

    def _run(self, context: Context, record: RunRecord) -> None:
        """Run the points that can be run; after an interrupt the record has those that were finished, unless values
        are fitted. Raises UserError where none can be run, and for a fit what any of its points raises.
        """
        fitted, launches = None, self.table.launches
        record.values = serialize_comparison(self.table, [], None, [])  # where the check is interrupted
        kernels = KernelSource(list(self.paths), *self.table.kernels.changes)
        checked = _checked(self, kernels, context.reporter)
        runs = _PointRunner(self, kernels, checked, context.reporter)
        predictions: Sequence[Prediction] = []
        try:
            if self.wanted.fits:
                self.table.check_fit()
                searched, apart = _searched(runs.points, self.table), self.table.hip_launch_us is not None
                fitted = fit(self.table.fit, lambda values: runs.all_of(searched, values), apart)
                launches = fitted.launches
            runs.run(runs.points, [{} if fitted is None else fitted.values])
            predictions = runs.done
        except KeyboardInterrupt:
            predictions = [] if self.wanted.fits else runs.done
            record.partial = True
        finally:
            runs.close()
        rows = [CorrelationPoint(p, launches.of(p.point, p.launches)) for p in predictions]
        failed = checked.refused | runs.failed
        not_run = [SkippedPoint(p.label, p.kernel, failed[p]) for p in self.points if p in failed]
        if not_run and not record.partial:
            record.partial = True
            record.stopped_by = f"{len(not_run)} of {len(self.points)} points were not run"
        record.parts = [_part(row) for row in rows]
        record.launch_count = sum(len(part.launches) for part in record.parts)
        versions = {row.prediction.point.label: self._version(row.prediction.point) for row in rows}
        record.values = serialize_comparison(self.table, rows, fitted, not_run) | serialize_versions(versions)

    def _version(self, point: MeasuredPoint) -> FigureVersion:
        """Return the version of a point's run now; its kernel is a library's, which is not the model's."""
        sampled = self.conditions.get_sampling(point) is not None
        more = ("silicon", "microbench", "objects", "configurations", "measured")
        return present_version(self.conditions.gpu.architecture, sampled=sampled, more=more)


def _checked(job: MeasuredJob, kernels: KernelSource, reporter: Reporter) -> PointCosts:
    """Say what cannot be run and what the rest costs; raises UserError where nothing is left."""
    checked = check(job.points, job.conditions, kernels, job.wanted.budget_s, job.table.launches)
    lines = [f"{point.label}: not run: {why}" for point, why in checked.refused.items()]
    if not checked.cost_s:
        raise UserError(*lines)
    for line in lines:
        reporter.say(line)
    sampled = sum(job.conditions.get_sampling(p) is not None and p in checked.cost_s for p in job.points)
    seconds = plain_sum(checked.cost_s.values())
    reporter.say(
        f"{len(checked.cost_s)} points, {sampled} of them sampled: about {GROUPED_0(seconds)} processor seconds"
        f"{' for each set of values' if job.wanted.fits else ''}"
    )
    return checked


def _part(row: CorrelationPoint) -> PartRecord:
    prediction = row.prediction
    launches = [PartLaunch(prediction.point.kernel)] * prediction.launches
    return PartRecord(prediction.point.label, "", {"point": serialize_point(row)}, launches, prediction.facts)


def fit_launch_overheads(
    table: MeasuredTable, rows: Sequence[CorrelationPoint]
) -> tuple[list[CorrelationPoint], ParameterFit]:
    """Fit the times that no kernel takes to rows of an earlier run, whose predictions stay.

    Args:
        table: The table of measured points.
        rows: Rows of an earlier run.

    Raises:
        UserError: No point is small enough.
    """
    predictions = {row.prediction.point: row.prediction for row in rows}
    searched = [predictions[point] for point in _searched(list(predictions), table)]
    spec = table.fit.model_copy(update={"model": {}})
    table.check_fit()
    fitted = fit(spec, lambda values: [searched] * len(values), table.hip_launch_us is not None)
    return [CorrelationPoint(one, fitted.launches.of(point)) for point, one in predictions.items()], fitted


def _searched(points: Sequence[MeasuredPoint], table: MeasuredTable) -> Sequence[MeasuredPoint]:
    """Return the points that take part in a search; raises UserError where none is small enough."""
    most = table.fit.most_gflop
    chosen = [p for p in points if (most is None or p.gflop <= most) and not p.is_guessed]
    if not chosen:
        more = "" if most is None else f"fit.most_gflop: {GENERAL(most)}: "
        raise UserError(f"{more}every point chosen has more work, or a guessed kernel")
    return chosen


class PointCache:
    """Points in a store, each under all that decides its time: the sources, kernels, GPU and conditions.

    Args:
        store: None: nothing is known or kept.
        fresh: What earlier runs left does not count.
        files: The kernels' code objects.
        changes: Changes of the table's kernels.
    """

    def __init__(self, store: Path | None, fresh: bool, files: Sequence[Path], changes: tuple[bool, ...]) -> None:
        self._pieces = ResultCache(store, fresh) if store is not None else None
        self._under = (hash_of_files(files), changes)

    def get(self, point: MeasuredPoint, conditions: Conditions) -> Prediction | None:
        """Return what an earlier run found of a point; None without it."""
        stored = self._pieces.get(self._key(point, conditions)) if self._pieces is not None else None
        return None if stored is None else Prediction(point, **stored["values"], facts=restored_facts(stored["facts"]))

    def put(self, prediction: Prediction, conditions: Conditions) -> None:
        """Keep a point that was run."""
        if self._pieces is None or prediction.facts is None:
            return
        values = asdict(replace(prediction, facts=None))
        del values["point"], values["facts"]
        content = {"values": values, "facts": plain_facts(prediction.facts)}
        self._pieces.put(self._key(prediction.point, conditions), prediction.point.kernel, content)

    def close(self) -> None:
        """Close the store."""
        if self._pieces is not None:
            self._pieces.close()

    def _key(self, point: MeasuredPoint, conditions: Conditions) -> str:
        sampling = conditions.get_sampling(point)
        sampled = None if sampling is None else sampling.model_dump_json()
        gpu = json.dumps(conditions.gpu.model_dump(mode="json"), sort_keys=True)
        values = (conditions.alpha, conditions.beta, conditions.staggered, conditions.general.model_dump_json())
        how: tuple[object, ...] = (gpu, *values, conditions.calls(point), sampled)
        if isinstance(point, ConvolutionPoint):
            how = (*how, conditions.convolution)
        return identity_of("correlate", sources_hash(), self._under, point.of_model, how)


class _PointRunner:
    """Points under one or several sets of values, with progress; those that a store has are not run again.

    Attributes:
        points: Those that can be run, the cheapest first.
        failed: Why others of the last run came to nothing.
    """

    def __init__(self, job: MeasuredJob, kernels: KernelSource, checked: PointCosts, reporter: Reporter) -> None:
        cost = checked.cost_s
        self.points = sorted((p for p in job.points if p in cost), key=lambda point: cost[point])
        self.failed: dict[MeasuredPoint, str] = {}
        self._order = {point: place for place, point in enumerate(job.points)}
        self._job, self._kernels, self._reporter = job, kernels, reporter
        self._kept = PointCache(job.wanted.store, job.wanted.fresh, job.paths, job.table.kernels.changes)
        self._done: dict[tuple[int, MeasuredPoint], Prediction] = {}

    @property
    def done(self) -> list[Prediction]:
        """The predictions of the points that were run, in the table's order."""
        return [self._done[key] for key in sorted(self._done, key=lambda key: (key[0], self._order[key[1]]))]

    def all_of(self, points: Sequence[MeasuredPoint], values: Sequence[dict[str, Any]]) -> list[list[Prediction]]:
        """Predict points for each set of values, laid over the table's GPU; raises UserError for one that fails."""
        self.run(points, values)
        if self.failed:
            raise UserError(*(f"{point.label}: {why}" for point, why in self.failed.items()))
        return [[self._done[variant, point] for point in points] for variant in range(len(values))]

    def run(self, points: Sequence[MeasuredPoint], values: Sequence[dict[str, Any]]) -> None:
        """Run points for each set of values: `done` and `failed` say what came of them."""
        self._done, self.failed = {}, {}
        under: dict[tuple[int, MeasuredPoint], Conditions] = {}
        for variant, held in enumerate(values):
            condition = self._job.conditions
            for path, value in held.items():
                condition = condition.changed(path, value)
            under |= {(variant, point): condition for point in points}
        for key, condition in under.items():
            known = self._kept.get(key[1], condition)
            if known is not None:
                self._done[key] = known
        work = [key for key in sorted(under, key=lambda key: points.index(key[1])) if key not in self._done]
        if self._done:
            self._reporter.say(f"{len(self._done)} of {len(under)} points found in {self._job.wanted.store}")
        start = time.monotonic()
        named, conditions = [(key, key[1]) for key in work], [under[key] for key in work]
        for key, outcome in predicted(named, conditions, self._kernels, min(self._job.wanted.jobs, len(work) or 1)):
            point = key[1]
            if isinstance(outcome, GpusimError):
                self.failed[point] = str(outcome)
                self._reporter.say(f"{point.label}: {outcome}")
                continue
            self._done[key] = outcome
            self._kept.put(outcome, under[key])
            self._reporter.say(
                f"{len(self._done)}/{len(under)} points, {duration(time.monotonic() - start)}: {point.label}, "
                f"{FIXED_1(outcome.time_us)} us, measured {FIXED_1(point.time_us)} us"
            )

    def close(self) -> None:
        """Close the store of finished points."""
        self._kept.close()
