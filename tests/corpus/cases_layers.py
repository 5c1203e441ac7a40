"""Cases: neural network layers."""

from typing import Any

import numpy as np

from tests.corpus.case import HALF_ULP, Call, Close, case, floats, groups, line, sum_error, zeros

Rng = np.random.Generator


def _out_size(size: int, side: int, stride: int, padding: int) -> int:
    return (size + 2 * padding - side) // stride + 1


def _windows(images: np.ndarray, side: int, stride: int, padding: int, outside: float) -> np.ndarray:
    """[..., out height, out width, side, side] of images [..., height, width]."""
    around = [(0, 0)] * (images.ndim - 2) + [(padding, padding)] * 2
    padded = np.pad(images, around, constant_values=outside)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side), (-2, -1))
    return windows[..., ::stride, ::stride, :, :]


@case("layers", (1, 1, 3, 3, 1, 1, 1, 0), (2, 3, 9, 7, 4, 3, 2, 1), speed=(1, 8, 32, 32, 8, 3, 1, 1))
def convolution(rng: Rng, size: Any) -> Call:
    images, channels, height, width, filters, side, stride, padding = size
    x, w, bias = (
        floats(rng, images, channels, height, width),
        floats(rng, filters, channels, side, side),
        floats(rng, filters),
    )
    windows = _windows(x.astype(np.float64), side, stride, padding, 0)
    expected = np.einsum("ncyxrs,fcrs->nfyx", windows, w) + bias[:, None, None]
    bound = np.einsum("ncyxrs,fcrs->nfyx", np.abs(windows), np.abs(w)) + np.abs(bias)[:, None, None]
    arguments = ("x", "w", "bias", "out", channels, height, width, filters, side, stride, padding)
    return Call(
        {"x": x, "w": w, "bias": bias, "out": zeros(*expected.shape)},
        arguments,
        (expected.shape[3], expected.shape[2], images * filters),
        (8, 8, 1),
        expected={"out": expected},
        close=Close("roundings of products and sums", absolute=sum_error(channels * side * side, bound)),
    )


@case("layers", (1, 3, 3, 1, 1, 0), (3, 9, 7, 3, 2, 1), speed=(8, 48, 48, 3, 1, 1))
def im2col(rng: Rng, size: Any) -> Call:
    channels, height, width, side, stride, padding = size
    image = floats(rng, channels, height, width)
    columns = _windows(image, side, stride, padding, 0).transpose(0, 3, 4, 1, 2)
    buffers = {"image": image, "columns": zeros(*columns.shape)}
    arguments = ("image", "columns", *size)
    return Call(buffers, arguments, **line(columns.size, 64), expected={"columns": columns})


@case("layers", (1, 3, 3, 1, 1, 0), (3, 9, 7, 3, 2, 1), speed=(16, 48, 48, 3, 1, 1))
def col2im(rng: Rng, size: Any) -> Call:
    channels, height, width, side, stride, padding = size
    out_height, out_width = (_out_size(n, side, stride, padding) for n in (height, width))
    columns = floats(rng, channels, side, side, out_height, out_width)
    padded = np.zeros((channels, height + 2 * padding, width + 2 * padding))
    for r in range(side):
        for s in range(side):
            rows = slice(r, r + stride * out_height, stride), slice(s, s + stride * out_width, stride)
            padded[:, *rows] += columns[:, r, s]
    expected = padded[:, padding : padding + height, padding : padding + width]
    buffers = {"columns": columns, "image": zeros(channels, height, width)}
    close = Close("sums of at most nine numbers below 6", absolute=9 * 30 * HALF_ULP)
    grid = line(channels * height * width, 64)
    return Call(buffers, ("columns", "image", *size), **grid, expected={"image": expected}, close=close)


