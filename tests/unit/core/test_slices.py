"""Slices that are made ahead of timing: the same ones, in one order, whoever makes them, and when nobody can see it."""

import hashlib
from typing import Any

import pytest
from hypothesis import strategies as st

from gpusim.model.core import simulator
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.launch_threads import LaunchThreads
from gpusim.model.core.laws import laws
from gpusim.model.core.loop import FINISHED
from gpusim.model.core.simulator import simulate
from isa.device_memory import VIRTUAL_BASE
from isa.execution.executor import program_of
from isa.execution.faults import ExecutionFault
from isa.execution.slice_order import slice_order_reason, workgroup_order_reason
from isa.trace import LINE_BYTES
from tests.corpus.build import BASE
from tests.corpus.execute import kernel_of
from tests.corpus.table import CASES
from tests.support.daily import given_daily
from tests.support.scripted import Script, ScriptedRun
from tests.unit.core.test_laws import ACTIONS, LINE, differing
from tests.unit.core.test_side_by_side import FAR, counts, of_corpus
from workloads.operators.launching import kernel_of as shipped_kernel

compiled = pytest.mark.compiled_tier


def cut_script(actions: list[tuple[Any, ...]], barriers: int, every: int) -> Script:
    """A wavefront whose slices end at barriers and, as if a buffer were full, after every so many actions."""
    s = Script()
    for k in range(barriers + 1):
        for n, (name, *rest) in enumerate(actions[k :: barriers + 1]):
            if n and n % every == 0:
                s.cut()
            if name in ("load", "store", "scalar_load"):
                rest[0] = [LINE + 37 * x for x in rest[0]]
            getattr(s, name)(*rest)
        if k < barriers:
            s.barrier()
    return s.end()


def run(groups: list[list[Script]], threads: int, ahead: bool = True, alike: bool = False) -> ScriptedRun:
    """A machine that has run scripts to the end. alike: all wavefronts begin at the first instruction."""
    r = ScriptedRun(FAR, groups, waves_per_simd=3, workgroups_per_cu=3, ahead=ahead)
    r.m.run.begins = int(ahead and alike)
    assert (LaunchThreads(r.m, at_once=True).advance if threads == 2 else r.go)(1_000_000) == FINISHED
    return r


@compiled
@given_daily(
    3,
    8,
    st.lists(ACTIONS, min_size=1, max_size=6),
    st.integers(0, 2),
    st.integers(1, 3),
    st.integers(0, 1),
    st.integers(1, 4),
    st.booleans(),
)
def test_slices_are_made_in_one_order_and_the_machine_is_the_same(
    kernels: list[Any], barriers: int, waves: int, early: int, every: int, alike: bool
) -> None:
    # all wavefronts but the first may end before a barrier: it waits for those that are left
    groups = [
        [cut_script(a[w * early :], barriers - min(early * w, barriers), every) for w in range(waves)] for a in kernels
    ]
    if alike:
        groups = [[groups[0][0]] * waves] * len(kernels)
    on_demand, alone, both = run(groups, 1, ahead=False), run(groups, 1, alike=alike), run(groups, 2, alike=alike)
    for law, left, right in laws(both.m, both.instructions):
        assert left == right, law
    assert set(differing(alone, on_demand)) <= {"cu.wave.trace_offset"} and differing(both, alone) == []
    assert both.made.tolist() == alone.made.tolist()
    assert sorted(alone.made.tolist()) == sorted(on_demand.made.tolist())


@pytest.mark.parametrize("ahead", [False, True])
def test_a_slice_is_made_as_the_one_before_begins_and_behind_a_barrier_when_all_have_come(ahead: bool) -> None:
    first = Script().valu(40).cut().valu(1).barrier().valu(1).end()
    second = Script().valu(1).barrier().valu(1).end()
    made = run([[first, second]], 1, ahead=ahead).made.tolist()
    on_demand = [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1)]
    at_once = [(0, 0), (0, 1), (1, 0), (0, 2), (1, 1)]
    assert [(w, n) for w, n in (divmod(word, 1 << 32) for word in made)][:5] == (at_once if ahead else on_demand)


def faulting() -> Any:
    """A launch that may not read the end of its largest buffer, which it comes to after some slices."""
    _, launch = of_corpus("gemm_tiles")
    largest = max(launch.memory.allocations, key=lambda allocation: allocation.end - allocation.address)
    end = (largest.end - VIRTUAL_BASE) // LINE_BYTES
    launch.memory.permissions[end - (largest.end - largest.address) // LINE_BYTES // 4 : end] = 0
    return launch


def error_of(monkeypatch: pytest.MonkeyPatch, threads: int, ahead: bool) -> str:
    with monkeypatch.context() as patch:
        if not ahead:
            patch.setattr(simulator, "_slice_order_reason", lambda kernel: "none is made ahead")
        with pytest.raises(ExecutionFault) as caught:
            simulate(faulting(), GpuSpec(), threads=threads)
    return str(caught.value)


@compiled
def test_after_a_fault_no_slice_is_made_and_the_message_is_that_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert error_of(monkeypatch, 2, True) == error_of(monkeypatch, 1, True) == error_of(monkeypatch, 1, False)


@compiled
@pytest.mark.parametrize("name", ["gemm_tiles", "softmax", "histogram_global"])
def test_launches_ahead_leave_what_they_leave_on_demand(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    left = []
    for ahead in (True, False):
        with monkeypatch.context() as patch:
            if not ahead:
                patch.setattr(simulator, "_slice_order_reason", lambda kernel: "none is made ahead")
            device, launch = of_corpus(name)
            facts = simulate(launch, GpuSpec(), threads=1)
        left.append((counts(facts), hashlib.sha1(device.memory.image.tobytes()).digest()))
    assert left[0] == left[1]


def reasons(name: str) -> tuple[str, str]:
    """Why a kernel of the corpus has its workgroups, and its slices, in order."""
    program = program_of(kernel_of(BASE, next(case for case in CASES if case.kernel == name)))
    return workgroup_order_reason(program), slice_order_reason(program)


def test_code_that_can_see_when_a_slice_is_made_has_it_made_on_demand() -> None:
    assert reasons("gemm_tiles") == ("", "") == reasons("softmax")
    assert reasons("histogram_global") == ("", "")  # sums that return nothing
    sum_and_minimum = shipped_kernel("sgemm_dib_tiled", "sgemm_dib_tiled_256x4")  # of two words
    assert slice_order_reason(program_of(sum_and_minimum)) == ""
    for name in ("bfs_step", "kmeans_accumulate"):  # they return, or are of floats
        assert reasons(name) == ("", "it has atomics, whose order is that of wavefronts")
