"""Windows that move over rows and columns: kernels, strides, padding, and how many fit."""

from typing import Annotated, Any

from pydantic import BeforeValidator

from workloads.networks.kind import ShapeError
from workloads.networks.onnx_node import Node, UnsupportedNodeError
from workloads.networks.tensor import format_shape
from workloads.shapes import Shape

MAX_WINDOW = 4096  # rows of a map in `workload.layer`, too


def _numbers(value: Any, least: int, counts: dict[int, str]) -> tuple[int, ...]:
    """Check a configuration's value and return its whole numbers; a single number stands for all.

    counts: describes the allowed numbers of numbers, for the error message; a single number is repeated as often as the
    smallest of its keys says.
    """
    given = [value] * min(counts) if isinstance(value, int) else value
    fits = isinstance(given, list | tuple) and len(given) in counts
    if not fits or any(isinstance(n, bool) or not isinstance(n, int) or not least <= n <= MAX_WINDOW for n in given):
        raise ValueError(
            f"{str(value)[:40]!r} is not allowed: must be a whole number from {least} to {MAX_WINDOW}, or"
            f" {' or '.join(counts.values())}"
        )
    return tuple(given)


def _pair(value: Any) -> Any:
    return _numbers(value, 1, {2: "[rows, columns]"})


def _ends(value: Any) -> Any:
    return _numbers(value, 0, {2: "[rows, columns]"})


def _sides(value: Any) -> Any:
    given = _numbers(value, 0, {2: "[rows, columns]", 4: "[top, left, bottom, right]"})
    return given * 2 if len(given) == 2 else given


WindowPair = Annotated[tuple[int, int], BeforeValidator(_pair)]  # rows, columns
Ends = Annotated[tuple[int, int], BeforeValidator(_ends)]  # rows, columns; may be 0
WindowSides = Annotated[tuple[int, int, int, int], BeforeValidator(_sides)]  # top, left, bottom, right


def positions(
    shape: Shape, kernel: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int, int, int],
    dilation: tuple[int, int] = (1, 1), ceil: bool = False,
) -> tuple[int, int]:  # fmt: skip
    """Return how many windows fit in rows and in columns of maps of `shape`; raise ShapeError where none fits.

    ceil: a last window may hang over the end, if it begins within the maps or the padding before them (Caffe's rule).
    """
    if len(shape) != 3:
        raise ShapeError(f"an input of shape {format_shape(shape)}: it needs channels × rows × columns")
    counts = []
    for axis in (0, 1):
        before, after = padding[axis], padding[axis + 2]
        reach = dilation[axis] * (kernel[axis] - 1) + 1
        size = shape[axis + 1]
        space = size + before + after - reach
        if space < 0:
            raise ShapeError(
                f"kernel {kernel[0]}×{kernel[1]}"
                + (f" with dilation {dilation[0]}×{dilation[1]}" if dilation != (1, 1) else "")
                + f" does not fit an input of {format_shape(shape)} with padding {format_padding(padding)}"
            )
        count = space // stride[axis] + 1
        if ceil and space % stride[axis] and count * stride[axis] < size + before:
            count += 1
        counts.append(count)
    return counts[0], counts[1]


def format_padding(padding: tuple[int, int, int, int]) -> str:
    """Return the padding as text: '2', '2×1' or '0×0×1×1' (top, left, bottom, right)."""
    top, left, bottom, right = padding
    if len({*padding}) == 1:
        return str(top)
    return f"{top}×{left}" if (top, left) == (bottom, right) else format_shape(padding)


def onnx_padding(node: Node, kernel: list[int]) -> list[int]:
    """Return the zeros that a node adds at the top, left, bottom and right, in this order. kernel: rows and columns."""
    before, after = axis_padding(node, kernel)
    return [*before, *after]


def axis_padding(node: Node, kernel: list[int]) -> tuple[list[int], list[int]]:
    """Return the zeros that a node adds before and after each axis of its windows; none to rows that a line has not."""
    how, sizes = node.text("auto_pad", "NOTSET"), list(node.shape()[2:])
    count = len(sizes)
    none = [0] * (len(kernel) - count)
    if how in ("NOTSET", "VALID"):
        given = node.ints("pads", [0] * 2 * count) if how == "NOTSET" else [0] * 2 * count
        if len(given) != 2 * count:
            raise UnsupportedNodeError(f"pads = {given}: must have {2 * count} numbers")
        return [*none, *given[:count]], [*none, *given[count:]]
    if how not in ("SAME_UPPER", "SAME_LOWER"):
        raise UnsupportedNodeError(
            f"auto_pad = {how}: must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, on rows and columns"
        )
    before, after = [], []
    strides, dilations = node.by_axis("strides", 1), node.by_axis("dilations", 1)
    for size, window, stride, dilation in zip([1, *sizes][-len(kernel) :], kernel, strides, dilations, strict=True):
        reach = (-(-size // stride) - 1) * stride + dilation * (window - 1) + 1
        zeros = max(0, reach - size)  # so that there are as many windows as strides begun
        less, more = zeros // 2, zeros - zeros // 2
        before.append(less if how == "SAME_UPPER" else more)
        after.append(more if how == "SAME_UPPER" else less)
    return before, after
