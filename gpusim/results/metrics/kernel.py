"""Metrics of the kernel as a whole: time, instructions, occupancy, distance to the roofline, and `profile`.

The latter has the names that nvprof's users know (CUDA profiler user's guide, metrics reference). A warp there is a
wavefront here, an SM a compute unit.
"""

from collections.abc import Callable

from gpusim.base.counters import Counts
from gpusim.base.sums import plain_sum
from gpusim.model.core.cu.counters import FLOP_COUNTERS, MATRIX_FLOPS
from gpusim.model.core.cu.interlocks import FLOPS_PER_CYCLE
from gpusim.results.metrics.metric import Metric, derived, quotient, ratio

LINE_BYTES = 64


def _gb_s(lines: int, kernel: Counts) -> float | None:
    return ratio(LINE_BYTES * lines, 1e3 * (kernel.cycles / (kernel.clock_ghz * 1e3)))


def _utilization(name: str, definition: str, bound: str) -> Metric:
    def utilization(roofline: Counts, kernel: Counts) -> float | None:
        return ratio(getattr(roofline, bound), kernel.cycles)

    return derived(f"profile.{name}", "fraction", definition, utilization)


def _stall_share(name: str, reason: str) -> Metric:
    def share(stalls: Counts) -> float | None:
        waited = plain_sum(cycles for other, cycles in stalls.items() if other != "issued")
        return ratio(getattr(stalls, reason), waited)

    return derived(f"profile.stall_{name}", "fraction", f"stalls.{reason} / all stalls", share)


def _flops(kernel: Counts) -> int:
    return int(plain_sum(getattr(kernel, counter.name) for counter in (*FLOP_COUNTERS, MATRIX_FLOPS)))


def _compute_efficiency(name: str, over: str, more_cycles: Callable[[Counts], float]) -> Metric:
    """Make a metric of a layer's operations over those that the GPU could do in some time (Li, Zhang and Cao 2018,
    equation 8).
    """

    def efficiency(layer: Counts, kernel: Counts, cu: Counts) -> float | None:
        cycles = kernel.cycles + more_cycles(layer)
        return ratio(2 * layer.macs * kernel.cycles, FLOPS_PER_CYCLE * cu.cycles * cycles) if layer.macs else None

    return derived(
        f"layer.{name}", "fraction", f"2 layer.macs / what the vector ALUs can do in the time of {over}", efficiency
    )


