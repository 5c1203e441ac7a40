"""Does each rule speak where it should and keep quiet where it should, with figures that have units?"""

import re
from typing import Any

import pytest

from gpusim.results import metrics
from gpusim.results.report.result import read
from gpusim.results.report.rule import findings
from gpusim.results.report.rules import RULES
from gpusim.results.report.screen import top_findings
from gpusim.results.report.sections import SECTIONS
from tests.support.results import CONFIG, QUIET, changed, network_of, result_of

# of an atomic whose lanes each have a line
ATOMIC = {
    "access_patterns.0.instruction": "flat_atomic_add v1, v[2:3], v4",
    "access_patterns.0.lines": 6400,
    "access_patterns.0.least_lines": 400,
    "access_patterns.0.examined_lines": 640,
    "access_patterns.0.channel_lines": 640,
}
_ADD = QUIET["access_patterns"][3]
# of vector instructions: all lanes until work-items diverge
DIVERGENT = [*QUIET["access_patterns"][:3], {**_ADD, "lanes": 8000}, {**_ADD, "address": 4, "issued": 5, "lanes": 320}]
# rule → (metrics with which it speaks, metrics with which it just does not, what it says)
CASES: dict[str, tuple[dict[str, object], dict[str, object], str]] = {
    "near_roofline": (
        {"roofline.dram": 90_000.0},
        {"roofline.dram": 79_000.0},
        "the bottleneck: DRAM, for at least 90.0 % of the kernel's cycles",
    ),
    "far_from_roofline": (
        {"roofline.valu": 30_000.0},
        {"roofline.valu": 41_000.0, "roofline.latency": 1.0},
        "no unit is busy: the nearest bound, vector ALUs, is 30.0 % of the cycles; waits take the time, above all",
    ),
    "few_workgroups": (
        {"kernel.workgroups_total": 3},
        {"kernel.workgroups_total": 4},
        "3 workgroups on 4 compute units: 25.0 % of them have none",
    ),
    "compute_units_idle": (
        {"profile.sm_efficiency": 0.7},
        {"profile.sm_efficiency": 0.81},
        "compute units are without a workgroup for 30.0 % of the time",
    ),
    "small_grid": (
        {"kernel.workgroups_total": 16, "kernel.wavefronts": 16},
        {"kernel.workgroups_total": 32, "kernel.wavefronts": 32},
        "16 workgroups fill 16 of 160 wavefront slots, and leave 90.0 % of them empty",
    ),
    "launch_overhead": (
        {"host.time_us": 200.0, "host.launching_us": 100.0},
        {"host.time_us": 200.0, "host.launching_us": 5.0, "host.copies_us": 95.0},  # which are copies
        "launching takes 50.0 % of the host's 200.0 us, in 3 launches",
    ),
    "copies": (
        {"host.time_us": 200.0, "host.copies_us": 95.0},
        {"host.time_us": 200.0, "host.launching_us": 95.0},
        "copies take 47.5 % of the host's 200.0 us while no kernel runs",
    ),
    "low_occupancy": (
        {"profile.achieved_occupancy": 0.2},
        {"profile.achieved_occupancy": 0.2, "kernel.workgroups_total": 31},  # the grid leaves them empty
        "20.0 % of the wavefront slots are taken while a workgroup is resident; VGPRs allow 8 workgroups",
    ),
    "issue_slots_unused": (
        {"profile.issue_slot_utilization": 0.3},
        {"profile.issue_slot_utilization": 0.41},
        "compute units issue nothing in 70.0 % of their cycles; 1.5 wavefronts could on average",
    ),
    "issue_bound": (
        {"stalls.not_selected": 700},
        {"stalls.not_selected": 200},
        "wavefronts that could issue are not chosen for 43.8 % of their cycles",
    ),
    "stall_memory_dependency": (
        {"stalls.memory_dependency": 900},
        {"stalls.memory_dependency": 350},
        "50.0 % of wavefront-cycles, 80.0 % of it for k.cl line 9, flat_load_dword v1, v[2:3]; 6.7 % of that at k.cl",
    ),
    "stall_memory_throttle": ({"stalls.memory_throttle": 970}, {"stalls.memory_throttle": 220}, "find a queue full"),
    "stall_execution_dependency": (
        {"stalls.execution_dependency": 900},
        {"stalls.execution_dependency": 350},
        "busy pipeline",
    ),
    "stall_matrix_unit": ({"stalls.matrix_unit": 970}, {"stalls.matrix_unit": 220}, "find the matrix unit busy"),
    "stall_synchronization": ({"stalls.synchronization": 970}, {"stalls.synchronization": 160}, "wait at barriers"),
    "stall_instruction_fetch": (
        {"stalls.instruction_fetch": 980},
        {"stalls.instruction_fetch": 160},
        "the next instruction is not there yet",
    ),
    "stall_branch_latency": ({"stalls.branch_latency": 990}, {"stalls.branch_latency": 160}, "taken branches"),
    "few_vector_instructions": (
        {"kernel.valu_instructions": 50_000},
        {"kernel.valu_instructions": 81_000},
        "75.0 % of the instructions are no arithmetic of vectors or matrices",
    ),
    "lds_bank_conflicts": (
        {"access_patterns.2.bank_cycles": 3200},
        {"access_patterns.2.bank_cycles": 230},
        "cost 93.8 % of the banks' cycles: 32 bank cycles where 2 would do at k.cl line 214, ds_read_b32 v1, v2",
    ),
    "uncoalesced": (
        {"access_patterns.0.lines": 6400, "access_patterns.0.strided": 9, "access_patterns.0.stride_lines": -64},
        {"access_patterns.0.lines": 660},
        "64 lines per load where 4 would do, up to 16x fewer, neighbours 4,096 bytes apart: k.cl line 9, flat_load",
    ),
    "atomic_contention": (  # 64 lanes, one word
        {**ATOMIC, "access_patterns.0.repeated_lines": 630},
        {**ATOMIC, "access_patterns.0.repeated_lines": 0},  # a word each
        "contention: 64 atomics of a wavefront change one word, one after another: k.cl line 9, flat_atomic_add v1",
    ),
    "lds_atomics": (
        {"access_patterns.2.instruction": "ds_add_u32 v1, v2", "access_patterns.2.bank_cycles": 6400},
        {"access_patterns.2.instruction": "ds_bpermute_b32 v1, v2, v3", "access_patterns.2.bank_cycles": 6400},
        "LDS atomics meet in words or banks for 96.9 % of the banks' cycles: 64 bank cycles where 2 would do at k.cl",
    ),
    "set_conflicts": (
        {"access_patterns.0.set_overflow": 30, "access_patterns.0.strided": 9, "access_patterns.0.stride_lines": 64},
        {"access_patterns.0.set_overflow": 19},
        "a stride of 4,096 bytes (a power of two) leaves 37.5 % of the lines of vector memory without a way",
    ),
    "channel_conflicts": (
        {"access_patterns.0.examined_lines": 160, "access_patterns.0.channel_lines": 120},
        {"access_patterns.0.channel_lines": 40},  # too few lines for all channels
        "of 16 lines of an instruction 12 go to one of 4 L2 channels: k.cl line 9",
    ),
    "partial_lines": (
        {"access_patterns.1.partial_lines": 30},
        {"access_patterns.0.partial_lines": 40},  # of a load
        "75.0 % of the lines that stores touch are written in part, each at the cost of a whole one: k.cl line 10",
    ),
    "idle_lanes": (
        {"access_patterns": DIVERGENT},
        {"access_patterns.3.lanes": 26_000},
        "16.5 of 64 lanes are active in a vector instruction, 16 at k.cl line 12",
    ),
    "l1_misses": (
        {"l1.hit_rate": 0.1, "profile.l2_utilization": 0.5},
        {"l1.hit_rate": 0.1},
        "90.0 % of the accesses miss L1 (hit rate 10.0 %), and L2 is busy for 50.0 %",
    ),
    "l1_stalled": (
        {"l1.full_stall_cycles": 120_000},
        {"l1.full_stall_cycles": 79_000},
        "in 30.0 % of the cycles",
    ),
    "l2_misses": (
        {"l2.hit_rate": 0.2, "profile.dram_utilization": 0.5},
        {"l2.hit_rate": 0.2},
        "80.0 % of the accesses miss L2 (hit rate 20.0 %), and DRAM is busy for 50.0 %",
    ),
    "l2_stalled": (  # 40,000 requests in at least 10,000 cycles: 4 channels
        {"l2.full_stall_cycles": 200_000},
        {"l2.full_stall_cycles": 79_000},
        "in 50.0 % of their cycles",
    ),
    "translation": (
        {"translation.stall_cycles": 80_000},
        {"translation.stall_cycles": 39_000},
        "wait for address translation in 20.0 % of the cycles (L1 TLB 99.0 %)",
    ),
    "dram_rows": (
        {"dram.row_hit_rate": 0.4, "profile.dram_utilization": 0.25},
        {"dram.row_hit_rate": 0.4},
        "60.0 % of DRAM's accesses find another row or none open (row hits 40.0 %)",
    ),
    "dram_bandwidth": (
        {"profile.dram_utilization": 0.75},
        {"profile.dram_utilization": 0.69},
        "DRAM's data bus is busy for 75.0 % of the time (10 GB/s read, 1 GB/s written)",
    ),
    "engine_hasty": ({"engine.hasty": 300}, {"engine.hasty": 199}, "searches 30.0 % of its requests line after line"),
    "engine_waste": (
        {"engine.lines_wasted": 300},
        {"engine.lines_wasted": 240},
        "30.0 % of the sparse lines that the engine read went into no compacted line",
    ),
    "engine_blocked": (
        {"engine.lookup_blocked_cycles": 30_000},
        {"engine.lookup_blocked_cycles": 19_000},
        "in 30.0 % of the cycles",
    ),
    "engine_few_prefetched": (
        {"engine.prefetch_buffer_hits": 100},
        {"engine.prefetch_buffer_hits": 100, "engine.past_end": 400},
        "90.0 % of the engine's requests find no finished line; an answer takes 200.0 cycles",
    ),
    "energy_dram": (
        {"energy.dram_uj": 80.0},
        {"energy.dram_uj": 74.0},
        "DRAM takes 80.0 % of the counted energy (80 uJ, 4.5 pJ/bit)",
    ),
    "uneven_compute_units": (
        {"stalls_by_compute_unit.issued": [100, 100, 100, 300]},
        {"stalls_by_compute_unit.issued": [100, 110, 120, 130]},
        "50.0 % below it",
    ),
    "wrong_result": (
        {"verification.passed": False, "verification.max_error": 0.5},
        {"verification.passed": None},
        "the result is WRONG: error 0.5, allowed is 1e-05",
    ),
}


