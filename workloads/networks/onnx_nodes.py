"""What each ONNX operator becomes: a kind of layer with its values (ONNX operator schemas, ai.onnx).

To add an operator: a function, and its row in READERS.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workloads.networks.tensor import Shape

if TYPE_CHECKING:
    import numpy as np

MAPS, FEATURES = 4, 2  # axes of a tensor, the batch's included


class Unsupported(Exception):
    """A node asks for what no kind of layer has; the message names the value and what is allowed."""


@dataclass(frozen=True)
class Node:
    """A node: names of its tensors, its attributes, and what is known of its inputs.

    stored, array: return the shape (None if it is not stored) and the values of a tensor, by name; ranks: axes of each
    input, None where it is stored; shape: that of an image of the first input, None where it is unknown.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    opset: int
    stored: Callable[[str], Shape | None]
    array: "Callable[[str], np.ndarray]"
    ranks: Sequence[int | None]
    shape: Shape | None = None

    def text(self, name: str, default: str) -> str:
        """Return an attribute that is text."""
        value = self.attributes.get(name, default)
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

    def ints(self, name: str, default: list[int]) -> list[int]:
        """Return an attribute that is a list of whole numbers."""
        return [int(value) for value in self.attributes.get(name, default)]

    def require(self, name: str, default: Any, allowed: Any) -> None:
        """Raise Unsupported unless the attribute has the only value that is allowed."""
        value = self.attributes.get(name, default)
        if value != allowed:
            raise Unsupported(f"{name} = {value}: must be {allowed}")

    def axis(self, default: int) -> int:
        """Return the attribute `axis`, counted from the front."""
        axis = int(self.attributes.get("axis", default))
        return axis + self.rank if axis < 0 else axis

    @property
    def rank(self) -> int:
        """The number of axes of the first input."""
        return (self.ranks[0] if self.ranks else None) or MAPS

    def parameter(self, number: int, what: str, axes: int) -> tuple[str, Shape]:
        """Return the name and the shape of a stored input; raise Unsupported unless it is stored and has
        `axes` axes.
        """
        name = self.inputs[number] if number < len(self.inputs) else ""
        shape = self.stored(name)
        if shape is None:
            raise Unsupported(f"input {number} ({what}) is '{name}': must be an initializer")
        if len(shape) != axes:
            raise Unsupported(f"input {number} ({what}) has {len(shape)} axes: must have {axes}")
        return name, shape


@dataclass(frozen=True)
class Made:
    """The layer of a node. parameters: by role, the stored tensor and whether it is transposed; rank: that of the
    output.
    """

    kind: str
    values: Mapping[str, Any]
    inputs: tuple[str, ...]
    rank: int
    parameters: Mapping[str, tuple[str, bool]] = field(default_factory=dict)


def _conv(node: Node) -> Made:
    weight, shape = node.parameter(1, "weights", 4)
    kernel = node.ints("kernel_shape", list(shape[2:]))
    if kernel != list(shape[2:]):
        raise Unsupported(f"kernel_shape = {kernel}: the weights' is {list(shape[2:])}")
    parameters = {"weight": (weight, False)}
    if len(node.inputs) > 2 and node.inputs[2]:
        parameters["bias"] = node.parameter(2, "bias", 1)[0], False
    values = {
        "filters": shape[0],
        "kernel": kernel,
        "stride": node.ints("strides", [1, 1]),
        "padding": _padding(node, kernel),
        "dilation": node.ints("dilations", [1, 1]),
        "groups": int(node.attributes.get("group", 1)),
        "bias": "bias" in parameters,
    }
    return Made("convolution", values, node.inputs[:1], MAPS, parameters)


