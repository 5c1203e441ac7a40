"""Address map: every line has one position, successive blocks spread evenly, the sparse mark takes no part."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.jit import new_record, record_dtype
from isa.trace import LINE_SPARSE
from memory.address_map import (
    ADDRESS_MAP,
    configure_address_map,
    dram_channel,
    dram_local_line,
    l2_channel,
    l2_local_line,
)
from tests.support.machines import allow_further_layouts

RECORD = record_dtype((ADDRESS_MAP,))
BITS = st.integers(0, 5)


def machine(l2_bits=4, dram_bits=3, interleave=2, hashed=0):
    allow_further_layouts()
    m = new_record(RECORD)
    configure_address_map(m, 1 << l2_bits, 1 << dram_bits, 64 << interleave, hashed, hashed)
    return m


@settings(deadline=None, max_examples=50)
@given(BITS, BITS, st.integers(0, 6), BITS, st.integers(0, 1 << 30))
def test_channel_and_local_line_name_a_line_uniquely(l2_bits, dram_bits, interleave, hashed, start):
    m = machine(l2_bits, dram_bits, interleave, hashed)
    lines = range(start, start + 64)
    assert len({(l2_channel(m, x), l2_local_line(m, x)) for x in lines}) == 64
    assert len({(dram_channel(m, x), dram_local_line(m, x)) for x in lines}) == 64
    assert all(0 <= l2_channel(m, x) < 1 << l2_bits and 0 <= dram_channel(m, x) < 1 << dram_bits for x in lines)


@settings(deadline=None, max_examples=50)
@given(BITS, st.integers(0, 1 << 20))
def test_successive_blocks_visit_every_channel_equally(hashed, block):
    m = machine(hashed=hashed)
    base = (block * 16) << 2
    channels = [l2_channel(m, base + (i << 2)) for i in range(16)]
    assert sorted(channels) == list(range(16))


def test_plain_interleaving():
    m = machine()
    assert [l2_channel(m, x) for x in (0, 3, 4, 63, 64)] == [0, 0, 1, 15, 0]
    assert [l2_local_line(m, x) for x in (0, 3, 4, 63, 64)] == [0, 3, 0, 3, 4]
    assert [dram_channel(m, x) for x in (0, 28, 32)] == [0, 7, 0]


@pytest.mark.parametrize(("hashed", "channels"), [(0, 1), (1, 2), (2, 4), (4, 16), (5, 16)])
def test_so_many_channels_serve_a_stride_of_all_channels(hashed, channels):
    stride = 16 << 2
    assert len({l2_channel(machine(hashed=hashed), i * stride) for i in range(64)}) == channels


@settings(deadline=None, max_examples=50)
@given(BITS, BITS, BITS, st.integers(0, (1 << 30) - 1))
def test_hashed_bits_are_sums_without_carry_with_the_bits_above_the_number(l2_bits, dram_bits, hashed, block):
    m = machine(l2_bits=l2_bits, dram_bits=dram_bits, hashed=hashed)
    for bits, channel in ((l2_bits, l2_channel), (dram_bits, dram_channel)):
        expected = sum(((block >> k & 1) ^ (k < hashed and block >> (k + bits) & 1)) << k for k in range(bits))
        assert channel(m, block << 2) == expected


@settings(deadline=None, max_examples=50)
@given(st.integers(0, (1 << 40) - 1), BITS)
def test_sparse_mark_takes_no_part(line, hashed):
    m = machine(hashed=hashed)
    for function in (l2_channel, l2_local_line, dram_channel, dram_local_line):
        assert function(m, line | LINE_SPARSE) == function(m, line)
