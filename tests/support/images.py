"""Images by definition in NumPy: what registers hold of texels, and what a sampler makes of coordinates."""

from itertools import product

import numpy as np

from isa.image_resource import (
    CLAMP_BORDER,
    LAST_TEXEL,
    MIRROR,
    MIRROR_ONCE,
    MIRROR_ONCE_BORDER,
    WRAP,
    ImageSampler,
    TexelFormat,
)

STORED = {"unorm": "u", "uint": "u", "snorm": "i", "sint": "i", "float": "f"}


def random_texels(form: TexelFormat, *shape: int) -> np.ndarray:
    draw = np.random.default_rng(form.bits * form.channels)
    dtype = np.dtype(f"{STORED[form.number]}{form.bits // 8}")
    if form.number == "float":
        return draw.normal(size=(*shape, form.channels)).astype(dtype)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    texels = draw.integers(least, most, (*shape, form.channels), dtype, endpoint=True)
    texels.reshape(-1)[:2] = least, most
    return texels


def as_registers(texels: np.ndarray, form: TexelFormat) -> np.ndarray:
    """What registers hold of texels [..., channels]: [..., 4], of the missing ones 0, 0, 0, 1."""
    one: object = 1
    if form.number in ("unorm", "snorm"):
        most = 2 ** (form.bits - (form.number == "snorm")) - 1
        held = np.maximum(texels.astype(np.float64) / most, -1).astype(np.float32)
    elif form.number == "float":
        held = texels.astype(np.float32)
    else:
        held = texels.astype(np.int64).astype(np.uint32)
    if form.number not in ("uint", "sint"):
        held, one = held.view(np.uint32), np.float32(1).view(np.uint32)
    whole = np.zeros((*texels.shape[:-1], 4), np.uint32)
    whole[..., 3] = one
    whole[..., : form.channels] = held
    return whole


def taken(index: np.ndarray, size: int, clamp: int) -> np.ndarray:
    """Texel for an index, -1 for the border: each clamp by its definition."""
    if clamp == WRAP:
        return index % size
    if clamp == LAST_TEXEL:
        return np.clip(index, 0, size - 1)
    if clamp == CLAMP_BORDER:
        return np.where((index < 0) | (index >= size), -1, index)
    if clamp == MIRROR:
        there_and_back = np.concatenate((np.arange(size), np.arange(size)[::-1]))
        return there_and_back[index % (2 * size)]
    folded = np.where(index < 0, -1 - index, index)
    if clamp == MIRROR_ONCE:
        return np.minimum(folded, size - 1)
    assert clamp == MIRROR_ONCE_BORDER
    return np.where(folded >= size, -1, folded)


def sampled(texels: np.ndarray, form: TexelFormat, coordinates: list[np.ndarray], sampler: ImageSampler) -> np.ndarray:
    """A sample of texels [z, y, x, channels] at x, y, z, by definition; float32 [lanes, 4]."""
    values = as_registers(texels, form).view(np.float32).astype(np.float64)
    sizes, lanes = texels.shape[2::-1], len(coordinates[0])
    ways = []
    for d in range(3):
        if d >= len(coordinates):
            ways.append([(np.zeros(lanes, np.int64), np.ones(lanes))])
            continue
        u = coordinates[d].astype(np.float64) * (sizes[d] if sampler.normalised else 1)
        if not sampler.linear:
            nearest = np.floor(u * 256 + 0.5).astype(np.int64) // 256
            ways.append([(taken(nearest, sizes[d], sampler.clamps[d]), np.ones(lanes))])
            continue
        fixed = np.floor((u - 0.5) * 256 + 0.5).astype(np.int64)
        below, part = fixed // 256, fixed % 256 / 256
        one, other = (taken(below + k, sizes[d], sampler.clamps[d]) for k in (0, 1))
        ways.append([(one, 1 - part), (other, part)])
    total = np.zeros((lanes, 4))
    for (z, wz), (y, wy), (x, wx) in product(ways[2], ways[1], ways[0]):
        border = (x < 0) | (y < 0) | (z < 0)
        found = np.where(border[:, None], np.zeros(4), values[z, y, x])
        if form.channels < 4:  # a component that a texel has not is the same everywhere
            found[:, form.channels :] = values[0, 0, 0, form.channels :]
        total += found * (wz * wy * wx)[:, None]
    return total.astype(np.float32)
