"""Iterations of networks, each pass of a layer by the fastest of several ways: what a system that may choose can have.

A run of a network by one way forces that way on layers in which it loses. A system that chooses by layer and pass takes
none of these: its iteration is the sum of its passes' fastest times.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import FIXED_1, FIXED_2, TIMES
from gpusim.base.spec import param
from gpusim.base.sums import plain_sum
from gpusim.lab.papers.figures.kinds import FigureContent, figure_kind, with_width
from gpusim.lab.papers.figures.layers import LayerMeasurement, LayersFigure
from gpusim.lab.papers.long_table import FigureRecord
from gpusim.lab.papers.network_points import NetworkPoint
from gpusim.lab.papers.pictures import bars, build_panel
from gpusim.lab.papers.publication import Figure, Publication
from gpusim.lab.papers.records import get_direction
from gpusim.lab.papers.specs.reproduction import ReproductionSpec
from gpusim.lab.papers.views import FASTEST_ITERATIONS, FASTEST_PASSES, FASTEST_RATIOS

TIME, ENERGY, COMPUTE = "time", "energy", "compute"
LayerAndPass = tuple[str, str]  # a layer's name and the pass


class RunPlace(NamedTuple):
    """Where systems are compared."""

    network: str
    """Name of the network."""
    batch: str
    """Images."""
    gpu: str
    """Name of the GPU."""


@dataclass(frozen=True)
class IterationCost:
    """What an iteration takes, each pass by the fastest way of a system."""

    time_us: float
    """Time in microseconds."""
    time_half_width: float
    """Half-width of the time: the passes' half-widths add up, as samples of one network may err alike."""
    energy_uj: float
    """Energy of the memory system in microjoules, of the same ways."""
    compute_uj: float
    """Energy of the compute units in microjoules, of the same ways; 0 where the figure does not measure it."""
    compute_half_width: float
    """Half-width of the energy of the compute units: an error of their factor is the same in all passes."""
    fastest: Mapping[LayerAndPass, LayerMeasurement]
    """The fastest way's time of each pass."""

    def ratio_half_width(self, other: "IterationCost") -> float:
        """Return the relative half-width of one iteration's time over another's: what they share scatters alike."""
        shared = {place for place, one in self.fastest.items() if other.fastest.get(place) == one}
        parts = [
            plain_sum(one.half_width for place, one in cost.fastest.items() if place not in shared) / cost.time_us
            for cost in (self, other)
        ]
        return math.hypot(*parts)

    def time_of(self, direction: str) -> float:
        """Return the time of the passes of a direction, in microseconds."""
        return float(
            plain_sum(one.value for (_, part), one in self.fastest.items() if get_direction(part) == direction)
        )


def check_systems(
    figure: Any,
    spec: ReproductionSpec,
    figures: Mapping[str, Figure],
    systems: Mapping[str, Sequence[str]],
    key: str = "",
) -> None:
    """Check a figure of systems, each of which takes the fastest of its ways for every pass of a layer.

    Args:
        figure: The figure.
        spec: The publication.
        figures: The publication's figures.
        systems: Ways of each system.
        key: Where a system has its ways, for messages.

    Raises:
        UserError: Ways are not the figure's, or measures are others than time and energy by pass.
    """
    LayersFigure.check(figure, spec, figures)
    if set(figure.measures) - {COMPUTE} != {TIME, ENERGY} or figure.by != "pass":
        raise UserError(
            f"measures: must be '{TIME}' in microseconds and '{ENERGY}' in microjoules, by pass; that of compute"
            f" units may be beside them: '{COMPUTE}'"
        )
    for name, ways in systems.items():
        for way in ways:
            if way not in figure.ways:
                raise UserError(f"systems.{name}{key}: {unknown_name('way', way, figure.ways)}")


def list_costs(
    figure: LayersFigure, publication: Publication, systems: Mapping[str, Sequence[str]]
) -> Iterator[tuple[RunPlace, str, IterationCost]]:
    """Yield each network, batch and GPU, and each system whose ways there are all known, with its iteration.

    A way in which the network is not run is none of the system's there.

    Args:
        figure: The figure.
        publication: The publication with its results.
        systems: Ways of each system.
    """
    points = [point for point, _ in figure.known_points(publication)]
    known = {(_place_of(point), point.way) for point in points}
    rows = figure.rows(publication)
    times, energies = figure.measure(TIME, rows), figure.measure(ENERGY, rows)
    computing = figure.measure(COMPUTE, rows) if COMPUTE in figure.measures else []
    for place in dict.fromkeys(map(_place_of, points)):
        run = publication.reproduction.runs.list_ways(place.network)
        for name, all_ways in systems.items():
            ways = [way for way in all_ways if way in run]
            if ways and all((place, way) in known for way in ways):
                fastest = _fastest(times, place, ways)
                energy, compute = (
                    [value for value in some if _is_of(fastest, value)] for some in (energies, computing)
                )
                cost = IterationCost(
                    time_us=_sum(value.value for value in fastest.values()),
                    time_half_width=_sum(value.half_width for value in fastest.values()),
                    energy_uj=_sum(value.value for value in energy),
                    compute_uj=_sum(value.value for value in compute),
                    compute_half_width=_sum(value.half_width for value in compute),
                    fastest=fastest,
                )
                yield place, name, cost


def _check(figure: Any, spec: ReproductionSpec, figures: Mapping[str, Figure]) -> None:
    """Raise UserError for ways, measures and systems that are not the figure's."""
    check_systems(figure, spec, figures, figure.systems)
    for name in (name for pair in figure.pairs for name in pair):
        if name not in figure.systems:
            raise UserError(f"pairs: {unknown_name('system', name, figure.systems)}")