def said(changes: dict[str, object]) -> dict[str, str]:
    (column,) = read(result_of(changed(QUIET, changes))).columns
    return {finding.rule.name: finding.text for finding in findings(RULES, column)}


# rule: metrics with which a nearby one would speak, but does not
NEAREST: dict[str, dict[str, Any]] = {
    "uncoalesced": {**ATOMIC, "access_patterns.0.repeated_lines": 630},  # of one word: contention
    "channel_conflicts": {**ATOMIC, "access_patterns.0.repeated_lines": 630},
    "lds_bank_conflicts": {  # exchanges between lanes use no banks
        "access_patterns.2.instruction": "ds_swizzle_b32 v1, v2",
        "access_patterns.2.bank_cycles": 6400,
        "access_patterns.2.least_bank_cycles": 0,
    },
    "launch_overhead": {"host.time_us": 200.0, "host.launching_us": 100.0, "host.launches": 1},  # no fewer than one
    "copies": {"host.time_us": 200.0, "host.copies_us": 95.0, "kernel.cycles": None},  # beside kernels without timing
    "low_occupancy": {"profile.achieved_occupancy": 0.2, "profile.issue_slot_utilization": 0.7},
    "uneven_compute_units": {"stalls_by_compute_unit.issued": [100, 100, 100, 0], "kernel.workgroups_total": 3},
    "small_grid": {"kernel.workgroups_total": 3, "kernel.wavefronts": 3},  # compute units without any
    "compute_units_idle": {"profile.sm_efficiency": 0.7, "kernel.workgroups_total": 32},  # no tail
}


