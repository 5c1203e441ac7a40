"""Every metric that gpusim reports: JSON path, unit, definition and how it follows from the counts. The one table."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gpusim.base.version import __version__
from gpusim.core.facts import INSTRUCTION_KINDS, STALL_REASONS, CacheFacts, RunFacts, TranslationFacts
from gpusim.results.record import RunRecord
from spartan.counters import ENGINE_COUNTERS, LATENCY_HISTOGRAM

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Metric:
    """One metric. of: its value from a run, None where it does not apply; compared: part of `--engine both`."""

    path: str
    unit: str
    definition: str
    of: Callable[[RunRecord, RunFacts], Any]
    compared: bool = True


def ratio(part: float, whole: float) -> float | None:
    """part / whole; None when there was nothing to divide by."""
    return part / whole if whole else None


_SCALAR_COUNTS = ("transactions", "hits", "misses", "mshr_merges", "hit_rate", "write_transactions")
_INSTRUCTION_COUNTS = ("transactions", "hits", "misses", "mshr_merges", "hit_rate", "read_latency_cycles", "prefetches")
_L1_COUNTS = (*_SCALAR_COUNTS, "read_latency_cycles", "full_stall_cycles")
_L2_COUNTS = (*_L1_COUNTS, "write_backs")


def _cache(name: str, what: str, facts: Callable[[RunFacts], CacheFacts], counted: tuple[str, ...]) -> list[Metric]:
    """A cache level's metrics: those that are `counted` there."""

    def of(formula: Callable[[CacheFacts], Any]) -> Callable[[RunRecord, RunFacts], Any]:
        return lambda run, total: formula(facts(total))

    every = [
        Metric(
            f"{name}.transactions",
            "accesses",
            f"line accesses to {what}, reads and writes",
            of(lambda c: c.transactions),
        ),
        Metric(
            f"{name}.hits",
            "accesses",
            "accesses that found their line",
            of(lambda c: c.hits),
        ),
        Metric(
            f"{name}.misses",
            "accesses",
            "accesses that found neither their line nor an outstanding miss to it; writes that pass L1 count here",
            of(lambda c: c.misses),
        ),
        Metric(
            f"{name}.mshr_merges",
            "accesses",
            "accesses that joined an outstanding miss; hits + misses + mshr_merges = transactions",
            of(lambda c: c.mshr_merges),
        ),
        Metric(
            f"{name}.hit_rate",
            "fraction",
            "hits / transactions; a merge is not a hit",
            of(lambda c: ratio(c.hits, c.transactions)),
        ),
        Metric(
            f"{name}.read_latency_cycles",
            "cycles",
            f"mean over reads, from the access at {what} to its response",
            of(lambda c: ratio(c.read_latency_total_cycles, c.reads_answered)),
        ),
        Metric(
            f"{name}.write_transactions",
            "accesses",
            "those of the transactions that write (atomics included)",
            of(lambda c: c.write_transactions),
        ),
        Metric(
            f"{name}.write_backs",
            "lines",
            "dirty lines written to the level below on eviction; what is dirty at a kernel's end stays",
            of(lambda c: c.write_backs),
        ),
        Metric(
            f"{name}.prefetches",
            "lines",
            "lines asked for behind a missing one; not among the misses",
            of(lambda c: c.prefetches),
        ),
        Metric(
            f"{name}.full_stall_cycles",
            "cycles",
            "cycles a request at the head had to wait for an MSHR, a way or a queue below, summed over instances",
            of(lambda c: c.full_stall_cycles),
        ),
    ]
    return [m for m in every if m.path.rpartition(".")[2] in counted]


