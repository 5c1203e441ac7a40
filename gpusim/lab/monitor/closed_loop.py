"""The closed loop: what the monitor believes decides, iteration by iteration, which layers' passes skip zeros.

A pass that can skip zeros has a dense time, a sparse one at a few shares of zeros, between which it is a straight line,
and a break-even: the share of zeros from which an estimate says that the sparse one is faster. A training is then added
up over recorded curves: each pass takes the time of the way that was decided, at the zeros that its map truly has.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gpusim.base.errors import unknown_name
from gpusim.base.formats import FIXED_3, GENERAL
from gpusim.base.sums import plain_sum
from gpusim.config.monitor import MonitorSpec
from gpusim.lab.monitor.curves import Curves
from gpusim.lab.monitor.replay import replay
from gpusim.lab.monitor.scheduler import MonitorError

DENSE, SPARSE, THRESHOLD, SHAPE, ORACLE = "dense", "sparse throughout", "one threshold", "closed loop", "oracle"
POLICIES = {
    DENSE: "no layer skips zeros, and nothing is measured",
    SPARSE: "every pass that can skip zeros does, and nothing is measured",
    THRESHOLD: "a pass skips zeros where the monitor believes its map to have as many as the one threshold of all",
    SHAPE: "where the monitor believes it to have as many as the pass's own break-even",
    ORACLE: "where that is faster at its true zeros, and nothing is measured",
}
MEASURED = (THRESHOLD, SHAPE)  # policies that measure


@dataclass(frozen=True)
class SparsePass:
    """A layer's pass that can skip the zeros of the layer's input.

    Raises MonitorError for fewer than two points of `zeros`.
    """

    layer: str
    """Name of the layer."""
    what: str
    """Pass."""
    dense_us: float
    """Time of the dense pass in microseconds."""
    break_even: float | None
    """Estimated share of zeros from which the sparse pass is faster; None: it never is."""
    zeros: tuple[float, ...]
    """Simulated shares of zeros, ascending."""
    sparse_us: tuple[float, ...]
    """Time of the sparse pass at each share, in microseconds."""

    def __post_init__(self) -> None:
        if len(self.zeros) < 2 or len(self.zeros) != len(self.sparse_us) or list(self.zeros) != sorted({*self.zeros}):
            raise MonitorError(
                f"{self.layer} {self.what}: times at zeros of {list(self.zeros)}; at least two are needed, which rise"
            )

    def sparse_times(self, zeros: np.ndarray) -> np.ndarray:
        """Return the sparse time in us at each share of zeros; raise MonitorError beyond those that are known."""
        least, most = float(zeros.min()), float(zeros.max())
        if least < self.zeros[0] or most > self.zeros[-1]:
            raise MonitorError(
                f"{self.layer} {self.what}: zeros from {FIXED_3(least)} to {FIXED_3(most)}; times are known from"
                f" {GENERAL(self.zeros[0])} to {GENERAL(self.zeros[-1])}"
            )
        return np.asarray(np.interp(zeros, self.zeros, self.sparse_us))

    @property
    def interpolation_error(self) -> float | None:
        """How far a point is from the line between its neighbours, relative, at most; None without such a point."""
        held = list(zip(self.zeros, self.sparse_us, strict=True))
        found = [
            abs(float(np.interp(zeros, (before[0], after[0]), (before[1], after[1]))) / time - 1.0)
            for before, (zeros, time), after in zip(held, held[1:], held[2:], strict=False)
        ]
        return max(found, default=None)


@dataclass(frozen=True)
class TimedTraining:
    """Simulated times of a training iteration.

    Raises MonitorError where a layer of `passes` has no measuring time.
    """

    iteration_us: float
    """Time of the dense iteration in microseconds."""
    passes: tuple[SparsePass, ...]
    """Passes that can skip zeros."""
    measuring_us: Mapping[str, float]
    """Time of one measurement of a layer's input in microseconds, by layer."""

    def __post_init__(self) -> None:
        for one in self.passes:
            if one.layer not in self.measuring_us:
                raise MonitorError(f"measuring_us: {unknown_name('layer', one.layer, self.measuring_us)}")


@dataclass(frozen=True)
class PolicyOutcome:
    """A whole training under a policy."""

    policy: str
    """Name of the policy."""
    time_us: float
    """Time of all iterations, including measurements, in microseconds."""
    measuring_us: float
    """Time of the measurements in microseconds."""
    sparse: float
    """Share of sparse passes in all passes of all iterations."""
    misjudged: float
    """Share of passes for which the oracle decides otherwise."""
    changes: int
    """Number of changes between dense and sparse passes."""
    by_pass: tuple[float, ...]
    """Share of iterations in which each pass is sparse."""
    doubt: float
    """Relative uncertainty of `time_us` from interpolation: each pass's `interpolation_error` over its sparse time."""


