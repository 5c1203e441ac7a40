"""Is every answer right and every read justified, whatever the zeros, the order of requests and the sizes?

`Bench.run` asserts for each run: every request answered once, bit for bit as the oracle packs it and with the right
`last`; reads inside the columns; reads = needed + wasted; one way of answering a request.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from spartan.engine_spec import SUMS_FROM, EngineSpec
from spartan.replacement import CMI_REPLACEMENT, REPLACEMENT
from tests.support.daily import given_daily
from tests.unit.spartan.engine_harness import Bench, engine_tick, sources

EXAMPLES = (4, 10) if JIT_DISABLED else (16, 120)  # daily, nightly
ROWS = [1, 15, 16, 17, 100] if JIT_DISABLED else [1, 15, 16, 17, 100, 600, 1100]


def pick(*values):
    return st.sampled_from(values)


@st.composite
def matrices(draw, most_columns=5):
    """Uniform zeros, whole zero lines, all zero, none."""
    rows, columns = draw(st.sampled_from(ROWS)), draw(st.integers(1, most_columns))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    values = (rng.random((rows, columns)) + 0.1) * (rng.random((rows, columns)) < draw(pick(0, 0.02, 0.1, 0.4, 1)))
    lines = rng.random((-(-rows // 16), columns)) < draw(pick(0.1, 0.5, 1, 1))
    return (values * np.repeat(lines, 16, axis=0)[:rows]).astype(np.float32)


@st.composite
def specs(draw):
    """Sizes from the smallest possible on."""
    return EngineSpec(
        sib_kib=draw(pick(1, 2, 512)),
        entry_sizes=draw(pick(((65536, 32),), ((65536, 64),), ((65536, 1024),))),
        prefetch_buffer_kib=draw(pick(0.0625, 0.125, 1, 512)),
        compaction_units=draw(pick(1, 3, 32)),
        sib_replacement=draw(pick(*REPLACEMENT)),
        sib_ways=draw(pick(0, 0, 1)),
        cmi_replacement=draw(pick(*CMI_REPLACEMENT)),
        mapping_sums_from=draw(pick(*SUMS_FROM)),
        lane_replacement=draw(pick(*REPLACEMENT)),
        prefetch_length=draw(pick(0, 3, 16, 64)),
        demand_window_lines=draw(pick(1, 4, 16)),
        sib_lookups_per_cycle=draw(pick(1, 4)),
        sib_lookup_cycles=draw(pick(1, 30)),
        shifters=draw(pick(1, 8)),
        scan_bits_per_cycle=draw(pick(1, 64)),
        mappings_per_cycle=draw(pick(1, 16)),
        address_calculators=draw(pick(0, 1, 2)),
        compu_latency_cycles=draw(pick(1, 4, 20)),
        buffer_banks=draw(pick(0, 1, 5)),
        buffer_bank_ports=draw(pick(1, 2)),
        data_buffer_lines=draw(pick(0, 1, 4)),
        buffer_read_cycles=draw(pick(1, 9)),
        outstanding_columns=draw(pick(1, 2, 4096)),
        reads_in_flight=draw(pick(2, 16, 1024)),
        sparse_queue_depth=draw(pick(1, 16)),
    )


@st.composite
def cases(draw):
    """(matrices, spec, script, DRAM): any requests in any order, repeats and lines past the end included."""
    parts = draw(st.lists(matrices(), min_size=1, max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    script = []
    cycle = 0
    for _ in range(draw(st.integers(1, 12 if JIT_DISABLED else 100))):
        region = int(rng.integers(len(parts)))
        lines = -(-parts[region].shape[0] // 16)
        line = int(rng.integers(min(lines, 4))) if rng.random() < 0.3 else int(rng.integers(lines + 1))
        script.append((int(rng.integers(parts[region].shape[1])), line, region, cycle))
        cycle += int(rng.choice([0, 0, 0, 1, 5, 100]))
    dram = {
        "seed": draw(st.integers(1, 1 << 30)),
        "least_latency": draw(pick(1, 20)),
        "spread": draw(pick(0, 40) if JIT_DISABLED else pick(0, 60, 500)),
        "depth": draw(pick(1, 2, 16)),
        "dram_channels": draw(pick(1, 2, 8)),
    }
    return parts, draw(specs()), script, dram


@given_daily(*EXAMPLES, cases())
def test_every_answer_is_right(case):
    parts, spec, script, dram = case
    Bench(parts, spec, extra_lines=1, **dram).run(script)


@given_daily(*(examples // 2 for examples in EXAMPLES), cases())
def test_idle_cycles_change_nothing(case):
    parts, spec, script, dram = case
    outcomes = []
    for every_cycle in (False, True):
        bench = Bench(parts, spec, extra_lines=1, every_cycle=every_cycle, **dram)
        counters = bench.run(script)
        outcomes.append((counters, bench.m.fake.answered[: len(script)].tolist(), bench.reads()))
    assert outcomes[0] == outcomes[1]


@given_daily(
    *EXAMPLES,
    pick(2, 3, 7, 20, 40, 190),
    pick(0.02, 0.07, 0.2, 0.6, 1.0),
    pick(32, 256),
    st.integers(0, 9999),
    st.data(),
)
def test_accurate_search_reads_the_fewest_lines(lines, density, entry_bytes, seed, data):
    """On a profiled column, one request at a time: exactly the lines that the answer is made of.

    Less what the lane holds: the line before it, when that one was built last, and a final line made wholly of
    elements carried from there.
    """
    rng = np.random.default_rng(seed)
    column = (rng.random((16 * lines, 1)) < density).astype(np.float32)
    used = sources(column[:, 0])
    if not used:
        return
    count = len(used)
    spec = EngineSpec(entry_sizes=((65536, entry_bytes),))
    bench = Bench([column], spec, serial=True, least_latency=3, spread=9)
    first = max(0, count - bench.buffers.layout.mappings)  # oldest mapping in the window
    wanted = data.draw(st.lists(st.integers(first, count - 1), min_size=1, max_size=6 if JIT_DISABLED else 25))
    script = [(0, i) for i in [*range(count), *wanted]]
    counters = bench.run(script)
    reads = bench.reads()
    by_request = [[] for _ in script]
    for n, (_, _, line) in enumerate(reads):
        by_request[int(bench.m.fake.log_request[n]) - 1].append(line)
    built, held = None, set()
    for n, i in enumerate(wanted, start=count):
        if i in held:
            expected = []
            held.remove(i)
        else:
            expected = list(used[i])
            if built is not None and i == built + 1 and used[i][0] == used[i - 1][-1]:
                expected = expected[1:]
            built = i
            if i == count - 2 and used[-1] == [used[i][-1]]:
                held.add(count - 1)  # the rest of the column was carried: its last line is finished with this one
                built = count - 1
        assert by_request[n] == expected, (i, built)
    assert counters["accurate"] + counters["prefetch_buffer_hits"] >= len(wanted)


@given_daily(*EXAMPLES, st.integers(10, 60), pick(0.02, 0.07, 0.3), st.integers(0, 9999), st.data())
def test_prudent_search_skips_zero_lines(lines, density, seed, data):
    rng = np.random.default_rng(seed)
    column = (rng.random((16 * lines, 1)) < density).astype(np.float32)
    count = max(1, len(sources(column[:, 0])))
    wanted = data.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=6 if JIT_DISABLED else 25))
    # 32 bytes hold so few mappings that most lines are searched by the bitmask
    bench = Bench([column], EngineSpec(entry_sizes=((65536, 32),)), serial=data.draw(st.booleans()))
    counters = bench.run([(0, i) for i in [*range(count), *wanted]])
    zero = [n for n in range(lines) if not column[16 * n : 16 * n + 16].any()]
    reads = [line for _, _, line in bench.reads()]
    assert all(reads.count(n) <= 1 for n in zero)
    assert counters["buffer_evictions"] == counters["sib_evictions"] == 0


@pytest.mark.parametrize("ahead", [0, 2, pytest.param(7, marks=pytest.mark.compiled_tier)])
def test_prudent_search_reads_ahead_as_far_as_configured(ahead):
    column = np.ones((16 * 190, 1), np.float32)
    spec = EngineSpec(entry_sizes=((65536, 32),), prefetch_length=ahead, demand_window_lines=1)
    bench = Bench([column], spec, serial=True)
    counters = bench.run([(0, i) for i in [*range(190), 5]])
    assert counters["prudent"] == 1
    last = [line for n, (_, _, line) in enumerate(bench.reads()) if bench.m.fake.log_request[n] == 191]
    assert last == list(range(6 + ahead))


def test_a_profile_that_goes_on_in_a_new_lane_reads_no_zero_line_again():
    rng = np.random.default_rng(5)
    matrix = np.ones((16 * 40, 2), np.float32) * (rng.random((16 * 40, 2)) < 0.05)
    spec = EngineSpec(outstanding_columns=1, prefetch_length=10, demand_window_lines=1)
    bench = Bench([matrix.astype(np.float32)], spec, serial=True)
    counters = bench.run([(c, i) for i in range(2) for c in range(2)])
    assert counters["buffer_evictions"] >= 3
    reads = bench.reads()
    for c in range(2):
        zero = [n for n in range(40) if not matrix[16 * n : 16 * n + 16, c].any()]
        assert zero and all(reads.count((0, c, n)) <= 1 for n in zero)


@given_daily(*EXAMPLES, st.integers(1, 40), pick(0, 1, 5, 16), pick(1, 4, 16), st.integers(0, 9999))
def test_hasty_search_reads_line_after_line_and_no_further_than_asked(lines, ahead, window, seed):
    rng = np.random.default_rng(seed)
    column = (rng.random((16 * lines, 1)) < 0.2).astype(np.float32)
    spec = EngineSpec(prefetch_length=ahead, demand_window_lines=window)
    bench = Bench([column], spec, serial=True)
    bench.run([(0, 0)])
    reads = [line for _, _, line in bench.reads()]
    assert reads == list(range(len(reads)))
    rows = np.flatnonzero(column[:, 0])
    # line 0 leaves when a seventeenth non-zero, or the column's end, is seen
    known = int(rows[16]) // 16 + 1 if len(rows) > 16 else lines
    assert min(lines, known + ahead) <= len(reads) <= min(lines, max(known + ahead, known + window - 1))


def test_lines_past_a_known_end_need_no_read():
    column = np.zeros((320, 2), np.float32)
    column[5, 0] = 1
    bench = Bench([column], serial=True, extra_lines=1)
    counters = bench.run([(0, 0), (0, 1), (0, 19), (0, 20), (1, 7), (1, 0), (1, 0)])
    assert counters["lines_fetched"] == 40
    assert counters["past_end"] == 5  # all but each column's first request
    assert counters["lines_needed"] == 1


def test_finished_lines_answer_later_requests_without_a_read():
    column = np.ones((16 * 8, 1), np.float32)
    bench = Bench([column], EngineSpec(prefetch_length=4), serial=True)
    bench.run([(0, 0), (0, 1), (0, 2)], finish_engine=False)
    assert int(bench.m.engine.prefetch_buffer_hits) == 2


@pytest.mark.parametrize("gap", [1, 40, 300])
def test_a_replaced_column_leaves_nothing_behind(gap):
    """One SIB entry, two columns alternately, reads ahead still in flight when the other column takes the entry."""
    rng = np.random.default_rng(7)
    matrix = (rng.random((16 * 12, 2)) * (rng.random((16 * 12, 2)) < 0.6)).astype(np.float32)
    spec = EngineSpec(sib_kib=1, entry_sizes=((65536, 1024),), prefetch_length=8)
    bench = Bench([matrix], spec, least_latency=100, spread=50)
    script = [(n % 2, n // 2, 0, n * gap) for n in range(12)]
    counters = bench.run(script, finish_engine=False)
    assert counters["sib_evictions"] > 2
    open_lanes = np.flatnonzero(bench.m.engine.lane_entry[: spec.outstanding_columns] >= 0)
    assert len(open_lanes) <= 2  # of the column that has the entry


def test_the_comparison_with_the_packed_matrix_is_alive():
    column = np.ones((48, 1), np.float32)
    for spoil in range(2):
        bench = Bench([column])
        image, counts, _ = bench.shadows[0]
        if spoil:
            image[17] ^= 1
        else:
            counts[0] = 2
        assert bench.start([(0, 0), (0, 1), (0, 2)], 10_000) > 0
        assert int(bench.m.engine.response_mismatches) == 1


def cycles_of(spec, columns=8, **dram):
    """When the last of a first request of each column is answered; the bench, too."""
    bench = Bench([np.ones((16 * 8, columns), np.float32)], spec, spread=0, **dram)
    bench.run([(c, 0) for c in range(columns)], finish_engine=False)
    return int(max(bench.m.fake.answered[:columns])), bench


@pytest.mark.parametrize("calculators", [1, 2])
def test_an_address_calculator_gives_a_read_a_cycle(calculators):
    """Two sparse lines of each of eight columns: looked up, then read one after another, the last one 20 cycles."""
    spec = EngineSpec(
        prefetch_length=0, demand_window_lines=2, sib_lookups_per_cycle=8, address_calculators=calculators
    )
    last, bench = cycles_of(spec, least_latency=20)
    looked_up = int(min(bench.m.fake.sent[:8])) + 1 + spec.sib_lookup_cycles
    rest = 20 + 1 + spec.compu_latency_cycles + spec.buffer_read_cycles
    assert last == looked_up + (16 // calculators - 1) + rest
    assert cycles_of(EngineSpec(**{**spec.model_dump(), "address_calculators": 0}), least_latency=20)[0] < last


def test_a_unit_reads_as_many_lines_as_its_data_buffer_holds():
    """One unit, one column: with a line of data buffer a read is issued when the one before it has been compacted."""
    column = np.ones((16 * 8, 1), np.float32)
    gaps = {}
    for lines in (1, 2, 8):
        spec = EngineSpec(compaction_units=1, data_buffer_lines=lines, demand_window_lines=8, prefetch_length=0)
        bench = Bench([column], spec, least_latency=50, spread=0)
        bench.run([(0, 7)])
        gaps[lines] = int(bench.m.fake.answered[0])
    step = 50 + 1 + EngineSpec().compu_latency_cycles  # DRAM, its port, the unit
    assert gaps[1] - gaps[2] == pytest.approx(4 * step, abs=8)
    assert gaps[2] - gaps[8] == pytest.approx(3 * step, abs=8)


def test_lanes_that_wait_for_a_line_of_their_units_data_buffer_all_get_one():
    """Lanes read ahead and are asked for meanwhile: they stand in both issue queues while the buffer is full."""
    spec = EngineSpec(compaction_units=2, data_buffer_lines=2, shifters=2)
    bench = Bench([np.ones((16 * 12, 4), np.float32)], spec, least_latency=10, spread=20)
    script = [(c, i) for i in range(10) for c in range(4)]
    assert bench.run(script)["responses"] == len(script)


def test_lines_of_a_bank_are_written_and_read_one_after_another():
    """A column's finished lines, one bank: each is written, and read when it is asked for."""
    free, bench = cycles_of(EngineSpec(), columns=16, least_latency=20)
    assert int(bench.m.engine.bank_conflict_cycles) == 0
    one, bench = cycles_of(EngineSpec(buffer_banks=1), columns=16, least_latency=20)
    conflicts = int(bench.m.engine.bank_conflict_cycles)
    assert conflicts > 0 and one > free
    many, bench = cycles_of(EngineSpec(buffer_banks=64, buffer_bank_ports=8), columns=16, least_latency=20)
    assert int(bench.m.engine.bank_conflict_cycles) < conflicts and many < one


