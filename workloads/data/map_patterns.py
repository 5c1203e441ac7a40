"""Made-up activation maps: zeros drawn on the maps themselves, or resampled from captured maps.

The sparsity that a paper gives of a layer is that of its input maps; im2col's padding adds zeros to it, and repeats
each element under several windows (`patterns.fill_im2col`). Zeros drawn on the matrix have neither.
"""

from collections.abc import Iterator

import numpy as np

from workloads.data.patterns import ELEMENTS, VALUES_STREAM, ZEROS_STREAM, PatternError, checked_sparsity
from workloads.shapes import ConvolutionShape

MIRROR_STREAM = 3  # after those of `patterns`


def synthetic_maps(
    layer: ConvolutionShape, images: int, sparsity: float, seed: int, block: tuple[int, int] = ELEMENTS
) -> Iterator[np.ndarray]:
    """Yield each image's maps [channels, height, width] float32, each element zero with probability `sparsity`.

    The other elements are the magnitudes of normal numbers, as after a ReLU. `block`: (rows, columns) of a map; with
    more than one element, either all of a block is zero or none of it. Raise PatternError.
    """
    return _synthetic_maps(layer, images, checked_sparsity(sparsity), seed, block)


def _synthetic_maps(
    layer: ConvolutionShape, images: int, sparsity: float, seed: int, block: tuple[int, int]
) -> Iterator[np.ndarray]:
    shape = (layer.input_channels, layer.input_height, layer.input_width)
    rows, columns = min(block[0], shape[1]), min(block[1], shape[2])
    values = np.random.default_rng([seed, VALUES_STREAM])
    zeros = np.random.default_rng([seed, ZEROS_STREAM])
    for _ in range(images):
        image = np.maximum(np.abs(values.standard_normal(shape, np.float32)), np.finfo(np.float32).tiny)
        drawn = zeros.random((shape[0], -(-shape[1] // rows), -(-shape[2] // columns)), np.float32) < sparsity
        image[drawn.repeat(rows, axis=1).repeat(columns, axis=2)[:, : shape[1], : shape[2]]] = 0.0
        yield image


def resampled_maps(captured: np.ndarray, images: int, seed: int) -> Iterator[np.ndarray]:
    """Yield images resampled from captured ones: each channel's plane is that of a captured image drawn for it alone.

    captured: [images, channels, height, width]; each image's maps are [channels, height, width]. Half of the planes are
    mirrored left to right, as training images are. Statistics within one channel are kept: how often it is zero, in
    which rows, in blocks of what size, how often as a whole. What channels of one image have in common is lost, so that
    a comparison with the captured maps tells the effect of the one from that of the other.
    """
    if captured.ndim != 4 or not captured.size:
        raise PatternError(f"expected maps [images, channels, height, width] to draw from, found {captured.shape}")
    return _resampled_maps(captured, images, seed)


def _resampled_maps(captured: np.ndarray, images: int, seed: int) -> Iterator[np.ndarray]:
    count, channels = captured.shape[:2]
    draws = np.random.default_rng([seed, VALUES_STREAM])
    mirrors = np.random.default_rng([seed, MIRROR_STREAM])
    for _ in range(images):
        image = captured[draws.integers(0, count, channels), np.arange(channels)]
        mirrored = mirrors.random(channels) < 0.5
        image[mirrored] = image[mirrored, :, ::-1]
        yield image
