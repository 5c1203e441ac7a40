"""Is a launch of a HIP program that was recorded run again to the same memory, by gpusim and by a second statement?"""

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from gpusim.cli.main import invoke
from isa.memory_file import MemoryFile
from tests.support.hip_programs import BEYOND, BEYOND_LDS, PROGRAMS, pytestmark, run
from tests.support.oracle_isa.text import tool

__all__ = ["pytestmark"]
needs_llvm = pytest.mark.skipif(tool("llvm-objdump") is None, reason="the second statement needs llvm-objdump")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The launches of a program, each kernel's first two."""
    folder = tmp_path_factory.mktemp("recorded") / "launches"
    options = ["--timing", "off", "--record", str(folder), "--record-launches", "2"]
    done = run(options, PROGRAMS / "runtime", "streams")
    assert done.returncode == 0, done.stderr
    return folder


def test_the_first_launches_are_run_again(recorded: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folders = sorted(one for one in recorded.iterdir() if one.is_dir())
    assert [one.name for one in folders] == ["0001-add_one", "0002-add_one"]
    for folder in folders:
        assert invoke(["exec", str(folder / "launch.yaml"), "--set", "run.timing=false"]) == 0
        assert "verified               passed" in capfd.readouterr().out


def test_other_memory_than_recorded_is_reported(
    recorded: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(recorded, tmp_path / "copy")
    folder = tmp_path / "copy/0001-add_one"
    after = MemoryFile.read(folder / "after.npz")
    piece = next(iter(after.pieces.values()))
    piece.content[8] ^= 1
    (folder / "after.npz").write_bytes(after.packed())
    assert invoke(["exec", str(folder / "launch.yaml"), "--set", "run.timing=false"]) == 1
    assert f"1 of {len(piece.content)} elements differ" in " ".join("".join(capfd.readouterr()).split())
    document = yaml.safe_load((folder / "launch.yaml").read_text())
    document["arguments"] = {"n": {"value": 1, "dtype": "uint32"}}
    (folder / "launch.yaml").write_text(yaml.safe_dump(document))
    assert invoke(["exec", str(folder / "launch.yaml")]) == 2
    (folder / "before.npz").write_bytes(b"nothing")
    del document["arguments"]
    (folder / "launch.yaml").write_text(yaml.safe_dump(document))
    assert invoke(["exec", str(folder / "launch.yaml")]) == 2
    assert "holds no device memory" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("program", "finding"),
    [
        ((sys.executable, "-c", BEYOND_LDS, BEYOND), "outside the workgroup's LDS"),
        ((PROGRAMS / "edges", "beyond", 2000), "outside every allocation"),
    ],
    ids=["LDS", "memory"],
)
def test_accesses_that_a_gpu_lets_pass_are_again_those_of_the_program(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], program: tuple[Any, ...], finding: str
) -> None:
    assert run(["--timing", "off", "--record", str(tmp_path / "launches")], *program).returncode == 0
    (file,) = (tmp_path / "launches").glob("0001-*/launch.yaml")
    assert invoke(["exec", str(file)]) == 0
    assert "verified               passed" in capfd.readouterr().out
    assert invoke(["check", str(file)]) == 1
    assert finding in capfd.readouterr().out


@needs_llvm
def test_a_second_statement_leaves_the_same_memory(recorded: Path, tmp_path: Path) -> None:
    from tests.vendor.second_opinion import launches, opinion

    assert {opinion(folder).verdict for folder in launches(recorded)} == {"equal"}
    shutil.copytree(recorded, tmp_path / "copy")
    after = MemoryFile.read(tmp_path / "copy/0001-add_one/after.npz")
    next(iter(after.pieces.values())).content[8] ^= 1
    (tmp_path / "copy/0001-add_one/after.npz").write_bytes(after.packed())
    assert opinion(tmp_path / "copy/0001-add_one").verdict == "differs"


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "there.npy", np.zeros(1))
    done = run(["--timing", "off", "--record", str(tmp_path)], PROGRAMS / "runtime", "streams")
    assert done.returncode == 2 and "the folder is not empty" in done.stderr
