"""Exact cases of a load's way through DRAM: closed bank, row hit, row conflict, tRC, two banks, refresh."""

from fractions import Fraction
from math import ceil
from pathlib import Path

import pytest

from gpusim.model.core.gpu_spec import GpuSpec
from memory.cache.l2_state import L2Spec
from memory.dram.mapping import plain_bank_masks
from memory.dram.spec import DramSpec, DramTiming, resolve
from tests.exact.machine import (
    BUFFER_LOW,
    END,
    LOAD,
    TURN,
    WAIT,
    after_wait,
    cases,
    finished,
    first_issue,
    l1_miss_data,
    machine,
    served,
    turn,
)
from tests.support.assembly import Assembly

ASSEMBLY = Assembly(Path(__file__).parent / "objects" / "dram.hsaco")
case = cases(ASSEMBLY)
LINE_BYTES = 64


def one_channel(standard: str, **values: float) -> GpuSpec:
    """One channel, its banks plain address bits, the controller's latencies 10 ns before and after."""
    dram = DramSpec(standard=standard, channels=1)
    return machine(dram=dram.model_copy(update={"bank_masks": plain_bank_masks(dram)}), l2=L2Spec(channels=1), **values)


# the core's clock and the command clock: MI6's, R9 Nano's, and one and the same
DRAMS = {
    "gddr5": one_channel("gddr5"),
    "hbm1": one_channel("hbm1", clock_ghz=1.0),
    "gddr5_same_clock": one_channel("gddr5", clock_ghz=1.75),
}


@pytest.fixture(params=DRAMS)
def gpu(request: pytest.FixtureRequest) -> GpuSpec:
    return DRAMS[request.param]


def timing(gpu: GpuSpec) -> DramTiming:
    return resolve(gpu.dram)


def ratio(gpu: GpuSpec) -> Fraction:
    """Command clocks a core cycle."""
    return Fraction(timing(gpu).clock_hz / gpu.clock_hz).limit_denominator(1_000_000)


def scheduled(gpu: GpuSpec, cycle: int) -> int:
    """The command clock in which the scheduler has a request that L2 makes in `cycle`."""
    return ceil((cycle + ceil(gpu.dram.request_latency_ns * gpu.clock_ghz)) * ratio(gpu))


def back(gpu: GpuSpec, read: int) -> int:
    """The core cycle in which L2 has the line whose first read command is in clock `read`.

    A line is two bursts of one bank, tCCD_L apart; data end tCL and a burst after the second command.
    """
    t = timing(gpu)
    assert t.bursts_per_line == 2
    end = read + t.tccd_long + t.tcl + t.burst_clocks
    return ceil(end / ratio(gpu)) + ceil(gpu.dram.response_latency_ns * gpu.clock_ghz)


def data(gpu: GpuSpec, filled: int) -> int:
    """When the registers hold the data of a line that comes to L2 in cycle `filled`."""
    return l1_miss_data(gpu, filled + gpu.l2.fill_latency_cycles + gpu.crossbar.response_latency_cycles)


def row_bytes_apart(gpu: GpuSpec) -> int:
    """From a row of a bank to its next: all banks' rows of that number lie between."""
    t = timing(gpu)
    return t.banks * t.lines_per_row * LINE_BYTES


def bank_bytes_apart(gpu: GpuSpec) -> int:
    """From a bank to the next bank of its group: a row of each group lies between."""
    t = timing(gpu)
    return t.bank_groups * t.lines_per_row * LINE_BYTES


GROUP_BYTES_APART = 4 * LINE_BYTES  # DramSpec.group_interleave_lines
ADDRESS = f"    v_mov_b32 v2, 1\n    v_mov_b32 v1, {BUFFER_LOW:#x}\n"
BYTES_APART = sorted(
    {LINE_BYTES, GROUP_BYTES_APART} | {f(gpu) for gpu in DRAMS.values() for f in (row_bytes_apart, bank_bytes_apart)}
)
for _apart in BYTES_APART:
    _next = f"    v_add_u32 v1, vcc, {_apart:#x}, v1\n"
    ASSEMBLY.kernel(f"then_{_apart}", ADDRESS + LOAD + WAIT + _next + LOAD + WAIT + END)
    # lanes 32 to 63 load the other line
    _lanes = f"    v_lshrrev_b32 v3, 5, v0\n    v_mul_u32_u24 v3, {_apart:#x}, v3\n    v_add_u32 v1, vcc, v1, v3\n"
    ASSEMBLY.kernel(f"both_{_apart}", ADDRESS + _lanes + LOAD + WAIT + END)


def first_load(gpu: GpuSpec) -> int:
    """Issue of the instruction after the first load's wait: its row is closed, an activate opens it."""
    asked = served(gpu, first_issue(gpu) + 2 * TURN + 1)
    read = scheduled(gpu, asked) + timing(gpu).trcd_read
    return after_wait(data(gpu, back(gpu, read)))


@pytest.mark.parametrize("kind", ["row hit", "row miss, next bank", "row miss, next group", "row conflict"])
def test_a_second_load(gpu: GpuSpec, kind: str) -> None:
    t = timing(gpu)
    apart, commands = {
        "row hit": (LINE_BYTES, 0),
        "row miss, next bank": (bank_bytes_apart(gpu), t.trcd_read),
        "row miss, next group": (GROUP_BYTES_APART, t.trcd_read),
        "row conflict": (row_bytes_apart(gpu), t.trp + t.trcd_read),
    }[kind]
    issue = first_load(gpu) + TURN
    read = scheduled(gpu, served(gpu, issue + 1)) + commands
    facts = case(f"then_{apart}", gpu)
    assert facts.cycles == finished(after_wait(data(gpu, back(gpu, read))))
    hits, misses, conflicts = {"row hit": (1, 1, 0), "row conflict": (0, 1, 1)}.get(kind, (0, 2, 0))
    assert (facts.dram.row_hits, facts.dram.row_misses, facts.dram.row_conflicts) == (hits, misses, conflicts)


