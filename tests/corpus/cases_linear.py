"""Cases: element by element, matrices, collectives."""

from typing import Any

import numpy as np

from tests.corpus.case import (
    EXACT,
    HALF_ULP,
    ULP_16,
    Call,
    Close,
    case,
    covering,
    floats,
    groups,
    line,
    sum_error,
    zeros,
)

Rng = np.random.Generator
ONE_ULP = Close("native functions: 1 ulp each, a few roundings", absolute=1e-7, relative=1e-6)


@case("elementwise", 1, 64, 1000, speed=1 << 18)
def vector_add(rng: Rng, n: int) -> Call:
    a, b = floats(rng, n), floats(rng, n)
    return Call({"a": a, "b": b, "c": zeros(n)}, ("a", "b", "c", n), **line(n, 64), expected={"c": a + b})


@case("elementwise", 1, 256, 1999, speed=1 << 18)
def saxpy(rng: Rng, n: int) -> Call:
    x, y, alpha = floats(rng, n), floats(rng, n), np.float32(1.7)
    expected = np.float32(np.float64(alpha) * x + y)
    return Call(
        {"x": x, "y": y},
        ("x", "y", alpha, n),
        **line(min(n, 960 if n < 1 << 14 else 16384), 128),
        expected={"y": expected},
        close=Close("FP64 reference is rounded twice", relative=2 * HALF_ULP),
    )


@case("elementwise", 1, 200, speed=1 << 18)
def relu(rng: Rng, n: int) -> Call:
    x = floats(rng, n)
    return Call({"in": x, "out": zeros(n)}, ("in", "out", n), **line(n, 96), expected={"out": np.maximum(x, 0)})


@case("elementwise", 3, 200, speed=1 << 18)
def relu_backward(rng: Rng, n: int) -> Call:
    x, slope = floats(rng, n), floats(rng, n)
    expected = np.where(x > 0, slope, np.float32(0))
    buffers = {"in": x, "slope": slope, "out": zeros(n)}
    return Call(buffers, ("in", "slope", "out", n), **line(n, 64), expected={"out": expected})


def _activation(rng: Rng, n: int, function: Any) -> Call:
    x = floats(rng, n) * 20
    expected = {"out": function(x.astype(np.float64))}
    close = Close("argument of exp2 rounds at up to 2^7", absolute=2e-7, relative=6e-6)
    return Call({"in": x, "out": zeros(n)}, ("in", "out", n), **line(n, 64), expected=expected, close=close)


@case("elementwise", 1, 333, speed=1 << 18)
def sigmoid(rng: Rng, n: int) -> Call:
    return _activation(rng, n, lambda x: 1 / (1 + np.exp(-x)))


@case("elementwise", 1, 333, speed=1 << 18)
def hyperbolic_tangent(rng: Rng, n: int) -> Call:
    return _activation(rng, n, np.tanh)


@case("elementwise", 5, 130, speed=1 << 16)
def vector_types(rng: Rng, n: int) -> Call:
    a, b = floats(rng, n, 4), rng.integers(0, 256, (n, 4)).astype(np.uint8)
    y = b.astype(np.int32)
    shorts = np.stack([y[:, 0] - y[:, 1], y[:, 1] * y[:, 2], y[:, 2] - 300, -y[:, 3]], 1).astype(np.int16)
    buffers = {"a": a, "b": b, "out": zeros(n, 4), "shorts": zeros(n, 4, dtype=np.int16)}
    expected = {"out": a[:, ::-1] * np.float32(2) + b.astype(np.float32), "shorts": shorts}
    return Call(buffers, ("a", "b", "out", "shorts", n), **line(n, 64), expected=expected)


@case("matrix", (16, 16), (1, 33), (50, 70), speed=(512, 512))
def transpose(rng: Rng, size: Any) -> Call:
    rows, columns = size
    a = floats(rng, rows, columns)
    grid = covering(columns, rows, 16, 16)
    return Call({"a": a, "t": zeros(columns, rows)}, ("a", "t", rows, columns), **grid, expected={"t": a.T})


