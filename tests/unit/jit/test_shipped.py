"""Machine code that a wheel brings: taken where it fits and nothing of the user's own is there, else not."""

import hashlib
from pathlib import Path

import pytest

from gpusim.base.jit import cache, shipped
from gpusim.base.jit.machine_code import Target, host_features, own_target
from gpusim.base.progress import Reporter, reporting

BASELINE = own_target()._replace(cpu=shipped.BASELINE, features="")


def name(target: Target | None) -> str:
    return f"made for {(target or own_target()).cpu}.code"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The installation's folder, with a file, and a cache of the user's that is empty."""
    folder = tmp_path / "shipped"
    folder.mkdir()
    content = b"code"
    checked = hashlib.sha256(content).hexdigest().encode() + b"\n" + content
    (folder / name(BASELINE)).write_bytes(checked)
    monkeypatch.setattr(cache, "FOLDER", folder)
    monkeypatch.setattr(cache, "shipped_target", lambda: BASELINE)
    monkeypatch.setenv("GPUSIM_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def test_the_installations_code_is_read_after_the_users_own(folder: Path) -> None:
    assert cache.read_code(name) == b"code"
    cache.keep(name(None), b"own")
    assert cache.read_code(name) == b"own"


def test_a_damaged_file_and_one_for_other_sources_are_not_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cache.read_code(lambda target: "other sources.code") is None
    file = folder / name(BASELINE)
    file.write_bytes(file.read_bytes()[:-1] + b"X")
    with reporting(Reporter()):
        assert cache.read_code(name) is None
    assert f"{file}: the file is damaged; it is compiled again" in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["avx2", "f16c", "fma"])
def test_a_processor_without_one_of_the_levels_features_runs_none_of_it(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    monkeypatch.setattr(shipped.sys, "platform", "linux")
    for features, target in ((dict.fromkeys(shipped.NEEDED, True), BASELINE), ({missing: False}, None)):
        monkeypatch.setattr(shipped, "host_features", lambda features=features: {**host_features(), **features})
        assert shipped.shipped_target.__wrapped__() == (target if features.get(missing) else None)
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "none")
    assert shipped.shipped_target.__wrapped__() is None


def test_names_follow_from_the_target_and_not_from_the_host_that_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    calculate = cache.domain_hash.__wrapped__
    assert calculate("isa", BASELINE) != calculate("isa")
    monkeypatch.setenv("NUMBA_CPU_NAME", shipped.BASELINE)
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "")
    assert own_target.__wrapped__() == BASELINE