_TRANSLATION: tuple[tuple[str, str, str, Callable[[TranslationFacts], Any]], ...] = (
    (
        "l1_lookups",
        "pages",
        "look-ups in the L1 TLBs: lines that lie in another page than the line before at the same cache",
        lambda t: t.lookups,
    ),
    ("l1_hits", "pages", "look-ups whose page the L1 TLB held", lambda t: t.hits),
    ("l1_misses", "pages", "look-ups that asked the L2 TLB", lambda t: t.misses),
    (
        "l1_merges",
        "pages",
        "look-ups whose page was already asked for; l1_hits + l1_misses + l1_merges = l1_lookups",
        lambda t: t.merges,
    ),
    ("l1_hit_rate", "fraction", "l1_hits / l1_lookups", lambda t: ratio(t.hits, t.lookups)),
    (
        "early_requests",
        "pages",
        "pages that a vector L1 asked for ahead, while its look-up waited for another",
        lambda t: t.early_requests,
    ),
    ("l2_requests", "pages", "requests to the L2 TLB: l1_misses + early_requests", lambda t: t.requests),
    ("l2_hits", "pages", "requests whose page the L2 TLB held; all of them in the ideal model", lambda t: t.l2_hits),
    ("l2_merges", "pages", "requests that joined a walk", lambda t: t.l2_merges),
    ("walks", "pages", "page walks; l2_hits + l2_merges + walks = l2_requests", lambda t: t.walks),
    ("l2_hit_rate", "fraction", "l2_hits / l2_requests", lambda t: ratio(t.l2_hits, t.requests)),
    (
        "latency_cycles",
        "cycles",
        "mean over the requests to the L2 TLB, from the request to its answer",
        lambda t: ratio(t.request_latency_total_cycles, t.requests),
    ),
    (
        "stall_cycles",
        "cycles",
        "cycles in which a first-level cache's look-up waited for a translation, summed over the caches",
        lambda t: t.stall_cycles,
    ),
)


def _translation(formula: Callable[[TranslationFacts], Any]) -> Callable[[RunRecord, RunFacts], Any]:
    return lambda run, total: formula(total.translation)


def _kind(kind: str) -> Callable[[RunRecord, RunFacts], Any]:
    return lambda run, total: total.instructions.get(kind, 0)


def _stall(reason: str) -> Callable[[RunRecord, RunFacts], Any]:
    return lambda run, total: total.stalls.get(reason, 0)


def _engine(counter: str) -> Callable[[RunRecord, RunFacts], Any]:
    return lambda run, total: None if total.engine is None else total.engine[counter]


def _verification(name: str) -> Callable[[RunRecord, RunFacts], Any]:
    return lambda run, total: None if run.verification is None else getattr(run.verification, name)


_KIND_TEXT = {
    "valu": "vector ALU",
    "salu": "scalar ALU",
    "vmem": "vector memory (FLAT and MUBUF)",
    "lds": "LDS (DS)",
    "smem": "scalar memory",
    "branch": "branch",
    "other": "other (s_waitcnt, s_barrier, s_nop, messages, end of program)",
}

_STALL_TEXT = {
    "issued": "it issued an instruction",
    "not_selected": "it could have issued, another wavefront was chosen",
    "execution_dependency": "its pipeline was busy or a result was not ready",
    "memory_dependency": "it waited at s_waitcnt for memory or LDS",
    "memory_throttle": "its memory instruction found a queue full",
    "synchronisation": "it waited at a barrier",
    "instruction_fetch": "its next instruction was not there yet",
    "idle": "none of the others, ended but not yet released included",
}


def _utilisation(bound: str) -> Callable[[RunRecord, RunFacts], Any]:
    return lambda run, total: ratio(total.roofline.get(bound, 0.0), total.cycles)


def _stall_share(*reasons: str) -> Callable[[RunRecord, RunFacts], Any]:
    def of(run: RunRecord, total: RunFacts) -> Any:
        waited = sum(n for reason, n in total.stalls.items() if reason != "issued")
        return ratio(sum(total.stalls.get(reason, 0) for reason in reasons), waited)

    return of


def _gb_s(lines: Callable[[RunFacts], int]) -> Callable[[RunRecord, RunFacts], Any]:
    return lambda run, total: ratio(64 * lines(total), 1e3 * total.time_us)


