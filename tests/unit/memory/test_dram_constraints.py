"""Constraint table: is each row read as it says, is each needed, are rows refused that the scheduler cannot hold?"""

import numpy as np
import pytest

from gpusim.base.jit import JIT_DISABLED
from memory.dram.constants import (
    ACTIVATE,
    BANK,
    CHANNEL,
    GROUP,
    OTHER_RANK,
    PRECHARGE,
    RANK,
    READ_BURST,
    REFRESH,
    REFRESH_BANK,
    WRITE_BURST,
)
from memory.dram.constraints import REACH, RULES, TimingRule, compiled, in_force, reaches_further
from memory.dram.spec import resolve
from tests.support.dram_checker import DramCommand, ProtocolError, check_commands
from tests.unit.memory.dram_harness import READ, WHOLE, WRITE, machine, plain_spec, run

T = resolve(plain_spec())


def test_a_latency_is_a_sum_of_timings_and_numbers():
    assert TimingRule("r", BANK, (), (), "tcwl + burst_clocks + twr").clocks(T) == 6 + 2 + 21
    assert TimingRule("r", BANK, (), (), "tcl - 3 + 1").clocks(T) == 21 - 3 + 1
    assert TimingRule("r", BANK, (), (), "tcl + trtrs").clocks(T) is None  # GDDR5 has no ranks


@pytest.mark.parametrize("latency", ["tcl *", "tcl tcwl", "tcl + + 2"])
def test_a_latency_that_cannot_be_read_is_refused(latency):
    with pytest.raises(ValueError, match="rule r: cannot read"):
        TimingRule("r", BANK, (), (), latency).clocks(T)


def test_of_two_rules_the_longer_holds_and_a_channel_rule_holds_in_all_ranks():
    rules = (
        TimingRule("short", BANK, (ACTIVATE,), (READ_BURST, WRITE_BURST), "3"),
        TimingRule("long", BANK, (ACTIVATE,), (READ_BURST,), "7"),
        TimingRule("bus", CHANNEL, (ACTIVATE,), (PRECHARGE,), "2"),
    )
    least = compiled(T, rules).least
    assert least[BANK, ACTIVATE, READ_BURST] == 7
    assert least[BANK, ACTIVATE, WRITE_BURST] == 3
    assert least[RANK, ACTIVATE, PRECHARGE] == least[OTHER_RANK, ACTIVATE, PRECHARGE] == 2
    assert least.sum() == 7 + 3 + 2 + 2


def test_a_rule_holds_if_its_latency_is_given_and_longer_than_nothing():
    rules = [TimingRule(text, BANK, (ACTIVATE,), (PRECHARGE,), text) for text in ("trtrs", "tcl - tcl", "1", "tras")]
    assert [(rule.name, clocks) for rule, clocks in in_force(T, tuple(rules))] == [("1", 1), ("tras", T.tras)]


def test_a_window_is_kept_as_it_is_given():
    # as many windows, and as long a one, as the scheduler holds; a rule of a bank group beside them
    rules = (
        TimingRule("four", RANK, (ACTIVATE,), (ACTIVATE,), "40", window=4),
        TimingRule("longest", RANK, (ACTIVATE,), (ACTIVATE, REFRESH_BANK), "400", window=32),
        TimingRule("group", GROUP, (ACTIVATE,), (ACTIVATE,), "5"),
    )
    table = compiled(T, rules)
    held = [{int(k): int(window.distance[k]) for k in np.flatnonzero(window.distance > 0)} for window in table.windows]
    assert [window.size for window in table.windows] == [4, 32]
    assert held == [{ACTIVATE: 40}, {ACTIVATE: 400, REFRESH_BANK: 400}]
    assert table.least.sum() == table.least[GROUP, ACTIVATE, ACTIVATE] == 5


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([TimingRule("w", BANK, (ACTIVATE,), (ACTIVATE,), "9", window=4)], "a window is of"),
        ([TimingRule("w", RANK, (READ_BURST,), (ACTIVATE,), "9", window=4)], "a window is of"),
        ([TimingRule("w", RANK, (ACTIVATE,), (ACTIVATE,), "9", window=33)], "at most 32"),
        ([TimingRule("w", RANK, (ACTIVATE,), (READ_BURST,), "9", window=4)], "may hold back"),
        ([TimingRule("w", RANK, (ACTIVATE,), (READ_BURST, ACTIVATE), "9", window=4)], "may hold back"),
        ([TimingRule("w", RANK, (ACTIVATE,), (ACTIVATE,), "9", window=n) for n in (2, 4, 8)], "3 rules over a window"),
        ([TimingRule("p", GROUP, (PRECHARGE,), (PRECHARGE,), "9")], "does not wait for its bank group"),
    ],
)
def test_rules_that_the_scheduler_cannot_hold_are_refused(rules, message):
    with pytest.raises(ValueError, match=message):
        compiled(T, tuple(rules))


