"""Axes of an image's shape, as files name them: from 0, or from the end by negative numbers."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from workloads.networks.kind import ShapeError
from workloads.networks.tensor import format_shape
from workloads.shapes import Shape

MOST_AXES = 8  # of an image
MAX_SIZE = 1 << 24  # elements along an axis


def _numbers(value: Any, least: int) -> tuple[int, ...]:
    """Check a configuration's value and return its whole numbers; a single number stands for a list of one."""
    given = [value] if isinstance(value, int) and not isinstance(value, bool) else value
    if (
        not isinstance(given, list | tuple)
        or not 1 <= len(given) <= MOST_AXES
        or any(isinstance(n, bool) or not isinstance(n, int) or not least <= n <= MAX_SIZE for n in given)
    ):
        raise ValueError(
            f"{str(value)[:40]!r} is not allowed: must be 1 to {MOST_AXES} whole numbers from {least} to {MAX_SIZE}"
        )
    return tuple(given)


Sizes = Annotated[tuple[int, ...], BeforeValidator(lambda value: _numbers(value, 1))]
AxisCounts = Annotated[tuple[int, ...], BeforeValidator(lambda value: _numbers(value, 0))]
Axes = Annotated[tuple[int, ...], BeforeValidator(lambda value: _numbers(value, -MOST_AXES))]


def axis_of(shape: Shape, axis: int) -> int:
    """Return the axis counted from the front; raise ShapeError where the shape has none such."""
    if not -len(shape) <= axis < len(shape):
        raise ShapeError(
            f"axis {axis} of an input of {format_shape(shape)}: allowed are {-len(shape)} to {len(shape) - 1}, without"
            " the batch"
        )
    return axis % len(shape)


def axes_of(shape: Shape, axes: Sequence[int]) -> tuple[int, ...]:
    """Return axes counted from the front, in order; raise ShapeError for one that is not there or comes twice."""
    found = tuple(sorted(axis_of(shape, axis) for axis in axes))
    if len(set(found)) < len(found):
        raise ShapeError(f"axes {list(axes)} of an input of {format_shape(shape)}: one comes twice")
    return found
