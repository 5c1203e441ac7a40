"""Do the metrics follow from the counts as their definitions say, and is the documentation what the tables say?

Every count has a prime of its own, and each derived metric is compared with a formula written here again: a metric
that is computed from another count than it should has another value.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from gpusim.base.counters import EACH, Counts
from gpusim.base.version import __version__
from gpusim.model.core.counters import TABLES
from gpusim.model.core.cu.counters import INSTRUCTION_KINDS, STALL_REASONS
from gpusim.model.core.facts import RunFacts, combined
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.levels import BETWEEN
from gpusim.model.energy.model import EnergyModel
from gpusim.model.energy.spec import EnergySpec
from gpusim.results import metrics
from gpusim.results.metrics.documentation import ROCPROF, names_elsewhere
from gpusim.results.metrics.metric import collect_formula_inputs
from gpusim.results.records.record import CommandTimes, RunRecord, VerificationFacts, group_launches
from spartan.engine_spec import EngineSpec
from tests.support.daily import given_daily

ROOT = Path(__file__).resolve().parents[3]
TEXT = ("kernel.name", "kernel.occupancy_limiter")
Formula = Callable[[dict[str, Any]], Any]


def primes(first: int) -> list[int]:
    """A prime for each of the counts, from `first` on."""
    found: list[int] = []
    for n in count(first):
        if all(n % d for d in range(2, int(n**0.5) + 1)):
            found.append(n)
            if len(found) == 1000:
                return found
    raise AssertionError


def prime_facts(first: int = 101, engine: bool = True) -> RunFacts:
    """Facts in which each count is a prime of its own, in the order of the tables."""
    facts, prime = RunFacts(), iter(primes(first))
    for table in TABLES:
        if table.section == "engine" and not engine:
            continue
        for counter in table.counters:
            value: Any = next(prime)
            if counter.aggregation is EACH:
                value = [value, next(prime)]
            elif f"{table.section}.{counter.name}" in TEXT:
                value = f"text {value}"
            facts.add(table.section, {counter.name: value})
    return facts


def by_path(facts: RunFacts) -> dict[str, Any]:
    """The facts by path."""
    return {f"{section}.{name}": n for section, counts in facts.sections.items() for name, n in counts.items()}


def record(*launches: RunFacts) -> RunRecord:
    checked, energy = VerificationFacts(True, 19.0, 23.0), EnergyModel.of(EnergySpec(), GpuSpec(), EngineSpec())
    # a kernel from 3 to 7, and a copy from 1 to 5, half of it beside the kernel
    commands = [CommandTimes("k", 0.0, 3.0, 7.0), CommandTimes("c", 0.0, 1.0, 5.0, 64)]
    return RunRecord(
        True, "k", list(launches), 17.0, checked, 29.0, 31.0, 37.0, False, 41.0, 43.0, 47, "", commands, energy=energy
    )  # fmt: skip


def _cached(level: str, transactions: Formula) -> dict[str, Formula]:
    return {
        f"{level}.transactions": transactions,
        f"{level}.hit_rate": lambda p: p[f"{level}.hits"] / transactions(p),
    }


def _looked_up(level: str) -> dict[str, Formula]:
    return _cached(level, lambda p: p[f"{level}.read_transactions"] + p[f"{level}.write_transactions"])


def _bound(bound: str) -> Formula:
    return lambda p: p[f"roofline.{bound}"] / p["kernel.cycles"]


def _stalled(reason: str) -> Formula:
    return lambda p: p[f"stalls.{reason}"] / sum(p[f"stalls.{r}"] for r in STALL_REASONS if r != "issued")


def _gb_s(*counts: str) -> Formula:
    """10^9 bytes a second, of 64-byte lines, with a clock of 10^9 cycles a second."""
    return lambda p: 64 * sum(p[c] for c in counts) / (p["kernel.cycles"] / p["kernel.clock_ghz"])


def _over_span(level: str, asked: Formula) -> Formula:
    """10^9 bytes a second, over the time from the level's first to its last transaction."""
    return lambda p: asked(p) / (p[f"{level}.span_cycles"] / p["kernel.clock_ghz"])


def _resident(p: dict[str, Any]) -> int:
    return sum(p[f"stalls.{reason}"] for reason in STALL_REASONS)


