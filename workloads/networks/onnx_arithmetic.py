"""ONNX operators of arithmetic that become different kinds of layers, as their operands are (ai.onnx).

Shapes are a file's with a batch of one; a layer's are an image's, which leave out a first axis of one.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from workloads.networks.onnx_node import (
    InputAlias,
    Node,
    OnnxLayer,
    Parameter,
    Read,
    ReshapedTensor,
    TensorSource,
    UnsupportedNodeError,
    image_shape,
)
from workloads.shapes import Shape

SUPPORTED_POWERS = (0.5, 1, 2, 3, -1)
FLOATS = {1: "FLOAT", 10: "FLOAT16", 11: "DOUBLE", 16: "BFLOAT16"}  # of TensorProto.DataType: all computed in FP32


def numpy_shape(shapes: Sequence[Shape]) -> Shape:
    """Return the common shape by NumPy's rule; raise UnsupportedNodeError where there is none."""
    most = max(map(len, shapes))
    full = [(1,) * (most - len(shape)) + shape for shape in shapes]
    common = []
    for sizes in zip(*full, strict=True):
        if len(set(sizes) - {1}) > 1:
            raise UnsupportedNodeError(
                f"inputs of {' and '.join(str(list(shape)) for shape in shapes)}: sizes do not fit"
            )
        common.append(max(sizes))
    return tuple(common)


def joined(operation: str, sources: Sequence[TensorSource], shapes: Sequence[Shape]) -> OnnxLayer:
    """Make a combination of layers' outputs, by the kind for equal shapes where there is one."""
    shape = numpy_shape(shapes)
    equal = {"add": "add", "multiply": "multiply"}.get(operation)
    if equal and all(image_shape(each) == image_shape(shape) for each in shapes):
        return OnnxLayer(equal, {}, tuple(sources), shape)
    cut = 1 if len(shape) > 1 and shape[0] == 1 else 0
    viewed: list[TensorSource] = []
    for source, each in zip(sources, shapes, strict=True):
        full = ((1,) * (len(shape) - len(each)) + each)[cut:]
        viewed.append(ReshapedTensor(source, full) if isinstance(source, str) and full != image_shape(each) else source)
    return OnnxLayer("combine", {"operation": operation}, tuple(viewed), shape)


def with_stored(
    operation: str, source: TensorSource, shape: Shape, name: str, stored: Shape, node: Node, first: bool = False,
    factor: float = 1.0,
) -> OnnxLayer:  # fmt: skip
    """Make a combination of a layer's output with a stored tensor; first: that is the left operand."""
    whole = numpy_shape((shape, stored))
    full = (1,) * (len(whole) - len(stored)) + stored
    cut = 1 if len(whole) > 1 and whole[0] == 1 else 0
    stored_shape = full[cut:]
    while len(stored_shape) > 1 and stored_shape[0] == 1:
        stored_shape = stored_shape[1:]
    input_shape = ((1,) * (len(whole) - len(shape)) + shape)[cut:]
    if isinstance(source, str) and input_shape != image_shape(shape):
        source = ReshapedTensor(source, input_shape)
    values: dict[str, Any] = {"operation": operation, "stored": list(stored_shape)}
    values |= {} if node.trained(name) else {"trained": False}
    values |= {"stored_first": True} if first else {}
    role = "bias" if operation in ("add", "subtract") else "scale"
    return OnnxLayer("combine", values, (source,), whole, {role: Parameter(name, factor=factor, shape=stored_shape)})


def _binary(operation: str) -> Callable[[Node], OnnxLayer | InputAlias]:
    """Read an operator of two arrays; one number is taken into the layer's values."""

    def read(node: Node) -> OnnxLayer | InputAlias:
        stored = [node.stored(name) for name in node.inputs]
        if stored == [None] and len(node.inputs) == 1:  # of `Sum`
            return InputAlias(node.inputs[0], node.shape())
        if all(one is None for one in stored):
            return joined(operation, node.inputs, [node.shape(k) for k in range(len(node.inputs))])
        if len(node.inputs) != 2 or None not in stored:
            raise UnsupportedNodeError("all inputs but one must be layers' outputs")
        number = 0 if stored[0] is None else 1
        first = number == 1
        name, held = node.inputs[1 - number], stored[1 - number] or ()
        source, shape = node.inputs[number], node.shape(number)
        if prod(held) != 1 or node.trained(name):
            return with_stored(operation, source, shape, name, held, node, first)
        value = float(node.array(name).reshape(-1)[0])
        shape = numpy_shape((shape, held))
        if operation == "divide" and first:
            over = OnnxLayer("reciprocal", {}, (source,), shape)
            return over if value == 1.0 else OnnxLayer("affine", {"factor": value}, (over,), shape)
        if operation == "divide" and value == 0:
            raise UnsupportedNodeError("divides by 0")
        values = {
            "add": {"shift": value},
            "subtract": {"factor": -1.0, "shift": value} if first else {"shift": -value},
            "multiply": {"factor": value},
            "divide": {"factor": 1.0 / value if value else 0.0},
        }[operation]
        return OnnxLayer("affine", values, (source,), shape)

    return read


def _pow(node: Node) -> OnnxLayer | InputAlias:
    exponent = node.values(1, "exponent").reshape(-1)
    power = float(exponent[0]) if exponent.size == 1 else None
    if power not in SUPPORTED_POWERS:
        raise UnsupportedNodeError(
            f"exponent = {exponent.tolist()[:4]}: must be one of {', '.join(map(str, SUPPORTED_POWERS))}"
        )
    name, shape = node.inputs[0], numpy_shape((node.shape(), node.stored(node.inputs[1]) or ()))
    if power == 1:
        return InputAlias(name, shape)
    if power == 3:
        return OnnxLayer("multiply", {}, (name, OnnxLayer("square", {}, (name,), shape)), shape)
    return OnnxLayer({0.5: "square_root", 2: "square", -1: "reciprocal"}[power], {}, (name,), shape)


def _cast(node: Node) -> InputAlias:
    to = int(node.attributes["to"])
    if to not in FLOATS:
        raise UnsupportedNodeError(f"to = {to}: of a layer's output must be one of {', '.join(FLOATS.values())}")
    return InputAlias(node.inputs[0], node.shape())


def _neg(node: Node) -> OnnxLayer:
    return OnnxLayer("affine", {"factor": -1.0}, node.inputs[:1], node.shape())


ARITHMETIC: Mapping[str, Callable[[Node], Read]] = {
    "Neg": _neg,
    "Pow": _pow,
    "Add": _binary("add"),
    "Sub": _binary("subtract"),
    "Mul": _binary("multiply"),
    "Div": _binary("divide"),
    "Sum": _binary("add"),
    "Cast": _cast,
}
