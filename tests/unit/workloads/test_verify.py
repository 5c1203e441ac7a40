"""Does the check accept what the arithmetic can give, and nothing else?"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workloads.data.patterns import fill_synthetic, fill_weights
from workloads.operators.gemm import gemm_reference
from workloads.operators.verify import ReferencePart, Verification, compare, flush, joined
from workloads.shapes import GemmShape

SHAPE = GemmShape(33, 600, 150)  # more columns than a chunk


def operands(sparsity: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    a = np.zeros((SHAPE.padded_k, SHAPE.lda), np.float32)
    b = np.zeros((SHAPE.n, SHAPE.ldb), np.float32)
    fill_weights(a, SHAPE, 1)
    fill_synthetic(b, SHAPE, sparsity, 1)
    return a, b


def sequential_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """C as a kernel adds it up: FP32, product and sum rounded, row by row."""
    c = np.zeros((SHAPE.n, SHAPE.ldc), np.float32)
    for k in range(SHAPE.k):
        c[:, : SHAPE.m] += b[:, k, None] * a[k, None, : SHAPE.m]
    return c


def check(a: np.ndarray, b: np.ndarray, c: np.ndarray, half: bool = False) -> Verification:
    reference = gemm_reference(a[: SHAPE.k, : SHAPE.m], b[:, : SHAPE.k], half)
    return compare({"C": c[:, : SHAPE.m]}, reference)


@pytest.mark.parametrize("half", [False, True])
def test_fp32_accumulation_passes(half: bool) -> None:
    a, b = operands()
    multiplied = b.astype(np.float16).astype(np.float32) if half else b
    checked = check(a, b, sequential_product(a, multiplied), half)
    assert checked.passed and 0 < checked.max_error <= checked.bound


def test_a_dropped_non_zero_is_found() -> None:
    a, b = operands()
    c = sequential_product(a, b)
    column = 555
    row = int(np.flatnonzero(b[column])[-1])
    broken = b.copy()
    broken[column, row] = 0.0
    c[column] = sequential_product(a, broken)[column]
    checked = check(a, b, c)
    assert not checked.passed and checked.index[0] == column and checked.max_error > checked.bound


def test_half_precision_where_single_is_expected_fails() -> None:
    a, b = operands(0.9)
    c = sequential_product(a, b.astype(np.float16).astype(np.float32))
    assert check(a, b, c, True).passed
    assert not check(a, b, c, False).passed


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_result_that_is_not_finite_fails(wrong: float) -> None:
    a, b = operands()
    c = sequential_product(a, b)
    c[3, 4] = wrong
    checked = check(a, b, c)
    assert not checked.passed and checked.index == (3, 4)


def test_a_value_beyond_half_precision_is_infinite_on_both_sides() -> None:
    a, b = operands()
    b[7, 5] = 1e6
    with np.errstate(over="ignore"):
        c = sequential_product(a, b.astype(np.float16).astype(np.float32))
    assert np.isinf(c[7, : SHAPE.m]).all()
    assert check(a, b, c, True).passed
    c[7, 0] = 1.0
    assert not check(a, b, c, True).passed


def test_an_all_zero_matrix_allows_zeros_alone() -> None:
    a, b = operands(1.0)
    c = np.zeros((SHAPE.n, SHAPE.ldc), np.float32)
    assert check(a, b, c) == Verification(True, 0.0, 0.0, "C", (0, 0))
    c[0, 0] = 1e-30
    assert not check(a, b, c).passed


def test_padding_rows_of_the_result_are_ignored() -> None:
    a, b = operands()
    c = sequential_product(a, b)
    c[:, SHAPE.m :] = np.nan
    assert check(a, b, c).passed


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 6), st.data())
def test_parts_are_compared_as_the_whole_is(rows: int, cuts: int, data: st.DataObject) -> None:
    wanted = np.arange(3.0 * rows).reshape(rows, 3)
    found = wanted.copy()
    wrong = data.draw(st.sets(st.tuples(st.integers(0, rows - 1), st.integers(0, 2)), max_size=4))
    for index in wrong:
        found[index] += data.draw(st.sampled_from([1e-3, 2.0, np.inf, np.nan]))
    edges = sorted(data.draw(st.sets(st.integers(1, rows), max_size=cuts)) | {0, rows})
    parts = [ReferencePart("x", (slice(a, b), slice(0, 3)), wanted[a:b], 1e-2) for a, b in pairwise(edges)]
    whole = compare({"x": found}, [ReferencePart("x", (slice(None), slice(None)), wanted, 1e-2)])
    assert repr(compare({"x": found}, parts)) == repr(whole)  # NaN equals NaN in a text
    off = sorted(index for index in wrong if not abs(found[index] - wanted[index]) <= 1e-2)
    assert whole.passed == (not off)
    for mismatch in whole.mismatches:
        assert (mismatch.wrong, mismatch.size, mismatch.index) == (len(off), 3 * rows, off[0])
    assert np.isfinite([whole.max_error, whole.bound]).all()  # JSON holds no other number


def test_integers_are_equal_or_off_by_one_at_least() -> None:
    wanted = np.array([1 << 60, 5], np.uint64)
    found = np.array([(1 << 60) + 1, 5], np.uint64)
    checked = compare({"x": found}, [ReferencePart("x", (slice(None),), wanted, 0.5)])
    assert (checked.passed, checked.max_error, checked.index) == (False, 1.0, (0,))
    assert str(checked.mismatches[0]) == (
        "x: 1 of 2 elements differ by more than allowed; first at [0]:"
        " 1152921504606846977, expected 1152921504606846976"
    )


def test_parts_of_an_output_are_joined_where_they_lie_in_the_whole() -> None:
    wanted = np.zeros((6, 4), np.float32)
    found = wanted.copy()
    found[1, 2], found[4, 3] = 0.25, 1.0
    parts = []
    for first in (0, 3):
        part = {"C": found[first : first + 3]}
        where = (slice(0, 3), slice(0, 4))
        parts.append((first, compare(part, [ReferencePart("C", where, wanted[first : first + 3], 0.5)])))
    whole = joined(parts)
    assert (whole.passed, whole.max_error, whole.bound, whole.index) == (False, 1.0, 0.5, (4, 3))
    (mismatch,) = whole.mismatches
    assert (mismatch.index, mismatch.wrong, mismatch.found) == ((4, 3), 1, 1.0)
    assert joined(parts[:1]).passed and joined(parts[:1]).max_error == 0.25


def test_what_fp32_cannot_hold_is_an_infinity() -> None:
    expected = ReferencePart("y", (slice(None),), np.array([1e40, -1e40, 3.4028235e38, 1.0]), np.array([1e33] * 4))
    found = np.array([np.inf, -np.inf, np.inf, 1.0], np.float32)
    assert compare({"y": found}, [expected]).passed
    for wrong in ([-np.inf, -np.inf, np.inf, 1.0], [np.inf, -np.inf, np.inf, np.inf]):
        assert not compare({"y": np.array(wrong, np.float32)}, [expected]).passed


def test_values_below_the_normal_numbers_are_flushed_and_no_others() -> None:
    smallest = np.float32(2.0**-126)
    values = np.array([smallest, -smallest, smallest / 2, -smallest / 4, 0.0, np.nan, np.inf], np.float32)
    np.testing.assert_array_equal(flush(values), [smallest, -smallest, 0.0, 0.0, 0.0, np.nan, np.inf])
    normal = np.array([1.0, 0.0, -2.0], np.float32)
    assert flush(normal) is normal
    halves = np.array([1e-7], np.float16)
    assert flush(halves) is halves