# what each derived metric must be, from the counts by path
EXPECTED: dict[str, Formula] = {
    "kernel.time_us": lambda p: p["kernel.cycles"] / p["kernel.clock_ghz"] / 1000,
    "kernel.ipc": lambda p: p["kernel.wavefront_instructions"] / p["kernel.cycles"],
    "kernel.flops": lambda p: sum(p[f"kernel.{kind}_flops"] for kind in ("single", "double", "half", "matrix")),
    "kernel.gflops": lambda p: (
        sum(p[f"kernel.{kind}_flops"] for kind in ("single", "double", "half", "matrix"))
        / (p["kernel.cycles"] / p["kernel.clock_ghz"])
    ),
    "kernel.occupancy": lambda p: _resident(p) / p["cu.wavefront_slot_cycles"],
    "kernel.roofline_utilization": lambda p: (
        max(p[f"roofline.{b}"] for b in ("valu", "salu", "lds", "l1", "l2", "dram", "search", "fetch", "dispatch"))
        / p["kernel.cycles"]
    ),
    "profile.sm_efficiency": lambda p: p["cu.active_cycles"] / p["cu.cycles"],
    "profile.achieved_occupancy": lambda p: (
        (_resident(p) / p["cu.active_cycles"]) / (p["cu.wavefront_slot_cycles"] / p["cu.cycles"])
    ),
    "profile.resource_utilization": lambda p: p["kernel.workgroups_total"] / p["kernel.workgroup_places"],
    "layer.compute_efficiency": lambda p: (
        p["layer.macs"] / 64 / (p["kernel.cycles"] + p["layer.launch_cycles"]) / (p["cu.cycles"] / p["kernel.cycles"])
    ),
    "layer.product_compute_efficiency": lambda p: (
        p["layer.macs"] / 64 / (p["kernel.cycles"] - p["layer.other_cycles"]) / (p["cu.cycles"] / p["kernel.cycles"])
    ),
    "profile.ipc": lambda p: p["kernel.wavefront_instructions"] / p["cu.cycles"],
    "profile.issue_slot_utilization": lambda p: p["cu.issue_cycles"] / p["cu.cycles"],
    "profile.eligible_warps_per_cycle": lambda p: (p["stalls.issued"] + p["stalls.not_selected"]) / p["cu.cycles"],
    "profile.alu_fu_utilization": _bound("valu"),
    "profile.tensor_utilization": _bound("matrix"),
    "profile.shared_utilization": _bound("lds"),
    "profile.tex_utilization": _bound("l1"),
    "profile.l2_utilization": _bound("l2"),
    "profile.dram_utilization": _bound("dram"),
    "profile.ldst_fu_utilization": lambda p: (
        (p["roofline.l1"] / p["kernel.cycles"] + p["roofline.lds"] / p["kernel.cycles"]) / 2
    ),
    "kernel.ldst_instruction_share": lambda p: (
        (p["kernel.vmem_instructions"] + p["kernel.lds_instructions"]) / p["kernel.wavefront_instructions"]
    ),
    "profile.flop_sp_efficiency": lambda p: p["kernel.single_flops"] / (p["cu.cycles"] * 64 * 2),
    "profile.l2_throughput": _gb_s("l2.read_transactions", "l2.store_transactions", "l2.atomic_transactions"),
    "profile.dram_read_throughput": _gb_s("dram.reads"),
    "profile.dram_write_throughput": _gb_s("dram.writes"),
    "profile.stall_inst_fetch": _stalled("instruction_fetch"),
    "profile.stall_branch_resolving": _stalled("branch_latency"),
    "profile.stall_exec_dependency": _stalled("execution_dependency"),
    "profile.stall_pipe_busy": _stalled("matrix_unit"),
    "profile.stall_memory_dependency": _stalled("memory_dependency"),
    "profile.stall_memory_throttle": _stalled("memory_throttle"),
    "profile.stall_sync": _stalled("synchronization"),
    "profile.stall_not_selected": _stalled("not_selected"),
    "profile.stall_other": _stalled("idle"),
    **_cached("l1", lambda p: p["l1.read_transactions"] + p["l1.write_transactions"]),
    "l1.read_latency_cycles": lambda p: p["l1.read_latency_total_cycles"] / p["l1.read_transactions"],
    **_looked_up("scalar_cache"),
    **{path: formula for level in BETWEEN for path, formula in _looked_up(level.section).items()},
    **_cached(
        "instruction_cache",
        lambda p: sum(p[f"instruction_cache.{found}"] for found in ("hits", "misses", "mshr_merges")),
    ),
    "instruction_cache.read_latency_cycles": lambda p: (
        p["instruction_cache.read_latency_total_cycles"]
        / (p["instruction_cache.misses"] + p["instruction_cache.prefetches"])
    ),
    "translation.l1_hit_rate": lambda p: p["translation.l1_hits"] / p["translation.l1_lookups"],
    "translation.l2_hit_rate": lambda p: p["translation.l2_hits"] / p["translation.l2_requests"],
    "translation.latency_cycles": lambda p: p["translation.latency_total_cycles"] / p["translation.l2_requests"],
    **_cached("l2", lambda p: sum(p[f"l2.{kind}_transactions"] for kind in ("read", "store", "atomic"))),
    "l2.hit_rate_with_merges": lambda p: (
        (p["l2.hits"] + p["l2.mshr_merges"]) / sum(p[f"l2.{kind}_transactions"] for kind in ("read", "store", "atomic"))
    ),
    "l2.read_hit_rate": lambda p: p["l2.read_hits"] / p["l2.read_transactions"],
    "l2.write_hit_rate": lambda p: (
        (p["l2.hits"] - p["l2.read_hits"]) / (p["l2.store_transactions"] + p["l2.atomic_transactions"])
    ),
    "l1.throughput": _over_span("l1", lambda p: p["l1.bytes_asked_for"]),
    "lds.throughput": _over_span("lds", lambda p: p["lds.bytes_asked_for"]),
    "l2.read_throughput": _over_span("l2", lambda p: 64 * p["l2.read_transactions"]),
    "l2.write_throughput": _over_span("l2", lambda p: p["l2.bytes_written"]),
    "l2.throughput": _over_span("l2", lambda p: 64 * p["l2.read_transactions"] + p["l2.bytes_written"]),
    "dram.read_throughput": _over_span("dram", lambda p: p["dram.bytes_read"]),
    "dram.write_throughput": _over_span("dram", lambda p: p["dram.bytes_dirty"]),
    "dram.throughput": _over_span("dram", lambda p: p["dram.bytes_read"] + p["dram.bytes_dirty"]),
    "l2.write_transactions": lambda p: p["l2.store_transactions"] + p["l2.atomic_transactions"],
    "l2.read_latency_cycles": lambda p: p["l2.read_latency_total_cycles"] / p["l2.reads_answered"],
    "dram.bytes": lambda p: p["dram.bytes_read"] + p["dram.bytes_written"],
    "dram.write_amplification": lambda p: p["dram.bytes_written"] / p["dram.bytes_dirty"],
    "dram.row_hit_rate": lambda p: (
        p["dram.row_hits"] / (p["dram.row_hits"] + p["dram.row_misses"] + p["dram.row_conflicts"])
    ),
    "dram.read_latency_cycles": lambda p: p["dram.read_latency_total_cycles"] / p["dram.reads"],
    "dram.bandwidth_utilization": lambda p: p["dram.bus_busy_cycles"] / p["dram.bus_available_cycles"],
    "engine.request_latency_cycles": lambda p: p["engine.latency_cycles"] / p["engine.responses"],
    "simulator.instructions_per_s": lambda p: p["kernel.wavefront_instructions"] / p["simulator.cpu_s"],
}

