"""Winograd's minimal filtering F(m x m, 3 x 3): its matrices, its tiles, and how far off FP32 arithmetic may be.

A tile of m x m results of a convolution with 3 x 3 filters is A^T [(G g G^T) * (B^T d B)] A, of the filter g and the
window d of (m + 2) x (m + 2) elements (Lavin and Gray 2015). The gradient of the filter is F(3 x 3, m x m) of the same
windows: A'^T [(G' e G'^T) * (B^T d B)] A', of the tile e of dy. The matrices follow from m + 1 points and infinity.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF

TAPS = 3  # of a filter, along either axis
POINTS = {2: (0, 1, -1), 4: (0, 1, -1, 2, -2)}  # by m; infinity is the last place
SIZES = tuple(POINTS)


@dataclass(frozen=True)
class Transform:
    """out = matrix · in · matrix transposed."""

    matrix: np.ndarray
    """float64: matrix of the transform."""

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Transform the last two axes."""
        return np.asarray(np.einsum("ij,...jk,lk->...il", self.matrix, values, self.matrix, optimize=True))

    @property
    def absolute(self) -> "Transform":
        """The transform with the magnitudes of the matrix."""
        return Transform(np.abs(self.matrix))

    @cached_property
    def roundings(self) -> int:
        """Roundings that a term goes through at most, in both directions: product, sums, the matrix's own."""
        terms = int(np.count_nonzero(self.matrix, axis=1).max())
        inexact = bool((self.matrix != self.matrix.astype(np.float32)).any())
        return 2 * (terms + inexact)

    @cached_property
    def flushed(self) -> float:
        """The largest error from numbers below the smallest normal one, which count as zero."""
        norm = float(np.abs(self.matrix).sum(axis=1).max())
        return SMALLEST_NORMAL * (2 * self.roundings * (1.0 + norm) + norm * norm)

    def error(self, values: np.ndarray, before: np.ndarray | float = 0.0) -> np.ndarray:
        """Bound the error of the result of FP32 arithmetic on `values` that are off by `before` already."""
        off = np.zeros_like(values) + before
        magnitude = self.absolute(np.abs(values) + off)
        return self.absolute(off) + growth(self.roundings) * magnitude + self.flushed


def growth(roundings: float) -> float:
    """Return n u / (1 - n u), the relative error after n = `roundings` roundings (Higham 2002, section 3.1)."""
    return roundings * UNIT_ROUNDOFF / (1.0 - roundings * UNIT_ROUNDOFF)


@dataclass(frozen=True)
class Filtering:
    """Minimal filtering F(m x m, 3 x 3)."""

    size: int
    """m: a key of POINTS."""

    @property
    def window(self) -> int:
        """Rows and columns of a window."""
        return self.size + TAPS - 1

    @property
    def places(self) -> int:
        """Products of a tile."""
        return self.window**2

    @cached_property
    def windows(self) -> Transform:
        """B^T: a row has the coefficients of the product of (X - q) over all points q except the row's own."""
        rows = []
        for place in range(self.window):
            coefficients = [Fraction(1)]
            for number, point in enumerate(POINTS[self.size]):
                if number != place:
                    shifted, scaled = [Fraction(0), *coefficients], [point * c for c in coefficients] + [Fraction(0)]
                    coefficients = [a - b for a, b in zip(shifted, scaled, strict=True)]
            rows.append(coefficients + [Fraction(0)] * (self.window - len(coefficients)))
        return Transform(np.array(rows, np.float64))

    def _powers(self, columns: int) -> list[list[Fraction]]:
        """Return the powers of each point; for infinity the last power alone is 1."""
        infinity = [Fraction(int(power == columns - 1)) for power in range(columns)]
        return [[Fraction(point) ** power for power in range(columns)] for point in POINTS[self.size]] + [infinity]

    def _scaled(self, columns: int) -> Transform:
        """Return G: the powers of a point over the product of its distances to the others."""
        points, rows = POINTS[self.size], self._powers(columns)
        for number, point in enumerate(points):
            distance = Fraction(1)
            for other in points:
                distance *= point - other if other != point else 1
            rows[number] = [power / distance for power in rows[number]]
        return Transform(np.array(rows, np.float64))

    @cached_property
    def filters(self) -> Transform:
        """G, the transform of filters."""
        return self._scaled(TAPS)

    @cached_property
    def gradients(self) -> Transform:
        """G', the transform of tiles of dy."""
        return self._scaled(self.size)

    @cached_property
    def results(self) -> Transform:
        """A^T: the powers of the points, the transform to the results."""
        return Transform(np.array(self._powers(self.size), np.float64).T)

    @cached_property
    def weights(self) -> Transform:
        """A'^T, the transform to the weights' gradient."""
        return Transform(np.array(self._powers(TAPS), np.float64).T)


@dataclass(frozen=True)
class ProductError:
    """Bounds on sums of products of transformed operands."""

    exact: np.ndarray
    """Sums of |a|·|b|."""
    off: np.ndarray
    """Bounds on the errors of the sums."""

    def through(self, transform: Transform, added: np.ndarray | float = 0.0) -> np.ndarray:
        """Bound the error of the transformed sums, after `added` of these magnitudes is added."""
        magnitude = transform.absolute(self.exact + self.off) + added
        return transform.absolute(self.off) + growth(transform.roundings + 1) * magnitude + transform.flushed


def product_error(
    a: tuple[Transform, np.ndarray],
    b: tuple[Transform, np.ndarray],
    longest: int,
    multiply: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> ProductError:
    """Bound the error of sums of `longest` products of the transforms of a and b, each given with its values.

    Rounding a transform adds at most growth · |matrix| |values| |matrix|^T to it (componentwise; the constants come
    from the matrices and no random signs are assumed), which the products then multiply with the other operand as it
    is: so the bound stays near |U|·|V| and does not grow to |G||g||G^T|·|B^T||d||B|. multiply: adds up the products of
    magnitudes, arrays [..., m + 2, m + 2].
    """
    (values_a, off_a), (values_b, off_b) = ((np.abs(t(v)), t.error(v)) for t, v in (a, b))
    exact, most = multiply(values_a, values_b), multiply(values_a + off_a, values_b + off_b)
    return ProductError(exact, most - exact + growth(longest) * most + 2.0 * longest * SMALLEST_NORMAL)
