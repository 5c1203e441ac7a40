"""Two arrays combined element by element, one repeated along axes that it does not have: sum, difference, product,
quotient.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from gpusim.base.errors import unknown_name
from isa.launch import Launch
from workloads.operators.launching import GROUP, elementwise, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.places import AXES, WIDE, contiguous, merged, sizes_words, steps_words
from workloads.operators.primitive import DivisionAxis, LaunchTuple, Primitive, ReferenceValue
from workloads.operators.reductions import ReductionStep, launches_of, plan_steps, scratch_of, summed
from workloads.operators.tensor import Operand, Tensor, normal, positive
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape

OPERATIONS = ("add", "subtract", "multiply", "divide")
ROUNDINGS = {"add": 1, "subtract": 1, "multiply": 1, "divide": 4}  # v_rcp_f32 is good to 1 ULP


@dataclass(frozen=True)
class _Combine(Primitive):
    """Base of both passes."""

    operation: str
    """Name of the operation."""
    left: Shape
    """Shape of the first operand."""
    right: Shape
    """Shape of the second operand."""
    stored: str = ""
    """Operand that is a parameter, without an image axis and with all the other's other axes; empty: none."""

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise self.refuse(unknown_name("operation", self.operation, OPERATIONS))
        try:
            fits = prod(self.shape) > 0
        except ValueError:
            fits = False
        if not fits:
            raise self.refuse(f"{list(self.left)} and {list(self.right)} fit no common shape")
        if len(self._geometry[0]) > AXES:
            raise self.refuse(f"{list(self.left)} and {list(self.right)} have more than {AXES} axes once merged")

    @property
    def shape(self) -> Shape:
        """The result's shape, by NumPy's rule; raises ValueError where there is none."""
        return tuple(np.broadcast_shapes(self.left, self.right))

    @property
    def operands(self) -> Mapping[str, Operand]:
        """Both operands; a divisor is drawn away from 0."""
        drawn = positive if self.operation == "divide" else normal
        right = Operand(self.right, data=drawn, by_image=self.stored != "x1")
        return {"x0": Operand(self.left, by_image=self.stored != "x0"), "x1": right}

    @property
    def y(self) -> Operand:
        """The result, as an operand."""
        return Operand(self.shape)

    @property
    def _geometry(self) -> tuple[Shape, tuple[tuple[int, ...], ...]]:
        """Sizes of the axes, and each operand's distances: 0 where it is repeated."""
        distances = []
        for shape in (self.left, self.right):
            full = (1,) * (len(self.shape) - len(shape)) + shape
            steps = contiguous(full)
            distances.append([0 if size == 1 else step for size, step in zip(full, steps, strict=True)])
        sizes, found = merged(self.shape, *distances)
        return sizes or (1,), tuple(steps or (0,) for steps in found)

    def places(self, wide: bool) -> dict[str, object]:
        """Return the kernel's arguments of places; wide: in items of four elements."""
        sizes, (left, right) = self._geometry
        if wide:
            sizes = (*sizes[:-1], sizes[-1] // WIDE)
            left, right = (steps[:-1] + (WIDE * steps[-1],) for steps in (left, right))
        values: dict[str, object] = {"sizes": sizes_words(sizes)}
        values |= {"left_steps": steps_words(left), "right_steps": steps_words(right), "n": prod(sizes)}
        return values

    @property
    def wide(self) -> bool:
        """Whether four elements are gone through at a time."""
        sizes, distances = self._geometry
        aligned = all(step % WIDE == 0 for steps in distances if steps[-1] for step in steps[:-1])
        return sizes[-1] % WIDE == 0 and aligned


@dataclass(frozen=True)
class CombineForward(_Combine):
    """y = x0 + x1, x0 - x1, x0 · x1 or x0 / x1."""

    @property
    def name(self) -> str:
        return f"{self.operation} of arrays forward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return self.operands

    @property
    def operations(self) -> int:
        return self.y.size

    def backward(self) -> "CombineBackward":
        return CombineBackward(self.operation, self.left, self.right, self.stored)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        places = self.places(self.wide)
        kernel = f"{self.operation}_4" if self.wide else self.operation
        return (launch("combine", kernel, tensors["y"].memory, (-(-places["n"] // GROUP),), {**tensors, **places}),)  # type: ignore[operator]

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        a, b = (inputs[name].astype(np.float64) for name in ("x0", "x1"))
        with np.errstate(divide="ignore", invalid="ignore"):
            y = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide}[self.operation](
                a, b
            )
        return {"y": ReferenceValue(y, ROUNDINGS[self.operation] * UNIT_ROUNDOFF * np.abs(y) + SMALLEST_NORMAL)}


@dataclass(frozen=True)
class CombineBackward(_Combine):
    """dx0 and dx1, summed over the repeated axes."""

    only: str = ""
    """Gradient to compute; empty: both."""

    @property
    def divisible(self) -> DivisionAxis:  # type: ignore[override]
        """By images, unless a parameter's gradient is summed over them."""
        return DivisionAxis.NOTHING if self.stored else DivisionAxis.IMAGES

    @property
    def name(self) -> str:
        return f"{self.operation} of arrays backward"

    @property
    def multiplies(self) -> bool:
        """Whether the gradients are products with the operands."""
        return self.operation in ("multiply", "divide")

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {**(self.operands if self.multiplies else {}), "dy": self.y}

    @property
    def gives(self) -> Mapping[str, Operand]:
        wanted = {name: operand for name, operand in self.operands.items() if self.only in ("", f"d{name}")}
        return {f"d{name}": Operand(operand.shape, by_image=operand.by_image) for name, operand in wanted.items()}

    def _axes(self, shape: Shape) -> tuple[int, ...]:
        """Return the axes of the result along which an operand of `shape` was repeated."""
        full = (1,) * (len(self.shape) - len(shape)) + shape
        return tuple(k for k, (size, whole) in enumerate(zip(full, self.shape, strict=True)) if size != whole)

    def steps(self, name: str) -> tuple[ReductionStep, ...]:
        """Return the geometry of the sums that give a result."""
        axes = self._axes(self.gives[name].shape)
        return plan_steps(self.shape, axes) if axes else ()

    @property
    def workspace(self) -> Mapping[str, Operand]:
        operands = {}
        for name in self.gives:
            steps = self.steps(name)
            if steps and self.multiplies:
                operands[f"{name}.product"] = Operand(self.shape, by_image=False)
            operands |= {f"{name}.{key}": operand for key, operand in scratch_of(steps).items()}
        return operands

    @property
    def operations(self) -> int:
        return sum(self.y.size - operand.size for operand in self.gives.values()) + (
            self.y.size * len(self.gives) if self.multiplies else 0
        )

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        launches: list[Launch] = []
        for name in self.gives:
            source, target, steps = tensors["dy"], tensors[name], self.steps(name)
            scale = -1.0 if self.operation == "subtract" and name == "dx1" else 1.0
            if self.multiplies:
                product = tensors[f"{name}.product"] if steps else target
                side = "left" if name == "dx0" else "right"
                operands = {key: tensors[key] for key in ("dy", "x0", "x1")}
                places = self.places(wide=False)
                groups = (-(-places["n"] // GROUP),)  # type: ignore[operator]
                values = {**operands, "product": product, **places}
                launches.append(launch("combine", f"{self.operation}_by_{side}", source.memory, groups, values))
                source = product
            elif not steps:
                values = {"x": source, "y": target, "a": scale, "b": 0.0, "n": self.y.size}
                launches.append(elementwise("activation", "affine_forward", values))
            scratch = {key.removeprefix(f"{name}."): tensor for key, tensor in tensors.items()}
            launches += launches_of(steps, source, target, scratch, scale)
        return tuple(launches)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dy = inputs["dy"].astype(np.float64)
        one = np.ones_like(dy)
        slopes = {"dx0": one, "dx1": -one if self.operation == "subtract" else one}
        if self.multiplies:
            a, b = (inputs[name].astype(np.float64) for name in ("x0", "x1"))
            products = {"multiply": (b, a), "divide": (1.0 / b, -a / b**2)}[self.operation]
            slopes = dict(zip(slopes, products, strict=True))
        values = {}
        for name, operand in self.gives.items():
            product, axes = dy * slopes[name], self._axes(operand.shape)
            value, bound = summed(product, axes, self.steps(name)) if axes else ReferenceValue(product, 0.0)
            magnitude = np.abs(product).sum(axis=axes, keepdims=True) if axes else np.abs(product)
            bound = bound + 6 * UNIT_ROUNDOFF * magnitude + SMALLEST_NORMAL
            shape = (len(dy), *operand.shape[1:]) if operand.by_image else operand.shape
            values[name] = ReferenceValue(value.reshape(shape), np.broadcast_to(bound, value.shape).reshape(shape))
        return values
