"""What each ONNX operator becomes: kinds of layers with their values (ONNX operator schemas, ai.onnx).

To add an operator: a function beside those that are like it, and its row in the table below them.
"""

from collections.abc import Callable, Mapping

from workloads.networks.onnx_arithmetic import ARITHMETIC
from workloads.networks.onnx_layers import LAYERS
from workloads.networks.onnx_moves import MOVES
from workloads.networks.onnx_node import Node, Read

READERS: Mapping[str, Callable[[Node], Read]] = {**LAYERS, **ARITHMETIC, **MOVES}
