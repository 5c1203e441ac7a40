"""Does the data search find the bits, the mappings and the lines that the source's algorithms name?"""

import numpy as np
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from spartan import bitmask, search, sib
from spartan.engine_spec import SUMS_FROM, EngineSpec
from spartan.replacement import CMI_REPLACEMENT
from tests.support.daily import given_daily
from tests.unit.spartan.engine_harness import Bench, sources

EXAMPLES = (6, 12) if JIT_DISABLED else (8, 60)  # daily, nightly
NONE = -1


def with_bits(bits):
    """An engine whose entry 0 has these bits, all profiled."""
    bench = Bench([np.ones((16 * len(bits), 1), np.float32)])
    g = bench.m.engine
    for n, bit in enumerate(bits):
        g.bitmask[n >> 5] |= int(bit) << (n & 31)
    g.meta[0] = bench.call(sib.pack_metadata, 0, 0, len(bits), 0, 0)
    return bench


@given_daily(*EXAMPLES, st.lists(st.booleans(), min_size=1, max_size=150), st.data())
def test_bit_functions_equal_their_definitions(bits, data):
    bench = with_bits(bits)
    ones = [n for n, bit in enumerate(bits) if bit]
    assert bench.call(bitmask.find_first_non_zero_bit, 0) == (ones[0] if ones else NONE)
    at = data.draw(st.integers(0, len(bits) - 1))
    after = [n for n in ones if n > at]
    before = [n for n in reversed(ones) if n < at]
    assert bench.call(bitmask.find_next_non_zero_bit, 0, at) == (after[0] if after else NONE)
    n = data.draw(st.integers(1, len(bits) + 1))
    assert bench.call(bitmask.find_next_bit_location, 0, at, n) == (after[n - 1] if n <= len(after) else NONE)
    assert bench.call(bitmask.find_next_bit_location, 0, at, 0) == at
    assert bench.call(bitmask.find_previous_bit_location, 0, at, n) == (before[n - 1] if n <= len(before) else NONE)


def test_the_source_example():
    """Figure 6.10: sparse lines #1, #4 and #6 are non-zero and make two compacted lines."""
    column = np.zeros((7 * 16, 1), np.float32)
    column[16 : 16 + 9] = 1.5  # 9 elements of #1
    column[4 * 16 + 1 : 4 * 16 + 13] = 2.5  # 7 of #4 up to element 7, 5 more for the next line
    column[6 * 16 + 5 : 7 * 16] = 3.5  # 11 of #6
    bench = Bench([column])
    bench.run([(0, 0), (0, 1)], finish_engine=False)
    assert int(bench.m.engine.bitmask[0]) == 1 << 1 | 1 << 4 | 1 << 6
    cmi = [bench.call(search.get_cmi_entry, 0, i) for i in range(3)]
    assert [(search.nnc_needed(entry), search.cmi_offset(entry)) for entry in cmi[:2]] == [(2, 7), (1, 15)]
    assert cmi[2] == NONE
    assert bench.call(search.find_line_end, 0, 0) == 4
    assert bench.call(search.search_mode, 0, 1) == search.ACCURATE
    assert bench.call(search.addr_calc, 0, 0, 6) == bench.line(0, 6)


@given_daily(
    *EXAMPLES,
    st.integers(2, 60),
    st.sampled_from([0.03, 0.1, 0.4]),
    st.sampled_from([32, 40, 128]),
    st.sampled_from(list(CMI_REPLACEMENT)),
    st.sampled_from(list(SUMS_FROM)),
    st.integers(0, 999),
)
def test_line_ends_are_found_from_both_sides(lines, density, entry_bytes, policy, sums_from, seed):
    rng = np.random.default_rng(seed)
    column = (rng.random((16 * lines, 1)) < density).astype(np.float32)
    spec = EngineSpec(entry_sizes=((65536, entry_bytes),), cmi_replacement=policy, mapping_sums_from=sums_from)
    bench = Bench([column], spec, least_latency=2, spread=3)
    used = sources(column[:, 0])
    bench.run([(0, i) for i in range(max(1, len(used)))], finish_engine=False)
    held = [bool(bench.call(sib.mappings_held, 0, i, i + 1)) for i in range(len(used))]
    for i in range(len(used)):
        if all(held[: i + 1]) or all(held[i + 1 :]):
            assert bench.call(search.find_line_end, 0, i) == used[i][-1]
        expected = search.ACCURATE if held[i] else search.PRUDENT
        assert bench.call(search.search_mode, 0, i) == expected
        assert held[i] or i < len(used) - 1  # the newest is always held


def test_a_full_line_at_the_profiled_end_is_not_settled():
    column = np.zeros((16 * 40, 1), np.float32)
    column[:16] = 1
    column[-1] = 1
    spec = EngineSpec(demand_window_lines=1, prefetch_length=0)
    bench = Bench([column], spec, least_latency=10, spread=0)
    bench.start([(0, 0)], cycles=100)
    assert bench.call(sib.compacted, 0) == 1 and bench.call(sib.profiled, 0) < 40
    assert bench.call(search.search_mode, 0, 0) == search.HASTY
