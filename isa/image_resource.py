"""Resources of images and samplers as words of scalar registers: the numbers in them, and how they are packed.

GCN3 ISA manual, section 8.2.5 (image resource, sampler), table 8.5 (buffer resource); Vega ISA manual, section 8.2.6.
What is different from generation to generation: a linear image's tiling, which is an index into the tile mode table on
GFX8 (8: ARRAY_LINEAR_ALIGNED; Linux, gfx_v8_0.c) and a mode on GFX9 (0: SW_LINEAR); where an array's last layer stands;
whether a buffer's size counts bytes or elements.

Programs pass an image by the address of its words in memory: behind the resource stand four that AMD's device library
reads of its format and width, by the numbers of HSA's image extension.
"""

from dataclasses import dataclass
from typing import NamedTuple

from gpusim.base.errors import UserError

TYPE_1D, TYPE_2D, TYPE_3D, TYPE_1D_ARRAY, TYPE_2D_ARRAY = 8, 9, 10, 12, 13
WRAP, MIRROR, LAST_TEXEL, MIRROR_ONCE, CLAMP_BORDER, MIRROR_ONCE_BORDER = 0, 1, 2, 3, 6, 7
LINEAR_INDEX, LINEAR_MODE = 8, 0  # a linear image's tiling on GFX8, on GFX9
# CL_ADDRESS_...; with `none` the program promises to stay inside, AMD's device library takes the border
CLAMPS = {
    "none": CLAMP_BORDER,
    "clamp": CLAMP_BORDER,
    "clamp_to_edge": LAST_TEXEL,
    "repeat": WRAP,
    "mirrored_repeat": MIRROR,
}
PITCH_ALIGNMENT = 256  # bytes from row to row are a multiple of, as an image's address is
MOST_TEXELS, MOST_LAYERS = 1 << 14, 1 << 13  # in x and y; in z, and layers
NUMBERS = {"unorm": 0, "snorm": 1, "uint": 4, "sint": 5, "float": 7}
_DATA_FORMATS = {
    (8, 1): 1,
    (16, 1): 2,
    (8, 2): 3,
    (32, 1): 4,
    (16, 2): 5,
    (8, 4): 10,
    (32, 2): 11,
    (16, 4): 12,
    (32, 4): 14,
}
_CHANNEL_TYPES = {  # hsa_ext_image_channel_type_t
    ("snorm", 8): 0,
    ("snorm", 16): 1,
    ("unorm", 8): 2,
    ("unorm", 16): 3,
    ("sint", 8): 8,
    ("sint", 16): 9,
    ("sint", 32): 10,
    ("uint", 8): 11,
    ("uint", 16): 12,
    ("uint", 32): 13,
    ("float", 16): 14,
    ("float", 32): 15,
}
_CHANNEL_ORDERS = {1: 1, 2: 3, 4: 8}  # hsa_ext_image_channel_order_t: R, RG, RGBA
_ZERO, _ONE, _FIRST_CHANNEL = 0, 1, 4
_BILINEAR, _LINEAR_Z, _POINT_Z = 1, 2, 1


class ImageError(UserError):
    """An image that no resource can describe; the message says what is allowed."""


@dataclass(frozen=True)
class TexelFormat:
    """What a texel holds: `channels` numbers of `bits` each, which mean `number` (of NUMBERS)."""

    bits: int
    """Bits of a channel."""
    channels: int
    """Channels of a texel."""
    number: str
    """What they mean (NUMBERS)."""

    def __post_init__(self) -> None:
        """Refuse what no resource can describe; raises ImageError."""
        least = {"unorm": (8, 16), "snorm": (8, 16), "uint": (8, 16, 32), "sint": (8, 16, 32), "float": (16, 32)}
        if (self.bits, self.channels) not in _DATA_FORMATS or self.bits not in least.get(self.number, ()):
            raise ImageError(
                f"no format of {self.channels} x {self.bits} bits {self.number}: 1, 2 or 4 numbers of 8, 16 or 32 bits,"
                " uint or sint; unorm or snorm of 8 or 16; float of 16 or 32"
            )

    @property
    def texel_bytes(self) -> int:
        """Bytes of a texel."""
        return self.bits * self.channels // 8

    @property
    def data_format(self) -> int:
        """DATA_FORMAT of a resource."""
        return _DATA_FORMATS[self.bits, self.channels]

    @property
    def selections(self) -> int:
        """DST_SEL of x, y, z, w: the channels in order; 0 for one that is missing, 1 for w."""
        chosen = [_FIRST_CHANNEL + c if c < self.channels else _ONE if c == 3 else _ZERO for c in range(4)]
        return sum(one << 3 * c for c, one in enumerate(chosen))

    def described(self, width: int) -> tuple[int, int, int, int]:
        """Return the words behind the resource of an image so wide: channels' type and order, width, a free one."""
        return _CHANNEL_TYPES[self.number, self.bits], _CHANNEL_ORDERS[self.channels], width, 0