@figure_kind("fastest_iterations", LayersFigure, check=_check, format_of=lambda figure, measure: TIMES)
def show_iterations(
    figure: LayersFigure,
    publication: Publication,
    *,
    systems: dict[str, tuple[str, ...]] = param(
        ..., "ways among which each system chooses, by its name", "user", min_length=2
    ),
    pairs: tuple[tuple[str, str], ...] = param(
        ..., "systems that are compared: which is to be faster (`of`), and than which (`over`)", "user", min_length=1
    ),
) -> FigureContent:
    """Show iterations of systems that choose by layer and pass, and by how much each is faster than others.

    Values: the ratio of time and of energy of each pair of systems at each place.
    """
    known: dict[RunPlace, dict[str, IterationCost]] = {}
    for place, name, cost in list_costs(figure, publication, systems):
        known.setdefault(place, {})[name] = cost
    if not known:
        return FigureContent([])
    titles = {name: way.title for name, way in publication.reproduction.runs.ways.items()}
    records, iterations, passes, drawn, base = [], [], list[dict[str, object]](), [], next(iter(systems))
    for place, by_system in known.items():
        iterations += [{**_labels(place), "system": name, **_columns_of(cost)} for name, cost in by_system.items()]
        passes += _list_passes(place, by_system, titles)
        for of, over in pairs:
            if of in by_system and over in by_system:
                faster, slower = by_system[of], by_system[over]
                gain = slower.time_us / faster.time_us
                values = {"gain": gain, "energy_gain": slower.energy_uj / faster.energy_uj}
                widths = {"gain": gain * faster.ratio_half_width(slower)}
                records.append(FigureRecord({**_labels(place), "of": of, "over": over}, values, widths, place.gpu))
        if base in by_system:
            first = by_system[base]
            for name, cost in by_system.items():
                labels = {"group": f"{place.network} {place.batch}", "system": name}
                width = 0.0 if cost is first else cost.ratio_half_width(first)
                gain = first.time_us / cost.time_us
                drawn.append(FigureRecord(labels, {"gain": gain}, {"gain": gain * width}))
    ratios = [{**one.row, "gain": with_width(one, "gain", TIMES)} for one in records]
    tables = [FASTEST_ITERATIONS.table(iterations), FASTEST_RATIOS.table(ratios), FASTEST_PASSES.table(passes)]
    title = f"speed-up of an iteration over {base}"
    panel = build_panel(title, drawn, ("group", "system", "gain"), 1.0, with_half_widths=True)
    return FigureContent(tables, records, bars(figure.title, [panel]) if drawn else None)


def _columns_of(cost: IterationCost) -> dict[str, object]:
    """Return the numbers of a system's iteration, times in milliseconds."""
    directions = ("forward", "backward", "update")
    return {
        "iteration": f"{FIXED_2(cost.time_us / 1e3)} ± {FIXED_2(cost.time_half_width / 1e3)}",
        **{direction: cost.time_of(direction) / 1e3 for direction in directions},
        "millijoules": cost.energy_uj / 1e3,
        "compute": f"{FIXED_1(cost.compute_uj / 1e3)} ± {FIXED_1(cost.compute_half_width / 1e3)}"
        if cost.compute_uj
        else None,
    }


def _list_passes(
    place: RunPlace, by_system: Mapping[str, IterationCost], titles: Mapping[str, str]
) -> Iterator[dict[str, object]]:
    """Yield a row for each system of the passes whose fastest times differ between systems.

    Args:
        place: Network, batch and GPU.
        by_system: Iterations of the systems.
        titles: Titles of the ways by name.
    """
    for layer_pass in next(iter(by_system.values())).fastest:
        found = {name: cost.fastest[layer_pass] for name, cost in by_system.items() if layer_pass in cost.fastest}
        if len({one.value for one in found.values()}) > 1:
            for name, one in found.items():
                layer, part = layer_pass
                labels = {**_labels(place), "layer": layer, "part": part, "system": name}
                yield {**labels, "way": titles[one.of.point.way], "time": one.value / 1e3}


def _sum(numbers: Iterable[float]) -> float:
    return float(plain_sum(numbers))


def _is_of(fastest: Mapping[LayerAndPass, LayerMeasurement], measurement: LayerMeasurement) -> bool:
    """Tell whether a measurement is of the run that is the fastest in its pass."""
    best = fastest.get(_pass_of(measurement))
    return best is not None and best.of.point == measurement.of.point


def _labels(place: RunPlace) -> dict[str, str]:
    return {"network": place.network, "batch": place.batch, "gpu": place.gpu}


def _place_of(point: NetworkPoint) -> RunPlace:
    return RunPlace(point.network, str(point.batch), point.gpu)


def _pass_of(measurement: LayerMeasurement) -> LayerAndPass:
    return measurement.of.row.layer, measurement.of.row.part


def _fastest(
    times: list[LayerMeasurement], place: RunPlace, ways: Sequence[str]
) -> dict[LayerAndPass, LayerMeasurement]:
    """Return the time of the fastest of some ways, by layer and pass.

    Args:
        times: Times of all rows.
        place: Network, batch and GPU.
        ways: Names of the ways.
    """
    fastest: dict[LayerAndPass, LayerMeasurement] = {}
    for one in times:
        if _place_of(one.of.point) == place and one.of.point.way in ways:
            best = fastest.get(_pass_of(one))
            if best is None or one.value < best.value:
                fastest[_pass_of(one)] = one
    return fastest
