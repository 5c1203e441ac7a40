"""What the rules measure of a run, and the figures that they say beside."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from gpusim.base.sums import plain_sum
from gpusim.report.result import Measured
from gpusim.report.rule import STALLS, place_of
from gpusim.report.values import percent, shown

_ADVICE_BY_BOUND = {
    "valu": "fewer or cheaper vector instructions: hoist, use v_mad and v_fma, larger tiles for each work-item",
    "salu": "less scalar work in the loop: unroll it, hoist addresses",
    "lds": "keep operands in registers, read wider (ds_read_b128, ds_read2), avoid bank conflicts",
    "l1": "fewer lines for each load: neighbours read neighbours; reuse through LDS or registers",
    "l2": "more reuse above L2: larger tiles in LDS or registers",
    "dram": "move fewer bytes: blocking for L2, compact formats; a faster kernel needs less traffic",
    "fetch": "a smaller loop body, so that instructions stay in the cache and the buffers",
    "dispatch": "fewer, longer workgroups",
}
_LDS_WIDTH = re.compile(r"^ds_\w*?(2(?:st64)?)?_[biuf](32|64|96|128)\b")
_WIDEST_LDS = "ds_write_b128"  # no LDS instruction has more words a work-item, and none goes over them more often
_UNITS = {
    "valu": "vector ALUs",
    "salu": "scalar ALUs",
    "lds": "LDS",
    "l1": "L1",
    "l2": "L2",
    "dram": "DRAM",
    "latency": "no unit: waiting",
}


def nearest_bound(run: Measured) -> tuple[str, float]:
    """Return the largest roofline bound, except latency's, and its share of the cycles; ('', 0) without timing."""
    bounds = {name: run.share(f"roofline.{name}") or 0.0 for name in run.group("roofline") if name != "latency"}
    return max(bounds.items(), key=lambda item: item[1], default=("", 0.0))


def unit_name(bound: str) -> str:
    """Return the name that the report uses for the unit of a roofline bound."""
    return _UNITS.get(bound, bound)


def part_of(part: str, whole: str) -> Callable[[Measured], float | None]:
    """Return a measure: the ratio of the metric `part` to the metric `whole`, None where the latter is 0 or unknown."""

    def share(run: Measured) -> float | None:
        return run.number(part) / run.number(whole) if run.number(whole) else None

    return share


def missing(path: str, unless: Callable[[Measured], bool]) -> Callable[[Measured], float | None]:
    """Return a measure: 1 minus the metric at `path`, a share; None where it is unknown or `unless` holds."""

    def share(run: Measured) -> float | None:
        return None if run.get(path) is None or unless(run) else 1 - run.number(path)

    return share


def far_from_roofline(run: Measured) -> float | None:
    """Return the share of the kernel's cycles by which the nearest bound falls short; None without timing."""
    name, near = nearest_bound(run)
    return 1 - near if name else None


def bound_figures(run: Measured) -> Mapping[str, str]:
    """Return the figures of the nearest bound: its unit, its share, advice, and the largest stall reason."""
    name, near = nearest_bound(run)
    waits = run.group("stalls")
    largest = max((reason for reason in waits if reason != "issued"), key=lambda reason: waits[reason], default="")
    return {
        "bound": unit_name(name),
        "near": percent(near),
        "advice": _ADVICE_BY_BOUND.get(name, ""),
        "wait": largest.replace("_", " "),
    }


def compute_units(run: Measured) -> float:
    """Return the number of compute units of the machine: all units' cycles divided by the kernel's."""
    return run.number("cu.cycles") / run.number("kernel.cycles") if run.number("kernel.cycles") else 0


def idle_compute_units(run: Measured) -> float | None:
    """Return the share of the compute units for which the grid has no workgroup."""
    units = round(compute_units(run))
    return 1 - min(run.number("kernel.workgroups_total") / units, 1.0) if units else None


