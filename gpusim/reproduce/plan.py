"""The plan: all points of the chosen figures, each once, with what they are estimated to cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gpusim.base.errors import UserError
from gpusim.base.sums import plain_sum
from gpusim.config.figure import Figure, RunsFigure
from gpusim.config.reproduction import Reproduction
from gpusim.config.run import RunConfig
from gpusim.reproduce.points import Point, points_of, shape_of
from gpusim.store.work import Work, work_of_run

PREPARED_MB_PER_S = 150.0  # of the dense operand: drawn, im2col, packed; measured


@dataclass(frozen=True)
class Planned:
    """A point with its run's configuration. seconds: estimated processor time."""

    point: Point
    config: RunConfig
    seconds: float

    @cached_property
    def work(self) -> Work:
        """The run's identity in a store."""
        return work_of_run(self.config)


@dataclass(frozen=True)
class Plan:
    """The points to run, by key; by_figure: keys of each figure's points, none for one that needs no run."""

    points: Mapping[str, Planned]
    by_figure: Mapping[str, tuple[str, ...]]

    def seconds(self, figure: str | None = None) -> float:
        """Return the estimated processor time of a figure's points, or of all, in seconds."""
        keys = self.points if figure is None else self.by_figure[figure]
        return plain_sum(self.points[key].seconds for key in keys)


def plan_of(reproduction: Reproduction, figures: Mapping[str, Figure], exact: bool = False) -> Plan:
    """Plan the points of these figures; raise UserError where two points with the same key differ."""
    points: dict[str, Planned] = {}
    by_figure: dict[str, tuple[str, ...]] = {}
    for name, figure in figures.items():
        keys = []
        for point in points_of(reproduction, figure, exact) if isinstance(figure, RunsFigure) else ():
            held = points.get(point.key)
            if held is None:
                config = point.config()
                points[point.key] = Planned(point, config, _seconds(reproduction, point, config, exact))
            elif (held.point.sets, held.point.given.data) != (point.sets, point.given.data):
                raise UserError(f"{name}: '{point.key}' is another point than that of this name in a figure before it")
            keys.append(point.key)
        by_figure[name] = tuple(keys)
    return Plan(points, by_figure)


def _seconds(reproduction: Reproduction, point: Point, config: RunConfig, exact: bool) -> float:
    shape, way = shape_of(config), reproduction.spec.paths[point.labels["path"]]
    gmac = 1e-9 * shape.m * shape.n * shape.k
    simulated = min(gmac, reproduction.spec.sampled_gmac) if way.sampled and not exact else gmac
    prepared = 4e-6 * shape.n * shape.ldb / PREPARED_MB_PER_S
    return 1.0 + prepared + way.seconds_per_gmac * simulated
