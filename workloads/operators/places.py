"""Arrays that a kernel goes through as one: axes merged where all arrays allow it, and the words that say their places.

The geometry is that of workloads/kernels/places.h: up to six axes after merging, the last one first.
"""

from collections.abc import Sequence
from math import prod

import numpy as np

from workloads.operators.launching import divisor, words
from workloads.shapes import Shape

AXES = 6  # workloads/kernels/places.h
WIDE = 4  # elements of a kernel's item where everything is a multiple of it


def contiguous(shape: Shape) -> tuple[int, ...]:
    """Return the distance in elements between neighbours along each axis of a contiguous array."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def merged(shape: Shape, *distances: Sequence[int]) -> tuple[Shape, tuple[tuple[int, ...], ...]]:
    """Return sizes and distances with neighbouring axes as one where every array goes on evenly; axes of 1 are left
    out.
    """
    sizes: list[int] = []
    strides: list[list[int]] = [[] for _ in distances]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        here = [distance[axis] for distance in distances]
        if sizes and all(f[-1] == h * size for f, h in zip(strides, here, strict=True)):
            sizes[-1] *= size
            for f, h in zip(strides, here, strict=True):
                f[-1] = h
            continue
        sizes.append(size)
        for f, h in zip(strides, here, strict=True):
            f.append(h)
    return tuple(sizes), tuple(map(tuple, strides))


def sizes_words(sizes: Shape) -> np.ndarray:
    """Return the words of `Sizes`: divisors of all axes but the first, the last one first."""
    backwards = [*reversed(sizes), *[1] * AXES][: AXES - 1]
    return np.concatenate([divisor(size) for size in backwards])


def steps_words(steps: Sequence[int], none: int = 0) -> np.ndarray:
    """Return the words of `Steps`, the last axis first; `none` for axes that there are not."""
    return words(*[*reversed(steps), *[none] * AXES][:AXES])
