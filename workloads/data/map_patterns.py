"""Made-up activation maps: zeros drawn on the maps themselves, or resampled from captured maps.

The sparsity that a paper gives of a layer is that of its input maps; im2col's padding adds zeros to it, and repeats
each element under several windows (`patterns.fill_im2col`). Zeros drawn on the matrix have neither.
"""

import numpy as np

from workloads.data.patterns import ELEMENTS, VALUES_STREAM, ZEROS_STREAM, PatternError, checked_sparsity
from workloads.shapes import Layer

MIRROR_STREAM = 3  # after those of `patterns`


def synthetic_maps(
    layer: Layer, images: int, sparsity: float, seed: int, block: tuple[int, int] = ELEMENTS
) -> np.ndarray:
    """Maps [images, channels, height, width] float32, each element zero with probability `sparsity`, the others the
    magnitudes of normal numbers, as after a ReLU. With a `block` of more than an element, of (rows, columns) of a map,
    all of the block is zero or none. Raises PatternError."""
    checked_sparsity(sparsity)
    shape = (layer.input_channels, layer.input_height, layer.input_width)
    rows, columns = min(block[0], shape[1]), min(block[1], shape[2])
    values = np.random.default_rng([seed, VALUES_STREAM])
    zeros = np.random.default_rng([seed, ZEROS_STREAM])
    maps = np.empty((images, *shape), np.float32)
    for image in maps:  # one by one: no second array of their size
        image[...] = np.maximum(np.abs(values.standard_normal(shape, np.float32)), np.finfo(np.float32).tiny)
        drawn = zeros.random((shape[0], -(-shape[1] // rows), -(-shape[2] // columns)), np.float32) < sparsity
        image[drawn.repeat(rows, axis=1).repeat(columns, axis=2)[:, : shape[1], : shape[2]]] = 0.0
    return maps


def resampled_maps(captured: np.ndarray, images: int, seed: int) -> np.ndarray:
    """Any number of images made of captured ones: each channel's plane is that of a captured image drawn for it alone.

    captured: [images, channels, height, width]; half of the planes are mirrored left to right, as training images are.
    What is kept is what one channel has: how often it is zero, in which rows, in blocks of what size, how often as a
    whole. What channels have in common in one image is lost: it tells the effect of the first from that of the second.
    """
    if captured.ndim != 4 or not captured.size:
        raise PatternError(f"expected maps [images, channels, height, width] to draw from, found {captured.shape}")
    count, channels = captured.shape[:2]
    drawn = np.random.default_rng([seed, VALUES_STREAM]).integers(0, count, (images, channels))
    mirrored = np.random.default_rng([seed, MIRROR_STREAM]).random((images, channels)) < 0.5
    maps = np.empty((images, *captured.shape[1:]), np.float32)
    for image in range(images):
        maps[image] = captured[drawn[image], np.arange(channels)]
        maps[image, mirrored[image]] = maps[image, mirrored[image], :, ::-1]
    return maps