def test_which_commands_reach_further_than_the_busy_path():
    def further(standard):
        table = compiled(resolve(plain_spec(standard=standard)))
        return {command for command in REACH if reaches_further(table, command)}

    # DDR5's reads and writes take two clocks of a bus that all commands share; what DDR4 says of other ranks is nothing
    # where there is one
    assert further("gddr5") == further("hbm1") == further("ddr4") == set()
    assert further("ddr5") == {READ_BURST, WRITE_BURST}
    for values in ({}, {"standard": "hbm1"}, {"standard": "gddr6"}, {"standard": "ddr4"}):
        assert not machine(plain_spec(**values)).dram.special
    for values in (
        {"standard": "ddr4", "ranks": 2},
        {"standard": "hbm2"},
        {"page_policy": "closed"},
        {"scheduler": "fcfs"},
    ):
        assert machine(plain_spec(**values)).dram.special


# --- necessity: without a row, the scheduler breaks it, and the checker says so ---

QUICK = {"trefi_ns": 800, "trfc_ns": 30}
DEFAULT = {"timing": {"trc_ns": 60, "trrd_long_ns": 12, "twtr_long_ns": 12, "tppd_clocks": 5, **QUICK}}
PER_BANK = {"standard": "lpddr5", "refresh": "per_bank"}
RANKS = {"standard": "ddr4", "ranks": 2, "timing": {"trtrs_clocks": 6}}
SPECS = {
    "tFAW": {"timing": {"tfaw_ns": 60}},
    "t32AW": {"timing": {"t32aw_ns": 900}},
    "tRP all": {"timing": {"trp_all_ns": 40, "trefi_ns": 800, "trfc_ns": 5}},
    "tRTP": {"timing": {"trtp_clocks": 60}},
    "tWR": {"timing": {"twr_ns": 60}},
    "tCCD_S": {"timing": {"tccd_short_clocks": 4, "tccd_long_clocks": 4}},
    "tCCD_L": {"timing": {"tccd_long_clocks": 6}},
    "tCCD_L_WR": {"timing": {"tccd_long_write_clocks": 9}},
    "tRFC bank": {"standard": "hbm2", "refresh": "per_bank"},
    "tRREFD": {**PER_BANK, "timing": {"trrefd_ns": 60}},
    "tREFB to REFB": {**PER_BANK, "timing": {"trefb_to_refb_ns": 480}},
    "tRTRS": RANKS,
    "tRTRS write": RANKS,
    "tRTRS read to write": RANKS,
    "tRTRS write to read": {**RANKS, "timing": {"trtrs_clocks": 12}},
    "ACT on the row bus": {"standard": "hbm2"},
    "ACT on a shared bus": {"standard": "ddr5"},
    "RD, WR on the column bus": {"standard": "hbm1", "timing": {"column_clocks": 2}},
    "RD, WR on a shared bus": {"standard": "ddr5"},
}
MASKS = {"WDM on a shared bus": 0xFF00, "WSM on a shared bus": 0x0100}  # of writes; others are of whole lines


def traffic(seed, mask=WHOLE, n=150 if JIT_DISABLED else 600):
    """Bursts of reads and writes to a few rows of all banks, with pauses in which rows stay open."""
    random = np.random.default_rng(seed)
    t, script = 1, []
    while len(script) < n:
        t += int(random.choice([0, 0, 0, 1, 2, 10, 150]))
        kind = WRITE if random.random() < 0.4 else READ
        line = int(random.integers(0, 64)) * 4 + int(random.integers(0, 4))
        script.append((t, kind, line + 2048 * int(random.integers(0, 16)) * (random.random() < 0.7), mask))
    return script


def spec_of(name):
    small = {"read_queue": 16, "write_queue": 16, "write_high": 8, "write_low": 2}
    return plain_spec(**{**small, **SPECS.get(name, DEFAULT)})


