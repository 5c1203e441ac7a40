"""Exact: are the cycles those that the part's table gives? Core and command clock are equal here, both 1.75 GHz.

A request accepted in cycle a reaches the scheduler in clock a + 1. GDDR5 at 7 Gb/s, in clocks: tRCD 21 (write 18),
tRP 21, tRAS 49, tRC 70, CL 21, CWL 6, tCCD 2 / 3, tRRD 10, tFAW 41, tRTP 2, tWR 21, tWTR 9, burst 2, two bursts
a line. The second burst of a line follows the first by tCCD_L; data end at the read command + CL + burst.
"""

import pytest

from memory.dram.constants import COMMAND_NAMES as NAMES
from memory.dram.spec import resolve
from tests.unit.memory.dram_harness import READ, WHOLE, WRITE, line_at, plain_spec, run

SPEC = plain_spec()
WAITING = plain_spec(write_idle_clocks=1000)


def test_first_read_opens_the_row():
    out = run(SPEC, [(1, READ, 0)])
    assert out.issued() == [(2, "ACT"), (23, "RD"), (26, "RD")]
    assert out.done == [26 + 21 + 2]
    assert out.m.dram.channel[0].row_misses == 1


def test_row_hit():
    out = run(SPEC, [(1, READ, 0), (100, READ, line_at(SPEC, column=5))])
    assert out.issued()[3:] == [(101, "RD"), (104, "RD")]
    assert out.done[1] == 104 + 23
    assert out.m.dram.channel[0].row_hits == 1


def test_row_conflict():
    out = run(SPEC, [(1, READ, 0), (100, READ, line_at(SPEC, row=1))])
    assert out.issued()[3:] == [(101, "PRE"), (122, "ACT"), (143, "RD"), (146, "RD")]
    assert out.m.dram.channel[0].row_conflicts == 1


def test_row_conflict_waits_for_tras_and_trc():
    out = run(SPEC, [(1, READ, 0), (1, READ, line_at(SPEC, row=1))])
    # the precharge waits for tRAS after the activate in clock 2, the activate for tRP = tRC - tRAS
    assert out.issued()[3:5] == [(2 + 49, "PRE"), (2 + 70, "ACT")]


def test_trc_binds_when_longer_than_tras_and_trp():
    spec = plain_spec(timing={"trc_ns": 60})  # 105 clocks
    assert run(spec, [(1, READ, 0), (1, READ, line_at(spec, row=1))]).clocks("ACT") == [2, 2 + 105]


def test_activates_of_a_bank_group_obey_trrd_long():
    spec = plain_spec(timing={"trrd_long_ns": 10})  # 18 clocks
    assert run(spec, [(1, READ, line_at(spec, bank=i)) for i in range(2)]).clocks("ACT") == [2, 2 + 18]


def test_write_to_read_within_a_bank_group_obeys_twtr_long():
    spec = plain_spec(timing={"twtr_long_ns": 10})  # 18 clocks
    same, other = (line_at(spec, column=1), line_at(spec, group=1))
    first = [(1, READ, 0), (1, READ, line_at(spec, group=1)), (100, WRITE, 0), (103, READ, other), (103, READ, same)]
    # writes in clocks 101 and 104: other groups may read CWL + burst + 9 later, the same group CWL + burst + 18
    assert run(spec, first).clocks("RD")[4:6] == [104 + 17, 104 + 17 + 3]
    assert run(spec, first[:3] + first[4:]).clocks("RD")[4:6] == [104 + 26, 104 + 26 + 3]


def test_same_bank_group_is_spaced_by_tccd_long():
    hits = [(100, READ, line_at(SPEC, column=1)), (100, READ, line_at(SPEC, column=2))]
    out = run(SPEC, [(1, READ, 0), *hits])
    assert [c for c, _ in out.issued()[3:]] == [101, 104, 107, 110]


def test_different_bank_groups_are_spaced_by_tccd_short():
    opened = [(1, READ, line_at(SPEC)), (1, READ, line_at(SPEC, group=1))]
    hits = [(200, READ, line_at(SPEC, column=1)), (200, READ, line_at(SPEC, group=1, column=1))]
    out = run(SPEC, opened + hits)
    # group 0, group 1, then both second bursts: no gap on the data bus
    assert [c for c, _ in out.issued()[6:]] == [201, 203, 205, 207]
    assert [c.bank for c in out.commands[6:]] == [0, 1, 0, 1]


