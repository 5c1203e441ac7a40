"""The decorator: what it registers, which signature it gives, how a domain is split, hints that change no result."""

from types import FunctionType, SimpleNamespace
from typing import Any

import pytest
from numba import types
from numba.core.caching import NullCache

from gpusim.base.jit import JIT_DISABLED, Field, State, jit, new_record, record_dtype, registered
from gpusim.base.jit import compile as compile_module
from gpusim.base.jit import functions as functions_module
from gpusim.base.jit.compile import compile_functions, split

PART = State("part", {"count": Field((), "calls"), "row": Field((8,), "sums")})


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers of the decorator's that no other test's functions are in."""
    monkeypatch.setattr(functions_module, "_registered", {"isa": [], "timing": []})


def of_module(function: Any, module: str, **names: Any) -> Any:
    """The function as if the module had defined it, where it sees `names`."""
    copy = FunctionType(function.__code__, {**names, "__name__": module}, function.__name__)
    copy.__module__ = module
    return copy


def leaf(m, k):  # type: ignore[no-untyped-def]
    m.part.row[k & 7] += k
    m.part.count += 1
    return m.part.row[k & 7]


def caller(m, k):  # type: ignore[no-untyped-def]
    return leaf(m, k) + leaf(m, k + 1)


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
@pytest.mark.usefixtures("alone")
def test_a_function_is_registered_in_the_domain_of_its_module() -> None:
    isa, memory = jit(of_module(leaf, "isa.anything")), jit(of_module(leaf, "memory.anything"))
    assert (registered("isa"), registered("timing")) == ([isa], [memory])
    registered("isa").clear()
    assert registered("isa") == [isa]  # a copy


@pytest.mark.skipif(not JIT_DISABLED, reason="is compiled")
def test_without_the_compiler_the_decorator_gives_the_function_back() -> None:
    assert jit(leaf) is leaf
    assert jit(inline=True)(leaf) is leaf


def annotated(m, i, x: types.float64, other):  # type: ignore[no-untyped-def]
    return i


def test_a_signature_follows_from_names_and_annotations() -> None:
    record = object()
    assert compile_module.signature_of(annotated, record) == (record, types.int64, types.float64, types.int64)


@pytest.mark.parametrize("hint", [{}, {"inline": True}, {"outline": True}, {"cold": True}], ids=str)
@pytest.mark.usefixtures("alone")
def test_a_hint_changes_no_result(hint: dict[str, bool]) -> None:
    inner = jit(**hint)(of_module(leaf, "memory.probe_leaf"))
    outer = jit(of_module(caller, "memory.probe_caller", leaf=inner))
    record = new_record(record_dtype((PART,)))
    if not JIT_DISABLED:
        for function in (inner, outer):
            function.dispatcher._cache = NullCache()  # the cache goes by a module's file
        compile_functions((inner, outer), record)
    assert [int(outer(record, k)) for k in (3, 3, 10)] == [7, 14, 27]
    assert int(record.part.count) == 6
    assert record.part.row.tolist() == [0, 0, 10, 17, 8, 0, 0, 0]


def test_a_domain_is_split_into_packages_their_callers_and_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def registering(function: Any, module: str, **names: Any) -> Any:
        dispatcher = SimpleNamespace(py_func=of_module(function, module, **names), inline=False)
        functions.append(dispatcher)
        return dispatcher

    functions: list[Any] = []
    monkeypatch.setattr(functions_module, "_registered", {"timing": functions})
    wheel = registering(leaf, "memory.wheel")
    bank = registering(caller, "memory.dram.commands", leaf=wheel)
    channel = registering(caller, "memory.dram.controller", leaf=bank)
    port = registering(caller, "memory.ports", leaf=wheel)
    l2 = registering(caller, "memory.cache.l2", leaf=channel)
    loop = registering(caller, "gpusim.model.core.loop", leaf=l2)
    drained = registering(caller, "memory.dram.drain", leaf=bank)  # an entry point is outside, wherever it stands
    parts = split("timing", ("memory.dram",), (loop, drained))
    assert parts.inside == [bank, channel]
    assert parts.exported == [bank, channel]
    assert parts.apart == [wheel, port]
    functions.remove(drained)
    assert split("timing", ("memory.dram",), (loop,)).exported == [channel]  # nothing else calls a bank


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("hint", [{}, {"inline": True}, {"outline": True}], ids=str)
def test_parts_that_another_process_compiled_are_called_as_one_s_own(
    hint: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[Any] = []
    monkeypatch.setattr(compile_module, "save", lambda function, symbol, code: saved.append((symbol, code)))
    monkeypatch.setattr(compile_module, "load", lambda entry_points: False)

    def machine() -> tuple[Any, Any, Any]:
        functions_module._registered["timing"].clear()
        inner = jit(of_module(leaf, "memory.sets.probe"))
        exported = jit(**hint)(of_module(caller, "memory.dram.probe", leaf=inner))
        return inner, exported, jit(of_module(caller, "gpusim.model.core.probe", leaf=exported))

    record = new_record(record_dtype((PART,)))
    inner, _, outer = machine()
    parts = compile_module.compile_for_another_process(split("timing", ("memory",), (outer,)), record)
    inner, exported, outer = machine()
    share = split("timing", ("memory",), (outer,))
    assert share.exported == [exported]
    monkeypatch.setattr(inner.dispatcher, "compile", None)
    monkeypatch.setattr(exported.dispatcher, "compile", None)
    compile_module.compile_entry_points("timing", (outer,), record, (share, parts))
    assert len(saved) == 1, "the entry point holds what it calls"
    assert int(outer(record, 1)) == caller_of_caller(1)


def caller_of_caller(k: int) -> int:
    """What the machine of the test above gives: a caller of callers of leaves."""
    row = [0] * 8

    def sum_up(k: int) -> int:
        row[k & 7] += k
        return row[k & 7]

    def both(k: int) -> int:
        return sum_up(k) + sum_up(k + 1)

    return both(k) + both(k + 1)
