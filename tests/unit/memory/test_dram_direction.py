"""Direction of the data bus: are writes drained in batches, opened rows used, banks prepared, nobody starved?"""

import numpy as np
import pytest

from gpusim.base.jit import JIT_DISABLED
from memory.dram.constants import COMMAND_NAMES as NAMES
from memory.dram.spec import DramSpec, resolve
from tests.support.dram_checker import check_commands
from tests.unit.memory.dram_harness import READ, WRITE, line_at, plain_spec, run, run_streams

NO_REFRESH = {"trefi_ns": 100_000}


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


@pytest.mark.parametrize(
    "standard", ["gddr5", *(pytest.param(name, marks=pytest.mark.compiled_tier) for name in ("gddr6", "hbm2"))]
)
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
    # the writes fill the queue again whenever there is space; one read after the other comes meanwhile
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
