"""The algorithms of convolution by the names that configurations use: a row each.

A new one is a file with a class for each pass that it has, and its row; the tests of primitives take it from here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from gpusim.base.errors import unknown_name
from workloads.operators.conv_im2col import Im2colBackwardData, Im2colBackwardWeights, Im2colForward
from workloads.operators.conv_im2col import refuses as im2col_refuses
from workloads.operators.conv_im2col_chunked import (
    Im2colChunkedBackwardData,
    Im2colChunkedBackwardWeights,
    Im2colChunkedForward,
)
from workloads.operators.conv_im2col_chunked import refuses as chunked_refuses
from workloads.operators.conv_implicit import ImplicitBackwardData, ImplicitBackwardWeights, ImplicitForward
from workloads.operators.conv_passes import (
    ConvolutionBackwardData,
    ConvolutionBackwardWeights,
    ConvolutionForward,
)
from workloads.operators.conv_sparse import EllpackDibForward, EllpackDibSoftwareForward
from workloads.operators.conv_sparse import refuses as sparse_refuses
from workloads.operators.conv_winograd import WinogradBackwardData, WinogradBackwardWeights, WinogradForward
from workloads.operators.conv_winograd import refuses as winograd_refuses
from workloads.operators.convolution import Convolution
from workloads.operators.gemm_kernels import Activations
from workloads.operators.winograd import SIZES


class MakesForward(Protocol):
    """How a forward pass is made."""

    def __call__(self, convolution: Convolution, bias: bool = False) -> ConvolutionForward:
        """With a bias or without."""


@dataclass(frozen=True)
class ConvolutionAlgorithm:
    """How a convolution's passes are computed.

    refuses: why not one of these windows; '': it can be. activations: how the forward pass takes x. Passes that an
    algorithm has none of its own for are those of the default, and have its name.
    """

    name: str
    forward: MakesForward
    backward_data: Callable[[Convolution], ConvolutionBackwardData]
    backward_weights: Callable[[Convolution], ConvolutionBackwardWeights]
    refuses: Callable[[Convolution], str] = lambda convolution: ""
    activations: Activations = Activations.DENSE

    @property
    def sparse(self) -> bool:
        """Whether zeros of x are skipped; x goes through FP16 then."""
        return self.activations is not Activations.DENSE

    @property
    def uses_engine(self) -> bool:
        """Whether the compaction engine serves its loads of x."""
        return self.activations is Activations.COMPACTED


def _winograd(size: int) -> ConvolutionAlgorithm:
    return ConvolutionAlgorithm(
        f"winograd_{size}x{size}",
        partial(WinogradForward, size=size),
        partial(WinogradBackwardData, size=size),
        partial(WinogradBackwardWeights, size=size),
        partial(winograd_refuses, size=size),
    )


_IMPLICIT_BACKWARD = (ImplicitBackwardData, ImplicitBackwardWeights)
_TABLE = (
    ConvolutionAlgorithm("implicit", ImplicitForward, ImplicitBackwardData, ImplicitBackwardWeights),
    ConvolutionAlgorithm("im2col", Im2colForward, Im2colBackwardData, Im2colBackwardWeights, im2col_refuses),
    ConvolutionAlgorithm(
        "im2col_chunked",
        Im2colChunkedForward,
        Im2colChunkedBackwardData,
        Im2colChunkedBackwardWeights,
        chunked_refuses,
    ),
    *(_winograd(size) for size in SIZES),
    ConvolutionAlgorithm("ellpack_dib", EllpackDibForward, *_IMPLICIT_BACKWARD, sparse_refuses, Activations.COMPACTED),
    ConvolutionAlgorithm(
        "ellpack_dib_software", EllpackDibSoftwareForward, *_IMPLICIT_BACKWARD, sparse_refuses, Activations.CONVERTED
    ),
)
ALGORITHMS: Mapping[str, ConvolutionAlgorithm] = {row.name: row for row in _TABLE}
DENSE_ALGORITHMS = tuple(row.name for row in _TABLE if not row.sparse)
SPARSE_ALGORITHMS = tuple(row.name for row in _TABLE if row.sparse)


def algorithm(name: str, convolution: Convolution) -> ConvolutionAlgorithm:
    """The row of that name; raises OperatorError where there is none, or it cannot compute this convolution."""
    if name not in ALGORITHMS:
        raise convolution.refuse(unknown_name("algorithm", name, ALGORITHMS))
    row = ALGORITHMS[name]
    if reason := row.refuses(convolution):
        raise convolution.refuse(f"algorithm '{name}': {reason}")
    return row
