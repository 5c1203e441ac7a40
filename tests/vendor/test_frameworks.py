"""Do Python frameworks train on the simulated GPU, unmodified? They are no dependency: each test needs its own."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workloads.toolchain.compilers import with_library

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("tinygrad") is None, reason="tinygrad is not installed"),
    pytest.mark.skipif(with_library() is None, reason="no clang with AMD's device library"),
]
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, str(ROOT / "tests/hip/programs/train.py"), "2", "16"]


def printed(device: str, folder: Path, *before: str) -> list[str]:
    variables = {
        "DEV": device,
        "CACHEDB": str(folder / f"{device}.db"),
        "PYTHONPATH": os.pathsep.join((str(ROOT), *sys.path)),
    }
    done = subprocess.run(
        [*before, *PROGRAM], env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.nightly
def test_tinygrad_trains_as_by_its_own_interpreter(tmp_path: Path) -> None:
    gpusim = [sys.executable, "-c", "from gpusim.cli.start import main; main()", "hip", "--timing", "off", "--"]
    lines = printed("HIP", tmp_path, *gpusim)
    assert lines == printed("PYTHON", tmp_path) and len(lines) == 3
    assert float(lines[1].split()[1]) < float(lines[0].split()[1])
