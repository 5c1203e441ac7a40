"""ONNX operators with weights, windows or means over a tensor: what they become (ai.onnx).

Shapes are a file's with a batch of one; a layer's are an image's, which leave out a first axis of one.
"""

from collections.abc import Callable, Mapping
from math import prod

from workloads.networks.onnx_arithmetic import joined, with_stored
from workloads.networks.onnx_moves import of_image
from workloads.networks.onnx_node import (
    InputAlias,
    Node,
    OnnxLayer,
    Parameter,
    Read,
    ReshapedTensor,
    Source,
    StoredValues,
    UnsupportedNodeError,
    image_shape,
)
from workloads.networks.tensor import Shape


def _conv(node: Node) -> OnnxLayer:
    weight, shape = node.parameter(1, "weights", 4)
    node.maps()
    kernel = node.ints("kernel_shape", list(shape[2:]))
    if kernel != list(shape[2:]):
        raise UnsupportedNodeError(f"kernel_shape = {kernel}: the weights' is {list(shape[2:])}")
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
    return OnnxLayer("convolution", values, node.inputs[:1], (), parameters)


def _conv_transpose(node: Node) -> OnnxLayer:
    weight, shape = node.parameter(1, "weights", 4)
    node.maps()
    groups, kernel = int(node.attributes.get("group", 1)), node.ints("kernel_shape", list(shape[2:]))
    if kernel != list(shape[2:]):
        raise UnsupportedNodeError(f"kernel_shape = {kernel}: the weights' is {list(shape[2:])}")
    how = node.text("auto_pad", "NOTSET")
    if how not in ("NOTSET", "VALID"):
        raise UnsupportedNodeError(f"auto_pad = {how}: must be NOTSET or VALID, with pads")
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
    return OnnxLayer("transposed_convolution", values, node.inputs[:1], (), parameters)


