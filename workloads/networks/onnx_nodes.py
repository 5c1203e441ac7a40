"""What each ONNX operator becomes: kinds of layers with their values (ONNX operator schemas, ai.onnx).

Shapes are a file's with a batch of one; a layer's are an image's, which leave out a first axis of one. To add an
operator: a function, and its row in READERS.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from workloads.networks.onnx_node import (
    Made,
    Node,
    Parameter,
    Read,
    Same,
    Source,
    StoredValues,
    Unsupported,
    View,
    image_shape,
)
from workloads.networks.tensor import Shape

LARGEST = 3.4028234e38  # of FP32: a bound that is none
SUPPORTED_POWERS = (0.5, 1, 2, 3, -1)
FLOATS = {1: "FLOAT", 10: "FLOAT16", 11: "DOUBLE", 16: "BFLOAT16"}  # of TensorProto.DataType: all computed in FP32


def _whole(node: Node, axes: Sequence[int], number: int = 0) -> tuple[Source, tuple[int, ...]]:
    """Return an input and axes as its image has them: under its full shape where the first axis is one of them."""
    name, shape = node.inputs[number], node.shape(number)
    if image_shape(shape) == shape:
        return name, tuple(axes)
    if 0 in axes:
        return View(name, shape), tuple(axes)
    return name, tuple(axis - 1 for axis in axes)


def _conv(node: Node) -> Made:
    weight, shape = node.parameter(1, "weights", 4)
    node.maps()
    kernel = node.ints("kernel_shape", list(shape[2:]))
    if kernel != list(shape[2:]):
        raise Unsupported(f"kernel_shape = {kernel}: the weights' is {list(shape[2:])}")
    parameters = {"weight": Parameter(weight)}
    if node.has(2):
        parameters["bias"] = Parameter(node.parameter(2, "bias", 1)[0])
    values = {
        "filters": shape[0],
        "kernel": kernel,
        "stride": node.ints("strides", [1, 1]),
        "padding": _padding(node, kernel),
        "dilation": node.ints("dilations", [1, 1]),
        "groups": int(node.attributes.get("group", 1)),
        "bias": "bias" in parameters,
    }
    return Made("convolution", values, node.inputs[:1], (), parameters)


def _conv_transpose(node: Node) -> Made:
    weight, shape = node.parameter(1, "weights", 4)
    node.maps()
    groups, kernel = int(node.attributes.get("group", 1)), node.ints("kernel_shape", list(shape[2:]))
    if kernel != list(shape[2:]):
        raise Unsupported(f"kernel_shape = {kernel}: the weights' is {list(shape[2:])}")
    how = node.text("auto_pad", "NOTSET")
    if how not in ("NOTSET", "VALID"):
        raise Unsupported(f"auto_pad = {how}: must be NOTSET or VALID, with pads")
    parameters = {"weight": Parameter(weight)}
    if node.has(2):
        parameters["bias"] = Parameter(node.parameter(2, "bias", 1)[0])
    values = {
        "filters": shape[1] * groups,
        "kernel": kernel,
        "stride": node.ints("strides", [1, 1]),
        "padding": node.ints("pads", [0, 0, 0, 0]) if how == "NOTSET" else [0, 0, 0, 0],
        "more": node.ints("output_padding", [0, 0]),
        "dilation": node.ints("dilations", [1, 1]),
        "groups": groups,
        "bias": "bias" in parameters,
    }
    return Made("transposed_convolution", values, node.inputs[:1], (), parameters)


def _padding(node: Node, kernel: list[int]) -> list[int]:
    """Return zeros added at the top, left, bottom and right, in this order."""
    how, given = node.text("auto_pad", "NOTSET"), node.ints("pads", [0, 0, 0, 0])
    if how == "NOTSET":
        return given
    if how == "VALID":
        return [0, 0, 0, 0]
    if how not in ("SAME_UPPER", "SAME_LOWER"):
        raise Unsupported(f"auto_pad = {how}: must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, on rows and columns")
    before, after = [], []
    strides, dilations = node.ints("strides", [1, 1]), node.ints("dilations", [1, 1])
    for size, window, stride, dilation in zip(node.maps()[2:], kernel, strides, dilations, strict=True):
        reach = (-(-size // stride) - 1) * stride + dilation * (window - 1) + 1
        zeros = max(0, reach - size)  # so that there are as many windows as strides begun
        less, more = zeros // 2, zeros - zeros // 2
        before.append(less if how == "SAME_UPPER" else more)
        after.append(more if how == "SAME_UPPER" else less)
    return [*before, *after]


def _pool(kind: str) -> Callable[[Node], Made]:
    def read(node: Node) -> Made:
        node.maps()
        if set(node.ints("dilations", [1])) != {1}:
            raise Unsupported(f"dilations = {node.ints('dilations', [])}: must be 1")
        kernel = node.ints("kernel_shape", [])
        values = {
            "kernel": kernel,
            "stride": node.ints("strides", [1, 1]),
            "padding": _padding(node, kernel),
            "ceil": bool(node.attributes.get("ceil_mode", 0)),
        }
        if kind == "average_pool":
            values["counts_padding"] = bool(node.attributes.get("count_include_pad", 0))
        return Made(kind, values, node.inputs[:1], ())

    return read


def _global(kind: str) -> Callable[[Node], Made]:
    def read(node: Node) -> Made:
        node.maps()
        return Made(kind, {"whole": True}, node.inputs[:1], ())

    return read


def _gemm(node: Node) -> Made | Same:
    """Make alpha · A · B + beta · C: of stored B a fully connected layer, whose weights and biases take the factors."""
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    turned_a, turned_b = (bool(node.attributes.get(name, 0)) for name in ("transA", "transB"))
    shape = node.shape()
    if len(shape) != 2:
        raise Unsupported(f"A has {len(shape)} axes: must have 2")
    a: Source = View(node.inputs[0], shape) if turned_a else node.inputs[0]
    if turned_a:
        shape = shape[::-1]
        a = Made("permute", {"order": [1, 0]}, (a,), shape)
    weight = node.stored(node.inputs[1])
    found: Made
    if weight is None:
        b = node.shape(1)
        columns = b[0] if turned_b else b[1]
        operands = (_viewed(a, node.inputs[0], shape), View(node.inputs[1], b))
        found = Made("matmul", {"turned": turned_b}, operands, (shape[0], columns))
        found = found if alpha == 1.0 else Made("affine", {"factor": alpha}, (found,), found.shape)
        bias = None
    else:
        name, weight = node.parameter(1, "B", 2)
        columns = weight[0] if turned_b else weight[1]
        parameters = {"weight": Parameter(name, not turned_b, alpha)}  # a layer's weights are outputs × inputs
        bias = node.stored(node.inputs[2]) if node.has(2) else None
        if bias is not None and (prod(bias) == 1 or (prod(bias), bias[-1]) == (columns, columns)):
            parameters["bias"] = Parameter(node.inputs[2], False, beta, (columns,))
        values = {"outputs": columns, "bias": "bias" in parameters}
        found = Made("fully_connected", values | _each(shape), (a,), (shape[0], columns), parameters)
    if not node.has(2) or "bias" in found.parameters:
        return found
    c: Source = node.inputs[2]
    c_shape = node.stored(node.inputs[2]) or node.shape(2)
    if node.stored(node.inputs[2]) is not None:
        return _with_stored("add", found, found.shape, node.inputs[2], c_shape, node, factor=beta)
    if beta != 1.0:
        c = Made("affine", {"factor": beta}, (c,), c_shape)
    return _joined("add", (found, c), (found.shape, c_shape))


def _viewed(source: Source, name: str, shape: Shape) -> Source:
    return View(name, shape) if isinstance(source, str) else source


def _each(shape: Shape) -> dict[str, bool]:
    """Return the value of a fully connected layer that multiplies the last axis of every position of an input."""
    return {"each": True} if len(image_shape(shape)) > 1 else {}


def _matmul(node: Node) -> Made:
    left, right = (node.stored(name) for name in node.inputs[:2])
    if left is None and right is not None and len(right) == 2:
        shape = node.shape()
        values = {"outputs": right[1], "bias": False} | _each(shape)
        parameters = {"weight": Parameter(node.inputs[1], True)}
        return Made("fully_connected", values, node.inputs[:1], (*shape[:-1], right[1]), parameters)
    shapes, sources = [], []
    for number, stored in enumerate((left, right)):
        shape = stored if stored is not None else node.shape(number)
        if len(shape) < 2:
            raise Unsupported(f"input {number} has {len(shape)} axis: must have at least 2")
        shapes.append(shape)
    if left is not None and right is not None:
        raise Unsupported("both inputs are stored: one must be a layer's output")
    most = max(map(len, shapes))
    full = [(1,) * (most - len(shape)) + shape for shape in shapes]
    first = [shape[0] for shape in full]
    cut = 1 if most > 2 and first == [1, 1] else 0
    for number, shape in enumerate(full):
        name = node.inputs[number]
        stored_here = (left, right)[number] is not None
        sources.append(StoredValues(name, shape[cut:]) if stored_here else View(name, shape[cut:]))
    before = tuple(max(a, b) for a, b in zip(full[0][:-2], full[1][:-2], strict=True))
    return Made("matmul", {}, tuple(sources), (*before, full[0][-2], full[1][-1]))


def _batch_norm(node: Node) -> Made:
    shape = node.shape()
    if shape[0] != 1:
        raise Unsupported(f"an input of {list(shape)}: must be batch × channels × ...")
    spatial = bool(node.attributes.get("spatial", 1))
    names = ("scale", "bias", "running_mean", "running_variance")
    axes = 1 if spatial else len(shape) - 1
    parameters = {role: Parameter(node.parameter(n, role, axes)[0]) for n, role in enumerate(names, 1)}
    values = {
        "mode": "spatial" if spatial else "per_activation",
        "epsilon": node.number("epsilon", 1e-5),
        # ONNX's is the share of what was kept
        "momentum": round(1 - node.number("momentum", 0.9), 9),
    }
    return Made("batch_norm", values, node.inputs[:1], shape, parameters)


def _layer_norm(node: Node) -> Made:
    shape = node.shape()
    axes = len(shape) - node.axis(-1)
    if axes >= len(shape) and image_shape(shape) != shape:
        raise Unsupported("axis = 0: must leave out the batch")
    parameters = {"scale": Parameter(node.parameter(1, "scale", axes)[0])}
    if node.has(2):
        parameters["bias"] = Parameter(node.parameter(2, "bias", axes)[0])
    values = {"epsilon": node.number("epsilon", 1e-5), "bias": "bias" in parameters}
    return Made("layer_norm", values | ({"axes": axes} if axes > 1 else {}), node.inputs[:1], shape, parameters)


def _instance_norm(node: Node) -> Made:
    shape = node.shape()
    if shape[0] != 1 or len(shape) < 3:
        raise Unsupported(f"an input of {list(shape)}: must be batch × channels × ...")
    parameters = {role: Parameter(node.parameter(n, role, 1)[0]) for n, role in enumerate(("scale", "bias"), 1)}
    values = {"groups": shape[1], "epsilon": node.number("epsilon", 1e-5)}
    return Made("group_norm", values, node.inputs[:1], shape, parameters)


def _group_norm(node: Node) -> Made:
    shape = node.shape()
    if shape[0] != 1 or len(shape) < 3:
        raise Unsupported(f"an input of {list(shape)}: must be batch × channels × ...")
    parameters = {role: Parameter(node.parameter(n, role, 1)[0]) for n, role in enumerate(("scale", "bias"), 1)}
    values = {"groups": int(node.attributes["num_groups"]), "epsilon": node.number("epsilon", 1e-5)}
    if node.stored(node.inputs[1]) != (shape[1],):
        raise Unsupported(f"scale is {node.stored(node.inputs[1])}: must be one for each of {shape[1]} channels")
    return Made("group_norm", values, node.inputs[:1], shape, parameters)


def _lrn(node: Node) -> Made:
    numbers = {"alpha": ("alpha", 1e-4), "beta": ("beta", 0.75), "k": ("bias", 1.0)}
    values = {name: float(node.attributes.get(given, default)) for name, (given, default) in numbers.items()}
    return Made("lrn", {"size": int(node.attributes["size"]), **values}, node.inputs[:1], node.shape())


def _dropout(node: Node) -> Made:
    ratio = node.number("ratio", 0.5)
    if node.has(1):
        ratio = float(node.array(node.parameter(1, "ratio", 0)[0]))
    values = {"probability": ratio, "seed": int(node.attributes.get("seed", 0))}
    return Made("dropout", values, node.inputs[:1], node.shape())


def _softmax(node: Node) -> Made:
    shape = node.shape()
    axis = node.axis(-1 if node.opset >= 13 else 1)
    # before opset 13, the axis is where the tensor is flattened to a matrix, whose rows are normalized
    if node.opset < 13 and axis != len(shape) - 1:
        if axis != 1 or shape[0] != 1:
            raise Unsupported(f"axis = {axis}: must be 1 or the last before opset 13")
        return Made("softmax", {"over": "all"}, node.inputs[:1], shape)
    if node.opset < 13 and len(shape) == 2:
        return Made("softmax", {"over": "all"}, node.inputs[:1], shape)
    source, (axis,) = _whole(node, [axis])
    return Made("softmax", {"over": "channels"} | ({"axis": axis} if axis else {}), (source,), shape)


def _concat(node: Node) -> Made:
    names = [name for name in node.inputs if name]
    shapes = []
    for number, name in enumerate(names):
        stored = node.stored(name)
        shapes.append(stored if stored is not None else node.shape(number))
    axis = node.front(int(node.attributes.get("axis", 1)), len(shapes[0]))
    cut = 1 if axis and len(shapes[0]) > 1 and all(shape[0] == 1 for shape in shapes) else 0
    sources: list[Source] = []
    for name, shape in zip(names, shapes, strict=True):
        if node.stored(name) is not None:
            sources.append(StoredValues(name, shape[cut:]))
        else:
            sources.append(name if shape[cut:] == image_shape(shape) else View(name, shape[cut:]))
    whole = (*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])
    return Made("concat", {"axis": axis - cut} if axis - cut else {}, tuple(sources), whole)


def _under(name: str, before: Shape, shape: Shape) -> Made | Same:
    """Return a tensor under another shape: the same where an image's is, else a view."""
    if image_shape(before) == image_shape(shape):
        return Same(name, shape)
    if len(image_shape(shape)) == 1:
        return Made("flatten", {}, (name,), shape)
    return Made("reshape", {"shape": list(image_shape(shape))}, (name,), shape)