@pytest.mark.parametrize(("ways", "evicted"), [(0, 0), (1, 2), (2, 0)])
def test_columns_of_a_set_evict_each_other(ways, evicted):
    """Four entries; columns 0 and 4 meet in a set if there are more sets than one, or all four ways are not enough."""
    matrix = np.ones((32, 8), np.float32)
    spec = EngineSpec(sib_kib=1, entry_sizes=((65536, 256),), sib_ways=ways)
    bench = Bench([matrix], spec, serial=True)
    counters = bench.run([(0, 0), (4, 0), (0, 1), (1, 0)])
    assert counters["sib_evictions"] == evicted


def test_a_request_outside_every_region_is_counted_and_answered():
    bench = Bench([np.ones((16, 1), np.float32)])
    assert bench.start([(5, 0)], 10_000) > 0
    assert int(bench.m.engine.faults) == 1 and int(bench.m.engine.response_mismatches) == 1


def test_latency_of_a_lone_request():
    """Request seen at 1 + 1; looked up after 4; read issued; DRAM 20 and 1 to be seen; unit 4; buffer 2."""
    spec = EngineSpec()
    bench = Bench([np.ones((16, 1), np.float32)], spec, least_latency=20, spread=0)
    bench.run([(0, 0)])
    sent, answered = int(bench.m.fake.sent[0]), int(bench.m.fake.answered[0])
    steps = 1 + spec.sib_lookup_cycles + 20 + 1 + spec.compu_latency_cycles + spec.buffer_read_cycles
    assert answered - sent == steps
    assert int(bench.m.engine.latency_cycles) == steps - 1
    assert bench.m.engine.latency_histogram.nonzero()[0].tolist() == [4]  # from 2^4 to 2^5 - 1 cycles


