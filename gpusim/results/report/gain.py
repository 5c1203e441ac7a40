"""Estimated gains of findings: how much faster a run can be at most without what a rule has found.

The cycles T of a launch become at least

    R = max(T (1 - s), B),    s = w max(u, v)

with s, the share of T that the matter takes: w, what of the work is wasted; u, the utilization of the unit that does
it; v, the share of the wavefront-cycles that wait for it. B is the largest roofline bound (latency's apart) of the
units that have as much to do afterwards. The gain of a finding is C / (C - sum of T - R), over the launches to which
the rule applies, with C, the cycles of the whole run. It is an upper estimate: other waits may take the place.
"""

from collections.abc import Callable, Collection

from gpusim.base.sums import plain_sum
from gpusim.results.report import measures
from gpusim.results.report.access import patterns
from gpusim.results.report.result import RunMetrics

SavedShare = Callable[[RunMetrics, float], float]
MEMORY_WAITS = ("memory_dependency", "memory_throttle")
HIDDEN_BY_WAVEFRONTS = ("memory_dependency", "execution_dependency", "synchronization", "branch_latency")


def saved_cycles(run: RunMetrics, saved: float, relieved: Collection[str] = ()) -> float:
    """Return the cycles that a run can save at most.

    Args:
        run: Launches of a kernel.
        saved: Share of the cycles that the matter takes.
        relieved: Rooflines of units that have less to do without it.

    Returns:
        T - R of the module's formula.
    """
    cycles = run.number("kernel.cycles")
    bounds = [value for name, value in run.group("roofline").items() if name not in ("latency", *relieved)]
    return max(cycles - max(cycles * (1 - min(saved, 1.0)), max(bounds, default=0.0), 1.0), 0.0)


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
    return share * max(waits, *(run.share(f"roofline.{unit}") or 0.0 for unit in ("l1", "l2", "dram")))


def wasted_banks(run: RunMetrics, share: float) -> float:
    """Return what bank conflicts take: by LDS, or by waits for its data or for LDS itself, which are its part of the
    waits for busy pipelines.
    """
    lds, vector = (run.share(f"roofline.{unit}") or 0.0 for unit in ("lds", "valu"))
    pipeline = waiting_share(run, "execution_dependency") * lds / (lds + vector) if lds else 0.0
    return share * max(lds, _waited_for(run, "lds") + pipeline)


def wasted_lanes(run: RunMetrics, share: float) -> float:
    """Return what idle lanes take: by the vector ALUs, or by wavefronts that issue, could, or wait for a result."""
    waits = waiting_share(run, "issued", "not_selected", "execution_dependency", "branch_latency")
    return share * max(run.share("roofline.valu") or 0.0, waits)


def in_memory_waits(run: RunMetrics, share: float) -> float:
    """Return the share of what wavefronts wait for memory."""
    return share * waiting_share(run, *MEMORY_WAITS)


def hidden_by_wavefronts(run: RunMetrics, share: float) -> float:
    """Return which waits more resident wavefronts would hide; share: of the slots that are empty."""
    return share * waiting_share(run, *HIDDEN_BY_WAVEFRONTS)


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
