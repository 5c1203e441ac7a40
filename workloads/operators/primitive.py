"""Primitives of neural networks: a pass for one shape, and the operator that it becomes over arrays in device memory.

A primitive knows shapes and parameters alone, so that a network can be laid out, counted and planned without a device.
`place` makes the operator over tensors that are there already, `build` one with operands of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np

from gpusim.base.errors import UserError, unknown_name
from isa.device_memory import DeviceMemory
from isa.launch import Launch
from workloads.operators.operator import GpuFacts, OperatorCost
from workloads.operators.tensor import FLOAT, Operand, Tensor
from workloads.operators.verify import ReferencePart
from workloads.shapes import Shape

LaunchTuple: TypeAlias = tuple[Launch, ...]

# the kernels divide what is below 2^31, and the last workgroup's places go past the end
MAX_ELEMENTS = (1 << 31) - (1 << 14)
ALIGNMENT_BYTES = 16  # of a tensor: the widest access
REFERENCE_ELEMENTS = 1 << 22  # of the largest operand, that the reference computes at a time: bounds its FP64 copies


class OperatorError(UserError):
    """An operator cannot be made of these values; the message names it, the value, and what is allowed."""


class DivisionAxis(Enum):
    """The axis along which a primitive can be divided, that of arrays that count images; None for none.

    Parameters, which have no image axis, belong to every image whole; they have an entry for each channel, along axis
    0.
    """

    IMAGES = 0
    CHANNELS = 1
    NOTHING = None


class ReferenceValue(NamedTuple):
    """An output's expected values in FP64, and the largest error that FP32 arithmetic may leave in each element."""

    value: np.ndarray
    """Expected values, FP64."""
    bound: np.ndarray | float = 0.0
    """Largest error of each element, or of all."""


class Primitive(ABC):
    """A pass of a primitive for one shape."""

    in_place: ClassVar[Mapping[str, str]] = {}
    """For each result, the operand whose memory it may use; a name that is both is updated in place."""
    skips_zeros_of: ClassVar[tuple[str, ...]] = ()
    """Operands whose zeros cost less than other values."""
    divisible: ClassVar[DivisionAxis] = DivisionAxis.IMAGES
    """Independence of each image's or channel's results, so that the reference can be computed in parts."""
    undivided: ClassVar[frozenset[str]] = frozenset()
    """Operands with an image axis that each part needs as a whole."""
    reads: ClassVar[tuple[str, ...]] = ("x",)
    """Names of the operands: of attributes of the primitive, or 'd<attribute>' for the gradient of one."""
    writes: ClassVar[tuple[str, ...]] = ("y",)
    """Names of the results, likewise."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name for reports and messages, such as 'max pooling forward'."""

    @property
    def takes(self) -> Mapping[str, Operand]:
        """The operands by name."""
        return {name: self.get_operand(name) for name in self.reads}

    @property
    def gives(self) -> Mapping[str, Operand]:
        """The results by name."""
        return {name: self.get_operand(name) for name in self.writes}

    def get_operand(self, name: str) -> Operand:
        """Return the operand or result of a name in `reads` or `writes`."""
        operand: Operand = getattr(self, name.removeprefix("d"))
        return operand

    @property
    def workspace(self) -> Mapping[str, Operand]:
        """The arrays that launches leave for later ones of the same operator; each element is stored once."""
        return {}

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the definition."""
        return 0

    @property
    def needed_macs(self) -> int:
        """Multiply-accumulates that the kernels cannot leave out."""
        return self.macs

    @property
    def operations(self) -> int:
        """Other operations of the definition: additions, products, comparisons, exponentials, each counted once."""
        return 0

    @property
    def read_bytes(self) -> int:
        """Bytes of the operands that the results depend on."""
        return sum(operand.size_bytes for operand in self.takes.values())

    @property
    def kept_bytes(self) -> int:
        """Bytes of results that stay as they were, where a part of one is written anew."""
        return 0

    @property
    def passed_on_bytes(self) -> int:
        """Bytes that launches store for later ones of the same operator."""
        return sum(operand.size_bytes for operand in self.workspace.values())

    @property
    def work(self) -> OperatorCost:
        """The primitive's cost on any machine."""
        written = sum(operand.size_bytes for operand in self.gives.values()) - self.kept_bytes
        stored = written + self.passed_on_bytes
        return OperatorCost(self.macs, self.needed_macs, self.read_bytes, written, stored, self.operations)

    def work_on(self, inputs: Mapping[str, np.ndarray], gpu: GpuFacts | None = None) -> OperatorCost:
        """Return the cost over these operands, without what zeros in them make unnecessary.

        gpu: with what is stored because work is divided for it; None: on any machine.
        """
        return self.work

    @property
    def same_gradient(self) -> tuple[str, ...]:
        """Operands whose gradient is that of the result y."""
        return ()

    def value_bytes(self, kernel: str) -> int:
        """Return the bytes of a value for a kernel whose workgroups' reuse and distance are measured; 0 for others."""
        return 0

    @abstractmethod
    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        """Return the launches over checked tensors: operands, results and workspace by name."""

    @abstractmethod
    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        """Compute the results by NumPy in FP64. inputs: all operands, or for images or channels from `first` on."""

    def backward(self) -> "Primitive | None":
        """Return the pass that gives the gradients 'd<operand>' of operands with one, except those of `same_gradient`.

        It takes operands and results of this pass by their names, and 'd<result>'; None: no single pass gives them all.
        """
        return None

    def backward_passes(self) -> "tuple[Primitive, ...]":
        """Return the passes that together give these gradients; empty if there is nothing to compute."""
        backward = self.backward()
        return () if backward is None else (backward,)

    def refuse(self, problem: str) -> OperatorError:
        """Return the error that says what is not possible for this primitive."""
        return OperatorError(f"{self.name}: {problem}")


