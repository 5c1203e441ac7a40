"""A network as a file describes it: names, kinds and values, none of them judged yet."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workloads.shapes import Shape

if TYPE_CHECKING:
    import numpy as np

    from workloads.networks.onnx_evaluator import FileEvaluator

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
class FileTensor:
    """An input or an output as a network's file has it."""

    shape: Shape
    """Shape with a batch of one."""
    axis: int | None
    """Axis of the images; None: none, a batch has the shape more than once."""

    def from_images(self, array: "np.ndarray") -> "np.ndarray":
        """Return an array of images as the file has them. array: images × shape of an image."""
        images = len(array)
        whole = array.reshape(images, *self.shape)
        if self.axis is None:
            return whole[0] if images == 1 else whole
        before, after = self.shape[: self.axis], self.shape[self.axis + 1 :]
        return moved(whole, 0, self.axis).reshape(*before, images * self.shape[self.axis], *after)

    def to_images(self, array: "np.ndarray", images: int) -> "np.ndarray":
        """Return the file's array as images × shape of each; raise ValueError for another shape."""
        if self.axis is None:
            return array.reshape(images, *self.shape)
        before, after = self.shape[: self.axis], self.shape[self.axis + 1 :]
        return moved(array.reshape(*before, images, self.shape[self.axis], *after), self.axis, 0)

    def with_images(self, images: int) -> Shape:
        """Return the shape with so many images."""
        if self.axis is None:
            return self.shape if images == 1 else (images, *self.shape)
        return (*self.shape[: self.axis], images * self.shape[self.axis], *self.shape[self.axis + 1 :])


def moved(array: "np.ndarray", axis: int, to: int) -> "np.ndarray":
    """Return the array with an axis at another place."""
    order = [k for k in range(array.ndim) if k != axis]
    order.insert(to, axis)
    return array.transpose(order)


@dataclass(frozen=True)
class NetworkFileMeaning:
    """What a network's file computes, beside the layers that were read."""

    inputs: Mapping[str, FileTensor]
    """Inputs by name."""
    outputs: Mapping[str, FileTensor]
    """Declared outputs by name."""
    images: int
    """Images that the file computes at once; 0: any number."""
    single: str
    """Why the batch must be one; empty: it need not."""
    evaluator: "FileEvaluator | None"
    """Second reader of the file, which shares no code with the first; None: there is none."""
    why_not_evaluated: str
    """Why there is no second reader; empty where there is one."""


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
    values: "Callable[[str, str], np.ndarray | None] | None" = None
    """Returns a parameter's values for a layer and a role; None: the file has no values."""
    remarks: tuple[str, ...] = ()
    """Contents of the file without effect."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """Layer of each declared output, by the output's name; empty: layers that no other reads."""
    files: tuple[Path, ...] = ()
    """Other files with values."""
    meaning: NetworkFileMeaning | None = None
    """What the file computes; None: a file of layers, which has no other meaning."""
