"""Where a GEMM's operands come from: random numbers with zeros, or a layer's activation maps, captured or made up."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from gpusim.base.dataclass import dataclass
from workloads.data.activations_file import ActivationFileError, Activations, load_activations
from workloads.data.map_patterns import resampled_maps, synthetic_maps
from workloads.data.patterns import (
    CHANNEL_FIRST,
    ELEMENTS,
    checked_sparsity,
    fill_im2col,
    fill_synthetic,
    fill_weights,
    im2col_zeros,
)
from workloads.shapes import GemmShape, Layer

SHIPPED_ACTIVATIONS = Path(__file__).resolve().parents[1] / "activations"


@dataclass(frozen=True)
class SyntheticOperands:
    """Random weights, and activations of which `sparsity` are zero, at random in the matrix, in blocks of `block`."""

    sparsity: float
    seed: int
    block: tuple[int, int] = ELEMENTS

    def fill(self, weights: np.ndarray, activations: np.ndarray, shape: GemmShape) -> None:
        """Raises PatternError."""
        fill_weights(weights, shape, self.seed)
        fill_synthetic(activations, shape, self.sparsity, self.seed, self.block)

    def zeros(self, shape: GemmShape) -> float:
        """The probability of a zero."""
        return checked_sparsity(self.sparsity)


@dataclass(frozen=True)
class MapOperands:
    """Random weights, and im2col of a layer's maps in one of its orders (`patterns.IM2COL_ORDERS`).

    maps: makes [images, channels, height, width]; raises ActivationFileError or PatternError.
    """

    layer: Layer
    maps: Callable[[], np.ndarray]
    seed: int
    order: str = CHANNEL_FIRST

    def fill(self, weights: np.ndarray, activations: np.ndarray, shape: GemmShape) -> None:
        """Raises ActivationFileError and PatternError."""
        fill_weights(weights, shape, self.seed)
        fill_im2col(activations, self.maps(), self.layer, self.order)

    def zeros(self, shape: GemmShape) -> float:
        """Of the matrix: those of the padding are among them."""
        return im2col_zeros(self.maps(), self.layer)


def captured_operands(layer: Layer, batch: int, file: str, seed: int, order: str = CHANNEL_FIRST) -> MapOperands:
    """The first `batch` images' maps of an activation file: a path or a shipped name."""

    def maps() -> np.ndarray:
        held = load_activations(activations_path(file))
        if 0 < len(held.array) < batch:
            raise ActivationFileError(
                f"{held.path}: the batch needs {batch} images, found {len(held.array)}; "
                "workload.data=resampled draws any number of images from those of a file"
            )
        return _fitting(held, layer, batch)

    return MapOperands(layer, maps, seed, order)


def resampled_operands(layer: Layer, batch: int, file: str, seed: int, order: str = CHANNEL_FIRST) -> MapOperands:
    """`batch` images drawn channel by channel from those of an activation file."""

    def maps() -> np.ndarray:
        held = load_activations(activations_path(file))
        return resampled_maps(_fitting(held, layer, len(held.array)), batch, seed)

    return MapOperands(layer, maps, seed, order)


def synthetic_map_operands(
    layer: Layer,
    batch: int,
    sparsity: float,
    seed: int,
    order: str = CHANNEL_FIRST,
    block: tuple[int, int] = ELEMENTS,
) -> MapOperands:
    """Zeros at random in the maps, in blocks of `block`."""
    return MapOperands(layer, lambda: synthetic_maps(layer, batch, sparsity, seed, block), seed, order)


def _fitting(held: Activations, layer: Layer, images: int) -> np.ndarray:
    return held.first_images(images, layer.input_channels, layer.input_height, layer.input_width)


def activations_path(name: str) -> Path:
    """The file at path `name`, or else the shipped one of that name; a missing file is the reader's error."""
    path = Path(name)
    return path if path.exists() or not (SHIPPED_ACTIVATIONS / name).exists() else SHIPPED_ACTIVATIONS / name
