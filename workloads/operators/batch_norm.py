"""Batch normalisation, of channels (spatial) or of each activation: training, inference, gradients.

y = scale (x - mean) / sqrt(variance + epsilon) + bias, with mean and variance over images and pixels in training, the
running ones in inference (Ioffe and Szegedy 2015).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gpusim.base.errors import unknown_name
from workloads.operators.channels import ChannelPrimitive, Channels
from workloads.operators.launching import elementwise, launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import DivisionAxis, LaunchTuple, OperatorError, ReferenceValue
from workloads.operators.tensor import Operand, Tensor, positive
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape

MODES = ("spatial", "per_activation")


@dataclass(frozen=True)
class _BatchNorm(ChannelPrimitive):
    """Batch normalisation of x [N, C, ...]."""

    shape: Shape
    """Shape of x."""
    mode: str = "spatial"
    """'spatial': statistics of each channel; otherwise of each element of [C, ...]."""
    epsilon: float = 1e-5
    """Value added to the variance."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise OperatorError(unknown_name("batch normalisation", self.mode, MODES))
        super().__post_init__()
        if not self.epsilon > 0:
            raise self.refuse(f"epsilon is {self.epsilon}; it must be larger than 0")

    @property
    def channels(self) -> Channels:
        """The array as planes, of one element each where each activation is by itself."""
        if self.mode == "spatial":
            return Channels.of(self.shape)
        return Channels(self.shape[0], Operand(self.shape[1:]).size, 1)

    @property
    def of_channel(self) -> Operand:
        """A parameter, a mean or a gradient of one."""
        return Operand(self.shape[1:2] if self.mode == "spatial" else self.shape[1:], by_image=False)

    @property
    def of_channel_positive(self) -> Operand:
        """A variance, or the inverse of a deviation."""
        return Operand(self.of_channel.shape, data=positive, by_image=False)

    @property
    def takes(self) -> Mapping[str, Operand]:
        running = {"running_mean": self.of_channel, "running_variance": self.of_channel_positive}
        return {"x": self.x, "scale": self.of_channel, "bias": self.of_channel, **running}

    def over_channels(self, values: np.ndarray) -> np.ndarray:
        """Return the channels' values in FP64, in a shape that broadcasts over x."""
        plane = [1] * (len(self.shape) - 2)
        exact = values.astype(np.float64)
        return exact.reshape(-1, *plane) if self.mode == "spatial" else exact

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of x over which statistics are taken."""
        return (0, *range(2, len(self.shape))) if self.mode == "spatial" else (0,)

    def kernel(self, name: str) -> str:
        """Return the element-wise kernel's name; there is one more for channels whose sizes are multiples of four."""
        return f"{name}4" if self.channels.size % 4 == 0 else name


