"""What each ONNX operator becomes: kinds of layers with their values (ONNX operator schemas, ai.onnx).

An operator that is always one kind is read by that kind's class (`LayerKind.from_onnx`). To add another: a function
beside those that are like it, and its row in the table below them.
"""

from collections.abc import Callable, Mapping

from workloads.networks.kinds import KINDS
from workloads.networks.onnx_arithmetic import ARITHMETIC
from workloads.networks.onnx_moves import MOVES
from workloads.networks.onnx_node import Node, Read
from workloads.networks.onnx_products import PRODUCTS

# a kind that is derived from another one is not what that one's operators become
READERS: Mapping[str, Callable[[Node], Read]] = {
    **{operator: kind.from_onnx for kind in KINDS.values() for operator in vars(kind).get("ONNX", ())},
    **PRODUCTS,
    **ARITHMETIC,
    **MOVES,
}
