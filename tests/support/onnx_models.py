"""ONNX files of networks, written node by node with the `onnx` package; values are random."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Writer:
    """A graph in the making: each method adds a node and returns the name of its output."""

    def __init__(self, shape: Sequence[int | str | None], opset: int = OPSET) -> None:
        self.random = np.random.default_rng(0)
        self.opset, self.nodes, self.initializers = opset, [], []
        self.inputs = [helper.make_tensor_value_info("image", TensorProto.FLOAT, shape)]

    def stored(self, *shape: int) -> str:
        """A random tensor in the file."""
        return self.keep(self.random.standard_normal(shape).astype(np.float32))

    def keep(self, array: np.ndarray) -> str:
        """A tensor in the file."""
        name = f"stored{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, *inputs: str, name: str = "", outputs: int = 1, **attributes: Any) -> str:
        """Any node; its first output."""
        made = [f"tensor{len(self.nodes)}.{n}" for n in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, made, name, **attributes))
        return made[0]

    def conv(self, x: str, channels: int, filters: int, kernel: int, bias: bool = True, **attributes: Any) -> str:
        """A convolution; attributes as ONNX has them."""
        weights = self.stored(filters, channels // attributes.get("group", 1), kernel, kernel)
        return self.node("Conv", x, weights, *([self.stored(filters)] if bias else []), **attributes)

    def norm(self, x: str, channels: int) -> str:
        """A batch normalization."""
        return self.node("BatchNormalization", x, *(self.stored(channels) for _ in range(4)))

    def gemm(self, x: str, features: int, outputs: int) -> str:
        """A fully connected layer as PyTorch exports it."""
        return self.node("Gemm", x, self.stored(outputs, features), self.stored(outputs), transB=1)

    def model(self, *outputs: str) -> Any:
        """The model."""
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", None]) for name in outputs]
        graph = helper.make_graph(self.nodes, "graph", self.inputs, results, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])

    def bytes(self, *outputs: str) -> bytes:
        """The file."""
        data: bytes = self.model(*outputs).SerializeToString()
        return data


def checked(model: Any) -> Any:
    """The model, after ONNX's own checker and shape inference were content with it."""
    onnx.checker.check_model(model)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True)


def vgg11() -> Any:
    """The CIFAR-10 variant of VGGNet-11, as PyTorch exports it in training mode."""
    w = Writer(["N", 3, 32, 32])
    x, channels = "image", 3
    for filters, pool in ((64, 1), (128, 1), (256, 0), (256, 1), (512, 0), (512, 1), (512, 0), (512, 1)):
        x = w.node("Relu", w.conv(x, channels, filters, 3, pads=[1] * 4))
        x = w.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]) if pool else x
        channels = filters
    x = w.node("Flatten", x)
    for _ in range(2):
        x = w.node("Dropout", w.node("Relu", w.gemm(x, 512, 512)))
    return w.model(w.node("Softmax", w.gemm(x, 512, 10), axis=1))


def resnet18() -> Any:
    """ResNet-18 with its batch normalizations."""
    w = Writer(["batch", 3, 224, 224])
    x = w.node("Relu", w.norm(w.conv("image", 3, 64, 7, False, strides=[2, 2], pads=[3] * 4), 64))
    x, channels = w.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), 64
    for filters in (64, 128, 256, 512):
        for unit in (0, 1):
            stride, short = (2 if unit == 0 and filters > 64 else 1), x
            y = w.norm(w.conv(x, channels, filters, 3, False, strides=[stride] * 2, pads=[1] * 4), filters)
            y = w.norm(w.conv(w.node("Relu", y), filters, filters, 3, False, pads=[1] * 4), filters)
            if stride > 1:
                short = w.norm(w.conv(x, channels, filters, 1, False, strides=[2, 2]), filters)
            x, channels = w.node("Relu", w.node("Add", y, short)), filters
    x = w.node("Flatten", w.node("GlobalAveragePool", x))
    return w.model(w.node("Softmax", w.gemm(x, 512, 1000)))


def small() -> bytes:
    """A network of a few hundred bytes with most kinds of nodes."""
    w = Writer(["N", 2, 6, 6])
    x = w.node("LRN", w.node("Relu", w.conv("image", 2, 2, 3, pads=[1] * 4)), size=3)
    x = w.node("Add", x, w.norm(w.node("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4), 2))
    x = w.node("Flatten", w.node("GlobalAveragePool", w.node("Concat", x, w.node("Dropout", x), axis=1)))
    return w.bytes(w.node("Softmax", w.gemm(x, 4, 3), axis=1))
