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

from gpusim.base.sums import plain_sum
from gpusim.lab.silicon.measured import FitSpec, LaunchOverhead
from gpusim.lab.silicon.prediction import Prediction

RESAMPLES = 1000
LAUNCH_STEPS = 161  # of the range of launch_us
LEAST_GAIN = 0.0025  # of the error, for which a value is changed
DETERMINED = 0.95  # of the resamples in which the value found is better
INTERVAL = (5, 95)  # percentiles of the resamples

FitValues = dict[str, Any]
Evaluate = Callable[[Sequence[FitValues]], Sequence[Sequence[Prediction]]]


@dataclass(frozen=True)
class FitCandidate:
    """One candidate value of a fitted parameter; the other parameters have their fitted values."""

    path: str
    """Path of the parameter."""
    value: Any
    """Candidate value."""
    error: float
    """Mean absolute error with the best `launch_us` for this value."""
    launch_us: float
    """Best overhead outside kernels for this value, in microseconds."""
    better: float | None
    """Share of resamples in which the fitted value has a lower error; None: this is the fitted value."""

    @property
    def excluded(self) -> bool:
        """Whether the points tell it from the value found."""
        return self.better is not None and self.better >= DETERMINED


@dataclass(frozen=True)
class ParameterFit:
    """Fitted parameters of the model."""

    values: FitValues
    """Fitted values by path."""
    launch_us: float
    """Fitted overhead of a measurement outside kernels, in microseconds."""
    launch_interval_us: tuple[float, float]
    """Interval of `launch_us` over the resamples (INTERVAL), in microseconds."""
    error: float
    """Mean absolute error of the fitted points."""
    tried: tuple[FitCandidate, ...]
    """Candidates of all parameters, around the fitted values."""
    points: int
    """Number of fitted points."""
    hip_launch_us: float | None = None
    """Overhead outside kernels for compiled kernels, in microseconds; None: the same as `launch_us`."""

    @property
    def launches(self) -> LaunchOverhead:
        """The times of a measurement that no kernel takes."""
        return LaunchOverhead(self.launch_us, self.hip_launch_us)


def fit(spec: FitSpec, evaluate: Evaluate, hip_apart: bool = False) -> ParameterFit:
    """Search from the first value of each parameter; `evaluate` predicts all points for each set of values.

    hip_apart: measurements of compiled kernels hold another time beside the kernels than those of the others.
    """
    values: FitValues = {path: candidates[0] for path, candidates in spec.model.items()}
    known: dict[tuple[tuple[str, Any], ...], _Deviations] = {}

    def all_of(wanted: Sequence[FitValues]) -> None:
        new = [v for v in wanted if _key(v) not in known]
        for tried, predictions in zip(new, evaluate(new) if new else (), strict=True):
            known[_key(tried)] = _Deviations.of(predictions, spec, hip_apart)

    while True:
        around = [values] + [{**values, path: v} for path, vs in spec.model.items() for v in vs if v != values[path]]
        all_of(around)
        errors = [known[_key(values_around)].least()[0] for values_around in around]
        least = int(np.argmin(errors))
        if errors[0] - errors[least] <= LEAST_GAIN:
            return _fitted(spec, values, known)
        values = around[least]


def _key(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(values.items())


def _fitted(
    spec: FitSpec, values: FitValues, known: "Mapping[tuple[tuple[str, Any], ...], _Deviations]"
) -> ParameterFit:
    rng = np.random.default_rng(1)
    here = known[_key(values)]
    draws = rng.integers(0, here.points, (RESAMPLES, here.points))
    error, (launch, *hip) = here.least()
    errors, launches = here.resampled(draws)
    tried = []
    for path, candidates in spec.model.items():
        for value in candidates:
            other = known[_key({**values, path: value})]
            other_error, (other_launch, *_) = other.least()
            better = None if value == values[path] else float((errors < other.resampled(draws)[0]).mean())
            tried.append(FitCandidate(path, value, other_error, other_launch, better))
    low, high = np.percentile(launches, INTERVAL)
    interval = (float(low), float(high))
    return ParameterFit(
        values=values,
        launch_us=launch,
        launch_interval_us=interval,
        error=error,
        tried=tuple(tried),
        points=here.points,
        hip_launch_us=hip[0] if hip else None,
    )


def _steps(spec: FitSpec) -> np.ndarray:
    return np.linspace(*spec.launch_us, LAUNCH_STEPS)


@dataclass(frozen=True)
class _Deviations:
    """Errors of points for each candidate overhead outside kernels."""

    steps: np.ndarray
    """float64 [steps]: candidate overheads in microseconds."""
    off: np.ndarray
    """float64 [steps, points]: |ratio - 1|."""
    kinds: np.ndarray
    """bool [kinds, points]: points that share one overhead."""

    @classmethod
    def of(cls, predictions: Sequence[Prediction], spec: FitSpec, hip_apart: bool) -> "_Deviations":
        steps = _steps(spec)
        modelled = np.array([p.time_us + getattr(p.point, "call_us", 0.0) for p in predictions])
        measured = np.array([p.point.time_us for p in predictions])
        own = [p.point.own_launch_us for p in predictions]
        launch = np.stack([steps if us is None else np.full(LAUNCH_STEPS, us) for us in own], axis=1)
        hip = np.array([hip_apart and p.point.is_compiled for p in predictions])
        kinds = np.stack([~hip, hip]) if hip.any() else ~hip[np.newaxis]
        return cls(steps, np.asarray(np.abs((modelled + launch) / measured - 1)), kinds)

    @property
    def points(self) -> int:
        return int(self.off.shape[1])

    def least(self) -> tuple[float, list[float]]:
        """Return the least error, and the time of each kind at which it occurs."""
        sums = [self.off[:, kind].sum(axis=1) for kind in self.kinds]
        launches = [float(self.steps[np.argmin(held)]) for held in sums]
        return plain_sum(float(held.min()) for held in sums) / self.points, launches

    def resampled(self, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the least error of each draw [draw, point], and the first kind's time."""
        sums = [(self.off * kind)[:, draws].sum(axis=2) for kind in self.kinds]  # [kind][step, draw]
        least = np.sum([held.min(axis=0) for held in sums], axis=0) / self.points
        return least, self.steps[np.argmin(sums[0], axis=0)]
