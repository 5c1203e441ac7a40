"""L1 and L2 against plain LRU caches without latencies, on the line streams of real kernels."""

import pytest

from gpusim.core.gpu_spec import GpuSpec
from gpusim.core.simulator import simulate
from gpusim.jit import JIT_DISABLED
from memory.address_map import l2_channel, l2_local_line
from memory.cache.instruction import InstructionCacheSpec
from memory.cache.l1 import L1Spec
from memory.cache.l2 import L2Spec
from memory.dram.spec import DramSpec
from memory.network.state import ATOMIC, READ, WRITE, CrossbarSpec
from memory.translation.tlb import TranslationSpec
from tests.support.cache_streams import Access, Streams
from tests.support.cycle_laws import stepped
from tests.support.real_kernels import corpus_launch, gemm_launches
from tests.support.reference_cache import ReferenceCache, ReferenceWrites

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="minutes in plain Python; compiled it is the same code")

# caches so small that the kernels overflow them, and every latency as short as it may be
QUICK = GpuSpec(
    shader_arrays=1,
    cus_per_array=2,
    clock_ghz=1.0,
    crossbar=CrossbarSpec(request_latency_cycles=1, response_latency_cycles=1),
    l1=L1Spec(size_kib=2, ways=4, hit_latency_cycles=1, fill_latency_cycles=1, address_cycles=1),
    l2=L2Spec(size_kib=8, channels=2, ways=4, latency_cycles=1, fill_latency_cycles=1),
    dram=DramSpec(model="ideal", ideal_latency_ns=0.0),
    instruction_cache=InstructionCacheSpec(model="ideal"),
    translation=TranslationSpec(model="off"),
)
SHIPPED_SIZES = QUICK.model_copy(
    update={
        "l1": QUICK.l1.model_copy(update={"size_kib": GpuSpec().l1.size_kib}),
        "l2": L2Spec(latency_cycles=1, fill_latency_cycles=1),
    }
)

REAL = {
    "sgemm_4x4": lambda: gemm_launches("sgemm_4x4", (128, 64, 6), QUICK),
    "sgemm_tiled16": lambda: gemm_launches("sgemm_tiled16", (64, 32, 32), QUICK),
    "spmv_wavefront": lambda: [corpus_launch("spmv_wavefront", -1)],  # gathers
}


def lines_of_l1(spec: L1Spec) -> ReferenceCache:
    """One L1 without latencies."""
    return ReferenceCache(spec.size_kib * 16 // spec.ways, spec.ways, spec.replacement)


def channels_of_l2(spec: L2Spec) -> list[ReferenceWrites]:
    """The channels of an L2 without latencies."""
    sets = spec.size_kib * 16 // spec.channels // spec.ways
    lines = [ReferenceCache(sets, spec.ways, spec.replacement, number=channel) for channel in range(spec.channels)]
    return [ReferenceWrites(held, spec.write, spec.write_allocate, lambda *_: None) for held in lines]


def missed(channel: ReferenceWrites, access: Access, local_line: int) -> bool:
    """Whether an access misses: a write allocates its bytes, a read of a line in part fetches it."""
    if access.kind == WRITE:
        there = channel.use(local_line)
        channel.keep(local_line, access.mask, dirty=True)
        return not there
    misses = channel.counts["misses"]
    channel.read(local_line)
    return channel.counts["misses"] > misses


@pytest.mark.parametrize("spec", [QUICK, SHIPPED_SIZES], ids=["small", "shipped_sizes"])
@pytest.mark.parametrize("name", REAL)
def test_hits_and_misses_are_those_of_plain_lru_caches(name: str, spec: GpuSpec) -> None:
    for launch in REAL[name]():
        recorded: list[Streams] = []

        def on_start(m: object, recorded: list[Streams] = recorded) -> object:
            recorded.append(Streams(m))
            return recorded[-1].visit

        with stepped(on_start):  # type: ignore[arg-type]
            facts = simulate(launch, spec, checked=True)
        (streams,) = recorded
        assert len(streams.l1) == facts.l1.read_transactions > 500
        l1 = [lines_of_l1(spec.l1) for _ in range(spec.cus)]
        for place, look in enumerate(streams.l1):
            assert look.missed != l1[look.cache].use(look.line)[0], f"look-up {place}: {look}"
        m, l2 = streams.m, channels_of_l2(spec.l2)
        kinds = set()
        for place, cycle in enumerate(streams.l2):
            for access in cycle.accesses:
                assert access.channel == l2_channel(m, access.line)
                kinds.add(access.kind)
            found = sum(missed(l2[a.channel], a, int(l2_local_line(m, a.line))) for a in cycle.accesses)
            assert cycle.misses == found, f"cycle {place}: {cycle}"
        assert {READ, WRITE} <= kinds <= {READ, WRITE, ATOMIC}
        assert sum(cycle.misses for cycle in streams.l2) == facts.l2.misses
