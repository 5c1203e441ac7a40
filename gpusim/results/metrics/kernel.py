"""Metrics of the kernel as a whole: time, instructions, occupancy, distance to the roofline."""

from gpusim.base.sums import plain_sum
from gpusim.results.metrics.metric import derived, ratio

KERNEL = (
    derived("kernel.time_us", "us", "kernel.cycles / clock", lambda kernel: kernel.cycles / (kernel.clock_ghz * 1e3)),
    derived(
        "kernel.ipc",
        "instructions/cycle",
        "wavefront instructions per cycle, whole machine",
        lambda kernel: ratio(kernel.wavefront_instructions, kernel.cycles),
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
)
