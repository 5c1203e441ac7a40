"""Normalization: over neighbouring channels (LRN), over the batch, or over all channels (softmax)."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from gpusim.base.spec import param
from workloads.networks.kind import Anatomy, LayerKind, Pass, PassSpec, Saved
from workloads.networks.tensor import Shape, elements, maps


class Lrn(LayerKind):
    """y = x / (k + α/n · Σ x²)^β, the sum over the n channels around each (DNNMark, equation 5)."""

    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("x", "dy"), ("dx",)),)

    size: int = param(5, "channels of a sum, n", "Krizhevsky 2012, section 3.3", ge=1, le=65536)
    alpha: float = param(1e-4, "α, divided by n as Caffe and cuDNN do", "Krizhevsky 2012, section 3.3", ge=0)
    beta: float = param(0.75, "β", "Krizhevsky 2012, section 3.3", ge=0)
    k: float = param(1.0, "k", "DNNMark, config_example/alexnet.dnnmark", gt=0)

    def operations(self, inputs: Sequence[Shape]) -> int:
        return (2 * self.size + 4) * elements(inputs[0])


class BatchNorm(LayerKind):
    """y = γ · (x − mean) / √(variance + ε) + β; mean and variance of the batch, in inference those that were kept."""

    OPERATIONS: ClassVar = 4
    BACKWARD: ClassVar = (
        PassSpec(Pass.BACKWARD, ("x", "scale", "mean", "inverse_deviation", "dy"), ("dscale", "dbias", "dx")),
    )

    mode: Literal["spatial", "per_activation"] = param(
        "spatial", "a mean for each channel, or for each value of an image", "the usual one"
    )
    epsilon: float = param(1e-5, "ε", "PyTorch's and cuDNN's least", gt=0)
    momentum: float = param(0.1, "share of the batch's statistics in those that are kept", "PyTorch", ge=0, le=1)

    def anatomy(self, inputs: Sequence[Shape]) -> Anatomy:
        """Return the shapes of scale and shift, of running statistics, and of the batch's, which are saved."""
        one = (inputs[0][0],) if self.mode == "spatial" else inputs[0]
        saved = Saved(one, per_image=False)
        return Anatomy(
            {"scale": one, "bias": one},
            {"running_mean": one, "running_variance": one},
            {"mean": saved, "inverse_deviation": saved},
        )

    def forward(self, training: bool) -> PassSpec:
        if not training:
            return PassSpec(Pass.FORWARD, ("x", "scale", "bias", "running_mean", "running_variance"), ("y",))
        running = ("running_mean", "running_variance")
        return PassSpec(Pass.FORWARD, ("x", "scale", "bias", *running), ("y", "mean", "inverse_deviation", *running))


class Softmax(LayerKind):
    """e^x over the sum of e^x of all channels (DNNMark, equation 11), or of all values of the image."""

    BACKWARD: ClassVar = (PassSpec(Pass.BACKWARD_DATA, ("y", "dy"), ("dx",)),)

    over: Literal["channels", "all"] = param(
        "channels", "what each sum is over", "DNNMark; ONNX before opset 13 has all"
    )

    def operations(self, inputs: Sequence[Shape]) -> int:
        channels, rows, columns = maps(inputs[0])
        if self.over == "all":
            channels, rows, columns = channels * rows * columns, 1, 1
        return channels * channels * rows * columns
