"""Texels: from the bytes of an image's format to registers and back, and what a filter makes of several.

A number of a texel becomes 32 bits as the resource's NUM_FORMAT says (GCN3 ISA manual, section 8.2.6): integers are
extended, FP16 becomes FP32, an n-bit UNORM is x / (2^n - 1), SNORM max(x / (2^(n-1) - 1), -1), rounded to FP32 once.
What is stored goes the other way: integers, UNORM and SNORM stop at their limits, numbers are rounded to nearest, FP16
to even. How the hardware rounds is not published. Filtered are those FP32 numbers.
"""

from typing import TYPE_CHECKING, Any

from gpusim.base.jit import float_type, jit, ld_u8, ld_u16, ld_u32, st_i16, st_i32, st_u8
from isa.execution.data_movement import single, single_bits
from isa.execution.state import Context, Image

if TYPE_CHECKING:
    Float = Any
else:
    Float = float_type

UNORM, SNORM, UINT, SINT, FLOAT = 0, 1, 4, 5, 7  # NUM_FORMAT
SELECT_ONE, SELECT_CHANNEL = 1, 4  # DST_SEL: 0, 1, or the channels from here on
OPAQUE_BLACK, OPAQUE_WHITE = 1, 2  # BORDER_COLOR_TYPE; 0: transparent black
ONE = 0x3F80_0000
BORDER = -1  # in place of a texel's address


@jit
def channels_of(form):
    """Return how many numbers a texel of DATA_FORMAT `form` has; 0: the format is not supported."""
    if form == 1 or form == 2 or form == 4:
        return 1
    if form == 3 or form == 5 or form == 11:
        return 2
    if form == 13:
        return 3
    return 4 if form == 10 or form == 12 or form == 14 else 0


@jit
def channel_bits_of(form):
    """Return the bits of each number of a texel of DATA_FORMAT `form`, which is supported."""
    if form == 1 or form == 3 or form == 10:
        return 8
    return 16 if form == 2 or form == 5 or form == 12 else 32


@jit
def is_supported(form, number):
    """Return 1 if texels of DATA_FORMAT `form` and NUM_FORMAT `number` are supported."""
    if channels_of(form) == 0:
        return 0
    if number == UINT or number == SINT:
        return 1
    bits = channel_bits_of(form)
    if number == FLOAT:
        return 1 if bits > 8 else 0
    return 1 if bits < 32 and (number == UNORM or number == SNORM) else 0


@jit
def floor(x: Float):
    """Return the largest integer that is no larger than `x`, which is no NaN and within 62 bits."""
    whole = int(x)
    return whole - 1 if whole > x else whole


@jit
def single_of_half(half):
    """Return the FP32 bits of an FP16 number."""
    sign = (half >> 15) << 31
    exponent = (half >> 10) & 31
    mantissa = half & 1023
    if exponent == 0:
        return sign | single_bits(mantissa / 16777216.0)
    if exponent == 31:
        return sign | 0x7F80_0000 | mantissa << 13
    return sign | (exponent + 112) << 23 | mantissa << 13


@jit
def half_of_single(bits):
    """Return the FP16 number closest to an FP32 one, to even between two."""
    sign = (bits >> 16) & 0x8000
    size = bits & 0x7FFF_FFFF
    if size > 0x7F80_0000:
        return sign | 0x7E00
    if size >= 0x477F_F000:
        return sign | 0x7C00
    if size < 0x3880_0000:
        scaled = single(size) * 16777216.0
        whole = floor(scaled)
        rest = scaled - whole
        if rest > 0.5 or (rest == 0.5 and whole & 1):
            whole += 1
        return sign | whole
    return sign | (size + 0xFFF + ((size >> 13) & 1) - 0x3800_0000) >> 13


@jit
def _number(image: Image, raw):
    """Return what a register gets of the bits `raw` of one number."""
    bits = image.bits
    number = image.number
    if number == UINT or (number == FLOAT and bits == 32):
        return raw
    if number == FLOAT:
        return single_of_half(raw)
    if number == UNORM:
        return single_bits(raw / ((1 << bits) - 1.0))
    signed = raw - (((raw >> (bits - 1)) & 1) << bits)
    if number == SINT:
        return signed & 0xFFFF_FFFF
    most = (1 << (bits - 1)) - 1
    return single_bits(-1.0 if signed < -most else signed / (most + 0.0))


@jit
def _one(image: Image):
    return 1 if image.number == UINT or image.number == SINT else ONE


@jit
def component(context: Context, image: Image, address, c):
    """Return the bits of component `c` of the texel at a device address, or of the border."""
    selected = image.select[c]
    if selected < SELECT_CHANNEL:
        return _one(image) if selected == SELECT_ONE else 0
    channel = selected - SELECT_CHANNEL
    if address == BORDER:
        filled = image.border == OPAQUE_WHITE or (image.border == OPAQUE_BLACK and channel == 3)
        return _one(image) if filled else 0
    if channel >= image.channels:
        return _one(image) if channel == 3 else 0
    host = context.image + (address - context.memory_base)
    if image.bits == 8:
        return _number(image, ld_u8(host, channel))
    return _number(image, ld_u16(host, channel) if image.bits == 16 else ld_u32(host, channel))


@jit
def store_channel(image: Image, host, channel, bits):
    """Store the 32 bits of a register as number `channel` of the texel at host address `host`.

    Returns 1 if that was the number already, else 0.
    """
    width = image.bits
    number = image.number
    raw = bits
    most = (1 << width) - 1
    if number == UINT:
        raw = min(bits, most)
    elif number == SINT:
        signed = bits - ((bits >> 31) << 32)
        raw = max(min(signed, most >> 1), -(most >> 1) - 1)
    elif number == FLOAT:
        if width == 16:
            raw = half_of_single(bits)
    else:
        value = single(bits)
        least = 0.0 if number == UNORM else -1.0
        if number == SNORM:
            most >>= 1
        value = least if value < least else (value if value <= 1.0 else (1.0 if value > 1.0 else 0.0))  # NaN: 0
        raw = floor(value * most + 0.5)
    raw &= (1 << width) - 1
    if width == 8:
        stored = ld_u8(host, channel)
        st_u8(host, channel, raw)
    elif width == 16:
        stored = ld_u16(host, channel)
        st_i16(host, channel, raw - ((raw >> 15) << 16))
    else:
        stored = ld_u32(host, channel)
        st_i32(host, channel, raw - ((raw >> 31) << 32))
    return 1 if stored == raw else 0
