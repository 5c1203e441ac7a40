"""Convolutions that need a buffer: as many images at a time as it holds."""

from math import prod

from isa.kernarg import Pointer
from workloads.operators.tensor import Tensor
from workloads.operators.tiles import CHANNEL, LINE

# MXNet's operator `Convolution`, parameter `workspace`: 1024 MB by default; without cuDNN it "determines the effective
# batch size of the convolution kernel"
BUFFER_BYTES = 1 << 30
MAX_BYTES = (1 << 32) - (1 << 24)  # of an array of a chunk, and what rounds it up: 32-bit offsets


def chunk_images(images: int, image_bytes: int, buffer_bytes: int, largest_bytes: int) -> int:
    """Return the images of a chunk: as many as the buffer holds, at least one, fewer where that takes no more chunks.

    Args:
        image_bytes: Bytes of the buffer for an image.
        largest_bytes: Bytes of an image's part of the largest array.
    """
    most = max(1, min(images, buffer_bytes // image_bytes, MAX_BYTES // largest_bytes))
    return -(-images // -(-images // most))


def chunks(images: int, chunk: int) -> list[tuple[int, int]]:
    """Return the first image and the number of images of each chunk."""
    return [(first, min(chunk, images - first)) for first in range(0, images, chunk)]


def at(tensor: Tensor, *index: int) -> Pointer:
    """Return a pointer to the part of a tensor whose places along the first axes are `index`."""
    before = sum(place * prod(tensor.shape[axis + 1 :]) for axis, place in enumerate(index))
    return Pointer(tensor.address + tensor.dtype.itemsize * before, tensor.dtype)


def pad_pitch(columns: int) -> int:
    """Return a pitch of at least `columns` elements with which columns of rows do not meet in few channels and sets.

    It is an odd number of cache lines or, where that adds little, of the 256 bytes that a channel has at a time.
    """
    unit = CHANNEL if columns >= 8 * CHANNEL else LINE
    units = -(-columns // unit)
    return unit * (units + 1 - units % 2)
