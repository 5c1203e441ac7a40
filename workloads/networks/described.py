"""A network as a file describes it: names, kinds and values, none of them judged yet."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workloads.networks.tensor import Shape

if TYPE_CHECKING:
    import numpy as np

MAX_LAYERS = 5_000  # ResNet-1202 has about 4 000
MAX_INPUT = 1 << 16  # channels, rows or columns of an input
MAX_BATCH = 1 << 16


@dataclass(frozen=True)
class DescribedLayer:
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
class Described:
    """A network before it is checked.

    source: its file, for errors; inputs: shapes of an image; batch: what the file says, None: nothing;
    input_gradients: whether training goes on to the gradients of the inputs, as where one layer is looked at alone;
    values: of a parameter, by layer and role; None: the file has none; remarks: what of the file has no effect.
    """

    name: str
    source: str
    inputs: Mapping[str, Shape]
    layers: tuple[DescribedLayer, ...]
    batch: int | None = None
    input_gradients: bool = False
    values: "Callable[[str, str], np.ndarray] | None" = None
    remarks: tuple[str, ...] = ()