@pytest.mark.parametrize("name", NEAREST)
def test_a_rule_leaves_to_others_what_is_theirs(name: str) -> None:
    assert name not in said(dict(NEAREST[name]))


@pytest.mark.parametrize(
    ("name", "misses", "cold"),
    [("k", 2048, True), ("k", 2049, False), ("k + k + k", 6144, True), ("k + k + k", 6145, False)],  # of each launch
)
def test_code_is_cold_while_no_line_is_fetched_twice(name: str, misses: int, cold: bool) -> None:
    changes = {"stalls.instruction_fetch": 980, "instruction_cache": {"misses": misses}, "kernel.name": name}
    gpu = {**CONFIG["gpu"], "shader_arrays": 2, "instruction_cache": {"size_kib": 64}}
    (column,) = read({**result_of(changed(QUIET, changes)), "config": {"gpu": gpu}}).columns
    (finding,) = (one for one in findings(RULES, column) if one.rule.name == "stall_instruction_fetch")
    assert ("cold code" in finding.text and "more iterations" in finding.advice) is cold
    assert ("smaller code" in finding.advice) is not cold


@pytest.mark.parametrize(
    ("caches", "name", "named"), [("flushed", "k + k", 1), ("warm", "k + k", 0), ("flushed", "k", 0)]
)
def test_cold_code_of_launches_that_flush_l2_is_kept_by_warm_caches(caches: str, name: str, named: bool) -> None:
    changes = {"stalls.instruction_fetch": 980, "instruction_cache": {"misses": 9}, "kernel.name": name}
    gpu = {**CONFIG["gpu"], "instruction_cache": {"size_kib": 64}, "caches": caches}
    (column,) = read({**result_of(changed(QUIET, changes)), "config": {"gpu": gpu}}).columns
    (finding,) = (one for one in findings(RULES, column) if one.rule.name == "stall_instruction_fetch")
    assert ("--warm" in finding.advice) is bool(named)


