"""Local response normalisation across channels (Krizhevsky, Sutskever, Hinton 2012), forward and backward.

y = x s^-beta with s = k + a * (sum of x^2 over `size` channels around), where a is alpha / size, as cuDNN and Caffe
have it, or alpha itself, as the paper and DNNMark's formula have it: `alpha_over_size` says which.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from isa.launch import Launch
from workloads.operators.channels import WAVEFRONT, ChannelPrimitive
from workloads.operators.launching import launch
from workloads.operators.operator import GpuFacts
from workloads.operators.primitive import LaunchTuple, ReferenceValue
from workloads.operators.tensor import Tensor
from workloads.operators.verify import SMALLEST_NORMAL, UNIT_ROUNDOFF
from workloads.shapes import Shape

SIZES = (3, 5, 7, 9)  # windows of the kernels
GROUP = 1024  # work-items of a workgroup: workloads/kernels/lrn.cl
WAVEFRONTS_PER_UNIT = 12  # of a compute unit, that are enough to keep its loads under way
LEAST_CHANNELS = 16  # of a work-item: those around them are loaded twice


@dataclass(frozen=True)
class _Lrn(ChannelPrimitive):
    """LRN of x [N, C, ...]; the defaults are those of DNNMark's benchmark."""

    shape: Shape
    size: int = 5
    alpha: float = 0.001
    beta: float = 0.75
    k: float = 1.0
    alpha_over_size: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size not in SIZES:
            raise self.refuse(f"size is {self.size}; allowed are {', '.join(map(str, SIZES))}")
        for name, value in (("k", self.k), ("alpha", self.alpha)):
            if value < 0 or (name == "k" and value == 0):
                raise self.refuse(f"{name} is {value}; it must be {'larger than' if name == 'k' else 'at least'} 0")

    @property
    def a(self) -> float:
        """The factor of a square in the sum."""
        return self.alpha / self.size if self.alpha_over_size else self.alpha

    @property
    def taps(self) -> int:
        """Channels in windows, each as often as it is in one, over all pixels."""
        half, channels = self.size // 2, self.shape[1]
        in_windows = sum(min(c + half, channels - 1) - max(c - half, 0) + 1 for c in range(channels))
        return self.x.size // channels * in_windows

    def launch_kernel(self, kernel: str, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> Launch:
        """Return a launch with a work-item for each pixel and run of channels, with enough runs to fill the GPU."""
        planes = self.channels
        wanted = -(-gpu.compute_units * WAVEFRONTS_PER_UNIT * WAVEFRONT // planes.count)
        runs = max(1, min(wanted, planes.channels // LEAST_CHANNELS))
        per_item = -(-planes.channels // runs)
        arguments = planes.elementwise_arguments
        values = {
            **tensors,
            "shape": arguments["shape"],
            "by_size": arguments["by_size"],
            "channels_per_item": per_item,
            "with": np.array([self.k, self.a, self.beta], np.float32),
        }
        groups = (-(-planes.count // GROUP), -(-planes.channels // per_item))
        return launch("lrn", f"lrn_{kernel}_{self.size}", tensors["x"].memory, groups, values, GROUP)

    def over_window(self, values: np.ndarray) -> np.ndarray:
        """Add up, for each channel, the values of the channels around it."""
        half, channels = self.size // 2, values.shape[1]
        sums = np.zeros_like(values)
        for distance in range(-half, half + 1):
            low, high = max(0, -distance), min(channels, channels - distance)
            if low < high:
                sums[:, low:high] += values[:, low + distance : high + distance]
        return sums

    def scale(self, x: np.ndarray) -> np.ndarray:
        """Compute s in FP64."""
        return self.k + self.a * self.over_window(np.square(x.astype(np.float64)))

    def roundings(self, scale: np.ndarray) -> np.ndarray:
        """Return the relative error of s^-beta in units of roundoff; s, v_log_f32 and v_exp_f32 each have their own."""
        return np.asarray(8 + abs(self.beta) * (self.size + 4 + 3 * np.abs(np.log(scale))))


@dataclass(frozen=True)
class LrnForward(_Lrn):
    """The forward pass: y from x."""

    operations_each = 4
    name = "LRN forward"

    @property
    def macs(self) -> int:
        return self.taps + self.x.size

    def backward(self) -> "LrnBackward":
        return LrnBackward(self.shape, self.size, self.alpha, self.beta, self.k, self.alpha_over_size)

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return (self.launch_kernel("forward", tensors, gpu),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        scale = self.scale(inputs["x"])
        y = inputs["x"] * scale**-self.beta
        return {"y": ReferenceValue(y, UNIT_ROUNDOFF * self.roundings(scale) * np.abs(y) + SMALLEST_NORMAL)}


@dataclass(frozen=True)
class LrnBackward(_Lrn):
    """dx from x and dy: s is computed again, which is cheaper than to keep it."""

    reads, writes = ("x", "dy"), ("dx",)
    name = "LRN backward"

    @property
    def macs(self) -> int:
        return self.taps + 2 * self.x.size

    @property
    def operations(self) -> int:
        """Operations of the power, a term's three products and inverse, the terms' sums, and the product with x."""
        return 8 * self.x.size + self.taps - self.x.size

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> LaunchTuple:
        return (self.launch_kernel("backward", tensors, gpu),)

    def reference(self, inputs: Mapping[str, np.ndarray], first: int = 0) -> Mapping[str, ReferenceValue]:
        x, dy = (inputs[name].astype(np.float64) for name in ("x", "dy"))
        scale = self.scale(x)
        scaled = dy * scale**-self.beta
        terms, factor = scaled * x / scale, 2.0 * self.a * self.beta * x
        roundings = self.roundings(scale)
        magnitude = self.over_window(np.abs(terms) * (roundings + self.size + 8))
        bound = UNIT_ROUNDOFF * (np.abs(scaled) * (roundings + 2) + np.abs(factor) * magnitude) + SMALLEST_NORMAL
        return {"dx": ReferenceValue(scaled - factor * self.over_window(terms), bound)}