# The view from above, under the names that nvprof's users know (CUDA profiler user's guide, metrics reference);
# a warp there is a wavefront here, an SM a compute unit.
_PROFILE: tuple[Metric, ...] = tuple(
    Metric(f"profile.{name}", unit, definition, of, compared)
    for name, unit, definition, of, compared in (
        (
            "sm_efficiency",
            "fraction",
            "compute-unit cycles in which a workgroup was resident / all",
            lambda r, t: ratio(t.activity.active_cycles, t.activity.compute_unit_cycles),
            True,
        ),
        (
            "achieved_occupancy",
            "fraction",
            "resident wavefronts / wavefront slots, mean over the cycles in which a workgroup was resident",
            lambda r, t: ratio(
                t.occupancy.resident_wavefront_cycles * t.activity.compute_unit_cycles,
                t.occupancy.wavefront_slot_cycles * t.activity.active_cycles,
            ),
            True,
        ),
        (
            "ipc",
            "instructions/cycle",
            "wavefront instructions per compute unit and cycle",
            lambda r, t: ratio(t.wavefront_instructions, t.activity.compute_unit_cycles),
            True,
        ),
        (
            "issue_slot_utilization",
            "fraction",
            "compute-unit cycles in which at least one instruction was issued / all",
            lambda r, t: ratio(t.activity.issue_cycles, t.activity.compute_unit_cycles),
            True,
        ),
        (
            "eligible_warps_per_cycle",
            "wavefronts",
            "wavefronts of a compute unit that issued or could have issued, mean over all cycles",
            lambda r, t: ratio(
                t.stalls.get("issued", 0) + t.stalls.get("not_selected", 0), t.activity.compute_unit_cycles
            ),
            True,
        ),
        ("alu_fu_utilization", "fraction", "vector ALU cycles / SIMD cycles", _utilisation("valu"), True),
        ("shared_utilization", "fraction", "LDS bank cycles / compute-unit cycles", _utilisation("lds"), True),
        (
            "tex_utilization",
            "fraction",
            "vector L1: cycles of look-up or of return, the larger, / compute-unit cycles",
            _utilisation("l1"),
            True,
        ),
        ("l2_utilization", "fraction", "L2 requests / channel cycles", _utilisation("l2"), True),
        ("dram_utilization", "fraction", "DRAM data-bus cycles / channel cycles", _utilisation("dram"), True),
        (
            "l2_throughput",
            "GB/s",
            "64 bytes for each L2 request / time",
            _gb_s(lambda t: t.l2.transactions),
            True,
        ),
        (
            "dram_read_throughput",
            "GB/s",
            "64 bytes for each line read from DRAM / time",
            _gb_s(lambda t: t.dram.reads),
            True,
        ),
        (
            "dram_write_throughput",
            "GB/s",
            "64 bytes for each line written to DRAM / time",
            _gb_s(lambda t: t.dram.writes),
            True,
        ),
        *(
            (f"stall_{name}", "fraction", f"{what} / all stalls", _stall_share(*reasons), True)
            for name, what, reasons in (
                ("inst_fetch", "stalls.instruction_fetch", ("instruction_fetch",)),
                ("exec_dependency", "stalls.execution_dependency", ("execution_dependency",)),
                ("memory_dependency", "stalls.memory_dependency", ("memory_dependency",)),
                ("memory_throttle", "stalls.memory_throttle", ("memory_throttle",)),
                ("sync", "stalls.synchronisation", ("synchronisation",)),
                ("not_selected", "stalls.not_selected", ("not_selected",)),
                ("other", "stalls.idle", ("idle",)),
            )
        ),
    )
)