class ArrayPrimitive(Primitive):
    """A primitive whose operands and results are arrays of one shape, unless it states otherwise."""

    shape: Shape
    """Shape of the arrays."""
    macs_each: ClassVar[int] = 0
    """Multiply-accumulates for each element."""
    operations_each: ClassVar[int] = 0
    """Other operations for each element."""

    @property
    def x(self) -> Operand:
        """An operand of this shape."""
        return Operand(self.shape)

    def get_operand(self, name: str) -> Operand:
        operand: Operand = getattr(self, name.removeprefix("d"), self.x)
        return operand

    @property
    def macs(self) -> int:
        return self.macs_each * self.x.size

    @property
    def operations(self) -> int:
        return self.operations_each * self.x.size


class MappingPrimitive(Primitive):
    """A primitive with one operand, one result, and a gradient that is such a primitive again."""

    shape: Shape
    """Shape of operand and result, unless the primitive states otherwise."""
    gradient: bool = False
    """A backward pass, from dy to dx."""

    @property
    def read_shape(self) -> Shape:
        """The shape of the operand."""
        return self.shape

    @property
    def written_shape(self) -> Shape:
        """The shape of the result."""
        return self.shape

    @property
    def way(self) -> str:
        """The pass, as names end."""
        return "backward" if self.gradient else "forward"

    @property
    def operand(self) -> str:
        """The name of the operand."""
        return "dy" if self.gradient else "x"

    @property
    def result(self) -> str:
        """The name of the result."""
        return "dx" if self.gradient else "y"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {self.operand: Operand(self.read_shape)}

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {self.result: Operand(self.written_shape)}


