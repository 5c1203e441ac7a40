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
    """A layer before its kind and values are checked."""

    name: str
    """Name."""
    kind: str
    """Name of the kind."""
    inputs: tuple[str, ...]
    """Names of layers and of the network's inputs."""
    values: Mapping[str, Any]
    """Values of the kind."""
    expects: Mapping[str, Shape] = field(default_factory=dict)
    """Shapes that its parameters must have, by role, since the file has their values."""


@dataclass(frozen=True)
class NetworkDescription:
    """A network before it is checked."""

    name: str
    """Name."""
    source: str
    """File, for error messages."""
    inputs: Mapping[str, Shape]
    """Shape of each input for one image, by name."""
    layers: tuple[LayerDescription, ...]
    """Layers in the order of the file."""
    batch: int | None = None
    """Batch size in the file; None: not given."""
    input_gradients: bool = False
    """Training also computes the gradients of the inputs, as for layers that are studied alone."""
    values: "Callable[[str, str], np.ndarray] | None" = None
    """Returns a parameter's values for a layer and a role; None: the file has no values."""
    remarks: tuple[str, ...] = ()
    """Contents of the file without effect."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """Layer of each declared output, by the output's name; empty: layers that no other reads."""
    files: tuple[Path, ...] = ()
    """Other files with values."""