@pytest.mark.parametrize("sums_from", SUMS_FROM)
@pytest.mark.parametrize("a_cycle", [pytest.param(1, marks=pytest.mark.compiled_tier), 3])
def test_a_search_takes_the_mappings_that_it_adds_up(sums_from, a_cycle):
    """Twenty full lines are profiled; where line i begins is the sum of i mappings before or 20 - i behind it.

    To that come a cycle in which a shifter passes the 20 bits, and the steps of a lone request; its first cycle of
    search is one of those.
    """
    spec = EngineSpec(prefetch_length=0, demand_window_lines=1, mappings_per_cycle=a_cycle, mapping_sums_from=sums_from)
    lone = 1 + spec.sib_lookup_cycles + 20 + 1 + spec.compu_latency_cycles + spec.buffer_read_cycles
    for i in (1, 5, 10, 11, 15, 19):
        bench = Bench([np.ones((16 * 20, 1), np.float32)], spec, serial=True, least_latency=20, spread=0)
        counters = bench.run([(0, line) for line in [*range(20), i]])
        assert counters["accurate"] == 1
        added_up = i if sums_from == "column_start" else min(i, 20 - i)
        assert int(bench.m.fake.answered[20] - bench.m.fake.sent[20]) == lone + -(-added_up // a_cycle)


def _counted(script, **values):
    spec = EngineSpec(prefetch_length=0, demand_window_lines=1, **values)
    matrix = np.ones((16 * 20, 1), np.float32)
    return Bench([matrix], spec, serial=True, least_latency=20, spread=0).run([(0, line) for line in script])


@pytest.mark.parametrize("i", [0, 1, 5, 19])
def test_shifters_are_busy_for_as_long_as_they_search(i):
    """Line i of twenty full ones begins behind i mappings and i bits; the next bit is the read's."""
    one_by_one = {"mappings_per_cycle": 1, "scan_bits_per_cycle": 1, "mapping_sums_from": "column_start", "shifters": 1}
    profiled, again = _counted(range(20), **one_by_one), _counted([*range(20), i], **one_by_one)
    assert again["searches_anew"] - profiled["searches_anew"] == 1
    assert again["shifter_busy_cycles"] - profiled["shifter_busy_cycles"] == i + i + 1


def test_a_search_begins_anew_where_no_lane_stands_before_its_line():
    profiled = _counted(range(20))["searches_anew"]
    assert profiled == 1
    assert _counted([*range(20), *range(20)])["searches_anew"] == profiled + 1
    assert _counted([*range(20), *reversed(range(20))])["searches_anew"] == profiled + 20


def test_a_search_that_the_kernel_s_end_cuts_off_counts_up_to_there():
    """The first line is searched by its bit, what it reads ahead ends at 320 lines of zeros, a bit a cycle."""
    matrix = np.zeros((16 * 400, 1), np.float32)
    matrix[: 16 * 10] = matrix[16 * 330 :] = 1
    spec = EngineSpec(shifters=1, scan_bits_per_cycle=1, demand_window_lines=1, entry_sizes=((65536, 128),))
    bench = Bench([matrix], spec, least_latency=20, spread=0)
    counters = bench.run([*((0, line) for line in range(79)), (0, 0, 0, 20_000)])
    assert counters["prudent"] == 1
    answered = int(bench.m.fake.answered[79])
    assert bench.m.engine.shifter_ready[0] > answered + 300
    assert counters["shifter_busy_cycles"] <= 400 + answered + 5 - 20_000, "a cycle for each line at first"


@pytest.mark.skipif(JIT_DISABLED, reason="counts compilations")
def test_another_configuration_does_not_recompile():
    matrix = np.ones((64, 2), np.float32)
    Bench([matrix]).run([(0, 0)])
    before = len(engine_tick.dispatcher.signatures)
    Bench([matrix], EngineSpec(sib_kib=64, prefetch_buffer_kib=4096, shifters=3)).run([(1, 0)])
    assert len(engine_tick.dispatcher.signatures) == before
