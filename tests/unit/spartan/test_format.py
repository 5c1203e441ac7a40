"""Is the packed image what a direct reading of the format gives, bit for bit?"""

import numpy as np
import pytest
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from spartan.format import half_bits, pack, unpack
from tests.support.daily import given_daily

EXAMPLES = (8, 30) if JIT_DISABLED else (15, 150)  # daily, nightly
HALF_RELATIVE_ERROR = 2.0**-11  # round to nearest even, 11 significant bits
HALF_SUBNORMAL_ERROR = 2.0**-25  # half of the smallest FP16 step
HALF_OVERFLOW = 65520.0  # from here on FP32 rounds to FP16 infinity
SINGLE_RELATIVE_ERROR = 2.0**-24


def half_error_bound(values: np.ndarray) -> np.ndarray:
    """Return the largest |FP16(x) - x| of each element (float64): half an ulp, infinite where FP16 overflows."""
    magnitude = np.abs(values.astype(np.float64))
    bound = np.maximum(magnitude * HALF_RELATIVE_ERROR, HALF_SUBNORMAL_ERROR)
    return np.where(magnitude == 0, 0.0, np.where(magnitude >= HALF_OVERFLOW, np.inf, bound))


def naive_pack(dense, rows, columns, leading_dimension):
    """The format's definition, with NumPy's own FP16 conversion."""
    image = np.zeros(dense.size, np.uint32)
    lines = np.zeros(columns, np.int64)
    for c in range(columns):
        column = dense[c * leading_dimension : c * leading_dimension + rows]
        n = 0
        for row, value in enumerate(column):
            if value != 0:
                with np.errstate(over="ignore"):
                    bits = int(np.float16(value).view(np.uint16))
                image[c * leading_dimension + n] = bits | row << 16
                n += 1
        lines[c] = max(1, -(-n // 16))
    return image, lines


@pytest.mark.parametrize("step", [37 if JIT_DISABLED else 7, pytest.param(1, marks=pytest.mark.nightly)])
def test_every_half_value_and_its_neighbours_convert_as_numpy_does(step: int) -> None:
    halves = np.arange(0x10000, dtype=np.uint16).view(np.float16).astype(np.float32)
    halves = halves[~np.isnan(halves)]
    halves = halves[::step]
    bits = halves.view(np.uint32).astype(np.int64)
    middle = (np.nextafter(np.float16(0), np.float16(1)) / np.float32(2)).view(np.uint32)
    words = np.concatenate([bits + d for d in (-0x1001, -0x1000, -0xFFF, -1, 0, 1, 0xFFF, 0x1000, 0x1001)])
    words = np.concatenate([words, int(middle) + np.arange(-3, 4), 0x477F_F000 + np.arange(-3, 4)]) & 0xFFFF_FFFF
    singles = words.astype(np.uint32).view(np.float32)
    keep = ~np.isnan(singles)
    with np.errstate(over="ignore"):
        expected = singles[keep].astype(np.float16).view(np.uint16)
    got = np.array([half_bits(int(w)) for w in words[keep]], np.uint16)
    np.testing.assert_array_equal(got, expected)


def test_every_tie_goes_to_the_even_neighbour():
    """Between 0 and the smallest FP16 number, between all others, and between the largest one and 2^16."""
    below = np.arange(0x7C00)
    values = np.append(below.astype(np.uint16).view(np.float16).astype(np.float64), 2.0**16)
    ties = ((values[:-1] + values[1:]) / 2).astype(np.float32)
    even = below + (below & 1)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(ties.astype(np.float16).view(np.uint16), even)
    words = ties.view(np.uint32).astype(np.int64)
    np.testing.assert_array_equal([half_bits(int(word)) for word in words], even)
    np.testing.assert_array_equal([half_bits(int(word) | 0x8000_0000) for word in words], even | 0x8000)


@given_daily(*EXAMPLES, st.integers(0, 0xFFFF_FFFF))
def test_any_word_converts_as_numpy_does(word):
    single = np.array([word], np.uint32).view(np.float32)
    with np.errstate(over="ignore"):
        expected = int(single.astype(np.float16).view(np.uint16)[0])
    got = int(half_bits(word))
    if np.isnan(single[0]):
        assert (got & 0x7C00) == 0x7C00 and got & 0x200 and got >> 15 == word >> 31
    else:
        assert got == expected


VALUES = st.one_of(
    st.sampled_from([0.0, 0.0, 0.0, -0.0, 1e-9, -1e-30, 65519.0, 65520.0, 1e20, float("inf"), 2.0**-25, 2.0**-24]),
    st.floats(-10, 10, width=32),
)


@given_daily(*EXAMPLES, st.integers(1, 70), st.integers(1, 4), st.integers(0, 2), st.data())
def test_pack_equals_the_definition(rows, columns, extra_lines, data):
    leading = (-(-rows // 16) + extra_lines) * 16
    values = data.draw(st.lists(VALUES, min_size=rows * columns, max_size=rows * columns))
    dense = np.full(leading * columns, 7.0, np.float32)  # padding rows are not zero: they must be ignored
    dense.reshape(columns, leading)[:, :rows] = np.array(values, np.float32).reshape(columns, rows)
    image, lines = pack(dense, rows, columns, leading)
    expected_image, expected_lines = naive_pack(dense, rows, columns, leading)
    np.testing.assert_array_equal(image, expected_image)
    np.testing.assert_array_equal(lines, expected_lines)
    back = unpack(image, lines, rows, columns, leading)
    with np.errstate(over="ignore"):
        half = dense.reshape(columns, leading)[:, :rows].T.astype(np.float16).astype(np.float32)
    np.testing.assert_array_equal(back, half)
    exact = dense.reshape(columns, leading)[:, :rows].T
    finite = np.isfinite(half)
    difference = np.abs(half[finite].astype(np.float64) - exact[finite])
    assert np.all(difference <= half_error_bound(exact)[finite])


def test_a_column_without_non_zeros_has_one_line_of_zeros():
    image, lines = pack(np.zeros(64, np.float32), 30, 2, 32)
    assert lines.tolist() == [1, 1] and not image.any()


def test_nan_is_a_non_zero_and_stays_nan():
    dense = np.zeros(16, np.float32)
    dense[5] = np.nan
    image, _ = pack(dense, 16, 1, 16)
    assert image[0] >> 16 == 5
    assert np.isnan((image[:1] & 0xFFFF).astype(np.uint16).view(np.float16)[0])


@pytest.mark.parametrize(
    ("rows", "columns", "leading", "size"),
    [(0, 1, 16, 16), (65537, 1, 65552, 65552), (17, 1, 16, 16), (16, 1, 24, 24), (16, 3, 16, 40), (16, 0, 16, 16)],
)
def test_sizes_that_do_not_fit_are_refused(rows, columns, leading, size):
    with pytest.raises(ValueError, match="pack"):
        pack(np.zeros(size, np.float32), rows, columns, leading)


def gemm_error_bound(weights: np.ndarray, dense: np.ndarray) -> np.ndarray:
    """Return the largest |C - A B| (M x N, float64) of a sparse GEMM that takes B as FP16 and sums in FP32.

    The sums may be in any order. weights: M x K, dense: K x N, as used by the reference product in float64. The product
    with the rounded B errs by |A| e(B); summing n terms in FP32 adds gamma(n + 1) |A| (|B| + e(B)) (Higham 2002,
    section 3.1).
    """
    a = np.abs(weights.astype(np.float64))
    b = np.abs(dense.astype(np.float64))
    e = half_error_bound(dense)
    terms = np.count_nonzero(dense, axis=0) + 1
    gamma = terms * SINGLE_RELATIVE_ERROR / (1 - terms * SINGLE_RELATIVE_ERROR)
    rounding = a @ e
    return rounding + gamma * (a @ b + rounding)


def test_gemm_error_bound_holds_and_is_not_slack():
    rng = np.random.default_rng(3)
    a = rng.normal(size=(8, 200)).astype(np.float32)
    b = (rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.4)).astype(np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    got = np.zeros((8, 5), np.float32)
    half = b.astype(np.float16).astype(np.float32)
    for k in range(200):
        got += a[:, k : k + 1] * half[k : k + 1]
    error = np.abs(got - exact)
    bound = gemm_error_bound(a, b)
    assert np.all(error <= bound)
    assert np.all(bound < 0.2)