def _flatten(node: Node) -> Made | Same:
    shape = node.shape()
    axis = int(node.attributes.get("axis", 1))
    axis = axis if axis == len(shape) else node.front(axis, len(shape))
    return _under(node.inputs[0], shape, (prod(shape[:axis]), prod(shape[axis:])))


def _reshape(node: Node) -> Made | Same:
    shape = node.shape()
    given = [int(one) for one in node.values(1, "shape").reshape(-1)]
    wanted = list(given)
    if node.batch > 1 and wanted and wanted[0] == node.batch:
        wanted[0] = 1
    if not node.attributes.get("allowzero", 0):
        if any(one == 0 and k >= len(shape) for k, one in enumerate(wanted)):
            raise Unsupported(f"shape = {given}: a 0 stands for an axis of the input, which has {len(shape)}")
        wanted = [shape[k] if one == 0 else one for k, one in enumerate(wanted)]
    known = prod(one for one in wanted if one != -1)
    if wanted.count(-1) == 1 and known > 0 and prod(shape) % known == 0:
        wanted[wanted.index(-1)] = prod(shape) // known
    if min(wanted, default=1) < 1 or prod(wanted) != prod(shape):
        raise Unsupported(f"shape = {given} of an input of {list(shape)}: must have as many values")
    return _under(node.inputs[0], shape, tuple(wanted))


