"""Iterations of networks, each pass of a layer by the fastest of several ways: what a system that may choose can have.

A run of a network by one way forces that way on layers in which it loses. A system that chooses by layer and pass takes
none of these: its iteration is the sum of its passes' fastest times.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from gpusim.base.errors import UserError, unknown_name
from gpusim.base.formats import FIXED_1, FIXED_2, TIMES
from gpusim.base.picture import Picture
from gpusim.base.spec import param
from gpusim.base.sums import plain_sum
from gpusim.base.table import Table
from gpusim.lab.papers.figures.layers import LayerMeasurement, LayersFigure
from gpusim.lab.papers.long_table import FigureRecord, FigureValue, list_values
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


class FastestPassesFigure(LayersFigure):
    """Base of figures of systems, each of which takes the fastest of its ways for every pass of a layer."""

    ways_key: ClassVar = ""  # of a system, where its ways are: for messages

    @abstractmethod
    def list_systems(self) -> Mapping[str, tuple[str, ...]]:
        """Return the ways of each system, by its name."""

    def check(self, spec: ReproductionSpec, figures: Mapping[str, Figure]) -> None:
        """Raise UserError for ways that are not the figure's, and for measures other than time and energy by pass."""
        super().check(spec, figures)
        if set(self.measures) - {COMPUTE} != {TIME, ENERGY} or self.by != "pass":
            raise UserError(
                f"measures: must be '{TIME}' in microseconds and '{ENERGY}' in microjoules, by pass; that of compute"
                f" units may be beside them: '{COMPUTE}'"
            )
        for name, ways in self.list_systems().items():
            for way in ways:
                if way not in self.ways:
                    raise UserError(f"systems.{name}{self.ways_key}: {unknown_name('way', way, self.ways)}")

    def costs(self, publication: Publication) -> Iterator[tuple[RunPlace, str, IterationCost]]:
        """Yield each network, batch and GPU, and each system whose ways are all known there, with its iteration."""
        points = [point for point, _ in self.known_points(publication)]
        known = {(_place_of(point), point.way) for point in points}
        rows = self.rows(publication)
        times, energies = self.measure(TIME, rows), self.measure(ENERGY, rows)
        computing = self.measure(COMPUTE, rows) if COMPUTE in self.measures else []
        for place in dict.fromkeys(map(_place_of, points)):
            for name, ways in self.list_systems().items():
                if all((place, way) in known for way in ways):
                    fastest = _fastest(times, place, ways)
                    energy, compute = (
                        [value for value in some if _is_of(fastest, value)] for some in (energies, computing)
                    )
                    yield (
                        place,
                        name,
                        IterationCost(
                            time_us=_sum(value.value for value in fastest.values()),
                            time_half_width=_sum(value.half_width for value in fastest.values()),
                            energy_uj=_sum(value.value for value in energy),
                            compute_uj=_sum(value.value for value in compute),
                            compute_half_width=_sum(value.half_width for value in compute),
                            fastest=fastest,
                        ),
                    )


class IterationsFigure(FastestPassesFigure):
    """Iterations of systems that choose by layer and pass, and by how much each is faster than others."""

    kind: Literal["fastest_iterations"] = param("fastest_iterations", "what is shown", "")
    systems: dict[str, tuple[str, ...]] = param(
        ..., "ways among which each system chooses, by its name", "user", min_length=2
    )
    pairs: tuple[tuple[str, str], ...] = param(
        ..., "systems that are compared: which is to be faster (`of`), and than which (`over`)", "user", min_length=1
    )

    def list_systems(self) -> Mapping[str, tuple[str, ...]]:
        """Return the ways of each system, by its name."""
        return self.systems

    def check(self, spec: ReproductionSpec, figures: Mapping[str, Figure]) -> None:
        """Raise UserError for ways, measures and systems that are not the figure's."""
        super().check(spec, figures)
        for name in (name for pair in self.pairs for name in pair):
            if name not in self.systems:
                raise UserError(f"pairs: {unknown_name('system', name, self.systems)}")

    def _known(self, publication: Publication) -> dict[RunPlace, dict[str, IterationCost]]:
        """Return the known iterations by place and system."""
        known: dict[RunPlace, dict[str, IterationCost]] = {}
        for place, name, cost in self.costs(publication):
            known.setdefault(place, {})[name] = cost
        return known

    def records(self, publication: Publication) -> list[FigureRecord]:
        """List the ratio of time and of energy of each pair of systems at each place."""
        records = []
        for place, by_system in self._known(publication).items():
            for of, over in self.pairs:
                if of in by_system and over in by_system:
                    faster, slower = by_system[of], by_system[over]
                    gain = slower.time_us / faster.time_us
                    labels = {**_labels(place), "of": of, "over": over}
                    values = {"gain": gain, "energy_gain": slower.energy_uj / faster.energy_uj}
                    widths = {"gain": gain * faster.ratio_half_width(slower)}
                    records.append(FigureRecord(labels, values, widths, place.gpu))
        return records

    def format_of(self, measure: str) -> Callable[[float], str]:
        """Return the format of a ratio."""
        return TIMES

    def values(self, publication: Publication) -> Iterator[FigureValue]:
        """Yield the ratios of all pairs."""
        return list_values(self.records(publication))

    def tables(self, publication: Publication) -> Iterator[Table]:
        """Yield a table of iterations, one of ratios, and one of the passes whose way differs between systems."""
        known = self._known(publication)
        if known:
            systems = [
                {**_labels(place), "system": name, **_columns_of(cost)}
                for place, by_system in known.items()
                for name, cost in by_system.items()
            ]
            yield FASTEST_ITERATIONS.table(systems)
            ratios = [{**one.row, "gain": with_width(one, "gain", TIMES)} for one in self.records(publication)]
            yield FASTEST_RATIOS.table(ratios)
            titles = {name: way.title for name, way in publication.reproduction.runs.ways.items()}
            yield FASTEST_PASSES.table(
                row for place, some in known.items() for row in _list_passes(place, some, titles)
            )

    def picture(self, publication: Publication) -> Picture | None:
        """Draw each system's iteration over the first system's, by network."""
        records = []
        for place, by_system in self._known(publication).items():
            first = by_system.get(next(iter(self.systems)))
            for name, cost in by_system.items() if first is not None else ():
                labels = {"group": f"{place.network} {place.batch}", "system": name}
                width = 0.0 if cost is first else cost.ratio_half_width(first)  # type: ignore[arg-type]
                value = first.time_us / cost.time_us  # type: ignore[union-attr]
                records.append(FigureRecord(labels, {"gain": value}, {"gain": value * width}))
        title = f"speed-up of an iteration over {next(iter(self.systems))}"
        panel = build_panel(title, records, ("group", "system", "gain"), 1.0, with_half_widths=True)
        return bars(self.title, [panel]) if records else None


def with_width(record: FigureRecord, measure: str, write: Callable[[float], str]) -> str:
    """Return a value with its half-width as text.

    Args:
        record: The record.
        measure: Name of the value.
        write: How both are written.
    """
    width = record.half_widths.get(measure, 0.0)
    return f"{write(record.values[measure])} ± {write(width)}" if width else write(record.values[measure])


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
    times: list[LayerMeasurement], place: RunPlace, ways: tuple[str, ...]
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
