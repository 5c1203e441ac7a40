"""Estimated gains of findings: how much faster a run can be at most without what a rule has found.

The cycles T of a launch become at least

    R = max(T (1 - s), B, (1 - w) D),    s = min(v, 1 - (1 - w) v)

with v, the share of T in which the matter's work is done or waited for: the utilization of the unit that does it, or
the share of the wavefront-cycles that wait for it, whichever is larger; w, what of that work is wasted. What is left of
the work, (1 - w) v, and the rest, 1 - v, may run at the same time. B is the largest roofline bound (latency's apart)
of the units that have as much to do afterwards, D that of the others. The gain of a finding is C / (C - sum of T - R),
over the launches to which the rule applies, with C, the cycles of the whole run. It is an upper estimate: other waits
may take the place. `python -m docs._site.sections how-to/report:gains` measures gains beside estimates.
"""

from collections.abc import Callable, Collection

from gpusim.base.sums import plain_sum
from gpusim.results.report import measures
from gpusim.results.report.access import patterns
from gpusim.results.report.result import RunMetrics

SavedShare = Callable[[RunMetrics, float], float]
MEMORY_WAITS = ("memory_dependency", "memory_throttle")
HIDDEN_BY_WAVEFRONTS = ("memory_dependency", "execution_dependency", "synchronization", "branch_latency")


def saved_cycles(run: RunMetrics, saved: float, wasted: float, relieved: Collection[str] = ()) -> float:
    """Return the cycles that a run can save at most.

    Args:
        run: Launches of a kernel.
        saved: Share of the cycles that goes, s of the module's formula.
        wasted: Share of the relieved units' work that goes, w.
        relieved: Rooflines of units that have less to do without it.

    Returns:
        T - R of the module's formula.
    """
    cycles = run.number("kernel.cycles")
    bounds = [
        value * (1 - wasted) if name in relieved else value
        for name, value in run.group("roofline").items()
        if name != "latency"
    ]
    return max(cycles - max(cycles * (1 - min(saved, 1.0)), max(bounds, default=0.0), 1.0), 0.0)


def without_waste(wasted: float, taken: float) -> float:
    """Return the share of the cycles that goes with a part of some work.

    Args:
        wasted: Part of the work that goes, w of the module's formula.
        taken: Share of the cycles in which the work is done or waited for, v.

    Returns:
        s of the module's formula.
    """
    return min(taken, 1 - (1 - wasted) * taken) if wasted else 0.0


def whole_cycles(run: RunMetrics) -> float:
    """Return the cycles C of the module's formula: gains of all findings of a run are of this one time.

    A single launch without copies is run for its kernel's sake: the time that launching it takes is left out.
    """
    cycles, kernel_us = run.number("kernel.cycles"), run.number("kernel.time_us")
    if not kernel_us or (measures.launching(run) is None and not run.number("host.copies_us")):
        return cycles
    return cycles * max(run.number("host.time_us") / kernel_us, 1.0)


def speed_up(whole: float, saved: float) -> float:
    """Return how many times faster something gets that takes `whole` and can save `saved`."""
    return whole / max(whole - saved, 1e-9 * whole) if whole else 1.0


def waiting_share(run: RunMetrics, *reasons: str) -> float:
    """Return the share of the wavefront-cycles that are spent waiting for these reasons."""
    return plain_sum(run.share(f"stalls.{reason}") or 0.0 for reason in reasons)


def share_itself(run: RunMetrics, share: float) -> float:
    """Return the measured share: it is one of the cycles."""
    return share


def wasted_memory(run: RunMetrics, share: float) -> float:
    """Return what wasted lines of vector memory take: by L1, L2 and DRAM, or by waits for loads and queues."""
    waits = _waited_for(run, "vector_memory") + waiting_share(run, "memory_throttle")
    busy = max(run.share(f"roofline.{unit}") or 0.0 for unit in ("l1", "l2", "dram"))
    return without_waste(share, min(max(waits, busy), 1.0))


def memory_held_up(run: RunMetrics, share: float) -> float:
    """Return what holds up all of memory takes: its waits are for whatever stands in the same queues.

    A stride of a power of two meets few of L2's sets and channels and of DRAM's banks too; behind atomics of one word
    other loads, stores and instructions wait. What is left of the work does not wait in full queues: of L1's look-up,
    and on the way to L2, which takes about as long as L2 itself where it is free.
    """
    taken = waiting_share(run, *MEMORY_WAITS, "instruction_fetch")
    stalled = measures.formula("l1.full_stall_cycles / cu.cycles")(run) or 0.0
    latency, of_l2 = run.number("l1.read_latency_cycles"), run.number("l2.read_latency_cycles")
    queued = 1 - 2 * of_l2 / latency if latency else 0.0
    return without_waste(1 - (1 - share) * (1 - min(max(stalled, queued, 0.0), 1.0)), taken)


def wasted_banks(run: RunMetrics, share: float) -> float:
    """Return what bank conflicts take: by LDS, or by waits for its data or for LDS itself, which are its part of the
    waits for busy pipelines.
    """
    lds, vector = (run.share(f"roofline.{unit}") or 0.0 for unit in ("lds", "valu"))
    pipeline = waiting_share(run, "execution_dependency") * lds / (lds + vector) if lds else 0.0
    return without_waste(share, min(max(lds, _waited_for(run, "lds") + pipeline), 1.0))


def wasted_lanes(run: RunMetrics, share: float) -> float:
    """Return what idle lanes take: by the vector ALUs, or by wavefronts that issue, could, or wait for a result."""
    waits = waiting_share(run, "issued", "not_selected", "execution_dependency", "branch_latency")
    return without_waste(share, max(run.share("roofline.valu") or 0.0, waits))


def in_memory_waits(run: RunMetrics, share: float) -> float:
    """Return the share of what wavefronts wait for memory."""
    return share * waiting_share(run, *MEMORY_WAITS)


def hidden_by_wavefronts(run: RunMetrics, share: float) -> float:
    """Return which waits more resident wavefronts would hide; share: of the slots that are empty."""
    return share * waiting_share(run, *HIDDEN_BY_WAVEFRONTS)


def in_loops(run: RunMetrics, share: float) -> float:
    """Return what loops take that unrolling ends: waits for branches, and the scalar instructions that count."""
    instructions = run.number("kernel.wavefront_instructions")
    scalar = run.number("kernel.salu_instructions") / instructions if instructions else 0.0
    return min(share + scalar * waiting_share(run, "issued", "not_selected"), 1.0)


def in_issue(run: RunMetrics, share: float) -> float:
    """Return the share of the cycles in which instructions are issued."""
    return share * run.number("profile.issue_slot_utilization")


def reread_lines(run: RunMetrics, share: float) -> float:
    """Return what L1's misses take that can be avoided: of lines that L2 has because they were read before."""
    return in_memory_waits(run, share) * run.number("l2.hit_rate")


def busy_dram(run: RunMetrics, share: float) -> float:
    """Return the share of the time in which DRAM's bus is busy."""
    return share * run.number("profile.dram_utilization")


def _waited_for(run: RunMetrics, kind: str) -> float:
    """Return the share of the wavefront-cycles that wait for accesses of a kind."""
    whole = plain_sum(run.group("stalls").values())
    return plain_sum(spot.get("wait_cycles", 0) for spot in patterns(run, kind)) / whole if whole else 0.0
