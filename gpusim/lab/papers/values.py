"""What is measured of products: ratios of two ways' metrics, for each case, batch and data of a figure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import hypot, sqrt
from statistics import variance
from typing import Any, Protocol

from gpusim.base.formats import FIXED_2, TIMES
from gpusim.base.student import interval, quantile
from gpusim.base.sums import plain_sum, weighted_mean
from gpusim.lab.papers.formats import POINTS
from gpusim.lab.papers.long_table import RatioParts
from gpusim.lab.papers.points import RunsFigure, build_labels, padding_of
from gpusim.lab.papers.publication import Publication
from gpusim.lab.papers.records import PointRecord
from gpusim.study.compare.rules import findings

Metrics = Mapping[str, Any]
MOST_REASONS = 3
LEAST_DRAWS = 3  # of an ensemble: fewer give no interval that decides anything
CONFIDENCE = 0.95
_BESIDE_THE_POINT = ("scalar_cache.", "instruction_cache.", "kernel.occupancy")  # move with any two kernels


@dataclass(frozen=True)
class Measure:
    """A measure of a variant relative to its base."""

    title: str
    """Title in tables and on axes."""
    of: Callable[[Metrics, Metrics], float | None]
    """Computes the value from the metrics of the variant and of the base."""
    shown: Callable[[float], str]
    """Formats a value."""
    relative: bool = True
    """The half-width scales with the value, as for times."""


def _ratio(path: str) -> Callable[[Metrics, Metrics], float | None]:
    def of(way: Metrics, base: Metrics) -> float | None:
        first, second = way.get(path), base.get(path)
        return first / second if first is not None and second else None

    return of


def _gain(way: Metrics, base: Metrics) -> float | None:
    return float(base["kernel.time_us"] / way["kernel.time_us"])


def _points(of: Callable[[Metrics], float | None]) -> Callable[[Metrics, Metrics], float | None]:
    def difference(way: Metrics, base: Metrics) -> float | None:
        first, second = of(way), of(base)
        return None if first is None or second is None else 100 * (first - second)

    return difference


def _hit_rate(metrics: Metrics) -> float | None:
    return metrics.get("l2.hit_rate")


def _hits_and_merges(metrics: Metrics) -> float | None:
    if "l2.transactions" not in metrics:
        return None
    return float((metrics["l2.hits"] + metrics["l2.mshr_merges"]) / metrics["l2.transactions"])


MEASURES: Mapping[str, Measure] = {
    "speedup": Measure("speed-up", _gain, TIMES),
    "transactions": Measure("L2 transactions, of the base's", _ratio("l2.transactions"), FIXED_2),
    "hit_rate": Measure("L2 hit rate, change in points", _points(_hit_rate), POINTS, False),
    "hit_rate_with_merges": Measure(
        "L2 hit rate with merges, change in points", _points(_hits_and_merges), POINTS, False
    ),
    "read_latency": Measure("L2 read latency, of the base's", _ratio("l2.read_latency_cycles"), FIXED_2),
    "dram_bytes": Measure("DRAM bytes, of the base's", _ratio("dram.bytes"), FIXED_2),
    "energy": Measure("energy of the memory system, of the base's", _ratio("energy.total_uj"), FIXED_2),
}
FORMATS = {name: measure.shown for name, measure in MEASURES.items()}


@dataclass(frozen=True)
class CaseRuns:
    """Known runs of all variants for one case, batch and data."""

    case: str
    """Name of the case."""
    batch: int
    """Batch size."""
    data: str
    """Name of the data."""
    ways: Mapping[str, PointRecord]
    """Runs by variant."""
    zeros: float | None
    """Share of zeros in the matrix whose zeros are skipped; None: no such run is known."""
    padding: float = 0.0
    """Share of the matrix that is padding."""
    count: int = 1
    """Number of layers that the case represents."""
    draws: Mapping[str, Mapping[str, PointRecord]] = field(default_factory=dict)
    """Ensembles of variants: runs by the change that should not matter, the first as it is."""
    deviations: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Half-widths of single runs by variant and measure, of ensembles of the same variant in other cases."""

    @property
    def labels(self) -> dict[str, str]:
        """The labels for claims and tables."""
        return {"case": self.case, "batch": str(self.batch), "data": self.data}

    @property
    def limit(self) -> float | None:
        """The largest speed-up that the zeros allow at equal efficiency; None where their share is unknown."""
        return None if self.zeros is None else limit_of(self.zeros)

    @property
    def map_zeros(self) -> float | None:
        """Share of zeros among what windows meet of the maps: of the matrix without its padding."""
        return None if self.zeros is None else max(0.0, (self.zeros - self.padding) / (1 - self.padding))

    @property
    def map_limit(self) -> float | None:
        """The largest speed-up over a product without padding; None where the share of zeros is unknown."""
        return None if self.map_zeros is None else limit_of(self.map_zeros)

    def metric(self, path: str, name: str) -> Any:
        """Return a metric of a way's run; None where the run is unknown or the metric does not apply."""
        return self.ways[path].metrics.get(name) if path in self.ways else None

    def measured(self, measure: str, path: str, base: str) -> float | None:
        """Return a measure of a way over another one; None where either is unknown, or it does not apply."""
        if path not in self.ways or base not in self.ways:
            return None
        return MEASURES[measure].of(self.ways[path].metrics, self.ways[base].metrics)

    def speedup(self, path: str, base: str) -> float | None:
        """Return how many times as fast as another way a way is; None where either is unknown."""
        return self.measured("speedup", path, base)

    def estimate(self, measure: str, path: str, base: str) -> tuple[float, float] | None:
        """Estimate a measure of a way over another one with the half-width of its confidence interval.

        Where this comparison has an ensemble, both come from it, draw by draw. Elsewhere the value is a single run's,
        and its half-width that of a single run of the same ways' ensembles. It is 0 where both ways ran the same
        kernels equally long, as where a dense kernel was chosen. What sampling leaves open is added.

        Args:
            measure: Name of the measure.
            path: The way.
            base: The way that it is compared with.

        Returns:
            Value and half-width; None where the value is unknown.
        """
        value = self.measured(measure, path, base)
        if value is None:
            return None
        if self.ways[path].launches == self.ways[base].launches:
            return value, 0.0
        of, is_relative = MEASURES[measure].of, MEASURES[measure].relative
        changes = dict.fromkeys(change for way in (path, base) for change in self.draws.get(way, ()))
        drawn = [of(*(self._draw(way, change).metrics for way in (path, base))) for change in changes]
        known = [one for one in drawn if one is not None]
        if known:
            value, width = interval(known)
        else:
            width = hypot(*(self.deviations.get((way, measure), 0.0) for way in (path, base)))
            width *= abs(value) if is_relative else 1.0
        sampled = [value * self.ways[way].half_width for way in (path, base)] if is_relative else []
        return value, hypot(width, *sampled)

    def _draw(self, path: str, change: str) -> PointRecord:
        return self.draws.get(path, {}).get(change, self.ways[path])

    def times(self, above: str, below: str) -> RatioParts:
        """Return the times of two known ways with what sampling leaves open."""
        runs = [self.ways[way] for way in (above, below)]
        return RatioParts(*(run.time_us for run in runs), *(run.time_us * run.half_width for run in runs))

    def reasons(self, path: str, base: str) -> tuple[str, ...]:
        """Return what moved most between two known ways."""
        return list_reasons(self.ways[base], self.ways[path])


