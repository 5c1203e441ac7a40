"""What the rules measure of a run, and the figures that they say beside."""

from collections.abc import Callable, Mapping

from gpusim.base.formats import COUNT, PERCENT
from gpusim.base.sums import plain_sum
from gpusim.results.metrics.formula import evaluate_formula
from gpusim.results.report.result import RunMetrics
from gpusim.results.report.values import format_metric

_ADVICE_BY_BOUND = {
    "valu": "fewer or cheaper vector instructions: hoist, use v_mad and v_fma, larger tiles for each work-item",
    "matrix": "the matrix units are full: products of narrower types, fewer zeros and less padding among the operands",
    "salu": "less scalar work in the loop: unroll it, hoist addresses",
    "lds": "keep operands in registers, read wider (ds_read_b128, ds_read2), avoid bank conflicts",
    "l1": "fewer lines for each load: neighbours read neighbours; reuse through LDS or registers",
    "l2": "more reuse above L2: larger tiles in LDS or registers",
    "dram": "move fewer bytes: blocking for L2, compact formats; a faster kernel needs less traffic",
    "search": "more or wider shifters (engine.shifters, engine.scan_bits_per_cycle, engine.mappings_per_cycle), "
    "fewer workgroups that go through a column at different paces",
    "fetch": "a smaller loop body, so that instructions stay in the cache and the buffers",
    "dispatch": "fewer, longer workgroups",
}
_WAITED_FOR = 0.3  # of wavefront-cycles
_ISSUED_OFTEN = 0.6  # of the cycles, in which more wavefronts would hide little
_LINE_BYTES = 64
_UNITS = {
    "valu": "vector ALUs",
    "matrix": "matrix units",
    "salu": "scalar ALUs",
    "lds": "LDS",
    "l1": "L1",
    "l2": "L2",
    "dram": "DRAM",
    "search": "engine's search",
    "latency": "no unit: waiting",
}


def nearest_bound(run: RunMetrics) -> tuple[str, float]:
    """Return the largest roofline bound, except latency's, and its share of the cycles; ('', 0) without timing."""
    bounds = {name: run.share(f"roofline.{name}") or 0.0 for name in run.group("roofline") if name != "latency"}
    return max(bounds.items(), key=lambda item: item[1], default=("", 0.0))


def unit_name(bound: str) -> str:
    """Return the name that the report uses for the unit of a roofline bound."""
    return _UNITS.get(bound, bound)


def formula(text: str) -> Callable[[RunMetrics], float | None]:
    """Return the measure that a formula over metrics describes (`gpusim.results.metrics.formula`)."""
    return lambda run: evaluate_formula(text, run.get)


def missing(path: str, unless: Callable[[RunMetrics], bool]) -> Callable[[RunMetrics], float | None]:
    """Return a measure: 1 minus the metric at `path`, a share; None where it is unknown or `unless` holds."""

    def share(run: RunMetrics) -> float | None:
        return None if run.get(path) is None or unless(run) else 1 - run.number(path)

    return share


def far_from_roofline(run: RunMetrics) -> float | None:
    """Return the share of the kernel's cycles by which the nearest bound falls short; None without timing."""
    name, near = nearest_bound(run)
    return 1 - near if name else None


def bound_figures(run: RunMetrics) -> Mapping[str, str]:
    """Return the figures of the nearest bound: its unit, its share, advice, and the largest stall reason."""
    name, near = nearest_bound(run)
    waits = run.group("stalls")
    largest = max((reason for reason in waits if reason != "issued"), key=lambda reason: waits[reason], default="")
    return {
        "bound": unit_name(name),
        "near": PERCENT(near),
        "advice": _ADVICE_BY_BOUND.get(name, ""),
        "wait": largest.replace("_", " "),
    }


def compute_units(run: RunMetrics) -> float:
    """Return the number of compute units of the machine: all units' cycles divided by the kernel's."""
    return run.number("cu.cycles") / run.number("kernel.cycles") if run.number("kernel.cycles") else 0


def idle_compute_units(run: RunMetrics) -> float | None:
    """Return the share of the compute units for which the grid has no workgroup."""
    units = round(compute_units(run))
    return 1 - min(run.number("kernel.workgroups_total") / units, 1.0) if units else None


def grid(run: RunMetrics) -> str:
    """Return the size of the grid in words."""
    count = round(run.number("kernel.workgroups_total"))
    return f"{COUNT(count)} workgroup{'s' * (count != 1)}"


def _places(run: RunMetrics) -> float:
    """Return how many workgroups of the kernel the machine takes at once; 0 where it is not known."""
    each = run.get("kernel.workgroups_per_compute_unit")
    return each * round(compute_units(run)) if isinstance(each, int | float) else 0


def fits_at_once(run: RunMetrics) -> bool:
    """Tell whether all workgroups of the grid are resident at once, so that it has no tail."""
    return run.number("kernel.workgroups_total") <= max(_places(run), compute_units(run))


def _issues_often(run: RunMetrics) -> bool:
    return run.number("profile.issue_slot_utilization") > _ISSUED_OFTEN


def _slots(run: RunMetrics) -> float:
    return run.number("cu.wavefront_slot_cycles") / run.number("kernel.cycles") if run.number("kernel.cycles") else 0


def unfilled_slots(run: RunMetrics) -> float | None:
    """Return the share of the wavefront slots that a grid leaves empty which does not fill the machine once; None for
    larger grids, for such as leave compute units idle, and where instructions are issued most of the time.
    """
    slots, workgroups = _slots(run), run.number("kernel.workgroups_total")
    if not slots or workgroups < compute_units(run) or workgroups >= _places(run) or _issues_often(run):
        return None
    return 1 - min(run.number("kernel.wavefronts") / slots, 1.0)


