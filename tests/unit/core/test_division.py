"""Do compute units that threads share leave what one thread leaves, and does each record keep to its own units?"""

import ast
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gpusim.base.jit import address_of
from gpusim.model.core import shared_units, simulator
from gpusim.model.core.cu.slices import CACHES, CHANNELS
from gpusim.model.core.cu.spec import SIMDS
from gpusim.model.core.cu.state import MAX_SLOTS
from gpusim.model.core.facts import machine_facts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.launch_threads import LaunchThreads
from gpusim.model.core.laws import laws
from gpusim.model.core.loop import FINISHED, RUNNING
from gpusim.model.core.machine import machine_dtype, new_machine
from gpusim.model.core.part import (
    BY_ARRAY,
    BY_CU,
    BY_PORT,
    BY_SIMD,
    BY_SLOT,
    BY_TLB,
    BY_USER,
    COUNTERS,
    MAIN,
    NEAR,
    ROWS,
    SETS,
    SPECIAL,
)
from gpusim.model.core.shared_units import SharedUnits, first_arrays
from gpusim.model.core.simulator import DeadlockError, simulate
from gpusim.model.core.units import UNITS
from isa.execution.faults import ExecutionFault
from memory.cache.access import WIDTH, count_access
from memory.network.state import MAX_ARRAYS, MAX_CUS
from memory.unit_classes import CU_ISSUE, CU_LOOK_UP, CU_RETURN, FETCH
from tests.support.machines import altered, tight
from tests.support.scripted import Script, ScriptedRun
from tests.unit.core.test_laws import ACTIONS
from tests.unit.core.test_side_by_side import counts, error_of, named, of_corpus, reached, without_stores
from tests.unit.core.test_slices import cut_script

