"""What is kept of compiled code: only what was written is believed, and somewhere there is always space for it."""

import errno
import os
import pwd
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusim.base import files, progress
from gpusim.base.jit import cache, cache_folders
from gpusim.base.jit.compile_lock import compile_lock
from gpusim.jobs.hip.built import unnumbered_folder
from workloads.toolchain import needed

NAME = "timing-0/a.code"


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A process that has tried no folder, said nothing and kept nothing; its temporary files lie in a test's folder."""
    for holder, name in ((cache_folders, "_refused"), (cache_folders, "_tried"), (cache, "_in_memory")):
        monkeypatch.setattr(holder, name, type(getattr(holder, name))())
    monkeypatch.setattr(progress, "_said", set())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "tmp").mkdir()
    yield tmp_path


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().err.splitlines()


def another_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what the process knows."""
    monkeypatch.setattr(cache_folders, "_refused", {})
    monkeypatch.setattr(cache_folders, "_tried", set())
    monkeypatch.setattr(cache, "_in_memory", {})
    monkeypatch.setattr(progress, "_said", set())


def test_what_is_kept_is_found_and_nothing_is_said(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cache.read_cached(NAME) is None
    cache.keep(NAME, b"code")
    assert cache.read_cached(NAME) == b"code"
    assert [path.name for path in (fresh / "cache" / "timing-0").iterdir()] == ["a.code"]
    assert lines(capsys) == []


@pytest.fixture
def open_umask() -> Iterator[None]:
    """An umask that lets a group write what is made, as on systems where each user has a group."""
    before = os.umask(0o002)
    yield
    os.umask(before)


def test_every_level_is_closed_to_others_whatever_the_umask(fresh: Path, open_umask: None) -> None:
    cache.keep(NAME, b"code")
    place = fresh / "cache"
    with compile_lock():
        pass
    by_numba = place / "timing-0" / "by_numba"
    by_numba.mkdir(mode=0o775)
    (by_numba / "index.nbi").touch(mode=0o664)
    cache_folders.close(place / "timing-0")
    folders, files = (
        (place, place / "timing-0", by_numba),
        (place / NAME, place / "compiling.lock", by_numba / "index.nbi"),
    )
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


@pytest.mark.parametrize("level", ["timing-0", NAME])
def test_a_level_that_others_may_write_to_is_not_read(
    level: str, fresh: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.keep(NAME, b"planted")
    os.chmod(fresh / "cache" / level, 0o777)
    another_start(monkeypatch)
    assert cache.read_cached(NAME) is None
    (line,) = lines(capsys)
    assert f"{NAME} is not loaded" in line and "other users" in line


def test_a_link_is_not_followed(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.keep(NAME, b"code")
    folder = fresh / "cache" / "timing-0"
    os.rename(folder, fresh / "elsewhere")
    folder.symlink_to(fresh / "elsewhere")
    another_start(monkeypatch)
    assert cache.read_cached(NAME) is None


def test_a_parent_that_others_may_write_to_makes_a_folder_unsafe(fresh: Path) -> None:
    parent = fresh / "shared"
    (parent / "cache").mkdir(parents=True)
    for mode, safe in ((0o777, False), (0o1777, True), (0o755, True)):
        os.chmod(parent, mode)
        assert (cache_folders.unsafe(parent / "cache") == "") == safe


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user: only root can become one")
def test_a_second_user_can_neither_read_nor_replace_what_is_kept(fresh: Path, open_umask: None) -> None:
    for parent in (fresh, *fresh.parents[:3]):  # pytest's own folders are closed to others
        os.chmod(parent, 0o755)
    cache.keep(NAME, b"code")
    second_user = pwd.getpwnam("nobody").pw_uid
    tries = f"""
import os
os.setgid({os.getegid()}); os.setuid({second_user})
for path in ({str(fresh / "cache")!r}, {str(fresh / "cache" / "timing-0")!r}):
    try:
        open(os.path.join(path, "planted"), "w")
    except PermissionError:
        print("refused")
try:
    open({str(fresh / "cache" / NAME)!r})
except PermissionError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-I", "-c", tries], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused"] * 3


