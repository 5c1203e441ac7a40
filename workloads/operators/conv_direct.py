"""Direct convolution, for groups of few channels: first layers, depth-wise filters.

There the tiles of an implicit product are mostly empty, or compare every element with the planes' borders for a few
multiply-accumulates. Windows and preparation are the implicit product's, and so is the gradient of the weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workloads.operators.bias import BiasBackward, BiasForward
from workloads.operators.conv_implicit import (
    ImplicitBackwardData,
    ImplicitBackwardWeights,
    ImplicitForward,
    Part,
    ProductKernel,
    part_launches,
)
from workloads.operators.conv_passes import ConvolutionPass
from workloads.operators.convolution import Convolution
from workloads.operators.launching import GROUP
from workloads.operators.operator import GpuFacts
from workloads.operators.tensor import Operand, Tensor

if TYPE_CHECKING:
    from isa.launch import Launch

MAX_CHANNELS = 4  # of a group: with more, the implicit product was faster on every layer that was tried
FILTERS = (1, 4, 8, 16, 32)  # of a work-item: workloads/kernels/conv_direct.cl


def refuses(c: Convolution) -> str:
    """Why it is not meant for these windows; '': it is."""
    if c.group_channels > MAX_CHANNELS:
        return f"{c.group_channels} channels a group; allowed are at most {MAX_CHANNELS}"
    return ""


def direct_kernel(part: Part, pixels: int, groups: int, gpu: GpuFacts) -> ProductKernel:
    """With the fewest filters that nothing has; of these the kernel that has most at a time."""
    filters = min(reversed(FILTERS), key=lambda held: -(-part.filters // held) * held)
    grid = (-(-pixels // GROUP), -(-part.filters // filters), groups)
    return ProductKernel("conv_direct", f"conv_direct_{filters}", grid)


def _with_rest(workspace: Mapping[str, Operand]) -> Mapping[str, Operand]:
    """The last work-items read the weights of as many filters as the others, past the end."""
    if "filters" not in workspace:
        return workspace
    return {**workspace, "filters": Operand((workspace["filters"].size + FILTERS[-1],), by_image=False)}


@dataclass(frozen=True)
class DirectForward(ImplicitForward):
    """A work-item computes a pixel of several filters."""

    algorithm = "direct"

    def __post_init__(self) -> None:
        super().__post_init__()
        if problem := refuses(self.convolution):
            raise self.refuse(problem)

    @property
    def workspace(self) -> Mapping[str, Operand]:
        """The filters by steps of the sum, and where the taps lie."""
        return _with_rest(super().workspace)

    @property
    def passed_on_bytes(self) -> int:
        """All of it but what is past the end."""
        return sum(operand.size_bytes for operand in super().workspace.values())

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> "tuple[Launch, ...]":
        """Two."""
        return part_launches(self.convolution, self.parts, tensors["x"], tensors["y"], tensors, gpu, direct_kernel)

    def backward_passes(self) -> "tuple[ConvolutionPass | BiasBackward, ...]":
        """By the same algorithm; the weights' by an implicit product."""
        bias = (BiasForward(self.convolution.y.shape).backward(),) if self.bias else ()
        return ImplicitBackwardWeights(self.convolution), *bias, DirectBackwardData(self.convolution)


@dataclass(frozen=True)
class DirectBackwardData(ImplicitBackwardData):
    """A work-item computes an element of dx of several channels."""

    algorithm = "direct"

    def __post_init__(self) -> None:
        super().__post_init__()
        if problem := refuses(self.convolution):
            raise self.refuse(problem)

    @property
    def workspace(self) -> Mapping[str, Operand]:
        """The filters by steps of the sums, those that meet something, and where the taps lie."""
        return _with_rest(super().workspace)

    @property
    def passed_on_bytes(self) -> int:
        """All of it but what is past the end."""
        return sum(operand.size_bytes for operand in super().workspace.values())

    def launches(self, tensors: Mapping[str, Tensor], gpu: GpuFacts) -> "tuple[Launch, ...]":
        """Two for each place between windows."""
        return part_launches(self.convolution, self.parts, tensors["dy"], tensors["dx"], tensors, gpu, direct_kernel)
