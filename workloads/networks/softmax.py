"""Softmax over the channels, or over all values of an image."""

from collections.abc import Sequence

from gpusim.base.spec import param
from workloads.networks.kind import LayerKind, Pass, PassSpec
from workloads.networks.tensor import Shape, maps

OVER = ("channels", "all")


class Softmax(LayerKind):
    """e^x over the sum of e^x of all channels (DNNMark, equation 11), or of all values of the image."""

    over: str = param("channels", "what each sum is over", "DNNMark; ONNX before opset 13 has all", among=OVER)

    def operations(self, inputs: Sequence[Shape]) -> int:
        channels, rows, columns = maps(inputs[0])
        if self.over == "all":
            channels, rows, columns = channels * rows * columns, 1, 1
        return channels * channels * rows * columns

    def backward(self) -> tuple[PassSpec, ...]:
        return (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",)),)
