"""Does each rule speak where it should and keep quiet where it should, with figures that have units?"""

import re

import pytest

from gpusim.results import metrics
from gpusim.results.report.result import read
from gpusim.results.report.rule import findings
from gpusim.results.report.rules import RULES
from gpusim.results.report.sections import SECTIONS
from tests.support.results import QUIET, changed, result_of

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
        "3 workgroups leave 25.0 % of the 4 compute units without any",
    ),
    "compute_units_idle": (
        {"profile.sm_efficiency": 0.7},
        {"profile.sm_efficiency": 0.81},
        "compute units are without a workgroup for 30.0 % of the time",
    ),
    "launch_overhead": (
        {"host.time_us": 200.0},
        {"host.time_us": 140.0},
        "launching takes 50.0 % of the host's 200.0 us",
    ),
    "low_occupancy": (
        {"profile.achieved_occupancy": 0.2},
        {"profile.achieved_occupancy": 0.2, "profile.issue_slot_utilization": 0.7},
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
    "stall_synchronization": ({"stalls.synchronization": 970}, {"stalls.synchronization": 160}, "wait at barriers"),
    "stall_instruction_fetch": ({"stalls.instruction_fetch": 980}, {"stalls.instruction_fetch": 160}, "not there yet"),
    "stall_branch_latency": ({"stalls.branch_latency": 990}, {"stalls.branch_latency": 160}, "taken branches"),
    "few_vector_instructions": (
        {"kernel.valu_instructions": 50_000},
        {"kernel.valu_instructions": 81_000},
        "75.0 % of the instructions are no vector arithmetic",
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
        {"access_patterns.3.lanes": 8000},
        {"access_patterns.3.lanes": 26_000},
        "16 of 64 lanes are active in a vector instruction, 16 at k.cl line 12",
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
