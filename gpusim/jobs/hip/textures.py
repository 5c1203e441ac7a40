"""Texture and surface objects: what a kernel finds at their address, as AMD's runtime lays it out.

Eight words of the image's resource (of a buffer's four), four that the device library reads of its format and width
(isa/image_resource.py), four of the sampler (HIP's headers: HIP_SAMPLER_OBJECT_OFFSET_DWORD is 12).
"""

import struct
from dataclasses import dataclass

from isa.image_resource import (
    CLAMP_BORDER,
    LAST_TEXEL,
    MIRROR,
    WRAP,
    ImageResource,
    ImageSampler,
    TexelFormat,
    buffer_words,
)

_NUMBERS = ("sint", "uint", "float", "snorm", "unorm")  # hipChannelFormatKind, then the first two as fractions
_CLAMPS = (WRAP, LAST_TEXEL, MIRROR, CLAMP_BORDER)  # hipTextureAddressMode
MOST_ELEMENTS = 1 << 27  # of a linear texture, as programs are told


@dataclass(frozen=True)
class ObjectRequest:
    """A texture or surface object to be described; the fields are in the order of the request's values."""

    address: int
    """Device address."""
    dimensions: int
    """Number of dimensions; 0: a buffer of `width` texels."""
    width: int
    """Width in texels."""
    height: int
    """Height in texels."""
    depth: int
    """Depth in texels."""
    layers: int
    """Number of layers."""
    pitch_bytes: int
    """Bytes from one row to the next."""
    bits: int
    """Bits of a channel."""
    channels: int
    """Channels of a texel."""
    number: int
    """Number format: an index into _NUMBERS."""
    clamp_x: int
    """Address mode in x: an index into _CLAMPS."""
    clamp_y: int
    """Address mode in y: an index into _CLAMPS."""
    clamp_z: int
    """Address mode in z: an index into _CLAMPS."""
    linear: int
    """Linear filtering, 0 or 1."""
    normalised: int
    """Normalised coordinates, 0 or 1."""


@dataclass(frozen=True)
class SamplerRequest:
    """A sampler of OpenCL's to be described; the fields are in the order of the request's values."""

    clamp: int
    """Address mode of all axes: an index into _CLAMPS."""
    linear: int
    """Linear filtering, 0 or 1."""
    normalised: int
    """Normalised coordinates, 0 or 1."""


def sampler_words(request: SamplerRequest) -> bytes:
    """Return the 16 bytes of a sampler."""
    clamps = (_CLAMPS[request.clamp],) * 3
    return struct.pack("<4I", *ImageSampler(clamps, bool(request.linear), bool(request.normalised)).words())


def object_words(request: ObjectRequest, generation: int) -> bytes:
    """Return the 64 bytes of a texture or surface object; raises ImageError for an image that cannot be described.

    Coordinates in texels end at the edge where they would be repeated, as HIP's guide says.
    """
    form = TexelFormat(request.bits, request.channels, _NUMBERS[request.number])
    if request.dimensions:
        size = (request.width, request.height, request.depth, request.layers)
        resource = ImageResource(request.address, form, request.dimensions, *size, request.pitch_bytes).words(
            generation
        )
    else:
        elements = min(request.width, MOST_ELEMENTS)
        resource = (*buffer_words(request.address, form, elements, generation), 0, 0, 0, 0)
    clamps = [_CLAMPS[one] for one in (request.clamp_x, request.clamp_y, request.clamp_z)]
    if not request.normalised:
        clamps = [LAST_TEXEL if one in (WRAP, MIRROR) else one for one in clamps]
    sampler = ImageSampler((clamps[0], clamps[1], clamps[2]), bool(request.linear), bool(request.normalised)).words()
    return struct.pack("<16I", *resource, *form.described(request.width), *sampler)