def test_links_that_others_may_have_written_are_made_anew(
    fresh: Path, open_umask: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Libraries are loaded through a folder of links, so that whoever may write there has his own loaded."""
    (fresh / "lib").mkdir()
    (fresh / "lib" / "libhipfft.so.0").touch()
    folder = unnumbered_folder([fresh / "lib"])
    assert folder is not None and stat.S_IMODE(folder.stat().st_mode) == 0o700
    planted = folder / "libhipfft.so"
    for mode in (0o700, 0o777):
        planted.unlink()
        planted.symlink_to("/planted")
        folder.chmod(mode)
        assert unnumbered_folder([fresh / "lib"]) == folder
        is_taken = mode == 0o700
        assert (os.readlink(planted) == "/planted") == is_taken
        assert ("is not loaded" in capsys.readouterr().err) != is_taken
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and os.listdir(folder.parent) == [folder.name]


def test_a_kernel_that_is_built_is_closed_to_others(
    fresh: Path, open_umask: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fresh / "own.s").write_text("")

    def build_open(source: Path, target: Path, gpu: str) -> None:
        target.touch(mode=0o664)

    monkeypatch.setattr(needed, "build", build_open)
    code = needed.code_object("own", fresh, "gfx906")
    assert (stat.S_IMODE(code.stat().st_mode), stat.S_IMODE(code.parent.stat().st_mode)) == (0o600, 0o700)
    monkeypatch.setattr(needed, "build", None)
    assert needed.code_object("own", fresh, "gfx906") == code, "it is not built again"


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda whole: whole[:-1],
    "cut in the middle": lambda whole: whole[: len(whole) // 2],
    "emptied": lambda whole: b"",
    "zeros": lambda whole: bytes(len(whole)),
    "lengthened": lambda whole: whole + b"\0",
    "another's": lambda whole: whole.replace(b"code", b"edoc"),
    "without its line": lambda whole: whole.partition(b"\n")[2],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_counts_as_missing_and_is_named_once(
    damage: str, fresh: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.keep(NAME, b"code" * 99)
    path = fresh / "cache" / NAME
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert cache.read_cached(NAME) is None and cache.read_cached(NAME) is None
    assert lines(capsys) == [f"gpusim: {path}: the file is damaged; it is compiled again"]
    cache.keep(NAME, b"code" * 99)
    assert cache.read_cached(NAME) == b"code" * 99


@given(st.binary(min_size=1, max_size=60), st.data())
def test_no_flipped_bit_is_believed(content: bytes, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUSIM_CACHE_DIR", folder)
        cache.keep(NAME, content)
        path = Path(folder, NAME)
        changed = bytearray(path.read_bytes())
        changed[data.draw(st.integers(0, len(changed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(bytes(changed))
        assert cache.read_cached(NAME) is None


def own_temporary(fresh: Path) -> Path:
    return fresh / "tmp" / f"gpusim-{os.geteuid()}"


def test_a_folder_that_cannot_be_made_is_replaced_by_a_private_one(
    fresh: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (fresh / "cache").write_text("a file in the folder's place")
    cache.keep(NAME, b"code")
    cache.keep("timing-0/b.code", b"code")
    assert cache.read_cached(NAME) == b"code"
    private = own_temporary(fresh)
    assert stat.S_IMODE(private.stat().st_mode) == 0o700 and (private / NAME).is_file()
    said = lines(capsys)
    assert len(said) == 1 and f"kept in {private}: it cannot be kept in {fresh / 'cache'}: " in said[0]

    another_start(monkeypatch)
    assert cache.read_cached(NAME) == b"code"
    assert cache.read_cached("timing-0/b.code") == b"code"
    said = lines(capsys)
    assert len(said) == 1 and f"is loaded from {private}: {fresh / 'cache'} has none that is whole" in said[0]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EIO])
def test_a_write_that_fails_moves_on_to_the_next_folder(
    code: int, fresh: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sync(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(fresh / "cache")):
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr(files.os, "fsync", sync)
    cache.keep(NAME, b"code")
    assert cache.read_cached(NAME) == b"code"
    assert (own_temporary(fresh) / NAME).is_file()
    assert list((fresh / "cache").rglob("*.*")) == []  # nothing half-written stays
    said = lines(capsys)
    assert len(said) == 1 and os.strerror(code) in said[0]


def test_where_no_folder_takes_it_the_process_keeps_it(
    fresh: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (fresh / "cache").touch()
    own_temporary(fresh).touch()
    assert cache.numba_folder("timing") is None
    cache.keep(NAME, b"code")
    assert cache.read_cached(NAME) == b"code"
    said = lines(capsys)
    assert len(said) == 1 and "is not kept, each start compiles" in said[0] and "GPUSIM_CACHE_DIR" in said[0]
    another_start(monkeypatch)
    assert cache.read_cached(NAME) is None


def _as_a_link(private: Path) -> None:
    private.with_name("elsewhere").mkdir(mode=0o700)
    private.symlink_to(private.with_name("elsewhere"))


def _open_to_others(private: Path) -> None:
    private.mkdir()
    private.chmod(0o770)


def _own(private: Path) -> None:
    private.mkdir(mode=0o700)


@pytest.mark.parametrize(
    ("prepare", "user", "reason"),
    [
        (_as_a_link, 0, "is no folder"),
        (_open_to_others, 0, "is open to other users"),
        (_own, 1, "belongs to another user"),
    ],
)
def test_machine_code_comes_from_no_temporary_folder_that_another_may_have_filled(
    prepare: Callable[[Path], None],
    user: int,
    reason: str,
    fresh: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = os.geteuid() + user
    monkeypatch.setattr(cache_folders.os, "geteuid", lambda: here)
    private = fresh / "tmp" / f"gpusim-{here}"
    prepare(private)
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(private))
    cache.keep(NAME, b"planted")  # a file that is as it should be, but not from here
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(fresh / "cache"))
    (fresh / "cache").touch()
    another_start(monkeypatch)
    assert cache.read_cached(NAME) is None
    cache.keep(NAME, b"code")
    assert cache.read_cached(NAME) == b"code"
    assert [reason in line for line in lines(capsys)] == [True]


@pytest.mark.parametrize(
    ("mode", "user", "reason"),
    [(0o777, 0, "it may be written to by other users"), (0o755, 1, "it belongs to another user"), (0o755, 0, "")],
)
def test_machine_code_comes_from_no_chosen_folder_that_another_may_fill(
    mode: int, user: int, reason: str, fresh: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, owner = fresh / "cache", 1234  # no system user: the system's folders are trusted
    cache.keep(NAME, b"planted")
    another_start(monkeypatch)
    os.chmod(place, mode)
    real = Path.stat

    def owned(path: Path, **how: bool) -> os.stat_result:
        found = real(path, **how)
        return os.stat_result((*found[:4], owner, *found[5:])) if path == place else found

    monkeypatch.setattr(Path, "stat", owned)
    monkeypatch.setattr(cache_folders.os, "geteuid", lambda: owner + user)
    assert cache.read_cached(NAME) == (None if reason else b"planted")
    cache.keep(NAME, b"code")
    another_start(monkeypatch)
    assert (place / NAME).read_bytes().endswith(b"planted" if reason else b"code")
    assert any(reason in line for line in lines(capsys)) == bool(reason)


def test_a_folder_of_a_group_of_several_is_not_trusted(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import grp

    place = fresh / "cache"
    place.mkdir()
    os.chmod(place, 0o775)
    me = pwd.getpwuid(os.geteuid()).pw_name

    for name, members, expected in ((me, [], True), (me, [me], True), (me, ["eve"], False), ("lab", [me], False)):
        group = grp.struct_group((name, "x", 4321, members))
        monkeypatch.setattr(grp, "getgrgid", lambda _, group=group: group)
        real = Path.stat
        with monkeypatch.context() as patched:
            patched.setattr(
                Path, "stat", lambda p, real=real, **how: os.stat_result((*(f := real(p, **how))[:5], 4321, *f[6:]))
            )
            assert (cache_folders.unsafe(place) == "") == expected


def test_a_warm_folder_that_cannot_be_written_to_is_used_as_it_is(
    fresh: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.keep(NAME, b"code")
    another_start(monkeypatch)

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "mkdir", refused)
    monkeypatch.setattr(tempfile, "mkstemp", refused)
    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    assert cache.read_cached(NAME) == b"code"
    assert lines(capsys) == [] and cache_folders._tried == set()


def test_without_a_home_the_temporary_folder_serves(
    fresh: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GPUSIM_CACHE_DIR", "HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)

    def nobody(_: int) -> None:
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", nobody)
    monkeypatch.chdir(fresh)
    cache_folders._chosen.cache_clear()
    try:
        cache.keep(NAME, b"code")
        assert cache.read_cached(NAME) == b"code"
    finally:
        cache_folders._chosen.cache_clear()
    assert (own_temporary(fresh) / NAME).is_file() and not (fresh / "~").exists()
    said = lines(capsys)
    assert len(said) == 1 and "no home folder is known" in said[0]
