"""Products of matrices of two activations, many of one shape, as attention has them; and their gradients."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from isa.kernarg import Pointer
from isa.launch import Launch
from workloads.operators.operator import GpuFacts
from workloads.operators.places import contiguous, merged
from workloads.operators.primitive import LaunchTuple, Primitive, ReferenceValue
from workloads.operators.reductions import ReductionStep, launches_of, plan_steps, scratch_of
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.tiles import Batch, products
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF, inner_product_bound
from workloads.shapes import Shape

MAX_MATRIX_BYTES = (1 << 32) - (1 << 20)  # of each matrix: 32-bit offsets
MATRICES = 2  # axes of a matrix


def batch_shape(left: Shape, right: Shape) -> Shape:
    """Return the axes before the matrices of the result, by NumPy's rule; raise ValueError where there are none."""
    return tuple(np.broadcast_shapes(left[:-MATRICES], right[:-MATRICES]))


@dataclass(frozen=True)
class _Matrices:
    """Where an operand's matrices lie: its shape, and whether each is stored transposed."""

    shape: Shape
    transposed: bool

    @property
    def rows(self) -> int:
        """Rows of the matrix that is multiplied."""
        return self.shape[-1] if self.transposed else self.shape[-2]

    @property
    def columns(self) -> int:
        """Columns of it."""
        return self.shape[-2] if self.transposed else self.shape[-1]


@dataclass(frozen=True)
class _Product:
    """c = a · b for every matrix of `batch`; an operand's axis of 1 is repeated. As one launch."""

    a: _Matrices
    b: _Matrices
    batch: Shape

    @property
    def shape(self) -> Shape:
        """The result's shape."""
        return (*self.batch, self.a.rows, self.b.columns)

    def distances(self, shape: Shape) -> list[int]:
        """Return the elements from one matrix of an array to the next along each axis of the batch."""
        full = (1,) * (len(self.batch) + MATRICES - len(shape)) + shape
        steps = contiguous(full)[:-MATRICES]
        return [0 if size == 1 else step for size, step in zip(full, steps, strict=False)]

    @property
    def geometry(self) -> tuple[Shape, tuple[tuple[int, ...], ...]]:
        """Sizes of the merged batch, at most two, and the distances of a, b and c."""
        arrays = (self.a.shape, self.b.shape, self.shape)
        return merged(self.batch, *(self.distances(shape) for shape in arrays))

    def launch(self, a: Tensor, b: Tensor, c: Tensor, gpu: GpuFacts) -> Launch:
        """Return the launch, in the terms of workloads/kernels/sgemm.cl: b's rows lie along its m."""
        sizes, distances = self.geometry
        places, groups = (1, 1, *sizes)[-2:]
        by = [((0, 0, *steps)[-2], (0, 0, *steps)[-1]) for steps in distances]
        batch = Batch(places, groups, by[1], by[0], by[2])
        layout = {(False, False): "nn", (False, True): "tn", (True, False): "nt"}[self.a.transposed, self.b.transposed]
        shape = (self.b.columns, self.a.rows, self.a.columns)
        leading = (self.b.shape[-1], self.a.shape[-1], self.b.columns)
        operands: tuple[Pointer, ...] = (b.pointer, a.pointer, c.pointer)
        return products(layout, operands, c.memory, shape, leading, batch, gpu)


@dataclass(frozen=True)
class _BatchedProduct(Primitive):
    """Base of both passes: x0 [N, ..., M, K] times x1 [N, ..., K, N]."""

    left: Shape
    """Shape of x0."""
    right: Shape
    """Shape of x1."""
    turned: bool = False
    """x1 is stored as [N, ..., N, K]."""

    def __post_init__(self) -> None:
        if min(len(self.left), len(self.right)) < MATRICES + 1:
            raise self.refuse(f"{list(self.left)} and {list(self.right)}; each must be [N, ..., rows, columns]")
        try:
            axes = batch_shape(self.left, self.right)
        except ValueError:
            raise self.refuse(f"{list(self.left)} and {list(self.right)} have no common axes before matrices") from None
        product = self.product
        if product.a.columns != product.b.rows:
            raise self.refuse(
                f"{list(self.left)} has {product.a.columns} columns, {list(self.right)} has {product.b.rows} rows; they"
                " must be as many"
            )
        if len(product.geometry[0]) > 2:
            raise self.refuse(f"axes {list(axes)} of the matrices are more than two once merged")
        if max(4 * prod(shape[-2:]) for shape in (self.left, self.right, product.shape)) > MAX_MATRIX_BYTES:
            raise self.refuse(f"a matrix has more than {MAX_MATRIX_BYTES} bytes")

    @property
    def product(self) -> _Product:
        """The forward product."""
        return _Product(
            _Matrices(self.left, False), _Matrices(self.right, self.turned), batch_shape(self.left, self.right)
        )

    @property
    def y(self) -> Operand:
        """The result of the forward pass."""
        return Operand(self.product.shape)

    @property
    def operands(self) -> Mapping[str, Operand]:
        """Both operands by name."""
        return {"x0": Operand(self.left), "x1": Operand(self.right)}


