"""The time of a launch: its bounds taken together, times a correction that is fitted to simulated launches.

The correction's logarithm is linear in what `features` says of a launch, and has a part for each kernel that was seen;
all weights are shrunk towards zero (ridge regression, Hoerl and Kennard 1970), so that a kernel that was never seen
gets what is common to all. Outside of what was seen a feature counts as the nearest value that was. No estimate is
below the largest bound that no run can beat.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import ceil, exp, log

import numpy as np

from gpusim.jobs.estimates.bounds import RESOURCES, Bounds, bounds
from gpusim.jobs.estimates.launches import LaunchDemand
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.gpu_spec import GpuSpec
from isa.trace import LINE_BYTES

SHRUNK = 3.0  # launches of average spread that a feature's weight of zero is worth
KERNEL_SHRUNK = 2.0  # launches that a kernel's part of zero is worth
LEAST_RESIDENT = 0.1  # wavefronts of a SIMD in the mean: below, launches are alike


@dataclass(frozen=True)
class Feature:
    """A feature of the fit."""

    mean: float
    """Mean in the fit."""
    deviation: float
    """Standard deviation in the fit."""
    least: float
    """Least value in the fit."""
    most: float
    """Largest value in the fit."""
    weight: float
    """Weight of the feature."""

    def part(self, value: float) -> float:
        """Return its part of the correction's logarithm."""
        return self.weight * (min(max(value, self.least), self.most) - self.mean) / self.deviation


@dataclass(frozen=True)
class Correction:
    """A fitted correction of the bounds."""

    constant: float
    """Logarithm of the factor at the features' means."""
    features: Mapping[str, Feature]
    """Features by name."""
    kernels: Mapping[str, float]
    """Term of each kernel in the logarithm, by name."""

    def factor(self, values: Mapping[str, float], kernel: str) -> float:
        """Return by what the bounds together are multiplied."""
        known = self.constant + self.kernels.get(kernel, 0.0)
        for name, feature in self.features.items():
            known += feature.part(values[name])
        return exp(known)

    def cycles(self, asked: LaunchDemand, kernel: str, gpu: GpuSpec) -> "LaunchEstimate":
        """Estimate a launch."""
        found = bounds(asked, gpu)
        factor = self.factor(features(found, asked), kernel)
        return LaunchEstimate(max(found.most, found.together * factor), found, kernel in self.kernels)


NONE = Correction(0.0, {}, {})  # the bounds alone


@dataclass(frozen=True)
class LaunchEstimate:
    """Estimate of a launch."""

    cycles: float
    """Estimated cycles."""
    bounds: Bounds
    """Bounds on the cycles."""
    known: bool
    """The fit includes the kernel."""


@dataclass(frozen=True)
class FitExample:
    """A simulated launch for the fit."""

    group: str
    """Group that cross-validation leaves out together."""
    kernel: str
    """Name of the kernel."""
    values: Mapping[str, float]
    """Features by name."""
    together: float
    """Combined bound in cycles."""
    most: float
    """Largest bound in cycles."""
    cycles: float
    """Simulated cycles."""
    key: Hashable = None
    """Key that identical launches of all groups share."""

    @classmethod
    def of(
        cls, group: str, kernel: str, asked: LaunchDemand, gpu: GpuSpec, cycles: float, key: Hashable = None
    ) -> "FitExample":
        """Make the example of a launch."""
        limits = bounds(asked, gpu)
        return cls(
            group=group,
            kernel=kernel,
            values=features(limits, asked),
            together=limits.together,
            most=limits.most,
            cycles=cycles,
            key=key,
        )

    def estimated(self, correction: Correction) -> float:
        """Return the cycles that a correction has for it."""
        return max(self.most, self.together * correction.factor(self.values, self.kernel))


_GEOMETRY = (
    "rounds that are not full",
    "wavefronts of a SIMD",
    "wavefronts of a workgroup",
    "workgroups of a compute unit",
    "bytes loaded again",
)
_PAIRS = tuple(combinations_with_replacement(RESOURCES, 2))
FEATURES = (*RESOURCES, *(f"{one} × {other}" for one, other in _PAIRS), *_GEOMETRY)


def features(limits: Bounds, asked: LaunchDemand) -> dict[str, float]:
    """Return what the correction is linear in: the bounds' shares, products of two of them, logarithms of geometry.

    Nothing of it grows with the size of a launch: what was seen of small launches is to hold for large ones.
    """
    shares = {name: limits.all[name] / limits.together for name in RESOURCES}
    pairs = (shares[one] * shares[other] for one, other in _PAIRS)
    work, rounds = asked.work, limits.rounds
    loaded = work.load_lines * LINE_BYTES
    geometry = (
        log(ceil(rounds) / rounds) if rounds > 1 else 0.0,
        log(max(min(rounds, 1.0) * asked.resident * work.wavefronts / SIMDS, LEAST_RESIDENT)),
        log(work.wavefronts),
        log(asked.resident),
        log(max(loaded / asked.read_bytes, 1.0)) if asked.read_bytes else 0.0,
    )
    return dict(zip(FEATURES, (*shares.values(), *pairs, *geometry), strict=True))


