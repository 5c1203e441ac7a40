"""The kinds of layers by the names that network files use.

To add one: its class in the file of its family, its row here, a case in tests/unit/workloads/test_network_kinds.py.
"""

from collections.abc import Mapping

from workloads.networks.block_circulant import BlockCirculant, BlockCirculantConvolution
from workloads.networks.convolution import Convolution, TransposedConvolution
from workloads.networks.fully_connected import FullyConnected
from workloads.networks.joins import Add, Append, Bypass, Combine, Concat, Flatten, Multiply, Stored
from workloads.networks.kind import LayerKind
from workloads.networks.moves import Pad, Permute, Reduce, Repeat, Reshape, Slice
from workloads.networks.normalization import BatchNorm, GroupNorm, LayerNorm, Lrn, RmsNorm, Softmax
from workloads.networks.permuted_diagonal import PermutedDiagonal
from workloads.networks.pointwise import (
    Affine,
    CausalMask,
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
    Rotary,
    Sigmoid,
    Silu,
    Square,
    SquareRoot,
    Tanh,
)
from workloads.networks.pooling import AveragePool, MaxPool
from workloads.networks.products import Attention, Embedding, MatMul

KINDS: Mapping[str, type[LayerKind]] = {
    "convolution": Convolution,
    "transposed_convolution": TransposedConvolution,
    "fully_connected": FullyConnected,
    "block_circulant": BlockCirculant,
    "block_circulant_convolution": BlockCirculantConvolution,
    "permuted_diagonal": PermutedDiagonal,
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
    "causal_mask": CausalMask,
    "rotary": Rotary,
    "dropout": Dropout,
    "add": Add,
    "multiply": Multiply,
    "combine": Combine,
    "matmul": MatMul,
    "attention": Attention,
    "embedding": Embedding,
    "stored": Stored,
    "concat": Concat,
    "append": Append,
    "permute": Permute,
    "reshape": Reshape,
    "slice": Slice,
    "pad": Pad,
    "repeat": Repeat,
    "reduce": Reduce,
    "flatten": Flatten,
    "bypass": Bypass,
}
NAMES = {kind: name for name, kind in KINDS.items()}
