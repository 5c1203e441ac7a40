"""The kinds of layers by the names that network files use.

To add one: its class in the file of its family, its row here, a case in tests/unit/workloads/test_network_kinds.py.
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
    "convolution": ConvolutionLayer,
    "transposed_convolution": TransposedConvolution,
    "fully_connected": FullyConnectedLayer,
    "block_circulant": BlockCirculantLayer,
    "block_circulant_convolution": BlockCirculantConvolution,
    "permuted_diagonal": PermutedDiagonalLayer,
    "max_pool": MaxPool,
    "average_pool": AveragePool,
    "lrn": Lrn,
    "batch_norm": BatchNorm,
    "relu": Relu,
    "sigmoid": Sigmoid,
    "tanh": Tanh,
    "layer_norm": LayerNorm,
    "rms_norm": RmsNorm,
    "group_norm": GroupNorm,
    "clip": Clip,
    "leaky_relu": LeakyRelu,
    "hard_sigmoid": HardSigmoid,
    "hard_swish": HardSwish,
    "silu": Silu,
    "gelu": Gelu,
    "affine": Affine,
    "square": Square,
    "square_root": SquareRoot,
    "reciprocal": Reciprocal,
    "exponential": Exponential,
    "erf": Erf,
    "softmax": Softmax,
    "causal_mask": CausalMaskLayer,
    "rotary": RotaryLayer,
    "dropout": Dropout,
    "add": AddLayer,
    "multiply": Multiply,
    "combine": Combine,
    "matmul": MatMul,
    "attention": Attention,
    "embedding": Embedding,
    "stored": StoredParameterLayer,
    "concat": ConcatLayer,
    "append": AppendLayer,
    "permute": PermuteLayer,
    "reshape": Reshape,
    "slice": SliceLayer,
    "pad": Pad,
    "repeat": RepeatLayer,
    "reduce": Reduce,
    "flatten": Flatten,
    "bypass": BypassLayer,
}
NAMES = {kind: name for name, kind in KINDS.items()}