def slot_figures(run: RunMetrics) -> Mapping[str, str]:
    """Return the figures of a grid that does not fill the machine: its size, and the wavefront slots."""
    return {
        "grid": grid(run),
        "taken": COUNT(round(run.number("kernel.wavefronts"))),
        "slots": COUNT(round(_slots(run))),
    }


def limited_occupancy(run: RunMetrics) -> float | None:
    """Return the share of empty wavefront slots where the kernel's resources leave them empty, not the grid's size."""
    occupancy = run.get("profile.achieved_occupancy")
    if occupancy is None or _issues_often(run) or limiter(run) == "wavefront slots":
        return None
    if run.number("kernel.workgroups_total") < _places(run):
        return None
    return float(1 - occupancy)


def launching(run: RunMetrics) -> float | None:
    """Return the share of the host's time in which neither a kernel nor a copy runs.

    None for a single launch, which cannot become fewer ones, and where the kernels' time is not known.
    """
    host_us, launches_us = run.get("host.time_us"), run.get("host.launching_us")
    if not host_us or launches_us is None or run.number("host.launches") < 2 or not run.get("kernel.cycles"):
        return None
    return float(launches_us / host_us)


def copying(run: RunMetrics) -> float | None:
    """Return the share of the host's time in which copies run and no kernel; None where kernels' time is not known."""
    host_us, copies_us = run.get("host.time_us"), run.get("host.copies_us")
    return float(copies_us / host_us) if host_us and copies_us is not None and run.get("kernel.cycles") else None


def is_cold(run: RunMetrics) -> bool:
    """Tell whether each instruction cache misses no more lines than it has, so that none is fetched a second time.

    Every launch begins with empty instruction caches, so a sum over launches may miss as much for each of them.
    """
    size_kib = run.gpu.get("instruction_cache", {}).get("size_kib", 0)
    caches = run.gpu.get("shader_arrays", 1) * _summed_launches(run)
    return bool(run.number("instruction_cache.misses") * _LINE_BYTES <= size_kib * 1024 * caches)


def _summed_launches(run: RunMetrics) -> int:
    """Return how many launches a run's metrics are summed over: the kernel of each is named."""
    return str(run.get("kernel.name")).count(" + ") + 1


def fetch_figures(run: RunMetrics) -> Mapping[str, str]:
    """Return why instructions are late, and what to do: the code is cold, or too large."""
    if is_cold(run):
        advice = "run more iterations in a launch, or more work for each work-item"
        if _summed_launches(run) > 1 and run.gpu.get("caches") == "flushed":  # launched again
            advice += "; with --warm (gpu.caches: warm) L2 keeps the code between launches"
        return {"why": "cold code: ", "do": advice}
    return {"why": "", "do": "smaller code, less unrolling, so that loops stay in the instruction cache"}


def uneven_full_grid(run: RunMetrics) -> float | None:
    """Return `uneven` of a grid that has workgroups for all compute units."""
    return None if idle_compute_units(run) else uneven(run)


def l2_stalls(run: RunMetrics) -> float | None:
    """Return the share of the L2 channels' cycles in which they stall because they are full.

    A channel takes one request a cycle, so that the number of channels follows from the roofline.
    """
    bound = run.number("roofline.l2")
    channel_cycles = run.number("l2.transactions") / bound * run.number("kernel.cycles") if bound else 0
    return run.number("l2.full_stall_cycles") / channel_cycles if channel_cycles else None


def unimportant(path: str, busy: float) -> Callable[[RunMetrics], bool]:
    """Return whether misses do not matter: the unit that answers them, of this utilization, is less busy, and
    wavefronts seldom wait for memory.
    """

    def holds(run: RunMetrics) -> bool:
        waits = [run.share(f"stalls.memory_{reason}") or 0.0 for reason in ("dependency", "throttle")]
        return run.number(path) < busy and waits[0] + waits[1] < _WAITED_FOR

    return holds


def limiter(run: RunMetrics) -> str:
    """Name what limits the workgroups resident on a compute unit; with several kernels, each limit once."""
    return " and ".join(dict.fromkeys(format_metric("", run.get("kernel.occupancy_limiter")).split(" + ")))


def not_vector(run: RunMetrics) -> float | None:
    """Return the share of the issued wavefront instructions that are neither vector arithmetic nor matrix products.

    None where the matrix units are busier than issue: each of their instructions takes many turns.
    """
    instructions, vector = run.number("kernel.wavefront_instructions"), run.get("kernel.valu_instructions")
    if not instructions or vector is None:
        return None
    if (run.share("roofline.matrix") or 0.0) > run.number("profile.issue_slot_utilization"):
        return None
    return 1 - (float(vector) + run.number("kernel.matrix_instructions")) / instructions


def uneven(run: RunMetrics) -> float | None:
    """Return by which share the mean compute unit issues less than the busiest one."""
    issued = run.group("stalls_by_compute_unit").get("issued")
    return 1 - plain_sum(issued) / len(issued) / max(issued) if issued and max(issued) else None


def not_ready(run: RunMetrics) -> float | None:
    """Return the share of the engine's requests for compacted lines that found neither a finished line nor the end."""
    requests = run.number("engine.requests") - run.number("engine.compacted_fetched")
    ready = run.number("engine.prefetch_buffer_hits") + run.number("engine.past_end")
    return 1 - ready / requests if requests else None


def wrong(run: RunMetrics) -> float | None:
    """Return 1 if the result was compared and is wrong, 0 if it is right, None if it was not compared."""
    passed = run.get("verification.passed")
    return None if passed is None else float(not passed)
