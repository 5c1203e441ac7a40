"""A node of an ONNX file as its readers see it: tensors, attributes, what is stored, and what it becomes.

Shapes are a file's with a batch of one; a layer's are an image's, which leave out a first axis of one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

from workloads.shapes import Shape

if TYPE_CHECKING:
    import numpy as np

MAPS = 4  # axes of a tensor of maps, the batch's included
# attributes that say nothing of the first output: where memory may be used again, of further outputs, precision of a
# step (ours is FP32), or what the run decides (whether it trains); the older `broadcast` is NumPy's rule without `axis`
WITHOUT_EFFECT = (
    "consumed_inputs", "storage_order", "stash_type", "is_test", "training_mode", "num_outputs", "broadcast",
)  # fmt: skip


class UnsupportedNodeError(Exception):
    """A node asks for what no kind of layer has; the message names the value and what is allowed."""


def image_shape(shape: Shape) -> Shape:
    """Return the shape that an image has of a tensor of this shape, in a batch of one."""
    return shape[1:] if len(shape) > 1 and shape[0] == 1 else shape or (1,)


class Attributes(Mapping[str, Any]):
    """A node's attributes. asked: the names of those that were looked up."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values_by_name, self.asked = values, set[str]()

    def __getitem__(self, name: str) -> Any:
        """Return an attribute's value; also called by `get` and `in`."""
        self.asked.add(name)
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        """Go through the names, which counts for no question."""
        return iter(self.values_by_name)

    def __len__(self) -> int:
        """Return the number of attributes."""
        return len(self.values_by_name)

    def ignored(self) -> list[str]:
        """Return the names of attributes that nobody has asked for and that mean something."""
        return [name for name in self if name not in self.asked and name not in WITHOUT_EFFECT]


@dataclass(frozen=True)
class ReshapedTensor:
    """A tensor of the file under another shape of an image."""

    name: str
    """Name of the tensor."""
    shape: Shape
    """Shape of an image."""


@dataclass(frozen=True)
class StoredValues:
    """A stored tensor as a layer of its own, which gives it to every image."""

    name: str
    """Name of the tensor."""
    shape: Shape
    """Its shape."""


@dataclass(frozen=True)
class LayerOutput:
    """The output of a layer, by the layer's name."""

    layer: str
    """Name of the layer."""


@dataclass(frozen=True)
class Parameter:
    """A layer's parameter from a stored tensor."""

    name: str
    """Name of the stored tensor."""
    transposed: bool = False
    """Transpose the tensor."""
    factor: float = 1.0
    """Factor of its values."""
    shape: Shape | None = None
    """Shape to which the tensor is repeated; None: its own."""
    taken: "Callable[[np.ndarray], np.ndarray] | None" = None
    """Returns the part of the tensor that is used; None: the whole tensor."""


TensorSource = Union[str, ReshapedTensor, StoredValues, LayerOutput, "OnnxLayer"]


