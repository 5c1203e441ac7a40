"""Which L2 channel and which DRAM channel a line belongs to.

Lines are numbers: byte address >> 6. The sparse mark (`LINE_SPARSE`) never takes part in the mapping: a compacted
line lives in the channel of its address.
"""

from gpusim.jit import Field, State, jit
from isa.trace import LINE_ADDRESS_MASK, LINE_BYTES

MAX_L2_CHANNELS = 32
MAX_DRAM_CHANNELS = 32

ADDRESS_MAP = State(
    "map",
    {
        "l2_channels": Field((), "number of L2 channels, a power of two"),
        "l2_channel_bits": Field((), "log2 of it"),
        "dram_channels": Field((), "number of DRAM channels, a power of two"),
        "dram_channel_bits": Field((), "log2 of it"),
        "interleave_lines_bits": Field((), "log2 of the lines that follow one another in one channel"),
        "l2_hash_mask": Field((), "bits of an L2 channel's number into which the bits above it are XORed"),
        "dram_hash_mask": Field((), "the same of a DRAM channel's number"),
    },
)


def configure_address_map(  # type: ignore[no-untyped-def]
    m, l2_channels: int, dram_channels: int, interleave_bytes: int, l2_hash_bits: int, dram_hash_bits: int
) -> None:
    """Set the number of channels in the machine record, and how lines are interleaved over them.

    interleave_bytes: so many consecutive bytes go to one channel; hash_bits: of so many low bits of a channel's number,
    each is XORed with the address bit that stands as far above it as a channel's number has bits.
    """
    a = m.map
    a.l2_channels, a.dram_channels = l2_channels, dram_channels
    a.l2_channel_bits = l2_channels.bit_length() - 1
    a.dram_channel_bits = dram_channels.bit_length() - 1
    a.interleave_lines_bits = (interleave_bytes // LINE_BYTES).bit_length() - 1
    a.l2_hash_mask, a.dram_hash_mask = (1 << l2_hash_bits) - 1, (1 << dram_hash_bits) - 1


@jit
def _channel(m, line, bits, hash_mask):
    block = (line & LINE_ADDRESS_MASK) >> m.map.interleave_lines_bits
    return (block ^ (block >> bits & hash_mask)) & ((1 << bits) - 1)


@jit
def l2_channel(m, line):
    """Return the L2 channel of a line."""
    return _channel(m, line, m.map.l2_channel_bits, m.map.l2_hash_mask)


@jit
def dram_channel(m, line):
    """Return the DRAM channel of a line."""
    return _channel(m, line, m.map.dram_channel_bits, m.map.dram_hash_mask)


@jit
def _local(m, line, bits):
    """Return a line's number within its channel: the address with the channel bits taken out."""
    low = m.map.interleave_lines_bits
    plain = line & LINE_ADDRESS_MASK
    return ((plain >> (low + bits)) << low) | (plain & ((1 << low) - 1))


@jit
def l2_local_line(m, line):
    """Return a line's number within its L2 channel (indexes the sets)."""
    return _local(m, line, m.map.l2_channel_bits)


@jit
def dram_local_line(m, line):
    """Return a line's number within its DRAM channel (gives bank, row and column)."""
    return _local(m, line, m.map.dram_channel_bits)
