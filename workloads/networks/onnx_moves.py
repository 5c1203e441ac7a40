"""ONNX operators that arrange, take or add up values along axes: what they become (ai.onnx).

Shapes are a file's with a batch of one; a layer's are an image's, which leave out a first axis of one.
"""

from collections.abc import Callable, Mapping
from math import prod

from workloads.networks.onnx_arithmetic import numpy_shape
from workloads.networks.onnx_node import (
    InputAlias,
    Node,
    OnnxLayer,
    Parameter,
    Read,
    ReshapedTensor,
    StoredValues,
    TensorSource,
    UnsupportedNodeError,
    image_shape,
)
from workloads.shapes import Shape


def _concat(node: Node) -> OnnxLayer:
    names = [name for name in node.inputs if name]
    shapes = []
    for number, name in enumerate(names):
        stored = node.stored(name)
        shapes.append(stored if stored is not None else node.shape(number))
    axis = node.front(int(node.attributes.get("axis", 1)), len(shapes[0]))
    cut = 1 if axis and len(shapes[0]) > 1 and all(shape[0] == 1 for shape in shapes) else 0
    sources: list[TensorSource] = []
    for name, shape in zip(names, shapes, strict=True):
        if node.stored(name) is not None:
            sources.append(StoredValues(name, shape[cut:]))
        else:
            sources.append(name if shape[cut:] == image_shape(shape) else ReshapedTensor(name, shape[cut:]))
    whole = (*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])
    return OnnxLayer("concat", {"axis": axis - cut} if axis - cut else {}, tuple(sources), whole)


def under(name: str, before: Shape, shape: Shape) -> OnnxLayer | InputAlias:
    """Return a tensor under another shape: the same where an image's is, else a view."""
    if image_shape(before) == image_shape(shape):
        return InputAlias(name, shape)
    if len(image_shape(shape)) == 1:
        return OnnxLayer("flatten", {}, (name,), shape)
    return OnnxLayer("reshape", {"shape": list(image_shape(shape))}, (name,), shape)


def _flatten(node: Node) -> OnnxLayer | InputAlias:
    shape = node.shape()
    axis = int(node.attributes.get("axis", 1))
    axis = axis if axis == len(shape) else node.front(axis, len(shape))
    return under(node.inputs[0], shape, (prod(shape[:axis]), prod(shape[axis:])))


def _reshape(node: Node) -> OnnxLayer | InputAlias:
    shape = node.shape()
    given = [int(size) for size in node.values(1, "shape").reshape(-1)]
    wanted = list(given)
    if not node.attributes.get("allowzero", 0):
        if any(size == 0 and k >= len(shape) for k, size in enumerate(wanted)):
            raise UnsupportedNodeError(f"shape = {given}: a 0 stands for an axis of the input, which has {len(shape)}")
        wanted = [shape[k] if size == 0 else size for k, size in enumerate(wanted)]
    known = prod(size for size in wanted if size != -1)
    if wanted.count(-1) == 1 and known > 0 and prod(shape) % known == 0:
        wanted[wanted.index(-1)] = prod(shape) // known
    if min(wanted, default=1) < 1 or prod(wanted) != prod(shape):
        raise UnsupportedNodeError(f"shape = {given} of an input of {list(shape)}: must have as many values")
    return under(node.inputs[0], shape, tuple(wanted))


def _unsqueeze(node: Node) -> OnnxLayer | InputAlias:
    shape = list(node.shape())
    axes = node.whole_numbers("axes", 1)
    rank = len(shape) + len(axes)
    for axis in sorted(node.front(axis, rank) for axis in axes):
        shape.insert(axis, 1)
    return under(node.inputs[0], node.shape(), tuple(shape))


def _squeeze(node: Node) -> OnnxLayer | InputAlias:
    shape = node.shape()
    axes = node.whole_numbers("axes", 1, [k for k, size in enumerate(shape) if size == 1])
    gone = {node.front(axis, len(shape)) for axis in axes}
    if any(shape[axis] != 1 for axis in gone):
        raise UnsupportedNodeError(f"axes = {sorted(gone)} of an input of {list(shape)}: must have size 1")
    return under(node.inputs[0], shape, tuple(size for k, size in enumerate(shape) if k not in gone))


