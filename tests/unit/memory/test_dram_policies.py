"""Schedulers and page policies: does each do what it says, within the rules, and however it is looked at?"""

from itertools import product

import numpy as np
import pytest
from pydantic import ValidationError

from gpusim.base.jit import JIT_DISABLED
from memory.dram.page_policy import PAGE_POLICIES
from memory.dram.scheduler import SCHEDULERS
from memory.dram.spec import DramSpec, resolve
from tests.support.dram_checker import check_commands
from tests.unit.memory.dram_harness import READ, WHOLE, WRITE, line_at, plain_spec, run, run_streams

NO_REFRESH = {"trefi_ns": 100_000}
CHOICES = (("gddr5", "hbm2"), tuple(PAGE_POLICIES), tuple(SCHEDULERS))


def hits_and_a_conflict(spec):
    """Sixty reads of one row that press on, and one of another row that comes after the first few."""
    hits = [(1 + i, READ, line_at(spec, column=i % 32)) for i in range(60)]
    return [hits, [(20, READ, line_at(spec, row=1))]]


def overtaken_by(spec):
    """How many of the hits that came after the conflict were served before it."""
    out = run_streams(spec, hits_and_a_conflict(spec))
    return sum(done < out.done[60] for done in out.done[20:60])


def test_fr_fcfs_cap_bounds_how_many_hits_overtake():
    assert overtaken_by(plain_spec(scheduler="fcfs", timing=NO_REFRESH)) == 0
    few = overtaken_by(plain_spec(scheduler="fr_fcfs_cap", hit_cap=2, timing=NO_REFRESH, read_queue=64))
    more = overtaken_by(plain_spec(scheduler="fr_fcfs_cap", hit_cap=10, timing=NO_REFRESH, read_queue=64))
    free = overtaken_by(plain_spec(scheduler="fr_fcfs", timing=NO_REFRESH, read_queue=64))
    assert few < more < free == 40


def precharge_after(spec, later=()):
    """Clock of the first precharge after one read, and of the last command of that read."""
    out = run(spec, [(1, READ, 0), *later])
    precharges = out.clocks("PRE")
    return (precharges[0] if precharges else None), out.clocks("RD")[1]


def test_an_open_page_stays_open():
    spec = plain_spec(timing=NO_REFRESH)
    assert precharge_after(spec, [(5000, READ, line_at(spec, bank=1))])[0] is None


def test_a_closed_page_is_closed_as_soon_as_the_rules_allow():
    spec = plain_spec(page_policy="closed", timing=NO_REFRESH)
    # the activate in clock 2, tRAS 49; an idle channel decides it when the next request comes
    assert precharge_after(spec, [(5000, READ, line_at(spec, bank=1))]) == (2 + 49, 26)


def test_a_closed_page_waits_for_queued_hits():
    spec = plain_spec(page_policy="closed", timing=NO_REFRESH)
    out = run(spec, [(1 + i, READ, line_at(spec, column=i)) for i in range(16)])
    assert out.m.dram.channel[0].row_hits == 15
    assert out.clocks("PRE") == []  # the last read ends the run before its row is closed


def test_a_timeout_counts_from_the_last_access():
    spec = plain_spec(page_policy="timeout", page_timeout_clocks=300, timing=NO_REFRESH)
    closed, last = precharge_after(spec, [(200, READ, 1), (5000, READ, line_at(spec, bank=1))])
    assert last == 26
    assert closed == 201 + 3 + 300  # the hit's second burst


def test_open_adaptive_closes_for_a_waiting_write():
    values = {"write_idle_clocks": 1000, "timing": NO_REFRESH}
    adaptive = plain_spec(page_policy="open_adaptive", **values)
    script = [(1, READ, 0), (60, WRITE, line_at(adaptive, row=1)), (3000, READ, 0)]
    assert run(adaptive, script).clocks("PRE")[0] == 61
    assert run(plain_spec(**values), script).clocks("PRE")[0] > 1000
    assert precharge_after(adaptive, [(5000, READ, line_at(adaptive, bank=1))])[0] is None


@pytest.mark.parametrize(
    ("standard", "page_policy", "scheduler"),
    [
        # without the compiler each page policy once, with the schedulers and standards in turn
        pytest.param(*names, marks=[] if s % 2 == p % 2 and c == p % len(SCHEDULERS) else pytest.mark.compiled_tier)
        for (s, p, c), names in zip(product(*map(range, map(len, CHOICES))), product(*CHOICES), strict=True)
    ],
)
def test_policies_keep_the_rules_and_do_not_depend_on_when_they_are_looked_at(standard, page_policy, scheduler):
    refresh = "per_bank" if standard == "hbm2" else "all_bank"
    spec = DramSpec(
        standard=standard, refresh=refresh, channels=2, scheduler=scheduler, page_policy=page_policy, hit_cap=2,
        page_timeout_clocks=60, read_queue=6, write_queue=8, write_high=6, write_low=2,
    )  # fmt: skip
    random = np.random.default_rng(7)
    at, script = 1, []
    for i in range(25 if JIT_DISABLED else 300):
        at += int(random.integers(0, 4)) if i % 40 else 3000
        kind = WRITE if random.random() < 0.3 else READ
        script.append((at, kind, int(random.integers(0, 96)) * 41, WHOLE if random.random() < 0.7 else 0xFF))
    scripts = [script[0::3], script[1::3], script[2::3]]
    out = run_streams(spec, scripts, 1.237e9)
    assert check_commands(out.commands, resolve(spec)) == len(out.commands)

    def by_channel(outcome):
        return [[c for c in outcome.commands if c.channel == channel] for channel in range(2)], outcome.done

    assert by_channel(run_streams(spec, scripts, 1.237e9, poll=True)) == by_channel(out)
    for look_ahead in (0, 3):
        assert by_channel(run_streams(spec, scripts, 1.237e9, look_ahead=look_ahead)) == by_channel(out)


@pytest.mark.parametrize("values", [{"standard": "hbm4"}, {"scheduler": "fr_fcf"}, {"page_policy": "close"}])
def test_unknown_names_are_refused(values):
    with pytest.raises(ValidationError, match=r"Input should be '(gddr5|fr_fcfs|open)'"):
        DramSpec(**values)
