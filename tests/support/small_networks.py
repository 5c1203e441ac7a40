"""Small networks that between them have every kind of layer, and every way in which gradients meet."""

from typing import Any

from gpusim.config.network import load_network
from workloads.networks.graph import Network

INPUT = [2, 6, 5]


def layer(name: str, kind: str, inputs: list[str] | None = None, **values: Any) -> dict[str, Any]:
    return {"name": name, "kind": kind, **({"inputs": inputs} if inputs else {}), **values}


ENDS = [layer("fc", "fully_connected", outputs=4), layer("softmax", "softmax")]
# without convolutions and matrices: the first layer makes as many channels as there are classes
POINTWISE = [
    layer("bn1", "batch_norm"),
    layer("relu1", "relu"),
    layer("lrn1", "lrn", size=3, alpha=0.3),
    layer("pool1", "max_pool", kernel=3, stride=2),
    layer("tanh", "tanh"),
    layer("sigmoid", "sigmoid", ["pool1"]),
    layer("sum", "add", ["tanh", "sigmoid", "pool1"]),
    layer("all", "concat", ["sum", "tanh", "sum"]),
    layer("copy", "bypass"),
    layer("bn2", "batch_norm", mode="per_activation"),
    layer("drop", "dropout", probability=0.25, seed=7),
    layer("pool", "average_pool", whole=True),
    layer("flatten", "flatten"),
    layer("softmax", "softmax"),
]
SHORT = [
    layer("bn1", "batch_norm"),
    layer("relu1", "relu"),
    layer("bn2", "batch_norm"),
    layer("relu2", "relu"),
    layer("pool", "max_pool", whole=True),
    layer("softmax", "softmax"),
]


def network(layers: list[dict[str, Any]]) -> Network:
    return load_network({"input": INPUT, "layers": layers})