def _transpose(node: Node) -> OnnxLayer | InputAlias:
    shape = node.shape()
    order = node.ints("perm", list(range(len(shape)))[::-1])
    if sorted(order) != list(range(len(shape))):
        raise UnsupportedNodeError(f"perm = {order}: must have each axis of {list(shape)} once")
    turned = tuple(shape[axis] for axis in order)
    if [axis for axis in order if shape[axis] > 1] == [k for k, size in enumerate(shape) if size > 1]:
        return under(node.inputs[0], shape, turned)
    if order[0] == 0 and image_shape(shape) != shape:
        return OnnxLayer("permute", {"order": [axis - 1 for axis in order[1:]]}, node.inputs[:1], turned)
    return OnnxLayer("permute", {"order": order}, (ReshapedTensor(node.inputs[0], shape),), turned)


def _pad(node: Node) -> OnnxLayer | InputAlias:
    shape = node.shape()
    mode = node.text("mode", "constant")
    if mode != "constant":
        raise UnsupportedNodeError(f"mode = {mode}: must be constant")
    pads, value = node.whole_numbers("pads", 1), node.number("value", 0.0)
    axes = [node.front(axis, len(shape)) for axis in node.whole_numbers("axes", 3, list(range(len(shape))))]
    if node.has(2):
        value = float(node.values(2, "value").reshape(-1)[0])
    before, after = [0] * len(shape), [0] * len(shape)
    for k, axis in enumerate(axes):
        before[axis], after[axis] = pads[k], pads[k + len(axes)]
    if min((*before, *after)) < 0:
        raise UnsupportedNodeError(f"pads = {pads}: must not be negative")
    padded = tuple(b + size + a for b, size, a in zip(before, shape, after, strict=True))
    if padded == shape:
        return InputAlias(node.inputs[0], shape)
    source, _ = node.of_image([0] if before[0] or after[0] else [])
    cut = len(shape) - len(image_shape(shape)) if isinstance(source, str) else 0
    values = {"before": before[cut:], "after": after[cut:]} | ({"value": value} if value else {})
    return OnnxLayer("pad", values, (source,), padded)


def _sliced(source: TensorSource, shape: Shape, axis: int, taken: range) -> tuple[TensorSource, Shape]:
    """Return what is left of a source, whose image has `shape`, once `taken` of an axis is."""
    if len(taken) == shape[axis] and taken.step == 1:
        return source, shape
    end = taken[-1] + taken.step
    values = {"axis": axis, "start": taken[0], "step": taken.step, "end": None if end < 0 else end}
    left = (*shape[:axis], len(taken), *shape[axis + 1 :])
    return OnnxLayer("slice", values, (source,), (1, *left)), left


def _cut(node: Node, taken: Mapping[int, range], shape_out: Shape) -> OnnxLayer | InputAlias:
    """Make slices of the first input along axes; the result is under the shape that the file gives it."""
    shape = node.shape()
    axes = [axis for axis, some in taken.items() if len(some) < shape[axis] or some.step != 1]
    if not axes:
        return under(node.inputs[0], shape, shape_out)
    if any(not taken[axis] for axis in axes):
        raise UnsupportedNodeError(f"nothing is left of an input of {list(shape)}")
    source, left = node.of_image(axes)
    held = shape if isinstance(source, ReshapedTensor) else image_shape(shape)
    for axis, of in zip(axes, left, strict=True):
        source, held = _sliced(source, held, of, taken[axis])
    if not isinstance(source, OnnxLayer):
        return under(node.inputs[0], shape, shape_out)
    return OnnxLayer(source.kind, source.values, source.inputs, shape_out)


def _slice(node: Node) -> OnnxLayer | InputAlias:
    shape = node.shape()
    starts, ends = node.whole_numbers("starts", 1), node.whole_numbers("ends", 2)
    axes = node.whole_numbers("axes", 3, list(range(len(starts))))
    steps = node.whole_numbers("steps", 4, [1] * len(starts))
    taken = {}
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = node.front(axis, len(shape))
        size = shape[axis]
        last = None if (step < 0 and end < -size) else end
        taken[axis] = range(size)[start:last:step]
    return _cut(node, taken, tuple(len(taken[k]) if k in taken else size for k, size in enumerate(shape)))


