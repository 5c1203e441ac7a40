"""Claims that no run can refute: found by judging them by other results in place of a publication's own.

Whatever a run measures is multiplied by chance, equal runs by the same factor. Two kinds of numbers keep a claim as it
is: those that no run changes, such as a layer's work, and those that are equal by construction, as where two ways run
the same launches. A claim that holds under all of many such results is a definition and not a finding.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np

from gpusim.base.sums import plain_sum
from gpusim.base.table import Table, columns
from gpusim.lab.papers.claim_spec import ClaimSpec
from gpusim.lab.papers.claims import FAILS, MIXED, UNASKABLE, UNDECIDED, UNKNOWN, JudgedClaim, judge, judge_all
from gpusim.lab.papers.long_table import FigureValue
from gpusim.lab.papers.network_points import NetworkFigure
from gpusim.lab.papers.points import RunsFigure
from gpusim.lab.papers.publication import Figure, Publication
from gpusim.lab.papers.records import ReproductionResults
from gpusim.results import metrics

TRIES = 40
OWN_FACTORS = (30.0, 1.1)  # most of a run's own metrics, in turn: single values move, or whole ways and batches do
NAME_FACTOR, MOST_POWER = 8.0, 3.0  # most of a word of a run's name, and to which power words together move
LEAST_FRACTION = 0.001  # what none of something is taken for: in another run some may be
_TIMES = ("kernel.cycles", "kernel.time_us")  # of one factor
_FIXED = ("data.", "kernel.clock_ghz", "layer.data_reuse", "layer.read_distance", "layer.write_distance")
_FRACTIONS = frozenset(metric.path for metric in metrics.METRICS if metric.unit == "fraction")


@dataclass(frozen=True)
class ClaimCheck:
    """What a check of a publication's claims found."""

    irrefutable: Sequence[JudgedClaim]
    """Claims that are counted though no run can refute them."""
    undecided: Sequence[JudgedClaim]
    """Claims that half-widths leave open."""

    def tables(self, columns_by_name: Mapping[str, str]) -> Iterator[Table]:
        """Yield a table of each. columns_by_name: titles of the comparisons, or of networks' GPUs."""
        heads = columns("figure", "claim", "found")
        rows = [[one.figure, one.claim.text, _found(one)] for one in self.irrefutable]
        yield Table(heads, rows, "irrefutable", "Claims that no run can refute.")
        opened = [
            [one.figure, one.claim.text, columns_by_name[name], verdict.ours, opening]
            for one in self.undecided
            for name, verdict in one.judging.items()
            if verdict.state == UNDECIDED
            for opening in verdict.openings
        ]
        heads = columns("figure", "claim", "by", "found", "what would decide it")
        yield Table(heads, opened, "undecided", "Undecided claims.")


def check_claims(publication: Publication) -> ClaimCheck:
    """Check all claims of a publication by its results."""
    judged = judge_all(publication)
    undecided = [one for one in judged if any(v.state == UNDECIDED for v in one.judging.values())]
    return ClaimCheck(find_irrefutable(publication, judged), undecided)


def find_irrefutable(publication: Publication, judged: Sequence[JudgedClaim]) -> list[JudgedClaim]:
    """List the claims that are counted and judged, and that none of many other results refutes.

    Args:
        publication: The publication.
        judged: Its claims with their verdicts.
    """
    left = [claim for claim in judged if claim.claim.is_counted and _is_open(claim)]
    spec = publication.spec.model_copy(update={"spread": ()})  # its ensembles would be as wide as the factors
    for seed in range(TRIES):
        if not left:
            break
        names = {claim.figure for claim in left}
        figures = {
            name: figure if name in names else figure.model_copy(update={"claims": ()})
            for name, figure in publication.figures.items()
        }
        reproduction = replace(publication.reproduction, spec=spec, figures=figures)
        other = Publication(reproduction, change_results(publication.results, seed))
        left = [claim for claim in left if not _is_refuted(publication, other, claim, seed)]
    return left


def _is_open(judged: JudgedClaim) -> bool:
    """Tell whether something is known of a claim, and nothing has refuted it."""
    states = {verdict.state for verdict in judged.judging.values()} - {UNASKABLE, UNKNOWN}
    return bool(states) and not states & {FAILS, MIXED}