def closed_loop(timed: TimedTraining, curves: Curves, settings: MonitorSpec | None = None) -> tuple[PolicyOutcome, ...]:
    """Return the training under each of POLICIES, in that order.

    Layers whose passes have no break-even are not measured by the closed loop.

    Args:
        timed: Times by layer, pass and zeros.
        curves: Zeros of each map by iteration.
        settings: Settings of the monitor; None: the default ones.

    Raises:
        MonitorError: The curves lack a layer, or have zeros beyond those whose times are known.
    """
    settings = settings or MonitorSpec()
    truth = {item.layer: curves.line(item.layer) for item in timed.passes if _has(curves, item.layer)}
    sparse = [item.sparse_times(truth[item.layer]) for item in timed.passes]
    gains = [item.dense_us - spent for item, spent in zip(timed.passes, sparse, strict=True)]
    errors = [item.interpolation_error or 0.0 for item in timed.passes]
    best = [gain > 0.0 for gain in gains]
    everywhere, nowhere = (np.full(curves.length, value) for value in (True, False))
    outcomes = []
    for policy in POLICIES:
        decided, measuring = best, 0.0
        if policy == DENSE:
            decided = [nowhere] * len(gains)
        elif policy == SPARSE:
            decided = [everywhere] * len(gains)
        elif policy in MEASURED:
            single = settings.sparse_threshold if policy == THRESHOLD else None
            levels = [single if single is not None else item.break_even for item in timed.passes]
            watched = {item.layer for item, level in zip(timed.passes, levels, strict=True) if level is not None}
            decided, measuring = _watched(timed, curves, settings, levels, watched)
        saved = plain_sum(float(gain[taken].sum()) for gain, taken in zip(gains, decided, strict=True))
        time_us = curves.length * timed.iteration_us - saved + measuring
        off = (error * float(spent[taken].sum()) for error, spent, taken in zip(errors, sparse, decided, strict=True))
        wrong = [taken != right for taken, right in zip(decided, best, strict=True)]
        outcomes.append(
            PolicyOutcome(
                policy=policy,
                time_us=time_us,
                measuring_us=measuring,
                sparse=_mean(decided),
                misjudged=_mean(wrong),
                changes=sum(int(np.count_nonzero(np.diff(taken))) for taken in decided),
                by_pass=tuple(float(taken.mean()) for taken in decided),
                doubt=plain_sum(off) / time_us,
            )
        )
    return tuple(outcomes)


def _has(curves: Curves, layer: str) -> bool:
    if layer not in curves.maps:
        raise MonitorError(f"{curves.name}: {unknown_name('map', layer, curves.maps)}")
    return True


def _watched(
    timed: TimedTraining, curves: Curves, settings: MonitorSpec, levels: list[float | None], watched: set[str]
) -> tuple[list[np.ndarray], float]:
    """Return which iterations of each pass are sparse by what the monitor believes of `watched`, and its own time."""
    if not watched:
        return [np.zeros(curves.length, bool) for _ in timed.passes], 0.0
    held = [number for number, name in enumerate(curves.maps) if name in watched]
    seen = replace(curves, maps=tuple(curves.maps[n] for n in held), sparsity=curves.sparsity[:, held])
    replayed = {one.name: one for one in replay(seen, settings).maps}
    decided = [
        np.zeros(curves.length, bool) if level is None else replayed[one.layer].believed >= level
        for one, level in zip(timed.passes, levels, strict=True)
    ]
    return decided, plain_sum(len(one.measured) * timed.measuring_us[name] for name, one in replayed.items())


def _mean(of_passes: list[np.ndarray]) -> float:
    return plain_sum(float(one.mean()) for one in of_passes) / len(of_passes) if of_passes else 0.0


def break_even(dense: float, sparse: Callable[[float], float]) -> float | None:
    """Return the least share of zeros from which `sparse` of it is below `dense`; None where it never is.

    `sparse` falls as zeros rise.
    """
    steps, step = 1000, 0.001
    low, high = 0, steps + 1
    while low < high:
        middle = (low + high) // 2
        if sparse(min(middle * step, 1.0)) < dense:
            high = middle
        else:
            low = middle + 1
    return None if low > steps else low * step