def _product(rng: Rng, size: Any, grid: Any, dtype: Any = np.float32, out: Any = np.float32) -> Call:
    m, n, k = size
    a, b = floats(rng, m, k).astype(dtype), floats(rng, k, n).astype(dtype)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    bound = sum_error(k, np.abs(wide_a) @ np.abs(wide_b))
    close = Close(f"{k} roundings of the products and sums", absolute=bound)
    if out == np.float16:
        close = Close(f"{k} roundings in half precision", absolute=bound * (ULP_16 / 2 / HALF_ULP))
    buffers = {"a": a, "b": b, "c": zeros(m, n, dtype=out)}
    return Call(buffers, ("a", "b", "c", m, n, k), **grid, expected={"c": wide_a @ wide_b}, close=close)


def _plane(size: Any) -> dict[str, Any]:
    return {"global_size": (size[1], size[0], 1), "local_size": (16, 8, 1)}


@case("matrix", (16, 16, 16), (17, 35, 20), speed=(128, 128, 64))
def gemm_plain(rng: Rng, size: Any) -> Call:
    return _product(rng, size, _plane(size))


@case("matrix", (16, 16, 16), (1, 1, 1), (33, 20, 19), speed=(128, 128, 128))
def gemm_tiles(rng: Rng, size: Any) -> Call:
    return _product(rng, size, covering(size[1], size[0], 16, 16))