@pytest.mark.parametrize(
    ("lines", "strided", "advice"), [(860, 0, "rows of a workgroup be longer"), (860, 9, "transposed"), (900, 0, "LDS")]
)
def test_runs_of_neighbours_that_begin_within_lines_are_not_to_be_transposed(
    lines: int, strided: int, advice: str
) -> None:
    changes = {"lines": lines, "strided": strided, "stride_lines": -2}
    tree = changed(QUIET, {f"access_patterns.0.{name}": value for name, value in changes.items()})
    (column,) = read(result_of(tree)).columns
    (finding,) = (one for one in findings(RULES, column) if one.rule.name == "uncoalesced")
    assert advice in finding.advice


def test_a_wrong_result_comes_first_and_names_the_command_that_finds_races() -> None:
    result = read(result_of(changed(QUIET, {"verification.passed": False, "kernel.workgroups_total": 1})))
    first, second = top_findings(result)[:2]
    assert first.rule.name == "wrong_result" and "`gpusim check FILE`" in first.advice and "up to" not in first.text
    assert second.rule.name == "few_workgroups"


def _program(*groups: tuple[str, int, int, int]) -> dict[str, Any]:
    """A program's result: of each kernel the launches, the workgroups of one and the cycles of all."""
    rows, whole = [], sum(cycles for *_, cycles in groups)
    for name, launches, workgroups, cycles in groups:
        metrics = changed(QUIET, {
            "kernel.name": " + ".join([name] * launches), "kernel.cycles": cycles, "cu.cycles": 4 * cycles,
            "kernel.workgroups_total": launches * workgroups, "kernel.wavefronts": launches * workgroups,
            "roofline": {"valu": cycles / 10, "latency": cycles / 2},
        })  # fmt: skip
        rows.append({
            "name": name, "launches": launches, "timed": launches, "cycles": cycles, "time_us": cycles / 1000,
            "share": cycles / whole, "metrics": metrics,
        })  # fmt: skip
    tree = changed(QUIET, {"kernel.cycles": whole, "kernel.workgroups_total": 1 << 20})
    return {**result_of(tree), "kind": "hip", "rows": rows}


