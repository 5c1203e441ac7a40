"""Direct convolution, for groups of few channels: first layers, depth-wise filters.

There the tiles of an implicit product are mostly empty, or compare every element with the planes' borders for a few
multiply-accumulates. Windows and preparation are the implicit product's, and so is the gradient of the weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from workloads.operators.conv_implicit import (
    ConvolutionLaunch,
    ImplicitBackwardData,
    ImplicitBackwardWeights,
    ImplicitForward,
    ProductByParts,
    ProductKernel,
)
from workloads.operators.conv_passes import ConvolutionPass
from workloads.operators.convolution import Convolution
from workloads.operators.launching import GROUP
from workloads.operators.operator import GpuFacts
from workloads.operators.tensor import Operand
from workloads.operators.tiles import SWATH

MAX_CHANNELS = 4  # of a group, that are summed over; with more, the implicit product is faster
FEW_STEPS = 64  # of a sum, for which the implicit product is slower even where its tiles are full
FILTERS = (1, 4, 8, 16, 32)  # of a work-item: workloads/kernels/conv_direct.cl


def refuses(c: Convolution) -> str:
    """Return why the implicit product is faster for this convolution, so that it is refused; '' where it is not."""
    if c.group_channels > MAX_CHANNELS:
        return f"{c.group_channels} channels a group; allowed are at most {MAX_CHANNELS}"
    if c.group_filters % SWATH == 0 and c.depth > FEW_STEPS:
        return (
            f"{c.group_filters} filters a group, a multiple of {SWATH}, of {c.depth} weights; allowed are {FEW_STEPS}"
        )
    return ""


def backward_data(c: Convolution) -> "DirectBackwardData | ImplicitBackwardData":
    """Return the direct pass where few filters are summed over, as for depth-wise ones, else the implicit product."""
    return DirectBackwardData(c) if c.group_filters <= MAX_CHANNELS else ImplicitBackwardData(c)


class _DirectPass(ProductByParts):
    algorithm = "direct"

    def choose(self, part: ConvolutionLaunch, pixels: int, groups: int, gpu: GpuFacts) -> ProductKernel:
        """Return the kernel with the fewest unused filters; of several, the one with most filters at a time."""
        filters = min(reversed(FILTERS), key=lambda held: -(-part.filters // held) * held)
        grid = (-(-pixels // GROUP), -(-part.filters // filters), groups)
        relu, masked = self.rectified, "mask" in self.takes
        if relu or masked:
            ends = {"relu": int(relu), "masked": int(masked)}
            return ProductKernel("conv_direct_rectified", f"conv_direct_rectified_{filters}", grid, values=ends)
        return ProductKernel("conv_direct", f"conv_direct_{filters}", grid)

    @property
    def workspace(self) -> Mapping[str, Operand]:
        """The implicit product's, with filters past the end, whose weights the last work-items read like any others."""
        workspace = super().workspace
        if "filters" not in workspace:
            return workspace
        return {**workspace, "filters": Operand((workspace["filters"].size + FILTERS[-1],), by_image=False)}

    @property
    def passed_on_bytes(self) -> int:
        return sum(operand.size_bytes for operand in super().workspace.values())


@dataclass(frozen=True)
class DirectForward(_DirectPass, ImplicitForward):
    """A work-item computes a pixel of several filters."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if problem := refuses(self.convolution):
            raise self.refuse(problem)

    def gradients(self) -> tuple[ConvolutionPass, ConvolutionPass]:
        return ImplicitBackwardWeights(self.convolution), backward_data(self.convolution)


@dataclass(frozen=True)
class DirectBackwardData(_DirectPass, ImplicitBackwardData):
    """A work-item computes an element of dx of several channels."""

    @property
    def masks(self) -> bool:
        return True
