"""Softmax over the channels."""

from collections.abc import Sequence

from workloads.networks.kind import LayerKind, Pass, PassSpec
from workloads.networks.tensor import Shape, maps


class Softmax(LayerKind):
    """e^x over the sum of e^x of all channels (DNNMark, equation 11)."""

    def operations(self, inputs: Sequence[Shape]) -> int:
        channels, rows, columns = maps(inputs[0])
        return channels * channels * rows * columns

    def backward(self) -> tuple[PassSpec, ...]:
        return (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",)),)
