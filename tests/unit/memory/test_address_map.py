"""Address map: every line has one position, successive blocks spread evenly, the sparse mark takes no part."""

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
    configure_address_map(m, 1 << l2_bits, 1 << dram_bits, 64 << interleave, bool(hashed))
    return m


@settings(deadline=None, max_examples=50)
@given(BITS, BITS, st.integers(0, 6), st.integers(0, 1), st.integers(0, 1 << 30))
def test_channel_and_local_line_name_a_line_uniquely(l2_bits, dram_bits, interleave, hashed, start):
    m = machine(l2_bits, dram_bits, interleave, hashed)
    lines = range(start, start + 64)
    assert len({(l2_channel(m, x), l2_local_line(m, x)) for x in lines}) == 64
    assert len({(dram_channel(m, x), dram_local_line(m, x)) for x in lines}) == 64
    assert all(0 <= l2_channel(m, x) < 1 << l2_bits and 0 <= dram_channel(m, x) < 1 << dram_bits for x in lines)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 1), st.integers(0, 1 << 20))
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


def test_hash_spreads_a_power_of_two_stride():
    stride = 16 << 2
    assert len({l2_channel(machine(), i * stride) for i in range(64)}) == 1
    assert len({l2_channel(machine(hashed=1), i * stride) for i in range(64)}) == 16


@settings(deadline=None, max_examples=50)
@given(BITS, st.integers(0, (1 << 30) - 1))
def test_the_hash_is_the_sum_without_carry_of_four_fields_of_the_address(bits, block):
    fields = [block >> k * bits & ((1 << bits) - 1) for k in range(4)]
    expected = fields[0] ^ fields[1] ^ fields[2] ^ fields[3]
    m = machine(l2_bits=bits, dram_bits=bits, hashed=1)
    assert l2_channel(m, block << 2) == dram_channel(m, block << 2) == expected


@settings(deadline=None, max_examples=50)
@given(st.integers(0, (1 << 40) - 1), st.integers(0, 1))
def test_sparse_mark_takes_no_part(line, hashed):
    m = machine(hashed=hashed)
    for function in (l2_channel, l2_local_line, dram_channel, dram_local_line):
        assert function(m, line | LINE_SPARSE) == function(m, line)
