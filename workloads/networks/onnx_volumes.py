"""ONNX's convolutions and poolings of volumes, made of those of maps (ai.onnx: Conv, AveragePool, MaxPool).

A pooling is one over rows and columns, then one along the depth: the largest of largest values, the mean of means whose
windows have as many values each. A convolution is one of maps for each plane of its output: the planes of its filter's
depth are channels of one convolution, and all planes use the weights of the first.
"""

from collections.abc import Callable
from typing import Any

from workloads.networks.onnx_node import LayerOutput, Node, OnnxLayer, Parameter, ReshapedTensor, UnsupportedNodeError
from workloads.networks.windows import axis_padding, positions
from workloads.shapes import Shape

VOLUME = 5  # axes of a tensor of volumes, the batch's included


def is_volume(node: Node) -> bool:
    """Tell whether a node reads volumes, in a batch of one."""
    shape = node.computed(node.inputs[0]) if node.inputs else None
    return shape is not None and len(shape) == VOLUME and shape[0] == 1


def pooled_volume(kind: str, node: Node, kernel: list[int], values: dict[str, Any]) -> OnnxLayer:
    """Return the pooling of volumes by windows of `kernel`; values: what the poolings have besides their windows."""
    shape, strides = node.shape(), node.by_axis("strides", 1)
    before, after = axis_padding(node, kernel)
    _, channels, depth, rows, columns = shape
    ceil = bool(values.get("ceil", False))
    plane = {"kernel": kernel[1:], "stride": strides[1:], "padding": [*before[1:], *after[1:]]}
    line = {"kernel": [kernel[0], 1], "stride": [strides[0], 1], "padding": [before[0], 0, after[0], 0]}
    new_rows, new_columns = _positions((channels * depth, rows, columns), plane, ceil)
    size = new_rows * new_columns
    new_depth, _ = _positions((channels, depth, size), line, ceil)
    maps = ReshapedTensor(node.inputs[0], (channels * depth, rows, columns))
    of_planes = OnnxLayer(kind, values | plane, (maps,), (1, channels, depth, size))
    return OnnxLayer(kind, values | line, (of_planes,), (1, channels, new_depth, new_rows, new_columns))


def _positions(shape: Shape, window: dict[str, list[int]], ceil: bool) -> tuple[int, int]:
    kernel, stride = tuple(window["kernel"]), tuple(window["stride"])
    top, left, bottom, right = window["padding"]
    return positions(shape, (kernel[0], kernel[1]), (stride[0], stride[1]), (top, left, bottom, right), ceil=ceil)


def convolved_volume(node: Node, name: str, enter: Callable[[str, OnnxLayer], str]) -> tuple[str, Shape]:
    """Add the layers of a convolution of volumes; return that of its output, and its shape in the file.

    enter: adds a layer and returns its name. Raise UnsupportedNodeError before anything is added.
    """
    shape = node.shape()
    weight, filters = node.parameter(1, "weights", VOLUME)
    kernel = list(filters[2:])
    if node.ints("kernel_shape", kernel) != kernel:
        raise UnsupportedNodeError(f"kernel_shape = {node.ints('kernel_shape', kernel)}: the weights' is {kernel}")
    strides, dilations = node.by_axis("strides", 1), node.by_axis("dilations", 1)
    before, after = axis_padding(node, kernel)
    parameters = {"weight": Parameter(weight, shape=(filters[0], filters[1] * kernel[0], *kernel[1:]))}
    if node.has(2):
        parameters["bias"] = Parameter(node.parameter(2, "bias", 1)[0])
    values = {
        "filters": filters[0], "kernel": kernel[1:], "stride": strides[1:], "dilation": dilations[1:],
        "padding": [*before[1:], *after[1:]], "groups": int(node.attributes.get("group", 1)), "bias": node.has(2),
    }  # fmt: skip
    if ignored := node.attributes.ignored():
        raise UnsupportedNodeError(f"attribute {ignored[0]} = {node.attributes[ignored[0]]}: must be left out")
    _, channels, depth, rows, columns = shape
    reach = dilations[0] * (kernel[0] - 1) + 1
    planes = (depth + before[0] + after[0] - reach) // strides[0] + 1
    if planes < 1:
        raise UnsupportedNodeError(f"a kernel of {kernel} does not fit an input of {list(shape)}")
    source: ReshapedTensor | LayerOutput = ReshapedTensor(node.inputs[0], shape[1:])
    if before[0] or after[0]:
        sides = {"before": [0, before[0], 0, 0], "after": [0, after[0], 0, 0]}
        source = LayerOutput(enter(f"{name}.padded", OnnxLayer("pad", sides, (source,), None)))
    made: list[LayerOutput] = []
    owner = ""
    for plane in range(planes):
        first = plane * strides[0]
        taken = {"axis": 1, "start": first, "end": first + reach, "step": dilations[0]}
        under = OnnxLayer("slice", taken, (source,), (1, channels * kernel[0], rows, columns))
        convolution = OnnxLayer(
            "convolution", values | ({"shares": owner} if owner else {}), (under,), None, {} if owner else parameters
        )
        layer = enter(f"{name}.{plane}" if planes > 1 else name, convolution)
        owner = owner or layer
        made.append(LayerOutput(layer))
    # a plane's values stay together, behind its filter's other planes
    new_rows, new_columns = positions(
        (1, rows, columns), (kernel[1], kernel[2]), (strides[1], strides[2]), (*before[1:], *after[1:]),  # type: ignore[arg-type]
        (dilations[1], dilations[2]),
    )  # fmt: skip
    whole = (1, filters[0], planes, new_rows, new_columns)
    if planes > 1:
        for number, one in enumerate(made):
            view = {"shape": [filters[0], 1, new_rows, new_columns]}
            made[number] = LayerOutput(enter(f"{name}.{number}.plane", OnnxLayer("reshape", view, (one,), None)))
        return enter(f"{name}.planes", OnnxLayer("concat", {"axis": 1}, tuple(made), None)), whole
    return enter(f"{name}.plane", OnnxLayer("reshape", {"shape": list(whole[1:])}, (made[0],), None)), whole
