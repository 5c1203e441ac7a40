"""What the rules measure of a run, and the figures that they say beside."""

import re
from collections.abc import Callable, Mapping
from typing import Any

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
_UNITS = {"valu": "vector ALUs", "salu": "scalar ALUs", "lds": "LDS", "l1": "L1", "l2": "L2", "dram": "DRAM"}


def nearest_bound(run: Measured) -> tuple[str, float]:
    """The roofline that is nearest, latency's apart, and its share of the kernel's cycles; ('', 0) without timing."""
    bounds = {name: run.share(f"roofline.{name}") or 0.0 for name in run.group("roofline") if name != "latency"}
    return max(bounds.items(), key=lambda item: item[1], default=("", 0.0))


def unit_name(bound: str) -> str:
    """A roofline's unit as the report calls it."""
    return _UNITS.get(bound, bound)


def part_of(part: str, whole: str) -> Callable[[Measured], float | None]:
    """A metric's share of another one."""

    def share(run: Measured) -> float | None:
        return run.number(part) / run.number(whole) if run.number(whole) else None

    return share


def missing(path: str, unless: Callable[[Measured], bool]) -> Callable[[Measured], float | None]:
    """What a share lacks to the whole, where there is enough of it to matter."""

    def share(run: Measured) -> float | None:
        return None if run.get(path) is None or unless(run) else 1 - run.number(path)

    return share


def far_from_roofline(run: Measured) -> float | None:
    """What the nearest bound lacks to the kernel's cycles."""
    name, near = nearest_bound(run)
    return 1 - near if name else None


def bound_figures(run: Measured) -> Mapping[str, str]:
    """The nearest bound, how near it is, what to do about it, and what wavefronts wait for above all."""
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
    """How many the machine has."""
    return run.number("cu.cycles") / run.number("kernel.cycles") if run.number("kernel.cycles") else 0


def idle_compute_units(run: Measured) -> float | None:
    """Of the compute units, those for which the grid has no workgroup."""
    units = round(compute_units(run))
    return 1 - min(run.number("kernel.workgroups_total") / units, 1.0) if units else None


def l2_stalls(run: Measured) -> float | None:
    """Of the L2 channels' cycles: a channel takes a request a cycle, so that their number follows from the roofline."""
    bound = run.number("roofline.l2")
    channel_cycles = run.number("l2.transactions") / bound * run.number("kernel.cycles") if bound else 0
    return run.number("l2.full_stall_cycles") / channel_cycles if channel_cycles else None


def _least_bank_cycles(instruction: str, write_passes: int) -> int:
    """Of an LDS instruction without bank conflicts: 64 work-items over 32 banks of 32 bits."""
    width = _LDS_WIDTH.search(instruction)
    words = max(int(width[2]) // 32, 1) * (2 if width[1] else 1) if width else 1
    return 2 * words * (1 if instruction.startswith("ds_read") else write_passes)


def _lds_spots(run: Measured) -> list[Mapping[str, Any]]:
    """The LDS instructions that were listed with how often they were issued."""
    spots = run.tree.get("hotspots") or ()
    return [spot for spot in spots if spot["instruction"].startswith("ds_") and spot.get("issued")]


def _lds_conflicts(run: Measured) -> float | None:
    """Of the LDS's bank cycles, those that bank conflicts add.

    Where instructions are listed these tell how wide the accesses are; else all are taken to be as wide as there are
    any, so that it is at least this much.
    """
    cycles, count = run.number("cu.lds_busy_cycles"), run.number("kernel.lds_instructions")
    if not cycles or not count:
        return None
    passes = run.gpu.get("cu", {}).get("lds_write_passes", 1)
    spots = _lds_spots(run)
    listed = sum(spot["issued"] for spot in spots)
    least: float = _least_bank_cycles(_WIDEST_LDS, passes)
    if listed:
        least = sum(spot["issued"] * _least_bank_cycles(spot["instruction"], passes) for spot in spots) / listed
    return max(1 - least * count / cycles, 0.0)


def lds_matters(run: Measured) -> float | None:
    """What bank conflicts cost, where LDS is busy enough for it to matter."""
    return _lds_conflicts(run) if run.number("profile.shared_utilization") > 0.2 else None


def lds_figures(run: Measured) -> Mapping[str, str]:
    """Bank cycles of an LDS instruction, and the listed one that costs most, or how to find it."""
    each = run.number("cu.lds_busy_cycles") / (run.number("kernel.lds_instructions") or 1)
    figures = {"each": f"{each:.1f} bank cycles"}
    spots = _lds_spots(run)
    if not spots:
        return {**figures, "about": "at least", "where": "--hotspots tells where, and how much"}
    worst = max(spots, key=lambda spot: sum(n for reason, n in spot.items() if reason in STALLS))
    return {**figures, "about": "about", "where": f"see hotspots, {place_of(worst)} ({worst['instruction']})"}


def limiter(run: Measured) -> str:
    """What bounds the workgroups of a compute unit, each once where there were several kernels."""
    return " and ".join(dict.fromkeys(shown("", run.get("kernel.occupancy_limiter")).split(" + ")))


def not_vector(run: Measured) -> float | None:
    """Of the instructions, those that are no vector arithmetic."""
    instructions, vector = run.number("kernel.wavefront_instructions"), run.get("kernel.valu_instructions")
    return 1 - vector / instructions if instructions and vector is not None else None


def uneven(run: Measured) -> float | None:
    """By how much of its work the mean compute unit stays below the busiest."""
    issued = run.group("stalls_by_compute_unit").get("issued")
    return 1 - sum(issued) / len(issued) / max(issued) if issued and max(issued) else None


def not_ready(run: Measured) -> float | None:
    """Of the engine's requests that lines are compacted for, those that found neither one finished nor the end."""
    requests = run.number("engine.requests") - run.number("engine.compacted_fetched")
    ready = run.number("engine.prefetch_buffer_hits") + run.number("engine.past_end")
    return 1 - ready / requests if requests else None


def wrong(run: Measured) -> float | None:
    """Whether the result was compared and is wrong: 1 or 0."""
    passed = run.get("verification.passed")
    return None if passed is None else float(not passed)


def host_share(run: Measured) -> float | None:
    """Of the host's time, what is not the kernels'."""
    return 1 - run.number("kernel.time_us") / run.number("host.time_us") if run.number("host.time_us") else None
