"""The tables of how-to/check.md, in some five minutes.

What checks find of kernels with a seeded fault and of those without; the kernels of all operators under watch; what a
check costs.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator

from docs._site.pages import table
from gpusim.base.formats import COUNT, FIXED_1
from gpusim.config.run import load_run
from gpusim.jobs.host.checking import check_launch
from gpusim.jobs.host.command_processor import LaunchCommand, execute
from gpusim.lab.checks.bench.cases import CASES as BENCH
from gpusim.lab.checks.bench.cases import GEMM_SETTINGS
from gpusim.model.core.gpu_spec import GpuSpec
from isa.launch import Launch
from tests.support.operator_contract import built
from tests.support.real_kernels import gemm_launches
from tests.unit.isa import test_checking
from tests.unit.workloads.test_operators import CASES as PRODUCTS
from tests.unit.workloads.test_primitives import BUILT

GPU = GpuSpec()
# findings in kernels of operators that are no fault, by the beginning of their names: the kind, and why
REASONS = {
    "lrn_": (
        "barrier",
        "it keeps wavefronts near one another and hands over nothing; work-items beyond the last pixel have ended, "
        "whose wavefronts a barrier of GCN no longer waits for",
    )
}
SOURCES = {
    "wrong": "written with the checks",
    "aside": "written after them",
    "held": "kept aside, in another hand",
    "zeros": "of arrays of zeros",
}
TIMED = ("sgemm", "sgemm_wide", "sgemm_dib_tiled", "csc")
SHAPE = 256, 64, 256
SMALLER = 8  # than in the benchmark
RUNS = 15


def found_by_source() -> str:
    """How many of the seeded faults are found at their line, and where something is found that is right."""
    rows = []
    for source, what in SOURCES.items():
        marked = test_checking.marked(source)
        found = [
            test_checking.is_found(test_checking.of_kernel(source, kernel), line, kinds[0])
            for kernel, (line, kinds) in marked.items()
        ]
        right = [kernel for file, kernel in test_checking.RIGHT if file == source]
        rows.append([f"`{source}.cl`", what, str(len(found)), str(sum(found)), *_alarms(source, right)])
    right = [kernel for file, kernel in test_checking.RIGHT if file == "right"]
    rows.append(["`right.cl`", "written with the checks", "–", "–", *_alarms("right", right)])
    head = ["file", "kernels", "with a seeded fault", "found at its line", "without a fault", "of them with a finding"]
    return table(head, rows)


def _alarms(source: str, kernels: list[str]) -> list[str]:
    return [str(len(kernels)), str(sum(bool(test_checking.of_kernel(source, kernel)) for kernel in kernels))]


def launches() -> Iterator[Launch]:
    """Every launch of every operator's case, executed under watch before the next one is made."""
    for case in (*PRODUCTS, *BUILT):
        yield from built(case).launches


def operators() -> str:
    """The kernels of operators under watch: how many are clean, and the others."""
    seen, dirty, count = set[str](), Counter[tuple[str, str]](), 0
    for launch in launches():
        _, found = check_launch(LaunchCommand(launch), GPU)
        seen.add(launch.kernel.short_name)
        count += 1
        dirty.update({(launch.kernel.short_name, one.kind) for one in found.findings})
    listed = {name for name, _ in dirty}
    rows = [["all others", str(len(seen - listed)), "–", f"nothing in {COUNT(count - sum(dirty.values()))} launches"]]
    for begin, (kind, reason) in REASONS.items():
        of = sorted(name for name, what in dirty if name.startswith(begin) and what == kind)
        rows.append([f"`{begin}…`", str(len(of)), kind, reason])
        listed -= set(of)
    if listed:
        raise ValueError(f"findings without a reason: {sorted((n, k) for n, k in dirty if n in listed)}")
    return table(["kernels", "how many", "finding", "why"], rows)


def cost() -> str:
    """Processor time of the process for a launch under watch and without, the least of RUNS of each by turns."""
    rows = []
    for name in TIMED:
        launch = gemm_launches(name, SHAPE, GPU)[0]
        rows.append(_timed(name, launch))
    config = load_run("layerB.yaml", GEMM_SETTINGS)
    for case in BENCH:
        if not case.name.startswith("sgemm"):
            rows.append(_timed(case.name, case.build(config, case.size // SMALLER).launch))
    return table(["kernel", "instructions", "without timing, ms", "under watch, ms", "times", "executing alone"], rows)


def _timed(name: str, launch: Launch) -> list[str]:
    instructions = execute(launch).wavefront_instructions
    check_launch(LaunchCommand(launch), GPU)  # from here on code is compiled and the kernel's tables are made
    plain, watched = zip(*((_plain(launch), _watched(launch)) for _ in range(RUNS)), strict=True)
    (plain_s, executed_s), (watched_s, followed_s) = (map(min, zip(*each, strict=True)) for each in (plain, watched))
    figures = [FIXED_1(1e3 * s) for s in (plain_s, watched_s)]
    return [
        f"`{name}`",
        COUNT(instructions),
        *figures,
        FIXED_1(watched_s / plain_s),
        FIXED_1(followed_s / executed_s),
    ]


def _plain(launch: Launch) -> tuple[float, float]:
    """Processor time of the process, and of that what executing takes, in seconds."""
    begin = time.process_time()
    executed_s = execute(launch).seconds
    return time.process_time() - begin, executed_s


def _watched(launch: Launch) -> tuple[float, float]:
    """The same under watch."""
    begin = time.process_time()
    facts, _ = check_launch(LaunchCommand(launch), GPU)
    return time.process_time() - begin, facts.simulator.cpu_s


SECTIONS: dict[str, Callable[[], str]] = {"seeded": found_by_source, "operators": operators, "cost": cost}
