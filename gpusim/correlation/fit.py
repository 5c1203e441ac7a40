"""What no source tells, fitted to measured points: few values of the configuration, and the time no kernel takes.

The error is the mean of |modelled / measured - 1| over the points. The search starts at the first value of each
parameter; every other value is tried with the rest as they are, the one that lowers the error most is taken, and so on
until none lowers it. Which parameters the points determine is told by drawing the points again, with replacement: how
often does the value found beat another one?
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusim.config.measured import FitSpec
from gpusim.correlation.predict import Prediction

RESAMPLES = 1000
LAUNCH_STEPS = 161  # of the range of launch_us
LEAST_GAIN = 0.0025  # of the error, for which a value is changed
DETERMINED = 0.95  # of the resamples in which the value found is better
INTERVAL = (5, 95)  # percentiles of the resamples

Values = dict[str, Any]
Evaluate = Callable[[Sequence[Values]], Sequence[Sequence[Prediction]]]


@dataclass(frozen=True)
class Tried:
    """One value of a parameter with the others as found. error: with its own best launch_us; better: the share of
    resamples in which the value found has a lower error, None of the value found itself."""

    path: str
    value: Any
    error: float
    launch_us: float
    better: float | None

    @property
    def excluded(self) -> bool:
        """Whether the points tell it from the value found."""
        return self.better is not None and self.better >= DETERMINED


@dataclass(frozen=True)
class Fitted:
    """values: by path; launch_us with its interval (INTERVAL of the resamples); error: with these, of the points that
    took part, whose number is `points`; tried: all values of all parameters, around what was found."""

    values: Values
    launch_us: float
    launch_interval_us: tuple[float, float]
    error: float
    tried: tuple[Tried, ...]
    points: int


def fit(spec: FitSpec, evaluate: Evaluate) -> Fitted:
    """Search from the first value of each parameter; `evaluate` predicts all points for each set of values."""
    values: Values = {path: candidates[0] for path, candidates in spec.model.items()}
    known: dict[tuple[tuple[str, Any], ...], Sequence[Prediction]] = {}

    def all_of(wanted: Sequence[Values]) -> None:
        new = [v for v in wanted if _key(v) not in known]
        for held, predictions in zip(new, evaluate(new) if new else (), strict=True):
            known[_key(held)] = predictions

    while True:
        around = [values] + [{**values, path: v} for path, vs in spec.model.items() for v in vs if v != values[path]]
        all_of(around)
        errors = [_best(known[_key(held)], spec)[0] for held in around]
        least = int(np.argmin(errors))
        if errors[0] - errors[least] <= LEAST_GAIN:
            return _fitted(spec, values, known)
        values = around[least]


def _key(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(values.items())


def _fitted(spec: FitSpec, values: Values, known: Mapping[tuple[tuple[str, Any], ...], Sequence[Prediction]]) -> Fitted:
    rng = np.random.default_rng(1)
    here = known[_key(values)]
    draws = rng.integers(0, len(here), (RESAMPLES, len(here)))
    error, launch = _best(here, spec)
    off = _off(here, spec)  # [launch_us, point]
    resampled = off[:, draws].mean(axis=2)  # [launch_us, resample]
    launches = _steps(spec)[np.argmin(resampled, axis=0)]
    tried = []
    for path, candidates in spec.model.items():
        for value in candidates:
            predictions = known[_key({**values, path: value})]
            theirs = _best(predictions, spec)
            better = None
            if value != values[path]:
                other = _off(predictions, spec)[:, draws].mean(axis=2).min(axis=0)
                better = float((resampled.min(axis=0) < other).mean())
            tried.append(Tried(path, value, *theirs, better))
    low, high = np.percentile(launches, INTERVAL)
    return Fitted(values, launch, (float(low), float(high)), error, tuple(tried), len(here))


def _steps(spec: FitSpec) -> np.ndarray:
    return np.linspace(*spec.launch_us, LAUNCH_STEPS)


def _off(predictions: Sequence[Prediction], spec: FitSpec) -> np.ndarray:
    """Return |ratio - 1| as an array [launch_us, point]."""
    modelled = np.array([p.time_us for p in predictions])
    measured = np.array([p.point.time_us for p in predictions])
    own = [p.point.own_launch_us for p in predictions]
    launch = np.stack([_steps(spec) if us is None else np.full(LAUNCH_STEPS, us) for us in own], axis=1)
    return np.asarray(np.abs((modelled + launch) / measured - 1))


def _best(predictions: Sequence[Prediction], spec: FitSpec) -> tuple[float, float]:
    """Return the least error, and the launch_us at which it occurs."""
    errors = _off(predictions, spec).mean(axis=1)
    at = int(np.argmin(errors))
    return float(errors[at]), float(_steps(spec)[at])