def test_activates_obey_trrd_and_tfaw():
    spec = plain_spec(timing={"tfaw_ns": 26.2})  # 46 clocks
    out = run(spec, [(1, READ, line_at(spec, bank=i // 4, group=i % 4)) for i in range(5)])
    assert out.clocks("ACT") == [2, 12, 22, 32, 2 + 46]


def test_column_command_goes_before_row_command():
    out = run(SPEC, [(1, READ, line_at(SPEC, bank=i // 4, group=i % 4)) for i in range(5)])
    # tFAW would let the fifth activate go in clock 43, but the third bank is read then
    assert out.clocks("RD")[4] == 43
    assert out.clocks("ACT")[4] == 44


def test_write_to_read_turnaround():
    out = run(SPEC, [(1, WRITE, 0), (22, READ, line_at(SPEC, column=1))])
    # tRCD for writes is 18; the read follows the second write by CWL + burst + tWTR
    assert out.issued() == [(2, "ACT"), (20, "WR"), (23, "WR"), (40, "RD"), (43, "RD")]


def test_a_turn_ends_with_a_whole_line():
    out = run(SPEC, [(1, WRITE, 0), (20, READ, line_at(SPEC, column=1))])
    assert out.issued()[:4] == [(2, "ACT"), (20, "WR"), (23, "WR"), (40, "RD")]


def test_read_to_write_turnaround():
    out = run(SPEC, [(1, READ, 0), (1, WRITE, line_at(SPEC, column=1))])
    # two idle clocks between read data, which end at 26 + 23, and write data, which start CWL after the command
    assert out.issued()[3:] == [(26 + 23 + 2 - 6, "WR"), (45 + 3, "WR")]


def test_precharge_waits_for_write_recovery():
    out = run(SPEC, [(1, WRITE, 0), (24, READ, line_at(SPEC, row=1))])
    assert out.issued()[3] == (23 + 6 + 2 + 21, "PRE")


def test_precharges_obey_tppd():
    spec = plain_spec(timing={"tppd_clocks": 7})
    first = [(1, READ, line_at(spec, group=g)) for g in range(2)]
    second = [(200, READ, line_at(spec, row=1, group=g)) for g in range(2)]
    assert run(spec, first + second).clocks("PRE") == [201, 208]


def test_refresh_of_closed_banks_blocks_the_read():
    refi = resolve(SPEC).trefi
    out = run(SPEC, [(refi - 1, READ, 0)])
    assert out.issued()[:2] == [(refi, "REF"), (refi + 114, "ACT")]
    assert out.done == [refi + 114 + 21 + 3 + 23]


def test_refresh_closes_open_banks_first():
    refi = resolve(SPEC).trefi
    out = run(SPEC, [(refi - 200, READ, 0), (refi, READ, 0)])
    assert out.issued()[3:6] == [(refi, "PREA"), (refi + 21, "REF"), (refi + 21 + 114, "ACT")]
    assert out.m.dram.channel[0].row_conflicts == 0


def test_refresh_waits_for_the_requests_of_open_rows():
    refi = resolve(SPEC).trefi
    other = (refi - 23, READ, line_at(SPEC, row=1, group=1))
    late = (refi + 30, READ, line_at(SPEC, group=2))
    out = run(SPEC, [(refi - 23, READ, 0), (refi - 23, READ, line_at(SPEC, column=1)), other, late])
    # both rows were opened before; after the precharge, which tRAS allows, tRP, then the refresh; then a row is opened
    assert out.issued()[:2] == [(refi - 22, "ACT"), (refi - 12, "ACT")]
    assert [name for _, name in out.issued()[2:10]] == ["RD"] * 6 + ["PREA", "REF"]
    assert out.clocks("PREA") == [refi - 12 + 49] and out.clocks("REF") == [refi - 12 + 49 + 21]


def test_refresh_opens_no_row():
    refi = resolve(SPEC).trefi
    out = run(SPEC, [(refi - 50, READ, 0), (refi, READ, line_at(SPEC, group=1))])
    assert out.issued()[3:6] == [(refi, "PREA"), (refi + 21, "REF"), (refi + 21 + 114, "ACT")]


def test_refresh_interrupts_a_line_between_its_bursts_after_its_grace():
    spec = plain_spec(refresh_grace_clocks=1)
    refi = resolve(spec).trefi
    out = run(spec, [(refi - 23, READ, 0)])
    assert out.issued()[:3] == [(refi - 22, "ACT"), (refi - 1, "RD"), (refi + 27, "PREA")]
    assert [name for _, name in out.issued()[3:]] == ["REF", "ACT", "RD"]


@pytest.mark.parametrize("grace", [0, 30, 200])
def test_refresh_waits_for_a_stream_of_row_hits_no_longer_than_its_grace(grace):
    spec = plain_spec(refresh_grace_clocks=grace, read_queue=128)
    t = resolve(spec)
    # reads of one row, each as long as tCCD_L allows, far beyond the time of the refresh
    out = run(spec, [(t.trefi - 60 + 6 * i, READ, line_at(spec, column=i % 32)) for i in range(60)])
    assert t.trefi + grace <= out.clocks("PREA")[0] <= t.trefi + grace + t.trtp + 1


def test_an_idle_channel_makes_up_for_missed_refreshes():
    refi = resolve(SPEC).trefi
    out = run(SPEC, [(1, READ, 0), (10 * refi + 1000, READ, 0)])
    assert out.clocks("REF") == [refi + 21] + [refi * i for i in range(2, 11)]


def test_half_a_line_is_one_burst():
    out = run(SPEC, [(1, WRITE, 0, 0xFF), (1, WRITE, line_at(SPEC, column=1), 0xFF << 40)])
    assert out.issued() == [(2, "ACT"), (20, "WDM"), (23, "WDM")]
    assert [c.column for c in out.commands[1:]] == [0, 3]


def test_few_writes_wait_for_an_idle_channel():
    out = run(WAITING, [(1, READ, 0), (1, WRITE, line_at(WAITING, column=1))])
    assert out.clocks("WR")[0] == 26 + 1000


def test_read_of_a_queued_whole_line_is_forwarded():
    spec = plain_spec(write_idle_clocks=500, request_latency_ns=10, response_latency_ns=10)
    out = run(spec, [(1, WRITE, 0), (20, READ, 0)])
    assert out.done[1] == 20 + 18 + 18  # 10 ns are 17.5 cycles
    assert out.clocks("RD") == []
    assert out.m.dram.channel[0].read_forwards == 1


def test_read_of_a_partly_queued_line_goes_to_the_bank():
    out = run(WAITING, [(1, WRITE, 0, 0xFFFF), (1, READ, 0)])
    assert len(out.clocks("RD")) == 2
    assert out.m.dram.channel[0].read_forwards == 0


def test_writes_of_one_line_merge():
    out = run(WAITING, [(1, WRITE, 0, 1), (1, WRITE, 0, 1 << 63), (1, READ, line_at(WAITING, row=1))])
    assert len(out.clocks("WSM")) == 2
    assert out.m.dram.channel[0].write_merges == 1


# masks by whether a bit says it of two bytes (WDM), of one (WSM), or none is needed
MASKS = {"WR": WHOLE, "WDM": 0x0000_0003_FFFF_0000, "WSM": 0x4000_0000_0000_0001}


@pytest.mark.parametrize(("name", "act"), [("WR", 21), ("WDM", 22), ("WSM", 26)])
def test_a_mask_takes_clocks_of_the_command_bus(name, act):
    # the row of another bank could be opened in the clock after a burst; it waits for the burst's mask, and in clock 23
    # the line's other burst goes first, which comes no sooner as both are of one bank group
    out = run(plain_spec(), [(1, WRITE, 0, MASKS[name]), (20, WRITE, line_at(SPEC, bank=1))])
    assert out.clocks(name)[:2] == [20, 23]
    assert out.clocks("ACT") == [2, act]


@pytest.mark.parametrize("standard", ["hbm1", "ddr4"])
def test_a_mask_with_pins_of_its_own_takes_no_clock(standard):
    def issued(mask):
        out = run(plain_spec(standard=standard), [(1, WRITE, 0, mask), (1, WRITE, 1, mask)])
        return out.issued(), out.m.dram.channel[0].masked_bursts

    (plain, none), (masked, some) = issued(WHOLE), issued(MASKS["WSM"])
    assert masked == plain
    assert (none, some) == (0, 2 * resolve(plain_spec(standard=standard)).bursts_per_line)


def test_bytes_are_counted_as_written_dirty_and_merged():
    script = [(1, WRITE, 0, 0xFF), (1, WRITE, 0, 0xF0F0), (1, WRITE, 1, 1 << 40)]
    counts = run(WAITING, [*script, (1, READ, line_at(WAITING, row=1))]).m.dram.channel[0]
    assert (counts.bytes_written, counts.bytes_dirty, counts.bytes_merged) == (2 * 32, 12 + 1, 4)


@pytest.mark.parametrize("trtrs", [6, 12])
def test_a_read_after_a_write_of_another_rank_waits_until_the_bus_has_changed_hands(trtrs):
    # read data of rank 1 begin `trtrs` idle clocks after the last write data of rank 0
    spec = plain_spec(standard="ddr4", ranks=2, timing={"trtrs_clocks": trtrs})
    t = resolve(spec)
    other = line_at(spec, bank=t.banks_per_group)  # the rank is the bit above the bank in its group
    opened = [(1, READ, other), (200, WRITE, 0)]
    (write,) = run(spec, opened, t.clock_hz).clocks("WR")
    out = run(spec, [*opened, (write + 1, READ, other + 1)], t.clock_hz)
    banks = {NAMES[c.command]: c.bank // t.rank_banks for c in out.commands if NAMES[c.command] in ("RD", "WR")}
    assert banks == {"RD": 1, "WR": 0}
    first, second = out.clocks("RD")
    assert out.clocks("WR") == [write] and first < write
    assert second + 22 == write + 16 + 4 + trtrs  # DDR4-3200: tCL 22, tCWL 16, bursts of four clocks


def test_completion_is_rounded_up_to_core_cycles():
    # 1.237 GHz core: 1 750 clocks are 1 237 cycles; cycle 2 begins at clock 2.83, so the request is seen in clock 3
    out = run(SPEC, [(1, READ, 0)], core_clock_hz=1.237e9)
    assert out.issued() == [(3, "ACT"), (24, "RD"), (27, "RD")]
    assert out.done == [-(-50 * 1237 // 1750)]


def test_hbm_has_a_row_bus():
    spec = plain_spec(standard="hbm1")
    t = resolve(spec)
    opened = (1, READ, line_at(spec))
    out = run(spec, [opened, (20, READ, line_at(spec, column=1)), (20, READ, line_at(spec, group=1))], 0.5e9)
    both = [(c, name) for c, name in out.issued() if c == 21]
    assert both == [(21, "RD"), (21, "ACT")]
    assert t.tccd_long == 2 and out.clocks("RD")[2:4] == [21, 23]


@pytest.mark.parametrize(("standard", "clocks"), [("gddr5", 1), ("hbm1", 2), ("hbm2", 2)])
def test_how_long_an_activate_takes_the_row_bus(standard, clocks):
    # of two banks the closed one is opened before the other one's row is closed: that waits for the bus
    spec = plain_spec(standard=standard)
    there = (1, READ, line_at(spec))
    out = run(spec, [there, (200, READ, line_at(spec, row=1)), (200, READ, line_at(spec, group=1))], 0.5e9)
    assert out.clocks("PRE")[0] - out.clocks("ACT")[1] == clocks


@pytest.mark.parametrize(("bandwidth", "last"), [(0.0, 101), (64.0, 110)])
def test_ideal_model(bandwidth, last):
    spec = plain_spec(model="ideal", ideal_latency_ns=100, ideal_bandwidth_gb_s=bandwidth)
    out = run(spec, [(1, READ, i) for i in range(9)] + [(1, WRITE, 99)], core_clock_hz=1e9)
    # 64 GB/s are one line a nanosecond: the ninth read ends 9 cycles after its acceptance, then the latency
    assert out.done[8] == last
    assert out.commands == []


def test_ideal_model_pushes_back():
    spec = plain_spec(model="ideal", ideal_latency_ns=10, ideal_bandwidth_gb_s=32.0, read_queue=4)
    out = run(spec, [(1, READ, i) for i in range(10)], core_clock_hz=1e9)
    assert out.done == [1 + 2 * (i + 1) + 10 for i in range(10)]


@pytest.mark.parametrize("model", ["cycle", "ideal"])
def test_read_latency_is_counted_from_acceptance_to_delivery(model):
    # a row miss, a row hit, and a read of a line that waits in the write queue: each accepted in its own cycle
    spec = plain_spec(model=model, write_idle_clocks=1000, request_latency_ns=8, response_latency_ns=12)
    line = line_at(spec, column=9)
    script = [(1, READ, 0), (300, READ, line_at(spec, column=5)), (600, WRITE, line), (601, READ, line)]
    out = run(spec, script)
    latencies = [done - script[k][0] for k, done in enumerate(out.done) if script[k][1] == READ]
    channel = out.m.dram.channel[0]
    assert int(channel.read_forwards) == (model == "cycle")
    assert (int(channel.read_latency), int(channel.read_latency_max)) == (sum(latencies), max(latencies))
    assert len(set(latencies)) == (3 if model == "cycle" else 1)