def test_small_grids_launched_often_are_judged_one_by_one() -> None:
    result = read(_program(("gemv", 20, 1, 80_000), ("init", 1, 64, 20_000)))
    (finding,) = (one for one in findings(RULES, result.columns[0], "hip") if one.rule.name == "few_workgroups")
    assert finding.text.startswith("gemv, 20 launches: up to ")
    assert "1 workgroup on 4 compute units: 75.0 % of them have none" in finding.text
    assert finding.share == pytest.approx(0.75 * 0.8), "weighted by time"
    # of 80,000 cycles a quarter remain; the other kernel takes its 20,000 as before, launching 5,000
    assert finding.gain == pytest.approx(105_000 / (80_000 / 4 + 20_000 + 5_000))


def test_gains_of_a_program_are_of_the_hosts_time() -> None:
    """A kernel of 100 us beside 400 us of copies cannot make the program 1.25 times faster, whatever its grid."""
    host = {"host.time_us": 500.0, "host.copies_us": 400.0, "host.launches": 1}
    (column,) = read(result_of(changed(QUIET, {**host, "kernel.workgroups_total": 1, "roofline.valu": 10.0}))).columns
    gains = {one.rule.name: one.gain for one in findings(RULES, column, "hip")}
    assert gains["copies"] == pytest.approx(500 / 100)
    assert gains["few_workgroups"] == pytest.approx(500 / (500 - 0.75 * 100))
    alone = {**host, "host.copies_us": 0.0, "kernel.workgroups_total": 1, "roofline.valu": 10.0}
    (column,) = read(result_of(changed(QUIET, alone))).columns
    (finding,) = (one for one in findings(RULES, column) if one.rule.name == "few_workgroups")
    assert finding.gain == pytest.approx(4), "a launch by itself is run for its kernel's sake"


def test_lanes_without_a_work_item_are_not_called_divergence() -> None:
    """Instructions of a small workgroup have as many lanes each; where work-items diverge some have all."""
    small = said({"access_patterns.3.lanes": 8000})["idle_lanes"]
    assert small.endswith("small workgroups: no vector instruction has more than 16 of 64 lanes")
    assert "divergence: " in said({"access_patterns": DIVERGENT})["idle_lanes"]


def test_on_the_screen_a_rule_has_one_finding_with_the_gain_of_all_kernels() -> None:
    names = ("add", "max", "min")
    result = read(_program(*((name, 1, 1, 30_000) for name in names), ("all", 1, 64, 10_000)))
    (finding,) = (one for one in top_findings(result) if one.rule.name == "few_workgroups")
    assert finding.text.startswith("add, and 2 other kernels: up to 2.8")
    assert finding.gain == pytest.approx(105_000 / (105_000 - 0.75 * 90_000))
    assert len([one for one in findings(RULES, result.columns[0], "hip") if one.rule.name == "few_workgroups"]) == 3


def test_of_kernels_that_are_not_the_users_no_change_is_advised() -> None:
    result = read(_program(("Cijk_Ailk_Bljk_SB", 1, 1, 50_000), ("mine", 1, 1, 50_000)))
    found = {one.kernel: one for one in findings(RULES, result.columns[0], "hip") if one.rule.name == "few_workgroups"}
    assert "a kernel of a library" in found["Cijk_Ailk_Bljk_SB"].advice and "library" not in found["mine"].advice
    assert "smaller workgroups" in found["mine"].advice
    network = network_of(conv1=changed(QUIET, {"kernel.workgroups_total": 1}), fc=QUIET)
    (column,) = read(network).columns
    (finding,) = (one for one in findings(RULES, column, "net") if one.rule.name == "few_workgroups")
    assert finding.text.startswith("conv1 forward, k: ") and finding.advice.startswith("a kernel of gpusim")


