"""L1 and L2 against plain LRU caches without latencies, on the line streams of real kernels."""

from collections import OrderedDict

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

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="minutes in plain Python; compiled it is the same code")

WHOLE = (1 << 64) - 1
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


class LruL1:
    """The lines of one L1, each set from the least to the most recently used."""

    def __init__(self, spec: L1Spec) -> None:
        self.ways = spec.ways
        self.sets: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(spec.size_kib * 16 // spec.ways)]

    def load_misses(self, line: int) -> bool:
        held = self.sets[line % len(self.sets)]
        missed = line not in held
        held[line] = None
        held.move_to_end(line)
        if len(held) > self.ways:
            held.popitem(last=False)
        return missed


class LruL2:
    """The lines of L2 with the bytes each holds: a write allocates its bytes, a read of a line in part fetches it."""

    def __init__(self, spec: L2Spec) -> None:
        self.ways, self.sets = spec.ways, spec.size_kib * 16 // spec.channels // spec.ways
        self.held: dict[tuple[int, int], OrderedDict[int, int]] = {}

    def misses(self, access: Access, local_line: int) -> bool:
        lines = self.held.setdefault((access.channel, local_line % self.sets), OrderedDict())
        held = lines.get(access.line, 0)
        missed = access.line not in lines if access.kind == WRITE else held != WHOLE
        lines[access.line] = held | access.mask if access.kind == WRITE else WHOLE
        lines.move_to_end(access.line)
        if len(lines) > self.ways:
            lines.popitem(last=False)
        return missed


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
        l1 = [LruL1(spec.l1) for _ in range(spec.cus)]
        for place, look in enumerate(streams.l1):
            assert look.missed == l1[look.cache].load_misses(look.line), f"look-up {place}: {look}"
        m, l2 = streams.m, LruL2(spec.l2)
        kinds = set()
        for place, cycle in enumerate(streams.l2):
            for access in cycle.accesses:
                assert access.channel == l2_channel(m, access.line)
                kinds.add(access.kind)
            found = sum(l2.misses(access, int(l2_local_line(m, access.line))) for access in cycle.accesses)
            assert cycle.misses == found, f"cycle {place}: {cycle}"
        assert {READ, WRITE} <= kinds <= {READ, WRITE, ATOMIC}
        assert sum(cycle.misses for cycle in streams.l2) == facts.l2.misses
