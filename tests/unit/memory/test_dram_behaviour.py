"""Behaviour: is every request served once, in the right order, at the rates that the standard allows?"""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.jit import JIT_DISABLED
from memory.dram.checker import check_commands
from memory.dram.constants import COMMAND_NAMES as NAMES
from memory.dram.controller import DRAM_COUNTERS, dram_pending, dram_totals
from memory.dram.spec import DramSpec, resolve
from tests.unit.memory.dram_harness import READ, WHOLE, WRITE, line_at, plain_spec, run, run_streams

STREAM_LINES = 400 if JIT_DISABLED else 20_000
NO_REFRESH = {"trefi_ns": 100_000}


def refresh_share(timing):
    return timing.trfc / timing.trefi


def clocks_used(out):
    """Command clocks from the first command to the end of the last data, near enough."""
    return out.commands[-1].clock - out.commands[0].clock


@pytest.mark.parametrize(("standard", "clock_hz"), [("gddr5", 1.237e9), ("hbm1", 1e9)])
@pytest.mark.parametrize("kind", [READ, WRITE])
def test_streaming_reaches_the_pin_bandwidth_less_refresh(standard, clock_hz, kind):
    spec = DramSpec(standard=standard, channels=1)
    t = resolve(spec)
    out = run(spec, [(1, kind, i) for i in range(STREAM_LINES)], clock_hz)
    share = out.m.dram.channel[0].data_bus_busy / clocks_used(out)
    assert 0.9 * (1 - refresh_share(t)) <= share <= 1
    assert out.m.dram.channel[0].row_hits >= 0.9 * STREAM_LINES


@pytest.mark.parametrize("standard", ["gddr5", "hbm1"])
def test_row_conflicts_in_one_bank_reach_the_trc_bound(standard):
    spec = plain_spec(standard=standard, timing=NO_REFRESH)
    t = resolve(spec)
    out = run(spec, [(1, READ, line_at(spec, row=1 + 37 * i % 1009)) for i in range(200)], t.clock_hz)
    activates = out.clocks("ACT")
    assert {b - a for a, b in pairwise(activates)} == {t.trc}


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


def test_age_cap_bounds_what_row_hits_can_overtake():
    bounded = plain_spec(age_cap_clocks=300, timing=NO_REFRESH)
    hits = [(1 + 5 * i, READ, line_at(bounded, column=i % 32)) for i in range(400)]
    conflict = (31, READ, line_at(bounded, row=1))
    script = sorted([*hits, conflict])
    at = script.index(conflict)
    patient = plain_spec(age_cap_clocks=100_000, timing=NO_REFRESH)
    assert run(bounded, script).done[at] < 31 + 300 + 250
    assert run(patient, script).done[at] > 31 + 1500


def test_writes_are_drained_between_the_watermarks():
    marks = {"write_queue": 16, "write_high": 12, "write_low": 4, "write_batch": 8}
    spec = plain_spec(**marks, write_idle_clocks=1000, timing=NO_REFRESH)
    reads = [(1 + 4 * i, READ, i) for i in range(300)]
    writes = [(100 + 4 * i, WRITE, 2000 + i) for i in range(30)]
    out = run(spec, sorted(reads + writes))
    names = [name for _, name in out.issued() if name in ("RD", "WR")]
    bursts = "".join(n[0] for n in names)
    drains = [len(batch) for batch in bursts.split("R") if batch]
    # two bursts a line: each drain but the rest at the end writes at least the lines between the marks
    assert len(drains) >= 2
    assert all(d >= 2 * (12 - 4) for d in drains[:-1])
    assert out.m.dram.channel[0].batches <= 2 * len(drains) + 1


def test_many_writes_do_not_wait_for_the_last_read():
    marks = {"write_queue": 16, "write_high": 12, "write_low": 4, "write_batch": 8}
    spec = plain_spec(read_queue=128, **marks, timing=NO_REFRESH)
    out = run(spec, [(1, READ, i) for i in range(120)] + [(2, WRITE, 500 + i) for i in range(14)])
    assert out.clocks("WR")[0] < out.clocks("RD")[100]


def opened_and_used(commands):
    """For each activate, by bank: how many bursts its row had."""
    last, used = {}, []
    for c in commands:
        if NAMES[c.command] == "ACT":
            last[c.bank] = len(used)
            used.append(0)
        elif NAMES[c.command] in ("RD", "WR"):
            used[last[c.bank]] += 1
    return used


def random_mix(n, lines, write_share=0.4):
    """Reads and writes at random places, more than the channel serves, in blocks of successive lines."""
    random = np.random.default_rng(3)
    script = []
    while len(script) < n:
        kind = WRITE if random.random() < write_share else READ
        first = int(random.integers(0, 1 << 16)) * lines
        script += [(1, kind, first + k) for k in range(lines)]
    return script