MINE = ("translation", "l1", "scalar", "icache", "cu")  # all that compute units and their caches have
compiled = pytest.mark.compiled_tier


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Has compute units shared in every chunk; lists (cycles, of these with both threads running some)."""
    monkeypatch.setattr(shared_units, "LEAST_CYCLES", 1)
    monkeypatch.setattr(SharedUnits, "_shares", property(lambda _: True, lambda *_: None), raising=False)
    chunks: list[tuple[int, int]] = []
    run_shared = SharedUnits._run_shared

    def watched(self: SharedUnits, limit: int, *arguments: Any) -> int:
        start = int(self._m.wheel.now)
        try:
            return run_shared(self, limit, *arguments)
        finally:
            chunks.append((int(self._m.wheel.now) - start, int(self._m.sides.apart)))

    monkeypatch.setattr(SharedUnits, "_run_shared", watched)
    return chunks


def left_by(name: str, threads: int, monkeypatch: pytest.MonkeyPatch, **more: int) -> tuple[Any, Any]:
    """What a launch of the corpus leaves: its facts with patterns and memory, and the machine."""
    machines: list[Any] = []

    def kept(*arguments: Any) -> Any:
        machines.append(new_machine(*arguments))
        return machines[-1]

    monkeypatch.setattr(simulator, "new_machine", kept)
    device, launch = of_corpus(name)
    facts = simulate(launch, GpuSpec(), threads=threads, **more)  # type: ignore[arg-type]
    patterns = [(pattern.address, pattern.counts) for pattern in facts.patterns]
    return (counts(facts), facts.series, facts.partial, patterns, device.memory.image.tobytes()), machines[0]


def differences(one: Any, other: Any, path: str) -> list[str]:
    """Fields in which two records differ, but for what only two threads have and places in lists."""
    if one.dtype.names:
        return [
            found
            for field in one.dtype.names
            if field not in ("snapshot", "q_words")  # the latter keeps words of what was queued before
            for found in differences(one[field], other[field], f"{path}.{field}")
        ]
    return [] if np.array_equal(one, other) else [path]


EVERY, PARTIAL = {"every": 900}, {"max_cycles": 1500}
DAILY = [  # products, atomics, LDS and reductions; a series and a part; each number of threads
    ("gemm_tiles", EVERY, (3,)),
    ("histogram_global", PARTIAL, (2,)),
    ("softmax", EVERY, (2,)),
    ("transpose", PARTIAL, (5,)),
]
NIGHTLY = [
    pytest.param(name, more, (2, 3, 5), marks=pytest.mark.nightly)
    for name in ("gemm_tiles", "histogram_global", "softmax", "transpose", "aes_encrypt")
    for more in (EVERY, PARTIAL)
]


@compiled
@pytest.mark.parametrize(("name", "more", "numbers"), [*DAILY, *NIGHTLY])
def test_shared_compute_units_leave_the_same(
    name: str,
    more: dict[str, int],
    numbers: tuple[int, ...],
    shared: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left, m = left_by(name, 1, monkeypatch, **more)
    for threads in numbers:
        shared.clear()
        also, n = left_by(name, threads, monkeypatch, **more)
        assert left == also
        assert sum(apart for _, apart in shared) > 100 or not m.slices.ahead
        assert not m.slices.ahead or np.count_nonzero(n.parts.address) == threads
        apart = [field for part in MINE for field in differences(np.asarray(m[part]), np.asarray(n[part]), part)]
        assert apart == []
        for number in (CU_RETURN, CU_LOOK_UP, FETCH, CU_ISSUE):  # when they run, but for answers, is the same, too
            assert np.array_equal(m.wheel.row[:, number : number + 2], n.wheel.row[:, number : number + 2])


def deadlock_of(name: str, threads: int) -> str:
    """The message of the deadlock that a launch of the corpus ends with."""
    with pytest.raises(DeadlockError) as caught:
        simulate(of_corpus(name)[1], GpuSpec(), threads=threads)
    return str(caught.value)


@compiled
def test_a_fault_and_a_deadlock_end_shared_compute_units_in_the_same_cycle(
    shared: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in (300, 3000):
        left = [error_of(ExecutionFault, threads, max_instructions=limit) for threads in (1, 2, 5)]
        assert left == left[:1] * len(left)
    monkeypatch.setattr(simulator, "new_machine", without_stores)
    left = [deadlock_of("transpose", threads) for threads in (1, 2, 5)]
    assert left == left[:1] * len(left) and left[0].startswith("deadlock: cycle ")
    assert sum(apart for _, apart in shared) > 100


# eight arrays of two CUs, windows of four cycles, after which the L2 TLB answers
WIDE = altered(
    tight(),
    crossbar={"request_latency_cycles": 9, "response_latency_cycles": 14},
    translation={"l2_latency_cycles": 12, "port_queue": 3},
).model_copy(update={"shader_arrays": 8})


def ran(groups: list[list[Script]], threads: int) -> tuple[Any, ...]:
    """What a machine that has run scripts to the end leaves: cycles, counts, accesses, the order of slices."""
    r = ScriptedRun(WIDE, groups, waves_per_simd=3, workgroups_per_cu=3, ahead=True)
    accesses = np.zeros((len(r.code), WIDTH), np.int64)
    count_access(r.m, address_of(accesses))
    advance = r.go if threads == 1 else LaunchThreads(r.m, True, accesses, threads).advance
    while advance(int(r.m.wheel.now) + 700) != FINISHED:  # divided, and joined, again and again
        assert r.m.wheel.now < 1_000_000
    for law, left, right in laws(r.m, r.instructions):
        assert left == right, law
    sections = {name: dict(section) for name, section in machine_facts(r.m).sections.items()}
    return r.cycles, sections, accesses.tolist(), r.made.tolist()


@compiled
@pytest.mark.parametrize("numbers", [(3,), pytest.param((2, 3, 5), marks=pytest.mark.nightly)])
@settings(
    max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)
@given(st.lists(ACTIONS, min_size=8, max_size=16), st.integers(0, 2), st.integers(1, 3), st.integers(1, 4))
def test_random_scripts_leave_the_same_counts(
    shared: list[tuple[int, int]],
    numbers: tuple[int, ...],
    kernels: list[Any],
    barriers: int,
    waves: int,
    every: int,
) -> None:
    groups = [[cut_script(actions, barriers, every)] * waves for actions in kernels]
    left = [ran(groups, threads) for threads in (1, *numbers)]
    assert left == left[:1] * len(left)


def test_records_reach_one_another_in_a_few_places_alone() -> None:
    units = reached([named(unit.tick) for unit in UNITS if not unit.beyond_crossbar], set())
    across = {
        name.rpartition(".")[2]
        for name, tree in units.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id in ("machine_at", "record_of")
    }
    # the last two are held while there is a part
    assert across == {"main_of", "record_of", "owner_of", "_next_port"}
    callers = {
        name.rpartition(".")[2]
        for name, tree in units.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "main_of"
    }
    assert callers == {"_ask", "enter_next_slice", "first_slice", "vector_issued"}


def test_fields_that_a_part_lists_are_those_of_the_machine() -> None:
    layout = machine_dtype().fields
    assert layout is not None
    listed = [
        f"{part}.{field}"
        for table in (BY_CU, BY_SIMD, BY_SLOT, BY_ARRAY, BY_PORT, BY_TLB, BY_USER, ROWS, SETS, SPECIAL, MAIN)
        for part, fields in table.items()
        for field in fields
    ]
    known = {f"{part}.{field}" for part in (*NEAR, "xbar") for field in layout[part][0].names or ()}
    assert set(listed) <= known
    assert {name for name in COUNTERS if not name.startswith("cu.lds.")} <= known
    assert len(set(listed)) == len(listed)
    # what grows with the number of units is listed
    sized = {
        f"{part}.{field}"
        for part in NEAR
        for field, (kind, *_) in (layout[part][0].fields or {}).items()
        if kind.shape and kind.shape[0] in (MAX_CUS, MAX_CUS + MAX_ARRAYS, MAX_CUS * SIMDS, MAX_SLOTS, MAX_ARRAYS)
    }
    constants = {"cu.array", "cu.bit_in_array", "run.engine_free", "run.engine_cus", "run.engine_of", "run.cu_order"}
    assert sized - set(listed) - {*constants, "run.position", "cu.grid_arrived"} == set()


class FakeSides:
    """Two sides that waited so long, in a machine that runs a cycle in a given time."""

    def __init__(self, arrays: int) -> None:
        self.now, self.work, self.clock = 0, 0, 0.0
        self.wheel = SimpleNamespace(now=0)
        self.run, self.xbar = SimpleNamespace(instructions=0), SimpleNamespace(requests=0)
        self.scalar = SimpleNamespace(arrays=arrays)
        self.sides = SimpleNamespace(apart=0, waited=np.zeros((3, 8), np.int64))


def divided(m: FakeSides, monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Arrays of each thread, by chunk in which units are shared; nothing is divided."""
    splits: list[list[int]] = []
    parts = SimpleNamespace(split=lambda arrays: splits.append([*arrays]), join=lambda: None)
    monkeypatch.setattr(shared_units, "may_be_divided", lambda _: True)
    monkeypatch.setattr(shared_units, "MachineParts", lambda *_: parts)
    monkeypatch.setattr(shared_units, "time", SimpleNamespace(perf_counter=lambda: m.clock))
    return splits


