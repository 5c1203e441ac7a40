"""Check a GEMM's result against NumPy, with the error bound that the arithmetic gives."""

from dataclasses import dataclass

import numpy as np

from workloads.operators.shapes import GemmShape

UNIT_ROUNDOFF = 2.0**-24  # FP32, round to nearest
SMALLEST_NORMAL = 2.0**-126  # the kernels' v_mac_f32 flushes smaller products and sums to zero
CHUNK_COLUMNS = 512  # bounds the memory of the FP64 copies


@dataclass(frozen=True)
class Verification:
    """Whether every element of C is within its bound.

    max_error, bound: |C - reference| and the bound of the element that comes closest to its bound, or exceeds it
    most; row, column: where that element is.
    """

    passed: bool
    max_error: float
    bound: float
    row: int
    column: int


def verify_gemm(a: np.ndarray, b: np.ndarray, c: np.ndarray, shape: GemmShape, half_precision_b: bool) -> Verification:
    """Compare C with A·B computed in FP64.

    a [padded K, lda], b [N, ldb], c [N, ldc]: float32, stored column-major (workloads.data.patterns). half_precision_b:
    B went through ELLPACK-DIB, so the reference takes each element rounded to FP16 (nearest even), which is exactly
    what a bundle holds; against the unrounded B that is a relative error of 2^-11 an element more.

    The bound: an inner product of t non-zero terms, each product and each sum rounded to FP32 in any order, is off by
    at most t·u / (1 - t·u) times the sum of |a|·|b| (Higham 2002, section 3.1), and 2t flushed results. Products with
    a zero are exact, so t counts the column's non-zeros alone.
    """
    m, n, k = shape.m, shape.n, shape.k
    a64 = a[:k, :m].astype(np.float64)
    a_magnitude = np.abs(a[:k, :m])
    worst = Verification(True, 0.0, 0.0, 0, 0)
    worst_ratio = -1.0
    for start in range(0, n, CHUNK_COLUMNS):
        columns = slice(start, min(n, start + CHUNK_COLUMNS))
        operand = b[columns, :k]
        if half_precision_b:
            with np.errstate(over="ignore"):  # what overflows becomes infinite, as in a bundle
                operand = operand.astype(np.float16).astype(np.float32)
        terms = np.count_nonzero(operand, axis=1).astype(np.float64)
        reference = _product(operand, a64)
        with np.errstate(invalid="ignore", over="ignore"):
            magnitude = np.abs(operand) @ a_magnitude
            # the sum of magnitudes is itself computed in FP32: raised by its own bound
            growth = terms * UNIT_ROUNDOFF / (1.0 - terms * UNIT_ROUNDOFF)
            bound = growth[:, None] * (1.0 + 2.0 * k * UNIT_ROUNDOFF) * magnitude
            bound += 2.0 * terms[:, None] * SMALLEST_NORMAL
            error = _error(c[columns, :m], reference)
            ratio = np.where(error == 0.0, 0.0, error / np.maximum(bound, np.finfo(np.float64).tiny))
        ratio = np.where(np.isfinite(ratio), ratio, np.inf)  # a NaN bound or error never passes unless C is equal
        place = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        if ratio[place] > worst_ratio:
            worst_ratio = float(ratio[place])
            column, row = int(place[0]), int(place[1])
            worst = Verification(
                worst_ratio <= 1.0, float(error[place]), float(bound[place]), row, columns.start + column
            )
    return worst


def _product(operand: np.ndarray, a64: np.ndarray) -> np.ndarray:
    """operand [n, k] times a64 [k, m] in FP64; zeros of the operand count for nothing, even against infinities."""
    finite = np.isfinite(operand).all(axis=1)
    product = np.where(finite[:, None], operand, 0).astype(np.float64) @ a64
    with np.errstate(invalid="ignore"):
        for column in np.flatnonzero(~finite):
            rows = np.flatnonzero(operand[column])
            product[column] = operand[column, rows].astype(np.float64) @ a64[rows]
    return product


def _error(result: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """|result - reference|; 0 where both are the same infinity or both are NaN, infinite where only one is."""
    same = (result == reference) | (np.isnan(result) & np.isnan(reference))
    error = np.abs(result - reference)
    return np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