METRICS: tuple[Metric, ...] = (
    Metric(
        "kernel.name", "", "kernel, or kernels joined by ' + ' when a run is several launches", lambda r, t: t.kernel
    ),
    Metric(
        "kernel.cycles",
        "cycles",
        "from the first workgroup's dispatch to the last wavefront's end, summed over launches",
        lambda r, t: t.cycles,
    ),
    Metric("kernel.time_us", "us", "kernel.cycles / clock", lambda r, t: t.time_us),
    Metric("kernel.workgroups", "workgroups", "workgroups that ended", lambda r, t: t.workgroups),
    Metric(
        "kernel.workgroups_total",
        "workgroups",
        "workgroups of the grid; larger than kernel.workgroups only in a partial run",
        lambda r, t: t.workgroups_total,
    ),
    Metric("kernel.wavefronts", "wavefronts", "wavefronts of the workgroups that started", lambda r, t: t.wavefronts),
    Metric(
        "kernel.wavefront_instructions",
        "instructions",
        "instructions issued, one for a whole wavefront",
        lambda r, t: t.wavefront_instructions,
    ),
    *(
        Metric(f"kernel.{kind}_instructions", "instructions", f"those that are {_KIND_TEXT[kind]}", _kind(kind))
        for kind in INSTRUCTION_KINDS
    ),
    Metric(
        "kernel.ipc",
        "instructions/cycle",
        "wavefront instructions per cycle, whole machine",
        lambda r, t: ratio(t.wavefront_instructions, t.cycles),
    ),
    Metric(
        "kernel.occupancy",
        "fraction",
        "resident wavefronts / wavefront slots, mean over the cycles",
        lambda r, t: ratio(t.occupancy.resident_wavefront_cycles, t.occupancy.wavefront_slot_cycles),
    ),
    Metric(
        "kernel.workgroups_per_compute_unit",
        "workgroups",
        "most workgroups that fit one compute unit",
        lambda r, t: t.occupancy.workgroups_per_compute_unit,
    ),
    Metric("kernel.occupancy_limiter", "", "what bounds workgroups_per_compute_unit", lambda r, t: t.occupancy.limiter),
    Metric(
        "kernel.roofline_utilisation",
        "fraction",
        "largest bound of the roofline, latency's apart, / kernel.cycles; never above 1",
        lambda r, t: ratio(max((n for name, n in t.roofline.items() if name != "latency"), default=0.0), t.cycles),
    ),
    *_PROFILE,
    Metric(
        "host.time_us",
        "us",
        "from the first packet written to the last completion signal: kernels and launch overheads",
        lambda r, t: r.host_time_us,
    ),
    Metric("host.launches", "launches", "kernel launches in the queue", lambda r, t: len(r.launches)),
    Metric(
        "data.zero_fraction",
        "fraction",
        "zeros among the elements of the activation matrix, im2col's padding included",
        lambda r, t: r.zero_fraction,
        compared=False,
    ),
    Metric(
        "data.zero_line_fraction",
        "fraction",
        "its lines of 16 elements of a column that are all zero",
        lambda r, t: r.zero_line_fraction,
        compared=False,
    ),
    *_cache("l1", "the vector L1 caches", lambda t: t.l1, _L1_COUNTS),
    *_cache("scalar_cache", "the scalar caches", lambda t: t.scalar_cache, _SCALAR_COUNTS),
    *_cache("instruction_cache", "the instruction caches", lambda t: t.instruction_cache, _INSTRUCTION_COUNTS),
    *(Metric(f"translation.{name}", unit, text, _translation(formula)) for name, unit, text, formula in _TRANSLATION),
    *_cache("l2", "the L2 channels", lambda t: t.l2, _L2_COUNTS),
    Metric("dram.reads", "lines", "64-byte reads, for L2 fills and for the engine", lambda r, t: t.dram.reads),
    Metric("dram.writes", "lines", "64-byte writes", lambda r, t: t.dram.writes),
    Metric(
        "dram.engine_reads",
        "lines",
        "those of dram.reads that the compaction engine issued",
        lambda r, t: t.dram.engine_reads,
    ),
    Metric("dram.bytes", "bytes", "bytes moved, both ways", lambda r, t: t.dram.bytes),
    Metric(
        "dram.row_hit_rate",
        "fraction",
        "accesses that found their row open / accesses",
        lambda r, t: ratio(t.dram.row_hits, t.dram.row_hits + t.dram.row_misses + t.dram.row_conflicts),
    ),
    Metric("dram.row_conflicts", "accesses", "accesses that found another row open", lambda r, t: t.dram.row_conflicts),
    Metric("dram.refreshes", "refreshes", "all-bank refreshes, summed over channels", lambda r, t: t.dram.refreshes),
    Metric(
        "dram.read_latency_cycles",
        "cycles",
        "mean over reads, from entering the controller's queue to the data",
        lambda r, t: ratio(t.dram.read_latency_total_cycles, t.dram.reads),
    ),
    Metric(
        "dram.bandwidth_utilisation",
        "fraction",
        "data-bus busy time / kernel time, mean over channels",
        lambda r, t: ratio(t.dram.bus_busy_cycles, t.dram.bus_available_cycles),
    ),
    *(Metric(f"engine.{name}", unit, text, _engine(name)) for name, (unit, text) in ENGINE_COUNTERS.items()),
    Metric(
        "engine.request_latency_cycles",
        "cycles",
        "mean over the answers, from a request's arrival to its answer's leaving for L2",
        lambda r, t: None if t.engine is None else ratio(t.engine["latency_cycles"], t.engine["responses"]),
    ),
    Metric(
        "engine.latency_histogram", LATENCY_HISTOGRAM[0], LATENCY_HISTOGRAM[1], lambda r, t: t.engine_latency_histogram
    ),
    *(
        Metric(
            f"stalls.{reason}",
            "wavefront-cycles",
            f"cycles of resident wavefronts in which {_STALL_TEXT[reason]}",
            _stall(reason),
        )
        for reason in STALL_REASONS
    ),
    Metric(
        "stalls_by_compute_unit",
        "wavefront-cycles",
        "by reason: stalls.<reason> of each compute unit, in order of their numbers",
        lambda r, t: t.stalls_by_cu or None,
        False,
    ),
    Metric(
        "roofline",
        "cycles",
        "by bound: the fewest cycles that this resource alone allows for the work done",
        lambda r, t: t.roofline,
    ),
    Metric(
        "verification.passed",
        "",
        "whether the result equals NumPy's within the bound; null when not checked",
        _verification("passed"),
        False,
    ),
    Metric(
        "verification.max_error",
        "",
        "largest absolute difference from NumPy's result",
        _verification("max_error"),
        False,
    ),
    Metric(
        "verification.bound",
        "",
        "largest difference that the number formats and the summation order allow",
        _verification("bound"),
        False,
    ),
    Metric("simulator.wall_s", "s", "real time of the functional and timing part alone", lambda r, t: t.wall_s, False),
    Metric(
        "simulator.cpu_s", "s", "processor time of the functional and timing part alone", lambda r, t: t.cpu_s, False
    ),
    Metric(
        "simulator.setup_s", "s", "real time for input data, packing and code objects", lambda r, t: r.setup_s, False
    ),
    Metric("simulator.verify_s", "s", "real time for the comparison with NumPy", lambda r, t: r.verify_s, False),
    Metric(
        "simulator.compile_s",
        "s",
        "real time for compiling or loading the compiled core",
        lambda r, t: t.compile_s,
        False,
    ),
    Metric(
        "simulator.instructions_per_s",
        "instructions/s",
        "wavefront instructions / simulator.cpu_s",
        lambda r, t: ratio(t.wavefront_instructions, t.cpu_s),
        False,
    ),
    Metric(
        "simulator.peak_memory_mb",
        "MB",
        "largest resident memory of the process so far",
        lambda r, t: r.peak_memory_mb,
        False,
    ),
    Metric("simulator.version", "", "version of gpusim", lambda r, t: __version__, False),
)

