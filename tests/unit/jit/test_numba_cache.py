"""Numba's own cache of the core's functions that Python calls: one is compiled once, a part of its callers not kept."""

from pathlib import Path
from typing import Any

import pytest

from gpusim.base import progress
from gpusim.base.jit import JIT_DISABLED, cache_folders, jit, numba_hooks
from tests.support.compiled import take_back

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")


@jit
def thrice(a: int, b: int) -> int:
    return 3 * a + b


if not JIT_DISABLED:
    take_back([thrice])


def compile_it() -> Any:
    from numba import types

    from gpusim.base.jit import compile

    dispatcher = compile._dispatcher.__wrapped__(thrice)
    dispatcher.compile((types.int64, types.int64))
    return dispatcher


def used_cache() -> bool:
    """Compile the function, or load it, as a call from Python does; whether it came from the cache."""
    dispatcher = compile_it()
    assert dispatcher(5, 6) == 21
    return bool(dispatcher.stats.cache_hits)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache_folders, "_refused", {})
    monkeypatch.setattr(cache_folders, "_tried", set())
    monkeypatch.setattr(progress, "_said", set())
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_it_is_compiled_once(folder: Path) -> None:
    assert not used_cache() and used_cache()
    assert len(list(folder.rglob("*.nbc"))) == 1


def test_a_part_of_its_callers_is_not_kept(folder: Path) -> None:
    with numba_hooks.parts_unfinished():
        compile_it()
    assert list(folder.rglob("*.nb?")) == []
    assert not used_cache()


def test_without_a_folder_it_is_compiled_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folders, "writable", lambda: None)
    assert not used_cache() and not used_cache()
    assert list(folder.iterdir()) == []