# what each metric of a run must be, of `record` with one launch
EXPECTED_OF_RUN = {
    "host.time_us": 17.0,
    "host.launches": 1,
    "host.copies_us": 2.0,
    "host.launching_us": 17.0 - 6.0,
    "data.zero_fraction": 41.0,
    "data.zero_line_fraction": 43.0,
    "data.column_blocks": 47,
    "verification.passed": True,
    "verification.max_error": 19.0,
    "verification.bound": 23.0,
    "simulator.setup_s": 29.0,
    "simulator.verify_s": 31.0,
    "simulator.peak_memory_mb": 37.0,
    "simulator.version": __version__,
}


def test_every_derived_metric_follows_from_its_own_counts() -> None:
    facts = prime_facts()
    known = collect_formula_inputs(facts)
    found = {m.path: m.value(known) for m in metrics.METRICS if m.counter is None and not m.of_run}
    found = {path: value for path, value in found.items() if not path.startswith("energy.")}
    held = by_path(facts)
    assert found == pytest.approx({path: formula(held) for path, formula in EXPECTED.items()}, rel=1e-12)


def test_every_counter_is_a_metric_of_its_own() -> None:
    facts = prime_facts()
    found = {m.path: m.value(collect_formula_inputs(facts)) for m in metrics.METRICS if m.counter is not None}
    assert found == by_path(facts)
    values = [str(value) for value in found.values()]
    assert len(set(values)) == len(values)


def test_metrics_of_a_run_as_a_whole() -> None:
    run = record(prime_facts())
    known = collect_formula_inputs(run.total, run.energy, run)
    assert {m.path: m.value(known) for m in metrics.METRICS if m.of_run} == EXPECTED_OF_RUN