def l2_stalls(run: Measured) -> float | None:
    """Return the share of the L2 channels' cycles in which they stall because they are full.

    A channel takes one request a cycle, so that the number of channels follows from the roofline.
    """
    bound = run.number("roofline.l2")
    channel_cycles = run.number("l2.transactions") / bound * run.number("kernel.cycles") if bound else 0
    return run.number("l2.full_stall_cycles") / channel_cycles if channel_cycles else None


def _least_bank_cycles(instruction: str, write_passes: int) -> int:
    """Return the bank cycles of an LDS instruction without bank conflicts: 64 work-items over 32 banks of 32 bits."""
    width = _LDS_WIDTH.search(instruction)
    words = max(int(width[2]) // 32, 1) * (2 if width[1] else 1) if width else 1
    return 2 * words * (1 if instruction.startswith("ds_read") else write_passes)


def _lds_spots(run: Measured) -> list[Mapping[str, Any]]:
    """Return the listed hot spots that are LDS instructions and whose number of issues is known."""
    spots = run.tree.get("hotspots") or ()
    return [spot for spot in spots if spot["instruction"].startswith("ds_") and spot.get("issued")]


def lds_conflicts(run: Measured) -> float | None:
    """Return the share of the LDS's bank cycles that bank conflicts add.

    The listed instructions tell how wide the accesses are. Where none is listed, all accesses are assumed to have the
    greatest width, so that the share is a lower bound.
    """
    cycles, count = run.number("cu.lds_busy_cycles"), run.number("kernel.lds_instructions")
    if not cycles or not count:
        return None
    passes = run.gpu.get("cu", {}).get("lds_write_passes", 1)
    spots = _lds_spots(run)
    listed = plain_sum(spot["issued"] for spot in spots)
    least: float = _least_bank_cycles(_WIDEST_LDS, passes)
    if listed:
        least = plain_sum(spot["issued"] * _least_bank_cycles(spot["instruction"], passes) for spot in spots) / listed
    return max(1 - least * count / cycles, 0.0)


def lds_figures(run: Measured) -> Mapping[str, str]:
    """Return the mean bank cycles of an LDS instruction, and which listed one costs most or how to find it."""
    each = run.number("cu.lds_busy_cycles") / (run.number("kernel.lds_instructions") or 1)
    figures = {"each": f"{each:.1f} bank cycles"}
    spots = _lds_spots(run)
    if not spots:
        return {**figures, "about": "at least", "where": "--hotspots tells where, and how much"}
    worst = max(spots, key=lambda spot: plain_sum(n for reason, n in spot.items() if reason in STALLS))
    return {**figures, "about": "about", "where": f"see hotspots, {place_of(worst)} ({worst['instruction']})"}


def limiter(run: Measured) -> str:
    """Name what limits the workgroups resident on a compute unit; with several kernels, each limit once."""
    return " and ".join(dict.fromkeys(shown("", run.get("kernel.occupancy_limiter")).split(" + ")))


def not_vector(run: Measured) -> float | None:
    """Return the share of the issued wavefront instructions that are not vector arithmetic."""
    instructions, vector = run.number("kernel.wavefront_instructions"), run.get("kernel.valu_instructions")
    return 1 - vector / instructions if instructions and vector is not None else None


def uneven(run: Measured) -> float | None:
    """Return by which share the mean compute unit issues less than the busiest one."""
    issued = run.group("stalls_by_compute_unit").get("issued")
    return 1 - plain_sum(issued) / len(issued) / max(issued) if issued and max(issued) else None


def not_ready(run: Measured) -> float | None:
    """Return the share of the engine's requests for compacted lines that found neither a finished line nor the end."""
    requests = run.number("engine.requests") - run.number("engine.compacted_fetched")
    ready = run.number("engine.prefetch_buffer_hits") + run.number("engine.past_end")
    return 1 - ready / requests if requests else None


def wrong(run: Measured) -> float | None:
    """Return 1 if the result was compared and is wrong, 0 if it is right, None if it was not compared."""
    passed = run.get("verification.passed")
    return None if passed is None else float(not passed)
