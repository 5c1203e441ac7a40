"""Points that are asked for where earlier ones say that the objectives are best: Optuna's samplers, by ask and tell.

The store is the truth. For each batch of points a study is made anew of what the store has of those before, with a seed
of the batch's own: a search that goes on asks for the points that one which was never stopped asks for.
"""

import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpusim.base.errors import MissingExtraError
from gpusim.config.sweep import RangeSpec, SweepSpec
from gpusim.store.keeper import axis_value
from gpusim.sweep.points import Admission, Point, listed, random_points

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
        self._axes = [_Axis(path, axis) for path, axis in spec.axes.items()]
        self._admission = Admission(spec)

    def next(self, points: Sequence[Point], values: Sequence[Sequence[float] | None]) -> list[Point]:
        """Return the next batch of points; empty if all possible points have been asked for.

        points: those asked for so far; values: of the objectives at each of these points, None where there are none.
        """
        assert self._spec.points is not None
        there_can_be = math.prod(axis.size for axis in self._axes)
        count = int(min(self._spec.search.batch, self._spec.points - len(points), there_can_be - len(points)))
        for point in points:
            self._admission.note(point)
        sequence = np.random.SeedSequence([self._spec.seed, len(points)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", self._optuna.exceptions.ExperimentalWarning)
            study = self._study(points, values, int(sequence.generate_state(1)[0]))
            found = [self._asked(study) for _ in range(count)]
        drawn = filter(self._admission.admits, random_points(self._spec, sequence))
        return [point for point in (asked or next(drawn, None) for asked in found) if point is not None]

    def point_of(self, stored: Mapping[str, Any]) -> Point:
        """Return the point whose stored values are given."""
        return {axis.path: axis.value_of(stored[axis.path]) for axis in self._axes}

    def _study(self, points: Sequence[Point], values: Sequence[Sequence[float] | None], seed: int) -> Any:
        optuna = self._optuna
        sampler = optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=self._spec.search.random, multivariate=True, constant_liar=True
        )
        study = optuna.create_study(directions=list(self._spec.objectives.values()), sampler=sampler)
        state = optuna.trial.TrialState
        for point, found in zip(points, values, strict=True):
            study.add_trial(
                optuna.trial.create_trial(
                    state=state.FAIL if found is None else state.COMPLETE,
                    params={axis.path: axis.place_of(point[axis.path]) for axis in self._axes},
                    distributions=self._distributions,
                    values=found,
                )
            )
        return study

    def _asked(self, study: Any) -> Point | None:
        """Return a point that the study asks for; None if it only asks for known ones."""
        for _ in range(_TRIES):
            trial = study.ask(self._distributions)
            point = {axis.path: axis.value_at(trial.params[axis.path]) for axis in self._axes}
            if self._admission.admits(point):
                return point
            study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        return None

    @property
    def _distributions(self) -> dict[str, Any]:
        return {axis.path: axis.distribution(self._optuna.distributions) for axis in self._axes}


class _Axis:
    """An axis for Optuna: places of a list's values, in their order where they have one, or a range's values."""

    def __init__(self, path: str, axis: list[Any] | RangeSpec) -> None:
        self.path, self._axis = path, axis
        self._values = None if isinstance(axis, RangeSpec) and axis.steps is None else listed(axis)

    @property
    def size(self) -> float:
        """The number of values; infinite for a range without steps."""
        return math.inf if self._values is None else len(self._values)

    def distribution(self, kinds: Any) -> Any:
        """Return the axis's distribution, an object of Optuna's module `distributions`."""
        if self._values is None:
            assert isinstance(self._axis, RangeSpec)
            low, high, log = self._axis.low, self._axis.high, self._axis.scale == "log"
            if isinstance(low, int) and isinstance(high, int):
                return kinds.IntDistribution(low, high, log)
            return kinds.FloatDistribution(low, high, log)
        if all(type(value) in (int, float) for value in self._values) and all(
            a < b for a, b in itertools.pairwise(self._values)
        ):
            return kinds.IntDistribution(0, len(self._values) - 1)
        return kinds.CategoricalDistribution(range(len(self._values)))

    def value_at(self, place: Any) -> Any:
        """Return a point's value at this place of the axis."""
        return place if self._values is None else self._values[place]

    def value_of(self, stored: Any) -> Any:
        """Return the axis's value that a store has as `stored`."""
        if self._values is None:
            return stored
        return next(value for value in self._values if axis_value(value) == stored)

    def place_of(self, value: Any) -> Any:
        """Return the place of a point's value on the axis."""
        return value if self._values is None else self._values.index(value)