def list_groups(publication: Publication, figure: RunsFigure) -> list[CaseRuns]:
    """List the groups of a figure in its order.

    Args:
        publication: The publication with its results.
        figure: One of its figures.
    """
    paths, points, groups = publication.spec.paths, publication.results.points, []
    deviations = compute_deviations(publication)
    for case, batch, data in figure.places():
        ways, zeros, draws = dict[str, PointRecord](), None, dict[str, Mapping[str, PointRecord]]()
        for path in figure.paths:
            sparse = paths[path].sparse
            key = " ".join(build_labels(case, batch, data, path, sparse).values())
            run = points.get(key)
            if run is not None:
                ways[path] = run
                zeros = float(run.metrics["data.zero_fraction"]) if sparse else zeros
                drawn = publication.draws.get(path, {}).get(key, {})
                draws |= {path: drawn} if len(drawn) >= LEAST_DRAWS else {}
        made = [path for path in figure.paths if paths[path].made_of and {*paths[path].made_of} <= ways.keys()]
        for path in made:
            parts = paths[path].made_of
            changes = dict.fromkeys(change for part in parts for change in draws.get(part, ()))
            by_change = {c: {part: draws.get(part, {}).get(c, ways[part]) for part in parts} for c in changes}
            made_drawn = {c: _build_way(publication, path, runs) for c, runs in by_change.items()}
            draws |= {path: made_drawn} if made_drawn else {}
        ways |= {path: _build_way(publication, path, ways) for path in made}
        group = CaseRuns(case, batch, data, ways, zeros, draws=draws, deviations=deviations)
        padding = padding_of(publication.spec, figure, case)
        groups.append(replace(group, padding=padding, count=figure.cases[case].count))
    return groups


