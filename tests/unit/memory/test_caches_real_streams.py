"""L1 and L2 against reference caches without latencies, on the line streams of real kernels."""

import pytest

from gpusim.base.jit import JIT_DISABLED
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.simulator import simulate
from memory.address_map import l2_channel, l2_local_line
from memory.cache.instruction import InstructionCacheSpec
from memory.cache.l1_state import L1Spec
from memory.cache.l2_state import L2Spec
from memory.dram.spec import DramSpec
from memory.network.state import ATOMIC, READ, WRITE, CrossbarSpec
from memory.translation.spec import TranslationSpec
from tests.support.cache_streams import Access, Streams
from tests.support.cycle_laws import stepped
from tests.support.machines import altered
from tests.support.real_kernels import corpus_launch, gemm_launches
from tests.support.reference_cache import WHOLE, ReferenceCache, ReferenceWrites

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


def l2_misses(channel: ReferenceWrites, access: Access, line: int) -> bool:
    """Whether a request misses; line: its number in the channel."""
    if access.kind == WRITE:
        missed = not channel.use(line)
        channel.keep(line, access.mask, dirty=True)
        return missed
    missed = channel.held.get(line) != WHOLE
    channel.read(line)
    return missed


# the other policies may choose a way that is being filled; in large caches little is replaced
SETTINGS = {"small-lru": (QUICK, "lru"), "small-fifo": (QUICK, "fifo"), "shipped_sizes-lru": (SHIPPED_SIZES, "lru")}


@pytest.mark.parametrize(
    ("name", "spec", "policy"),
    [
        pytest.param(name, *setting, id=f"{name}-{text}")
        for name in REAL
        for text, setting in SETTINGS.items()
        if name != "sgemm_4x4" or text == "small-lru"  # its streams are by far the longest
    ],
)
def test_hits_and_misses_are_those_of_reference_caches(name: str, spec: GpuSpec, policy: str) -> None:
    spec = altered(spec, l1={"replacement": policy}, l2={"replacement": policy})
    for launch in REAL[name]():
        recorded: list[Streams] = []

        def on_start(m: object, recorded: list[Streams] = recorded) -> object:
            recorded.append(Streams(m))
            return recorded[-1].visit

        with stepped(on_start):  # type: ignore[arg-type]
            facts = simulate(launch, spec, checked=True)
        (streams,) = recorded
        assert len(streams.l1) == facts.l1.read_transactions > 500
        l1_sets = spec.l1.size_kib * 16 // spec.l1.ways
        l1 = [ReferenceCache(l1_sets, spec.l1.ways, policy) for _ in range(spec.cus)]
        for number, look in enumerate(streams.l1):
            assert look.missed != l1[look.cache].use(look.line)[0], f"look-up {number}: {look}"
        l2_sets = spec.l2.size_kib * 16 // spec.l2.channels // spec.l2.ways
        m, l2 = (
            streams.m,
            [
                ReferenceWrites(ReferenceCache(l2_sets, spec.l2.ways, policy), "back", True, lambda *_: None)
                for _ in range(spec.l2.channels)
            ],
        )
        kinds = set()
        for number, cycle in enumerate(streams.l2):
            for access in cycle.accesses:
                assert access.channel == l2_channel(m, access.line)
                kinds.add(access.kind)
            found = sum(l2_misses(l2[a.channel], a, int(l2_local_line(m, a.line))) for a in cycle.accesses)
            assert cycle.misses == found, f"cycle {number}: {cycle}"
        assert {READ, WRITE} <= kinds <= {READ, WRITE, ATOMIC}
        assert sum(cycle.misses for cycle in streams.l2) == facts.l2.misses
