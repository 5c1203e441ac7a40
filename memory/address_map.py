"""Which L2 channel, DRAM channel and bank a line belongs to.

Each is a number whose bits are sums without carry of address bits: a row of masks is the matrix over GF(2) that gives
it, a mask for each bit of the number, from the lowest. What is left of an address, without the bits that a number has
to itself, is a line's place within the channel; so a matrix has to be invertible in those bits.

Lines are numbers: byte address >> 6. The sparse mark (`LINE_SPARSE`) never takes part in the mapping: a compacted
line lives in the channel of its address.
"""

from collections.abc import Sequence
from functools import reduce

from gpusim.base.jit import Field, Machine, State, jit
from isa.trace import LINE_ADDRESS_MASK, LINE_BYTES

MAX_L2_CHANNELS = 32
MAX_DRAM_CHANNELS = 32
ADDRESS_BITS = 48
LINE_BITS = LINE_BYTES.bit_length() - 1

L2_CHANNEL, DRAM_CHANNEL, BANK = range(3)  # matrices of the map

MATRIX = State(
    "matrix",
    {
        "diagonals": Field((), "its diagonals that are not zero"),
        "shift": Field((ADDRESS_BITS,), "of a diagonal: address bit of the number's bit 0"),
        "mask": Field((ADDRESS_BITS,), "of a diagonal: bits of the number to which it adds an address bit"),
    },
)

ADDRESS_MAP = State(
    "map",
    {
        "l2_channels": Field((), "number of L2 channels, a power of two"),
        "l2_channel_bits": Field((), "log2 of it"),
        "dram_channels": Field((), "number of DRAM channels, a power of two"),
        "dram_channel_bits": Field((), "log2 of it"),
        "interleave_lines_bits": Field((), "log2 of the lines that follow one another in one channel"),
        "matrix": Field((3,), "address bits of L2_CHANNEL, DRAM_CHANNEL and BANK", MATRIX.dtype()),
    },
)


def plain_masks(address_bits: Sequence[int]) -> tuple[int, ...]:
    """Return the masks of a number whose bits are these address bits as they are."""
    return tuple(1 << bit for bit in address_bits)


def own_channel_bits(channels: int, interleave_bytes: int) -> range:
    """Return the address bits that a channel's number has to itself: those above what follows one another in one.

    Args:
        channels: Number of channels.
        interleave_bytes: Bytes that follow one another in one channel.
    """
    first = interleave_bytes.bit_length() - 1
    return range(first, first + channels.bit_length() - 1)


def check_masks(name: str, masks: Sequence[int], bits: int) -> None:
    """Raise ValueError unless there are as many masks as bits, of the address bits that tell lines apart.

    Args:
        name: Name of the value, for the message.
        masks: A mask of address bits for each bit of the number.
        bits: Bits of the number.
    """
    for mask in masks:
        if not 0 < mask < 1 << ADDRESS_BITS or mask % LINE_BYTES:
            raise ValueError(
                f"{name}: {mask:#x} is not allowed: a mask has bits of {LINE_BITS} to {ADDRESS_BITS - 1}, those of the "
                "address that tell lines apart"
            )
    if len(masks) != bits:
        raise ValueError(f"{name}: {len(masks)} masks for a number of {bits} bits; allowed are as many, or null")


def check_places(name: str, masks: Sequence[int], own_bits: Sequence[int]) -> None:
    """Raise ValueError unless every line has a place of its own.

    Args:
        name: Name of the value, for the message.
        masks: A mask of address bits for each bit of the number.
        own_bits: The address bits, as many as masks, that a line's place within what the masks number lacks.
    """
    own = sum(plain_masks(own_bits))
    reduced: list[int] = []
    for mask in masks:
        rest = reduce(lambda value, row: min(value, value ^ row), reduced, mask & own)
        if rest == 0:
            raise ValueError(
                f"{name}: in the address bits {', '.join(map(str, sorted(own_bits)))}, {mask:#x} is nothing that the "
                "masks before it do not give: several lines would have one place"
            )
        reduced = sorted([*reduced, rest], reverse=True)


def set_matrix(m: Machine, which: int, masks: Sequence[int]) -> None:  # type: ignore[no-untyped-def]
    """Set one of the map's matrices in the machine record.

    Args:
        m: Machine record.
        which: Number of the matrix.
        masks: A mask of address bits for each bit of the number.
    """
    diagonals: dict[int, int] = {}
    for row, mask in enumerate(masks):
        for bit in range(ADDRESS_BITS):
            if mask >> bit & 1:
                diagonals[bit - row] = diagonals.get(bit - row, 0) | 1 << row
    matrix = m.map.matrix[which]
    matrix["diagonals"] = len(diagonals)
    matrix["mask"][:] = 0
    matrix["shift"][: len(diagonals)] = list(diagonals)
    matrix["mask"][: len(diagonals)] = list(diagonals.values())


def configure_address_map(  # type: ignore[no-untyped-def]
    m: Machine, interleave_bytes: int, l2_channel_masks: Sequence[int], dram_channel_masks: Sequence[int]
) -> None:
    """Set the channels in the machine record: as many as their masks can number.

    The banks' matrix is `configure_dram`'s.

    Args:
        m: Machine record.
        interleave_bytes: So many consecutive bytes go to one channel.
        l2_channel_masks: Masks of L2's channel number.
        dram_channel_masks: Masks of DRAM's channel number.
    """
    a = m.map
    a.l2_channel_bits, a.dram_channel_bits = len(l2_channel_masks), len(dram_channel_masks)
    a.l2_channels, a.dram_channels = 1 << len(l2_channel_masks), 1 << len(dram_channel_masks)
    a.interleave_lines_bits = (interleave_bytes // LINE_BYTES).bit_length() - 1
    set_matrix(m, L2_CHANNEL, l2_channel_masks)
    set_matrix(m, DRAM_CHANNEL, dram_channel_masks)


@jit(inline=True)
def _number(m: Machine, which, line):
    """Return a matrix's number of a line; it has few diagonals: one without a hash, two of the shipped GPUs' hashes.

    The mask of a diagonal that is not there is zero, so that the first two need no loop.
    """
    matrix = m.map.matrix[which]
    address = (line & LINE_ADDRESS_MASK) * LINE_BYTES
    number = (address >> matrix.shift[0]) & matrix.mask[0]
    number ^= (address >> matrix.shift[1]) & matrix.mask[1]
    for diagonal in range(2, matrix.diagonals):
        number ^= (address >> matrix.shift[diagonal]) & matrix.mask[diagonal]
    return number


@jit
def l2_channel(m: Machine, line):
    """Return the L2 channel of a line."""
    return _number(m, L2_CHANNEL, line)


@jit
def dram_channel(m: Machine, line):
    """Return the DRAM channel of a line."""
    return _number(m, DRAM_CHANNEL, line)


@jit
def bank_of_line(m: Machine, line):
    """Return the bank of a line, numbered within its rank or pseudo-channel."""
    return _number(m, BANK, line)


@jit
def _local(m: Machine, line, bits):
    """Return a line's number within its channel: the address with the channel bits taken out."""
    low = m.map.interleave_lines_bits
    plain = line & LINE_ADDRESS_MASK
    return ((plain >> (low + bits)) << low) | (plain & ((1 << low) - 1))


@jit
def l2_local_line(m: Machine, line):
    """Return a line's number within its L2 channel (indexes the sets)."""
    return _local(m, line, m.map.l2_channel_bits)


@jit
def dram_local_line(m: Machine, line):
    """Return a line's number within its DRAM channel (gives row and column)."""
    return _local(m, line, m.map.dram_channel_bits)
