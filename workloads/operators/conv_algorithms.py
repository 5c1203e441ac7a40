"""The algorithms of convolution by the names that configurations use: a row each.

A new one is a file with a class for each pass that it has, and its row; the tests of primitives take it from here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from gpusim.base.errors import unknown_name
from workloads.operators import conv_direct, conv_im2col, conv_im2col_chunked, conv_padding_free, conv_winograd
from workloads.operators.conv_buffer import BUFFER_BYTES
from workloads.operators.conv_implicit import ImplicitBackwardData, ImplicitBackwardWeights, ImplicitForward
from workloads.operators.conv_passes import ConvolutionBackwardData, ConvolutionBackwardWeights, ConvolutionForward
from workloads.operators.conv_sparse import SPARSE_FORWARD
from workloads.operators.conv_sparse_maps import IMPLICIT_SPARSE_FORWARD
from workloads.operators.conv_sparse_parts import PADDING_FREE_SPARSE_FORWARD
from workloads.operators.conv_sparse_weight_parts import PADDING_FREE_SPARSE_WEIGHTS
from workloads.operators.conv_sparse_weights import WINDOW_SPARSE_WEIGHTS, SparseBackwardWeights
from workloads.operators.convolution import Convolution
from workloads.operators.gemm_kernels import GEMM_KERNELS, ActivationFormat
from workloads.operators.tiles import Multiplier
from workloads.operators.winograd import SIZES


class ForwardFactory(Protocol):
    """Makes the operator of a forward pass."""

    def __call__(self, convolution: Convolution, bias: bool = False, relu: bool = False) -> ConvolutionForward:
        """Return the forward pass, with a bias and a ReLU or without."""


@dataclass(frozen=True)
class ConvolutionAlgorithm:
    """The classes that compute a convolution's passes by one algorithm.

    A pass that the algorithm lacks uses another one, as its name shows.
    """

    name: str
    """Name."""
    forward: ForwardFactory
    """Makes the forward pass."""
    backward_data: Callable[[Convolution], ConvolutionBackwardData]
    """Makes the gradient of the data."""
    backward_weights: Callable[[Convolution], ConvolutionBackwardWeights]
    """Makes the gradient of the weights."""
    refuses: Callable[[Convolution], str] = lambda convolution: ""
    """Returns the reason why a convolution is not supported; empty: supported."""
    activations: ActivationFormat = ActivationFormat.DENSE
    """Form in which the forward pass reads x."""
    resized: "Callable[[int], ConvolutionAlgorithm] | None" = None
    """Returns the algorithm with another buffer size in bytes; None: it does not work on chunks of images."""
    multiplied: "Callable[[Multiplier], ConvolutionAlgorithm] | None" = None
    """Returns the algorithm with another multiplier's products; None: its own cannot be replaced."""
    sparse_weights: type[SparseBackwardWeights] | None = None
    """Class of weight gradients that skip zeros of x, with its own `refuses`; None: no such class."""

    @property
    def sparse(self) -> bool:
        """Whether zeros of x are skipped; x is rounded to FP16 then."""
        return self.activations is not ActivationFormat.DENSE

    @property
    def rectifies(self) -> bool:
        """Whether a ReLU may be the last step of the forward pass's kernels."""
        return not self.sparse

    @property
    def uses_engine(self) -> bool:
        """Whether the compaction engine serves its loads of x."""
        return self.activations is ActivationFormat.COMPACTED

    def by(self, multiplier: Multiplier | None) -> "ConvolutionAlgorithm":
        """Return the algorithm with another's products, or itself where there are none such."""
        return self.multiplied(multiplier) if multiplier is not None and self.multiplied else self

    def within(self, buffer_bytes: int) -> "ConvolutionAlgorithm":
        """Return the algorithm with a buffer of that size, or itself where it needs none."""
        return self.resized(buffer_bytes) if self.resized else self


