"""The algorithms of convolution by the names that configurations use: a row each.

A new one is a file with a class for each pass that it has, and its row; the tests of primitives take it from here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from gpusim.base.errors import unknown_name
from workloads.operators.conv_buffer import BUFFER_BYTES
from workloads.operators.conv_direct import DirectForward
from workloads.operators.conv_direct import backward_data as direct_backward_data
from workloads.operators.conv_direct import refuses as direct_refuses
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
from workloads.operators.conv_sparse import (
    EllpackDibForward,
    EllpackDibRegistersForward,
    EllpackDibSoftwareForward,
    refuses_in_registers,
)
from workloads.operators.conv_sparse import refuses as sparse_refuses
from workloads.operators.conv_winograd import WinogradBackwardData, WinogradBackwardWeights, WinogradForward
from workloads.operators.conv_winograd import refuses as winograd_refuses
from workloads.operators.convolution import Convolution
from workloads.operators.gemm_kernels import Activations
from workloads.operators.winograd import SIZES


class MakesForward(Protocol):
    """Makes the operator of a forward pass."""

    def __call__(self, convolution: Convolution, bias: bool = False) -> ConvolutionForward:
        """Return the forward pass, with a bias or without."""


@dataclass(frozen=True)
class ConvolutionAlgorithm:
    """The classes that compute a convolution's passes by one algorithm.

    A pass that an algorithm does not have is computed by another one, which its name tells. refuses: returns why the
    algorithm cannot compute a convolution, '' where it can; activations: how the forward pass takes x; resized: returns
    the row for a buffer of that many bytes, where images are taken by chunks.
    """

    name: str
    forward: MakesForward
    backward_data: Callable[[Convolution], ConvolutionBackwardData]
    backward_weights: Callable[[Convolution], ConvolutionBackwardWeights]
    refuses: Callable[[Convolution], str] = lambda convolution: ""
    activations: Activations = Activations.DENSE
    resized: "Callable[[int], ConvolutionAlgorithm] | None" = None

    @property
    def sparse(self) -> bool:
        """Whether zeros of x are skipped; x is rounded to FP16 then."""
        return self.activations is not Activations.DENSE

    @property
    def uses_engine(self) -> bool:
        """Whether the compaction engine serves its loads of x."""
        return self.activations is Activations.COMPACTED

    def within(self, buffer_bytes: int) -> "ConvolutionAlgorithm":
        """Return the algorithm with a buffer of that size, or itself where it needs none."""
        return self.resized(buffer_bytes) if self.resized else self


def _chunked(buffer_bytes: int = BUFFER_BYTES) -> ConvolutionAlgorithm:
    return ConvolutionAlgorithm(
        "im2col_chunked",
        partial(Im2colChunkedForward, buffer_bytes=buffer_bytes),
        partial(Im2colChunkedBackwardData, buffer_bytes=buffer_bytes),
        partial(Im2colChunkedBackwardWeights, buffer_bytes=buffer_bytes),
        chunked_refuses,
        resized=_chunked,
    )


def _winograd(size: int, buffer_bytes: int = BUFFER_BYTES) -> ConvolutionAlgorithm:
    return ConvolutionAlgorithm(
        f"winograd_{size}x{size}",
        partial(WinogradForward, size=size, buffer_bytes=buffer_bytes),
        partial(WinogradBackwardData, size=size, buffer_bytes=buffer_bytes),
        partial(WinogradBackwardWeights, size=size, buffer_bytes=buffer_bytes),
        partial(winograd_refuses, size=size),
        resized=partial(_winograd, size),
    )


_IMPLICIT_BACKWARD = (ImplicitBackwardData, ImplicitBackwardWeights)
_TABLE = (
    ConvolutionAlgorithm("implicit", ImplicitForward, ImplicitBackwardData, ImplicitBackwardWeights),
    ConvolutionAlgorithm("im2col", Im2colForward, Im2colBackwardData, Im2colBackwardWeights, im2col_refuses),
    _chunked(),
    # the gradients of the weights, and most of those of the data, are the implicit product's and have its name
    ConvolutionAlgorithm("direct", DirectForward, direct_backward_data, ImplicitBackwardWeights, direct_refuses),
    *(_winograd(size) for size in SIZES),
    ConvolutionAlgorithm("ellpack_dib", EllpackDibForward, *_IMPLICIT_BACKWARD, sparse_refuses, Activations.COMPACTED),
    ConvolutionAlgorithm(
        "ellpack_dib_registers",
        EllpackDibRegistersForward,
        *_IMPLICIT_BACKWARD,
        refuses_in_registers,
        Activations.COMPACTED,
    ),
    ConvolutionAlgorithm(
        "ellpack_dib_software", EllpackDibSoftwareForward, *_IMPLICIT_BACKWARD, sparse_refuses, Activations.CONVERTED
    ),
)
ALGORITHMS: Mapping[str, ConvolutionAlgorithm] = {row.name: row for row in _TABLE}
DENSE_ALGORITHMS = tuple(row.name for row in _TABLE if not row.sparse)
SPARSE_ALGORITHMS = tuple(row.name for row in _TABLE if row.sparse)


def algorithm(name: str, convolution: Convolution) -> ConvolutionAlgorithm:
    """Return the row of that name; raise OperatorError where there is none, or it cannot compute this convolution."""
    if name not in ALGORITHMS:
        raise convolution.refuse(unknown_name("algorithm", name, ALGORITHMS))
    row = ALGORITHMS[name]
    if reason := row.refuses(convolution):
        raise convolution.refuse(f"algorithm '{name}': {reason}")
    return row
