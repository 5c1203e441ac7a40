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
        "hash_channels": Field((), "1: higher address bits are XORed into the channel number"),
    },
)


def configure_address_map(  # type: ignore[no-untyped-def]
    m, l2_channels: int, dram_channels: int, interleave_bytes: int, hash_channels: bool
) -> None:
    """Say in the machine record how many channels there are, and how `interleave_bytes` after another go to them."""
    a = m.map
    a.l2_channels, a.dram_channels = l2_channels, dram_channels
    a.l2_channel_bits = l2_channels.bit_length() - 1
    a.dram_channel_bits = dram_channels.bit_length() - 1
    a.interleave_lines_bits = (interleave_bytes // LINE_BYTES).bit_length() - 1
    a.hash_channels = int(hash_channels)


@jit
def _folded(m, line, bits):
    block = (line & LINE_ADDRESS_MASK) >> m.map.interleave_lines_bits
    channel = block
    if m.map.hash_channels:
        channel = block ^ (block >> bits) ^ (block >> (2 * bits)) ^ (block >> (3 * bits))
    return channel & ((1 << bits) - 1)


@jit
def l2_channel(m, line):
    """L2 channel of a line."""
    return _folded(m, line, m.map.l2_channel_bits)


@jit
def dram_channel(m, line):
    """DRAM channel of a line."""
    return _folded(m, line, m.map.dram_channel_bits)


@jit
def _local(m, line, bits):
    """Line number within its channel: the address with the channel bits taken out."""
    low = m.map.interleave_lines_bits
    plain = line & LINE_ADDRESS_MASK
    return ((plain >> (low + bits)) << low) | (plain & ((1 << low) - 1))


@jit
def l2_local_line(m, line):
    """Line number within its L2 channel (indexes the sets)."""
    return _local(m, line, m.map.l2_channel_bits)


@jit
def dram_local_line(m, line):
    """Line number within its DRAM channel (gives bank, row and column)."""
    return _local(m, line, m.map.dram_channel_bits)
