"""Elements of an array at other places: transposed, cut out, padded, the same for each image; and the gradients."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from workloads.operators.bias import BiasBackward
from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.places import AXES, WIDE, contiguous, sizes_words, steps_words
from workloads.operators.primitive import DivisionAxis, LaunchTuple, MappingPrimitive, ReferenceValue
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape


@dataclass(frozen=True)
class AxisMapping:
    """What an axis of the result reads: coordinate i the source's (i · step + start) / every, which has `extent`
    coordinates, `distance` elements apart; fill where that is none of them.
    """

    size: int
    """Coordinates of the result."""
    step: int
    """Steps of the source for each."""
    start: int
    """Where they begin."""
    extent: int
    """Coordinates of the source."""
    distance: int
    """Elements from coordinate to coordinate of the source."""
    every: int = 1
    """Divisor of the steps."""

    @property
    def whole(self) -> bool:
        """Whether each coordinate reads that of the same number, of all of the source's or of one that is repeated."""
        return (
            self.step in (0, 1) and self.start == 0 and self.every == 1 and (self.size == self.extent or not self.step)
        )

    def places(self) -> np.ndarray:
        """Return the source's coordinate of each of the result's, -1 where it is none."""
        wanted = np.arange(self.size) * self.step + self.start
        found = np.where(wanted % self.every == 0, wanted // self.every, -1)
        return np.where((found >= 0) & (found < self.extent), found, -1)


class Move(MappingPrimitive):
    """An array with the elements of another at other positions.

    Axis 0, that of the images, does not change.
    """

    fill: float = 0.0
    """Value of positions without a source."""
    scale: float = 1.0
    """Factor of the elements."""

    def __post_init__(self) -> None:
        if len(self._axes) > AXES:
            raise self.refuse(
                f"{len(self._axes)} axes are left of {list(self.shape)} once neighbours are merged; allowed are {AXES}"
            )

    @property
    @abstractmethod
    def along(self) -> tuple[AxisMapping, ...]:
        """What each axis of the result reads."""

    @property
    def shape(self) -> Shape:  # type: ignore[override]
        """The result's shape."""
        return tuple(axis.size for axis in self.along)

    @property
    def read_bytes(self) -> int:
        return 4 * prod(len(set(axis.places().tolist()) - {-1}) for axis in self.along)

    @property
    def operations(self) -> int:
        return 0 if self.scale == 1.0 else prod(self.shape)

    @property
    def _axes(self) -> list[AxisMapping]:
        """The axes, neighbours as one where they are gone through as one, axes of 1 left out."""
        axes: list[AxisMapping] = []
        for axis in self.along:
            last = axes[-1] if axes else None
            if axis.size == 1 and axis.whole:
                continue
            if last and last.whole and axis.whole and last.step == axis.step:
                if not axis.step or last.distance == axis.size * axis.distance:
                    extent = last.extent * axis.extent
                    axes[-1] = AxisMapping(last.size * axis.size, axis.step, 0, extent, axis.distance)
                    continue
            axes.append(axis)
        return axes or [AxisMapping(1, 1, 0, 1, 1)]

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        source, target = (tensors[name] for name in (*self.takes, self.result))
        axes = self._axes
        last = axes[-1]
        wide = (
            (last.step, last.distance, last.every) == (1, 1, 1)
            and not any(n % WIDE for n in (last.size, last.start, last.extent))
            and not any(axis.distance % WIDE or axis.every > 1 for axis in axes[:-1])
        )
        if wide:
            axes = [replace(axis, distance=axis.distance // WIDE) for axis in axes[:-1]]
            axes.append(AxisMapping(last.size // WIDE, 1, last.start // WIDE, last.extent // WIDE, 1))
        n = prod(axis.size for axis in axes)
        none = {"step": 0, "start": 0, "extent": 1, "distance": 0}
        values = {
            "from": source,
            "to": target,
            "sizes": sizes_words(tuple(axis.size for axis in axes)),
            "source": np.concatenate(
                [steps_words([getattr(axis, name) for axis in axes], other) for name, other in none.items()]
            ),
            "fill": self.fill,
            "scale": self.scale,
            "n": n,
        }
        kernel = "move_4" if wide else "move"
        if any(axis.every > 1 for axis in axes):
            backwards = [*[axis.every for axis in reversed(axes)], *[1] * AXES][:AXES]
            kernel, values["every"] = "move_spread", np.concatenate([divisor(every) for every in backwards])
        return (launch("move", kernel, target.memory, (-(-n // GROUP),), values),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x = inputs[self.operand]
        images = (len(x), *self.shape[1:])  # all of them, or some
        along = (replace(self.along[0], size=len(x), extent=len(x)), *self.along[1:])
        places, inside = np.zeros(images, np.int64), np.ones(images, bool)
        for k, axis in enumerate(along):
            wide = (-1, *[1] * (len(along) - k - 1))
            found = axis.places()
            places += np.maximum(found, 0).reshape(wide) * axis.distance
            inside &= (found >= 0).reshape(wide)
        y = np.where(inside, self.scale * x.reshape(-1).astype(np.float64)[places], self.fill)
        bound = 0.0 if self.scale == 1.0 else 2 * UNIT_ROUNDOFF * np.abs(y) + SMALLEST_NORMAL
        return {self.result: ReferenceValue(y, bound)}


@dataclass(frozen=True)
class Permute(Move):
    """Axis k of the result is the source's axis order[k]."""

    source: Shape
    """Shape of the source."""
    order: tuple[int, ...]
    """Axes of the source by axis of the result."""
    gradient: bool = False
    """It is the backward pass."""

    def __post_init__(self) -> None:
        if sorted(self.order) != list(range(len(self.source))) or self.order[0] != 0:
            raise self.refuse(f"order is {list(self.order)}; it must have each axis of {list(self.source)}, 0 first")
        super().__post_init__()

    @property
    def read_shape(self) -> Shape:
        return self.source

    @property
    def name(self) -> str:
        return f"permute {self.way}"

    @property
    def along(self) -> tuple[AxisMapping, ...]:
        distances = contiguous(self.source)
        return tuple(AxisMapping(self.source[axis], 1, 0, self.source[axis], distances[axis]) for axis in self.order)

    def backward(self) -> "Permute":
        return Permute(self.shape, tuple(self.order.index(axis) for axis in range(len(self.order))), True)


@dataclass(frozen=True)
class StridedSlice(Move):
    """y[i] = x[start + i · step] along each axis, for `sizes` elements; `fill` beyond x: a slice, or padding."""

    source: Shape
    """Shape of x."""
    starts: tuple[int, ...]
    """First coordinate along each axis."""
    steps: tuple[int, ...]
    """Step along each axis."""
    sizes: Shape
    """Shape of y."""
    fill: float = 0.0
    """Value beyond x."""

    def __post_init__(self) -> None:
        if not all(self.steps) or (self.starts[0], self.steps[0], self.sizes[0]) != (0, 1, self.source[0]):
            raise self.refuse(f"steps are {list(self.steps)}; none may be 0, and axis 0 stays")
        super().__post_init__()

    @property
    def read_shape(self) -> Shape:
        return self.source

    @property
    def name(self) -> str:
        return "cut forward"

    @property
    def along(self) -> tuple[AxisMapping, ...]:
        parts = zip(self.sizes, self.steps, self.starts, self.source, contiguous(self.source), strict=True)
        return tuple(AxisMapping(*part) for part in parts)

    def backward(self) -> "StridedSliceBackward":
        return StridedSliceBackward(self)


@dataclass(frozen=True)
class StridedSliceBackward(Move):
    """dx: dy where an element was taken, else 0."""

    cut: StridedSlice
    """The forward pass."""
    gradient = True
    name = "cut backward"

    @property
    def read_shape(self) -> Shape:
        return self.cut.shape

    @property
    def along(self) -> tuple[AxisMapping, ...]:
        cut, distances, found = self.cut, contiguous(self.cut.shape), []
        for k, (size, start, step) in enumerate(zip(cut.source, cut.starts, cut.steps, strict=True)):
            sign = 1 if step > 0 else -1
            found.append(AxisMapping(size, sign, -sign * start, cut.sizes[k], distances[k], abs(step)))
        return tuple(found)


@dataclass(frozen=True)
class StoredParameter(Move):
    """The same values for every image of `sizes` [N, ...]. They are called a bias, as what is added to nothing."""

    sizes: Shape
    """Shape [N, ...]."""
    divisible = DivisionAxis.NOTHING
    name = "stored values forward"

    @property
    def read_shape(self) -> Shape:
        return self.sizes[1:]

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {"bias": Operand(self.sizes[1:], by_image=False)}

    @property
    def along(self) -> tuple[AxisMapping, ...]:
        rest = zip(self.sizes[1:], contiguous(self.sizes[1:]), strict=True)
        return (
            AxisMapping(self.sizes[0], 0, 0, 1, 0),
            *(AxisMapping(size, 1, 0, size, distance) for size, distance in rest),
        )

    def backward(self) -> BiasBackward:
        return BiasBackward((self.sizes[0], prod(self.sizes[1:])))

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        return {"y": ReferenceValue(np.broadcast_to(inputs["bias"].astype(np.float64), self.sizes))}
