"""Address map: numbers are the XOR of the address bits that masks name, every line has one place, and what would give
two lines one place is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gpusim.base.jit import new_record, record_dtype
from gpusim.model.core.gpu_spec import GpuSpec
from isa.trace import LINE_SPARSE
from memory.address_map import (
    ADDRESS_MAP,
    BANK,
    bank_of_line,
    check_masks,
    check_places,
    configure_address_map,
    dram_channel,
    dram_local_line,
    l2_channel,
    l2_local_line,
    own_channel_bits,
    plain_masks,
    set_matrix,
)
from memory.dram.mapping import bank_masks, channel_masks, check_mapping
from memory.dram.spec import DramSpec, resolve
from memory.dram.standards import STANDARDS
from tests.support.daily import given_daily
from tests.support.machines import allow_further_layouts

RECORD = record_dtype((ADDRESS_MAP,))
MASK = st.integers(1, (1 << 20) - 1).map(lambda lines: lines << 6)


def hashed_masks(bits: int, hashed: int, first: int = 8) -> tuple[int, ...]:
    """Bits from `first` on, of which `hashed` are XORed with the bits above the number."""
    return tuple(1 << first + k | (k < hashed) << first + bits + k for k in range(bits))


def machine(l2=hashed_masks(4, 0), dram=hashed_masks(3, 0), interleave=256):
    allow_further_layouts()
    m = new_record(RECORD)
    configure_address_map(m, interleave, l2, dram)
    return m


def xor_of_bits(masks, address):
    """The number by its definition, bit after bit."""
    number = 0
    for k, mask in enumerate(masks):
        for bit in range(64):
            if mask >> bit & 1:
                number ^= (address >> bit & 1) << k
    return number


@given_daily(10, 30, *[st.lists(MASK, max_size=5)] * 2, st.lists(MASK, max_size=6), st.integers(0, (1 << 36) - 1))
def test_a_number_is_the_xor_of_the_bits_that_its_masks_name(l2, dram, bank, line):
    m = machine(l2, dram)
    set_matrix(m, BANK, bank)
    numbers = [function(m, line) for function in (l2_channel, dram_channel, bank_of_line)]
    assert numbers == [xor_of_bits(masks, line << 6) for masks in (l2, dram, bank)]


@given_daily(
    20,
    60,
    st.integers(0, 2),
    st.integers(0, 4),
    st.lists(st.integers(1, 255), min_size=4, max_size=4),
    st.booleans(),
)
def test_lines_have_a_place_each_just_where_the_masks_are_taken(low, bits, masks, plain):
    interleave = 64 << low
    own = own_channel_bits(1 << bits, interleave)
    chosen = plain_masks(own) if plain else [mask << 6 for mask in masks[:bits]]
    m = machine(chosen, chosen, interleave)
    places = {(l2_channel(m, x), l2_local_line(m, x)) for x in range(256)}
    assert places == {(dram_channel(m, x), dram_local_line(m, x)) for x in range(256)}
    if len(places) == 256:
        check_places("masks", chosen, own)
    else:
        with pytest.raises(ValueError, match="several lines would have one place"):
            check_places("masks", chosen, own)


@pytest.mark.parametrize("name", STANDARDS)
@pytest.mark.parametrize(("channels", "interleave"), [(1, 64), (4, 256), (32, 1024)])
def test_every_standards_banks_have_masks_that_are_taken(name, channels, interleave):
    spec = DramSpec(standard=name, channels=channels)
    check_mapping(spec, interleave)
    masks = bank_masks(spec, resolve(spec), interleave)
    assert len(masks) == resolve(spec).rank_banks.bit_length() - 1
    assert all(mask.bit_count() == 2 for mask in masks)  # a bit of its own, and one of the row's


def test_a_bank_mask_may_take_channel_bits_but_not_make_two_places_one():
    # channel bits 8 to 10; banks of MI6 have address bits 11, 12, 16 and 17 to themselves
    spec = DramSpec(bank_masks=(0x900, 0x1400, 0x10000, 0x20000))
    check_mapping(spec, 256)
    assert channel_masks(spec, 256) == (0x100, 0x200, 0x400)
    twice = spec.model_copy(update={"bank_masks": (0x800, 0x1000, 0x11000, 0x1800)})
    with pytest.raises(ValueError, match=r"dram.channel_masks and dram.bank_masks: .* 0x1800 is nothing"):
        check_mapping(twice, 256)
    with pytest.raises(ValidationError, match=r"dram.channel_masks and dram.bank_masks: .* 0x1800 is nothing"):
        GpuSpec(dram=twice)


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ((0x100,), "1 masks for a number of 2 bits; allowed are as many, or null"),
        ((0x100, 0x20), "0x20 is not allowed"),
        ((0x100, 0), "0x0 is not allowed"),
        ((0x100, -256), "-0x100 is not allowed"),
        ((0x100, 1 << 48), "0x1000000000000 is not allowed"),
    ],
)
def test_masks_that_name_no_bits_or_are_too_few_are_refused(masks, message):
    with pytest.raises(ValueError, match=message):
        check_masks("l2.channel_masks", masks, 2)


def test_a_gpu_says_which_of_its_masks_is_wrong():
    for part, channels in (("l2", 8), ("dram", 8)):
        masks = hashed_masks(3, 1)[:2] + (0x900,)
        with pytest.raises(ValueError, match=rf"{part}\.channel_masks: in the address bits 8, 9, 10, 0x900"):
            GpuSpec(**{part: {"channels": channels, "channel_masks": masks}})


def test_plain_interleaving():
    m = machine()
    assert [l2_channel(m, x) for x in (0, 3, 4, 63, 64)] == [0, 0, 1, 15, 0]
    assert [l2_local_line(m, x) for x in (0, 3, 4, 63, 64)] == [0, 3, 0, 3, 4]
    assert [dram_channel(m, x) for x in (0, 28, 32)] == [0, 7, 0]


@pytest.mark.parametrize(("hashed", "channels"), [(0, 1), (1, 2), (2, 4), (4, 16)])
def test_so_many_channels_serve_a_stride_of_all_channels(hashed, channels):
    stride = 16 << 2
    assert len({l2_channel(machine(hashed_masks(4, hashed)), i * stride) for i in range(64)}) == channels


@settings(deadline=None, max_examples=50)
@given(st.lists(MASK, min_size=4, max_size=4), st.integers(0, (1 << 40) - 1))
def test_sparse_mark_takes_no_part(masks, line):
    m = machine(masks, masks)
    set_matrix(m, BANK, masks)
    for function in (l2_channel, l2_local_line, dram_channel, dram_local_line, bank_of_line):
        assert function(m, line | LINE_SPARSE) == function(m, line)
