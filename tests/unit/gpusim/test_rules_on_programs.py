"""Do the rules name the largest cause of programs that nobody here wrote, and none that is not theirs?

Of each program the counters of its launches are recorded (`tests.support.program_counters`): AMD's samples
(rocm-examples, 7dfb7d4), HeCBench (f27000a51), both built by clang 19 for gfx803 with -O3 -g and run on R9 Nano with
the arguments given here, and what gpusim ships. What is expected was read off the source and the counters, not off the
findings.
"""

from typing import NamedTuple

import pytest

from gpusim.results.report.rules import apply_rules
from gpusim.results.report.screen import top_findings
from tests.support.program_counters import FOLDER, recorded


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


@pytest.mark.parametrize("name", CASES)
def test_the_largest_cause_is_among_the_first_three_and_nothing_false(name: str) -> None:
    case, result = CASES[name], recorded(name)
    first = {finding.rule.name: finding for finding in top_findings(result)}
    assert case.largest in first and case.advice in first[case.largest].advice
    assert set(first) <= {case.largest, *case.others}
    assert set(case.others) <= {finding.rule.name for finding in apply_rules(result)}
    assert case.quiet not in {finding.rule.name for finding in apply_rules(result)}, case.reason


def test_every_record_has_a_case() -> None:
    assert {path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz")} == set(CASES)