# Groups that are null as a whole when they do not apply.
_NULLABLE = ("engine", "verification")
# What a run without the timing model knows; all else is null there.
_UNTIMED_GROUPS = ("verification", "simulator")
_UNTIMED = {
    "kernel.name",
    "kernel.workgroups",
    "kernel.workgroups_total",
    "kernel.wavefronts",
    "kernel.wavefront_instructions",
    *(f"kernel.{kind}_instructions" for kind in INSTRUCTION_KINDS),
}


def to_tree(run: RunRecord) -> dict[str, Any]:
    """The metrics of one run as nested plain values, by the table's paths."""
    total = run.total
    tree: dict[str, Any] = {}
    for metric in METRICS:
        *groups, name = metric.path.split(".")
        holder = tree
        for group in groups:
            holder = holder.setdefault(group, {})
        known = run.timed or metric.path in _UNTIMED or metric.path.startswith(_UNTIMED_GROUPS)
        holder[name] = metric.of(run, total) if known else None
    for group in _NULLABLE if run.timed else [name for name, held in tree.items() if isinstance(held, dict)]:
        if all(value is None for value in tree[group].values()):
            tree[group] = None
    return tree


def leaves(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of every leaf of a metrics tree."""
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def normalised(sparse: dict[str, Any], dense: dict[str, Any]) -> dict[str, float | None]:
    """Every comparable number of `sparse` divided by that of `dense`; null where the dense one is 0 or missing."""
    base = dict(leaves(dense))
    out: dict[str, float | None] = {}
    for path, value in leaves(sparse):
        metric = describe(path)
        if metric is None or not metric.compared or isinstance(value, bool | str) or value is None:
            continue
        reference = base.get(path)
        if isinstance(reference, int | float):
            out[path] = ratio(value, reference)
    return out


def describe(path: str) -> Metric | None:
    """The table's entry for a path; an entry of a map is described by its map."""
    by_path = {m.path: m for m in METRICS}
    while path:
        if path in by_path:
            return by_path[path]
        path = path.rpartition(".")[0]
    return None


def position(path: str) -> int:
    """Where a path's entry stands in the table."""
    metric = describe(path)
    return METRICS.index(metric) if metric is not None else len(METRICS)


def markdown() -> str:
    """The table as a page of the documentation."""
    lines = [
        "# Metrics",
        "",
        "Generated from the table in `gpusim/results/metrics.py` by `.ci/generate`; do not edit.",
        "",
        "Paths are those of the JSON written by `gpusim run --json`. Counts are of the simulated kernel; cycles",
        "are core clock cycles. A group that does not apply (`engine` without engine, `verification` when skipped) is",
        "null, and so is a mean or a rate over nothing.",
        "",
        "| path | unit | definition |",
        "|---|---|---|",
    ]
    lines += [f"| `{m.path}` | {m.unit or '–'} | {m.definition.replace('|', chr(92) + '|')} |" for m in METRICS]
    return "\n".join(lines) + "\n"
