"""Whether an axis of a file's inputs is the batch: every node has to carry it through, each image by itself.

An axis is the batch where no node mixes values of different images, whatever their number is. Each operator has a rule
that says where its output has the images, or why it mixes them. Shapes are a file's with a batch of one: with N images
the axis of the images has N times as many values, those of an image next to one another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from workloads.networks.onnx_node import Node
from workloads.shapes import Shape

ANY_NUMBER = 97  # of images, where a file leaves it open: a prime that shapes written out do not have


class BatchAxisError(Exception):
    """A node mixes images, or fixes their number; the message says how."""


@dataclass(frozen=True)
class CarriedBatch:
    """Where a node's outputs have the images."""

    axes: tuple[int, ...]
    """Axis of each output; further outputs have the last one."""
    constants: Mapping[int, np.ndarray] = field(default_factory=dict)
    """Values of stored inputs for a batch of one, by the input's number, where the file's are for all images."""

    def axis(self, output: int) -> int:
        """Return the axis of an output by its number."""
        return self.axes[min(output, len(self.axes) - 1)]


@dataclass(frozen=True)
class BatchedNode:
    """A node with the axes of its inputs along which images stand."""

    node: Node
    """Node."""
    images: int
    """Number of images in the file."""
    axes: Mapping[str, int]
    """Axis of the images by tensor."""
    dependent: Mapping[str, np.ndarray]
    """Stored tensors that follow from the number of images: their values with all images."""

    def batched(self) -> dict[int, int]:
        """Return the axis of each input that has images, by the input's number."""
        return {number: self.axes[name] for number, name in enumerate(self.node.inputs) if name in self.axes}

    def axis(self, number: int = 0) -> int:
        """Return the axis of an input's images; raise UnsupportedNodeError unless it is a layer's output."""
        self.node.shape(number)
        return self.axes[self.node.inputs[number]]

    def shape(self, number: int) -> Shape:
        """Return the shape of an input with all images."""
        name = self.node.inputs[number]
        if name in self.dependent:
            return self.dependent[name].shape
        if name not in self.axes:
            return self.node.stored(name) or ()
        return with_images(self.node.shape(number), self.axes[name], self.images)

    def values(self, number: int) -> np.ndarray:
        """Return a stored input's values with all images; raise UnsupportedNodeError unless it is stored."""
        here = self.node.values(number, "a stored input")
        return self.dependent.get(self.node.inputs[number], here)

    def require(self, axis: int, number: int = 0) -> int:
        """Return the axis of an input's images; raise BatchAxisError unless it is `axis`."""
        found = self.axis(number)
        if found != axis:
            raise BatchAxisError(f"has the batch along axis {axis}, its input {number} has the images along {found}")
        return found

    def exclude(self, axes: Sequence[int]) -> int:
        """Return the axis of the first input's images; raise BatchAxisError where it is one of `axes`."""
        axis = self.axis()
        if axis in axes:
            raise BatchAxisError(f"computes along axis {axis}")
        return axis

    def for_an_image(self, number: int, axis: int) -> np.ndarray:
        """Return a stored input that is the same for every image as an image's; raise BatchAxisError for another.

        axis: where it has the images.
        """
        values = self.values(number)
        if values.shape[axis] % self.images == 0:
            first, *others = np.split(values, self.images, axis)
            if all(np.array_equal(first, other) for other in others):
                return first
        raise BatchAxisError(f"its input {number} is stored with a value for each image")


def format_images(shape: Shape, images: int) -> str:
    """Return a shape with all images as text; N is their number where the file leaves it open."""
    sizes = [
        f"{size // images if size > images else ''}N"
        if images == ANY_NUMBER and size and size % images == 0
        else str(size)
        for size in shape
    ]
    return f"[{', '.join(sizes)}]"


def with_images(shape: Shape, axis: int, images: int) -> Shape:
    """Return a shape of a batch of one with so many images."""
    return (*shape[:axis], images * shape[axis], *shape[axis + 1 :])