def test_launches_are_grouped_by_kernel_and_grid() -> None:
    def launch(name: str, workgroups: int, cycles: int, timed: bool = True) -> RunFacts:
        kernel = {"name": name, "workgroups_total": workgroups, "cycles": cycles, "clock_ghz": 1.0}
        return RunFacts.of(kernel=kernel, **({"roofline": {"valu": 1.0}} if timed else {}))

    small, large = [launch("k", 4, 100)] * 20, [launch("k", 640, 1000)]
    groups = group_launches([*small, *large, launch("k", 5, 7, timed=False), launch("l", 4, 30)])
    assert [(group.launches, group.facts.kernel.name[0], group.facts.cycles) for group in groups] == [
        (20, "k", 2000), (1, "k", 1000), (1, "l", 30)
    ]  # fmt: skip
    assert group_launches(small) == [], "of one group the sum over all tells as much"


def test_no_formula_fails_where_nothing_was_counted() -> None:
    facts = prime_facts()
    for counts in facts.sections.values():
        for name, value in counts.items():
            counts[name] = value if isinstance(value, str) else [0, 0] if isinstance(value, list) else 0
    facts.kernel["clock_ghz"] = 1.0  # a machine has one
    for path, value in metrics.leaves(metrics.launch_tree(facts)):
        assert value in (0, None, 1.0, [0, 0]) or isinstance(value, str), path


@given_daily(20, 100, st.sets(st.sampled_from(sorted(prime_facts().sections))), st.booleans())
def test_a_launch_has_what_its_sections_give_and_none_for_the_rest(kept: set[str], with_energy: bool) -> None:
    facts = prime_facts()
    facts.sections = {name: counts for name, counts in facts.sections.items() if name in kept}
    energy = EnergyModel.of(EnergySpec(), GpuSpec(), EngineSpec()) if with_energy else None
    tree = metrics.launch_tree(facts, energy)
    expected: dict[str, dict[str, Any]] = {}
    for metric in metrics.METRICS:
        if not metric.of_run:
            group, _, name = metric.path.partition(".")
            expected.setdefault(group, {})[name] = metric.value(collect_formula_inputs(facts, energy))
    known = {group: held if any(v is not None for v in held.values()) else None for group, held in expected.items()}
    assert tree == known and list(tree) == list(known)
    assert [list(held) for held in tree.values() if held] == [list(held) for held in known.values() if held]


def test_a_tree_holds_each_metric_at_its_path() -> None:
    run = record(prime_facts())
    tree = metrics.to_tree(run)
    assert tuple(tree) == metrics.GROUPS
    paths = [m.path for m in metrics.METRICS]
    assert [path for path, _ in metrics.leaves(tree)] == paths
    assert len(set(paths)) == len(paths)
    assert [metrics.describe(path) for path in paths] == list(metrics.METRICS)
    assert metrics.describe("no.such.metric") is None


def test_every_metric_has_a_definition_and_a_unit_or_is_text() -> None:
    without_unit = {*TEXT, "verification.passed", "verification.max_error", "verification.bound", "simulator.version"}
    assert {m.path for m in metrics.METRICS if not m.unit} == without_unit
    assert all(m.definition for m in metrics.METRICS)
    british = ("utilis", "normalis", "synchronis")
    assert not [m.path for m in metrics.METRICS if any(part in m.path + m.definition for part in british)]


def test_a_group_that_does_not_apply_is_null() -> None:
    tree = metrics.to_tree(record(prime_facts(engine=False)))
    assert tree["engine"] is None
    assert tree["l1"] is not None
    assert metrics.to_tree(RunRecord(False, "k", [prime_facts()]))["verification"] is None


def test_an_execution_without_timing_says_null_of_what_it_does_not_know() -> None:
    kinds = {f"{kind}_instructions": 1 for kind in INSTRUCTION_KINDS}
    facts = RunFacts.of(
        kernel={"name": "k", "clock_ghz": 1.0, "wavefront_instructions": 7, **kinds}, simulator={"cpu_s": 2.0}
    )
    tree = metrics.to_tree(RunRecord(False, "k", [facts]))
    assert tree["kernel"]["wavefront_instructions"] == 7
    assert tree["kernel"]["cycles"] is tree["kernel"]["ipc"] is tree["kernel"]["time_us"] is None
    assert tree["simulator"]["instructions_per_s"] == 3.5
    assert [group for group in metrics.GROUPS if tree[group] is not None] == ["kernel", "simulator"]


