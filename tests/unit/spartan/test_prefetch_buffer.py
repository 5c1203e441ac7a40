"""Who has to leave the prefetch buffer, and does a full one stand still?"""

import numpy as np
import pytest

from gpusim.base.jit import JIT_DISABLED
from spartan.engine_spec import EngineSpec
from spartan.replacement import REPLACEMENT
from tests.unit.spartan.engine_harness import Bench

DENSE = np.ones((16 * 12, 6), np.float32)


def open_columns(bench):
    """Columns that have a lane."""
    g = bench.m.engine
    columns = len(bench.buffers.by_column)
    entries = [int(e) - 1 for e in bench.buffers.by_column]
    return [c for c in range(columns) if entries[c] >= 0 and max(g.entry_lane[entries[c]]) >= 0]


@pytest.mark.parametrize("seed", range(2 if JIT_DISABLED else 10))
@pytest.mark.parametrize(("lines", "columns"), [(1, 4096), (1, 1), (2, 4096)])
def test_a_buffer_of_one_line_serves_many_columns_at_once(lines, columns, seed):
    rng = np.random.default_rng(seed)
    matrix = ((rng.random((16 * 9, 6)) < 0.4) * rng.random((16 * 9, 6))).astype(np.float32)
    script = [(c, i) for i in range(9) for c in range(6)]
    script = [script[n] for n in rng.permutation(len(script))[: 12 if JIT_DISABLED else 54]]
    spec = EngineSpec(prefetch_buffer_kib=0.0625 * lines, outstanding_columns=columns)
    counters = Bench([matrix], spec, seed=seed + 1).run(script)
    assert counters["buffer_evictions"] > 0


@pytest.mark.parametrize("policy", REPLACEMENT)
def test_the_lane_that_is_closed(policy):
    left = {"lru": 1, "fifo": 0}[policy]
    spec = EngineSpec(prefetch_buffer_kib=0.125, prefetch_length=0, demand_window_lines=1, lane_replacement=policy)
    bench = Bench([DENSE], spec, serial=True)
    counters = bench.run([(0, 0), (1, 0), (0, 1), (2, 0)], finish_engine=False)
    assert counters["buffer_evictions"] == 1
    assert open_columns(bench) == [c for c in range(3) if c != left]


def test_a_full_buffer_stops_reading_ahead_and_keeps_its_lanes():
    spec = EngineSpec(prefetch_buffer_kib=0.25, prefetch_length=8, demand_window_lines=1)
    bench = Bench([DENSE], spec, serial=True)
    counters = bench.run([(0, 0)], finish_engine=False)
    assert int(bench.m.engine.slots_free) == 0
    assert counters["buffer_evictions"] == 0
    # a line leaves with the next one's first element: 2 reads answer, 3 fill the free lines, 1 was under way
    assert counters["lines_fetched"] <= 6
    assert counters["buffer_lines_dropped"] <= 1
    assert open_columns(bench) == [0]


def test_a_read_that_feeds_a_dropped_and_a_delivered_line_is_needed():
    column = np.zeros((16 * 12, 1), np.float32)
    column.reshape(12, 16)[:, :10] = 1
    spec = EngineSpec(prefetch_buffer_kib=0.0625, prefetch_length=0, demand_window_lines=1)
    counters = Bench([column], spec, serial=True).run([(0, 1)])
    assert counters["buffer_lines_dropped"] == 1
    assert counters["lines_needed"] == 3  # elements 16 to 31 lie in lines 1, 2 and 3; line 1 feeds line 0 too


def test_a_lane_with_a_waiting_request_is_not_closed():
    spec = EngineSpec(prefetch_buffer_kib=0.0625, prefetch_length=0)
    bench = Bench([DENSE], spec, least_latency=200, spread=0)
    counters = bench.run([(0, 0), (1, 0)])
    assert counters["lookup_blocked_cycles"] > 100
    first, second = (int(n) for n in bench.m.fake.answered[:2])
    assert second - first > 200


def test_a_column_whose_lines_have_all_left_gives_its_lane_back():
    bench = Bench([DENSE[:32]], serial=True)
    bench.run([(c, i) for c in range(6) for i in range(2)], finish_engine=False)
    assert open_columns(bench) == []
    assert int(bench.m.engine.slots_free) == EngineSpec().buffer_lines
