"""The points of a sweep: grid, zip, random or Sobol over its axes, without those that its constraints exclude."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpusim.base.errors import MissingExtraError, UserError
from gpusim.base.expressions import condition
from gpusim.base.formats import COUNT
from gpusim.config.sweep import RangeSpec, SweepSpec

MOST_POINTS = 1_000_000
_TRIES = 1000  # draws for each point that is asked for
Point = Mapping[str, Any]


class PointFilter:
    """Which points are part of a sweep: those that fulfil its constraints, each once."""

    def __init__(self, spec: SweepSpec) -> None:
        known = {**spec.sets, **dict.fromkeys(spec.axes)}
        self._sets = spec.sets
        self._constraints = [condition(text, known) for text in spec.constraints]
        self._seen: set[str] = set()

    def note(self, point: Point) -> None:
        """Note that a point is part of the sweep."""
        self._seen.add(repr(point))

    def admits(self, point: Point) -> bool:
        """Tell whether a point is another part of the sweep, and note it; raise UserError where values do not fit."""
        if repr(point) in self._seen or not all(c.value({**self._sets, **point}) for c in self._constraints):
            return False
        self.note(point)
        return True


def list_points(spec: SweepSpec) -> list[Point]:
    """List the points of a sweep without search in order; raise UserError where there are none, or too many."""
    admission = PointFilter(spec)
    found = list(itertools.islice(filter(admission.admits, _DRAWN[spec.method](spec)), spec.points))
    if not found:
        raise UserError(f"constraints: no point is left: {'; '.join(spec.constraints)}")
    return found


def listed(axis: list[Any] | RangeSpec) -> list[Any]:
    """List the values of an axis in order."""
    if isinstance(axis, list):
        return axis
    assert axis.steps is not None
    return list(dict.fromkeys(_at(axis, number / (axis.steps - 1)) for number in range(axis.steps)))


def _at(axis: list[Any] | RangeSpec, part: float) -> Any:
    """Return the value at a place between 0 and 1 of an axis."""
    if isinstance(axis, list):
        return axis[min(int(part * len(axis)), len(axis) - 1)]
    if axis.scale == "log":
        value = axis.low * math.exp(part * math.log(axis.high / axis.low))
    else:
        value = axis.low + part * (axis.high - axis.low)
    if isinstance(axis.low, int) and isinstance(axis.high, int):
        return min(max(round(value), axis.low), axis.high)
    return min(max(value, axis.low), axis.high)


def _grid(spec: SweepSpec) -> Iterator[Point]:
    axes = [listed(axis) for path, axis in spec.axes.items()]
    count = math.prod(map(len, axes))
    if count > MOST_POINTS:
        raise UserError(
            f"axes: a grid of {COUNT(count)} points; allowed are {COUNT(MOST_POINTS)}: method random takes some"
        )
    return (dict(zip(spec.axes, values, strict=True)) for values in itertools.product(*axes))


def _zip(spec: SweepSpec) -> Iterator[Point]:
    axes = {path: listed(axis) for path, axis in spec.axes.items()}
    lengths = {path: len(values) for path, values in axes.items()}
    if len(set(lengths.values())) > 1:
        said = ", ".join(f"{path} has {length}" for path, length in lengths.items())
        raise UserError(f"axes: method zip needs as many values of each axis: {said}")
    return (dict(zip(axes, values, strict=True)) for values in zip(*axes.values(), strict=True))


def random_points(spec: SweepSpec, seed: Any) -> Iterator[Point]:
    """Yield random points, some of them several times; they are many more than the sweep asks for."""
    assert spec.points is not None
    draws = np.random.default_rng(seed)
    for _ in range(spec.points * _TRIES):
        yield _point(spec, draws.random(len(spec.axes)).tolist())


def _sobol(spec: SweepSpec) -> Iterator[Point]:
    """Yield as many points of the sequence as are asked for, rounded up to a power of two."""
    try:
        from scipy.stats import qmc
    except ImportError:
        raise MissingExtraError("method sobol", "sweep") from None
    assert spec.points is not None
    sequence = qmc.Sobol(len(spec.axes), scramble=True, rng=np.random.default_rng(spec.seed))
    for parts in sequence.random_base2(max(spec.points - 1, 0).bit_length()).tolist():
        yield _point(spec, parts)


def _point(spec: SweepSpec, parts: Sequence[float]) -> Point:
    return {path: _at(axis, part) for (path, axis), part in zip(spec.axes.items(), parts, strict=True)}


_DRAWN: dict[str, Callable[[SweepSpec], Iterator[Point]]] = {
    "grid": _grid,
    "zip": _zip,
    "random": lambda spec: random_points(spec, spec.seed),
    "sobol": _sobol,
}
