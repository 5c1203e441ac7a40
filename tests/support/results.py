"""Results as JSON objects, made by hand: of records, and of metrics trees in which every value is known."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from gpusim.base.counters import DISTINCT, EACH, JOINED
from gpusim.model.core.counters import TABLES
from gpusim.model.core.cu.counters import STALL_REASONS
from gpusim.model.core.facts import Hotspot, RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.patterns import KINDS, Pattern
from gpusim.model.energy.model import EnergyModel
from gpusim.model.energy.spec import EnergySpec
from gpusim.results.metrics import SCHEMA_VERSION
from gpusim.results.records.record import RunRecord, VerificationFacts
from gpusim.results.report.document import document
from gpusim.results.report.page import pictures
from gpusim.results.report.result import Result
from isa.opcodes.opcode import VMEM
from memory.cache.access import COLUMNS
from spartan.engine_spec import EngineSpec

CONFIG: dict[str, Any] = {
    "gpu": {
        "name": "small",
        "shader_arrays": 2,
        "cus_per_array": 2,
        "clock_ghz": 1.0,
        "cu": {"lds_write_passes": 2},
        "l2": {"channels": 4},
    },
    "kernel": "k",
    "global_size": [4096],
    "local_size": [64],
}

# Of a kernel of which no rule has anything to say: 4 compute units, 100,000 cycles, busy vector ALUs, data in caches.
QUIET: dict[str, Any] = {
    "kernel": {
        "name": "k", "cycles": 100_000, "clock_ghz": 1.0, "time_us": 100.0, "workgroups": 64, "workgroups_total": 64,
        "wavefronts": 64,
        "wavefront_instructions": 200_000, "valu_instructions": 150_000, "lds_instructions": 10_000, "ipc": 2.0,
        "occupancy": 0.5, "roofline_utilization": 0.6, "occupancy_limiter": "VGPRs", "workgroups_per_compute_unit": 8,
    },
    "profile": {
        "sm_efficiency": 0.95, "achieved_occupancy": 0.5, "issue_slot_utilization": 0.5, "l2_utilization": 0.1,
        "eligible_warps_per_cycle": 1.5, "dram_utilization": 0.1, "shared_utilization": 0.25,
        "dram_read_throughput": 10.0, "dram_write_throughput": 1.0,
    },
    "host": {"time_us": 105.0, "launches": 3, "copies_us": 0.0, "launching_us": 5.0},
    "cu": {"cycles": 400_000, "wavefront_slot_cycles": 16_000_000, "lds_busy_cycles": 20_000},
    "l1": {"hit_rate": 0.8, "transactions": 1000, "full_stall_cycles": 10, "read_latency_cycles": 120.0},
    "translation": {"stall_cycles": 10, "l1_hit_rate": 0.99},
    "l2": {"hit_rate": 0.9, "transactions": 40_000, "full_stall_cycles": 10, "read_latency_cycles": 80.0},
    "dram": {"row_hit_rate": 0.9, "read_latency_cycles": 90.0},
    "engine": {
        "requests": 1000, "accurate": 400, "prudent": 100, "hasty": 0, "prefetch_buffer_hits": 500, "past_end": 0,
        "lines_fetched": 1000, "lines_wasted": 10, "lookup_blocked_cycles": 0, "request_latency_cycles": 200.0,
        "latency_histogram": [0, 0, 10, 500, 490],
    },
    "energy": {
        "total_uj": 100.0, "dram_uj": 60.0, "l1_uj": 10.0, "l2_uj": 20.0, "lds_uj": 5.0, "engine_uj": 5.0,
        "dram_pj_per_bit": 4.5,
    },
    "stalls": {
        "issued": 600, "not_selected": 100, "execution_dependency": 100, "matrix_unit": 0, "memory_dependency": 100,
        "memory_throttle": 30, "synchronization": 30, "instruction_fetch": 20, "branch_latency": 10, "idle": 10,
    },
    "stalls_by_compute_unit": {"issued": [150, 150, 150, 150]},
    "roofline": {"valu": 60_000.0, "l2": 10_000.0, "dram": 10_000.0, "lds": 5_000.0, "latency": 30_000.0},
    "verification": {"passed": True, "max_error": 1e-7, "bound": 1e-5},
    "simulator": {"version": "0.1.0"},
    "access_patterns": [
        {"kernel": "k", "address": 0x20, "instruction": "flat_load_dword v1, v[2:3]", "file": "src/k.cl", "line": 9,
         "kind": "vector_memory", "issued": 100, "lines": 400, "least_lines": 400, "bytes_asked_for": 25_600,
         "lanes": 6400, "examined": 10, "examined_lines": 40, "channel_lines": 40, "dram_rows": 10,
         "wait_cycles": 80},
        {"kernel": "k", "address": 0x28, "instruction": "flat_store_dword v[2:3], v1", "file": "src/k.cl", "line": 10,
         "kind": "vector_memory", "issued": 100, "lines": 400, "least_lines": 400, "bytes_asked_for": 25_600,
         "lanes": 6400, "examined": 10, "examined_lines": 40, "channel_lines": 40, "dram_rows": 10},
        {"kernel": "k", "address": 0x40, "instruction": "ds_read_b32 v1, v2", "file": "src/k.cl", "line": 214,
         "kind": "lds", "issued": 100, "bank_cycles": 200, "least_bank_cycles": 200, "bytes_asked_for": 25_600,
         "wait_cycles": 20},
        {"kernel": "k", "address": 0x80, "instruction": "v_mac_f32 v0, v1, v2", "file": "src/k.cl", "line": 12,
         "kind": "vector_alu", "issued": 500, "lanes": 32_000},
    ],
    "hotspots": [
        {"kernel": "k", "address": 0x40, "instruction": "ds_read_b32 v1, v2", "file": "src/k.cl", "line": 214,
         "issued": 100, "memory_dependency": 60},
        {"kernel": "k", "address": 0x80, "instruction": "v_mac_f32 v0, v1, v2", "issued": 500},
    ],
}  # fmt: skip


def changed(tree: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a tree with other values at these paths."""
    made = copy.deepcopy(dict(tree))
    for path, value in changes.items():
        *groups, name = path.split(".")
        held: Any = made
        for group in groups:
            held = held[int(group) if group.isdigit() else group]
        held[name] = value
    return made


