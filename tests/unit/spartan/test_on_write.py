"""Where the matrix is compacted when it is written back: is what lies in DRAM right, and each request one read of it?

`Bench.run` asserts for each run: every request answered once, bit for bit as the oracle packs it and with the right
`last`. Here the write phase goes before it, on the same DRAM.
"""

import numpy as np
import pytest

from isa.region import SparseRegion
from spartan.engine_spec import ON_WRITE, EngineSpec
from spartan.sib_layout import sib_layout
from spartan.sizing import sized_for
from tests.support.daily import given_daily
from tests.unit.spartan.engine_harness import Bench
from tests.unit.spartan.test_engine import EXAMPLES, cases


def on_write(spec: EngineSpec, **values: object) -> EngineSpec:
    """The engine, with space for two compacted lines at least."""
    lines = max(0.125, spec.prefetch_buffer_kib)
    return EngineSpec(**{**spec.model_dump(), "compact": ON_WRITE, "prefetch_buffer_kib": lines, **values})


def expected_lines(bench: Bench) -> list[int]:
    """Where compacted lines belong: at their columns' dense lines, as many as the packed matrix has, none for zeros."""
    found = []
    for number, (region, (_, counts, _)) in enumerate(zip(bench.regions, bench.shadows, strict=True)):
        for column, count in enumerate(counts):
            values = bench.matrices[number][:, column]
            found += [bench.line(column, i, number) for i in range(int(count) if values.any() else 0)]
        assert region.columns == len(counts)
    return found


@given_daily(*EXAMPLES, cases())
def test_each_line_is_written_once_and_each_request_is_one_read(case):
    parts, spec, script, dram = case
    bench = Bench(parts, on_write(spec), extra_lines=1, **dram)
    counters = bench.run(script)
    expected = expected_lines(bench)
    assert sorted(bench.m.fake.write_log[: int(bench.m.fake.writes)].tolist()) == expected
    dense = sum(-(-matrix.shape[0] // 16) * matrix.shape[1] for matrix in parts)
    assert counters["lines_handed_over"] == counters["compu_busy_cycles"] == dense
    held = set(expected)
    asked = sum(bench.line(column, line, region) in held for column, line, region, _ in script)
    assert counters["compacted_fetched"] == asked and counters["past_end"] == len(script) - asked
    assert counters["lines_fetched"] == counters["lines_wasted"] == 0


@given_daily(*(examples // 2 for examples in EXAMPLES), cases())
def test_idle_cycles_change_nothing(case):
    parts, spec, script, dram = case
    outcomes = []
    for every_cycle in (False, True):
        bench = Bench(parts, on_write(spec), extra_lines=1, every_cycle=every_cycle, **dram)
        counters = bench.run(script)
        outcomes.append((counters, bench.m.fake.answered[: len(script)].tolist(), bench.reads()))
    assert outcomes[0] == outcomes[1]


def phase_cycles(matrix: np.ndarray, channels: int = 8, **values: object) -> int:
    values = {"compact": ON_WRITE, "compaction_units": 1, "compu_latency_cycles": 1, "buffer_read_cycles": 1, **values}
    bench = Bench([matrix], EngineSpec(**values), least_latency=1, spread=0, dram_channels=channels)
    return bench.run([(0, 0)])["write_phase_cycles"]


def test_the_phase_takes_a_line_a_cycle_and_unit():
    """From the cycle in which the last line is taken: one in its unit, one in which it is read, that of its write."""
    column = np.ones((16 * 40, 1), np.float32)
    assert phase_cycles(column) == 40 + 1 + 1
    assert phase_cycles(column, compu_latency_cycles=7, buffer_read_cycles=5) == 40 + 7 + 5
    assert phase_cycles(np.zeros((16 * 40, 1), np.float32)) == 40 + 1


def test_an_l2_channel_hands_over_a_line_a_cycle():
    """Four columns of four lines, one behind another in memory: each in one of the four channels, or all in one."""
    apart = Bench(
        [np.zeros((64, 4), np.float32)], EngineSpec(compact=ON_WRITE, compaction_units=4, compu_latency_cycles=1)
    )
    together = Bench(
        [np.zeros((64, 4), np.float32)],
        EngineSpec(compact=ON_WRITE, compaction_units=4, compu_latency_cycles=1),
        extra_lines=12,
    )
    assert apart.run([(0, 0)])["write_phase_cycles"] == 4 + 1
    assert together.run([(0, 0)])["write_phase_cycles"] == 16 + 1


@pytest.mark.compiled_tier  # a long phase: shorter ones run in plain Python, too
def test_units_work_side_by_side_and_wait_for_dram():
    matrix = np.ones((16 * 16, 8), np.float32)
    alone, four = phase_cycles(matrix), phase_cycles(matrix, compaction_units=4)
    assert four < 0.5 * alone
    slow = Bench([matrix], EngineSpec(compact=ON_WRITE), least_latency=60, spread=0, depth=1, dram_channels=1)
    assert slow.run([(0, 0)])["write_phase_cycles"] > 60 * 16 * 8


@pytest.mark.parametrize("kib", [0.125, 0.1875, 0.5])
def test_two_lines_of_prefetch_buffer_are_enough(kib):
    rng = np.random.default_rng(3)
    matrix = (rng.random((16 * 30, 9)) < 0.4).astype(np.float32)
    spec = EngineSpec(compact=ON_WRITE, prefetch_buffer_kib=kib)
    counters = Bench([matrix], spec, least_latency=30, spread=20, depth=1).run([(8, 0), (0, 2)])
    assert counters["compacted_written"] == sum(-(-int(n) // 16) for n in np.count_nonzero(matrix, axis=0))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"0\.0625; with compact: on_write it must be at least 0\.125: a line"):
        EngineSpec(compact=ON_WRITE, prefetch_buffer_kib=0.0625)
    with pytest.raises(ValueError, match="on_wirte"):
        EngineSpec(compact="on_wirte")
    small = EngineSpec(compact=ON_WRITE, sib_kib=1, entry_sizes=((65536, 32),))
    assert sib_layout(small, [SparseRegion(0, 64, 512, 64)]).entries == 512
    with pytest.raises(ValueError, match=r"1 KiB hold the line counts of 512 columns, not of 513.* at least 2 KiB"):
        sib_layout(small, [SparseRegion(0, 64, 513, 64)])


def test_by_launch_the_engine_takes_what_counts_and_lines_under_way_need():
    spec = EngineSpec(compact=ON_WRITE, l2_sizing="launch")
    regions = [SparseRegion(0, 4608, 2048, 4608)]
    sized = sized_for(spec, regions, 2048, 16)
    assert (sized.sib_kib, sized.prefetch_buffer_kib) == (4, 32 * 8 * 64 / 1024)
    assert sized.l2_share == 1 / 16
    assert sized_for(EngineSpec(l2_sizing="launch"), regions, 2048, 16).l2_share == 0.5
