"""Do Triton's kernels run on the simulated GPU, compiled by Triton as it is? It is no dependency."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "gpu",
    [
        pytest.param(["mi50"], marks=pytest.mark.nightly),
        pytest.param(["mi100"], marks=pytest.mark.nightly),
        pytest.param(["mi210"], marks=pytest.mark.nightly),
        ["mi210", "--set", "architecture=gfx942"],
    ],
    ids=lambda gpu: gpu[-1],
)
def test_kernels_of_triton_compute(gpu: list[str], tmp_path: Path) -> None:
    gpusim = [sys.executable, "-c", "from gpusim.cli.start import main; main()", "hip", "--timing", "off"]
    program = [sys.executable, str(ROOT / "tests/vendor/triton_kernels.py")]
    environment = {
        **os.environ,
        "TRITON_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join((str(ROOT), *sys.path)),
    }
    done = subprocess.run(
        [*gpusim, "--gpu", *gpu, "--", *program], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines() if ": error" in line] == [
        "add",
        "softmax",
        "product",
        "product of halves",
    ]