def carry_batch(batched: BatchedNode) -> CarriedBatch:
    """Return where a node's outputs have the images; raise BatchAxisError, or UnsupportedNodeError as its reader
    does.
    """
    rule = RULES.get(batched.node.operator)
    if rule is None:
        raise BatchAxisError("has no rule that keeps images apart")
    carried = rule(batched)
    for number, name in enumerate(batched.node.inputs):
        if number not in carried.constants and name in batched.dependent:
            raise BatchAxisError(f"its input {number} follows from the number of images")
    return carried


def _each_value(batched: BatchedNode) -> CarriedBatch:
    return CarriedBatch((batched.axis(),))


def _channels(batched: BatchedNode) -> CarriedBatch:
    return CarriedBatch((batched.require(0),))


def _broadcast(batched: BatchedNode) -> CarriedBatch:
    """Find the images of operands that are repeated by NumPy's rule."""
    ranks = {number: len(batched.shape(number)) for number in range(len(batched.node.inputs))}
    axes = batched.batched()
    from_end = {axis - ranks[number] for number, axis in axes.items()}
    if len(from_end) != 1:
        raise BatchAxisError("meets images along different axes")
    (place,) = from_end
    sizes = {batched.shape(number)[place] for number in axes}
    if len(sizes) != 1:
        raise BatchAxisError("meets axes of images of different sizes")
    constants = {
        number: batched.for_an_image(number, place + rank)
        for number, rank in ranks.items()
        if number not in axes and rank >= -place and batched.shape(number)[place] != 1
    }
    return CarriedBatch((max(ranks.values()) + place,), constants)


def _view(batched: BatchedNode, shape: Shape) -> int:
    """Return the axis of the images once the input has another shape."""
    before, axis = batched.shape(0), batched.axis()
    images, outer = batched.images, prod(before[:axis])
    for place, size in enumerate(shape):
        if prod(shape[:place]) == outer and size > 0 and size % images == 0 and prod(shape) == prod(before):
            return place
    made, given = (format_images(shape, images) for shape in (shape, before))
    raise BatchAxisError(f"makes {made} of {given}, which keeps no axis of the images")


