"""The points of publications as figures that are recorded."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gpusim.base.errors import UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import Interrupt
from gpusim.base.version import __version__
from gpusim.jobs.estimates.cost import Rates
from gpusim.jobs.estimates.fitted import load_fitted
from gpusim.jobs.networks.library import is_there
from gpusim.lab.ages.long_table import RecordedValue, name_versions
from gpusim.lab.ages.recording import RecordedFigure, Recording, RenewalOptions
from gpusim.lab.papers.ages import kind_of_point, list_kernels
from gpusim.lab.papers.figures.layers import metric_paths
from gpusim.lab.papers.figures.reading import load_reproduction
from gpusim.lab.papers.own import select_publication
from gpusim.lab.papers.plan import PlannedPoint, ReproductionPlan, plan_points
from gpusim.lab.papers.publication import Publication, Reproduction
from gpusim.lab.papers.records import FILE, NetworkPointRecord, PointRecord, ReproductionResults, as_json, load
from gpusim.lab.papers.running import PlanRunner, collected
from gpusim.lab.versions.model import FigureVersion, Hashes
from gpusim.results.store.keeper import StoreWriter
from gpusim.study.sweep.executor import LocalProcesses
from isa.trace import LINE_BYTES

COUNTED = ("kernel.wavefront_instructions", "l1.transactions", "dram.bytes")
STARTED_S = 1.0  # of a process that runs a point


class PublicationRecording(Recording):
    """The points of a publication.

    Args:
        publication: Its name.
        gpus: What takes the place of its own.
        batches: What takes the place of its own.
    """

    def __init__(
        self, name: str, folder: Path, publication: str, gpus: Sequence[str] = (), batches: Sequence[int] = ()
    ) -> None:
        super().__init__(name, folder)
        self._publication, self._gpus, self._batches = publication, gpus, batches

    @property
    def command(self) -> str:  # type: ignore[override]
        """What a user calls to make all of it."""
        return f"gpusim reproduce {self._reproduction.command}"

    @property
    def files(self) -> Sequence[Path]:
        """The file of the points."""
        return [self.folder / self.name / FILE]

    @cached_property
    def _reproduction(self) -> Reproduction:
        reproduction, _ = select_publication(
            load_reproduction(self._publication), None, list(self._gpus), list(self._batches)
        )
        if reproduction.name != self.name:
            raise UserError(f"{self.folder / self.name}: is a folder of {reproduction.name}, whose name it should have")
        return reproduction

    @cached_property
    def _plan(self) -> ReproductionPlan:
        return plan_points(self._reproduction, self._reproduction.figures)

    def _load(self) -> ReproductionResults:
        return load(self.folder / self.name, self.name)

    def figures(self) -> Mapping[str, RecordedFigure]:
        """Return the points that figures still show, in the figures' order."""
        results, rates = self._load(), load_fitted().rates
        return {
            key: RecordedFigure(
                key=key,
                version=results.runs[key].version,
                digits=list_digits(results.runs[key]),
                seconds=min(results.runs[key].seconds, counted_seconds(results.runs[key], rates)),
                kind=kind_of_point(results, key),
                obstacle=", ".join(f"{one.package} is not installed" for one in point.products if not is_there(one)),
            )
            for key, point in self._plan.points.items()
            if key in results.runs
        }

    def values(self) -> Iterator[RecordedValue]:
        """Yield the values of the figures, those of networks' layers and those that need no run among them."""
        results = self._load()
        publication = Publication(self._reproduction, results)
        for name, figure in publication.figures.items():
            keys = self._plan.by_figure[name]
            version = name_versions(results.runs[key].version for key in keys if key in results.runs)
            for value in figure.values(publication):
                yield RecordedValue(
                    publication=self.name,
                    figure=name,
                    labels={**value.labels, "comparison": value.comparison},
                    measure=value.measure,
                    value=value.value,
                    half_width=value.half_width or None,
                    version=version,
                )

    def own_hashes(self, keys: Sequence[str]) -> Mapping[str, Hashes]:
        """Return the present hashes of points' kernels and configurations."""
        results = self._load()
        return {key: self._plan.points[key].version(list_kernels(results, key)).own for key in keys}

    def stamp(self, versions: Mapping[str, FigureVersion]) -> None:
        """Record that later models make the same digits. versions: by the points' keys."""
        known = self._load()
        points = {key: replace(run, version=versions.get(key, run.version)) for key, run in known.points.items()}
        networks = {key: replace(run, version=versions.get(key, run.version)) for key, run in known.networks.items()}
        results = replace(known, points=points, networks=networks)
        write_whole(self.files[0], as_json(results).encode())

    def renew(self, keys: Sequence[str], options: RenewalOptions) -> None:
        """Run points that the store lacks, and record those that it has, also where the rest is stopped."""
        points: dict[str, PlannedPoint] = {key: self._plan.points[key] for key in keys}
        with StoreWriter(options.store) as keeper, Interrupt() as interrupt:
            interrupt.deferred = True
            executor = LocalProcesses(options.jobs, options.reporter)
            ran = PlanRunner(keeper, executor, options.reporter, interrupt).run(ReproductionPlan(points, {}))
            interrupt.deferred = False
        known = self._load()
        how = {"gpusim": __version__, "jobs": options.jobs, "points": ran.sentence(len(points)), "simulated": "sampled"}
        with StoreWriter(options.store) as keeper:
            plan = ReproductionPlan(points, {})
            paths = metric_paths(self._reproduction)
            made = collected(self.name, plan, keeper, ran.errors, how, ReproductionResults(self.name, {}), paths)
        results = replace(
            known,
            points={**known.points, **made.points},
            networks={**known.networks, **made.networks},
            errors={**{key: error for key, error in known.errors.items() if key not in points}, **made.errors},
            said=how,
        )
        write_whole(self.files[0], as_json(results).encode())
        if interrupt.asked:
            raise KeyboardInterrupt
        if ran.errors or ran.left_out:
            missing = [*ran.errors.values(), *(f"{one.package} is not installed" for one in ran.left_out.values())]
            raise UserError(f"{self.name}: {len(missing)} points were not made: {missing[0]}")


def counted_seconds(record: PointRecord | NetworkPointRecord, rates: Rates) -> float:
    """Return what a run takes by its counted work, as what was recorded depends on what else the host did.

    Args:
        record: The run; each of a network's equal launches counts, though only one of them is simulated.
        rates: What work costs.
    """
    total = record.metrics if isinstance(record, PointRecord) else record.iteration.metrics
    instructions, lines, dram_bytes = (total.get(name, 0.0) for name in COUNTED)
    counted = (instructions, lines, dram_bytes / LINE_BYTES)
    return STARTED_S + rates.of_amounts(len(record.launches), counted, record.fraction)


def list_digits(record: PointRecord | NetworkPointRecord) -> Any:
    """Return what is equal of two records of equal runs, as plain data."""
    numbers: dict[str, Any] = {"fraction": record.fraction, "launches": record.launches}
    if isinstance(record, PointRecord):
        numbers |= {"metrics": dict(record.metrics), "half_width": record.half_width}
    else:
        for row in record.rows:
            name = " ".join((row.by, row.layer, row.kind, row.part))
            numbers[name] = {"work": row.work, **row.metrics, "half_widths": row.half_widths}
    return json.loads(json.dumps(numbers))