def both_asked(gpu: GpuSpec) -> tuple[int, int]:
    """Clocks in which the scheduler has the two lines of one load, asked for a cycle apart."""
    asked = served(gpu, first_issue(gpu) + 5 * TURN + 1)
    return scheduled(gpu, asked), scheduled(gpu, asked + 1)


def test_two_rows_of_a_bank_are_trc_apart(gpu: GpuSpec) -> None:
    t = timing(gpu)
    first, _ = both_asked(gpu)
    last_burst = first + t.trcd_read + t.tccd_long
    precharge = max(first + t.tras, last_burst + t.trtp)
    activate = max(first + t.trc, precharge + t.trp)
    facts = case(f"both_{row_bytes_apart(gpu)}", gpu)
    assert facts.cycles == finished(after_wait(data(gpu, back(gpu, activate + t.trcd_read))))
    assert facts.dram.row_conflicts == 1


@pytest.mark.parametrize("same_group", [True, False])
def test_two_banks_are_opened_trrd_apart(gpu: GpuSpec, same_group: bool) -> None:
    t = timing(gpu)
    first, second = both_asked(gpu)
    activate = max(second, first + (t.trrd_long if same_group else t.trrd_short))
    assert activate + t.trcd_read >= first + t.trcd_read + 2 * t.tccd_long  # after the first one's bursts
    facts = case(f"both_{bank_bytes_apart(gpu) if same_group else GROUP_BYTES_APART}", gpu)
    assert facts.cycles == finished(after_wait(data(gpu, back(gpu, activate + t.trcd_read))))
    assert facts.dram.row_misses == 2


def test_two_lines_of_a_row_share_its_activate(gpu: GpuSpec) -> None:
    # four bursts of one bank, tCCD_L apart
    t = timing(gpu)
    first, _ = both_asked(gpu)
    facts = case(f"both_{LINE_BYTES}", gpu)
    assert facts.cycles == finished(after_wait(data(gpu, back(gpu, first + t.trcd_read + 2 * t.tccd_long))))
    assert (facts.dram.row_misses, facts.dram.row_hits) == (1, 1)


# --- refresh: every tREFI all banks are closed and refreshed, for tRFC ---

SLEEP_UNIT = 64
SLEEPS = range(30, 72, 3)  # close enough that one of them ends in a refresh


def asked_after(gpu: GpuSpec, issue: int, sleeps: int, setup_turns: int) -> int:
    """Clock in which the scheduler has the load after an s_sleep that issues in cycle `issue`."""
    load = turn(issue + 1 + SLEEP_UNIT * sleeps) + setup_turns * TURN
    return scheduled(gpu, served(gpu, load + 1))


def shortest_sleep(gpu: GpuSpec, issue: int, setup_turns: int, clock: int) -> int:
    """Operand of the s_sleep after which the scheduler has the load after `clock`."""
    return next(n for n in SLEEPS if asked_after(gpu, issue, n, setup_turns) > clock)


def into_the_refresh(gpu: GpuSpec) -> int:
    return shortest_sleep(gpu, first_issue(gpu), 2, timing(gpu).trefi)


def after_the_refresh(gpu: GpuSpec) -> int:
    t = timing(gpu)
    return shortest_sleep(gpu, first_load(gpu), 1, t.trefi + t.trp + t.trfc)


for _sleeps in SLEEPS:
    ASSEMBLY.kernel(f"sleep_{_sleeps}", f"    s_sleep {_sleeps}\n" + ADDRESS + LOAD + WAIT + END)
    _next = f"    s_sleep {_sleeps}\n    v_add_u32 v1, vcc, {LINE_BYTES}, v1\n"
    ASSEMBLY.kernel(f"load_sleep_{_sleeps}", ADDRESS + LOAD + WAIT + _next + LOAD + WAIT + END)


def test_a_load_that_meets_a_refresh_waits_for_its_end(gpu: GpuSpec) -> None:
    # no row is open, so that the refresh begins in clock tREFI
    t = timing(gpu)
    sleeps = into_the_refresh(gpu)
    asked = asked_after(gpu, first_issue(gpu), sleeps, 2)
    assert t.trefi < asked < t.trefi + t.trfc
    facts = case(f"sleep_{sleeps}", gpu)
    assert facts.cycles == finished(after_wait(data(gpu, back(gpu, t.trefi + t.trfc + t.trcd_read))))
    assert facts.dram.refreshes == 1


def test_a_refresh_closes_the_open_row(gpu: GpuSpec) -> None:
    # the next line of the row comes after precharge, refresh and idle time: it opens the row again
    sleeps = after_the_refresh(gpu)
    asked = asked_after(gpu, first_load(gpu), sleeps, 1)
    facts = case(f"load_sleep_{sleeps}", gpu)
    assert facts.cycles == finished(after_wait(data(gpu, back(gpu, asked + timing(gpu).trcd_read))))
    assert (facts.dram.row_hits, facts.dram.row_misses, facts.dram.refreshes) == (0, 2, 1)
