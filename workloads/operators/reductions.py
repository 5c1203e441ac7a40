"""Sums over axes, times a number, and repetition along axes: each is the gradient of the other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from isa.launch import Launch
from workloads.operators.channels import WAVEFRONT
from workloads.operators.launching import GROUP, divisor, launch
from workloads.operators.move import AxisMapping, Move
from workloads.operators.operator import GpuFacts
from workloads.operators.places import contiguous
from workloads.operators.primitive import LaunchTuple, MappingPrimitive, ReferenceValue
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape

LANES_WANTED = 1 << 14  # of a step: sums are split until there are as many, so that compute units have work
LEAST_ROW, LEAST_COLUMN = 1024, 32  # elements of a part


@dataclass(frozen=True)
class ReductionStep:
    """A sum over the middle axis of [outer, count, inner], in parts of `length`."""

    outer: int
    """Size of the axes before."""
    count: int
    """Size of the axis that is summed."""
    inner: int
    """Size of the axes after."""

    @property
    def length(self) -> int:
        """Elements of a part, but for the last one."""
        least = LEAST_ROW if self.inner == 1 else LEAST_COLUMN
        lanes = self.outer * (WAVEFRONT if self.inner == 1 else self.inner)
        parts = max(1, min(self.count // least, LANES_WANTED // lanes))
        return -(-self.count // parts)

    @property
    def parts(self) -> int:
        """The number of parts."""
        return -(-self.count // self.length)

    @property
    def size(self) -> int:
        """Elements of the result, parts included."""
        return self.outer * self.parts * self.inner

    @property
    def longest(self) -> int:
        """Additions, at most, that an element's value goes through."""
        return -(-self.length // WAVEFRONT) + 7 if self.inner == 1 else self.length

    def launch(self, source: Tensor, target: Tensor, scale: float) -> Launch:
        """Return the launch that adds up the parts."""
        values = {"x": source, "y": target, "count": self.count, "length": self.length, "scale": scale}
        values |= {"by_parts": divisor(self.parts)}
        if self.inner == 1:
            rows = self.outer * self.parts
            groups = -(-rows * WAVEFRONT // GROUP)
            return launch("reductions", "sum_rows", source.memory, (groups,), {**values, "rows": rows})
        values |= {"by_inner": divisor(self.inner), "n": self.size}
        return launch("reductions", "sum_columns", source.memory, (-(-self.size // GROUP),), values)


def chain(outer: int, count: int, inner: int) -> tuple[ReductionStep, ...]:
    """Return the steps that add up the middle axis of [outer, count, inner]: parts, and these until one is left."""
    found = [ReductionStep(outer, count, inner)]
    while found[-1].parts > 1:
        found.append(ReductionStep(outer, found[-1].parts, inner))
    return tuple(found)


def plan_steps(shape: Shape, axes: Sequence[int]) -> tuple[ReductionStep, ...]:
    """Return the steps that add up all elements along `axes`, neighbouring axes at once, the last ones first."""
    runs: list[list[int]] = []
    for axis in sorted(axes):
        if runs and runs[-1][-1] == axis - 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    sizes = list(shape)
    found: list[ReductionStep] = []
    for run in reversed(runs):
        found += chain(prod(sizes[: run[0]]), prod(sizes[run[0] : run[-1] + 1]), prod(sizes[run[-1] + 1 :]))
        for axis in run:
            sizes[axis] = 1
    return tuple(found)


def scratch_of(steps: Sequence[ReductionStep]) -> dict[str, Operand]:
    """Return the arrays that the steps but the last one leave for the next, by name."""
    return {f"sums{k}": Operand((step.size,), by_image=False) for k, step in enumerate(steps[:-1])}


def launches_of(
    steps: Sequence[ReductionStep], source: Tensor, target: Tensor, scratch: Mapping[str, Tensor], scale: float = 1.0
) -> LaunchTuple:
    """Return the launches of the steps, the last one with the scale. scratch: as `scratch_of` names it."""
    launches = []
    for k, step in enumerate(steps):
        last = k == len(steps) - 1
        to = target if last else scratch[f"sums{k}"]
        launches.append(step.launch(source, to, scale if last else 1.0))
        source = to
    return tuple(launches)


def longest_of(steps: Sequence[ReductionStep]) -> int:
    """Return the additions, at most, that an element's value goes through in all steps."""
    return sum(step.longest for step in steps) + 1


@dataclass(frozen=True)
class Sum(MappingPrimitive):
    """y = scale times the sum of x [N, ...] over axes, which remain with size 1."""

    shape: Shape
    """Shape of x."""
    axes: tuple[int, ...]
    """Summed axes, from 1; axis 0 is that of the images."""
    scale: float = 1.0
    """Factor of the sum."""
    gradient: bool = False
    """A backward pass, from dy to dx."""

    def __post_init__(self) -> None:
        if not self.axes or not all(0 < axis < len(self.shape) for axis in self.axes):
            raise self.refuse(f"axes are {list(self.axes)} of {list(self.shape)}; allowed are 1 to the last one")

    @property
    def name(self) -> str:
        return f"sum over axes {self.way}"

    @property
    def steps(self) -> tuple[ReductionStep, ...]:
        """The launches' geometry."""
        return plan_steps(self.shape, self.axes)

    @property
    def written_shape(self) -> Shape:
        return tuple(1 if axis in self.axes else size for axis, size in enumerate(self.shape))

    @property
    def workspace(self) -> Mapping[str, Operand]:
        return scratch_of(self.steps)

    @property
    def operations(self) -> int:
        return prod(self.shape) - prod(self.written_shape)

    def backward(self) -> "Repeat":
        return Repeat(self.written_shape, self.shape, self.scale, True)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return launches_of(self.steps, tensors[self.operand], tensors[self.result], tensors, self.scale)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x = inputs[self.operand].astype(np.float64)
        return {self.result: summed(x, self.axes, self.steps, self.scale)}


def summed(x: np.ndarray, axes: tuple[int, ...], steps: Sequence[ReductionStep], scale: float = 1.0) -> ReferenceValue:
    """Return the sum of x over axes, which stay with size 1, times scale, with the bound of the steps' additions."""
    magnitude = abs(scale) * np.abs(x).sum(axis=axes, keepdims=True)
    bound = (longest_of(steps) + 2) * UNIT_ROUNDOFF * magnitude + SMALLEST_NORMAL
    return ReferenceValue(scale * x.sum(axis=axes, keepdims=True), bound)


@dataclass(frozen=True)
class Repeat(Move):
    """Axes of size 1 repeated until the result has `sizes`, times `scale`."""

    source: Shape
    """Shape of the source."""
    sizes: Shape
    """Shape of the result."""
    scale: float = 1.0
    """Factor."""
    gradient: bool = False
    """It is the backward pass."""

    def __post_init__(self) -> None:
        fits = all(here == there or here == 1 for here, there in zip(self.source, self.sizes, strict=True))
        if not fits or self.source[0] != self.sizes[0]:
            raise self.refuse(f"{list(self.source)} cannot become {list(self.sizes)}: axes of 1 alone may be repeated")
        super().__post_init__()

    @property
    def read_shape(self) -> Shape:
        return self.source

    @property
    def name(self) -> str:
        return f"repeat {self.way}"

    @property
    def along(self) -> tuple[AxisMapping, ...]:
        parts = zip(self.sizes, self.source, contiguous(self.source), strict=True)
        return tuple(AxisMapping(size, int(size == there), 0, there, distance) for size, there, distance in parts)

    def backward(self) -> "Repeat | Sum":
        """Return the sum over what was repeated; a copy where nothing was."""
        repeated = tuple(
            k for k, (size, there) in enumerate(zip(self.sizes, self.source, strict=True)) if size != there
        )
        if not repeated:
            return Repeat(self.sizes, self.source, self.scale, True)
        return Sum(self.sizes, repeated, self.scale, True)