# how counts of several launches become one, where that is not their sum
NOT_SUMMED: dict[str, Callable[[Any, Any], Any]] = {
    "kernel.name": lambda a, b: f"{a} + {b}",
    "kernel.occupancy_limiter": lambda a, b: a if a == b else f"{a} + {b}",
    "kernel.clock_ghz": lambda a, b: a,
    "kernel.workgroups_per_compute_unit": max,
    "dram.read_latency_max_cycles": max,
    "l2.dirty_lines_at_end": max,
    **dict.fromkeys(("layer.data_reuse", "layer.read_distance", "layer.write_distance"), max),
}


def test_launches_as_one() -> None:
    first, second = prime_facts(101), prime_facts(10_007)
    second.kernel["clock_ghz"] = first.kernel.clock_ghz
    second.partial = True
    a, b, both = by_path(first), by_path(second), combined([first, second])
    for path, value in by_path(both).items():
        expected = NOT_SUMMED.get(path, lambda x, y: x + y)(a[path], b[path])
        if isinstance(a[path], list):
            expected = [x + y for x, y in zip(a[path], b[path], strict=True)]
        assert value == expected, path
    assert set(by_path(both)) == set(a)
    assert both.partial
    assert combined([first]) is first
    first.kernel["occupancy_limiter"] = second.kernel["occupancy_limiter"] = "LDS"
    assert combined([first, second]).kernel.occupancy_limiter == "LDS"


def test_launches_without_engine_do_not_take_part_in_its_counts() -> None:
    on, off = prime_facts(), prime_facts(engine=False)
    assert combined([off, on]).engine == on.engine
    assert combined([off, off]).engine is None


def test_a_rate_over_launches_is_weighted() -> None:
    first, second = prime_facts(101), prime_facts(10_007)
    tree = metrics.to_tree(record(first, second))
    total = sum(f.l1.read_transactions + f.l1.write_transactions for f in (first, second))
    assert tree["l1"]["hit_rate"] == (first.l1.hits + second.l1.hits) / total
    assert tree["host"]["launches"] == 2


def test_facts_name_what_they_do_not_have() -> None:
    facts = prime_facts()
    assert facts.l1.hits == facts["l1"]["hits"]
    assert set(dir(facts)) > set(facts) and "hits" in dir(facts.l1)
    with pytest.raises(AttributeError, match="unknown count 'hitz'; did you mean 'hits'"):
        facts.l1.hitz  # noqa: B018
    with pytest.raises(AttributeError, match="unknown section 'l3'"):
        facts.l3  # noqa: B018
    with pytest.raises(KeyError, match="unknown section 'l3'"):
        facts["l3"]
    with pytest.raises(ValueError, match="unknown section 'l3'"):
        facts.add("l3", {})
    with pytest.raises(ValueError, match="unknown count of l1 'hitz'"):
        RunFacts.of(l1={"hitz": 1})
    with pytest.raises(ValueError, match=r"l1\.hits is counted twice"):
        facts.add("l1", {"hits": 1})


def test_ratio_to_dense() -> None:
    dense, sparse = prime_facts(101, engine=False), prime_facts(10_007)
    dense.dram["writes"] = 0
    ratios = metrics.normalized(metrics.to_tree(record(sparse)), metrics.to_tree(record(dense)))
    assert ratios["kernel.cycles"] == sparse.cycles / dense.cycles
    assert ratios["dram.writes"] is None  # nothing to divide by
    groups = {path.partition(".")[0] for path in ratios}
    assert groups == set(metrics.GROUPS) - {
        "engine",  # dense has none
        "data",
        "stalls_by_compute_unit",
        "verification",
        "simulator",
    }
    assert "kernel.name" not in ratios


def test_counts_are_mappings_without_hidden_names() -> None:
    hidden = set(dir(dict))
    assert not [name for table in TABLES for name in table.names if name in hidden]
    assert Counts(a=1) == {"a": 1}


def test_names_of_other_profilers_lead_to_metrics() -> None:
    assert [path for _, path, _ in ROCPROF if metrics.describe(path) is None] == []
    prefixes = {path.removeprefix("profile.").partition("_")[0] for path in dict(_profile_paths())}
    assert {"sm", "tex", "shared", "alu", "l2"} <= prefixes
    assert all(f"`{prefix}_" in names_elsewhere() for prefix in ("sm", "tex", "shared", "alu_fu", "l2"))


def _profile_paths() -> list[tuple[str, str]]:
    return [(metric.path, metric.unit) for metric in metrics.METRICS if metric.path.startswith("profile.")]
