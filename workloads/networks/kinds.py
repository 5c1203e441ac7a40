"""The kinds of layers by the names that network files use.

To add one: its class in the file of its family, its row here, a case in tests/unit/workloads/test_network_kinds.py.
"""

from collections.abc import Mapping

from workloads.networks.block_circulant import BlockCirculant, BlockCirculantConvolution
from workloads.networks.convolution import Convolution
from workloads.networks.fully_connected import FullyConnected
from workloads.networks.joins import Add, Bypass, Concat, Flatten, Multiply
from workloads.networks.kind import LayerKind
from workloads.networks.normalization import BatchNorm, Lrn, Softmax
from workloads.networks.permuted_diagonal import PermutedDiagonal
from workloads.networks.pointwise import Dropout, Relu, Sigmoid, Tanh
from workloads.networks.pooling import AveragePool, MaxPool

KINDS: Mapping[str, type[LayerKind]] = {
    "convolution": Convolution,
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
    "softmax": Softmax,
    "dropout": Dropout,
    "add": Add,
    "multiply": Multiply,
    "concat": Concat,
    "flatten": Flatten,
    "bypass": Bypass,
}
NAMES = {kind: name for name, kind in KINDS.items()}