def _pooling(rng: Rng, size: Any) -> tuple[np.ndarray, dict[str, Any], tuple[int, ...]]:
    planes, height, width, side, stride, padding = size
    x = floats(rng, planes, height, width)
    out_height, out_width = (_out_size(n, side, stride, padding) for n in (height, width))
    grid = {"global_size": (out_width, out_height, planes), "local_size": (8, 4, 2)}
    return x, grid, (height, width, out_height, out_width, side, stride, padding)


@case("layers", (1, 4, 4, 2, 2, 0), (3, 11, 7, 3, 2, 1), speed=(8, 96, 96, 2, 2, 0))
def max_pooling(rng: Rng, size: Any) -> Call:
    _, height, width, side, stride, padding = size
    x, grid, arguments = _pooling(rng, size)
    windows = _windows(x, side, stride, padding, -np.inf).reshape(len(x), *arguments[2:4], -1)
    numbers = np.arange(height * width).reshape(1, height, width)
    places = _windows(numbers, side, stride, padding, -1).reshape(1, *arguments[2:4], -1)
    won = windows.argmax(-1)[..., None]
    expected = {
        "out": windows.max(-1),
        "places": np.take_along_axis(np.broadcast_to(places, windows.shape), won, -1)[..., 0].astype(np.int32),
    }
    buffers = {"in": x, "out": zeros(*won.shape[:-1]), "places": zeros(*won.shape[:-1], dtype=np.int32)}
    return Call(buffers, ("in", "out", "places", *arguments), **grid, expected=expected)


@case("layers", (1, 4, 4, 2, 2, 0), (3, 11, 7, 3, 2, 1), speed=(8, 96, 96, 2, 2, 0))
def average_pooling(rng: Rng, size: Any) -> Call:
    _, _, _, side, stride, padding = size
    x, grid, arguments = _pooling(rng, size)
    expected = np.nanmean(_windows(x.astype(np.float64), side, stride, padding, np.nan), (-2, -1))
    buffers = {"in": x, "out": zeros(*expected.shape)}
    close = Close("sum of nine numbers below 6, one division", absolute=9 * 30 * HALF_ULP)
    return Call(buffers, ("in", "out", *arguments), **grid, expected={"out": expected}, close=close)


@case("normalise", (1, 1), (3, 100), (4, 301), speed=(256, 1024))
def softmax(rng: Rng, size: Any) -> Call:
    rows, columns = size
    x = floats(rng, rows, columns) * 5
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True).astype(np.float64))
    expected = powers / powers.sum(1, keepdims=True)
    close = Close("argument of exp2 rounds at up to 2^6; native exp2", absolute=1e-7, relative=8e-6)
    buffers = {"in": x, "out": zeros(rows, columns)}
    return Call(buffers, ("in", "out", columns), **groups(rows, 128), expected={"out": expected}, close=close)