KERNEL = (
    derived("kernel.time_us", "us", "kernel.cycles / clock", lambda kernel: kernel.cycles / (kernel.clock_ghz * 1e3)),
    quotient(
        "kernel.ipc",
        "instructions/cycle",
        "wavefront instructions per cycle, whole machine",
        "wavefront_instructions",
        "cycles",
    ),
    derived(
        "kernel.ldst_instruction_share",
        "fraction",
        "vector memory and LDS instructions / wavefront instructions",
        lambda kernel: ratio(kernel.vmem_instructions + kernel.lds_instructions, kernel.wavefront_instructions),
    ),
    derived("kernel.flops", "operations", "floating-point operations executed, of all precisions", _flops),
    derived(
        "kernel.gflops",
        "GFLOP/s",
        "kernel.flops / kernel.time_us",
        lambda kernel: ratio(_flops(kernel), kernel.cycles / kernel.clock_ghz),
    ),
    derived(
        "kernel.occupancy",
        "fraction",
        "resident wavefronts / wavefront slots, mean over the cycles",
        lambda stalls, cu: ratio(plain_sum(stalls.values()), cu.wavefront_slot_cycles),
    ),
    derived(
        "kernel.roofline_utilization",
        "fraction",
        "largest bound of the roofline, latency's apart, / kernel.cycles; never above 1",
        lambda roofline, kernel: ratio(
            max((cycles for bound, cycles in roofline.items() if bound != "latency"), default=0.0), kernel.cycles
        ),
    ),
    derived(
        "profile.sm_efficiency",
        "fraction",
        "compute-unit cycles in which a workgroup was resident / all",
        lambda cu: ratio(cu.active_cycles, cu.cycles),
    ),
    derived(
        "profile.achieved_occupancy",
        "fraction",
        "resident wavefronts / wavefront slots, mean over the cycles in which a workgroup was resident",
        lambda stalls, cu: ratio(plain_sum(stalls.values()) * cu.cycles, cu.wavefront_slot_cycles * cu.active_cycles),
    ),
    derived(
        "profile.resource_utilization",
        "fraction",
        "workgroups of the grid / workgroup_places: how much of the last wave's places is taken, too",
        lambda kernel: ratio(kernel.workgroups_total, kernel.workgroup_places),
    ),
    _compute_efficiency("compute_efficiency", "all launches and launch_cycles", lambda layer: layer.launch_cycles),
    _compute_efficiency(
        "product_compute_efficiency", "its products alone, without other_cycles", lambda layer: -layer.other_cycles
    ),
    derived(
        "profile.ipc",
        "instructions/cycle",
        "wavefront instructions per compute unit and cycle",
        lambda kernel, cu: ratio(kernel.wavefront_instructions, cu.cycles),
    ),
    derived(
        "profile.issue_slot_utilization",
        "fraction",
        "compute-unit cycles in which at least one instruction was issued / all",
        lambda cu: ratio(cu.issue_cycles, cu.cycles),
    ),
    derived(
        "profile.eligible_warps_per_cycle",
        "wavefronts",
        "wavefronts of a compute unit that issued or could have issued, mean over all cycles",
        lambda stalls, cu: ratio(stalls.issued + stalls.not_selected, cu.cycles),
    ),
    _utilization("alu_fu_utilization", "vector ALU cycles / SIMD cycles", "valu"),
    derived(
        "profile.flop_sp_efficiency",
        "fraction",
        "kernel.single_flops / what the vector ALUs can do in the time: 64 fused ones a compute unit and cycle",
        lambda kernel, cu: ratio(kernel.single_flops, FLOPS_PER_CYCLE * cu.cycles),
    ),
    _utilization("tensor_utilization", "matrix unit cycles / SIMD cycles", "matrix"),
    _utilization("shared_utilization", "LDS bank cycles / compute-unit cycles", "lds"),
    _utilization(
        "tex_utilization", "vector L1: cycles of look-up or of return, the larger, / compute-unit cycles", "l1"
    ),
    derived(
        "profile.ldst_fu_utilization",
        "fraction",
        "the two units of load/store instructions, vector memory (as tex_utilization) and LDS: mean of their shares",
        lambda roofline, kernel: ratio(roofline.l1 + roofline.lds, 2 * kernel.cycles),
    ),
    _utilization("l2_utilization", "L2 requests / channel cycles", "l2"),
    _utilization("dram_utilization", "DRAM data-bus cycles / channel cycles", "dram"),
    derived(
        "profile.l2_throughput",
        "GB/s",
        "64 bytes for each L2 request / time",
        lambda l2, kernel: _gb_s(l2.read_transactions + l2.store_transactions + l2.atomic_transactions, kernel),
    ),
    derived(
        "profile.dram_read_throughput",
        "GB/s",
        "64 bytes for each line read from DRAM / time",
        lambda dram, kernel: _gb_s(dram.reads, kernel),
    ),
    derived(
        "profile.dram_write_throughput",
        "GB/s",
        "64 bytes for each line written to DRAM / time",
        lambda dram, kernel: _gb_s(dram.writes, kernel),
    ),
    _stall_share("inst_fetch", "instruction_fetch"),
    _stall_share("branch_resolving", "branch_latency"),
    _stall_share("exec_dependency", "execution_dependency"),
    _stall_share("pipe_busy", "matrix_unit"),
    _stall_share("memory_dependency", "memory_dependency"),
    _stall_share("memory_throttle", "memory_throttle"),
    _stall_share("sync", "synchronization"),
    _stall_share("not_selected", "not_selected"),
    _stall_share("other", "idle"),
)
