"""The GEMM's operands: weights, activations with zeros at random places, and im2col of activation maps.

Matrices are stored column-major as the kernels read them: array [columns, leading dimension], C-contiguous, with
`array[column, row]`. What pads a column is zero.
"""

from collections.abc import Iterator

import numpy as np

from gpusim.base.errors import UserError, unknown_name
from workloads.shapes import ConvolutionShape, GemmShape, output_size

CHANNEL_FIRST, CHANNEL_LAST = "channel_first", "channel_last"
# Rows of B by input channel, filter row, filter column, as weights [filters, channels, rows, columns] lie; or with the
# channel innermost, as weights [filters, rows, columns, channels] do (TensorFlow's NHWC). Columns are the same.
IM2COL_ORDERS = (CHANNEL_FIRST, CHANNEL_LAST)
ELEMENTS = (1, 1)  # zeros in blocks of one row and one column: each element by itself
COUNTED_BYTES = 1 << 26  # of a matrix that are counted at a time
WEIGHTS_STREAM, VALUES_STREAM, ZEROS_STREAM = range(3)  # independent random streams of one seed


class PatternError(UserError):
    """Activations do not fit the layer; the message has the expected and the found shape."""


def fill_weights(storage: np.ndarray, shape: GemmShape, seed: int) -> None:
    """Fill `storage` [padded K, lda] float32 with normal weights of variance 2 / K (He et al. 2015, equation 10)."""
    random = np.random.default_rng([seed, WEIGHTS_STREAM])
    weights = random.standard_normal((shape.k, shape.m), np.float32)
    storage[: shape.k, : shape.m] = weights * np.float32(np.sqrt(2.0 / shape.k))


def fill_synthetic(
    storage: np.ndarray, shape: GemmShape, sparsity: float, seed: int, block: tuple[int, int] = ELEMENTS
) -> None:
    """Fill `storage` [N, ldb] float32 with activations that have random zeros.

    Each element of the K x N matrix B itself is zero with probability `sparsity`, whatever its neighbours are (Dong
    2020, section 6.5, "Synthetic"); the others are the magnitudes of normal numbers, as after a ReLU. `block`: (rows,
    columns) of B; with more than one element, either all of a block is zero or none of it.
    """
    write_columns(storage, shape, synthetic_columns(shape, sparsity, seed, block))


def write_columns(storage: np.ndarray, shape: GemmShape, columns: Iterator[np.ndarray]) -> None:
    """Write the next columns of B into `storage` [N, ldb], as many as it has."""
    for target, column in zip(storage, columns, strict=False):  # storage first: no column is taken and dropped
        target[: shape.k] = column


def synthetic_columns(
    shape: GemmShape, sparsity: float, seed: int, block: tuple[int, int] = ELEMENTS, window: int = 0
) -> Iterator[np.ndarray]:
    """Yield the columns of `fill_synthetic`'s B, [K] float32 each; raise PatternError.

    window: as many of each so many rows are zero as the sparsity says, at random places; 0: each element by itself.
    """
    checked = checked_sparsity(sparsity)
    if window and checked * window % 1:
        raise PatternError(f"sparsity {sparsity}: of {window} rows it is no whole number of zeros")
    return _synthetic_columns(shape, checked, seed, block, window)


