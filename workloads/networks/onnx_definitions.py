"""Operators that onnx's evaluator has otherwise than their definition, or not whole (onnx 1.23), in NumPy (ai.onnx).

Of LRN it computes as many channels as there are images; of maps with other than two axes it takes the largest values
over the wrong ones; poolings lack cases of padding and of `ceil_mode`; before opset 14 batch normalizations train;
Softmax before opset 13 is that of later versions. Code of the reader of files is not used here.
"""

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


def corrected_operators(opset: int) -> Iterator[Any]:
    """Yield classes of operators for the evaluator of a file of this version."""
    op_run = importlib.import_module("onnx.reference.op_run").OpRun
    operators: dict[str, Callable[..., tuple[np.ndarray, ...]]] = {
        "AveragePool": _average_pool, "GlobalMaxPool": _global_max_pool, "LRN": _lrn, "MaxPool": _max_pool,
    }  # fmt: skip
    operators |= {"BatchNormalization": _batch_norm} if opset < 14 else {}
    operators |= {"Softmax": _flattening_softmax} if opset < 13 else {}
    for name, run in operators.items():
        yield type(name, (op_run,), {"_run": run, "op_domain": ""})


def _global_max_pool(self: Any, x: np.ndarray) -> tuple[np.ndarray]:
    return (x.max(axis=tuple(range(2, x.ndim)), keepdims=True),)


def _lrn(self: Any, x: np.ndarray, alpha: float, beta: float, bias: float, size: int) -> tuple[np.ndarray]:
    squares, before = x * x, (size - 1) // 2
    sums = [squares[:, max(0, c - before) : c - before + size].sum(axis=1) for c in range(x.shape[1])]
    return ((x / (bias + alpha / size * np.stack(sums, axis=1)) ** beta).astype(x.dtype),)


def _batch_norm(
    self: Any, x: np.ndarray, scale: np.ndarray, bias: np.ndarray, mean: np.ndarray, variance: np.ndarray,
    epsilon: float = 1e-5, **_: Any,
) -> tuple[np.ndarray]:  # fmt: skip
    plane = [1] * (x.ndim - 2)
    shape = (-1, *plane) if scale.ndim == 1 else scale.shape  # for each value where it is not spatial
    deviation = np.sqrt(variance.reshape(shape) + epsilon)
    y = scale.reshape(shape) * (x - mean.reshape(shape)) / deviation + bias.reshape(shape)
    return (y.astype(x.dtype),)


def _flattening_softmax(self: Any, x: np.ndarray, axis: int) -> tuple[np.ndarray]:
    """Take the input for a matrix whose columns are the axes from `axis` on, and normalize its rows."""
    rows = x.reshape(int(np.prod(x.shape[: axis % x.ndim])), -1)
    terms = np.exp(rows - rows.max(axis=1, keepdims=True))
    return ((terms / terms.sum(axis=1, keepdims=True)).reshape(x.shape).astype(x.dtype),)


def _max_pool(self: Any, x: np.ndarray, **attributes: Any) -> tuple[np.ndarray, ...]:
    for axis, windows in enumerate(_windows(x, attributes), 2):
        x = np.stack([x.take(places, axis).max(axis=axis) for places, _ in windows], axis=axis)
    further = len(self.onnx_node.output) - 1  # the places, which nothing reads
    return x, *(np.zeros(x.shape, np.int64) for _ in range(further))


def _average_pool(self: Any, x: np.ndarray, count_include_pad: int | None = 0, **attributes: Any) -> tuple[np.ndarray]:
    kind = x.dtype
    for axis, windows in enumerate(_windows(x, attributes), 2):
        counts = [count if count_include_pad else len(places) for places, count in windows]
        means = [
            x.take(places, axis).sum(axis=axis) / count for (places, _), count in zip(windows, counts, strict=True)
        ]
        x = np.stack(means, axis=axis)
    return (x.astype(kind),)


def _windows(x: np.ndarray, attributes: dict[str, Any]) -> list[list[tuple[list[int], int]]]:
    """Return, for each axis of the maps and each window along it, the places in the input, and how many there are
    together with those in the padding.
    """
    sizes, kernel = x.shape[2:], attributes["kernel_shape"]
    strides = attributes.get("strides") or [1] * len(sizes)
    dilations = attributes.get("dilations") or [1] * len(sizes)
    pads = attributes.get("pads") or [0] * 2 * len(sizes)
    automatic, ceil = attributes.get("auto_pad") or "NOTSET", bool(attributes.get("ceil_mode"))
    windows = []
    for k, (size, width, stride, dilation) in enumerate(zip(sizes, kernel, strides, dilations, strict=True)):
        reach = dilation * (width - 1) + 1
        before, after = (pads[k], pads[k + len(sizes)]) if automatic == "NOTSET" else (0, 0)
        if automatic.startswith("SAME"):
            zeros = max(0, (-(-size // stride) - 1) * stride + reach - size)
            before = zeros // 2 if automatic == "SAME_UPPER" else zeros - zeros // 2
            after = zeros - before
        windows.append(_along_axis(size, before, after, range(0, reach, dilation), stride, ceil))
    return windows


def _along_axis(
    size: int, before: int, after: int, window: Sequence[int], stride: int, ceil: bool
) -> list[tuple[list[int], int]]:
    """Return the windows along an axis. window: its places from its first one on."""
    space = size + before + after - (window[-1] + 1)
    count = space // stride + 1
    if ceil and space % stride and count * stride < size + before:  # begins within the input or the padding before it
        count += 1
    found = []
    for number in range(count):
        places = [number * stride - before + place for place in window]
        padded = [place for place in places if place < size + after]
        found.append(([place for place in padded if 0 <= place < size], len(padded)))
    return found
