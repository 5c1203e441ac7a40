"""Do the cycles by static instruction tile those by stall reason, and lie where their reasons say?"""

from collections import Counter

from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from tests.support.gemm import random_gemm


def test_hotspots_tile_the_stalls() -> None:
    gpu = GpuSpec()
    (launch,) = random_gemm("sgemm_wide", (256, 64, 128), gpu, sparsity=0.5).launches
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