@dataclass(frozen=True)
class TensorOperator:
    """A primitive over tensors (workloads.operators.operator.Operator)."""

    primitive: Primitive
    """The primitive."""
    tensors: Mapping[str, Tensor]
    """Tensors by name."""
    launches: tuple[Launch, ...]
    """Launches in order."""
    gpu: GpuFacts
    """Facts of the GPU."""

    @property
    def name(self) -> str:
        """The primitive's name."""
        return self.primitive.name

    @property
    def inputs(self) -> Mapping[str, np.ndarray]:
        """Views of the operands."""
        return {name: self.tensors[name].array for name in self.primitive.takes}

    @property
    def outputs(self) -> Mapping[str, np.ndarray]:
        """Views of the results."""
        return {name: self.tensors[name].array for name in self.primitive.gives}

    @property
    def decisive(self) -> Collection[int]:
        """Numbers of the launches on which later ones depend for their time.

        For a table, these are all launches that have its address except the last one; where zeros are skipped, all
        launches except the last one.
        """
        if self.primitive.skips_zeros_of:
            return range(len(self.launches) - 1)
        tables = [self.tensors[name] for name, operand in self.primitive.workspace.items() if operand.dtype != FLOAT]
        last: dict[int, int] = {}
        addresses = [
            {a for a in launch.pointers for t in tables if t.address <= a < t.address + t.size_bytes}
            for launch in self.launches
        ]
        for number, span in enumerate(addresses):
            last |= dict.fromkeys(span, number)
        return [number for number, span in enumerate(addresses) if any(last[a] > number for a in span)]

    @property
    def work(self) -> OperatorCost:
        """The primitive's cost, for these operands where it skips zeros."""
        return self.primitive.work_on(self.inputs, self.gpu) if self.primitive.skips_zeros_of else self.primitive.work

    def expected(self, inputs: Mapping[str, np.ndarray]) -> Iterator[ReferencePart]:
        """Yield the primitive's reference, some images or channels at a time where they are independent."""
        operands, axis = {**self.primitive.takes, **self.primitive.gives}, self.primitive.divisible.value
        axes = {name: self._divided_axis(name, operand) for name, operand in operands.items()}
        divided = [operand for name, operand in operands.items() if axes[name] is not None]
        # a result that is added up over images, such as a gradient of parameters, counts none
        count = next((o.shape[axis] for n, o in operands.items() if o.by_image and axes[n] is not None), 1)
        step = max(1, count * REFERENCE_ELEMENTS // max(operand.size for operand in divided)) if divided else 1
        for start in range(0, count, step):
            part = slice(start, min(start + step, count))

            def place_of(name: str, part: slice = part) -> tuple[slice, ...]:
                at = axes[name]
                return (slice(None),) if at is None else (*[slice(None)] * at, part)

            some = {name: array[place_of(name)] for name, array in inputs.items()}
            for output, (value, bound) in self.primitive.reference(some, start).items():
                yield ReferencePart(output, place_of(output), value, bound)

    def _divided_axis(self, name: str, operand: Operand) -> int | None:
        """Return the axis along which a primitive takes or gives its pieces of an array; None: the whole."""
        by = self.primitive.divisible
        if by is DivisionAxis.NOTHING or name in self.primitive.undivided:
            return None
        if by is DivisionAxis.CHANNELS:
            return by.value if operand.by_image else 0
        return by.value if operand.by_image else None


def place(primitive: Primitive, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> TensorOperator:
    """Make the operator over existing tensors: operands and results by name, workspace where the caller has it.

    Workspace that is not given is allocated.

    Args:
        primitive: The primitive.
        tensors: Operands, results and workspace by name.
        gpu: The GPU.

    Raises:
        OperatorError: Tensors do not fit.
    """
    wanted = {**primitive.takes, **primitive.gives}
    spare = primitive.workspace
    for name in tensors:
        if name not in wanted and name not in spare:
            raise primitive.refuse(unknown_name("tensor", name, [*wanted, *spare]))
    missing = sorted(set(wanted) - set(tensors))
    if missing:
        raise primitive.refuse(f"no tensor for {', '.join(missing)}")
    _check_sizes(primitive)
    memory = next(iter(tensors.values())).memory
    arrays = {name: Tensor.allocate(memory, spare[name], name) for name in spare if name not in tensors}
    arrays.update(tensors)
    for name, operand in {**wanted, **spare}.items():
        _check(primitive, name, operand, arrays[name])
    if any(tensor.memory is not memory for tensor in arrays.values()):
        raise primitive.refuse("its tensors lie in more than one device memory")
    _check_overlaps(primitive, arrays)
    return TensorOperator(primitive, arrays, primitive.launches(arrays, gpu), gpu)


def build(
    primitive: Primitive,
    memory: DeviceMemory,
    gpu: GpuFacts,
    data: Mapping[str, np.ndarray] | None = None,
    seed: int = 0,
    in_place: bool = False,
) -> TensorOperator:
    """Make the operator with operands of its own in `memory`, protected from stores unless they are results.

    Args:
        primitive: The primitive.
        memory: Device memory.
        gpu: The GPU.
        data: Operands by name; others are random, from `seed` and the operand's number.
        seed: Seed of what is drawn.
        in_place: Results take the memory of operands where they may.

    Raises:
        DeviceMemoryError: The memory does not hold the operands.
        OperatorError: The primitive cannot be computed.
    """
    _check_sizes(primitive)
    given, tensors = data or {}, {}
    for name in given:
        if name not in primitive.takes:
            raise primitive.refuse(unknown_name("operand", name, primitive.takes))
    for number, (name, operand) in enumerate(primitive.takes.items()):
        tensors[name] = Tensor.allocate(memory, operand, name)
        values = given[name] if name in given else operand.data(np.random.default_rng([seed, number]), operand.shape)
        if values.shape != operand.shape:
            raise primitive.refuse(f"{name} has shape {list(values.shape)}; it must be {list(operand.shape)}")
        tensors[name].array[...] = values
    for name, operand in primitive.gives.items():
        shared = primitive.in_place.get(name) if in_place else None
        if name not in tensors:
            tensors[name] = tensors[shared] if shared else Tensor.allocate(memory, operand, name)
    written = {tensors[name].address for name in primitive.gives}
    for allocation in list(memory.allocations):
        if allocation.address in {t.address for t in tensors.values()} - written:
            memory.protect(allocation)
    return place(primitive, tensors, gpu)


def _check_sizes(primitive: Primitive) -> None:
    for name, operand in {**primitive.takes, **primitive.gives, **primitive.workspace}.items():
        if any(size < 1 for size in operand.shape):
            raise primitive.refuse(f"{name} has shape {list(operand.shape)}; each size must be at least 1")
        if operand.size > MAX_ELEMENTS:
            raise primitive.refuse(f"{name} has {operand.size} elements; allowed are at most {MAX_ELEMENTS}")


def _check(primitive: Primitive, name: str, operand: Operand, tensor: Tensor) -> None:
    if (tensor.shape, tensor.dtype) != (operand.shape, operand.dtype):
        found, allowed = (f"{list(held.shape)} of {held.dtype}" for held in (tensor, operand))
        raise primitive.refuse(f"{name} is {found}; it must be {allowed}")
    if tensor.address % ALIGNMENT_BYTES:
        raise primitive.refuse(f"{name} lies at {tensor.address:#x}; it must begin at a multiple of {ALIGNMENT_BYTES}")


def _check_overlaps(primitive: Primitive, arrays: Mapping[str, Tensor]) -> None:
    """Raise OperatorError if a result shares memory with anything except the operand whose place it may take."""
    for name in [*primitive.gives, *primitive.workspace]:
        for other in set(arrays) - {name}:
            allowed = name == primitive.in_place.get(other) or other == primitive.in_place.get(name)
            in_place = allowed and arrays[name].address == arrays[other].address
            if arrays[name].overlaps(arrays[other]) and not in_place:
                raise primitive.refuse(f"{name} and {other} share memory, which this pass does not allow")