def _unsqueeze(node: Node) -> Made | Same:
    shape = list(node.shape())
    axes = node.whole_numbers("axes", 1)
    rank = len(shape) + len(axes)
    for axis in sorted(node.front(axis, rank) for axis in axes):
        shape.insert(axis, 1)
    return _under(node.inputs[0], node.shape(), tuple(shape))


def _squeeze(node: Node) -> Made | Same:
    shape = node.shape()
    axes = node.whole_numbers("axes", 1, [k for k, size in enumerate(shape) if size == 1])
    gone = {node.front(axis, len(shape)) for axis in axes}
    if any(shape[axis] != 1 for axis in gone):
        raise Unsupported(f"axes = {sorted(gone)} of an input of {list(shape)}: must have size 1")
    return _under(node.inputs[0], shape, tuple(size for k, size in enumerate(shape) if k not in gone))


def _transpose(node: Node) -> Made | Same:
    shape = node.shape()
    order = node.ints("perm", list(range(len(shape)))[::-1])
    if sorted(order) != list(range(len(shape))):
        raise Unsupported(f"perm = {order}: must have each axis of {list(shape)} once")
    turned = tuple(shape[axis] for axis in order)
    if [axis for axis in order if shape[axis] > 1] == [k for k, size in enumerate(shape) if size > 1]:
        return _under(node.inputs[0], shape, turned)
    if order[0] == 0 and image_shape(shape) != shape:
        return Made("permute", {"order": [axis - 1 for axis in order[1:]]}, node.inputs[:1], turned)
    return Made("permute", {"order": order}, (View(node.inputs[0], shape),), turned)


