"""Behaviour: is every request served once, in the right order, at the rates that the standard allows?"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from memory.dram.controller import DRAM_COUNTERS, dram_pending, dram_totals
from memory.dram.spec import DramSpec, resolve
from tests.support.daily import given_daily
from tests.unit.memory.dram_harness import READ, WHOLE, WRITE, line_at, plain_spec, run

STREAM_LINES = 250 if JIT_DISABLED else 6_000
NO_REFRESH = {"trefi_ns": 100_000}


def refresh_share(timing):
    return timing.trfc / timing.trefi


def clocks_used(out):
    """Command clocks from the first command to the end of the last data, near enough."""
    return out.commands[-1].clock - out.commands[0].clock


@pytest.mark.parametrize(
    ("standard", "clock_hz"), [("gddr5", 1.237e9), pytest.param("hbm1", 1e9, marks=pytest.mark.compiled_tier)]
)
@pytest.mark.parametrize("kind", [READ, WRITE])
def test_streaming_reaches_the_pin_bandwidth_less_refresh(standard, clock_hz, kind):
    spec = DramSpec(standard=standard, channels=1)
    t = resolve(spec)
    out = run(spec, [(1, kind, i) for i in range(STREAM_LINES)], clock_hz)
    share = out.m.dram.channel[0].data_bus_busy / clocks_used(out)
    assert 0.9 * (1 - refresh_share(t)) <= share <= 1
    assert out.m.dram.channel[0].row_hits >= 0.9 * STREAM_LINES


@pytest.mark.parametrize("standard", ["gddr5", pytest.param("hbm1", marks=pytest.mark.compiled_tier)])
def test_row_conflicts_in_one_bank_reach_the_trc_bound(standard):
    spec = plain_spec(standard=standard, timing=NO_REFRESH)
    t = resolve(spec)
    out = run(spec, [(1, READ, line_at(spec, row=1 + 37 * i % 1009)) for i in range(80)], t.clock_hz)
    activates = out.clocks("ACT")
    assert {b - a for a, b in pairwise(activates)} == {t.trc}


@pytest.mark.compiled_tier  # many accesses: random ones in plain Python meet the same rules
def test_conflicts_over_all_banks_reach_the_activate_window_bound():
    spec = plain_spec(read_queue=64, timing=NO_REFRESH)
    t = resolve(spec)
    n = 512
    out = run(spec, [(1, READ, line_at(spec, row=i // 16, group=i % 4, bank=i // 4 % 4)) for i in range(n)])
    bound = max((n / 4 - 1) * t.tfaw, (n / 32 - 1) * t.t32aw)
    assert bound <= clocks_used(out) <= 1.1 * bound


def test_fr_fcfs_serves_row_hits_first_and_fcfs_does_not():
    def script(spec):
        other = line_at(spec, row=1)
        return [(1, READ, 0), (30, READ, other), (30, READ, line_at(spec, column=1))]

    spec = plain_spec()
    first = run(spec, script(spec)).done
    assert first[2] < first[1]
    spec = plain_spec(scheduler="fcfs")
    strict = run(spec, script(spec)).done
    assert strict == sorted(strict)
    assert strict[2] > first[2]


@pytest.mark.compiled_tier  # policies against their model run in plain Python, too
def test_age_cap_bounds_what_row_hits_can_overtake():
    bounded = plain_spec(age_cap_clocks=300, timing=NO_REFRESH)
    hits = [(1 + 5 * i, READ, line_at(bounded, column=i % 32)) for i in range(400)]
    conflict = (31, READ, line_at(bounded, row=1))
    script = sorted([*hits, conflict])
    at = script.index(conflict)
    patient = plain_spec(age_cap_clocks=100_000, timing=NO_REFRESH)
    assert run(bounded, script).done[at] < 31 + 300 + 250
    assert run(patient, script).done[at] > 31 + 1500


def naive_bank(requests, t):
    """One bank, reads in order, no refresh: (arrival clock, row) -> end of data, clock by clock as the rules say."""
    done = []
    row, free = None, 0
    activated = precharged = last_read = -(10**6)
    for arrival, wanted in requests:
        clock = max(arrival, free)
        if row is not None and row != wanted:
            precharged = max(clock, activated + t.tras, last_read + t.trtp)
            clock, row = precharged + 1, None
        if row is None:
            activated = max(clock, precharged + t.trp, activated + t.trc)
            clock, row = activated + t.trcd_read, wanted
        for _ in range(t.bursts_per_line):
            last_read = max(clock, last_read + t.tccd_long, activated + t.trcd_read)
        free = last_read + 1
        done.append(last_read + t.tcl + t.burst_clocks)
    return done


@settings(max_examples=15 if JIT_DISABLED else 50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 120), st.integers(0, 3)), min_size=1, max_size=40),
    st.sampled_from(["gddr5", "hbm1"]),
)
def test_one_bank_equals_its_naive_twin(steps, standard):
    spec = plain_spec(standard=standard, scheduler="fcfs", read_queue=64, timing=NO_REFRESH)
    t = resolve(spec)
    at, script = 1, []
    for wait, row in steps:
        at += wait
        script.append((at, READ, line_at(spec, row=row)))
    expected = naive_bank([(a + 1, line // line_at(spec, row=1)) for a, _, line in script], t)
    assert run(spec, script, t.clock_hz).done == expected


@given_daily(
    *((10, 20) if JIT_DISABLED else (20, 40)),
    st.lists(
        st.tuples(st.integers(0, 60), st.booleans(), st.integers(0, 300), st.sampled_from([WHOLE, 0xF, 0xF << 40])),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from(["gddr5", "hbm1"]),
    st.sampled_from([1, 4]),
    st.sampled_from(["cycle", "ideal"]),
)
def test_every_request_is_served_once_and_counted(steps, standard, channels, model):
    spec = DramSpec(
        standard=standard, channels=channels, model=model, ideal_bandwidth_gb_s=20, read_queue=6, write_queue=6,
        write_high=5, write_low=2,
    )  # fmt: skip
    at, script = 1, []
    for wait, write, line, mask in steps:
        at += wait
        script.append((at, WRITE if write else READ, line * 97, mask))
    out = run(spec, script, 1.237e9)
    reads = [i for i, s in enumerate(script) if s[1] == READ]
    totals = dram_totals(out.m)
    assert [out.answers[i] for i in range(len(script))] == [int(s[1] == READ) for s in script]
    assert totals["reads"] == len(reads) == totals["engine_reads"]
    assert totals["reads"] + totals["writes"] == len(script)
    waited = sum(out.done[i] - script[i][0] for i in reads)
    assert totals["read_latency_total_cycles"] <= waited
    if len(script) <= min(spec.read_queue, spec.write_queue):  # every request is accepted in the cycle it asks for
        assert totals["read_latency_total_cycles"] == waited
    assert dram_pending(out.m) == 0
    if model == "cycle":
        served = totals["row_hits"] + totals["row_misses"] + totals["row_conflicts"]
        assert served == len(script) - totals["read_forwards"] - totals["write_merges"]
        assert totals["bytes_read"] == 64 * (totals["reads"] - totals["read_forwards"])
        writes = sum(len(out.clocks(name)) for name in ("WR", "WDM", "WSM"))
        assert totals["bytes_written"] == 32 * writes
        named = sum((mask & WHOLE).bit_count() for _, kind, _, mask in script if kind == WRITE)
        assert totals["bytes_dirty"] + totals["bytes_merged"] == named
        t = resolve(spec)
        assert totals["data_bus_busy_clocks"] == t.burst_clocks * (len(out.clocks("RD")) + writes)
        assert totals["activates"] == len(out.clocks("ACT"))
        assert totals["precharges"] == len(out.clocks("PRE")) + len(out.clocks("PREA"))
        assert totals["refreshes"] == len(out.clocks("REF"))
    # running every channel in every cycle, looking at every bank anew, changes nothing
    polled = run(spec, script, 1.237e9, poll=True)
    assert polled.done == out.done
    assert polled.commands == out.commands
    assert dram_totals(polled.m) == totals


@pytest.mark.parametrize("standard", ["gddr5", pytest.param("hbm1", marks=pytest.mark.compiled_tier)])
def test_dense_traffic_equals_a_run_that_looks_at_everything_in_every_cycle(standard):
    spec = plain_spec(standard=standard)
    script = [
        (1 + 6 * i, WRITE if i % 7 == 0 else READ, i * 7919 % 769 * (1 + i % 3))
        for i in range(120 if JIT_DISABLED else 250)
    ]
    assert run(spec, script, 1.237e9).commands == run(spec, script, 1.237e9, poll=True).commands


@pytest.mark.parametrize(
    ("standard", "clock_hz"), [("gddr5", 1.237e9), pytest.param("hbm1", 1e9, marks=pytest.mark.compiled_tier)]
)
def test_however_far_channels_decide_ahead_the_commands_are_the_same(standard, clock_hz):
    spec = plain_spec(
        standard=standard, channels=2, request_latency_ns=10, read_queue=5, write_queue=8, write_high=6, write_low=2
    )
    random = np.random.default_rng(5)
    at, script = 1, []
    for i in range(160 if JIT_DISABLED else 400):  # bursts of traffic, and pauses in which refreshes fall due
        at += int(random.integers(0, 4)) if i % 40 else 3000
        kind = WRITE if random.random() < 0.3 else READ
        script.append((at, kind, int(random.integers(0, 64)) * 97, WHOLE if random.random() < 0.7 else 0xFF))

    def by_channel(look_ahead):
        out = run(spec, script, clock_hz, look_ahead=look_ahead)
        return [[c for c in out.commands if c.channel == channel] for channel in range(2)], out.done

    expected = by_channel(0)
    assert all(len(commands) > (50 if JIT_DISABLED else 100) for commands in expected[0])
    for look_ahead in (2, None) if JIT_DISABLED else (1, 2, 5, None):
        assert by_channel(look_ahead) == expected


@settings(max_examples=8 if JIT_DISABLED else 25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.booleans(), st.integers(0, 5), st.sampled_from([WHOLE, WHOLE, 0xF, 0xF << 40])),
        min_size=10,
        max_size=60,
    ),
    st.sampled_from(["gddr5", "hbm1"]),
)
def test_a_write_that_is_begun_gains_no_bytes_however_far_channels_decide_ahead(steps, standard):
    # few lines that are written again and again, some of them between two of their bursts
    spec = plain_spec(standard=standard, request_latency_ns=20, write_queue=8, write_high=3, write_low=1)
    at, script = 1, []
    for wait, read, line, mask in steps:
        at += wait
        script.append((at, READ if read else WRITE, line + 100 * read, mask))
    near, far = (run(spec, script, look_ahead=ahead) for ahead in (0, None))
    assert (near.commands, near.done, dram_totals(near.m)) == (far.commands, far.done, dram_totals(far.m))


def test_totals_name_every_counter():
    totals = dram_totals(run(plain_spec(), [(1, READ, 0)]).m)
    assert {*DRAM_COUNTERS.names, "bus_busy_cycles"} == set(totals)
    assert totals["bus_busy_cycles"] == 4
    assert totals["read_latency_total_cycles"] == totals["read_latency_max_cycles"] == 48


def test_the_sparse_mark_takes_no_part():
    spec = plain_spec()
    marked = run(spec, [(1, READ, 7 | 1 << 40)])
    assert marked.commands == run(spec, [(1, READ, 7)]).commands
