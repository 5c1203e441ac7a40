"""The address bits of DRAM channels and banks: what a configuration says, or what follows where it says nothing."""

from typing import TYPE_CHECKING

from isa.trace import LINE_BYTES
from memory.address_map import check_masks, check_places, own_channel_bits, plain_masks
from memory.dram.timing import DramTiming, resolve

if TYPE_CHECKING:
    from memory.dram.spec import DramSpec


def _bits(number: int) -> int:
    return number.bit_length() - 1


def _own_bits(spec: "DramSpec", timing: DramTiming, interleave_bytes: int) -> tuple[list[int], list[int]]:
    """Return the address bits that a bank's number has to itself, and the lowest ones of the row, one for each."""

    def address_bit(local: int) -> int:
        """Return the address bit of a bit of the line's number within its channel."""
        bit = _bits(LINE_BYTES) + local
        return bit if bit < _bits(interleave_bytes) else bit + _bits(spec.channels)

    groups, banks, pseudo = _bits(timing.bank_groups), _bits(timing.banks_per_group), _bits(timing.pseudo_channels)
    group = _bits(spec.group_interleave_lines) + pseudo
    bank = pseudo + groups + _bits(timing.lines_per_row)
    row = bank + banks + _bits(timing.ranks)
    own = [*range(group, group + groups), *range(bank, bank + banks)]
    of_row = [*range(row + banks, row + banks + groups), *range(row, row + banks)]
    return [address_bit(bit) for bit in own], [address_bit(bit) for bit in of_row]


def channel_masks(spec: "DramSpec", interleave_bytes: int) -> tuple[int, ...]:
    """Return the address bits of a channel's number, a mask for each of its bits.

    Args:
        spec: Its configuration.
        interleave_bytes: Bytes that follow one another in one channel.
    """
    own = own_channel_bits(spec.channels, interleave_bytes)
    return plain_masks(own) if spec.channel_masks is None else spec.channel_masks


def plain_bank_masks(spec: "DramSpec", interleave_bytes: int = 256) -> tuple[int, ...]:
    """Return the masks of banks that are address bits as they are: the bank group in the low bits of the number."""
    return plain_masks(_own_bits(spec, resolve(spec), interleave_bytes)[0])


def bank_masks(spec: "DramSpec", timing: DramTiming, interleave_bytes: int) -> tuple[int, ...]:
    """Return the address bits of a bank's number; where none are given, the row's low bits are added to its own."""
    if spec.bank_masks is not None:
        return spec.bank_masks
    own, of_row = (plain_masks(bits) for bits in _own_bits(spec, timing, interleave_bytes))
    return tuple(a | b for a, b in zip(own, of_row, strict=True))


def check_mapping(spec: "DramSpec", interleave_bytes: int) -> None:
    """Raise ValueError unless every line has a place of its own in a channel, bank, row and column.

    Args:
        spec: Its configuration.
        interleave_bytes: Bytes that follow one another in one channel.
    """
    timing = resolve(spec)
    channel, bank = channel_masks(spec, interleave_bytes), bank_masks(spec, timing, interleave_bytes)
    of_channel = own_channel_bits(spec.channels, interleave_bytes)
    of_bank = _own_bits(spec, timing, interleave_bytes)[0]
    check_masks("dram.channel_masks", channel, len(of_channel))
    check_masks("dram.bank_masks", bank, len(of_bank))
    check_places("dram.channel_masks", channel, of_channel)
    check_places("dram.channel_masks and dram.bank_masks", [*channel, *bank], [*of_channel, *of_bank])