def _synthetic_columns(
    shape: GemmShape, sparsity: float, seed: int, block: tuple[int, int], window: int
) -> Iterator[np.ndarray]:
    rows, columns = block
    values = np.random.default_rng([seed, VALUES_STREAM])
    zeros = np.random.default_rng([seed, ZEROS_STREAM])
    tiny = np.finfo(np.float32).tiny
    for column in range(shape.n):  # by columns: no second matrix in memory
        drawn = np.maximum(np.abs(values.standard_normal(shape.k, np.float32)), tiny)
        if column % columns == 0:
            zero = (zeros.random(-(-shape.k // rows), np.float32) < sparsity).repeat(rows)[: shape.k]
            if window:
                order = zeros.random((-(-shape.k // window), window), np.float32).argsort(axis=1)
                zero = (order < sparsity * window).ravel()[: shape.k]
        drawn[zero] = 0.0
        yield drawn


def checked_sparsity(sparsity: float) -> float:
    """Return `sparsity` if it is from 0 to 1; raise PatternError if not."""
    if not 0.0 <= sparsity <= 1.0:
        raise PatternError(f"sparsity {sparsity}: allowed are 0 to 1")
    return sparsity


def fill_im2col(
    storage: np.ndarray, activations: np.ndarray, layer: ConvolutionShape, order: str = CHANNEL_FIRST
) -> None:
    """Fill `storage` [N, ldb] float32 with the layer's B, made of maps [images, channels, height, width].

    Column n is output pixel n in the order image, row, column; rows are in one of IM2COL_ORDERS. Raise PatternError
    when the maps are not the layer's.
    """
    if order not in IM2COL_ORDERS:
        raise PatternError(unknown_name("im2col order", order, IM2COL_ORDERS))
    images = _checked_images(activations, layer)
    size = layer.filter_size
    height, width = output_size(layer)
    k = layer.input_channels * size * size
    if storage.shape[0] != images * height * width or storage.shape[1] < k:
        raise PatternError(f"im2col of K={k}, N={images * height * width} does not fit a matrix of {storage.shape}")
    taps = (layer.input_channels, size, size) if order == CHANNEL_FIRST else (size, size, layer.input_channels)
    target = storage[:, :k].reshape((images, height, width, *taps), copy=False)
    for i, j, met in _met_by_taps(activations, layer):
        where = (..., i, j) if order == CHANNEL_FIRST else (..., i, j, slice(None))
        target[where] = met.transpose(0, 2, 3, 1)


def im2col_non_zeros(activations: np.ndarray, layer: ConvolutionShape) -> tuple[int, int]:
    """Count non-zeros and elements of the layer's B, without making it; raise PatternError where maps do not fit."""
    _checked_images(activations, layer)
    found = [(int(np.count_nonzero(met)), met.size) for _, _, met in _met_by_taps(activations, layer)]
    return sum(set_ for set_, _ in found), sum(size for _, size in found)


def _met_by_taps(activations: np.ndarray, layer: ConvolutionShape) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield, for each filter row and column, the inputs that it meets: [images, channels, output rows and columns]."""
    pad, stride = layer.padding, layer.stride
    height, width = output_size(layer)
    padded = np.pad(activations, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    for i in range(layer.filter_size):
        for j in range(layer.filter_size):
            rows, columns = slice(i, i + stride * height, stride), slice(j, j + stride * width, stride)
            yield i, j, padded[:, :, rows, columns][:, :, :height, :width]


def _checked_images(activations: np.ndarray, layer: ConvolutionShape) -> int:
    images = activations.shape[0] if activations.ndim else 0
    expected = (images, layer.input_channels, layer.input_height, layer.input_width)
    if activations.ndim != 4 or activations.shape != expected or images < 1:
        raise PatternError(
            f"layer '{layer.name}' needs maps [images, {', '.join(map(str, expected[1:]))}], "
            f"found shape {list(activations.shape)}"
        )
    return images


def zero_lines_of(storage: np.ndarray, rows: int) -> float:
    """Return the share of all-zero lines of 16 elements among those that cover the first `rows` rows.

    Args:
        storage: Stored matrix, a row for each of its rows.
        rows: Rows that count.
    """
    covered = -(-rows // 16) * 16
    held = 0
    for part in _parts(storage):
        held += int(part[:, :covered].reshape(len(part), -1, 16).any(axis=2).sum())
    return float(1.0 - held / (storage.shape[0] * (covered // 16)))


def sparsity_of(storage: np.ndarray, rows: int) -> float:
    """Return the share of zeros in the first `rows` rows of a stored matrix; -0 counts as zero.

    Args:
        storage: Stored matrix, a row for each of its rows.
        rows: Rows that count.
    """
    held = sum(int(np.count_nonzero(part[:, :rows])) for part in _parts(storage))
    return float(1.0 - held / (storage.shape[0] * rows))


def _parts(storage: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the columns of a stored matrix, some at a time, which bounds the memory that counting them takes."""
    step = max(1, COUNTED_BYTES // (storage.shape[1] * storage.itemsize))
    for first in range(0, storage.shape[0], step):
        yield storage[first : first + step]
