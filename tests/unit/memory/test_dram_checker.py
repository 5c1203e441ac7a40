"""Checker: does it accept what is legal to the clock, and reject every rule broken by one clock?"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from memory.dram.constants import ACTIVATE, PRECHARGE, PRECHARGE_ALL, READ_BURST, REFRESH, WRITE_BURST
from memory.dram.constraints import RULES
from memory.dram.spec import resolve
from tests.support.daily import given_daily
from tests.support.dram_checker import DramCommand, ProtocolError, check_commands, recorded_commands
from tests.unit.memory.dram_harness import READ, WRITE, plain_spec, run

# every delay so long or so short that the rule under test is the one that binds
T = resolve(plain_spec())._replace(
    trcd_read=20,
    trcd_write=18,
    trp=20,
    trp_all=20,
    tras=50,
    trc=90,
    trrd_short=10,
    trrd_long=12,
    tfaw=60,
)
WRITE_END = T.tcwl + T.burst_clocks


def act(clock, bank=0, row=0):
    return DramCommand(0, clock, ACTIVATE, bank, row, 0)


def pre(clock, bank=0):
    return DramCommand(0, clock, PRECHARGE, bank, 0, 0)


def prea(clock):
    return DramCommand(0, clock, PRECHARGE_ALL, 0, 0, 0)


def read(clock, bank=0, row=0):
    return DramCommand(0, clock, READ_BURST, bank, row, 0)


def write(clock, bank=0, row=0):
    return DramCommand(0, clock, WRITE_BURST, bank, row, 0)


def ref(clock):
    return DramCommand(0, clock, REFRESH, 0, 0, 0)


TIGHT = {
    "tRC": [act(0), pre(50), act(90)],
    "tRAS": [act(0), pre(50)],
    "tRAS all": [act(0), prea(50)],
    "tRCD read": [act(0), read(20)],
    "tRCD write": [act(0), write(18)],
    "tRP": [act(0), pre(75), act(95)],
    "tRP all": [act(0), prea(75), act(95)],
    "tRP refresh": [act(0), pre(75), ref(95)],
    "tRP all refresh": [act(0), prea(75), ref(95)],
    "tRC refresh": [act(0), pre(50), ref(90)],
    "tRTP": [act(0), read(60), pre(60 + T.trtp)],
    "tRTP all": [act(0), read(60), prea(60 + T.trtp)],
    "tWR": [act(0), write(30), pre(30 + WRITE_END + T.twr)],
    "tWR all": [act(0), write(30), prea(30 + WRITE_END + T.twr)],
    "tRRD_S": [act(0), act(10, bank=1)],
    "tRRD_L": [act(0), act(12, bank=4)],
    "tFAW": [act(0), act(10, 1), act(20, 2), act(30, 3), act(60, 4)],
    "tPPD": [act(0), act(10, 1), pre(70), pre(70 + T.tppd, 1)],
    "tPPD all": [act(0), act(10, 1), pre(70), prea(70 + T.tppd)],
    "tCCD_S read": [act(0), act(10, 1), read(40), read(42, 1)],
    "tCCD_L read": [act(0), read(40), read(43)],
    "tCCD_S write": [act(0), act(10, 1), write(40), write(42, 1)],
    "tCCD_L write": [act(0), write(40), write(43)],
    "tWTR_S": [act(0), act(10, 1), write(40), read(40 + WRITE_END + T.twtr_short, 1)],
    "tWTR_L": [act(0), write(40), read(40 + WRITE_END + T.twtr_long)],
    "tRTW": [act(0), read(40), write(40 + T.tcl + T.burst_clocks + T.turnaround - T.tcwl)],
    "tRFC": [ref(0), act(T.trfc)],
    "tRFC refresh": [ref(0), ref(T.trfc)],
}


@pytest.mark.parametrize("name", TIGHT)
def test_least_distance_passes_and_one_clock_less_fails(name):
    stream = TIGHT[name]
    timing = T
    if name == "tWTR_L":
        timing = T._replace(twtr_long=T.twtr_short + 3)
        stream = [*stream[:-1], stream[-1]._replace(clock=stream[-1].clock + 3)]
    assert check_commands(stream, timing) == len(stream)
    with pytest.raises(ProtocolError, match=name.split()[0]):
        check_commands([*stream[:-1], stream[-1]._replace(clock=stream[-1].clock - 1)], timing)


ILLEGAL = {
    "two rows": ([act(0), act(200, row=1)], "already has row 0"),
    "precharge of a closed bank": ([pre(5)], "not open"),
    "read of a closed bank": ([read(5)], "open row is none"),
    "read of another row": ([act(0), read(50, row=1)], "open row is 0"),
    "write after precharge": ([act(0), pre(60), write(90)], "open row is none"),
    "refresh with an open bank": ([act(0), ref(500)], "are open"),
    "two commands in a clock": ([act(0), act(50, 1), read(80), pre(80, 1)], "command bus"),
    "back in time": ([act(10), act(5, 1)], "command bus"),
    "no such bank": ([act(0, 16)], "no such"),
    "no such burst": ([act(0), read(50)._replace(column=64)], "no burst"),
    "no refresh": ([act(3 * T.trefi)], "tREFI"),
    "a refresh too late": ([ref(2 * T.trefi + 1)], f"tREFI: {2 * T.trefi + 1} clocks without a refresh of bank 0"),
    "a gap after a refresh": ([ref(T.trefi), ref(3 * T.trefi + 1)], "tREFI"),
    "too many refreshes": ([ref(100), ref(300), ref(500)], "tREFI: 3 refreshes of bank 0 so far, 0 were due"),
    "no such row": ([act(0, row=T.rows)], "a bank has 16384 rows"),
    "row below none": ([act(0, row=-1)], "a bank has 16384 rows"),
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_state_is_rejected(name):
    stream, message = ILLEGAL[name]
    with pytest.raises(ProtocolError, match=message):
        check_commands(stream, T)


def test_data_bus_collision_is_rejected():
    wide = T._replace(tccd_short=1, tccd_long=1)
    with pytest.raises(ProtocolError, match="data bus"):
        check_commands([act(0), read(40), read(41)], wide)


def test_read_and_write_data_lie_apart_however_long_the_write_latency():
    # CWL above CL: the write's data would start in time if its command followed the read at once
    late = T._replace(tcwl=T.tcl + T.burst_clocks + T.turnaround - 1)
    assert check_commands([act(0), act(10, 1), read(40), write(42, 1)], late) == 4
    # the rule as a table without it would have it: the data says what the commands do not
    rules = tuple(rule for rule in RULES if rule.name != "tRTW")
    short = T._replace(tcwl=T.tcl)
    stream = [act(0), act(10, 1), read(40), write(40 + T.burst_clocks + T.turnaround, 1)]
    assert check_commands(stream, short, rules) == 4
    with pytest.raises(ProtocolError, match="data bus changes hands until clock 65"):
        check_commands([*stream[:-1], stream[-1]._replace(clock=stream[-1].clock - 1)], short, rules)


@pytest.mark.parametrize(("split", "following"), [(True, pre(51)), (True, act(51, 2)), (False, read(51))])
def test_a_command_bus_is_taken_for_all_clocks_of_a_command(split, following):
    # no rule of the table says so here: the checker knows the bus by itself
    slow = T._replace(separate_row_bus=split, act=2, trrd_short=1, trrd_long=1)
    rules = tuple(rule for rule in RULES if not rule.name.startswith("ACT on"))
    stream = [act(0), act(50, 1), following]
    with pytest.raises(ProtocolError, match="command bus taken until clock 52"):
        check_commands(stream, slow, rules)
    assert check_commands([*stream[:-1], following._replace(clock=52)], slow, rules) == 3


def test_row_bus_takes_a_command_beside_a_column_command():
    split = T._replace(separate_row_bus=True)
    stream = [act(0), act(50, 1), read(80), act(80, 2)]
    assert check_commands(stream, split) == 4
    with pytest.raises(ProtocolError, match="command bus"):
        check_commands(stream, T)


def test_channels_are_independent():
    assert check_commands([act(0), act(0)._replace(channel=1)], T) == 2


LINES = st.integers(0, 4000)
TRAFFIC = st.lists(st.tuples(st.integers(0, 30), st.sampled_from([READ, READ, WRITE]), LINES), min_size=4, max_size=60)


def _script(traffic):
    t = 1
    script = []
    for wait, kind, line in traffic:
        t += wait
        script.append((t, kind, line))
    return script


@pytest.fixture(scope="module")
def stream():
    # 200 requests in a few rows of all banks: every kind of command, several refreshes
    script = [(1 + 40 * i, WRITE if i % 5 == 0 else READ, (i * 7919) % 4096) for i in range(200)]
    commands = run(plain_spec(), script).commands
    assert {c.command for c in commands} == {
        ACTIVATE, PRECHARGE, PRECHARGE_ALL, READ_BURST, WRITE_BURST, REFRESH
    }  # fmt: skip
    return commands


def _is_used(stream, i):
    """Whether command i opens a row that is accessed before a refresh closes it again."""
    if stream[i].command != ACTIVATE:
        return False
    after = next((c for c in stream[i + 1 :] if c.bank == stream[i].bank or c.command == PRECHARGE_ALL), None)
    return after is not None and after.command != PRECHARGE_ALL


@pytest.mark.compiled_tier  # the checker is never compiled
@given_daily(25, 60, st.data())
def test_mutations_of_a_recorded_stream_are_rejected(stream, data):
    timing = resolve(plain_spec())
    needed = [i for i, c in enumerate(stream) if c.command == REFRESH or _is_used(stream, i)]
    kind = data.draw(st.sampled_from(["drop", "repeat", "row", "swap"]))
    i = data.draw(st.sampled_from(needed) if kind == "drop" else st.integers(0, len(stream) - 2))
    if kind == "drop":
        activate = stream[i].command == ACTIVATE
        mutant = [*stream[:i], *stream[i + 1 :]] if activate else [c for c in stream if c.command != REFRESH]
    elif kind == "repeat":
        mutant = [*stream[: i + 1], stream[i], *stream[i + 1 :]]
    elif kind == "row":
        columns = [j for j, c in enumerate(stream) if c.command in (READ_BURST, WRITE_BURST)]
        i = data.draw(st.sampled_from(columns))
        mutant = [*stream[:i], stream[i]._replace(row=stream[i].row + 1), *stream[i + 1 :]]
    else:
        mutant = [*stream[:i], stream[i + 1], stream[i], *stream[i + 2 :]]
    assert check_commands(stream, timing) == len(stream)
    with pytest.raises(ProtocolError):
        check_commands(mutant, timing)


@settings(max_examples=10 if JIT_DISABLED else 40, deadline=None)
@given(
    TRAFFIC,
    st.sampled_from(["gddr5", "hbm1"]),
    st.sampled_from(["fr_fcfs", "fcfs"]),
    st.sampled_from([1, 2]),
    st.sampled_from([100, 2000]),
    st.booleans(),
)
def test_random_traffic_is_legal(traffic, standard, scheduler, channels, age_cap, hashed):
    spec = plain_spec(
        standard=standard,
        scheduler=scheduler,
        channels=channels,
        age_cap_clocks=age_cap,
        read_queue=8,
        write_queue=8,
        write_high=6,
        write_low=2,
    )
    if hashed:
        spec = spec.model_copy(update={"bank_masks": None})
    out = run(spec, _script(traffic), core_clock_hz=1.237e9)
    assert check_commands(out.commands, resolve(spec)) == len(out.commands)


def test_a_buffer_that_is_too_small_is_reported():
    out = run(plain_spec(), [(1, READ, 0)])
    out.m.dram.record_count = 10
    with pytest.raises(OverflowError, match="10 commands"):
        recorded_commands(out.m, np.zeros((3, 6), np.int64))
