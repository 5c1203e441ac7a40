"""Do the corpus' kernels as LLVM IR, compiled by llvmlite and linked without lld, give NumPy's results?"""

import shutil
import subprocess
from pathlib import Path

import pytest

from isa.object.code_object import load_code_object
from tests.corpus.build import FLAGS, KERNELS, missing_tool
from tests.corpus.execute import execute
from tests.corpus.table import CASES
from workloads.toolchain import build

# function calls, tables in read-only data, private memory, LDS, every kind of argument
SOURCES = ("aes", "places", "scratch", "normalise")


@pytest.mark.parametrize("source", SOURCES)
def test_results(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = missing_tool(19)
    if reason:
        pytest.skip(f"{reason}: nothing makes the IR")
    command = ["clang-19", *FLAGS, "-O1", "-S", "-emit-llvm", f"{source}.cl", "-o", str(tmp_path / f"{source}.ll")]
    subprocess.run(command, cwd=KERNELS, check=True)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (target,) = build.build_all(tmp_path)
    kernels = load_code_object(target).kernels
    for case in CASES:
        if case.source == source:
            for size in case.sizes:
                execute(kernels[case.kernel], case, size)
