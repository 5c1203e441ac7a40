"""Do threads, one on each side of the crossbar or more, leave what one leaves, and does a side keep to its own?"""

import ast
import hashlib
import inspect
import textwrap
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpusim.base import progress
from gpusim.base.progress import Reporter, reporting
from gpusim.model.core import launch_threads, simulator
from gpusim.model.core.facts import RunFacts
from gpusim.model.core.gpu_spec import GpuSpec
from gpusim.model.core.launch_threads import LaunchThreads
from gpusim.model.core.laws import laws
from gpusim.model.core.loop import FINISHED, RUNNING
from gpusim.model.core.machine import new_machine
from gpusim.model.core.run_units import run_far_units, run_near_units
from gpusim.model.core.simulator import DeadlockError, simulate
from gpusim.model.core.units import UNITS
from isa.execution.faults import ExecutionFault
from isa.launch import Launch
from memory.network.crossbar import match_answers, take_answered, take_sent
from tests.corpus.build import BASE
from tests.corpus.execute import call_of, kernel_of
from tests.corpus.table import CASES
from tests.support.functional import Device
from tests.support.machines import LINE, altered, tight
from tests.support.scripted import Script, ScriptedRun
from tests.unit.core.test_laws import ACTIONS, MEMORY_ACTIONS, differing, memory_script, script
from tests.unit.core.test_resident import ONE_CU, waiting_launch

compiled = pytest.mark.compiled_tier
FAR = altered(tight(), crossbar={"request_latency_cycles": 9, "response_latency_cycles": 14})  # windows of four cycles


def ran(groups: list[list[Script]], both: bool) -> ScriptedRun:
    """A machine that has run scripts to the end, on one thread or on two."""
    r = ScriptedRun(FAR, groups, waves_per_simd=3, workgroups_per_cu=3)
    assert (LaunchThreads(r.m, at_once=True).advance if both else r.go)(1_000_000) == FINISHED
    return r


@compiled
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        ACTIONS.map(lambda actions: script(actions, 1)) | MEMORY_ACTIONS.map(memory_script), min_size=1, max_size=9
    )
)
def test_random_scripts_leave_the_same_machine(kernels: list[Script]) -> None:
    groups = [[kernel] for kernel in kernels]
    r = ran(groups, True)
    for law, left, right in laws(r.m, r.instructions):
        assert left == right, law
    assert differing(r, ran(groups, False)) == []


def of_corpus(name: str) -> tuple[Device, Launch]:
    """A launch of a case of the corpus, of its last size."""
    case = next(case for case in CASES if case.kernel == name)
    call = call_of(case, case.sizes[-1])
    device = Device((1 << 24) + sum(array.nbytes + 16384 for array in call.buffers.values()))
    for buffer, array in call.buffers.items():
        device.put(buffer, array)
    return device, device.launch(
        kernel_of(BASE, case),
        call.global_size,
        call.local_size,
        *call.arguments,
        dynamic_lds_bytes=call.dynamic_lds_bytes,
    )


def counts(facts: RunFacts) -> dict[str, dict[str, Any]]:
    """All counts of a launch but those of the host."""
    return {name: dict(section) for name, section in facts.sections.items() if name != "simulator"}


@compiled
@pytest.mark.parametrize("name", ["histogram_global", "gemm_tiles", "transpose", "softmax"])
@pytest.mark.parametrize("more", [{}, {"max_cycles": 1700}, {"every": 900}], ids=["whole", "partial", "every"])
def test_a_launch_leaves_the_same_counts_and_memory(name: str, more: dict[str, int]) -> None:
    left = [left_by(name, threads, more) for threads in (1, 2)]
    assert left[0] == left[1]


def left_by(name: str, threads: int, more: dict[str, int]) -> tuple[Any, ...]:
    """What a launch of the corpus leaves: counts, intervals, whether it was cut short, memory."""
    device, launch = of_corpus(name)
    facts = simulate(launch, GpuSpec(), threads=threads, **more)  # type: ignore[arg-type]
    return counts(facts), facts.series, facts.partial, hashlib.sha1(device.memory.image.tobytes()).digest()


