"""The rules: what a report says in words of a run's figures, and what a user can do about it.

One row each. A threshold is where the matter begins to be worth a user's time, by judgement: no source has them.
"""

from collections.abc import Callable, Mapping

from gpusim.results.report import access, measures
from gpusim.results.report.result import Result, RunMetrics
from gpusim.results.report.rule import PerformanceFinding, PerformanceRule, findings


def _stall(
    reason: str, above: float, text: str, advice: str, figures: Callable[[RunMetrics], Mapping[str, str]] | None = None
) -> PerformanceRule:
    """Make a rule about a stall reason's share of all wavefront-cycles."""
    return PerformanceRule(
        name=f"stall_{reason}",
        section="stalls",
        measure=lambda run: run.share(f"stalls.{reason}"),
        above=above,
        text=f"{text} in {{measure}} of wavefront-cycles" + ("{for}" if figures else ""),
        advice=advice,
        figures=figures,
        reason=reason,
        weight=1.2,
    )


RULES: tuple[PerformanceRule, ...] = (
    PerformanceRule(
        name="near_roofline",
        section="speed_of_light",
        measure=lambda run: measures.nearest_bound(run)[1],
        above=0.8,
        text="the bottleneck: {bound}, for at least {near} of the kernel's cycles",
        advice="{advice}",
        figures=measures.bound_figures,
        weight=1.0,
    ),
    PerformanceRule(
        name="far_from_roofline",
        section="speed_of_light",
        measure=measures.far_from_roofline,
        above=0.6,
        text=(
            "no unit is busy: the nearest bound, {bound}, is {near} of the cycles; waits take the time, above all "
            "{wait}"
        ),
        advice="see Wavefront State Statistics; more resident wavefronts or more independent work hides waits",
        figures=measures.bound_figures,
        weight=0.8,
    ),
    PerformanceRule(
        name="few_workgroups",
        section="launch",
        measure=measures.idle_compute_units,
        above=0.0,
        text="{kernel.workgroups_total} leave {measure} of the {units} compute units without any",
        advice="more, smaller workgroups: a larger batch, a smaller tile, or a split of the sum",
        figures=lambda run: {"units": str(round(measures.compute_units(run)))},
        weight=1.0,
    ),
    PerformanceRule(
        "compute_units_idle",
        "launch",
        measures.missing("profile.sm_efficiency", lambda run: (measures.idle_compute_units(run) or 0) > 0),
        0.2,
        "compute units are without a workgroup for {measure} of the time: start, end and tail of the grid",
        "a grid that is a multiple of what fits the machine, or shorter workgroups",
    ),
    PerformanceRule(
        "launch_overhead",
        "launch",
        lambda run: 1 - run.number("kernel.time_us") / run.get("host.time_us") if run.get("host.time_us") else None,
        0.3,
        "launching takes {measure} of the host's {host.time_us}",
        "fewer launches, longer kernels",
    ),
    PerformanceRule(
        name="low_occupancy",
        section="occupancy",
        measure=measures.missing(
            "profile.achieved_occupancy", lambda run: run.number("profile.issue_slot_utilization") > 0.6
        ),
        above=0.7,
        text="{profile.achieved_occupancy} of the wavefront slots are taken while a workgroup is resident;"
        " {limiter} allow {kernel.workgroups_per_compute_unit} a compute unit",
        advice="use less of {limiter} for each workgroup",
        figures=lambda run: {"limiter": measures.limiter(run)},
        weight=0.4,
    ),
    PerformanceRule(
        "issue_slots_unused",
        "scheduler",
        measures.missing("profile.issue_slot_utilization", lambda run: False),
        0.6,
        "compute units issue nothing in {measure} of their cycles; {profile.eligible_warps_per_cycle} could on average",
        "see Wavefront State Statistics for what they wait for",
        weight=0.3,
    ),
    PerformanceRule(
        "issue_bound",
        "scheduler",
        lambda run: run.share("stalls.not_selected"),
        0.25,
        "wavefronts that could issue are not chosen for {measure} of their cycles: issue is the limit, not latency",
        "fewer instructions for the same work; more wavefronts will not help",
        weight=1.0,
    ),
    _stall(
        "memory_dependency",
        0.3,
        "wavefronts wait at s_waitcnt for memory or LDS",
        "load earlier (software prefetch, double buffering), more independent loads, better hit rates",
        access.describe_longest_wait,
    ),
    _stall(
        "memory_throttle",
        0.2,
        "memory instructions find a queue full",
        "wider loads, fewer lines for each, accesses spread over time",
    ),
    _stall(
        "execution_dependency",
        0.3,
        "wavefronts wait for a busy pipeline or a result",
        "more independent instructions in a row, or more wavefronts",
    ),
    _stall(
        "matrix_unit",
        0.3,
        "matrix products find the matrix unit busy",
        "this is near what the matrix units can do: fewer or narrower products, not more wavefronts",
    ),
    _stall(
        "synchronization",
        0.15,
        "wavefronts wait at barriers",
        "less work between barriers for the slowest wavefront, smaller workgroups, two buffers with one barrier",
    ),
    _stall(
        "instruction_fetch",
        0.15,
        "the next instruction is not there yet",
        "a kernel this short pays for its cold instruction cache; otherwise smaller code, less unrolling",
    ),
    _stall("branch_latency", 0.15, "wavefronts wait for taken branches", "unroll loops, select instead of branching"),
    PerformanceRule(
        "few_vector_instructions",
        "instructions",
        measures.not_vector,
        0.6,
        "{measure} of the instructions are no vector arithmetic: addresses, control, waits, loads",
        "unroll, hoist addresses, let each work-item compute more",
        weight=0.4,
    ),
    PerformanceRule(
        name="lds_bank_conflicts",
        section="memory",
        measure=access.BANK_CONFLICTS.share,
        above=0.15,
        text="LDS bank conflicts cost {measure} of the banks' cycles: {each} at {at}",
        advice="pad rows, or swizzle addresses, so that work-items that go together fall into different banks",
        figures=access.bank_figures,
        weight=1.3,
    ),
    PerformanceRule(
        name="uncoalesced",
        section="memory",
        measure=access.UNCOALESCED.share,
        above=0.25,
        text="uncoalesced: {each} where {least} would do, up to {factor}x fewer{stride}: {at}",
        advice="let neighbouring work-items access neighbouring words: store the array transposed, swap the loops, or "
        "go"
        " through LDS",
        figures=access.line_figures,
        weight=1.9,
    ),
    PerformanceRule(
        name="set_conflicts",
        section="memory",
        measure=access.SET_CONFLICTS.share,
        above=0.25,
        text=(
            "{stride} leaves {measure} of the lines of vector memory without a way in L1: they fall into few sets; {at}"
        ),
        advice="pad each row by a line of 64 bytes, so that rows begin in different sets, channels and banks",
        figures=access.set_figures,
        weight=1.6,
    ),
    PerformanceRule(
        name="channel_conflicts",
        section="memory",
        measure=access.CHANNEL_CONFLICTS.share,
        above=0.15,
        text="of {lines} lines of an instruction {most} go to one of {channels} L2 channels: {at}",
        advice="pad each row by a line of 64 bytes, so that rows begin in different sets, channels and banks",
        figures=access.channel_figures,
        weight=1.0,
    ),
    PerformanceRule(
        name="partial_lines",
        section="memory",
        measure=access.PARTIAL_LINES.share,
        above=0.5,
        text="{measure} of the lines that stores touch are written in part, each at the cost of a whole one: {at}",
        advice=(
            "let the work-items of a wavefront write whole lines of 64 bytes: neighbours write neighbours, or LDS "
            "gathers"
        ),
        figures=access.place_figures(access.PARTIAL_LINES),
        weight=1.3,
    ),
    PerformanceRule(
        name="idle_lanes",
        section="instructions",
        measure=access.IDLE_LANES.share,
        above=0.2,
        text="divergence: {active} of 64 lanes are active in a vector instruction, {there} at {at}",
        advice=(
            "let work-items of a wavefront take the same way: sort them by their work; workgroups of a multiple of 64"
        ),
        figures=access.lane_figures,
        weight=1.3,
    ),
    PerformanceRule(
        "l1_misses",
        "memory",
        measures.missing("l1.hit_rate", measures.unimportant("profile.l2_utilization", 0.2)),
        0.7,
        "{measure} of the accesses miss L1 (hit rate {l1.hit_rate}), and L2 is busy for {profile.l2_utilization}",
        "reuse what was loaded, through LDS or registers; let neighbours read neighbouring words",
        weight=0.3,
    ),
    PerformanceRule(
        "l1_stalled",
        "memory",
        measures.formula("l1.full_stall_cycles / cu.cycles"),
        0.2,
        "L1's look-up waits for an MSHR, a queue or a return entry in {measure} of the cycles",
        "fewer outstanding lines: coalesced, wider accesses",
    ),
    PerformanceRule(
        "l2_misses",
        "memory",
        measures.missing("l2.hit_rate", measures.unimportant("profile.dram_utilization", 0.3)),
        0.6,
        "{measure} of the accesses miss L2 (hit rate {l2.hit_rate}), and DRAM is busy for {profile.dram_utilization}",
        "block for L2's size, or order workgroups so that neighbours share operands",
    ),
    PerformanceRule(
        "l2_stalled",
        "memory",
        measures.l2_stalls,
        0.2,
        "L2 channels' oldest requests wait for an MSHR, a way or a queue in {measure} of their cycles",
        "fewer misses in flight at a time; spread addresses over channels (avoid strides of a power of two)",
    ),
    PerformanceRule(
        "translation",
        "memory",
        measures.formula("translation.stall_cycles / cu.cycles"),
        0.1,
        "first-level caches wait for address translation in {measure} of the cycles (L1 TLB {translation.l1_hit_rate})",
        "touch fewer pages at a time: other layout or larger gpu.translation.page_kib",
    ),
    PerformanceRule(
        "dram_rows",
        "memory",
        measures.missing("dram.row_hit_rate", measures.unimportant("profile.dram_utilization", 0.2)),
        0.5,
        "{measure} of DRAM's accesses find another row or none open (row hits {dram.row_hit_rate})",
        "read longer runs of neighbouring lines; fewer streams at a time",
    ),
    PerformanceRule(
        "dram_bandwidth",
        "memory",
        lambda run: run.get("profile.dram_utilization"),
        0.7,
        "DRAM's data bus is busy for {measure} of the time"
        " ({profile.dram_read_throughput} read, {profile.dram_write_throughput} written)",
        "move fewer bytes: reuse in L2, smaller types, compaction",
    ),
    PerformanceRule(
        "engine_hasty",
        "engine",
        measures.formula("engine.hasty / engine.requests"),
        0.2,
        "the engine searches {measure} of its requests line after line (hasty mode, warm-up)",
        "a larger SIB (engine.sib_kib) keeps columns' information; longer kernels pay less for warm-up",
        weight=0.8,
    ),
    PerformanceRule(
        "engine_waste",
        "engine",
        measures.formula("engine.lines_wasted / engine.lines_fetched"),
        0.25,
        "{measure} of the sparse lines that the engine read went into no compacted line",
        "a larger engine.prefetch_buffer_kib, or a shorter engine.prefetch_length",
        weight=1.0,
    ),
    PerformanceRule(
        "engine_blocked",
        "engine",
        measures.formula("engine.lookup_blocked_cycles / kernel.cycles"),
        0.2,
        "requests wait for a SIB entry or a lane of the prefetch buffer in {measure} of the cycles",
        "a larger engine.sib_kib or engine.prefetch_buffer_kib",
    ),
    PerformanceRule(
        "engine_few_prefetched",
        "engine",
        measures.not_ready,
        0.5,
        "{measure} of the engine's requests find no finished line; an answer takes {engine.request_latency_cycles}",
        "more engine.compaction_units or a longer engine.prefetch_length",
    ),
    PerformanceRule(
        "energy_dram",
        "energy",
        measures.formula("energy.dram_uj / energy.total_uj"),
        0.75,
        "DRAM takes {measure} of the counted energy ({energy.dram_uj}, {energy.dram_pj_per_bit})",
        "move fewer bytes, in longer runs within an open row",
        weight=0.2,
    ),
    PerformanceRule(
        "uneven_compute_units",
        "distribution",
        measures.uneven,
        0.2,
        "the busiest compute unit issues more than the mean, which is {measure} below it",
        "more workgroups than fit at once, of equal length",
    ),
    PerformanceRule(
        "wrong_result",
        "session",
        measures.wrong,
        0.0,
        "the result is WRONG: error {verification.max_error}, allowed is {verification.bound}",
        "the figures are those of a kernel that does not do its work; find the fault first",
        weight=9.0,
    ),
)


def apply_rules(result: Result, section: str = "") -> list[PerformanceFinding]:
    """Return what the rules find in each column of a result; section: its rules alone."""
    rules = [rule for rule in RULES if section in ("", rule.section)]
    return [finding for column in result.columns for finding in findings(rules, column)]