def _reshape(batched: BatchedNode) -> CarriedBatch:
    node, before = batched.node, batched.shape(0)
    wanted = [int(size) for size in batched.values(1).reshape(-1)]
    if not node.attributes.get("allowzero", 0):
        wanted = [before[k] if size == 0 and k < len(before) else size for k, size in enumerate(wanted)]
    known = prod(size for size in wanted if size != -1)
    wanted = [prod(before) // known if size == -1 and known > 0 else size for size in wanted]
    axis = _view(batched, tuple(wanted))
    wanted[axis] //= batched.images
    return CarriedBatch((axis,), {1: np.array(wanted, np.int64)})


def _flatten(batched: BatchedNode) -> CarriedBatch:
    shape = batched.shape(0)
    axis = int(batched.node.attributes.get("axis", 1))
    axis = axis + len(shape) if axis < 0 else axis
    return CarriedBatch((_view(batched, (prod(shape[:axis]), prod(shape[axis:]))),))


def _unsqueeze(batched: BatchedNode) -> CarriedBatch:
    axes = batched.node.whole_numbers("axes", 1)
    rank = len(batched.shape(0)) + len(axes)
    added = {batched.node.front(axis, rank) for axis in axes}
    return CarriedBatch(([k for k in range(rank) if k not in added][batched.axis()],))


def _squeeze(batched: BatchedNode) -> CarriedBatch:
    shape = batched.shape(0)
    without = [k for k, size in enumerate(shape) if size == 1]
    axes = [batched.node.front(axis, len(shape)) for axis in batched.node.whole_numbers("axes", 1, without)]
    axis = batched.exclude(axes)
    given = "axes" in batched.node.attributes or batched.node.has(1)
    return CarriedBatch((axis - sum(one < axis for one in axes),), {} if given else {1: np.array(axes, np.int64)})


def _transpose(batched: BatchedNode) -> CarriedBatch:
    rank = len(batched.shape(0))
    return CarriedBatch((batched.node.ints("perm", list(range(rank))[::-1]).index(batched.axis()),))


def _concat(batched: BatchedNode) -> CarriedBatch:
    rank = len(batched.shape(next(iter(batched.batched()))))
    axis = batched.node.front(int(batched.node.attributes.get("axis", 1)), rank)
    places = set(batched.batched().values())
    if len(places) != 1:
        raise BatchAxisError("meets images along different axes")
    if axis in places:
        raise BatchAxisError(f"puts inputs one after another along axis {axis}")
    (place,) = places
    stored = [number for number in range(len(batched.node.inputs)) if batched.node.inputs[number] not in batched.axes]
    return CarriedBatch((place,), {number: batched.for_an_image(number, place) for number in stored})


def _pad(batched: BatchedNode) -> CarriedBatch:
    rank = len(batched.shape(0))
    pads = batched.node.whole_numbers("pads", 1)
    axes = [batched.node.front(axis, rank) for axis in batched.node.whole_numbers("axes", 3, list(range(rank)))]
    return CarriedBatch((batched.exclude([a for k, a in enumerate(axes) if pads[k] or pads[k + len(axes)]]),))


def _slice(batched: BatchedNode) -> CarriedBatch:
    node, shape = batched.node, batched.shape(0)
    starts, ends = node.whole_numbers("starts", 1), node.whole_numbers("ends", 2)
    axes = node.whole_numbers("axes", 3, list(range(len(starts))))
    steps = node.whole_numbers("steps", 4, [1] * len(starts))
    cut = []
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        front = node.front(axis, len(shape))
        if step != 1 or range(shape[front])[start:end] != range(shape[front]):
            cut.append(front)
    return CarriedBatch((batched.exclude(cut),))


def _split(batched: BatchedNode) -> CarriedBatch:
    return CarriedBatch((batched.exclude([batched.node.axis(0)]),))


def _gather(batched: BatchedNode) -> CarriedBatch:
    node = batched.node
    if node.inputs[0] not in batched.axes:  # rows of a stored table
        return CarriedBatch((batched.axis(1),))
    rank = len(batched.shape(0))
    along = node.front(int(node.attributes.get("axis", 0)), rank)
    axis = batched.exclude([along])
    return CarriedBatch((axis if axis < along else axis - 1 + node.values(1, "indices").ndim,))


def _reduce(batched: BatchedNode) -> CarriedBatch:
    node, rank = batched.node, len(batched.shape(0))
    axes = [node.front(axis, rank) for axis in node.whole_numbers("axes", 1, [])]
    if not axes and not node.attributes.get("noop_with_empty_axes", 0):
        axes = list(range(rank))
    axis = batched.exclude(axes)
    return CarriedBatch((axis if node.attributes.get("keepdims", 1) else axis - sum(one < axis for one in axes),))


def _expand(batched: BatchedNode) -> CarriedBatch:
    node, shape = batched.node, batched.shape(0)
    wanted = [int(size) for size in batched.values(1).reshape(-1)]
    place = batched.axis() - len(shape)
    if len(wanted) >= -place:
        if wanted[place] not in (1, shape[place]):
            raise BatchAxisError(f"repeats axis {batched.axis()}")
        wanted[place] = node.shape()[place]
    return CarriedBatch((max(len(shape), len(wanted)) + place,), {1: np.array(wanted, np.int64)})


def _softmax(batched: BatchedNode) -> CarriedBatch:
    node, rank = batched.node, len(batched.shape(0))
    if node.opset >= 13:
        return CarriedBatch((batched.exclude([node.axis(-1)]),))
    return CarriedBatch((batched.exclude(range(node.axis(1), rank)),))


def _layer_norm(batched: BatchedNode) -> CarriedBatch:
    return CarriedBatch((batched.exclude(range(batched.node.axis(-1), len(batched.shape(0)))),))


def _gemm(batched: BatchedNode) -> CarriedBatch:
    node = batched.node
    if node.inputs[1] in batched.axes:
        raise BatchAxisError("multiplies images with one another")
    batched.require(1 if node.attributes.get("transA", 0) else 0)
    if node.has(2) and node.inputs[2] in batched.axes and batched.axis(2) != len(batched.shape(2)) - 2:
        raise BatchAxisError("adds images along another axis")
    if node.has(2) and node.inputs[2] not in batched.axes:
        shape = batched.shape(2)
        if len(shape) == 2 and shape[0] != 1:
            return CarriedBatch((0,), {2: batched.for_an_image(2, 0)})
    return CarriedBatch((0,))


def _matmul(batched: BatchedNode) -> CarriedBatch:
    axes = batched.batched()
    ranks = [len(batched.shape(number)) for number in (0, 1)]
    from_end = {axes[number] - ranks[number] for number in axes}
    if len(from_end) != 1:
        raise BatchAxisError("multiplies images that stand along different axes")
    (place,) = from_end
    inner = {0: -1, 1: -2}  # the axes that are added up
    if any(place == inner[number] for number in axes) or (len(axes) == 2 and place >= -2) or min(ranks) < 2:
        raise BatchAxisError("adds up products of different images")
    if len({batched.shape(number)[place] for number in axes}) != 1:
        raise BatchAxisError("meets axes of images of different sizes")
    constants = {
        number: batched.for_an_image(number, place + ranks[number])
        for number in (0, 1)
        if number not in axes and place < -2 and ranks[number] >= -place and batched.shape(number)[place] != 1
    }
    return CarriedBatch((max(ranks) + place,), constants)


def _einsum(batched: BatchedNode) -> CarriedBatch:
    terms, arrow, result = batched.node.text("equation", "").replace(" ", "").partition("->")
    operands = terms.split(",")
    if not arrow or "." in terms or len(operands) != len(batched.node.inputs):
        raise BatchAxisError("has an equation that does not name all axes")
    letters = {operands[number][axis] for number, axis in batched.batched().items()}
    others = "".join(term for number, term in enumerate(operands) if number not in batched.batched())
    if len(letters) != 1 or letters & set(others) or not letters <= set(result):
        raise BatchAxisError("adds up products of different images")
    (letter,) = letters
    if any(term.count(letter) > 1 for term in (*operands, result)):
        raise BatchAxisError("takes a diagonal over images")
    return CarriedBatch((result.index(letter),))


def _recurrent(batched: BatchedNode) -> CarriedBatch:
    axis = 0 if batched.node.attributes.get("layout", 0) else 1
    for number in batched.batched():
        batched.require(axis, number)
    return CarriedBatch((2 * axis, axis))


RULES: Mapping[str, Callable[[BatchedNode], CarriedBatch]] = {
    **dict.fromkeys(
        ("Identity", "Relu", "Sigmoid", "Tanh", "Clip", "LeakyRelu", "HardSigmoid", "HardSwish", "Gelu", "Sqrt",
         "Reciprocal", "Exp", "Erf", "Neg", "Cast", "Dropout"),
        _each_value,
    ),
    **dict.fromkeys(
        ("Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool", "LRN",
         "BatchNormalization", "InstanceNormalization", "GroupNormalization"),
        _channels,
    ),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Sum", "Pow"), _broadcast),
    **dict.fromkeys(("ReduceMean", "ReduceSum", "ReduceL2"), _reduce),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _recurrent),
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Concat": _concat,
    "Pad": _pad,
    "Slice": _slice,
    "Split": _split,
    "Gather": _gather,
    "Expand": _expand,
    "Softmax": _softmax,
    "LayerNormalization": _layer_norm,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Einsum": _einsum,
}  # fmt: skip
"""Rule of each operator that is read."""