@compiled
@pytest.mark.parametrize("threads", [4, 16])
def test_more_threads_than_there_can_be_leave_the_same_and_the_screen_says_how_many_run(
    threads: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_said", set[str]())  # another test of this process may have had as many threads
    name, most = ("private_sort", 2) if threads == 4 else ("gemm_tiles", 10)  # slices as timing needs them; nine arrays
    with reporting(Reporter()):
        assert left_by(name, threads, {}) == left_by(name, 1, {})
    assert f"gpusim: of {threads} threads a launch has {most}: CUs with their caches, " in capsys.readouterr().err


def error_of(kind: type[Exception], threads: int, **more: int) -> tuple[str, list[str]]:
    """The message and the notes of the error that a launch ends with."""
    with pytest.raises(kind) as caught:
        simulate(waiting_launch(), ONE_CU, threads=threads, **more)  # type: ignore[arg-type]
    return str(caught.value), getattr(caught.value, "__notes__", [])


def without_stores(*arguments: object) -> object:
    """A machine in which a store may never be sent."""
    m = new_machine(*arguments)  # type: ignore[arg-type]
    m.l1.store_limit = 0
    return m


@compiled
def test_a_fault_and_a_deadlock_end_in_the_same_cycle(monkeypatch: pytest.MonkeyPatch) -> None:
    assert error_of(ExecutionFault, 2, max_instructions=300) == error_of(ExecutionFault, 1, max_instructions=300)
    monkeypatch.setattr(simulator, "new_machine", without_stores)
    text, _ = error_of(DeadlockError, 2)
    assert (text, _) == error_of(DeadlockError, 1) and text.startswith("deadlock: cycle ")


@compiled
def test_a_chunk_may_end_in_any_cycle() -> None:
    groups = [[Script().load([LINE + 640 * n + 9 * k for k in range(6)]).wait(vm=0).end()] for n in range(9)]
    r = ScriptedRun(FAR, groups)
    threads, status = LaunchThreads(r.m, at_once=True), RUNNING
    while status == RUNNING:
        status = threads.advance(int(r.m.wheel.now) + 1 + int(r.m.wheel.now) % 11)
    assert status == FINISHED and threads.used == 2
    alone = ScriptedRun(FAR, groups)
    assert alone.go() == FINISHED and differing(r, alone) == []


def test_one_thread_runs_what_is_short_and_two_what_they_run_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    for gain, chosen in ((1.5, True), (1.0, False)):
        clock = SimpleNamespace(now=0.0)
        m: Any = SimpleNamespace(
            run=SimpleNamespace(instructions=0), xbar=SimpleNamespace(requests=0), wheel=SimpleNamespace(now=0)
        )
        both: list[bool] = []

        def chunk(pace: float, is_both: bool, m: Any = m, clock: Any = clock, both: list[bool] = both) -> int:
            both.append(is_both)
            m.run.instructions += int(1000 * pace)
            clock.now += 0.1
            return RUNNING

        fake = SimpleNamespace(perf_counter=lambda clock=clock: clock.now)
        monkeypatch.setattr("gpusim.model.core.launch_threads.time", fake)
        monkeypatch.setattr(launch_threads, "run_cycles", lambda m, limit, chunk=chunk: chunk(1.0, False))
        threads = LaunchThreads(m, at_once=False)
        monkeypatch.setattr(threads, "_run_several", lambda limit, chunk=chunk, gain=gain: chunk(gain, True))
        for _ in range(100):
            threads.advance(1000)
        first = both.index(True)
        assert 5 <= first <= 7
        assert both[first + 1 : first + 1 + launch_threads.STAYS_CHUNKS] == [chosen] * launch_threads.STAYS_CHUNKS
        assert both[first + 1 + launch_threads.STAYS_CHUNKS] is False  # compared again
        assert threads.used == 1 + chosen


def test_as_many_threads_run_as_are_efficient(monkeypatch: pytest.MonkeyPatch) -> None:
    m: Any = SimpleNamespace(
        run=SimpleNamespace(instructions=0), xbar=SimpleNamespace(requests=0), wheel=SimpleNamespace(now=0)
    )
    clock = SimpleNamespace(now=0.0)
    limits = [16]
    units = SimpleNamespace(threads=16, is_shared=True)

    def limit(threads: int) -> None:
        units.threads = threads
        limits.append(threads)

    def chunk(pace: float) -> int:
        m.run.instructions += int(1000 * pace)
        clock.now += 0.1
        return RUNNING

    units.limit = limit
    monkeypatch.setattr(launch_threads, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    monkeypatch.setattr(launch_threads, "run_cycles", lambda m, limit: chunk(1.0))
    threads = LaunchThreads(m, at_once=False, threads=16)
    monkeypatch.setattr(threads, "_units", units)
    monkeypatch.setattr(threads, "_run_several", lambda limit: chunk(min(0.85 * units.threads, 4.5)))
    for _ in range(60):
        threads.advance(1000)
    assert limits == [16, 6, 7, 6]  # 4.5 times the pace of one thread is worth six; one more is tried later


@compiled
@pytest.mark.parametrize(
    ("more", "reason"), [({"hotspots": True}, "hot spots are counted"), ({"skip_idle": False}, "every unit runs in")]
)
def test_what_needs_one_thread_is_said(more: dict[str, bool], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    with reporting(Reporter(False)):
        simulate(of_corpus("softmax")[1], GpuSpec(), threads=2, **more)  # type: ignore[arg-type]
    assert f"one thread runs the launch: {reason}" in capsys.readouterr().err


# what either side may reach of the machine record, beside what is split below
CONSTANT = {"map", "parts"}  # the latter is set before a window begins
NEAR = {"cu", "run", "slices", "l1", "scalar", "icache", "translation"}
BEYOND = {"l2", "dram", "engine", "ports"}
ONE_THREAD = {"timeline", "access"}  # written by both only where one thread runs both (`serial_reason`)
SPLIT = {"wheel", "waiting", "xbar"}
EXCEPT = {
    "memory.dram.requests.bank_and_row": "dram",  # constants of DRAM's mapping
    "memory.cache.access.served": "l1",  # hot spots: one thread
}
CONSTANTS_OF_CROSSBAR = {
    "apart", "lookahead", "response_ring", "joins", "ideal", "interval", "request_latency", "response_latency",
    "leads_to", "port", "destination",
}  # fmt: skip
CROSSES = {"sent", "answered"}
# how one thread hands over what crosses; two have outboxes
TO_BEYOND, TO_NEAR = {"_receive_packet", "_take_answer"}, {"wake_receiver", "_receive_request_credit"}


def named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return plain(getattr(import_module(module), name))


def plain(function: Any) -> Any:
    return getattr(function, "py_func", function)


def reached(roots: list[Any], passages: set[str]) -> dict[str, ast.AST]:
    """Of all functions of the core that some call, directly or not, the syntax by name; not beyond passages."""
    found: dict[str, ast.AST] = {}
    left = list(roots)
    while left:
        function = left.pop()
        name = f"{function.__module__}.{function.__name__}"
        if name in found or function.__name__ in passages:
            continue
        found[name] = tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        for node in ast.walk(tree):
            callee = plain(function.__globals__.get(node.id)) if isinstance(node, ast.Name) else None
            if inspect.isfunction(callee) and callee.__module__.startswith(("gpusim.model", "memory", "spartan")):
                left.append(callee)
    return found


def parts(tree: ast.AST) -> Iterator[tuple[str, ast.Attribute]]:
    """Parts of machine records that a function reaches, its own or another one's, and where."""
    others = {
        node.targets[0].id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and (is_other(node.value) or (isinstance(node.value, ast.IfExp) and is_other(node.value.body)))
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            of = node.value
            if is_other(of) or (isinstance(of, ast.Name) and of.id in {"m", *others}):
                yield node.attr, node


def is_other(node: ast.AST) -> bool:
    """Whether an expression is a record that a function of `memory.parts` has found."""
    finders = {"machine_at", "main_of", "owner_of", "record_of"}
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in finders


def crossbar_fields(tree: ast.AST) -> set[str]:
    """Fields of the crossbar that a function reaches, by `m.xbar.field` or by a name for `m.xbar`."""
    at_crossbar = {id(node) for part, node in parts(tree) if part == "xbar"}
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            targets, value = node.targets[0], node.value
            pairs = (
                zip(targets.elts, value.elts, strict=True)
                if isinstance(targets, ast.Tuple) and isinstance(value, ast.Tuple)
                else [(targets, value)]
            )
            names |= {target.id for target, given in pairs if id(given) in at_crossbar and isinstance(target, ast.Name)}
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and (id(node.value) in at_crossbar or (isinstance(node.value, ast.Name) and node.value.id in names))
    }


def sides() -> tuple[dict[str, ast.AST], dict[str, ast.AST]]:
    """The functions of either side."""
    near = [named(unit.tick) for unit in UNITS if not unit.beyond_crossbar]
    far = [named(unit.tick) for unit in UNITS if unit.beyond_crossbar]
    return reached([*near, plain(take_answered)], TO_BEYOND), reached(
        [*far, plain(take_sent), plain(match_answers)], TO_NEAR
    )


def test_no_code_of_a_side_can_reach_the_state_of_the_other() -> None:
    near, far = sides()
    for functions, own in ((near, NEAR), (far, BEYOND)):
        found = {name: {part for part, _ in parts(tree)} - {EXCEPT.get(name)} for name, tree in functions.items()}
        strays = {name: reach - own - CONSTANT - ONE_THREAD - SPLIT for name, reach in found.items()}
        assert {name: reach for name, reach in strays.items() if reach} == {}
        assert len(found) > 100 and own <= set().union(*found.values())  # the walk has seen the core


@pytest.mark.compiled_tier  # it reads sources
def test_of_the_crossbar_both_sides_reach_constants_and_outboxes_alone() -> None:
    near, far = (set().union(*map(crossbar_fields, functions.values())) for functions in sides())
    assert near & far <= CONSTANTS_OF_CROSSBAR | CROSSES
    assert {"requests", "delivered", *CROSSES} <= near and {"o_count", "r_head", *CROSSES} <= far


@pytest.mark.plain_tier
def test_both_sides_write_words_of_their_own_in_the_wheel_and_the_wait_lists() -> None:
    stream = [LINE + 37 * k for k in range(8)]
    groups = [[Script().load(stream).store(stream, 15).atomic(stream[:3]).scalar_load(stream[:2]).end()] * 2] * 5
    r = ScriptedRun(FAR, groups)
    m, now = r.m, 0
    m.xbar.apart = 1
    shared = [m.wheel.row, m.waiting.waiters, m.waiting.contest, m.waiting.shortage]
    words = [np.asarray(array).reshape(-1).view(np.uint32) for array in shared]
    written = {side: [np.zeros(len(array), bool) for array in words] for side in ("near", "far")}

    while m.run.done < m.run.workgroups:
        end = now + 4

        for side, function, arguments in (
            ("near", run_near_units, (m, now, end)),
            ("far", take_sent, (m, 0)),
            ("far", run_far_units, (m, now, end)),
            ("far", match_answers, (m, end + m.xbar.window)),
            ("near", take_answered, (m, 0)),
        ):
            before = [array.copy() for array in words]
            function(*arguments)
            for mask, old, new in zip(written[side], before, words, strict=True):
                mask |= old != new
        now = end
        assert now < 20_000
    for near_words, far_words in zip(written["near"], written["far"], strict=True):
        assert not (near_words & far_words).any()
        lines = [mask[: len(mask) // 16 * 16].reshape(-1, 16).any(axis=1) for mask in (near_words, far_words)]
        assert not (lines[0] & lines[1]).any(), "they share a line of the host's cache"
    assert all(mask.any() for mask in written["near"][:2] + written["far"][:2])