@dataclass(frozen=True)
class BatchedProductForward(_BatchedProduct):
    """y = x0 · x1, a product for each matrix."""

    name = "batched product forward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return self.operands

    @property
    def macs(self) -> int:
        return self.y.size * self.product.a.columns

    def backward(self) -> "BatchedProductBackward":
        return BatchedProductBackward(self.left, self.right, self.turned)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return (self.product.launch(tensors["x0"], tensors["x1"], tensors["y"], gpu),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x0, x1 = (inputs[name].astype(np.float64) for name in ("x0", "x1"))
        x1 = x1.swapaxes(-1, -2) if self.turned else x1
        depth = x0.shape[-1]
        return {"y": ReferenceValue(x0 @ x1, inner_product_bound(float(depth), np.abs(x0) @ np.abs(x1), depth))}


@dataclass(frozen=True)
class BatchedProductBackward(_BatchedProduct):
    """dx0 = dy · x1 transposed, dx1 = x0 transposed · dy, each summed over what its operand was repeated for."""

    name = "batched product backward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {**self.operands, "dy": self.y}

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {f"d{name}": operand for name, operand in self.operands.items()}

    @property
    def macs(self) -> int:
        return 2 * self.y.size * self.product.a.columns

    def _made(self, name: str) -> tuple[_Product, tuple[str, str]]:
        """Return the product that gives a gradient, for every matrix of the result, and what it is of."""
        product, turned = self.product, self.turned
        dy = product.shape
        if name == "dx0":
            return _Product(_Matrices(dy, False), _Matrices(self.right, not turned), product.batch), ("dy", "x1")
        if turned:
            return _Product(_Matrices(dy, True), _Matrices(self.left, False), product.batch), ("dy", "x0")
        return _Product(_Matrices(self.left, True), _Matrices(dy, False), product.batch), ("x0", "dy")

    def _steps(self, name: str) -> tuple[ReductionStep, ...]:
        """Return the geometry of the sums over axes for which the operand was repeated; none where it was not."""
        shape = self._made(name)[0].shape
        there = self.gives[name].shape
        full = (1,) * (len(shape) - len(there)) + there
        axes = tuple(k for k, (size, whole) in enumerate(zip(full, shape, strict=True)) if size != whole)
        return plan_steps(shape, axes) if axes else ()

    @property
    def workspace(self) -> Mapping[str, Operand]:
        found = {}
        for name in self.gives:
            if steps := self._steps(name):
                found[f"{name}.product"] = Operand(self._made(name)[0].shape, by_image=False)
                found |= {f"{name}.{key}": operand for key, operand in scratch_of(steps).items()}
        return found

    @property
    def operations(self) -> int:
        more = {name: prod(self._made(name)[0].shape) - operand.size for name, operand in self.gives.items()}
        return sum(more.values())

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        launches: list[Launch] = []
        for name in self.gives:
            product, (a, b) = self._made(name)
            steps = self._steps(name)
            target = tensors[f"{name}.product"] if steps else tensors[name]
            launches.append(product.launch(tensors[a], tensors[b], target, gpu))
            scratch = {key.removeprefix(f"{name}."): tensor for key, tensor in tensors.items()}
            launches += launches_of(steps, target, tensors[name], scratch)
        return tuple(launches)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        arrays = {name: array.astype(np.float64) for name, array in inputs.items()}
        values = {}
        for name, operand in self.gives.items():
            product, operands = self._made(name)
            made = []
            for absolute in (False, True):
                a, b = (np.abs(arrays[one]) if absolute else arrays[one] for one in operands)
                a = a.swapaxes(-1, -2) if product.a.transposed else a
                b = b.swapaxes(-1, -2) if product.b.transposed else b
                full = (1,) * (a.ndim - len(operand.shape)) + operand.shape
                whole = a @ b
                axes = tuple(k for k in range(1, whole.ndim) if full[k] != whole.shape[k])
                shape = (whole.shape[0], *operand.shape[1:])
                made.append((whole.sum(axis=axes, keepdims=True) if axes else whole).reshape(shape))
            terms = product.a.columns + sum(step.longest for step in self._steps(name))
            bound = inner_product_bound(float(terms), made[1], terms) + UNIT_ROUNDOFF * made[1] + SMALLEST_NORMAL
            values[name] = ReferenceValue(made[0], bound)
        return values
