"""Numba's own cache of the core's functions: what is damaged is compiled again, what cannot be written is not kept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gpusim.base import progress
from gpusim.jit import JIT_DISABLED, cache_folders, jit
from gpusim.jit.functions import take_back

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")


@jit
def thrice(a: int, b: int) -> int:
    return 3 * a + b


if not JIT_DISABLED:
    take_back([thrice])

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda whole: whole[:-1],
    "emptied": lambda whole: b"",
    "flipped at the beginning": lambda whole: bytes([whole[0] ^ 1]) + whole[1:],
    "flipped in the middle": lambda whole: (
        whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 4]) + whole[len(whole) // 2 + 1 :]
    ),
    "flipped at the end": lambda whole: whole[:-1] + bytes([whole[-1] ^ 0x80]),
}


def used_cache() -> bool:
    """Compile the function, or load it, as a start does; whether it came from the cache."""
    from numba import types

    from gpusim.jit import compile

    dispatcher = compile._dispatcher.__wrapped__(thrice)
    dispatcher.compile((types.int64, types.int64))
    assert dispatcher(5, 6) == 21
    return bool(dispatcher.stats.cache_hits)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache_folders, "_refused", {})
    monkeypatch.setattr(cache_folders, "_tried", set())
    monkeypatch.setattr(progress, "_said", set())
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_compiled_again(
    kind: str, damage: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not used_cache() and used_cache()
    (path,) = folder.rglob(f"*{kind}")
    whole = path.read_bytes()
    path.write_bytes(DAMAGES[damage](whole))
    assert capsys.readouterr().err == ""
    assert not used_cache()
    assert capsys.readouterr().err == f"gpusim: {path}: the file is damaged; it is compiled again\n"
    assert used_cache()


def test_a_file_that_cannot_be_written_costs_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.os.replace", full)
    assert not used_cache() and not used_cache()
    assert [line.split(": ")[2:] for line in capsys.readouterr().err.splitlines()] == [
        ["No space left on device", "not kept there"]
    ]


def test_without_a_folder_it_is_compiled_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folders, "writable", lambda: None)
    assert not used_cache() and not used_cache()
    assert list(folder.iterdir()) == []