@case("matrix", (32, 32, 8), (64, 96, 13), speed=(256, 256, 64))
def gemm_registers(rng: Rng, size: Any) -> Call:
    m, n, k = size
    a, b, c, alpha, beta = floats(rng, m, k), floats(rng, k, n), floats(rng, m, n), np.float32(1.5), np.float32(-0.5)
    bound = sum_error(k + 3, 1.5 * (np.abs(a) @ np.abs(b)) + np.abs(c))
    return Call(
        {"a": a, "b": b, "c": c},
        ("a", "b", "c", m, n, k, alpha, beta),
        (n // 4, m // 4, 1),
        (8, 8, 1),
        expected={"c": alpha * (a.astype(np.float64) @ b) + beta * c.astype(np.float64)},
        close=Close("roundings of products and sums", absolute=bound),
    )


@case("matrix", (1, 1), (7, 64), (20, 150), speed=(512, 1024))
def gemv(rng: Rng, size: Any) -> Call:
    rows, columns = size
    a, x = floats(rng, rows, columns), floats(rng, columns)
    close = Close("roundings of products and sums", absolute=sum_error(columns, np.abs(a) @ np.abs(x)))
    expected = {"y": a.astype(np.float64) @ x}
    buffers = {"a": a, "x": x, "y": zeros(rows)}
    return Call(buffers, ("a", "x", "y", columns), **groups(rows, 64), expected=expected, close=close)


@case("matrix", (1, 5), (100, 37), speed=(2048, 128))
def gemv_double(rng: Rng, size: Any) -> Call:
    rows, columns = size
    a, x = rng.standard_normal((rows, columns)), rng.standard_normal(columns)
    bound = (columns + 2) * 2.0**-53 * (np.abs(a) @ np.abs(x))
    buffers = {"a": a, "x": x, "y": np.zeros(rows)}
    return Call(
        buffers,
        ("a", "x", "y", rows, columns),
        **line(rows, 64),
        expected={"y": a @ x},
        close=Close("roundings of products and sums, in either", absolute=2 * bound),
    )


@case("matrix", (8, 16, 16), (17, 35, 20), speed=(128, 128, 64))
def gemm_half(rng: Rng, size: Any) -> Call:
    return _product(rng, size, _plane(size), np.float16, np.float16)


@case("matrix", (8, 16, 16), (17, 35, 20), speed=(128, 128, 64))
def gemm_half_float(rng: Rng, size: Any) -> Call:
    return _product(rng, size, _plane(size), np.float16)


@case("collective", 1, 512, 1700, speed=1 << 19)
def reduce_sum(rng: Rng, n: int) -> Call:
    x, blocks = floats(rng, n), -(-n // 512)
    padded = np.zeros(blocks * 512)
    padded[:n] = x
    parts = padded.reshape(blocks, 512)
    close = Close("a tree of ten sums", absolute=sum_error(10, np.abs(parts).sum(1)))
    buffers = {"in": x, "sums": zeros(blocks)}
    return Call(buffers, ("in", "sums", n), **groups(blocks, 256), expected={"sums": parts.sum(1)}, close=close)


@case("collective", 1, 300, speed=1 << 16)
def find_largest(rng: Rng, n: int) -> Call:
    x = rng.integers(-(1 << 31), 1 << 31, n).astype(np.int32)
    keys = x.astype(np.int64) << 32 | np.arange(n)
    best = np.array([np.iinfo(np.int64).min])
    return Call({"in": x, "best": best}, ("in", "best", n), **line(n, 64), expected={"best": keys.max(keepdims=True)})


@case("collective", 1, 512, 1300, speed=1 << 18)
def scan_blocks(rng: Rng, n: int) -> Call:
    x, blocks = rng.integers(0, 1 << 32, n).astype(np.uint32), -(-n // 512)
    padded = np.zeros((blocks, 512), np.uint64)
    padded.reshape(-1)[:n] = x
    sums = padded.cumsum(1)
    before = (sums - padded).astype(np.uint32).reshape(-1)[:n]
    buffers = {"in": x, "out": zeros(n, dtype=np.uint32), "sums": zeros(blocks, dtype=np.uint32)}
    expected = {"out": before, "sums": sums[:, -1].astype(np.uint32)}
    return Call(buffers, ("in", "out", "sums", n), **groups(blocks, 256), expected=expected)


@case("collective", 5, 1300, speed=1 << 19)
def scan_add(rng: Rng, n: int) -> Call:
    blocks = -(-n // 512)
    x, offsets = (rng.integers(0, 1 << 32, k).astype(np.uint32) for k in (n, blocks))
    expected = x + np.repeat(offsets, 512)[:n]
    return Call({"x": x, "o": offsets}, ("x", "o", n), **groups(blocks, 256), expected={"x": expected})


def _histogram(rng: Rng, n: int, grid: Any) -> Call:
    x, bins = rng.binomial(255, 0.3, n).astype(np.uint8), rng.integers(0, 100, 256).astype(np.uint32)
    expected = bins + np.bincount(x, minlength=256).astype(np.uint32)
    return Call({"in": x, "bins": bins}, ("in", "bins", n), **grid, expected={"bins": expected})


@case("collective", 1, 256, 5001, speed=1 << 18)
def histogram_lds(rng: Rng, n: int) -> Call:
    return _histogram(rng, n, groups(3, 256))


@case("collective", 1, 777, speed=1 << 17)
def histogram_global(rng: Rng, n: int) -> Call:
    return _histogram(rng, n, line(n, 64))


@case("collective", 1, 3, speed=64)
def bitonic_sort(rng: Rng, blocks: int) -> Call:
    keys = rng.integers(-(1 << 31), 1 << 31, (blocks, 512)).astype(np.int32)
    keys[:, 100:140] = keys[:, :40]  # equal keys
    return Call({"k": keys}, ("k",), **groups(blocks, 256), expected={"k": np.sort(keys, 1)})


@case("collective", (2, 1, 64), (8, 4, 96), (16, 2, 1024), speed=(64, 16, 1 << 19))
def bitonic_pass(rng: Rng, setting: Any) -> Call:
    size, step, n = setting
    keys = rng.integers(-1000, 1000, n).astype(np.int32)
    pairs = keys.reshape(-1, 2, step)
    low, high = pairs.min(1), pairs.max(1)
    start = np.arange(n).reshape(-1, 2, step)[:, 0]
    up = (start & size) == 0
    expected = np.stack([np.where(up, low, high), np.where(up, high, low)], 1).reshape(n)
    return Call({"k": keys}, ("k", size, step, n), **line(n // 2, 64), expected={"k": expected}, close=EXACT)
