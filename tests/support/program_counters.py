"""Recorded counters of runs: what the findings' rules read of them, without the program, for a table of tests.

gpusim hip --gpu r9nano --json result.json -- PROGRAM
python -m tests.support.program_counters result.json...   # → tests/data/programs/result.json.gz

Single launches, streams, commands and what the simulator took are left out: rules judge a program by its kernels.
"""

import gzip
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from gpusim.results.report.result import Result, read

FOLDER = Path(__file__).resolve().parents[1] / "data" / "programs"
_UNREAD = ("launches", "commands", "streams", "simulator", "data", "series", "timeline", "lines", "config_hash")


class ProgramCase(NamedTuple):
    """What the first three findings of a program have to name, and the nearest that they must not."""

    source: str
    largest: str
    """Rule that names the largest cause: among the first three."""
    advice: str
    """Words of its advice."""
    others: tuple[str, ...]
    """Other true causes that the first three may name, in any order; no other rule."""
    quiet: str
    """Nearest rule whose finding would be false: nowhere."""
    reason: str
    """Why it would be."""


CASES = {
    # AMD's samples
    "bitonic_sort": ProgramCase(
        "Applications/bitonic_sort -l 10", "launch_overhead", "fewer launches",
        ("few_workgroups", "stall_instruction_fetch"), "copies", "one copy of 10 us in 388 us",
    ),
    "convolution": ProgramCase(
        "Applications/convolution -x 256 -y 256 -i 2", "copies", "copy less",
        ("uneven_compute_units", "stall_instruction_fetch"), "few_workgroups", "81 workgroups on 64 compute units",
    ),
    "floyd_warshall": ProgramCase(
        "Applications/floyd_warshall -n 64 -i 1", "launch_overhead", "fewer launches",
        ("few_workgroups", "stall_instruction_fetch"), "uncoalesced", "rows of 64 words",
    ),
    "histogram": ProgramCase(
        "Applications/histogram", "few_workgroups", "smaller workgroups",
        ("set_conflicts", "uncoalesced"), "lds_atomics", "counters of bytes, one for each work-item, without atomics",
    ),
    "prefix_sum": ProgramCase(
        "Applications/prefix_sum -n 4096", "few_workgroups", "smaller workgroups",
        ("launch_overhead", "lds_bank_conflicts"), "copies", "one of 11 us in 46 us",
    ),
    "cooperative_groups": ProgramCase(
        "HIP-Basic/cooperative_groups", "copies", "copy less",
        ("few_workgroups", "stall_instruction_fetch"), "stall_synchronization", "groups of 16 lanes need no barrier",
    ),
    "device_globals": ProgramCase(
        "HIP-Basic/device_globals", "copies", "copy less",
        ("stall_instruction_fetch", "idle_lanes"), "launch_overhead", "one launch: it cannot be fewer",
    ),
    "dynamic_shared": ProgramCase(
        "HIP-Basic/dynamic_shared", "copies", "copy less",
        ("few_workgroups", "stall_instruction_fetch"), "low_occupancy", "one workgroup of one wavefront",
    ),
    "moving_average": ProgramCase(
        "HIP-Basic/moving_average", "copies", "copy less",
        ("near_roofline",), "lds_bank_conflicts", "LDS is busy for 99 %, with neighbouring words",
    ),
    "occupancy": ProgramCase(
        "HIP-Basic/occupancy", "copies", "copy less",
        ("stall_instruction_fetch", "few_workgroups"), "low_occupancy", "the grid, not a resource, leaves slots empty",
    ),
    "saxpy": ProgramCase(
        "HIP-Basic/saxpy", "copies", "copy less",
        ("near_roofline",), "uncoalesced", "neighbours read and write neighbours",
    ),
    "shared_memory": ProgramCase(
        "HIP-Basic/shared_memory", "copies", "copy less",
        ("stall_instruction_fetch", "low_occupancy"), "small_grid", "256 workgroups: LDS leaves slots empty",
    ),
    "streams": ProgramCase(
        "HIP-Basic/streams", "copies", "copy less",
        ("stall_instruction_fetch", "small_grid"), "stall_synchronization", "one barrier in 1.6 us",
    ),
    "warp_shuffle": ProgramCase(
        "HIP-Basic/warp_shuffle", "copies", "copy less",
        ("few_workgroups", "stall_instruction_fetch"), "lds_bank_conflicts", "exchanges of lanes use no banks",
    ),
    # HeCBench
    "atomicCAS": ProgramCase(
        "src/atomicCAS 4", "atomic_contention", "add within the wavefront first",
        (), "uncoalesced", "all lanes change one word",
    ),
    "atomicReduction": ProgramCase(
        "src/atomicReduction 100000 2", "copies", "copy less",
        ("few_vector_instructions", "issue_bound"), "atomic_contention", "the compiler adds within the wavefront",
    ),
    "bilateral": ProgramCase(
        "src/bilateral 296 144 0.5 0.5 2", "near_roofline", "fewer or cheaper vector instructions",
        ("small_grid", "uncoalesced"), "low_occupancy", "the grid leaves slots empty",
    ),
    "bincount": ProgramCase(
        "src/bincount 20000 1", "copies", "copy less",
        ("small_grid", "uneven_compute_units"), "idle_lanes", "all lanes count",
    ),
    "fhd": ProgramCase(
        "src/fhd 1000 8192 1", "few_workgroups", "smaller workgroups",
        (), "small_grid", "compute units without any workgroup, not empty slots",
    ),
    "gru": ProgramCase(
        "src/gru 256 64 2", "copies", "copy less",
        ("few_workgroups", "stall_instruction_fetch"), "launch_overhead", "two launches of 5 us in 87 us",
    ),
    "mask": ProgramCase(
        "src/mask 64 64 8 1", "copies", "copy less",
        ("few_vector_instructions", "issue_bound"), "low_occupancy", "74 % of the slots are taken",
    ),
    "matrix-rotate": ProgramCase(
        "src/matrix-rotate 256 1", "few_workgroups", "smaller workgroups",
        ("uncoalesced", "idle_lanes"), "copies", "one of 28 us in 342 us",
    ),
    "rsbench": ProgramCase(
        "src/rsbench -s small -m event -l 1000", "few_workgroups", "smaller workgroups",
        ("idle_lanes", "uncoalesced"), "copies", "459 us of 6,106 us",
    ),
    "simpleSpmv": ProgramCase(
        "src/simpleSpmv 65536 1024 1", "uncoalesced", "store the array transposed",
        ("few_workgroups", "set_conflicts"), "launch_overhead", "18 launches of 5 us in 9,274 us",
    ),
    # what gpusim ships
    "exec_vector_add": ProgramCase(
        "gpusim exec vector_add", "stall_instruction_fetch", "run more iterations",
        ("few_workgroups",), "uncoalesced", "neighbours read and write neighbours",
    ),
    "run_layerB": ProgramCase(
        "gpusim run layerB.yaml", "few_vector_instructions", "a kernel of gpusim, not of yours",
        ("stall_synchronization", "engine_waste"), "low_occupancy", "70 workgroups of four wavefronts",
    ),
    "net_lenet": ProgramCase(
        "gpusim net lenet --gpu mi6 --batch 4", "few_workgroups", "a larger batch",
        ("uncoalesced", "partial_lines"), "copies", "a network's arrays are on the GPU",
    ),
}  # fmt: skip


def reduce_result(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result without what no rule reads."""
    if isinstance(result.get("launches"), list) and "rows" in result:
        result = {**result, "launches": len(result["launches"])}
    kept = {key: value for key, value in result.items() if key not in _UNREAD or key == "launches"}
    kept["config"] = {"gpu": result["config"]["gpu"]}
    return kept


def recorded(name: str) -> Result:
    """Read the recorded counters of a program."""
    with gzip.open(FOLDER / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return read(json.load(file))


def main(files: list[str]) -> None:
    """Record the counters of results."""
    FOLDER.mkdir(exist_ok=True)
    for path in map(Path, files):
        text = json.dumps(reduce_result(json.loads(path.read_text(encoding="utf-8"))), separators=(",", ":"))
        (FOLDER / f"{path.stem}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1:])