def _numpy_shape(shapes: Sequence[Shape]) -> Shape:
    """Return the common shape by NumPy's rule; raise Unsupported where there is none."""
    most = max(map(len, shapes))
    full = [(1,) * (most - len(shape)) + shape for shape in shapes]
    found = []
    for sizes in zip(*full, strict=True):
        if len(set(sizes) - {1}) > 1:
            raise Unsupported(f"inputs of {' and '.join(str(list(shape)) for shape in shapes)}: sizes do not fit")
        found.append(max(sizes))
    return tuple(found)


def _joined(operation: str, sources: Sequence[Source], shapes: Sequence[Shape]) -> Made:
    """Make a combination of layers' outputs, by the kind for equal shapes where there is one."""
    shape = _numpy_shape(shapes)
    equal = {"add": "add", "multiply": "multiply"}.get(operation)
    if equal and all(image_shape(one) == image_shape(shape) for one in shapes):
        return Made(equal, {}, tuple(sources), shape)
    cut = 1 if len(shape) > 1 and shape[0] == 1 else 0
    viewed: list[Source] = []
    for source, one in zip(sources, shapes, strict=True):
        full = ((1,) * (len(shape) - len(one)) + one)[cut:]
        viewed.append(View(source, full) if isinstance(source, str) and full != image_shape(one) else source)
    return Made("combine", {"operation": operation}, tuple(viewed), shape)


