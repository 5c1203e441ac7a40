"""What a launch takes at least, by resource, and about, from all of them together; before any correction."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from gpusim.base.sums import plain_sum
from gpusim.jobs.demand.launch_work import beyond_l1_cycles
from gpusim.jobs.estimates.launches import LaunchDemand
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.roofline import Demand, fewest_cycles
from isa.trace import LINE_BYTES

RESOURCES = ("valu", "salu", "lds", "dispatch", "l1", "l2", "dram", "fetch", "issue", "latency", "matrix")
TOGETHER = 3.0  # exponent of the sum: resources are busy side by side, though not perfectly


@dataclass(frozen=True)
class Bounds:
    """Bounds on the cycles of a launch, by resource.

    Expected cycles assume: other workgroups find the analysed one's data in L1 (l2), each byte of an array crosses DRAM
    once (dram), and code is fetched line by line (fetch). Each wave of workgroups takes as long as one wavefront alone:
    issue, and further waiting (latency).
    """

    least: Mapping[str, float]
    """Lower bounds from compute, LDS and dispatch, if all workgroups equal those that were analysed."""
    likely: Mapping[str, float]
    """Expected cycles of l2, dram, fetch, issue and latency, under the assumptions of the class."""
    start_cycles: float
    """Cycles to the first instruction."""
    rounds: float
    """Waves of resident workgroups."""

    @property
    def all(self) -> dict[str, float]:
        """Return both kinds of bounds together."""
        return {**self.least, **self.likely}

    @property
    def most(self) -> float:
        """The largest bound that no run can beat."""
        return max(self.least.values())

    @property
    def by(self) -> str:
        """The resource with the largest of all bounds."""
        return max(self.all, key=lambda name: self.all[name])

    @property
    def together(self) -> float:
        """About what all of them take together, not less than the largest."""
        largest = max(*self.all.values(), 1.0)
        parts = plain_sum((cycles / largest) ** TOGETHER for cycles in self.all.values())
        overlapped: float = largest * float(parts) ** (1 / TOGETHER)
        return self.start_cycles + overlapped


def bounds(asked: LaunchDemand, gpu: GpuSpec) -> Bounds:
    """Return the bounds of a launch that finds nothing in the caches."""
    work, groups = asked.work, asked.work.workgroups
    moved = moved_across_dram(asked, stays=gpu.l2.size_kib << 10)
    limited = gpu.dram.model != "ideal" or gpu.dram.ideal_bandwidth_gb_s
    each = fewest_cycles(
        Demand(
            valu_cycles=work.valu_cycles,
            matrix_cycles=work.matrix_cycles,
            scalar_instructions=work.scalar_instructions,
            lds_cycles=work.lds_cycles,
            l1_cycles=work.load_lines + work.store_lines,
            l2_requests=work.missed_lines + work.store_lines,
            dram_cycles=moved / gpu.dram.bytes_per_s * gpu.clock_hz * gpu.dram.channels if limited else 0.0,
            workgroups=groups,
            wavefronts=work.wavefronts,
        ),
        gpu,
    )
    of_fullest = ceil(groups / gpu.cus) / (groups / gpu.cus)  # compute unit, over the mean
    waves = ceil(groups / gpu.cus) * work.wavefronts
    of_fullest_simd = ceil(waves / SIMDS) * SIMDS * gpu.cus / (groups * work.wavefronts)
    least = {
        "valu": each["valu"] * of_fullest_simd,
        "matrix": each["matrix"] * of_fullest_simd,
        "salu": each["salu"] * of_fullest,
        "lds": each["lds"] * of_fullest,
        "dispatch": each["dispatch"],
    }
    rounds = groups / (asked.resident * gpu.cus)
    turns = max(ceil(rounds), 1) * (work.longest if rounds <= 1 else 1.0)
    likely = {
        "l1": each["l1"] * of_fullest,
        "l2": each["l2"],
        "dram": each["dram"],
        "fetch": work.code_lines * beyond_l1_cycles(gpu),
        "issue": work.turn_cycles * turns,
        "latency": (work.turn_cycles + work.exposed_cycles) * turns,
    }
    return Bounds(least, likely, gpu.cu.launch_cycles + beyond_l1_cycles(gpu), rounds)


def moved_across_dram(asked: LaunchDemand, stays: float = 0.0) -> float:
    """Return the bytes of the arrays that cross DRAM, each once; no more than the launch's accesses move. stays: of the
    written ones, in L2 until after the launch's end.
    """
    read = min(asked.read_bytes, asked.work.load_lines * LINE_BYTES)
    return read + max(0.0, min(asked.written_bytes, asked.work.store_lines * LINE_BYTES) - stays)