def _is_refuted(publication: Publication, other: Publication, judged: JudgedClaim, seed: int) -> bool:
    """Tell whether other results refute a claim by one of the comparisons."""
    name, figure = judged.figure, publication.figures[judged.figure]
    before, has_runs = publication.list_values(name), _has_runs(figure, publication)
    # a network's figure without runs is of plans, which other results do not change
    values = other.list_values(name) if has_runs or not isinstance(figure, NetworkFigure) else before
    unchanged = [one.value for one in values] == [one.value for one in before]
    if unchanged and not figure.is_typed and not has_runs:  # it is of plans or recordings
        values = [_change_value(one, seed) for one in values]
    return any(
        _refutes(judged.claim, values, column, figure.format_of(judged.claim.measure)) for column in judged.judging
    )


def _has_runs(figure: Figure, publication: Publication) -> bool:
    return isinstance(figure, RunsFigure) or (
        isinstance(figure, NetworkFigure) and bool(figure.points(publication.reproduction))
    )


def _refutes(claim: ClaimSpec, values: Sequence[FigureValue], column: str, shown: Callable[[float], str]) -> bool:
    return judge(claim, [one for one in values if one.comparison == column], shown).state in (FAILS, MIXED)


def change_results(results: ReproductionResults, seed: int) -> ReproductionResults:
    """Return results whose measurements are multiplied by chance, and are exact.

    Each word of a run's name, such as its way and its batch, has a factor: whole ways and batches become larger or
    smaller.
    """
    first: dict[int, tuple[str, ...]] = {}

    def change(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        """Multiply metrics by chance; equal ones by the same factors, so that equal launches stay equal."""
        numbers = {path: value for path, value in values.items() if isinstance(value, int | float)}
        identity = hash(tuple(numbers.values()))
        common = _factor(seed, first.setdefault(identity, names))
        drawn = _draw((seed, identity), len(values))
        of_time = common * drawn[0] if drawn else 1.0
        return {
            path: value
            if path.startswith(_FIXED) or path not in numbers
            else min(1.0, max(value, LEAST_FRACTION) * factor * common)
            if path in _FRACTIONS
            else value * (of_time if path in _TIMES else factor * common)
            for (path, value), factor in zip(values.items(), drawn, strict=True)
        }

    def change_launches(times: Sequence[float]) -> list[float]:
        return [
            time * factor for time, factor in zip(times, _draw((seed, hash(tuple(times))), len(times)), strict=True)
        ]

    points, networks = {}, {}
    for key, run in results.points.items():
        values = change(run.metrics, tuple(key.split()))
        scale = values[_TIMES[0]] / run.metrics[_TIMES[0]]
        changed = change_launches([cycles * scale for _, cycles in run.launches])
        launches = [(name, max(1, round(cycles))) for (name, _), cycles in zip(run.launches, changed, strict=True)]
        points[key] = replace(run, metrics=values, launches=launches, half_width=0.0)
    for key, recorded in results.networks.items():
        rows = [
            replace(row, metrics=change(row.metrics, (*key.split(), row.layer, row.kind, row.part)), half_widths={})
            for row in recorded.rows
        ]
        changed = change_launches([launch.time_us for launch in recorded.launches])
        of_network = [launch._replace(time_us=us) for launch, us in zip(recorded.launches, changed, strict=True)]
        networks[key] = replace(recorded, rows=rows, launches=of_network, error=0.0)
    return replace(results, points=points, networks=networks)


def _change_value(value: FigureValue, seed: int) -> FigureValue:
    """Multiply a value by chance, those of other labels by other factors; 0 stays 0."""
    factor = _factor(seed, (value.measure, *value.labels.values()))
    return replace(value, value=value.value * factor, half_width=0.0)


def _factor(seed: int, names: Sequence[str]) -> float:
    """Return the factor of a run or a value by its names, of which each moves all that have it."""
    power = plain_sum(_uniform((seed, crc32(name.encode())), 1)[0] for name in names)
    return float(NAME_FACTOR ** max(-MOST_POWER, min(MOST_POWER, power)))


def _draw(key: tuple[int, int], count: int) -> list[float]:
    """Draw factors by a key of numbers."""
    return [OWN_FACTORS[key[0] % len(OWN_FACTORS)] ** power for power in _uniform(key, count)]


@cache
def _uniform(key: tuple[int, int], count: int) -> list[float]:
    """Draw numbers from -1 to 1 by a key of numbers, the same in every process."""
    return [float(n) for n in np.random.default_rng([part & 0xFFFFFFFF for part in key]).uniform(-1, 1, count)]


def _found(judged: JudgedClaim) -> str:
    return "; ".join(f"{verdict.ours} {verdict.state}" for verdict in judged.judging.values())