@dataclass(frozen=True)
class OnnxLayer:
    """A layer for a node."""

    kind: str
    """Kind of the layer."""
    values: Mapping[str, Any]
    """Values of the kind."""
    inputs: tuple[TensorSource, ...]
    """Tensors of the file, or other layers."""
    shape: Shape | None
    """Shape of the output in the file, with a batch of one; None: the kind gives it."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    """Parameters by role."""
    is_line: bool = False
    """The file has no rows: those of the output are one that is not there, if the kind gives its shape."""


@dataclass(frozen=True)
class InputAlias:
    """An output that is an input in another shape, without computation."""

    name: str
    """Name of the input."""
    shape: Shape
    """Shape of the output."""


Read = OnnxLayer | InputAlias | tuple[OnnxLayer | InputAlias, ...]


@dataclass(frozen=True)
class Node:
    """A node with its attributes and the properties of its inputs."""

    operator: str
    """ONNX operator."""
    inputs: tuple[str, ...]
    """Names of the input tensors."""
    outputs: tuple[str, ...]
    """Names of the output tensors."""
    attributes: Attributes
    """Attributes by name."""
    opset: int
    """Version of the operator set."""
    stored: Callable[[str], Shape | None]
    """Returns the shape of a stored tensor; None: not stored."""
    array: "Callable[[str], np.ndarray]"
    """Returns the values of a stored tensor."""
    computed: Callable[[str], Shape | None]
    """Returns the shape of a layer's tensor; None: not of a layer."""
    trained: Callable[[str], bool]
    """Tells whether a stored tensor is a parameter."""

    def text(self, name: str, default: str) -> str:
        """Return an attribute that is text."""
        value = self.attributes.get(name, default)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def ints(self, name: str, default: list[int]) -> list[int]:
        """Return an attribute that is a list of whole numbers."""
        return [int(value) for value in self.attributes.get(name, default)]

    def number(self, name: str, default: float) -> float:
        """Return an attribute that is a number."""
        return float(self.attributes.get(name, default))

    def has(self, number: int) -> bool:
        """Tell whether there is an input of this number: optional ones may have no name."""
        return number < len(self.inputs) and bool(self.inputs[number])

    def shape(self, number: int = 0) -> Shape:
        """Return the shape of an input that layers give; raise UnsupportedNodeError for others."""
        name = self.inputs[number] if self.has(number) else ""
        shape = self.computed(name)
        if shape is None:
            if self.stored(name) is not None:
                raise UnsupportedNodeError(f"input {number} is '{name}', which is stored: must be a layer's output")
            raise UnsupportedNodeError(f"input '{name}' is neither an input of the network nor another node's output")
        return shape

    def maps(self) -> tuple[TensorSource, bool]:
        """Return the first input as channels × rows × columns, and whether the file has no rows, of which there is one
        then; raise UnsupportedNodeError for another input.
        """
        shape = self.shape()
        if len(shape) not in (MAPS - 1, MAPS) or shape[0] != 1:
            raise UnsupportedNodeError(
                f"an input of {list(shape)}: must be batch × channels × rows × columns, or batch × channels × columns"
            )
        if len(shape) == MAPS:
            return self.inputs[0], False
        return ReshapedTensor(self.inputs[0], (shape[1], 1, shape[2])), True

    def by_axis(self, attribute: str, default: int) -> list[int]:
        """Return an attribute with a number for rows and one for columns; `default` where the file has no rows."""
        count = len(self.shape()) - 2
        given = self.ints(attribute, [default] * count)
        if len(given) != count:
            raise UnsupportedNodeError(f"{attribute} = {given}: must have {count} numbers")
        return [default, *given] if count == 1 else given

    def of_image(self, axes: Sequence[int]) -> tuple[TensorSource, tuple[int, ...]]:
        """Return the first input and axes as its image has them: under its full shape where `axes` has the first."""
        name, shape = self.inputs[0], self.shape()
        if image_shape(shape) == shape:
            return name, tuple(axes)
        if 0 in axes:
            return ReshapedTensor(name, shape), tuple(axes)
        return name, tuple(axis - 1 for axis in axes)

    def axis(self, default: int, number: int = 0) -> int:
        """Return the attribute `axis`, counted from the front."""
        return self.front(int(self.attributes.get("axis", default)), len(self.shape(number)))

    def front(self, axis: int, rank: int, what: str = "axis") -> int:
        """Return an axis (or `what` it is) counted from the front; raise UnsupportedNodeError where there is none
        such."""
        if not -rank <= axis < rank:
            raise UnsupportedNodeError(f"{what} = {axis}: must be from {-rank} to {rank - 1}")
        return axis % rank

    def values(self, number: int, what: str) -> "np.ndarray":
        """Return a stored input's values; raise UnsupportedNodeError unless it is stored."""
        name = self.inputs[number] if self.has(number) else ""
        if self.stored(name) is None:
            raise UnsupportedNodeError(
                f"input {number} ({what}) is '{name}': must be stored, or follow from shapes alone"
            )
        return self.array(name)

    def whole_numbers(self, attribute: str, number: int, default: list[int] | None = None) -> list[int]:
        """Return a list of whole numbers that older operators have as an attribute and newer ones as an input."""
        if attribute in self.attributes:
            return self.ints(attribute, [])
        if not self.has(number):
            if default is None:
                raise UnsupportedNodeError(f"{attribute} is missing")
            return default
        return [int(one) for one in self.values(number, attribute).reshape(-1)]

    def parameter(self, number: int, what: str, axes: int) -> tuple[str, Shape]:
        """Return the name and the shape of a stored input; raise UnsupportedNodeError unless it is stored and has
        `axes` axes.
        """
        name = self.inputs[number] if number < len(self.inputs) else ""
        shape = self.stored(name)
        if shape is None:
            raise UnsupportedNodeError(f"input {number} ({what}) is '{name}': must be an initializer")
        if len(shape) != axes:
            raise UnsupportedNodeError(f"input {number} ({what}) has {len(shape)} axes: must have {axes}")
        return name, shape
