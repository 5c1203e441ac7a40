"""Softmax over channels, with the largest subtracted first, and the cross-entropy loss that follows it in training."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from isa.launch import Launch
from workloads.operators.channels import ChannelPrimitive, Channels
from workloads.operators.launching import GROUP, divisor, elementwise, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import DivisionAxis, LaunchTuple, ReferenceValue
from workloads.operators.tensor import INDEX, Operand, Tensor, below, positive
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape

FEW_CHANNELS = 32  # of a pixel, that fit registers: workloads/kernels/softmax.cl


@dataclass(frozen=True)
class _Softmax(ChannelPrimitive):
    """Softmax over axis 1 of [N, C, ...], for each pixel by itself."""

    shape: Shape

    @property
    def probabilities(self) -> Operand:
        """The result, as an operand."""
        return Operand(self.shape, data=positive)

    def launch_kernel(self, kernel: str, tensors: Mapping[str, Tensor]) -> Launch:
        """Return a launch with a workgroup for each image if it has one pixel, else with a work-item for each pixel."""
        planes, memory = self.channels, next(iter(tensors.values())).memory
        if planes.size == 1:
            values = {**tensors, "channels": planes.channels}
            return launch("softmax", f"softmax_rows{kernel}", memory, (planes.images,), values)
        arguments = planes.elementwise_arguments
        values = {**tensors, "shape": arguments["shape"], "by_size": arguments["by_size"]}
        few = "_few" if planes.channels <= FEW_CHANNELS else ""
        return launch("softmax", f"softmax_pixels{few}{kernel}", memory, (-(-planes.count // GROUP),), values)

    def softmax(self, x: np.ndarray) -> ReferenceValue:
        """Compute the softmax of x in FP64.

        The bound counts an error of v_exp_f32 for an argument that is off by a rounding, and sums of positive terms.
        """
        away = x.astype(np.float64) - x.max(axis=1, keepdims=True)
        terms = np.exp(away)
        y = terms / terms.sum(axis=1, keepdims=True)
        away = np.maximum(away, -1e30)  # of what is minus infinity, as a mask is, the term is exact
        # a term counts in the sum as much as it is of it
        of_sum = (y * np.abs(away)).sum(axis=1, keepdims=True)
        bound = UNIT_ROUNDOFF * (self.additions + 12 + 3 * (np.abs(away) + of_sum)) * y + 2 * SMALLEST_NORMAL
        return ReferenceValue(y, bound)

    @property
    def additions(self) -> int:
        """Roundings of a sum over channels."""
        return self.shape[1] if len(self.shape) > 2 else min(self.shape[1], -(-self.shape[1] // GROUP) + 9)


@dataclass(frozen=True)
class SoftmaxForward(_Softmax):
    """y = e^x / sum over channels of e^x; y may take x's place."""

    in_place: ClassVar = {"y": "x"}
    operations_each = 5
    name = "softmax forward"

    def backward(self) -> "SoftmaxBackward":
        return SoftmaxBackward(self.shape)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return (self.launch_kernel("", tensors),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        return {"y": self.softmax(inputs["x"])}


@dataclass(frozen=True)
class SoftmaxBackward(_Softmax):
    """dx = y (dy - sum over channels of y dy); dx may take dy's place."""

    in_place: ClassVar = {"dx": "dy"}
    writes = ("dx",)
    macs_each, operations_each = 1, 2
    name = "softmax backward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {"y": self.probabilities, "dy": self.x}

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return (self.launch_kernel("_backward", tensors),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        y, dy = (inputs[name].astype(np.float64) for name in ("y", "dy"))
        products = y * dy
        magnitude = np.abs(products).sum(axis=1, keepdims=True)
        dx = y * (dy - products.sum(axis=1, keepdims=True))
        bound = UNIT_ROUNDOFF * np.abs(y) * (3 * np.abs(dy) + (self.additions + 6) * magnitude) + SMALLEST_NORMAL
        return {"dx": ReferenceValue(dx, bound)}


@dataclass(frozen=True)
class _Loss(_Softmax):
    """Cross-entropy of the softmax of x [N, C] with a label for each image."""

    def __post_init__(self) -> None:
        if Channels.of(self.shape if len(self.shape) > 1 else (1, 1, 0)).size != 1:
            raise self.refuse(f"x has shape {list(self.shape)}; it must be [N, C]: one label an image")

    @property
    def labels(self) -> Operand:
        """A class for each image."""
        return Operand(self.shape[:1], INDEX, below(self.shape[1]))

    def wanted(self, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return [N, C] with 1 at each image's label; raise OperatorError for a label that is no class."""
        labels = inputs["labels"].astype(np.int64)
        if labels.max(initial=0) >= self.shape[1]:
            raise self.refuse(f"label {labels.max()}; allowed are 0 to {self.shape[1] - 1}")
        found = np.zeros((len(labels), self.shape[1]))
        found[np.arange(len(labels)), labels] = 1.0
        return found


@dataclass(frozen=True)
class SoftmaxLossForward(_Loss):
    """y = softmax of x, each image's loss -log y[label], and the mean of them."""

    divisible = DivisionAxis.NOTHING
    reads = ("x", "labels")
    name = "softmax loss forward"

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {"y": self.x, "losses": Operand(self.shape[:1]), "loss": Operand((1,), by_image=False)}

    @property
    def operations(self) -> int:
        return 5 * self.x.size + 3 * self.shape[0]

    def backward(self) -> "SoftmaxLossBackward":
        return SoftmaxLossBackward(self.shape)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        memory, images = tensors["x"].memory, self.shape[0]
        rows = {name: tensors[name] for name in ("x", "labels", "y", "losses")}
        mean = {name: tensors[name] for name in ("losses", "loss")}
        return (
            launch("softmax", "softmax_loss", memory, (images,), {**rows, "channels": self.shape[1]}),
            launch("softmax", "mean_loss", memory, (1,), {**mean, "images": images}),
        )

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x = inputs["x"].reshape(len(inputs["x"]), -1).astype(np.float64)
        y, bound = self.softmax(inputs["x"])
        away = x - x.max(axis=1, keepdims=True)
        logs = np.log(np.exp(away).sum(axis=1))
        at_label = (away * self.wanted(inputs)).sum(axis=1)
        losses = logs - at_label
        spread = np.abs(away).max(axis=1)
        loss_bound = UNIT_ROUNDOFF * (self.additions + 12 + 3 * spread + 4 * (logs + np.abs(at_label)))
        mean_bound = loss_bound.mean() + UNIT_ROUNDOFF * (12 + -(-len(x) // GROUP)) * np.abs(losses).mean()
        loss = ReferenceValue(np.array([losses.mean()]), mean_bound)
        return {"y": ReferenceValue(y, bound), "losses": ReferenceValue(losses, loss_bound), "loss": loss}


@dataclass(frozen=True)
class SoftmaxLossBackward(_Loss):
    """dx = (y - 1 at the label) / N, the mean loss's gradient; dx may take y's place."""

    in_place: ClassVar = {"dx": "y"}
    writes = ("dx",)
    name = "softmax loss backward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        return {"y": self.probabilities, "labels": self.labels}

    @property
    def operations(self) -> int:
        return self.x.size + self.shape[0]

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        values = {"by_channels": divisor(self.shape[1]), "share": 1.0 / self.shape[0], "n": self.x.size}
        return (elementwise("softmax", "softmax_loss_backward", {**tensors, **values}),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dx = (inputs["y"] - self.wanted(inputs).reshape(inputs["y"].shape)) / self.shape[0]
        return {"dx": ReferenceValue(dx, 4 * UNIT_ROUNDOFF * np.abs(dx) + SMALLEST_NORMAL)}
