"""Softmax over the channels."""

from collections.abc import Sequence

from workloads.networks.kind import LayerKind, Pass, PassSpec
from workloads.networks.tensor import Shape, maps


class Softmax(LayerKind):
    """e^x over the sum of e^x of all channels (DNNMark, equation 11)."""

    def operations(self, inputs: Sequence[Shape]) -> int:
        """Count as ICPE 2018, table 1, does: the sum is computed anew for each output."""
        channels, rows, columns = maps(inputs[0])
        return channels * channels * rows * columns

    def backward(self) -> tuple[PassSpec, ...]:
        """Return the backward pass, which reads the output; before a loss the two are one step (`schedule`)."""
        return (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",)),)