def _batch(rng: Rng, size: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    images, channels, area = size
    x = floats(rng, images, channels, area) * 2 + 1
    mean = x.astype(np.float64).mean((0, 2))
    inverse = 1 / np.sqrt(x.astype(np.float64).var((0, 2)) + 1e-3)
    return x, mean, inverse, (x - mean[:, None]) * inverse[:, None]


@case("normalise", (2, 1, 1), (4, 3, 49), speed=(16, 16, 256))
def batch_forward(rng: Rng, size: Any) -> Call:
    images, channels, area = size
    x, mean, inverse, normal = _batch(rng, size)
    scale, shift = floats(rng, channels), floats(rng, channels)
    buffers = {"in": x, "scale": scale, "shift": shift, "out": zeros(*x.shape)}
    buffers |= {"mean": zeros(channels), "inverse": zeros(channels)}
    arguments = ("in", "scale", "shift", "out", "mean", "inverse", images, channels, area, np.float32(1e-3))
    expected = {"out": normal * scale[:, None] + shift[:, None], "mean": mean, "inverse": inverse}
    close = Close("trees of sums; up to 1 / sqrt(epsilon) = 32 times the rounding of x", absolute=2e-4, relative=1e-5)
    return Call(buffers, arguments, **groups(channels, 128), expected=expected, close=close)


@case("normalise", (2, 1, 1), (4, 3, 49), speed=(16, 16, 256))
def batch_backward(rng: Rng, size: Any) -> Call:
    images, channels, area = size
    x, mean, inverse, _ = _batch(rng, size)
    mean, inverse = mean.astype(np.float32), inverse.astype(np.float32)
    slope, scale = floats(rng, *x.shape), floats(rng, channels)
    normal = (x.astype(np.float64) - mean[:, None]) * inverse[:, None]
    scale_slope, shift_slope = (slope * normal).sum((0, 2)), slope.astype(np.float64).sum((0, 2))
    within = slope - (shift_slope[:, None] + normal * scale_slope[:, None]) / (images * area)
    expected = {"in_slope": (scale * inverse)[:, None] * within, "scale_slope": scale_slope, "shift_slope": shift_slope}
    buffers = {"in": x, "slope": slope, "scale": scale, "mean": mean, "inverse": inverse}
    buffers |= {name: zeros(*value.shape) for name, value in expected.items()}
    arguments = (*buffers, images, channels, area)
    magnitudes = np.abs(slope * normal).sum() + np.abs(slope).sum()
    close = Close("sums over the channel", absolute=32 * 16 * HALF_ULP * magnitudes / channels)
    return Call(buffers, arguments, **groups(channels, 128), expected=expected, close=close)


LRN = {"window": 5, "k": np.float32(2), "alpha": np.float32(0.1), "beta": np.float32(0.75)}
LRN_CLOSE = Close("exp2(-beta log2(x)): native functions, exponent below 8", absolute=1e-6, relative=4e-6)


def _response(rng: Rng, size: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """in, scales, out, and the channels' neighbourhood as a matrix of zeros and ones."""
    images, channels, area = size
    x = floats(rng, images, channels, area)
    near = np.abs(np.subtract.outer(np.arange(channels), np.arange(channels))) <= LRN["window"] // 2
    sums = np.einsum("ij,njp->nip", near, x.astype(np.float64) ** 2)
    scales = np.float64(LRN["k"]) + np.float64(LRN["alpha"]) / LRN["window"] * sums
    return x, scales, x * scales ** -np.float64(LRN["beta"]), near


@case("normalise", (1, 1, 1), (2, 7, 70), speed=(4, 32, 512))
def response_forward(rng: Rng, size: Any) -> Call:
    images, channels, area = size
    x, scales, out, _ = _response(rng, size)
    buffers = {"in": x, "out": zeros(*x.shape), "scales": zeros(*x.shape)}
    arguments = ("in", "out", "scales", channels, area, LRN["window"], LRN["k"], LRN["alpha"], LRN["beta"])
    expected = {"out": out, "scales": scales}
    return Call(buffers, arguments, (area, channels, images), (64, 1, 1), expected=expected, close=LRN_CLOSE)


@case("normalise", (1, 1, 1), (2, 7, 70), speed=(4, 32, 512))
def response_backward(rng: Rng, size: Any) -> Call:
    images, channels, area = size
    x, scales, out, near = _response(rng, size)
    slope = floats(rng, *x.shape)
    scales, out = scales.astype(np.float32), out.astype(np.float32)
    wide, beta = scales.astype(np.float64), np.float64(LRN["beta"])
    sums = np.einsum("ij,njp->nip", near, slope * out.astype(np.float64) / wide)
    factor = 2 * np.float64(LRN["alpha"]) * beta / LRN["window"]
    expected = slope * wide**-beta - factor * x * sums
    buffers = {"in": x, "out": out, "scales": scales, "slope": slope, "in_slope": zeros(*x.shape)}
    arguments = (*buffers, channels, area, LRN["window"], LRN["alpha"], LRN["beta"])
    grid = ((area, channels, images), (64, 1, 1))
    return Call(buffers, arguments, *grid, expected={"in_slope": expected}, close=LRN_CLOSE)