def result_of(*trees: Mapping[str, Any], names: Sequence[str] = ("dense", "sparse"), **head: Any) -> dict[str, Any]:
    """The JSON object of a run with this metrics tree, or of several variants of it."""
    said = {
        "schema_version": SCHEMA_VERSION,
        "kind": "exec",
        "partial": False,
        "config": CONFIG,
        "config_hash": "0",
        **head,
    }
    if len(trees) == 1:
        return {**said, **trees[0]}
    return {**said, **dict(zip(names, trees, strict=False)), "normalized": {}}


def of_records(*records: RunRecord) -> dict[str, Any]:
    """The JSON object of these records."""
    return document(CONFIG, records, [record.variant for record in records])


def everything(value: int, variant: str = "sparse") -> RunRecord:
    """A run in which every counter of every unit has counted, and which has several launches and hot spots."""
    sections: dict[str, dict[str, object]] = {}
    for table in TABLES:
        for counter in table.counters:
            kinds = {EACH: [value] * 64, JOINED: "a_kernel_of_a_long_name", DISTINCT: "vector registers"}
            one = [value] * counter.length if counter.length else kinds.get(counter.aggregation, value)
            sections.setdefault(table.section, {})[counter.name] = one
    sections["kernel"] |= {"name": "a_kernel_of_a_long_name", "clock_ghz": 1.0, "cycles": value}
    facts = RunFacts.of(**sections)
    instruction = "buffer_load_dwordx4 v[100:103], v[104:105], s[96:99], s100 offen offset:4095 glc slc"
    facts.patterns = [Pattern("k", 0x1A00, instruction, KINDS[VMEM], dict.fromkeys(COLUMNS, value), None)]
    facts.hotspots = [Hotspot("k", 0x1A00, instruction, dict.fromkeys(STALL_REASONS, value // 8))]
    compared = VerificationFacts(True, 3.847e-7, 1.734e-5)
    return RunRecord(
        True,
        "sgemm_dib_tiled_nnz",
        [facts, facts],
        host_time_us=1e9 + 0.5,
        variant=variant,
        verification=compared,
        energy=EnergyModel.of(EnergySpec(), GpuSpec(), EngineSpec()),
    )


def rows_of(**trees: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of layers, forward, that have these metrics, as any version of a network's object has them."""
    return [
        {
            "name": name, "pass": "forward", "operator": "gemm", "launches": 1, "simulated_launches": 1, "macs": 10,
            "needed_macs": 8, "operations": 0, "minimum_bytes": 100,
            "verification": {"passed": True, "max_error": 0.0, "bound": 1.0},
            "cycles": tree["kernel"]["cycles"], "time_us": tree["kernel"]["time_us"], "share": 1 / len(trees),
            "bound": {"name": "valu", "utilization": 0.6}, "stalls": {"memory_dependency": 0.1}, "metrics": tree,
        }
        for name, tree in trees.items()
    ]  # fmt: skip


def network_of(**trees: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object of a network's run whose layers have these metrics, forward; the first one's are the whole's."""
    return {
        "schema_version": SCHEMA_VERSION, "kind": "net", "network": "tiny", "phase": "train", "batch": 4,
        "values": "real", "engine_mode": "off", "remarks": ["a remark"], "partial": False,
        "config": {"gpu": CONFIG["gpu"]}, "config_hash": "0", **next(iter(trees.values())),
        "total": {"rows": len(trees), "launches": len(trees), "simulated_launches": len(trees)},
        "rows": [{**row, "kind": "convolution"} for row in rows_of(**trees)],
    }  # fmt: skip


def draw_alone(patch: pytest.MonkeyPatch, *names: str) -> None:
    """Draw these pictures or groups of each result, and no others: to draw them takes most of a page's time."""
    drawn = pictures.draw_pictures

    def draw(result: Result) -> Any:
        groups = drawn(result).items()
        return {group: [one for one in held if {group, one.name} & {*names}] for group, held in groups}

    patch.setattr(pictures, "draw_pictures", draw)