# without the compiler one row of each level is enough
FEW = {rule.level: rule.name for rule in reversed(RULES)}.values()


@pytest.mark.parametrize(
    "name", [pytest.param(r.name, marks=[] if r.name in FEW else pytest.mark.compiled_tier) for r in RULES]
)
def test_each_row_is_necessary(name):
    spec = spec_of(name)
    timing = resolve(spec)
    assert name in {rule.name for rule, _ in in_force(timing)}
    fewer = tuple(rule for rule in RULES if rule.name != name)
    broken = []
    for seed in range(4):
        script = traffic(seed, MASKS.get(name, WHOLE))
        kept = run(spec, script, timing.clock_hz).commands
        assert check_commands(kept, timing) == len(kept)
        try:
            check_commands(run(spec, script, timing.clock_hz, rules=fewer).commands, timing)
        except ProtocolError as error:
            broken.append(str(error))
            break
    assert broken
    assert all(f": {name}: " in text or "data bus" in text or "tREFI" in text for text in broken)


# --- the checker on commands that GDDR5 does not have; those it has are in test_dram_checker.py ---


def command(kind, clock, bank=0):
    return DramCommand(0, clock, kind, bank, 0, 0)


def rejects(timing, name, stream):
    """The stream passes as it is, and breaks the rule if its last command comes one clock earlier."""
    assert check_commands(stream, timing) == len(stream)
    with pytest.raises(ProtocolError, match=f": {name}: "):
        check_commands([*stream[:-1], stream[-1]._replace(clock=stream[-1].clock - 1)], timing)


def test_checker_on_ranks():
    t = resolve(plain_spec(standard="ddr4", ranks=2))._replace(trtrs=3)
    opened = [command(ACTIVATE, 0), command(ACTIVATE, 1, bank=16)]
    rejects(t, "tRTRS", [*opened, command(READ_BURST, 40), command(READ_BURST, 40 + 4 + 3, bank=16)])
    rejects(t, "tRTRS write", [*opened, command(WRITE_BURST, 40), command(WRITE_BURST, 40 + 4 + 3, bank=16)])
    turn = 22 + 4 + 3 - 16
    rejects(t, "tRTRS read to write", [*opened, command(READ_BURST, 40), command(WRITE_BURST, 40 + turn, bank=16)])


def test_checker_on_refresh_of_banks():
    t = resolve(plain_spec(standard="lpddr5", refresh="per_bank"))
    # bank 0's refresh covers bank 8 too
    for bank in (0, 8):
        rejects(t, "tRFC bank", [command(REFRESH_BANK, 0), command(ACTIVATE, t.trfc_bank, bank=bank)])
    rejects(t, "tRREFD", [command(REFRESH_BANK, 0), command(ACTIVATE, t.trrefd, bank=1)])
    rejects(t, "tREFB to REFB", [command(REFRESH_BANK, 0), command(REFRESH_BANK, t.trefb_to_refb, bank=1)])
    with pytest.raises(ProtocolError, match=r"banks \[8\] are open"):
        check_commands([command(ACTIVATE, 0, bank=8), command(REFRESH_BANK, 90)], t)
    with pytest.raises(ProtocolError, match="refreshes cover pair"):
        check_commands([command(REFRESH, 0)], t)


def test_checker_on_pseudo_channels():
    t = resolve(plain_spec(standard="hbm2"))
    opened = [command(ACTIVATE, 0), command(ACTIVATE, 2, bank=16)]
    # data buses of their own, one column bus
    assert check_commands([*opened, command(READ_BURST, 40), command(READ_BURST, 41, bank=16)], t) == 4
    with pytest.raises(ProtocolError, match="command bus"):
        check_commands([*opened, command(READ_BURST, 40), command(READ_BURST, 40, bank=16)], t)
    rejects(t, "ACT on the row bus", opened)


def test_checker_counts_a_window_of_32():
    t = resolve(plain_spec())._replace(t32aw=400, trrd_short=1, trrd_long=1, tfaw=4, trc=30, tras=20, trp=5)
    stream = [command(ACTIVATE, k, bank=k) for k in range(16)]
    stream += [command(PRECHARGE, 60 + 2 * k, bank=k) for k in range(16)]
    stream += [command(ACTIVATE, 120 + k, bank=k) for k in range(16)]
    stream += [command(PRECHARGE, 180, bank=0)]
    rejects(t, "t32AW", [*stream, command(ACTIVATE, 400, bank=0)])
