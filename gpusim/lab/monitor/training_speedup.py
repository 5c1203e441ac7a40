"""Equation 6.1 of Dong 2020: the speed-up of a training from those of its convolutional layers; and table 6.7.

The equation adds times, so of the layers' speed-ups it takes a harmonic mean, weighted by time. Table 6.7 implies that
mean, and it is below the averages that the text gives for the same networks: the two do not fit together.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpusim.base.formats import GENERAL

TOLERANCE = 1e-6  # of shares that must add up to 1


@dataclass(frozen=True)
class PublishedSpeedup:
    """A column of table 6.7 of Dong 2020."""

    conv_share: float
    """Share P of the convolutional layers."""
    speedup: float
    """Speed-up of the training."""
    mean_speedup: float
    """Mean speed-up of the convolutional layers (figures 6.17 to 6.19)."""

    @property
    def implied_mean(self) -> float:
        """The layers' harmonic mean that P and the training's speed-up imply."""
        return implied_mean_speedup(self.conv_share, self.speedup)

    @property
    def from_mean(self) -> float:
        """The training's speed-up if the layers' harmonic mean were `mean_speedup`."""
        return speedup_from_mean(self.conv_share, self.mean_speedup)


TABLE_6_7: Mapping[str, PublishedSpeedup] = {
    "AlexNet": PublishedSpeedup(0.8740, 2.29, 3.4),
    "VGGNet-16": PublishedSpeedup(0.8858, 1.87, 2.14),
    "ResNet-18": PublishedSpeedup(0.8220, 1.55, 2.02),
}


def training_speedup(
    conv_share: float,
    layer_shares: Sequence[float],
    level_shares: Sequence[Sequence[float]],
    speedups: Sequence[Sequence[float]],
) -> float:
    """Compute equation 6.1: 1 / (O + sum over layers i and levels j of P C_i R_ij / S_ij), with O = 1 - P.

    Args:
        conv_share: P, share of the training's time in convolutional layers.
        layer_shares: C_i, shares of that time, adding up to 1.
        level_shares: R_ij, shares of layer i's iterations at sparsity level j, adding up to 1 for each layer.
        speedups: S_ij.

    Raises:
        ValueError: Shares do not add up, lists differ in length, or a speed-up is not above 0.
    """
    _check_share("conv_share", conv_share)
    _check_shares("layer_shares", layer_shares)
    if not len(layer_shares) == len(level_shares) == len(speedups):
        raise ValueError(
            f"layer_shares: {len(layer_shares)} layers; level_shares has {len(level_shares)}, speedups {len(speedups)}"
        )
    terms = []
    for number, (share, levels, gains) in enumerate(zip(layer_shares, level_shares, speedups, strict=True)):
        _check_shares(f"level_shares[{number}]", levels)
        if len(levels) != len(gains):
            raise ValueError(f"speedups[{number}]: {len(gains)} for {len(levels)} levels")
        if not all(math.isfinite(gain) and gain > 0.0 for gain in gains):
            raise ValueError(f"speedups[{number}]: {list(gains)}; each must be above 0")
        terms += [share * level / gain for level, gain in zip(levels, gains, strict=True)]
    return 1.0 / (1.0 - conv_share + conv_share * math.fsum(terms))


def speedup_from_mean(conv_share: float, mean_speedup: float) -> float:
    """Return the training's speed-up where the layers' time as a whole shrinks by the factor `mean_speedup`."""
    return training_speedup(conv_share, [1.0], [[1.0]], [[mean_speedup]])


def implied_mean_speedup(conv_share: float, speedup: float) -> float:
    """Return the layers' harmonic mean, weighted by time, that gives a training's speed-up: `speedup_from_mean`
    inverted.

    Raise ValueError where no speed-up of the layers gives it.
    """
    _check_share("conv_share", conv_share)
    layers_time = 1.0 / speedup - (1.0 - conv_share) if speedup > 0.0 else 0.0
    if layers_time <= 0.0:
        raise ValueError(f"speedup: {speedup}; layers with a share of {conv_share} cannot give it")
    return conv_share / layers_time


def _check_share(name: str, share: float) -> None:
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"{name}: {share}; must be from 0 to 1")


def _check_shares(name: str, shares: Sequence[float]) -> None:
    for share in shares:
        _check_share(name, share)
    if abs(math.fsum(shares) - 1.0) > TOLERANCE:
        raise ValueError(f"{name}: {list(shares)} add up to {GENERAL(math.fsum(shares))}; must be 1")
