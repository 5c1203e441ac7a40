"""Do the cycles by static instruction tile those by stall reason, and lie where their reasons say?"""

from collections import Counter

from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.simulator import simulate
from isa.device_memory import DeviceMemory
from workloads.data.patterns import fill_synthetic, fill_weights
from workloads.operators.gemm import GemmBuffers, GemmShape, gemm_run


def test_hotspots_tile_the_stalls() -> None:
    shape = GemmShape(256, 64, 128)
    buffers = GemmBuffers.allocate(shape, DeviceMemory(1 << 28))
    fill_weights(buffers.a_stored, shape, 1)
    fill_synthetic(buffers.b_stored, shape, 0.5, 1)
    gpu = GpuSpec()
    (launch,) = gemm_run("sgemm_wide", buffers, gpu.cus).launches
    facts = simulate(launch, gpu, hotspots=True)
    by_reason: Counter[str] = Counter()
    for h in facts.hotspots:
        by_reason.update(h.stalls)
    assert dict(by_reason) == {reason: n for reason, n in facts.stalls.items() if n}
    assert [h.cycles for h in facts.hotspots] == sorted((h.cycles for h in facts.hotspots), reverse=True)
    assert {h.instruction for h in facts.hotspots if "synchronization" in h.stalls} == {"s_barrier"}
    assert sum(h.stalls["issued"] for h in facts.hotspots) == 4 * facts.kernel.wavefront_instructions
    waits = [h for h in facts.hotspots if h.stalls.get("memory_dependency")]
    assert waits and all(h.instruction.startswith("s_waitcnt") for h in waits)
    assert simulate(launch, gpu).hotspots == []