def _with_stored(
    operation: str, source: Source, shape: Shape, name: str, stored: Shape, node: Node, first: bool = False,
    factor: float = 1.0,
) -> Made:  # fmt: skip
    """Make a combination of a layer's output with a stored tensor; first: that is the left operand."""
    whole = _numpy_shape((shape, stored))
    full = (1,) * (len(whole) - len(stored)) + stored
    cut = 1 if len(whole) > 1 and whole[0] == 1 else 0
    held = full[cut:]
    while len(held) > 1 and held[0] == 1:
        held = held[1:]
    input_shape = ((1,) * (len(whole) - len(shape)) + shape)[cut:]
    if isinstance(source, str) and input_shape != image_shape(shape):
        source = View(source, input_shape)
    values: dict[str, Any] = {"operation": operation, "stored": list(held)}
    values |= {} if node.trained(name) else {"trained": False}
    values |= {"stored_first": True} if first else {}
    role = "bias" if operation in ("add", "subtract") else "scale"
    return Made("combine", values, (source,), whole, {role: Parameter(name, factor=factor, shape=held)})


def _binary(operation: str) -> Callable[[Node], Made]:
    """Read an operator of two arrays; one number is taken into the layer's values."""

    def read(node: Node) -> Made:
        stored = [node.stored(name) for name in node.inputs]
        if all(one is None for one in stored):
            return _joined(operation, node.inputs, [node.shape(k) for k in range(len(node.inputs))])
        if len(node.inputs) != 2 or None not in stored:
            raise Unsupported("all inputs but one must be layers' outputs")
        number = 0 if stored[0] is None else 1
        first = number == 1
        name, held = node.inputs[1 - number], stored[1 - number] or ()
        source, shape = node.inputs[number], node.shape(number)
        if prod(held) != 1 or node.trained(name):
            return _with_stored(operation, source, shape, name, held, node, first)
        value = float(node.array(name).reshape(-1)[0])
        shape = _numpy_shape((shape, held))
        if operation == "divide" and first:
            over = Made("reciprocal", {}, (source,), shape)
            return over if value == 1.0 else Made("affine", {"factor": value}, (over,), shape)
        if operation == "divide" and value == 0:
            raise Unsupported("divides by 0")
        values = {
            "add": {"shift": value},
            "subtract": {"factor": -1.0, "shift": value} if first else {"shift": -value},
            "multiply": {"factor": value},
            "divide": {"factor": 1.0 / value if value else 0.0},
        }[operation]
        return Made("affine", values, (source,), shape)

    return read