@pytest.mark.parametrize("standard", ["gddr5", "gddr6", "hbm2"])
def test_rows_that_are_opened_are_used(standard):
    # through many batches and refreshes; 5 to 9 % were not when the end of a batch and a refresh closed all rows
    spec = DramSpec(standard=standard, channels=1)
    script = random_mix(600 if JIT_DISABLED else 6000, lines=1)
    out = run(spec, script, 1.237e9)
    used = opened_and_used(out.commands)
    assert out.m.dram.channel[0].batches > 8 and out.m.dram.channel[0].refreshes
    assert sum(count == 0 for count in used) <= 0.01 * len(used)


@pytest.mark.parametrize("kind", [READ, WRITE])
def test_banks_are_opened_for_the_side_that_waits_while_the_other_has_the_bus(kind):
    # one side's row is open and its hits keep the data bus; the other side's bank is opened before its turn
    spec = plain_spec(write_queue=16, write_high=4, write_low=2, write_batch=8, timing=NO_REFRESH)
    first = [(1, kind, line_at(spec, column=i)) for i in range(12)]
    other = [(30, READ + WRITE - kind, line_at(spec, row=1, group=1, column=i)) for i in range(6)]
    out = run(spec, first + other)
    opened = next(c.clock for c in out.commands if NAMES[c.command] == "ACT" and c.row == 1)
    turn = out.clocks("WR" if kind == READ else "RD")[0]
    assert opened < max(c for c in out.clocks("RD" if kind == READ else "WR") if c < turn)


def test_neither_side_starves_the_other():
    spec = plain_spec(write_queue=8, write_high=6, write_low=2, read_queue=8, timing=NO_REFRESH)
    script = [(1, WRITE if i % 2 else READ, i * 5) for i in range(400)]
    out = run(spec, script)
    t = resolve(spec)
    assert check_commands(out.commands, t) == len(out.commands)
    assert out.m.dram.channel[0].read_latency_max < 2000


def test_a_read_does_not_wait_for_writes_that_never_end():
    # the writes fill the queue again whenever there is room; one read after the other comes meanwhile
    spec = plain_spec(write_queue=16, write_high=12, write_low=4, write_batch=8, timing=NO_REFRESH)
    t = resolve(spec)
    writes = [(1, WRITE, 10_000 + i) for i in range(300 if JIT_DISABLED else 3000)]
    reads = [(150 + 200 * i, READ, i) for i in range(15)]
    out = run_streams(spec, [writes, reads])
    assert out.done[len(writes) - 1] > len(writes)  # writes were refused
    # a batch of writes in one bank group, as many row hits, the turnaround, then the read itself after a row conflict
    batch = 2 * 8 * t.bursts_per_line * t.tccd_long
    turnaround = t.tcwl + t.burst_clocks + max(t.twr + t.trp + t.trcd_read, t.twtr_long)
    alone = t.bursts_per_line * t.tccd_long + t.tcl + t.burst_clocks
    assert out.m.dram.channel[0].read_latency_max <= batch + turnaround + alone + t.trc


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


@settings(max_examples=50, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(
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
        assert totals["bytes_written"] == 32 * len(out.clocks("WR"))
        t = resolve(spec)
        assert totals["data_bus_busy_clocks"] == t.burst_clocks * (len(out.clocks("RD")) + len(out.clocks("WR")))
        assert totals["activates"] == len(out.clocks("ACT"))
        assert totals["precharges"] == len(out.clocks("PRE")) + len(out.clocks("PREA"))
        assert totals["refreshes"] == len(out.clocks("REF"))
    # running every channel in every cycle, looking at every bank anew, changes nothing
    polled = run(spec, script, 1.237e9, poll=True)
    assert polled.done == out.done
    assert polled.commands == out.commands
    assert dram_totals(polled.m) == totals


@pytest.mark.parametrize("standard", ["gddr5", "hbm1"])
def test_dense_traffic_equals_a_run_that_looks_at_everything_in_every_cycle(standard):
    spec = plain_spec(standard=standard)
    script = [(1 + 6 * i, WRITE if i % 7 == 0 else READ, i * 7919 % 769 * (1 + i % 3)) for i in range(250)]
    assert run(spec, script, 1.237e9).commands == run(spec, script, 1.237e9, poll=True).commands


@pytest.mark.parametrize(("standard", "clock_hz"), [("gddr5", 1.237e9), ("hbm1", 1e9)])
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
    for look_ahead in (1, 2, 5, None):
        assert by_channel(look_ahead) == expected


@settings(max_examples=25, deadline=None)
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