def fit(examples: Sequence[FitExample], shrunk: float = SHRUNK, kernel_shrunk: float = KERNEL_SHRUNK) -> Correction:
    """Fit a correction to the examples' cycles, all of them alike.

    Args:
        examples: Simulated and estimated cycles of kernels.
        shrunk: Examples that count for the mean of all.
        kernel_shrunk: The same for a kernel of its kind.

    Raises:
        ValueError: There are no examples.
    """
    if not examples:
        raise ValueError("a correction cannot be fitted to no examples")
    names = list(examples[0].values)
    x = np.array([[example.values[name] for name in names] for example in examples])
    y = np.log([example.cycles / example.together for example in examples])
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    deviation[deviation < 1e-9] = 1.0  # one value throughout: it tells nothing
    kernels = sorted({example.kernel for example in examples})
    place = {kernel: k for k, kernel in enumerate(kernels)}
    of_kernel = np.zeros((len(x), len(kernels)))
    of_kernel[np.arange(len(x)), [place[example.kernel] for example in examples]] = 1.0
    a = np.hstack([np.ones((len(x), 1)), (x - mean) / deviation, of_kernel])
    shrinking = np.concatenate([[0.0], np.full(len(names), shrunk), np.full(len(kernels), kernel_shrunk)])
    weights = np.linalg.solve(a.T @ a + np.diag(shrinking), a.T @ y)
    found = zip(mean, deviation, x.min(axis=0), x.max(axis=0), weights[1:], strict=False)
    fitted = {name: Feature(*map(float, row)) for name, row in zip(names, found, strict=False)}
    parts = weights[1 + len(names) :]
    return Correction(float(weights[0]), fitted, {kernel: float(parts[place[kernel]]) for kernel in kernels})


def extend(correction: Correction, examples: Sequence[FitExample], shrunk: float = SHRUNK) -> Correction:
    """Fit the features of the matrix unit, which are 0 in launches without its products, to launches that have them.

    The other weights stay, so that estimates of launches without products do. Kernels get no parts of their own: a
    library has one for about each product.

    Args:
        correction: A correction; what it has of these features does not count.
        examples: Launches with matrix products.
        shrunk: As of fit.

    Returns:
        The correction with these features.
    """
    names = [name for name in FEATURES if "matrix" in name]
    others = {name: feature for name, feature in correction.features.items() if name not in names}
    base = replace(correction, features=others)
    x = np.array([[example.values[name] for name in names] for example in examples])
    y = np.log([one.cycles / (one.together * base.factor(one.values, one.kernel)) for one in examples])
    deviation = np.sqrt((x**2).mean(axis=0))
    deviation[deviation < 1e-9] = 1.0
    scaled = x / deviation
    weights = np.linalg.solve(scaled.T @ scaled + shrunk * np.eye(len(names)), scaled.T @ y)
    rows = zip(names, deviation, x.max(axis=0), weights, strict=True)
    fitted = {name: Feature(0.0, float(scale), 0.0, float(most), float(weight)) for name, scale, most, weight in rows}
    return replace(base, features={**others, **fitted})


def left_out(
    examples: Sequence[FitExample],
    shrunk: float = SHRUNK,
    kernel_shrunk: float = KERNEL_SHRUNK,
    base: Correction | None = None,
) -> list[float]:
    """Return each example's estimate by a fit to the other groups' examples, but those of launches that its group has
    too.

    Args:
        examples: Launches with their groups.
        shrunk: As of fit.
        kernel_shrunk: The same.
        base: A correction that each fit extends; None: each is a correction of its own.

    Returns:
        Estimated cycles, in the order of the examples.

    Raises:
        ValueError: There is one group alone.
    """
    groups = sorted({example.group for example in examples})
    if len(groups) < 2:
        raise ValueError("leaving one out takes at least two groups")
    estimates = [0.0] * len(examples)
    for group in groups:
        own = {example.key for example in examples if example.group == group and example.key is not None}
        others = [example for example in examples if example.group != group and example.key not in own]
        correction = fit(others, shrunk, kernel_shrunk) if base is None else extend(base, others, shrunk)
        for k, example in enumerate(examples):
            if example.group == group:
                estimates[k] = example.estimated(correction)
    return estimates
