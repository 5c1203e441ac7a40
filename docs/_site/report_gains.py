"""Estimated gains beside measured ones, for how-to/report.md: kernels with a fault, and the change that is advised.

python -m docs._site.sections how-to/report:gains      # renews the table, in about 25 CPU s
tests/data/gains/build.sh                              # builds the kernels (needs clang 19)
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import gpusim
from docs._site.pages import table
from gpusim.base.formats import RATIO
from gpusim.jobs.api.module import Module
from gpusim.results.report.result import read
from gpusim.results.report.rule import findings
from gpusim.results.report.rules import RULES

KERNELS = Path(__file__).resolve().parents[2] / "tests/data/gains/gains.hsaco"
GPU, GROUP = "mi6", 256


@dataclass(frozen=True)
class GainCase:
    """A kernel with a fault that a rule names, and `<kernel>_mended`, which does the same work without it."""

    kernel: str
    rule: str
    fault: str
    change: str
    workgroups: int
    mended_workgroups: int = 0
    """0: as many."""


CASES = (
    GainCase("groups", "few_workgroups", "4 workgroups of 16 turns", "64 of one turn", 4, 64),
    GainCase("grid", "small_grid", "36 workgroups of 16 turns of loads", "576 of one turn", 36, 576),
    GainCase("resident", "low_occupancy", "32,000 bytes of LDS a workgroup", "1,024 bytes", 720),
    GainCase("rows", "uncoalesced", "a row for each work-item", "the array transposed", 64),
    GainCase("power", "set_conflicts", "rows of 1,024 bytes", "rows padded by a line", 64),
    GainCase("tile", "lds_bank_conflicts", "columns of a tile of 64 x 64 words", "rows of 65 words", 64),
    GainCase("bins", "lds_atomics", "4 counters in LDS", "32 copies of them", 288),
    GainCase("word", "atomic_contention", "an atomic add of each lane to one word", "one of each workgroup", 256),
    GainCase("lanes", "idle_lanes", "loops of 0 to 63 times 64 turns in a wavefront", "as many turns for each", 64),
    GainCase("loop", "stall_branch_latency", "a loop of two additions", "unrolled 32 times", 64),
    GainCase("steps", "stall_synchronization", "two barriers in each step", "none", 64),
    GainCase("bytes", "near_roofline", "16 bytes a work-item, read and written", "8 bytes", 1024),
)


@dataclass(frozen=True)
class MeasuredGain:
    """What a finding says of a case, and what the change gives."""

    case: GainCase
    said: float
    """Gain of the finding; 0: the rule does not speak."""
    measured: float
    """Cycles with the fault over cycles without."""
    said_after: float
    """Gain of the same rule's finding after the change; 0: it does not speak any more."""
    place: int
    """Place of the finding among those with a gain, from 1 on."""


@cache
def measure_gains() -> tuple[MeasuredGain, ...]:
    """Run all cases."""
    gpu = gpusim.Device(GPU, quiet=True)
    module = gpu.load(KERNELS)
    values = np.random.default_rng(1).integers(0, 100, 5 << 20).astype(np.float32)
    arguments = [gpu.zeros((1 << 20,), np.float32), gpu.array(values)]
    return tuple(_measure(case, gpu, module, arguments) for case in CASES)


def gains_table() -> str:
    """Return the table of all cases."""
    rows = [
        [f"`{one.case.rule}`", one.case.fault, one.case.change, *(RATIO(value) for value in (one.said, one.measured))]
        for one in measure_gains()
    ]
    return table(["rule", "fault", "change", "up to", "measured"], rows)


SECTIONS = {"gains": gains_table}


def _measure(case: GainCase, gpu: gpusim.Device, module: Module, arguments: list[gpusim.DeviceArray]) -> MeasuredGain:
    names = {case.kernel: case.workgroups, f"{case.kernel}_mended": case.mended_workgroups or case.workgroups}
    runs = [gpu.launch(module[name], GROUP * count, GROUP, arguments).to_dict() for name, count in names.items()]
    before, after = (findings(RULES, read(run).columns[0]) for run in runs)
    rules = [one.rule.name for one in before]
    gains = [next((one.gain or 0.0 for one in found if one.rule.name == case.rule), 0.0) for found in (before, after)]
    return MeasuredGain(
        case=case,
        said=gains[0],
        measured=runs[0]["kernel"]["cycles"] / runs[1]["kernel"]["cycles"],
        said_after=gains[1],
        place=rules.index(case.rule) + 1 if case.rule in rules else 0,
    )