def _split(node: Node) -> tuple[OnnxLayer | InputAlias, ...]:
    shape = node.shape()
    axis = node.axis(0)
    count = len(node.outputs)
    even = -(-shape[axis] // count)
    parts = node.whole_numbers("split", 1, [min(even, shape[axis] - k * even) for k in range(count)])
    if len(parts) != count or sum(parts) != shape[axis]:
        raise UnsupportedNodeError(f"split = {parts} of {shape[axis]} values into {count} outputs: must add up")
    found = []
    for k, size in enumerate(parts):
        start = sum(parts[:k])
        whole = (*shape[:axis], size, *shape[axis + 1 :])
        found.append(_cut(node, {axis: range(start, start + size)}, whole))
    return tuple(found)


def _gather(node: Node) -> OnnxLayer | InputAlias:
    """Make an embedding of a stored table, or slices where places are stored and go on evenly."""
    table = node.stored(node.inputs[0])
    axis = int(node.attributes.get("axis", 0))
    if table is not None:
        if len(table) != 2 or axis not in (0, -2):
            raise UnsupportedNodeError(
                f"a stored tensor of {list(table)} along axis {axis}: must be a table, along axis 0"
            )
        shape = (*node.shape(1), table[1])
        values = {"rows": table[0], "width": table[1]}
        return OnnxLayer("embedding", values, node.inputs[1:2], shape, {"weight": Parameter(node.inputs[0])})
    shape = node.shape()
    axis = node.front(axis, len(shape))
    indices = node.values(1, "indices")
    places = [node.front(int(one), shape[axis], "an index") for one in indices.reshape(-1)]
    step = places[1] - places[0] if len(places) > 1 else 1
    if not step or places != list(range(places[0], places[0] + step * len(places), step)):
        raise UnsupportedNodeError(f"indices {places[:6]} of a layer's output: must go on evenly")
    left = (*shape[:axis], *indices.shape, *shape[axis + 1 :])
    end = places[-1] + step
    return _cut(node, {axis: range(places[0], end, step)}, left)


def _reduce(operation: str) -> Callable[[Node], OnnxLayer | InputAlias]:
    def read(node: Node) -> OnnxLayer | InputAlias:
        shape = node.shape()
        given = node.whole_numbers("axes", 1, [])
        if not given and not node.attributes.get("noop_with_empty_axes", 0):
            given = list(range(len(shape)))
        axes = sorted({node.front(axis, len(shape)) for axis in given})
        keep = bool(node.attributes.get("keepdims", 1))
        left = tuple(1 if k in axes else size for k, size in enumerate(shape))
        kept = left if keep else tuple(size for k, size in enumerate(shape) if k not in axes)
        axes = [axis for axis in axes if shape[axis] > 1]
        name: TensorSource = node.inputs[0]
        if operation == "l2":
            name = OnnxLayer("square", {}, (name,), shape)
        if not axes and operation != "l2":
            return under(node.inputs[0], shape, kept)
        source, within = node.of_image(axes)
        source = source if operation != "l2" or not isinstance(source, str) else name
        if operation == "l2" and isinstance(source, ReshapedTensor):
            raise UnsupportedNodeError(f"axes = {axes}: must leave out the first")
        values = {"operation": "mean" if operation == "mean" else "sum", "axes": list(within), "keep": True}
        found = OnnxLayer("reduce", values, (source,), kept) if axes else OnnxLayer("square", {}, node.inputs[:1], kept)
        return found if operation != "l2" else OnnxLayer("square_root", {}, (found,), kept)

    return read


def _expand(node: Node) -> OnnxLayer | InputAlias:
    shape = node.shape()
    wanted = tuple(int(one) for one in node.values(1, "shape").reshape(-1))
    whole = numpy_shape((shape, wanted))
    full = (1,) * (len(whole) - len(shape)) + shape
    if full == whole:
        return under(node.inputs[0], shape, whole)
    cut = 1 if len(whole) > 1 and whole[0] == 1 else 0
    return OnnxLayer("repeat", {"shape": list(whole[cut:])}, (ReshapedTensor(node.inputs[0], full[cut:]),), whole)


MOVES: Mapping[str, Callable[[Node], Read]] = {
    "Concat": _concat,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Pad": _pad,
    "Slice": _slice,
    "Split": _split,
    "Gather": _gather,
    "Expand": _expand,
    "ReduceMean": _reduce("mean"),
    "ReduceSum": _reduce("sum"),
    "ReduceL2": _reduce("l2"),
}
