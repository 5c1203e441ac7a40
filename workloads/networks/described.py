"""A network as a file describes it: names, kinds and values, none of them judged yet."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.networks.tensor import Shape

if TYPE_CHECKING:
    import numpy as np

MAX_LAYERS = 5_000  # ResNet-1202 has about 4 000
MAX_INPUT = 1 << 16  # channels, rows or columns of an input
MOST_INPUT_AXES = 4  # of an image
MAX_BATCH = 1 << 16


@dataclass(frozen=True)
class LayerDescription:
    """A layer before its kind and values are checked.

    inputs: names of layers and of the network's inputs; expects: shapes that its parameters must come to have, since
    the file holds their values.
    """

    name: str
    kind: str
    inputs: tuple[str, ...]
    values: Mapping[str, Any]
    expects: Mapping[str, Shape] = field(default_factory=dict)


@dataclass(frozen=True)
class NetworkDescription:
    """A network before it is checked.

    source: its file, for errors; inputs: shapes of one image, by name; batch: the batch that the file gives, None if it
    gives none; input_gradients: whether training computes the gradients of the inputs too, as it does where each layer
    is looked at alone; values: returns a parameter's values for a layer and a role, None if the file has no values;
    remarks: what in the file has no effect; outputs: the layer of each output that the file declares, by the output's
    name, none if the outputs are what no layer reads; files: what holds values besides the source.
    """

    name: str
    source: str
    inputs: Mapping[str, Shape]
    layers: tuple[LayerDescription, ...]
    batch: int | None = None
    input_gradients: bool = False
    values: "Callable[[str, str], np.ndarray] | None" = None
    remarks: tuple[str, ...] = ()
    outputs: Mapping[str, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
