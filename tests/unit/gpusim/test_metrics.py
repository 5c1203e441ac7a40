"""Do the metrics follow from the counts as their definitions say, and is the documentation what the table says?"""

import json
from pathlib import Path

import pytest

from gpusim.core.facts import (
    INSTRUCTION_KINDS,
    STALL_REASONS,
    ActivityFacts,
    CacheFacts,
    DramFacts,
    OccupancyFacts,
    RunFacts,
)
from gpusim.report import terminal as report
from gpusim.results import metrics
from gpusim.results.record import RunRecord, VerificationFacts, combined

ROOT = Path(__file__).resolve().parents[3]
ENGINE = {m.path.removeprefix("engine."): 7 for m in metrics.METRICS if m.path.startswith("engine.")}
REQUIRED = {
    "kernel": "name cycles time_us wavefront_instructions valu_instructions vmem_instructions lds_instructions "
    "salu_instructions workgroups",
    "l1": "transactions hits misses mshr_merges hit_rate read_latency_cycles",
    "l2": "transactions hits misses mshr_merges hit_rate read_latency_cycles",
    "dram": "reads writes bytes row_hit_rate bandwidth_utilisation",
    "engine": "requests accurate prudent hasty prefetch_buffer_hits lines_fetched lines_needed lines_wasted "
    "sib_evictions cmi_evictions compu_busy_cycles",
    "verification": "passed max_error bound",
    "simulator": "wall_s cpu_s setup_s verify_s compile_s instructions_per_s peak_memory_mb version",
}


def facts(engine: bool = True, scale: int = 1) -> RunFacts:
    return RunFacts(
        kernel="k",
        clock_ghz=2.0,
        cycles=1000 * scale,
        workgroups=4,
        workgroups_total=4,
        wavefront_instructions=500 * scale,
        instructions={kind: scale * i for i, kind in enumerate(INSTRUCTION_KINDS)},
        l1=CacheFacts(10 * scale, 5, 3, 2, reads_answered=4, read_latency_total_cycles=400),
        l2=CacheFacts(8, 2, 4, 2),
        dram=DramFacts(
            reads=6, row_hits=3, row_misses=1, row_conflicts=2, bus_busy_cycles=50, bus_available_cycles=200
        ),
        stalls=dict.fromkeys(STALL_REASONS, 2),
        roofline={"valu": 300.0, "l2": 10.0},
        engine=dict(ENGINE) if engine else None,
        engine_latency_histogram=[1, 2] if engine else None,
        cpu_s=2.0,
    )


def test_the_view_from_above_follows_from_the_counts() -> None:
    run = RunRecord(False, "k", [profiled()])
    profile = metrics.to_tree(run)["profile"]
    expected = {
        "sm_efficiency": 0.8,
        "achieved_occupancy": 200 / 1000 / 0.8,
        "ipc": 500 / 4000,
        "issue_slot_utilization": 0.1,
        "eligible_warps_per_cycle": (60 + 20) / 4000,
        "alu_fu_utilization": 0.3,
        "l2_utilization": 0.01,
        "dram_read_throughput": 64 * 6 / 500,
        "stall_sync": 40 / 140,
        "stall_not_selected": 20 / 140,
        "stall_other": 10 / 140,
    }
    assert {name: profile[name] for name in expected} == pytest.approx(expected)
    assert sum(value for name, value in profile.items() if name.startswith("stall_")) == pytest.approx(1)


def profiled() -> RunFacts:
    """1000 cycles of four compute units at 2 GHz."""
    stalls = dict(zip(STALL_REASONS, (60, 20, 10, 30, 25, 40, 5, 10), strict=True))
    total = facts(engine=False)
    total.stalls = stalls
    total.activity = ActivityFacts(4000, 3200, 400)
    total.occupancy = OccupancyFacts(sum(stalls.values()), 1000)
    return total


def record(engine: bool = True, scale: int = 1) -> RunRecord:
    checked = VerificationFacts(True, 1e-6, 1e-3)
    return RunRecord(engine, "k", [facts(engine, scale)], 17.0, checked)


def test_tree_has_every_promised_name() -> None:
    tree = metrics.to_tree(record())
    for group, names in REQUIRED.items():
        assert set(names.split()) <= set(tree[group]), group
    assert set(tree["stalls"]) == set(STALL_REASONS)
    assert tree["roofline"] == {"valu": 300.0, "l2": 10.0}


def test_values_follow_from_the_counts() -> None:
    tree = metrics.to_tree(record())
    assert tree["kernel"]["time_us"] == pytest.approx(0.5)
    assert tree["kernel"]["ipc"] == 0.5
    assert tree["l1"]["hit_rate"] == 0.5
    assert tree["l1"]["read_latency_cycles"] == 100
    assert tree["l2"]["read_latency_cycles"] is None
    assert tree["dram"]["row_hit_rate"] == 0.5
    assert tree["dram"]["bandwidth_utilisation"] == 0.25
    assert tree["simulator"]["instructions_per_s"] == 250
    assert tree["host"]["time_us"] == 17.0
    assert tree["engine"]["request_latency_cycles"] == 1.0


def test_engine_is_null_when_off_and_an_unknown_counter_is_an_error() -> None:
    assert metrics.to_tree(record(engine=False))["engine"] is None
    broken = record()
    del broken.launches[0].engine["requests"]  # type: ignore[union-attr]
    with pytest.raises(KeyError):
        metrics.to_tree(broken)


def test_paths_are_unique_and_described() -> None:
    paths = [m.path for m in metrics.METRICS]
    assert len(paths) == len(set(paths))
    for path, _ in metrics.leaves(metrics.to_tree(record())):
        assert metrics.describe(path) is not None, path
    assert metrics.describe("no.such.metric") is None


def test_launches_add_up() -> None:
    both = combined([facts(), facts(engine=False, scale=3)])
    assert both.cycles == 4000
    assert both.kernel == "k + k"
    assert both.instructions["salu"] == 4
    assert both.l1.transactions == 40
    assert both.dram.reads == 12
    assert both.engine == ENGINE
    assert both.engine_latency_histogram == [1, 2]
    assert both.roofline == {"valu": 600.0, "l2": 20.0}


def test_ratio_to_dense() -> None:
    dense, sparse = metrics.to_tree(record(False)), metrics.to_tree(record(True, scale=2))
    ratios = metrics.normalised(sparse, dense)
    assert ratios["kernel.cycles"] == 2.0
    assert ratios["l1.hit_rate"] == 0.5
    assert "engine.requests" not in ratios  # dense has no engine
    assert "verification.passed" not in ratios
    assert "simulator.cpu_s" not in ratios
    assert ratios["dram.writes"] is None  # nothing to divide by


def test_document_is_plain_json() -> None:
    one = report.document({"gpu": {"name": "x"}}, [record()])
    assert json.loads(report.as_json(one)) == one
    assert one["schema_version"] == metrics.SCHEMA_VERSION
    assert one["config_hash"] == report.config_hash({"gpu": {"name": "x"}})
    assert one["config_hash"] != report.config_hash({"gpu": {"name": "y"}})
    two = report.document({}, [record(False), record()], ["dense", "sparse"])
    assert set(two) == {"schema_version", "partial", "config", "config_hash", "dense", "sparse", "normalised"}
    interrupted = report.document({}, [record(False)], ["dense", "sparse"])
    assert (set(interrupted), interrupted["sparse"], interrupted["normalised"]) == (set(two), None, {})


def test_documentation_is_current() -> None:
    assert (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8") == metrics.markdown(), (
        "docs/metrics.md is not what the table says: renew it with .ci/generate"
    )
