"""Does an entry hold everything in its 48 bits of metadata, its bits and its mapping bytes?"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gpusim.base.jit import JIT_DISABLED
from isa.region import SparseRegion
from spartan import sib
from spartan.engine_spec import METADATA_BITS, EngineSpec
from spartan.replacement import CMI_REPLACEMENT, REPLACEMENT, are_held, mapping_place
from spartan.sib_layout import sib_layout
from tests.unit.spartan.engine_harness import Bench, sources

EXAMPLES = 10 if JIT_DISABLED else 40
SMALL = np.ones((16, 1), np.float32)


@pytest.mark.parametrize(
    ("rows", "entry_bytes"),
    [
        (65536, 1024),
        (1, 32),
        (1023, 32),
        (1024, 64),
        (2047, 64),
        (2048, 128),
        (4096, 128),
        (4097, 256),
        (31872, 256),
        (32000, 512),
    ],
)
def test_entry_sizes_by_rows(rows, entry_bytes):
    leading = -(-rows // 16) * 16
    layout = sib_layout(EngineSpec(), [SparseRegion(0, rows, 3, leading)])
    assert layout.entry_bytes == entry_bytes
    assert layout.bitmask_bytes == -(-rows // 128)
    assert layout.mappings == entry_bytes - 6 - layout.bitmask_bytes >= 1
    assert layout.entries == 512 * 1024 // entry_bytes


@given(st.integers(1, 65536), st.data())
@settings(max_examples=300, deadline=None)
def test_every_matrix_that_fits_four_gigabytes_fits_the_metadata(rows, data):
    leading = -(-rows // 16) * 16
    most = (1 << 32) // (4 * leading)
    columns = data.draw(st.sampled_from([1, 93312, most, max(1, most - 1)]).filter(lambda n: n <= most))
    sib_layout(EngineSpec(), [SparseRegion(0, rows, columns, leading)])


def test_too_many_columns_are_refused():
    with pytest.raises(ValueError, match="metadata"):
        sib_layout(EngineSpec(), [SparseRegion(0, 65536, 1 << 15, 65536)])


def test_sizes_are_checked():
    with pytest.raises(ValidationError):
        EngineSpec(entry_sizes=((2048, 64), (1024, 128), (65536, 256)))
    with pytest.raises(ValidationError):
        EngineSpec(entry_sizes=((1024, 64),))
    with pytest.raises(ValidationError):
        EngineSpec(sib_kib=1, entry_sizes=((65536, 2048),))
    with pytest.raises(ValueError, match="hold no entry"):
        sib_layout(EngineSpec(sib_kib=1, entry_sizes=((65536, 518),)), [SparseRegion(0, 65536, 1, 65536)])


@given(st.integers(1, 4096), st.data())
@settings(max_examples=EXAMPLES, deadline=None)
def test_metadata_fields_come_back_and_take_48_bits(lines, data):
    bench = Bench([SMALL])
    m = bench.m
    w = lines.bit_length()
    m.engine.line_bits = w
    column = data.draw(st.integers(0, (1 << (METADATA_BITS - 8 - 2 * w)) - 1))
    t, p = data.draw(st.integers(0, lines)), data.draw(st.integers(0, lines))
    offset, tail = data.draw(st.integers(0, 15)), data.draw(st.integers(0, 15))
    word = bench.call(sib.pack_metadata, column, t, p, offset, tail)
    assert 0 <= word < 1 << METADATA_BITS
    m.engine.meta[0] = word
    m.engine.mappings = 1
    got = [bench.call(f, 0) for f in (sib.entry_column, sib.compacted, sib.profiled, sib.tail)]
    assert got == [column, t, p, tail]
    assert t < 2 or bench.call(sib.mapping_offset, 0, 0) == offset  # line 0 has left the window of one


def test_one_byte_represents_every_mapping_that_can_occur():
    cases = [(needed, offset, 0) for needed in range(1, 17) for offset in range(16)]  # another line follows
    cases += [(needed, 15, 1) for needed in range(17)]  # last of the column: nothing is left after its last element
    for needed, offset, last in cases:
        byte = int(sib.mapping_byte(needed, offset))
        assert 0 <= byte < 256
        assert (sib.byte_needed(byte, last), sib.byte_offset(byte, last)) == (needed, offset)


def naive_mappings(column):
    """(NNC_needed, offset) of each compacted line of a column, from the source's definition."""
    rows = np.flatnonzero(column)
    used = sources(column)
    out = []
    for i, lines in enumerate(used):
        end = int(rows[min(16 * i + 15, len(rows) - 1)])
        left = rows[(rows > end) & (rows // 16 == end // 16)]
        shared = i > 0 and lines[0] == used[i - 1][-1]
        out.append((len(lines) - int(shared), end % 16 if len(left) else 15))
    return out


@given(
    st.sampled_from([1, 5, 30, 120, 190]),
    st.sampled_from([0.02, 0.1, 0.3, 1.0]),
    st.sampled_from([32, 48, 64]),
    st.integers(0, 999),
)
@example(190, 0.3, 32, 3)  # a window of two mappings
@example(120, 0.02, 48, 2)  # lines that need 16 others
@settings(max_examples=EXAMPLES, deadline=None)
def test_the_window_holds_the_newest_mappings_of_a_profiled_column(lines, density, entry_bytes, seed):
    rng = np.random.default_rng(seed)
    column = (rng.random((16 * lines, 1)) < density).astype(np.float32)
    spec = EngineSpec(entry_sizes=((65536, entry_bytes),))
    bench = Bench([column], spec, least_latency=2, spread=3)
    expected = naive_mappings(column[:, 0])
    counters = bench.run([(0, i) for i in range(max(1, len(expected)))], finish_engine=False)
    window = bench.buffers.layout.mappings
    first = max(0, len(expected) - window)
    assert counters["cmi_evictions"] == first
    assert [bench.call(sib.mappings_held, 0, i, i + 1) for i in range(len(expected))] == [
        int(i >= first) for i in range(len(expected))
    ]
    assert (bench.call(sib.compacted, 0), bench.call(sib.profiled, 0)) == (len(expected), lines)
    held = [
        (bench.call(sib.mapping_needed, 0, i), bench.call(sib.mapping_offset, 0, i))
        for i in range(first, len(expected))
    ]
    assert held == expected[first:]
    if first:
        assert bench.call(sib.mapping_offset, 0, first - 1) == expected[first - 1][1]
    bits = [(int(bench.m.engine.bitmask[n >> 5]) >> (n & 31)) & 1 for n in range(lines)]
    assert bits == [int(column[16 * n : 16 * n + 16].any()) for n in range(lines)]
    assert 0 <= int(bench.m.engine.meta[0]) < 1 << METADATA_BITS


@given(st.sampled_from(list(CMI_REPLACEMENT)), st.integers(1, 5), st.integers(0, 12))
def test_a_window_holds_the_mappings_that_a_plain_one_holds(policy, capacity, count):
    """Where each goes and which are there, beside a list that the policy's definition is written for."""
    window = [None] * capacity
    for i in range(count):
        window[mapping_place(CMI_REPLACEMENT[policy], capacity, i)] = i
    newest = list(range(max(0, count - capacity), count))
    first = [*range(min(count, capacity - 1)), *range(max(count - 1, capacity - 1), count)]
    kept = {"sliding": newest, "first": first}[policy]
    assert sorted(i for i in window if i is not None) == kept
    for low in range(count + 1):
        for high in range(low, count + 1):
            held = all(i in kept for i in range(low, high))
            assert are_held(CMI_REPLACEMENT[policy], capacity, count, low, high) == held, (low, high)


@pytest.mark.parametrize("policy", REPLACEMENT)
def test_the_entry_that_leaves(policy):
    left = {"lru": 1, "fifo": 0}[policy]
    matrix = np.ones((64, 3), np.float32)
    spec = EngineSpec(sib_kib=1, entry_sizes=((65536, 512),), sib_replacement=policy)
    bench = Bench([matrix], spec, serial=True)
    counters = bench.run([(0, 0), (1, 0), (0, 1), (2, 0)], finish_engine=False)
    assert counters["sib_evictions"] == 1
    assert [n for n in range(3) if bench.buffers.by_column[n] == 0] == [left]