@dataclass(frozen=True)
class BatchNormTraining(_BatchNorm):
    """y, the statistics that the backward pass needs, and the running ones, moved on by `factor`.

    The running variance takes up that of a sample, with one element less to divide by, as cuDNN's and PyTorch's do.
    """

    factor: float = 0.1
    """Weight of the new statistics in the running ones."""
    divisible = DivisionAxis.CHANNELS
    macs_each, operations_each = 2, 3
    name = "batch normalisation training"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.channels.count < 2:
            held = f"x of {list(self.shape)} has statistics over {self.channels.count}"
            raise self.refuse(f"{held} of its elements; it must be at least 2")
        if not 0 <= self.factor <= 1:
            raise self.refuse(f"factor is {self.factor}; it must be from 0 to 1")

    @property
    def gives(self) -> Mapping[str, Operand]:
        batch = {"mean": self.of_channel, "inverse_deviation": self.of_channel}
        return {"y": self.x, **batch, "running_mean": self.of_channel, "running_variance": self.of_channel}

    @property
    def workspace(self) -> Mapping[str, Operand]:
        return {"means": self.channels.per_part, "squares": self.channels.per_part}

    def backward(self) -> "BatchNormBackward":
        return BatchNormBackward(self.shape, self.mode, self.epsilon)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        channels, memory = self.channels, tensors["x"].memory
        of_slices = {name: tensors[name] for name in self.workspace}
        names = ("mean", "inverse_deviation", "running_mean", "running_variance")
        merging = {
            **of_slices,
            **{name: tensors[name] for name in names},
            "m": channels.merging,
            "count": channels.count // channels.columns,
            "slice_elements": channels.slice_elements,
            "epsilon": self.epsilon,
            "factor": self.factor,
        }
        used = {name: tensors[name] for name in ("x", "mean", "inverse_deviation", "scale", "bias", "y")}
        values = {"x": tensors["x"], **of_slices, **channels.arguments}
        return (
            launch("batch_norm", f"moments_{channels.form}", memory, channels.groups, values),
            launch("batch_norm", "merge_moments", memory, channels.merging_groups, merging),
            elementwise("batch_norm", self.kernel("normalise"), {**used, **channels.elementwise_arguments}),
        )

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        """Compute the definition; the bounds follow the errors of mean and variance through the formula."""
        x, count = inputs["x"].astype(np.float64), self.channels.count
        mean, magnitude = x.mean(axis=self.axes), np.abs(x).mean(axis=self.axes)
        away = x - self.over_channels(mean)
        variance = np.square(away).mean(axis=self.axes)
        inverse = 1.0 / np.sqrt(variance + self.epsilon)
        sums = (self.channels.longest + 8) * UNIT_ROUNDOFF
        mean_bound = sums * magnitude + SMALLEST_NORMAL
        largest = np.abs(x).max(axis=self.axes)
        off = mean_bound + 2 * UNIT_ROUNDOFF * largest  # of a deviation
        variance_bound = sums * variance + 4 * np.sqrt(variance) * off + off**2
        inverse_bound = inverse * (0.5 * variance_bound * inverse**2 + 4 * UNIT_ROUNDOFF)
        scale, bias = self.over_channels(inputs["scale"]), self.over_channels(inputs["bias"])
        product = away * self.over_channels(inverse) * scale
        relative = self.over_channels(inverse_bound / inverse) + 4 * UNIT_ROUNDOFF
        shifted = np.abs(scale) * self.over_channels(inverse * off)
        y_bound = relative * np.abs(product) + shifted + 2 * UNIT_ROUNDOFF * (np.abs(product) + np.abs(bias))
        new_mean, mean_step = self._moved(inputs["running_mean"], mean)
        new_variance, variance_step = self._moved(inputs["running_variance"], variance * count / (count - 1))
        return {
            "y": ReferenceValue(product + bias, y_bound),
            "mean": ReferenceValue(mean, mean_bound),
            "inverse_deviation": ReferenceValue(inverse, inverse_bound),
            "running_mean": ReferenceValue(new_mean, self.factor * mean_bound + mean_step),
            "running_variance": ReferenceValue(new_variance, 2 * self.factor * variance_bound + variance_step),
        }

    def _moved(self, running: np.ndarray, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a running statistic after the batch's, and the error of this step's own roundings."""
        held = running.astype(np.float64)
        return held + self.factor * (batch - held), 6 * UNIT_ROUNDOFF * (np.abs(held) + np.abs(batch)) + SMALLEST_NORMAL


@dataclass(frozen=True)
class BatchNormInference(_BatchNorm):
    """y from the running statistics; y may take x's place."""

    in_place: ClassVar = {"y": "x"}
    macs_each, operations_each = 1, 1
    name = "batch normalisation inference"

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        values = {**tensors, **self.channels.elementwise_arguments, "epsilon": self.epsilon}
        return (elementwise("batch_norm", self.kernel("inference"), values),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        scale, bias, mean, variance = (
            self.over_channels(inputs[name]) for name in ("scale", "bias", "running_mean", "running_variance")
        )
        product = (inputs["x"] - mean) * scale / np.sqrt(variance + self.epsilon)
        bound = 8 * UNIT_ROUNDOFF * (np.abs(product) + np.abs(bias)) + SMALLEST_NORMAL
        return {"y": ReferenceValue(product + bias, bound)}


@dataclass(frozen=True)
class BatchNormBackward(_BatchNorm):
    """dx, dscale, dbias from x, dy and the statistics that training kept; dx may take dy's place."""

    divisible = DivisionAxis.CHANNELS
    in_place: ClassVar = {"dx": "dy"}
    macs_each, operations_each = 2, 5  # the sum of dy times the normalised x, and the part of the gradient from it
    name = "batch normalisation backward"

    @property
    def takes(self) -> Mapping[str, Operand]:
        statistics = {"mean": self.of_channel, "inverse_deviation": self.of_channel_positive}
        return {"x": self.x, "dy": self.x, "scale": self.of_channel, **statistics}

    @property
    def gives(self) -> Mapping[str, Operand]:
        return {"dx": self.x, "dscale": self.of_channel, "dbias": self.of_channel}

    @property
    def workspace(self) -> Mapping[str, Operand]:
        parts = self.channels.per_part
        return {"bias_sums": parts, "scale_sums": parts} if self.channels.parts > 1 else {}

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        channels, memory = self.channels, tensors["x"].memory
        merged = {"dbias": tensors["dbias"], "dscale": tensors["dscale"]}
        sums = {
            "bias_sums": tensors.get("bias_sums", merged["dbias"]),
            "scale_sums": tensors.get("scale_sums", merged["dscale"]),
        }
        read = {name: tensors[name] for name in ("x", "dy", "mean", "inverse_deviation")}
        values = {**read, **sums, **channels.arguments, "columns": channels.merging[2:]}
        launches = [launch("batch_norm", f"gradient_sums_{channels.form}", memory, channels.groups, values)]
        if self.workspace:
            values = {**sums, **merged, "m": channels.merging}
            launches.append(launch("batch_norm", "merge_gradients", memory, channels.merging_groups, values))
        values = {**read, **merged, "scale": tensors["scale"], "dx": tensors["dx"], **channels.elementwise_arguments}
        kernel = self.kernel("input_gradient")
        return (*launches, elementwise("batch_norm", kernel, {**values, "share": 1.0 / channels.count}))

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        dy, count = inputs["dy"].astype(np.float64), self.channels.count
        scale, mean, inverse = (self.over_channels(inputs[name]) for name in ("scale", "mean", "inverse_deviation"))
        normal = (inputs["x"] - mean) * inverse
        dbias, dscale = dy.sum(axis=self.axes), (dy * normal).sum(axis=self.axes)
        sums = (self.channels.longest + 4) * UNIT_ROUNDOFF
        bias_bound = sums * np.abs(dy).sum(axis=self.axes) + SMALLEST_NORMAL
        scale_bound = sums * np.abs(dy * normal).sum(axis=self.axes) + SMALLEST_NORMAL
        through_bias, through_scale = self.over_channels(dbias / count), self.over_channels(dscale / count)
        dx = scale * inverse * (dy - through_bias - normal * through_scale)
        terms = np.abs(dy) + np.abs(through_bias) + np.abs(normal * through_scale)
        off = self.over_channels(bias_bound / count) + np.abs(normal) * self.over_channels(scale_bound / count)
        dx_bound = np.abs(scale * inverse) * (10 * UNIT_ROUNDOFF * terms + off) + SMALLEST_NORMAL
        return {
            "dx": ReferenceValue(dx, dx_bound),
            "dscale": ReferenceValue(dscale, scale_bound),
            "dbias": ReferenceValue(dbias, bias_bound),
        }