# rule: metrics, and the gain by hand: of 100,000 cycles so many remain, or as many as the largest other bound
GAINS: dict[str, tuple[dict[str, object], float]] = {
    "few_workgroups": ({"kernel.workgroups_total": 1, "roofline.valu": 20_000.0}, 100_000 / 25_000),
    "near_roofline": ({"roofline.dram": 90_000.0}, 100_000 / 60_000),  # then the vector ALUs' bound
    "stall_memory_dependency": ({"stalls": {"memory_dependency": 75, "issued": 25}}, 100_000 / 60_000),
    "uncoalesced": (  # 1/2 of 6,800 lines and those of the store; waits of 80 of 1,000, throttled 30, L1 80 % busy
        {"access_patterns.0.lines": 1200, "roofline": {"l1": 80_000.0, "valu": 10_000.0}},
        1 / (0.5 * 0.8),  # what is left of L1's work; the rest of the cycles, 20 %, beside it
    ),
    "lds_bank_conflicts": (
        {"access_patterns.2.bank_cycles": 800, "roofline": {"lds": 50_000.0, "valu": 10_000.0}},
        1 / 0.5,  # the rest of the cycles, beside which what is left of LDS's work is less
    ),
    "idle_lanes": ({"access_patterns.3.lanes": 16_000, "roofline": {"valu": 90_000.0}}, 1 / (0.5 * 0.9)),
    "low_occupancy": (
        {"profile.achieved_occupancy": 0.2, "roofline.valu": 100.0, "roofline.dram": 100.0, "roofline.l2": 100.0},
        1 / (1 - 0.8 * (100 + 100 + 30 + 10) / 1000),
    ),
    "launch_overhead": ({"host.time_us": 200.0, "host.launching_us": 100.0, "host.launches": 3}, 2.0),
    "dram_rows": ({"dram.row_hit_rate": 0.4, "profile.dram_utilization": 0.5}, 1 / (1 - 0.6 * 0.5)),
}


@pytest.mark.parametrize("name", GAINS)
def test_gains_follow_from_the_share_and_the_other_bounds(name: str) -> None:
    changes, gain = GAINS[name]
    (column,) = read(result_of(changed(QUIET, {"host.launches": 1, **changes}))).columns
    found = findings(RULES, column)
    (finding,) = (one for one in found if one.rule.name == name)
    assert finding.gain == pytest.approx(gain, rel=1e-6)
    assert [one.gain or 0.0 for one in found] == sorted((one.gain or 0.0 for one in found), reverse=True)


def test_every_rule_has_a_case_and_a_section() -> None:
    assert set(CASES) == {rule.name for rule in RULES} and len(CASES) == len(RULES)
    assert {rule.section for rule in RULES} <= {section.key for section in SECTIONS}


def test_of_a_run_that_is_well_no_rule_speaks() -> None:
    assert said({}) == {}


@pytest.mark.parametrize("name", CASES)
def test_a_rule_speaks(name: str) -> None:
    assert CASES[name][2] in said(CASES[name][0])[name]


@pytest.mark.parametrize("name", CASES)
def test_a_rule_keeps_quiet(name: str) -> None:
    assert name not in said(CASES[name][1])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_figures_of_a_rule_are_metrics_or_its_own(rule) -> None:  # type: ignore[no-untyped-def]
    (column,) = read(result_of(changed(QUIET, {}))).columns
    own = {"measure", *(rule.figures(column) if rule.figures else ())}
    named = re.findall(r"\{([\w.]+)\}", rule.text + rule.advice)
    assert [name for name in named if name not in own and metrics.describe(name) is None] == []


@pytest.mark.parametrize("group", sorted(set(QUIET) - {"kernel"}) + ["all"])
def test_of_a_group_that_is_not_known_no_rule_speaks(group: str) -> None:
    """Without engine, translation or comparison a group is null; without timing all but the kernel's counts are."""
    untimed = {**dict.fromkeys(QUIET), "kernel": {"name": "k", "cycles": None, "workgroups_total": 1}}
    (column,) = read(result_of({**QUIET, group: None} if group != "all" else untimed)).columns
    assert [finding.text for finding in findings(RULES, column)] == []


def test_a_cause_in_many_small_launches_hides_what_it_explains() -> None:
    """The gain of each kernel alone is not worth naming; that of all is, and names the cause of their waits."""
    program = _program(*((f"k{number}", 1, 1, 1_000) for number in range(100)))
    for row in program["rows"]:
        row["metrics"]["stalls"] = {"memory_dependency": 90, "issued": 10}
    names = {one.rule.name for one in top_findings(read(program), 20)}
    assert "few_workgroups" in names and "stall_memory_dependency" not in names
