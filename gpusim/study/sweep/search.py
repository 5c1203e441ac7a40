"""Points that are asked for where earlier ones say that the objectives are best: Optuna's samplers, by ask and tell.

What is asked for are designs: of an axis that is a workload each is run at all values, and its objectives are the means
over these. So no search ends at the workload that is done soonest.

The store is the truth. For each batch of points a study is made anew of what the store has of those before, with a seed
of the batch's own: a search that goes on asks for the points that one which was never stopped asks for.
"""

import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpusim.base.axis_roles import roles_of
from gpusim.base.errors import MissingExtraError, UserError
from gpusim.config.sweep import RangeSpec, SweepSpec
from gpusim.results.report.sweeps.points import is_rate, mean_of
from gpusim.results.store.keeper import axis_value
from gpusim.study.sweep.points import Point, PointFilter, listed, random_points

_TRIES = 20  # questions for a point that is new and fulfils the constraints, before one is drawn at random


class Search:
    """Asks for the points of a sweep of method search; raises MissingExtraError without Optuna."""

    def __init__(self, spec: SweepSpec) -> None:
        try:
            import optuna
        except ImportError:
            raise MissingExtraError("method search (Optuna)", "sweep") from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna, self._spec = optuna, spec
        roles = roles_of(spec.axes, spec.roles)
        axes = [_Axis(path, axis) for path, axis in spec.axes.items()]
        together = ("workload", "environment", "repeat")
        self._axes = [axis for axis in axes if roles[axis.path] not in together]
        if not self._axes:
            raise UserError("method search: no axis is a design (roles: says which are): there is nothing to choose")
        self._every = [dict(zip(names, values, strict=True)) for names, values in _combinations(axes, self._axes)]
        self._all = {axis.path: axis for axis in axes}
        self._admission = PointFilter(spec)
        if spec.points is not None and spec.points < len(self._every):
            raise UserError(f"points: {spec.points} is not allowed: a design alone is run at {len(self._every)} points")

    def next(self, points: Sequence[Point], values: Sequence[Sequence[float] | None]) -> list[Point]:
        """Return the next batch of points; empty if all possible points have been asked for, or nothing is gained.

        Args:
            points: Those asked for so far.
            values: Values of the objectives at each of these points, None where there are none.
        """
        assert self._spec.points is not None
        designs = self._designs(points, values)
        there_can_be = math.prod(axis.size for axis in self._axes)
        left = (self._spec.points - len(points)) // len(self._every)
        count = int(min(self._spec.search.batch, left, there_can_be - len(designs)))
        if self.plateau(points, values):
            return []
        for point in points:
            self._admission.note(point)
        sequence = np.random.SeedSequence([self._spec.seed, len(points)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._optuna.exceptions.ExperimentalWarning)
            study = self._study(designs, int(sequence.generate_state(1)[0]))
            found: list[list[Point] | None] = list(itertools.islice(self._steps(designs), count))
            found += [self._asked(study) for _ in range(count - len(found))]
        drawn = iter(self._admitted(self._design_of(point)) for point in random_points(self._spec, sequence))
        more = (asked or next(filter(None, drawn), None) for asked in found)
        return [point for held in more if held is not None for point in held]

    def _steps(self, designs: Sequence[tuple[Point, list[float] | None]]) -> Iterator[list[Point]]:
        """Yield the points of new designs a step away from the best ones, the best first, once it is time for that.

        A sampler comes near the best soon, and rarely to it: among designs of equal cycles, to the smallest. The first
        objective decides what is best, then the next; smaller values are tried first.
        """
        assert self._spec.points is not None
        if len(designs) < (1 - self._spec.search.steps) * (self._spec.points // len(self._every)):
            return
        signs = [1 if way == "minimize" else -1 for way in self._spec.objectives.values()]
        known = [(design, found) for design, found in designs if found is not None]
        stepped = [axis for axis in self._axes if axis.is_stepped]
        for design, _ in sorted(known, key=lambda one: [sign * v for sign, v in zip(signs, one[1], strict=True)]):
            for axis, step in [(axis, -1) for axis in stepped] + [(axis, 1) for axis in stepped]:
                place = axis.place_of(design[axis.path]) + step
                if 0 <= place < axis.size and (points := self._admitted({**design, axis.path: axis.value_at(place)})):
                    yield points

    def plateau(self, points: Sequence[Point], values: Sequence[Sequence[float] | None]) -> bool:
        """Tell whether the last `patience` designs have brought nothing: each is beaten or equalled by one before."""
        known = [found for _, found in self._designs(points, values)]
        lately = self._spec.search.patience
        before, last = known[:-lately] if lately else known, known[-lately:] if lately else []
        if not lately or len(before) < self._spec.search.random:
            return False
        signs = [1 if way == "minimize" else -1 for way in self._spec.objectives.values()]
        signed = [[(sign * v, 0.0) for sign, v in zip(signs, one, strict=True)] for one in before if one is not None]
        news = [[(sign * v, 0.0) for sign, v in zip(signs, one, strict=True)] for one in last if one is not None]
        return not any(all(any(a < b for a, b in zip(new, old, strict=True)) for old in signed) for new in news)

    def point_of(self, stored: Mapping[str, Any]) -> Point:
        """Return the point whose stored values are given."""
        return {path: axis.value_of(stored[path]) for path, axis in self._all.items()}

    def _designs(
        self, points: Sequence[Point], values: Sequence[Sequence[float] | None]
    ) -> list[tuple[Point, list[float] | None]]:
        """Return the designs in the order asked for, with the means of their points' objectives, None if one lacks."""
        held: dict[str, tuple[Point, list[Sequence[float] | None]]] = {}
        for point, found in zip(points, values, strict=True):
            design = self._design_of(point)
            held.setdefault(repr(design), (design, []))[1].append(found)
        made = []
        for design, found_values in held.values():
            whole = [found for found in found_values if found is not None]
            is_whole = len(whole) == len(found_values)
            means = [
                mean_of([(value, 0.0) for value in column], is_rate(text))[0]
                for text, column in zip(self._spec.objectives, zip(*whole, strict=True), strict=False)
            ]
            made.append((design, means if is_whole else None))
        return made

    def _design_of(self, point: Point) -> Point:
        return {axis.path: point[axis.path] for axis in self._axes}

    def _admitted(self, design: Point) -> list[Point] | None:
        """Return a design's new points at all workloads that constraints allow; None without any."""
        points = ({path: {**design, **fixed}[path] for path in self._all} for fixed in self._every)
        return [point for point in points if self._admission.admits(point)] or None

    def _study(self, designs: Sequence[tuple[Point, list[float] | None]], seed: int) -> Any:
        optuna = self._optuna
        sampler = optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=self._spec.search.random, multivariate=True, constant_liar=True
        )
        study = optuna.create_study(directions=list(self._spec.objectives.values()), sampler=sampler)
        state = optuna.trial.TrialState
        for point, values in designs:
            study.add_trial(
                optuna.trial.create_trial(
                    state=state.FAIL if values is None else state.COMPLETE,
                    params={axis.path: axis.place_of(point[axis.path]) for axis in self._axes},
                    distributions=self._distributions,
                    values=values,
                )
            )
        return study

    def _asked(self, study: Any) -> list[Point] | None:
        """Return the points of a design that the study asks for; None if it only asks for known ones."""
        for _ in range(_TRIES):
            trial = study.ask(self._distributions)
            design = {axis.path: axis.value_at(trial.params[axis.path]) for axis in self._axes}
            if points := self._admitted(design):
                return points
            study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return None

    @property
    def _distributions(self) -> dict[str, Any]:
        return {axis.path: axis.distribution(self._optuna.distributions) for axis in self._axes}


def _combinations(axes: Sequence["_Axis"], chosen: Sequence["_Axis"]) -> Iterator[tuple[list[str], tuple[Any, ...]]]:
    """Yield the axes that are not searched, with each combination of their values; raise UserError for a range."""
    others = [axis for axis in axes if axis not in chosen]
    for axis in others:
        if axis.values is None:
            raise UserError(f"axes: {axis.path}: is no design and run at all its values: steps, or a list, are needed")
    for values in itertools.product(*(axis.values or () for axis in others)):
        yield [axis.path for axis in others], values


class _Axis:
    """An axis for Optuna: places of a list's values, in their order where they have one, or a range's values."""

    def __init__(self, path: str, axis: list[Any] | RangeSpec) -> None:
        self.path, self._axis = path, axis
        self.values = None if isinstance(axis, RangeSpec) and axis.steps is None else listed(axis)

    @property
    def size(self) -> float:
        """The number of values; infinite for a range without steps."""
        return math.inf if self.values is None else len(self.values)

    @property
    def is_stepped(self) -> bool:
        """Whether it has numbers in ascending order, of which one is next to another."""
        values = self.values or []
        numbers = all(type(value) in (int, float) for value in values)
        return bool(values) and numbers and all(a < b for a, b in itertools.pairwise(values))

    def distribution(self, kinds: Any) -> Any:
        """Return the axis's distribution, an object of Optuna's module `distributions`."""
        if self.values is None:
            assert isinstance(self._axis, RangeSpec)
            low, high, log = self._axis.low, self._axis.high, self._axis.scale == "log"
            if isinstance(low, int) and isinstance(high, int):
                return kinds.IntDistribution(low, high, log)
            return kinds.FloatDistribution(low, high, log)
        if self.is_stepped:
            return kinds.IntDistribution(0, len(self.values) - 1)
        return kinds.CategoricalDistribution(range(len(self.values)))

    def value_at(self, place: Any) -> Any:
        """Return a point's value at this place of the axis."""
        return place if self.values is None else self.values[place]

    def value_of(self, stored: Any) -> Any:
        """Return the axis's value that a store has as `stored`."""
        if self.values is None:
            return stored
        return next(value for value in self.values if axis_value(value) == stored)

    def place_of(self, value: Any) -> Any:
        """Return the place of a point's value on the axis."""
        return value if self.values is None else self.values.index(value)
