"""Does each cycle keep the limits of issue, pipes, look-ups, ports and queues; random scripts and real kernels."""

import pytest
from hypothesis import strategies as st

from gpusim.base.jit import JIT_DISABLED
from gpusim.model.core.cu.scheduling import SCHEDULES
from gpusim.model.core.cu.spec import ComputeUnitSpec
from gpusim.model.core.cu.state import FREE
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.loop import FINISHED, run_cycles
from gpusim.model.core.simulator import simulate
from memory.cache.instruction import InstructionCacheSpec
from memory.cache.l1_state import L1Spec
from memory.cache.l2_state import L2Spec
from memory.network.state import CrossbarSpec
from memory.translation.spec import TranslationSpec
from spartan.engine_spec import EngineSpec
from tests.support.cycle_laws import CycleLaws, step, stepped
from tests.support.daily import given_daily
from tests.support.machines import LINE, ready, tight
from tests.support.real_kernels import corpus_launch, gemm_launches
from tests.support.scripted import Script, ScriptedRun

TIGHT = tight()
ROOMY = GpuSpec(shader_arrays=1, cus_per_array=2, translation=TranslationSpec(model="off"))

LINES = st.lists(st.integers(0, 300), max_size=8)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("valu"), st.integers(1, 8), st.sampled_from([1, 4])),
        st.tuples(st.just("salu"), st.integers(1, 8)),
        st.tuples(st.just("branches"), st.integers(1, 8)),
        st.tuples(st.just("load"), LINES),
        st.tuples(st.just("store"), LINES, st.sampled_from([-1, 15])),
        st.tuples(st.just("lds_reads"), st.integers(1, 4), st.integers(1, 32)),
        st.tuples(st.just("wait"), st.integers(0, 3), st.integers(0, 3)),
        st.tuples(st.just("scalar_load"), st.lists(st.integers(0, 300), max_size=2)),
        st.tuples(st.just("nop"), st.integers(0, 15)),
    ),
    max_size=15,
)


def script(actions: list[tuple]) -> Script:
    s = Script()
    for name, *rest in actions:
        if name in ("load", "store", "scalar_load"):
            rest[0] = [LINE + 37 * x for x in rest[0]]
        getattr(s, name)(*rest)
    return s.barrier().end()


def lawful(groups: list[list[Script]], spec: GpuSpec, waves_per_simd: int = 4) -> CycleLaws:
    r = ScriptedRun(spec, groups, waves_per_simd, workgroups_per_cu=4)
    laws = CycleLaws(r.m)
    assert step(r.m, laws.check, 100_000) == FINISHED
    return laws


@given_daily(
    3,
    10,
    st.lists(ACTIONS, min_size=1, max_size=5),
    st.integers(1, 9),
    st.sampled_from(sorted(SCHEDULES)),
    st.sampled_from([TIGHT, ROOMY]),
)
def test_random_scripts(kernels: list, waves: int, schedule: str, spec: GpuSpec) -> None:
    spec = spec.model_copy(update={"cu": ComputeUnitSpec(schedule=schedule)})
    lawful([[script(actions) for _ in range(waves)] for actions in kernels], spec)


def test_a_cycle_that_issues_all_that_it_may_is_seen() -> None:
    # wavefronts 0, 4, 8 and 12 of a workgroup share SIMD 0, and so does wavefront 0 of the next: five kinds, one each
    kinds = [
        Script().valu(60),
        Script().salu(60),
        Script().nop(32).load([LINE]).load([LINE]).load([LINE]),
        Script().nop(32).lds_reads(12, 1),
    ]
    group = [part for kind in kinds for part in (kind.end(), *(Script().end() for _ in range(3)))]
    branches = [Script().branches(60).end(), *(Script().end() for _ in range(15))]
    spec = GpuSpec(shader_arrays=1, cus_per_array=1, instruction_cache=InstructionCacheSpec(model="ideal"))
    assert lawful([group, branches], spec, waves_per_simd=8).most_kinds == 5


@pytest.mark.parametrize("scalar_first", [True, False])
def test_scalar_alu_and_scalar_memory_share_an_issue_slot(scalar_first: bool) -> None:
    # wavefronts 0 and 4 share SIMD 0; both want to issue every turn for a while
    alu, memory = Script().salu(30).end(), Script()
    for k in range(10):
        memory.scalar_load([LINE + k])
    first, second = (alu, memory.end()) if scalar_first else (memory.end(), alu)
    lawful([[first, *(Script().end() for _ in range(3)), second]], ROOMY)


@pytest.mark.compiled_tier  # random scripts run some of them full
def test_counters_and_queues_that_run_full() -> None:
    # more instructions of each kind in flight than its counter counts, and a network that takes what it can
    narrow = ready(
        shader_arrays=1,
        cus_per_array=2,
        crossbar=CrossbarSpec(request_queue_packets=1, request_latency_cycles=1, response_queue_packets=1),
        l1=L1Spec(return_entries=2),
        l2=L2Spec(channels=1, mshrs_per_channel=2, input_queue_packets=1),
    )
    kinds = [Script() for _ in range(4)]
    for k in range(24):
        kinds[0].load([LINE + 40 * k + n for n in range(3)])
        kinds[1].store([LINE + 40 * k + n for n in range(20, 23)])
        kinds[2].lds(2)
        kinds[3].scalar_load([LINE + 1000 + k])
    group = [s.end() for s in kinds]
    for spec in (narrow, ROOMY):
        lawful([group] * 4, spec, waves_per_simd=8)


REAL = {
    "sgemm_4x4": lambda gpu: gemm_launches("sgemm_4x4", (64, 64, 4), gpu),
    "sgemm_tiled16": lambda gpu: gemm_launches("sgemm_tiled16", (32, 32, 16), gpu),
    "sgemm_dib_tiled": lambda gpu: gemm_launches("sgemm_dib_tiled", (16, 8, 16), gpu),
    "spmv_wavefront": lambda gpu: [corpus_launch("spmv_wavefront", -1)],
}


@pytest.mark.skipif(JIT_DISABLED, reason="minutes in plain Python; compiled it is the same code")
@pytest.mark.parametrize(
    ("name", "spec"),
    [("sgemm_4x4", ROOMY), ("sgemm_tiled16", TIGHT), ("sgemm_dib_tiled", ROOMY), ("spmv_wavefront", TIGHT)],
)
def test_real_kernels(name: str, spec: GpuSpec) -> None:
    with stepped(lambda m: CycleLaws(m).check):
        facts = [simulate(launch, spec, EngineSpec(), checked=True) for launch in REAL[name](spec)]
    assert sum(f.kernel.wavefront_instructions for f in facts) > 1000


def test_greedy_stays_with_its_wavefront_when_an_older_one_ends() -> None:
    # wavefronts 0, 4 and 8 share SIMD 0: the oldest ends while the second keeps the vector ALU from the third
    first, second, third = Script().nop(40).end(), Script().valu(60).end(), Script().valu(60).end()
    group = [part for script in (first, second, third) for part in (script, *(Script().end() for _ in range(3)))]
    spec = ROOMY.model_copy(
        update={
            "cu": ComputeUnitSpec(schedule="greedy"),
            "instruction_cache": InstructionCacheSpec(model="ideal"),
        }
    )
    r = ScriptedRun(spec, [group], 4, workgroups_per_cu=1)
    waves = r.m.cu.wave
    run_cycles(r.m, 40)
    begun = [int(waves[slot].pc) for slot in (1, 2)]
    run_cycles(r.m, 160)
    assert waves[0].state == FREE
    assert waves[1].pc > begun[0] + 20
    assert waves[2].pc == begun[1]