class ImageKind(NamedTuple):
    """How an image's axes are meant: `dimensions` of a picture, before them that of an array's layers."""

    dimensions: int
    """Axes of a picture."""
    arrayed: bool
    """An axis of layers comes before them."""


IMAGE_KINDS = {  # OpenCL C's image1d_t, ...
    "1d": ImageKind(1, False),
    "1d_array": ImageKind(1, True),
    "2d": ImageKind(2, False),
    "2d_array": ImageKind(2, True),
    "3d": ImageKind(3, False),
}


def why_no_sampler(address: str, normalized: bool) -> str:
    """Explain what is wrong with a sampler.

    Args:
        address: a name of CLAMPS: what is read beyond the image.
        normalized: whether coordinates go from 0 to 1.

    Returns:
        The reason; '' if nothing is wrong.
    """
    if CLAMPS[address] in (WRAP, MIRROR) and not normalized:
        return f"address: {address} needs normalized coordinates, as OpenCL says"
    return ""


@dataclass(frozen=True)
class ImageResource:
    """A linear image in memory: its sizes in texels, bytes from row to row, layers (0: it is no array)."""

    address: int
    """Device address of the first texel."""
    form: TexelFormat
    """Format of a texel."""
    dimensions: int
    """Axes of a picture."""
    width: int
    """Texels in x."""
    height: int
    """Texels in y."""
    depth: int
    """Texels in z."""
    layers: int
    """Layers; 0: it is no array."""
    pitch_bytes: int
    """Bytes from row to row."""

    def words(self, generation: int) -> tuple[int, ...]:
        """Return the eight words of the resource; raises ImageError."""
        texel = self.form.texel_bytes
        if self.address % PITCH_ALIGNMENT or self.pitch_bytes % PITCH_ALIGNMENT or not self.pitch_bytes:
            raise ImageError(f"address and pitch of an image must be multiples of {PITCH_ALIGNMENT} bytes")
        if self.dimensions not in (1, 2, 3) or (self.layers and self.dimensions == 3):
            raise ImageError("images have one to three dimensions, arrays one or two")
        pitch, last = self.pitch_bytes // texel, max(self.layers, self.depth if self.dimensions == 3 else 1, 1) - 1
        if not (0 < self.width <= pitch <= MOST_TEXELS and 0 < self.height <= MOST_TEXELS and last < MOST_LAYERS):
            raise ImageError(
                f"an image of {self.width} x {self.height} x {last + 1}, {pitch} texels from row to row: at most"
                f" {MOST_TEXELS} x {MOST_TEXELS} x {MOST_LAYERS}"
            )
        kind = (TYPE_1D_ARRAY if self.layers else TYPE_1D) + self.dimensions - 1
        tiling = LINEAR_INDEX if generation == 8 else LINEAR_MODE
        return (
            self.address >> 8 & 0xFFFF_FFFF,
            self.address >> 40 | self.form.data_format << 20 | NUMBERS[self.form.number] << 26,
            self.width - 1 | self.height - 1 << 14,
            self.form.selections | tiling << 20 | kind << 28,
            last | pitch - 1 << 13,
            (last if self.layers else 0) << 13 if generation == 8 else 0,
            0,
            0,
        )


@dataclass(frozen=True)
class ImageSampler:
    """How an image is sampled."""

    clamps: tuple[int, int, int]
    """Clamps in x, y and z."""
    linear: bool
    """Linear filter; False: the nearest texel."""
    normalised: bool
    """Coordinates go from 0 to 1."""

    def words(self) -> tuple[int, ...]:
        """Return the four words of the sampler; its border is transparent black."""
        x, y, z = self.clamps
        filters = (_BILINEAR << 20 | _BILINEAR << 22 | _LINEAR_Z << 24) if self.linear else _POINT_Z << 24
        return x | y << 3 | z << 6 | (not self.normalised) << 15, 0xFFF << 12, filters, 0


def buffer_words(address: int, form: TexelFormat, elements: int, generation: int) -> tuple[int, ...]:
    """Return the resource of a buffer of texels.

    Args:
        address: of the first texel.
        form: format of the texels.
        elements: how many there are.
        generation: the architecture's layout of resources.

    Returns:
        Four words.
    """
    stride = form.texel_bytes
    records = elements * stride if generation == 8 else elements
    word3 = form.selections | NUMBERS[form.number] << 12 | form.data_format << 15
    return address & 0xFFFF_FFFF, address >> 32 & 0xFFFF | stride << 16, records, word3
