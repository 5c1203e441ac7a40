"""The kinds of layers by the names that network files use.

To add one: its class in the file of its family, its place here, a case in tests/unit/workloads/test_network_kinds.py.
"""

from collections.abc import Mapping

from workloads.networks.block_circulant import BlockCirculantConvolution, BlockCirculantLayer
from workloads.networks.convolution import ConvolutionLayer, TransposedConvolution
from workloads.networks.fully_connected import FullyConnectedLayer
from workloads.networks.joins import (
    AddLayer,
    AppendLayer,
    BypassLayer,
    Combine,
    ConcatLayer,
    Flatten,
    Multiply,
    StoredParameterLayer,
)
from workloads.networks.kind import LayerKind
from workloads.networks.moves import Pad, PermuteLayer, Reduce, RepeatLayer, Reshape, SliceLayer
from workloads.networks.normalization import BatchNorm, GroupNorm, LayerNorm, Lrn, RmsNorm, Softmax
from workloads.networks.permuted_diagonal import PermutedDiagonalLayer
from workloads.networks.pointwise import (
    Affine,
    CausalMaskLayer,
    Clip,
    Dropout,
    Erf,
    Exponential,
    Gelu,
    HardSigmoid,
    HardSwish,
    LeakyRelu,
    Reciprocal,
    Relu,
    RotaryLayer,
    Sigmoid,
    Silu,
    Square,
    SquareRoot,
    Tanh,
)
from workloads.networks.pooling import AveragePool, MaxPool
from workloads.networks.products import Attention, Embedding, MatMul

KINDS: Mapping[str, type[LayerKind]] = {
    kind.NAME: kind
    for kind in (
        ConvolutionLayer,
        TransposedConvolution,
        FullyConnectedLayer,
        BlockCirculantLayer,
        BlockCirculantConvolution,
        PermutedDiagonalLayer,
        MaxPool,
        AveragePool,
        Lrn,
        BatchNorm,
        Relu,
        Sigmoid,
        Tanh,
        LayerNorm,
        RmsNorm,
        GroupNorm,
        Clip,
        LeakyRelu,
        HardSigmoid,
        HardSwish,
        Silu,
        Gelu,
        Affine,
        Square,
        SquareRoot,
        Reciprocal,
        Exponential,
        Erf,
        Softmax,
        CausalMaskLayer,
        RotaryLayer,
        Dropout,
        AddLayer,
        Multiply,
        Combine,
        MatMul,
        Attention,
        Embedding,
        StoredParameterLayer,
        ConcatLayer,
        AppendLayer,
        PermuteLayer,
        Reshape,
        SliceLayer,
        Pad,
        RepeatLayer,
        Reduce,
        Flatten,
        BypassLayer,
    )
}