@pytest.mark.parametrize(
    ("beyond_waits", "gain", "shared"), [(True, 1.5, True), (True, 0.8, False), (False, 1.5, False)]
)
def test_units_are_shared_where_their_thread_has_the_most_to_do_and_both_are_faster(
    beyond_waits: bool, gain: float, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = FakeSides(16)
    splits = divided(m, monkeypatch)
    units = SharedUnits(m, np.zeros(1))  # type: ignore[arg-type]

    def run(limit: int) -> int:
        pace = gain if units._shares else 1.0
        m.run.instructions += limit - m.wheel.now
        m.clock += (limit - m.wheel.now) / pace
        if units._shares:
            m.sides.apart = limit - m.wheel.now
            m.sides.waited[CHANNELS if units._arrays[0] > 10 else CACHES, 0] += 1000
        else:
            m.sides.waited[CHANNELS if beyond_waits else CACHES, 0] += 1000
        m.wheel.now = limit
        return RUNNING

    for chunk in range(8):
        units.run(20_000 * (chunk + 1), run)
    assert units._shares == shared
    assert bool(splits) == beyond_waits
    if shared:  # first the other thread waits, then it has too much
        assert [arrays[0] for arrays in splits[:4]] == [12, 11, 10, 11]


def test_an_array_moves_from_the_thread_that_waits_least_to_the_one_that_waits_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    m = FakeSides(9)
    splits = divided(m, monkeypatch)
    units = SharedUnits(m, np.zeros(1), threads=3)  # type: ignore[arg-type]

    def run(limit: int) -> int:
        m.run.instructions += limit - m.wheel.now
        m.clock += limit - m.wheel.now
        m.sides.apart = limit - m.wheel.now
        m.sides.waited[:, 0] = [900, 100, 1000] if splits and splits[-1][CHANNELS] else [1000, 500, 100]
        m.wheel.now = limit
        return RUNNING

    for chunk in range(5):
        units.run(20_000 * (chunk + 1), run)
    assert splits[:5] == [[4, 1, 4], [4, 0, 5], [5, 0, 4], [6, 0, 3], [7, 0, 2]]
    units.limit(10)
    assert units._arrays == [1, 0, *[1] * 8]


def test_each_thread_but_that_of_the_channels_has_an_array_at_first() -> None:
    for arrays in range(1, MAX_ARRAYS + 1):
        for threads in range(2, arrays + 2):
            first = first_arrays(arrays, threads) if arrays > 1 else [1]
            assert sum(first) == arrays and min(first[:1] + first[2:]) > 0
            assert first[CHANNELS:][:1] != [0] or threads > 2
    assert first_arrays(16, 2) == [12, 4] and first_arrays(16, 17) == [1, 0, *[1] * 15]
