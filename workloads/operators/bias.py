"""A bias for each channel, and its gradient: a reduction over images and pixels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from workloads.operators.channels import ChannelPrimitive
from workloads.operators.launching import elementwise, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import DivisionAxis, LaunchTuple, ReferenceValue
from workloads.operators.tensor import Operand, Tensor
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape


@dataclass(frozen=True)
class _Bias(ChannelPrimitive):
    """A bias over arrays [N, C, ...]."""

    shape: Shape

    @property
    def bias(self) -> Operand:
        """The bias of the channels, or its gradient."""
        return Operand((self.shape[1],), by_image=False)


@dataclass(frozen=True)
class BiasForward(_Bias):
    """y = x + bias[channel]; y may take x's place."""

    in_place: ClassVar = {"y": "x"}
    same_gradient = ("x",)
    operations_each = 1
    reads = ("x", "bias")
    name = "bias forward"

    def backward(self) -> "BiasBackward":
        return BiasBackward(self.shape)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return (elementwise("bias", "bias_forward", {**tensors, **self.channels.elementwise_arguments}),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        plane = [1] * (len(self.shape) - 2)
        bias = inputs["bias"].astype(np.float64).reshape(-1, *plane)
        y = inputs["x"] + bias
        return {"y": ReferenceValue(y, UNIT_ROUNDOFF * np.abs(y) + SMALLEST_NORMAL)}


@dataclass(frozen=True)
class BiasBackward(_Bias):
    """dbias from dy; what the bias was added to has dy for its gradient."""

    divisible = DivisionAxis.CHANNELS
    reads = ("dy",)
    writes = ("dbias",)
    name = "bias backward"

    @property
    def workspace(self) -> Mapping[str, Operand]:
        return {"sums": self.channels.per_part} if self.channels.parts > 1 else {}

    @property
    def operations(self) -> int:
        return self.x.size - self.shape[1]

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        channels, memory = self.channels, tensors["dy"].memory
        dy, total = tensors["dy"], tensors["dbias"]
        sums = tensors.get("sums", total)
        values = {"dy": dy, "sums": sums, **channels.arguments}
        slices = launch("bias", f"channel_sums_{channels.form}", memory, channels.groups, values)
        if sums is total:
            return (slices,)
        values = {"sums": sums, "total": total, "m": channels.merging}
        return slices, launch("bias", "merge_sums", memory, channels.merging_groups, values)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dy = inputs["dy"].reshape(*inputs["dy"].shape[:2], -1)
        magnitude = np.abs(dy).sum(axis=(0, 2), dtype=np.float64)
        bound = self.channels.longest * UNIT_ROUNDOFF * magnitude + SMALLEST_NORMAL
        return {"dbias": ReferenceValue(dy.sum(axis=(0, 2), dtype=np.float64), bound)}