def _pow(node: Node) -> Made | Same:
    exponent = node.values(1, "exponent").reshape(-1)
    power = float(exponent[0]) if exponent.size == 1 else None
    if power not in SUPPORTED_POWERS:
        raise Unsupported(f"exponent = {exponent.tolist()[:4]}: must be one of {', '.join(map(str, SUPPORTED_POWERS))}")
    name, shape = node.inputs[0], node.shape()
    if power == 1:
        return Same(name, shape)
    if power == 3:
        return Made("multiply", {}, (name, Made("square", {}, (name,), shape)), shape)
    return Made({0.5: "square_root", 2: "square", -1: "reciprocal"}[power], {}, (name,), shape)


def _bound(node: Node, attribute: str, number: int, default: float) -> float:
    if node.has(number):
        return max(-LARGEST, min(LARGEST, float(node.values(number, attribute).reshape(-1)[0])))
    return node.number(attribute, default)


def _clip(node: Node) -> Made:
    values = {"least": _bound(node, "min", 1, -LARGEST), "most": _bound(node, "max", 2, LARGEST)}
    return Made("clip", values, node.inputs[:1], node.shape())


def _pad(node: Node) -> Made | Same:
    shape = node.shape()
    mode = node.text("mode", "constant")
    if mode != "constant":
        raise Unsupported(f"mode = {mode}: must be constant")
    pads, value = node.whole_numbers("pads", 1), node.number("value", 0.0)
    axes = [node.front(axis, len(shape)) for axis in node.whole_numbers("axes", 3, list(range(len(shape))))]
    if node.has(2):
        value = float(node.values(2, "value").reshape(-1)[0])
    before, after = [0] * len(shape), [0] * len(shape)
    for k, axis in enumerate(axes):
        before[axis], after[axis] = pads[k], pads[k + len(axes)]
    if min((*before, *after)) < 0:
        raise Unsupported(f"pads = {pads}: must not be negative")
    padded = tuple(b + size + a for b, size, a in zip(before, shape, after, strict=True))
    if padded == shape:
        return Same(node.inputs[0], shape)
    source, _ = _whole(node, [0] if before[0] or after[0] else [])
    cut = len(shape) - len(image_shape(shape)) if isinstance(source, str) else 0
    values = {"before": before[cut:], "after": after[cut:]} | ({"value": value} if value else {})
    return Made("pad", values, (source,), padded)


def _sliced(source: Source, shape: Shape, axis: int, taken: range) -> tuple[Source, Shape]:
    """Return what is left of a source, whose image has `shape`, once `taken` of an axis is."""
    if len(taken) == shape[axis] and taken.step == 1:
        return source, shape
    end = taken[-1] + taken.step
    values = {"axis": axis, "start": taken[0], "step": taken.step, "end": None if end < 0 else end}
    left = (*shape[:axis], len(taken), *shape[axis + 1 :])
    return Made("slice", values, (source,), (1, *left)), left


