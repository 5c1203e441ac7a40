"""Do AMD's libraries run on the simulated GPU, unmodified? Where their packages are: see tests.vendor.packages."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs._site.pages import section
from tests.vendor.linked import linked_table
from tests.vendor.programs import CALLS, SHARDS, VARIABLE, Shard, built_calls, root, run_call, run_product, run_shard

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no folder with AMD's libraries")
SMALL = (
    Shard("librocblas0-tests", "rocblas-test", "*quick*-*graph*", 30000, 7),
    Shard("librocsparse0-tests", "rocsparse-test", "quick*csrmv*", 200, 3),
    next(shard for shard in SHARDS if shard.program.endswith("philox4x32_10")),
)


@pytest.mark.skipif(shutil.which("unshare") is None, reason="their data's place needs a mount namespace")
@pytest.mark.parametrize("shard", SMALL, ids=lambda shard: shard.program)
def test_their_own_tests_pass(shard: Shard) -> None:
    done = run_shard(shard)
    assert done.code == 0 and done.tests and done.passed == done.tests, done.output[-3000:]
    assert done.launches


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_calls(tmp_path_factory.mktemp("calls"))


@pytest.mark.parametrize(
    "words",
    [
        ("sgemm", "96", "80", "72"),
        ("csrmm", "300", "1", "300", "6"),
        ("fft", "1000", "2"),
        ("rfft", "32", "70"),
        ("irfft", "16", "9"),
    ],
)
def test_calls_give_what_the_processor_gives(calls: Path, words: tuple[str, ...]) -> None:
    printed, result = run_call(calls, words, "mi6", "--timing", "off")
    assert "error" in printed and result["exit_code"] == 0 and result["rows"]


def test_a_call_has_metrics(calls: Path) -> None:
    printed, result = run_call(calls, ("sgemm", "96", "80", "72"), "mi6")
    assert float(printed.split()[0]) > 0
    assert all(launch["kernel"]["cycles"] and launch["l2"] for launch in result["launches"])
    assert len(CALLS) == 5


def test_the_page_says_what_is_linked_and_all_of_it_is_there() -> None:
    page = (ROOT / "docs/how-to/hip.md").read_text(encoding="utf-8")
    found = linked_table(root() / "usr")
    assert section(page, "linked") == found and found.endswith(" |  |"), "a function is missing"


def test_a_network_by_the_library_is_right(tmp_path: Path) -> None:
    result = tmp_path / "lenet.json"
    options = ["--phase", "train", "--batch", "2", "--gpu", "mi6", "--timing", "off", "--json", str(result), "--quiet"]
    sets = ["--set", "products=rocblas_mac", "--set", "convolution=im2col_chunked"]
    command = [sys.executable, "-c", "from gpusim.cli.start import main; main()", "net", "lenet", *options, *sets]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    assert json.loads(result.read_text())["verification"]["passed"]


def test_layers_by_libraries_are_right_and_mac_is_faster(tmp_path: Path) -> None:
    small = {"kind": "gemm", "name": "small", "m": 96, "n": 300, "k": 500}
    results = {
        name: run_product(name, sparse, 0.8, tmp_path, small)
        for name, sparse in (
            ("rocblas", False),
            ("rocblas_mac", False),
            ("rocsparse", True),
            ("rocsparse_csrmm", True),
        )
    }
    assert all(result["verification"]["passed"] for result in results.values())
    cycles = {name: result["kernel"]["cycles"] for name, result in results.items()}
    assert cycles["rocblas_mac"] < cycles["rocblas"]
    for name, last in (("rocsparse", "gemmi"), ("rocsparse_csrmm", "csrmm")):
        kernels = [launch["kernel"]["name"] for launch in results[name]["launches"]]
        assert last in kernels[-1] and any("dense2csc" in kernel for kernel in kernels[:-1])