def _chunked(buffer_bytes: int = BUFFER_BYTES, by: Multiplier | None = None) -> ConvolutionAlgorithm:
    return ConvolutionAlgorithm(
        "im2col_chunked",
        partial(conv_im2col_chunked.Im2colChunkedForward, buffer_bytes=buffer_bytes, by=by),
        partial(conv_im2col_chunked.Im2colChunkedBackwardData, buffer_bytes=buffer_bytes, by=by),
        partial(conv_im2col_chunked.Im2colChunkedBackwardWeights, buffer_bytes=buffer_bytes, by=by),
        conv_im2col_chunked.refuses,
        resized=partial(_chunked, by=by),
        multiplied=partial(_chunked, buffer_bytes),
    )


def _winograd(size: int, buffer_bytes: int = BUFFER_BYTES) -> ConvolutionAlgorithm:
    return ConvolutionAlgorithm(
        f"winograd_{size}x{size}",
        partial(conv_winograd.WinogradForward, size=size, buffer_bytes=buffer_bytes),
        partial(conv_winograd.WinogradBackwardData, size=size, buffer_bytes=buffer_bytes),
        partial(conv_winograd.WinogradBackwardWeights, size=size, buffer_bytes=buffer_bytes),
        partial(conv_winograd.refuses, size=size),
        resized=partial(_winograd, size),
    )


_IMPLICIT_BACKWARD = (ImplicitBackwardData, ImplicitBackwardWeights)
_IM2COL = (conv_im2col.Im2colForward, conv_im2col.Im2colBackwardData, conv_im2col.Im2colBackwardWeights)
_PADDING_FREE = (
    conv_padding_free.PaddingFreeForward,
    conv_padding_free.PaddingFreeBackwardData,
    conv_padding_free.PaddingFreeBackwardWeights,
)
# the gradients of the weights, and most of those of the data, are the implicit product's and have its name
_DIRECT = (conv_direct.DirectForward, conv_direct.backward_data, ImplicitBackwardWeights)
SPARSE_WEIGHTS: tuple[type[SparseBackwardWeights], ...] = (*WINDOW_SPARSE_WEIGHTS, *PADDING_FREE_SPARSE_WEIGHTS)
_TABLE = (
    ConvolutionAlgorithm("implicit", ImplicitForward, *_IMPLICIT_BACKWARD),
    ConvolutionAlgorithm("im2col", *_IM2COL, conv_im2col.refuses),
    _chunked(),
    ConvolutionAlgorithm("direct", *_DIRECT, conv_direct.refuses),
    *(_winograd(size) for size in SIZES),
    ConvolutionAlgorithm("padding_free", *_PADDING_FREE, conv_padding_free.refuses),
    *(
        ConvolutionAlgorithm(
            made.algorithm,
            made,
            *_IMPLICIT_BACKWARD,
            made.refuses,
            GEMM_KERNELS[made.kernel].activations,
            sparse_weights=next((one for one in SPARSE_WEIGHTS if one.algorithm == made.algorithm), None),
        )
        for made in (*SPARSE_FORWARD, *IMPLICIT_SPARSE_FORWARD, *PADDING_FREE_SPARSE_FORWARD)
    ),
)
DEFAULT_ALGORITHM = "implicit"  # it computes every convolution
ALGORITHMS: Mapping[str, ConvolutionAlgorithm] = {row.name: row for row in _TABLE}
DENSE_ALGORITHMS = tuple(row.name for row in _TABLE if not row.sparse)
SPARSE_ALGORITHMS = tuple(row.name for row in _TABLE if row.sparse)


def algorithm(name: str, convolution: Convolution) -> ConvolutionAlgorithm:
    """Return the row of that name.

    Args:
        name: Name of the algorithm.
        convolution: The convolution.

    Raises:
        OperatorError: There is none, or it cannot compute this convolution.
    """
    if name not in ALGORITHMS:
        raise convolution.refuse(unknown_name("algorithm", name, ALGORITHMS))
    row = ALGORITHMS[name]
    if reason := row.refuses(convolution):
        raise convolution.refuse(f"algorithm '{name}': {reason}")
    return row