def _cut(node: Node, taken: Mapping[int, range], shape_out: Shape) -> Made | Same:
    """Make slices of the first input along axes; the result is under the shape that the file gives it."""
    shape = node.shape()
    axes = [axis for axis, some in taken.items() if len(some) < shape[axis] or some.step != 1]
    if not axes:
        return _under(node.inputs[0], shape, shape_out)
    if any(not taken[axis] for axis in axes):
        raise Unsupported(f"nothing is left of an input of {list(shape)}")
    source, left = _whole(node, axes)
    held = shape if isinstance(source, View) else image_shape(shape)
    for axis, of in zip(axes, left, strict=True):
        source, held = _sliced(source, held, of, taken[axis])
    if not isinstance(source, Made):
        return _under(node.inputs[0], shape, shape_out)
    return Made(source.kind, source.values, source.inputs, shape_out)


def _slice(node: Node) -> Made | Same:
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


def _split(node: Node) -> tuple[Made | Same, ...]:
    shape = node.shape()
    axis = node.axis(0)
    count = len(node.outputs)
    even = -(-shape[axis] // count)
    parts = node.whole_numbers("split", 1, [min(even, shape[axis] - k * even) for k in range(count)])
    if len(parts) != count or sum(parts) != shape[axis]:
        raise Unsupported(f"split = {parts} of {shape[axis]} values into {count} outputs: must add up")
    found = []
    for k, size in enumerate(parts):
        start = sum(parts[:k])
        whole = (*shape[:axis], size, *shape[axis + 1 :])
        found.append(_cut(node, {axis: range(start, start + size)}, whole))
    return tuple(found)


def _gather(node: Node) -> Made | Same:
    """Make an embedding of a stored table, or slices where places are stored and go on evenly."""
    table = node.stored(node.inputs[0])
    axis = int(node.attributes.get("axis", 0))
    if table is not None:
        if len(table) != 2 or axis not in (0, -2):
            raise Unsupported(f"a stored tensor of {list(table)} along axis {axis}: must be a table, along axis 0")
        shape = (*node.shape(1), table[1])
        values = {"rows": table[0], "width": table[1]}
        return Made("embedding", values, node.inputs[1:2], shape, {"weight": Parameter(node.inputs[0])})
    shape = node.shape()
    axis = node.front(axis, len(shape))
    indices = node.values(1, "indices")
    places = [node.front(int(one), shape[axis], "an index") for one in indices.reshape(-1)]
    step = places[1] - places[0] if len(places) > 1 else 1
    if not step or places != list(range(places[0], places[0] + step * len(places), step)) or indices.ndim > 1:
        raise Unsupported(f"indices {places[:6]} of a layer's output: must go on evenly")
    left = (*shape[:axis], *((len(places),) if indices.ndim else ()), *shape[axis + 1 :])
    end = places[-1] + step
    return _cut(node, {axis: range(places[0], end, step)}, left)


def _reduce(operation: str) -> Callable[[Node], Made | Same]:
    def read(node: Node) -> Made | Same:
        shape = node.shape()
        given = node.whole_numbers("axes", 1, [])
        if not given and not node.attributes.get("noop_with_empty_axes", 0):
            given = list(range(len(shape)))
        axes = sorted({node.front(axis, len(shape)) for axis in given})
        keep = bool(node.attributes.get("keepdims", 1))
        left = tuple(1 if k in axes else size for k, size in enumerate(shape))
        kept = left if keep else tuple(size for k, size in enumerate(shape) if k not in axes)
        axes = [axis for axis in axes if shape[axis] > 1]
        name: Source = node.inputs[0]
        if operation == "l2":
            name = Made("square", {}, (name,), shape)
        if not axes and operation != "l2":
            return _under(node.inputs[0], shape, kept)
        source, within = _whole(node, axes)
        source = source if operation != "l2" or not isinstance(source, str) else name
        if operation == "l2" and isinstance(source, View):
            raise Unsupported(f"axes = {axes}: must leave out the first")
        values = {"operation": "mean" if operation == "mean" else "sum", "axes": list(within), "keep": True}
        found = Made("reduce", values, (source,), kept) if axes else Made("square", {}, node.inputs[:1], kept)
        return found if operation != "l2" else Made("square_root", {}, (found,), kept)

    return read


def _expand(node: Node) -> Made | Same:
    shape = node.shape()
    wanted = tuple(int(one) for one in node.values(1, "shape").reshape(-1))
    if node.batch > 1 and wanted and wanted[0] == node.batch:
        wanted = (1, *wanted[1:])
    whole = _numpy_shape((shape, wanted))
    full = (1,) * (len(whole) - len(shape)) + shape
    if full == whole:
        return _under(node.inputs[0], shape, whole)
    cut = 1 if len(whole) > 1 and whole[0] == 1 else 0
    return Made("repeat", {"shape": list(whole[cut:])}, (View(node.inputs[0], full[cut:]),), whole)


def _einsum(node: Node) -> Made:
    """Make a product of matrices of an equation of two operands whose letters are in the order that it needs."""
    equation = node.text("equation", "").replace(" ", "")
    operands, _, result = equation.partition("->")
    terms = operands.split(",")
    if (
        len(terms) == 2
        and min(map(len, (*terms, result))) > 1
        and all(len(set(term)) == len(term) for term in (*terms, result))
    ):
        left, right = terms
        before = left[:-2]
        k = left[-1]
        if right == before + result[-1] + k and result == before + left[-2] + right[-2]:
            return _of_equation(node, True)
        if right == before + k + result[-1] and result == before + left[-2] + right[-1]:
            return _of_equation(node, False)
    raise Unsupported(f"equation = {equation}: must be a product of matrices, such as abik,abjk->abij")


def _of_equation(node: Node, turned: bool) -> Made:
    left, right = node.shape(0), node.shape(1)
    columns = right[-2] if turned else right[-1]
    cut = 1 if len(left) > 2 and left[0] == right[0] == 1 else 0
    operands = (View(node.inputs[0], left[cut:]), View(node.inputs[1], right[cut:]))
    return Made("matmul", {"turned": True} if turned else {}, operands, (*left[:-1], columns))


def _cast(node: Node) -> Same:
    to = int(node.attributes["to"])
    if to not in FLOATS:
        raise Unsupported(f"to = {to}: of a layer's output must be one of {', '.join(FLOATS.values())}")
    return Same(node.inputs[0], node.shape())


def _plain(kind: str, **values: Any) -> Callable[[Node], Made]:
    return lambda node: Made(kind, values, node.inputs[:1], node.shape())


def _numbered(kind: str, **names: tuple[str, float]) -> Callable[[Node], Made]:
    """Read an operator whose numbers are attributes: for each of the kind's values, the attribute and its default."""

    def read(node: Node) -> Made:
        values = {name: node.number(*given) for name, given in names.items()}
        return Made(kind, values, node.inputs[:1], node.shape())

    return read


def _gelu(node: Node) -> Made:
    return Made("gelu", {"approximate": node.text("approximate", "none")}, node.inputs[:1], node.shape())


READERS: Mapping[str, Callable[[Node], Read]] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Einsum": _einsum,
    "Relu": _plain("relu"),
    "Sigmoid": _plain("sigmoid"),
    "Tanh": _plain("tanh"),
    "Clip": _clip,
    "LeakyRelu": _numbered("leaky_relu", slope=("alpha", 0.01)),
    "HardSigmoid": _numbered("hard_sigmoid", slope=("alpha", 0.2), shift=("beta", 0.5)),
    "HardSwish": _plain("hard_swish"),
    "Gelu": _gelu,
    "Erf": _plain("erf"),
    "Exp": _plain("exponential"),
    "Sqrt": _plain("square_root"),
    "Reciprocal": _plain("reciprocal"),
    "Neg": _plain("affine", factor=-1.0),
    "Pow": _pow,
    "MaxPool": _pool("max_pool"),
    "AveragePool": _pool("average_pool"),
    "GlobalMaxPool": _global("max_pool"),
    "GlobalAveragePool": _global("average_pool"),
    "LRN": _lrn,
    "BatchNormalization": _batch_norm,
    "LayerNormalization": _layer_norm,
    "InstanceNormalization": _instance_norm,
    "GroupNormalization": _group_norm,
    "Add": _binary("add"),
    "Sub": _binary("subtract"),
    "Mul": _binary("multiply"),
    "Div": _binary("divide"),
    "Sum": _binary("add"),
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
    "Softmax": _softmax,
    "Dropout": _dropout,
    "Identity": _plain("bypass"),
    "Cast": _cast,
}
