"""Where a GEMM's operands come from: random numbers with zeros, or a layer's activation maps, captured or made up."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import prod
from pathlib import Path

import numpy as np

from workloads.data.activations_file import ActivationFileError, Activations, load_activations
from workloads.data.map_patterns import resampled_maps, synthetic_maps
from workloads.data.patterns import (
    CHANNEL_FIRST,
    ELEMENTS,
    checked_sparsity,
    fill_im2col,
    fill_weights,
    im2col_non_zeros,
    synthetic_columns,
    write_columns,
)
from workloads.shapes import ConvolutionShape, GemmShape, output_size

MAPS_BYTES = 1 << 26  # of the images that im2col is made of at a time
SHIPPED_ACTIVATIONS = Path(__file__).resolve().parents[1] / "activations"


class Operands(ABC):
    """A source of A and B; raises a UserError (PatternError, ActivationFileError) for data that do not fit."""

    seed: int

    def fill(self, weights: np.ndarray, activations: np.ndarray, shape: GemmShape) -> None:
        """Write A [padded K, lda] and B [N, ldb], both zeroed float32."""
        self.weights(weights, shape)
        self.columns(shape)(activations)

    def weights(self, storage: np.ndarray, shape: GemmShape) -> None:
        """Write A [padded K, lda] alone: normal numbers."""
        fill_weights(storage, shape, self.seed)

    @abstractmethod
    def columns(self, shape: GemmShape) -> Callable[[np.ndarray], None]:
        """Return a function that writes B part by part: each call the next columns, zeroed float32 [columns, ldb]."""

    @abstractmethod
    def zeros(self, shape: GemmShape) -> float:
        """Return the share of zeros of B, or the expected one."""


@dataclass(frozen=True)
class SyntheticOperands(Operands):
    """Random weights, and activations of which `sparsity` are zero, at random in the matrix, in blocks of `block`."""

    sparsity: float
    """Share of zeros."""
    seed: int
    """Seed of the draw."""
    block: tuple[int, int] = ELEMENTS
    """Rows and columns of a block of zeros."""
    window: int = 0
    """Rows of which as many are zero as the sparsity says; 0: each element by itself."""

    def columns(self, shape: GemmShape) -> Callable[[np.ndarray], None]:
        columns = synthetic_columns(shape, self.sparsity, self.seed, self.block, self.window)
        return partial(write_columns, shape=shape, columns=columns)

    def zeros(self, shape: GemmShape) -> float:
        return checked_sparsity(self.sparsity)


@dataclass(frozen=True)
class MapOperands(Operands):
    """Random weights, and im2col of a layer's maps in one of its orders (`patterns.IM2COL_ORDERS`)."""

    layer: ConvolutionShape
    """Shape of the layer."""
    maps: Callable[[], Iterator[np.ndarray]]
    """Yields each image's maps [channels, height, width]; may raise ActivationFileError or PatternError."""
    seed: int
    """Seed of the weights."""
    order: str = CHANNEL_FIRST
    """Order of im2col's rows."""

    def columns(self, shape: GemmShape) -> Callable[[np.ndarray], None]:
        """Return such a function; each call is for the columns of whole images."""
        maps = self.maps()

        def write(storage: np.ndarray) -> None:
            for part, taken in self._taken(maps, len(storage)):
                fill_im2col(storage[part], taken, self.layer, self.order)

        return write

    def zeros(self, shape: GemmShape) -> float:
        found = [im2col_non_zeros(taken, self.layer) for _, taken in self._taken(self.maps(), shape.n)]
        return 1.0 - sum(held for held, _ in found) / sum(elements for _, elements in found)

    def _taken(self, maps: Iterator[np.ndarray], columns: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the next images' maps for so many columns, some images at a time, with the columns that they become."""
        layer, positions = self.layer, prod(output_size(self.layer))
        of_image = 4 * layer.input_channels * layer.input_height * layer.input_width
        step = positions * max(1, MAPS_BYTES // of_image)
        for first in range(0, columns, step):
            part = slice(first, min(first + step, columns))
            yield part, np.array(list(islice(maps, (part.stop - part.start) // positions)))


def captured_operands(
    layer: ConvolutionShape, batch: int, file: str, seed: int, order: str = CHANNEL_FIRST
) -> MapOperands:
    """Return operands with the first `batch` images' maps of an activation file: a path or a shipped name.

    Args:
        layer: Shape of the layer.
        batch: Images in a batch.
        file: Path or shipped name.
        seed: Seed of the weights.
        order: Order of the values in memory.

    Raises:
        ActivationFileError: The file has too few images, or other sizes.
    """

    def maps() -> Iterator[np.ndarray]:
        captured = load_activations(activations_path(file))
        if 0 < len(captured.array) < batch:
            raise ActivationFileError(
                f"{captured.path}: the batch needs {batch} images, found {len(captured.array)}; "
                "workload.data=resampled draws any number of images from those of a file"
            )
        return iter(_fitting(captured, layer, batch))

    return MapOperands(layer, maps, seed, order)


def transposed_operands(
    layer: ConvolutionShape, batch: int, file: str, seed: int, order: str = CHANNEL_FIRST
) -> MapOperands:
    """Return operands with the first `batch` channels of an activation file, whose maps have one pixel, as images.

    Their channels are the file's images: of tokens' activations, what the gradients of a weight matrix are made from.

    Args:
        layer: Shape of the layer.
        batch: Images in a batch.
        file: Path or shipped name.
        seed: Seed of the weights.
        order: Order of the values in memory.

    Raises:
        ActivationFileError: The file has too few channels, or other sizes.
    """

    def maps() -> Iterator[np.ndarray]:
        captured = load_activations(activations_path(file))
        images, channels, height, width = captured.array.shape
        if (height, width) != (1, 1):
            raise ActivationFileError(
                f"{captured.path}: maps of {height} x {width} pixels; allowed are those of one pixel"
            )
        if images < layer.input_channels or channels < batch:
            raise ActivationFileError(
                f"{captured.path}: transposed, the layer needs {layer.input_channels} images with {batch} channels, "
                f"found {images} with {channels}"
            )
        turned = captured.array[: layer.input_channels, :batch, 0, 0].T
        return iter(np.ascontiguousarray(turned)[:, :, None, None])

    return MapOperands(layer, maps, seed, order)


def resampled_operands(
    layer: ConvolutionShape, batch: int, file: str, seed: int, order: str = CHANNEL_FIRST
) -> MapOperands:
    """Return operands with `batch` images drawn channel by channel from those of an activation file.

    Args:
        layer: Shape of the layer.
        batch: Images in a batch.
        file: Path or shipped name.
        seed: Seed of the weights and the draw.
        order: Order of the values in memory.
    """

    def maps() -> Iterator[np.ndarray]:
        held = load_activations(activations_path(file))
        return resampled_maps(_fitting(held, layer, len(held.array)), batch, seed)

    return MapOperands(layer, maps, seed, order)


def synthetic_map_operands(
    layer: ConvolutionShape,
    batch: int,
    sparsity: float,
    seed: int,
    order: str = CHANNEL_FIRST,
    block: tuple[int, int] = ELEMENTS,
) -> MapOperands:
    """Return operands with zeros at random in the maps, in blocks of `block`.

    Args:
        layer: Shape of the layer.
        batch: Images in a batch.
        sparsity: Share of zeros.
        seed: Seed of weights and maps.
        order: Order of the values in memory.
        block: Rows and columns of a block of zeros.
    """
    return MapOperands(layer, lambda: synthetic_maps(layer, batch, sparsity, seed, block), seed, order)


def _fitting(held: Activations, layer: ConvolutionShape, images: int) -> np.ndarray:
    return held.first_images(images, layer.input_channels, layer.input_height, layer.input_width)


def activations_path(name: str) -> Path:
    """Return `name` as a path if there is such a file, else the shipped file of that name, whether it exists or not."""
    path = Path(name)
    return path if path.exists() or not (SHIPPED_ACTIVATIONS / name).exists() else SHIPPED_ACTIVATIONS / name
