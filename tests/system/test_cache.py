"""The command line with a cache that is damaged, or not the user's to write to: a line, and the same results."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpusim.base.jit import JIT_DISABLED, cache, cache_folders

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a cache that holds what a run needs."""
    from gpusim.model.core.prepare import prepare_core
    from isa.lanes.lane_library import file_name

    prepare_core()
    folder = tmp_path_factory.mktemp("warm")
    for name in (file_name(), *map(cache.domain_folder, cache.DOMAINS)):
        for place in cache_folders.readable():
            if (place / name).is_dir():
                shutil.copytree(place / name, folder / name, ignore=shutil.ignore_patterns("*.nb?"))
                break
            if (place / name).is_file():
                shutil.copy(place / name, folder / name)
                break
    return folder


def start(folder: Path, **environment: str) -> list[str]:
    """Lines on standard error of a run with its cache in `folder`; the run is right."""
    whole = {**os.environ, "GPUSIM_CACHE_DIR": str(folder), **environment}
    whole["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    code = "from gpusim.cli.main import main; main(['exec', 'vector_add'])"
    done = subprocess.run([sys.executable, "-c", code], env=whole, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "verified               passed" in done.stdout
    return [line for line in done.stderr.splitlines() if line.startswith("gpusim: ")]


@pytest.mark.nightly
def test_damaged_machine_code_is_named_and_compiled_again(warm: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    shutil.copytree(warm, folder)
    (path,) = folder.glob("lanes-*.code")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(bytes(content))
    first, second, *further = start(folder)
    assert first == f"gpusim: {path}: the file is damaged; it is compiled again"
    assert second.startswith("gpusim: compiling the lane operations: about ")
    assert all(line.startswith("gpusim: compiling the lane operations: ") for line in further)
    assert start(folder) == []


def test_a_folder_of_the_user_s_own_takes_the_place_of_one_that_is_none(warm: Path, tmp_path: Path) -> None:
    own = tmp_path / f"gpusim-{os.geteuid()}"
    shutil.copytree(warm, own)
    own.chmod(0o700)
    hint = "GPUSIM_CACHE_DIR names another folder"
    said = start(Path("/dev/null/cache"), TMPDIR=str(tmp_path))
    assert said[0] == f"gpusim: compiled code is loaded from {own}: /dev/null/cache has none that is whole; {hint}"
    assert said[1:] in ([], [  # the kernel's translation, if it is not there yet
        f"gpusim: compiled code is kept in {own}: it cannot be kept in /dev/null/cache: Not a directory; {hint}"
    ])  # fmt: skip
