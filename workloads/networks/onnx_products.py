"""ONNX operators of matrix products, which become different kinds of layers, as their operands are (ai.onnx).

Shapes are a file's with a batch of one; a layer's are an image's, which leave out a first axis of one.
"""

from collections.abc import Callable, Mapping
from math import prod

from workloads.networks.onnx_arithmetic import joined, with_stored
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


def _gemm(node: Node) -> OnnxLayer | InputAlias:
    """Make alpha · A · B + beta · C: of stored B a fully connected layer, whose weights and biases take the factors."""
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    turned_a, turned_b = (bool(node.attributes.get(name, 0)) for name in ("transA", "transB"))
    shape = node.shape()
    if len(shape) != 2:
        raise UnsupportedNodeError(f"A has {len(shape)} axes: must have 2")
    a: TensorSource = ReshapedTensor(node.inputs[0], shape) if turned_a else node.inputs[0]
    if turned_a:
        shape = shape[::-1]
        a = OnnxLayer("permute", {"order": [1, 0]}, (a,), shape)
    weight = node.stored(node.inputs[1])
    layer: OnnxLayer
    if weight is None:
        b = node.shape(1)
        columns = b[0] if turned_b else b[1]
        operands = (_viewed(a, node.inputs[0], shape), ReshapedTensor(node.inputs[1], b))
        layer = OnnxLayer("matmul", {"turned": turned_b}, operands, (shape[0], columns))
        layer = layer if alpha == 1.0 else OnnxLayer("affine", {"factor": alpha}, (layer,), layer.shape)
        bias = None
    else:
        name, weight = node.parameter(1, "B", 2)
        columns = weight[0] if turned_b else weight[1]
        parameters = {"weight": Parameter(name, not turned_b, alpha)}  # a layer's weights are outputs × inputs
        bias = node.stored(node.inputs[2]) if node.has(2) else None
        if bias is not None and (prod(bias) == 1 or (prod(bias), bias[-1]) == (columns, columns)):
            parameters["bias"] = Parameter(node.inputs[2], False, beta, (columns,))
        values = {"outputs": columns, "bias": "bias" in parameters}
        layer = OnnxLayer("fully_connected", values | _each(shape), (a,), (shape[0], columns), parameters)
    if not node.has(2) or "bias" in layer.parameters:
        return layer
    c: TensorSource = node.inputs[2]
    c_shape = node.stored(node.inputs[2]) or node.shape(2)
    if node.stored(node.inputs[2]) is not None:
        return with_stored("add", layer, (shape[0], columns), node.inputs[2], c_shape, node, factor=beta)
    if beta != 1.0:
        c = OnnxLayer("affine", {"factor": beta}, (c,), c_shape)
    return joined("add", (layer, c), ((shape[0], columns), c_shape))


def _viewed(source: TensorSource, name: str, shape: Shape) -> TensorSource:
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


PRODUCTS: Mapping[str, Callable[[Node], Read]] = {"Gemm": _gemm, "MatMul": _matmul, "Einsum": _einsum}