def _padding(node: Node, kernel: list[int]) -> list[int]:
    """Return zeros added at the top, left, bottom and right, in this order."""
    how = node.text("auto_pad", "NOTSET")
    if how == "NOTSET":
        return node.ints("pads", [0, 0, 0, 0])
    if how == "VALID":
        return [0, 0, 0, 0]
    if how not in ("SAME_UPPER", "SAME_LOWER") or node.shape is None or len(node.shape) != 3:
        raise Unsupported(f"auto_pad = {how}: must be NOTSET, VALID, SAME_UPPER or SAME_LOWER, on rows and columns")
    before, after = [], []
    strides, dilations = node.ints("strides", [1, 1]), node.ints("dilations", [1, 1])
    for size, window, stride, dilation in zip(node.shape[1:], kernel, strides, dilations, strict=True):
        reach = (-(-size // stride) - 1) * stride + dilation * (window - 1) + 1
        zeros = max(0, reach - size)  # so that there are as many windows as strides begun
        less, more = zeros // 2, zeros - zeros // 2
        before.append(less if how == "SAME_UPPER" else more)
        after.append(more if how == "SAME_UPPER" else less)
    return [*before, *after]


def _pool(kind: str) -> Callable[[Node], Made]:
    def read(node: Node) -> Made:
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
        return Made(kind, values, node.inputs[:1], MAPS)

    return read


def _whole(kind: str) -> Callable[[Node], Made]:
    return lambda node: Made(kind, {"whole": True}, node.inputs[:1], MAPS)


def _gemm(node: Node) -> Made:
    node.require("transA", 0, 0)
    for name in ("alpha", "beta"):
        node.require(name, 1.0, 1.0)
    transposed = not node.attributes.get("transB", 0)  # a layer's weights are outputs × inputs
    weight, shape = node.parameter(1, "B", 2)
    parameters = {"weight": (weight, transposed)}
    if len(node.inputs) > 2 and node.inputs[2]:
        parameters["bias"] = node.parameter(2, "C", 1)[0], False
    values = {"outputs": shape[1] if transposed else shape[0], "bias": "bias" in parameters}
    return Made("fully_connected", values, node.inputs[:1], FEATURES, parameters)


def _matmul(node: Node) -> Made:
    weight, shape = node.parameter(1, "B", 2)
    values = {"outputs": shape[1], "bias": False}
    return Made("fully_connected", values, node.inputs[:1], FEATURES, {"weight": (weight, True)})


def _batch_norm(node: Node) -> Made:
    spatial = bool(node.attributes.get("spatial", 1))
    names = ("scale", "bias", "running_mean", "running_variance")
    axes = 1 if spatial else node.rank - 1
    parameters = {role: (node.parameter(n, role, axes)[0], False) for n, role in enumerate(names, 1)}
    values = {
        "mode": "spatial" if spatial else "per_activation",
        "epsilon": float(node.attributes.get("epsilon", 1e-5)),
        # ONNX's is the share of what was kept
        "momentum": round(1 - float(node.attributes.get("momentum", 0.9)), 9),
    }
    return Made("batch_norm", values, node.inputs[:1], node.rank, parameters)


def _lrn(node: Node) -> Made:
    numbers = {"alpha": ("alpha", 1e-4), "beta": ("beta", 0.75), "k": ("bias", 1.0)}
    values = {name: float(node.attributes.get(given, default)) for name, (given, default) in numbers.items()}
    return Made("lrn", {"size": int(node.attributes["size"]), **values}, node.inputs[:1], node.rank)


def _dropout(node: Node) -> Made:
    ratio = float(node.attributes.get("ratio", 0.5))
    if len(node.inputs) > 1 and node.inputs[1]:
        ratio = float(node.array(node.parameter(1, "ratio", 0)[0]))
    values = {"probability": ratio, "seed": int(node.attributes.get("seed", 0))}
    return Made("dropout", values, node.inputs[:1], node.rank)


def _softmax(node: Node) -> Made:
    axis = node.axis(-1 if node.opset >= 13 else 1)
    if axis != 1:
        raise Unsupported(f"axis = {axis}: must be 1, the channels")
    # before opset 13, the axis is where the tensor is flattened to a matrix, whose rows are normalized
    return Made("softmax", {"over": "channels" if node.opset >= 13 else "all"}, node.inputs[:1], node.rank)


def _concat(node: Node) -> Made:
    if node.axis(1) != 1:
        raise Unsupported(f"axis = {node.axis(1)}: must be 1, the channels")
    return Made("concat", {}, node.inputs, node.rank)


def _flatten(node: Node) -> Made:
    if node.axis(1) != 1:
        raise Unsupported(f"axis = {node.axis(1)}: must be 1: the batch stays")
    return Made("flatten", {}, node.inputs[:1], FEATURES)


def _reshape(node: Node) -> Made:
    """Make a flattening, the only reshaping that is allowed, since flattening is sometimes exported as one."""
    name, shape = node.parameter(1, "shape", 1)
    wanted = node.array(name).tolist()
    if shape != (2,) or wanted[1] == 0:
        raise Unsupported(f"shape = {wanted}: must be [batch, features], which flattens")
    return Made("flatten", {}, node.inputs[:1], FEATURES)


def _add(node: Node) -> Made:
    for name in node.inputs:
        if node.stored(name) is not None:
            raise Unsupported(f"input '{name}' is an initializer: only the bias of the product before may be one")
    return Made("add", {}, node.inputs, node.rank)


def _plain(kind: str) -> Callable[[Node], Made]:
    return lambda node: Made(kind, {}, node.inputs[:1], node.rank)


READERS: Mapping[str, Callable[[Node], Made]] = {
    "Conv": _conv,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Relu": _plain("relu"),
    "Sigmoid": _plain("sigmoid"),
    "Tanh": _plain("tanh"),
    "MaxPool": _pool("max_pool"),
    "AveragePool": _pool("average_pool"),
    "GlobalMaxPool": _whole("max_pool"),
    "GlobalAveragePool": _whole("average_pool"),
    "LRN": _lrn,
    "BatchNormalization": _batch_norm,
    "Add": _add,
    "Concat": _concat,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Softmax": _softmax,
    "Dropout": _dropout,
    "Identity": _plain("bypass"),
}
