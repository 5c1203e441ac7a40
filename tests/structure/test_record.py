"""The machine record: its package alone writes a component, and only packages that may know it read it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gpusim.base.jit import Field, State, record_dtype
from gpusim.model.core.counters import MACHINE_TABLES
from gpusim.model.core.machine import MACHINE, machine_dtype
from tests.structure.imports import package_of
from tests.structure.layers import WRITERS, forbidden
from tests.structure.state_access import ADDED, READ, WRITTEN, Accesses, machine_accesses, owners


@pytest.mark.parametrize("component", [state.name for state in MACHINE])
def test_only_the_package_that_declares_a_component_writes_it(component: str) -> None:
    home = package_of(owners()[component])
    strangers = [
        str(access)
        for access in machine_accesses()
        if access.component == component and access.written and package_of(access.module) != home
        if (component, package_of(access.module)) not in WRITERS
    ]
    assert strangers == []


def test_nothing_is_read_against_the_direction() -> None:
    upward = []
    for access in machine_accesses():
        here, home = package_of(access.module), package_of(owners()[access.component])
        if here != home and forbidden(here, home):
            upward.append(str(access))
    assert upward == []


def test_every_exception_is_needed() -> None:
    used = {(access.component, package_of(access.module)) for access in machine_accesses() if access.written}
    assert [pair for pair in WRITERS if pair not in used or package_of(owners()[pair[0]]) == pair[1]] == []


def test_every_field_is_read() -> None:
    used = {access.field for access in machine_accesses() if access.use != WRITTEN}
    used |= {f"{table.state}.{counter.state_field}" for table in MACHINE_TABLES for counter in table.counters}
    assert sorted(set(_numbers(machine_dtype())) - used) == []


def _numbers(kind: np.dtype, path: str = "") -> Iterator[str]:
    """The names of all numbers in a record."""
    for name in kind.names or ():
        part = kind[name].base
        yield from _numbers(part, f"{path}{name}.") if part.names else [path + name]


INNER = State("way", {"tag": Field((), "tag"), "age": Field((4,), "age")})
OUTER = State(
    "cache",
    {
        "hits": Field((), "hits"),
        "way": Field((8,), "ways", INNER.dtype()),
        "free": Field((8,), "free"),
        "n": Field((), ""),
    },
)


def _found(tmp_path: Path, text: str) -> set[tuple[str, str]]:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "other.py").write_text("def clear(ways, at):\n    ways[at].tag = -1\n")
    (tmp_path / "memory" / "unit.py").write_text(text)
    machine: np.dtype = record_dtype((OUTER,))
    return {(a.field, a.use) for a in Accesses(machine, tmp_path).found}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def f(m):\n    return m.cache.hits", {("cache.hits", READ)}),
        ("def f(m):\n    m.cache.hits = 1", {("cache.hits", WRITTEN)}),
        ("def f(m):\n    m.cache.hits += 1", {("cache.hits", ADDED)}),
        ("def f(m, n):\n    m.cache.hits = max(m.cache.hits, n)", {("cache.hits", ADDED)}),
        ("def f(m):\n    m.cache.hits |= 1", {("cache.hits", READ), ("cache.hits", WRITTEN)}),
        ("def f(m, k):\n    c = m.cache\n    c.free[k] = 1", {("cache.free", WRITTEN)}),
        ("def f(m, k):\n    way = m.cache.way[k]\n    return way.age[0]", {("cache.way.age", READ)}),
        ("def f(m, k):\n    c, n = m.cache, 0\n    c.way[k].tag = n", {("cache.way.tag", WRITTEN)}),
        ("def f(m):\n    m.cache.way['tag'][:4] = 0", {("cache.way.tag", WRITTEN)}),
        ("class A:\n    def f(self):\n        self._m.cache.hits = 1", {("cache.hits", WRITTEN)}),
        ("def f(m):\n    g(m.cache)\n\ndef g(c):\n    c.hits = 1", {("cache.hits", WRITTEN)}),
        ("def f(m):\n    return h(m).hits\n\ndef h(m):\n    return m.cache", {("cache.hits", READ)}),
        ("from memory.other import clear\n\ndef f(m, k):\n    clear(m.cache.way, k)", {("cache.way.tag", WRITTEN)}),
        ("def f(m, k):\n    n = m.cache.free[k]\n    g(n)\n\ndef g(c):\n    return c", {("cache.free", READ)}),
        ("def f(m):\n    return address_of(m.cache.free)", {("cache.free", READ)}),
        ("def f(metric):\n    return metric.hits", set()),
    ],
)
def test_every_kind_of_access_is_seen(text: str, found: set[tuple[str, str]], tmp_path: Path) -> None:
    assert _found(tmp_path, text) == found