def _build_way(publication: Publication, path: str, ways: Mapping[str, PointRecord]) -> PointRecord:
    """Return the run of a way that is made of others' runs."""
    way = publication.spec.paths[path]
    runs = [ways[name] for name in way.made_of]
    return _part(runs[0], way.leaves_out) if way.part_of else min(runs, key=lambda run: run.time_us)


def compute_deviations(publication: Publication) -> dict[tuple[str, str], float]:
    """Compute how far a single run may be from its ensemble's mean, by variant and measure, relative or in points.

    The variances of a variant's ensembles are pooled; a variant that is made of others has the largest of theirs.
    """
    deviations: dict[tuple[str, str], float] = {}
    for path, places in publication.draws.items():
        for name, measure in MEASURES.items():
            ensembles = [_draw_values(measure, list(runs.values())) for runs in places.values()]
            some = [values for values in ensembles if len(values) >= LEAST_DRAWS]
            degrees = plain_sum(len(values) - 1 for values in some)
            if degrees:
                spread = plain_sum((len(values) - 1) * variance(values) for values in some) / degrees
                deviations[path, name] = quantile(CONFIDENCE, degrees) * sqrt(spread)
    for path, way in publication.spec.paths.items():
        for name in MEASURES if way.made_of else ():
            deviations[path, name] = max(deviations.get((part, name), 0.0) for part in way.made_of)
    return deviations


def _draw_values(measure: Measure, runs: Sequence[PointRecord]) -> list[float]:
    """Return a measure of each run of an ensemble over its first; none where a run has not what it is of."""
    values = [measure.of(run.metrics, runs[0].metrics) for run in runs]
    return [value for value in values if value is not None]


def _part(run: PointRecord, leaves_out: tuple[str, ...]) -> PointRecord:
    """Return a run without some of its launches: of its metrics those of time and data alone."""
    launches = [(name, cycles) for name, cycles in run.launches if not name.startswith(leaves_out)]
    cycles = plain_sum(cycles for _, cycles in launches)
    time_us = run.time_us * cycles / plain_sum(cycles for _, cycles in run.launches)
    data = {name: value for name, value in run.metrics.items() if name.startswith("data.")}
    return replace(run, metrics={**data, "kernel.cycles": cycles, "kernel.time_us": time_us}, launches=launches)


def limit_of(zeros: float) -> float:
    """Return the largest speed-up that a share s of zeros allows at equal efficiency: 1 / (1 - s)."""
    return 1 / (1 - zeros) if zeros < 1 else float("inf")


class HasMetrics(Protocol):
    """What has metrics by path: a run, or a layer of one."""

    @property
    def metrics(self) -> Metrics:
        """Metrics by their paths."""


def list_reasons(base: HasMetrics, way: HasMetrics) -> tuple[str, ...]:
    """List what moved most between two runs, by the rules of `gpusim compare`.

    Args:
        base: Run that is compared with.
        way: Run that is compared.
    """
    found = findings(base.metrics, way.metrics)
    texts = [one.text for one in found if not any(path.startswith(_BESIDE_THE_POINT) for path in one.paths)]
    return tuple(texts[:MOST_REASONS])


def mean_of(values: Iterable[tuple[float | None, int]]) -> float | None:
    """Return the mean of the known values weighted by their counts; None if there are none."""
    known = [(value, count) for value, count in values if value is not None]
    return weighted_mean([value for value, _ in known], [count for _, count in known]) if known else None