def _padding(node: Node, kernel: list[int]) -> list[int]:
    """Return zeros added at the top, left, bottom and right, in this order."""
    how, given = node.text("auto_pad", "NOTSET"), node.ints("pads", [0, 0, 0, 0])
    if how == "NOTSET":
        return given
    if how == "VALID":
        return [0, 0, 0, 0]
    if how not in ("SAME_UPPER", "SAME_LOWER"):
        raise UnsupportedNodeError(
            f"auto_pad = {how}: must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, on rows and columns"
        )
    before, after = [], []
    strides, dilations = node.ints("strides", [1, 1]), node.ints("dilations", [1, 1])
    for size, window, stride, dilation in zip(node.maps()[2:], kernel, strides, dilations, strict=True):
        reach = (-(-size // stride) - 1) * stride + dilation * (window - 1) + 1
        zeros = max(0, reach - size)  # so that there are as many windows as strides begun
        less, more = zeros // 2, zeros - zeros // 2
        before.append(less if how == "SAME_UPPER" else more)
        after.append(more if how == "SAME_UPPER" else less)
    return [*before, *after]


def _pool(kind: str) -> Callable[[Node], OnnxLayer]:
    def read(node: Node) -> OnnxLayer:
        node.maps()
        if set(node.ints("dilations", [1])) != {1}:
            raise UnsupportedNodeError(f"dilations = {node.ints('dilations', [])}: must be 1")
        kernel = node.ints("kernel_shape", [])
        values = {
            "kernel": kernel,
            "stride": node.ints("strides", [1, 1]),
            "padding": _padding(node, kernel),
            "ceil": bool(node.attributes.get("ceil_mode", 0)),
        }
        if kind == "average_pool":
            values["counts_padding"] = bool(node.attributes.get("count_include_pad", 0))
        return OnnxLayer(kind, values, node.inputs[:1], ())

    return read


def _global(kind: str) -> Callable[[Node], OnnxLayer]:
    def read(node: Node) -> OnnxLayer:
        node.maps()
        return OnnxLayer(kind, {"whole": True}, node.inputs[:1], ())

    return read


def _gemm(node: Node) -> OnnxLayer | InputAlias:
    """Make alpha · A · B + beta · C: of stored B a fully connected layer, whose weights and biases take the factors."""
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    turned_a, turned_b = (bool(node.attributes.get(name, 0)) for name in ("transA", "transB"))
    shape = node.shape()
    if len(shape) != 2:
        raise UnsupportedNodeError(f"A has {len(shape)} axes: must have 2")
    a: Source = ReshapedTensor(node.inputs[0], shape) if turned_a else node.inputs[0]
    if turned_a:
        shape = shape[::-1]
        a = OnnxLayer("permute", {"order": [1, 0]}, (a,), shape)
    weight = node.stored(node.inputs[1])
    found: OnnxLayer
    if weight is None:
        b = node.shape(1)
        columns = b[0] if turned_b else b[1]
        operands = (_viewed(a, node.inputs[0], shape), ReshapedTensor(node.inputs[1], b))
        found = OnnxLayer("matmul", {"turned": turned_b}, operands, (shape[0], columns))
        found = found if alpha == 1.0 else OnnxLayer("affine", {"factor": alpha}, (found,), found.shape)
        bias = None
    else:
        name, weight = node.parameter(1, "B", 2)
        columns = weight[0] if turned_b else weight[1]
        parameters = {"weight": Parameter(name, not turned_b, alpha)}  # a layer's weights are outputs × inputs
        bias = node.stored(node.inputs[2]) if node.has(2) else None
        if bias is not None and (prod(bias) == 1 or (prod(bias), bias[-1]) == (columns, columns)):
            parameters["bias"] = Parameter(node.inputs[2], False, beta, (columns,))
        values = {"outputs": columns, "bias": "bias" in parameters}
        found = OnnxLayer("fully_connected", values | _each(shape), (a,), (shape[0], columns), parameters)
    if not node.has(2) or "bias" in found.parameters:
        return found
    c: Source = node.inputs[2]
    c_shape = node.stored(node.inputs[2]) or node.shape(2)
    if node.stored(node.inputs[2]) is not None:
        return with_stored("add", found, found.shape, node.inputs[2], c_shape, node, factor=beta)
    if beta != 1.0:
        c = OnnxLayer("affine", {"factor": beta}, (c,), c_shape)
    return joined("add", (found, c), (found.shape, c_shape))


def _viewed(source: Source, name: str, shape: Shape) -> Source:
    return ReshapedTensor(name, shape) if isinstance(source, str) else source


def _each(shape: Shape) -> dict[str, bool]:
    """Return the value of a fully connected layer that multiplies the last axis of every position of an input."""
    return {"each": True} if len(image_shape(shape)) > 1 else {}


def _matmul(node: Node) -> OnnxLayer:
    left, right = (node.stored(name) for name in node.inputs[:2])
    if left is None and right is not None and len(right) == 2:
        shape = node.shape()
        values = {"outputs": right[1], "bias": False} | _each(shape)
        parameters = {"weight": Parameter(node.inputs[1], True)}
        return OnnxLayer("fully_connected", values, node.inputs[:1], (*shape[:-1], right[1]), parameters)
    shapes, sources = [], []
    for number, stored in enumerate((left, right)):
        shape = stored if stored is not None else node.shape(number)
        if len(shape) < 2:
            raise UnsupportedNodeError(f"input {number} has {len(shape)} axis: must have at least 2")
        shapes.append(shape)
    if left is not None and right is not None:
        raise UnsupportedNodeError("both inputs are stored: one must be a layer's output")
    most = max(map(len, shapes))
    full = [(1,) * (most - len(shape)) + shape for shape in shapes]
    first = [shape[0] for shape in full]
    cut = 1 if most > 2 and first == [1, 1] else 0
    for number, shape in enumerate(full):
        name = node.inputs[number]
        stored_here = (left, right)[number] is not None
        sources.append(StoredValues(name, shape[cut:]) if stored_here else ReshapedTensor(name, shape[cut:]))
    before = tuple(max(a, b) for a, b in zip(full[0][:-2], full[1][:-2], strict=True))
    return OnnxLayer("matmul", {}, tuple(sources), (*before, full[0][-2], full[1][-1]))


def _batch_norm(node: Node) -> OnnxLayer:
    shape = node.shape()
    if shape[0] != 1:
        raise UnsupportedNodeError(f"an input of {list(shape)}: must be batch × channels × ...")
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
    return OnnxLayer("batch_norm", values, node.inputs[:1], shape, parameters)


def _layer_norm(node: Node) -> OnnxLayer:
    shape = node.shape()
    axes = len(shape) - node.axis(-1)
    if axes >= len(shape) and image_shape(shape) != shape:
        raise UnsupportedNodeError("axis = 0: must leave out the batch")
    parameters = {"scale": Parameter(node.parameter(1, "scale", axes)[0])}
    if node.has(2):
        parameters["bias"] = Parameter(node.parameter(2, "bias", axes)[0])
    values = {"epsilon": node.number("epsilon", 1e-5), "bias": "bias" in parameters}
    return OnnxLayer("layer_norm", values | ({"axes": axes} if axes > 1 else {}), node.inputs[:1], shape, parameters)


def _instance_norm(node: Node) -> OnnxLayer:
    shape = node.shape()
    if shape[0] != 1 or len(shape) < 3:
        raise UnsupportedNodeError(f"an input of {list(shape)}: must be batch × channels × ...")
    parameters = {role: Parameter(node.parameter(n, role, 1)[0]) for n, role in enumerate(("scale", "bias"), 1)}
    values = {"groups": shape[1], "epsilon": node.number("epsilon", 1e-5)}
    return OnnxLayer("group_norm", values, node.inputs[:1], shape, parameters)


def _group_norm(node: Node) -> OnnxLayer:
    shape = node.shape()
    if shape[0] != 1 or len(shape) < 3:
        raise UnsupportedNodeError(f"an input of {list(shape)}: must be batch × channels × ...")
    parameters = {role: Parameter(node.parameter(n, role, 1)[0]) for n, role in enumerate(("scale", "bias"), 1)}
    values = {"groups": int(node.attributes["num_groups"]), "epsilon": node.number("epsilon", 1e-5)}
    if node.stored(node.inputs[1]) != (shape[1],):
        raise UnsupportedNodeError(
            f"scale is {node.stored(node.inputs[1])}: must be one for each of {shape[1]} channels"
        )
    return OnnxLayer("group_norm", values, node.inputs[:1], shape, parameters)


def _lrn(node: Node) -> OnnxLayer:
    numbers = {"alpha": ("alpha", 1e-4), "beta": ("beta", 0.75), "k": ("bias", 1.0)}
    values = {name: float(node.attributes.get(given, default)) for name, (given, default) in numbers.items()}
    return OnnxLayer("lrn", {"size": int(node.attributes["size"]), **values}, node.inputs[:1], node.shape())


def _dropout(node: Node) -> OnnxLayer:
    ratio = node.number("ratio", 0.5)
    if node.has(1):
        ratio = float(node.array(node.parameter(1, "ratio", 0)[0]))
    values = {"probability": ratio, "seed": int(node.attributes.get("seed", 0))}
    return OnnxLayer("dropout", values, node.inputs[:1], node.shape())


def _softmax(node: Node) -> OnnxLayer:
    shape = node.shape()
    axis = node.axis(-1 if node.opset >= 13 else 1)
    # before opset 13, the axis is where the tensor is flattened to a matrix, whose rows are normalized
    if node.opset < 13 and axis != len(shape) - 1:
        if axis != 1 or shape[0] != 1:
            raise UnsupportedNodeError(f"axis = {axis}: must be 1 or the last before opset 13")
        return OnnxLayer("softmax", {"over": "all"}, node.inputs[:1], shape)
    if node.opset < 13 and len(shape) == 2:
        return OnnxLayer("softmax", {"over": "all"}, node.inputs[:1], shape)
    source, (axis,) = of_image(node, [axis])
    return OnnxLayer("softmax", {"over": "channels"} | ({"axis": axis} if axis else {}), (source,), shape)


def _einsum(node: Node) -> OnnxLayer:
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
    raise UnsupportedNodeError(f"equation = {equation}: must be a product of matrices, such as abik,abjk->abij")


def _of_equation(node: Node, turned: bool) -> OnnxLayer:
    left, right = node.shape(0), node.shape(1)
    columns = right[-2] if turned else right[-1]
    cut = 1 if len(left) > 2 and left[0] == right[0] == 1 else 0
    operands = (ReshapedTensor(node.inputs[0], left[cut:]), ReshapedTensor(node.inputs[1], right[cut:]))
    return OnnxLayer("matmul", {"turned": True} if turned else {}, operands, (*left[:-1], columns))


LAYERS: Mapping[str, Callable[[Node], Read]] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Einsum": _einsum,
    "MaxPool": _pool("max_pool"),
    "AveragePool": _pool("average_pool"),
    "GlobalMaxPool": _global("max_pool"),
    "GlobalAveragePool": _global("average_pool"),
    "LRN": _lrn,
    "BatchNormalization": _batch_norm,
    "LayerNormalization": _layer_norm,
    "InstanceNormalization": _instance_norm,
    "GroupNormalization": _group_norm,
    "Softmax": _softmax,
    "Dropout": _dropout,
}
