"""Do the five commands of the pages on own kernels lead from OpenCL C and HIP to metrics, as they stand there?"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import pytest

from docs._site.pages import section
from tests.support.invoked import invoked
from workloads.toolchain.compilers import hip_root, with_library

ROOT = Path(__file__).resolve().parents[2]
PAGE, HIP_PAGE = ROOT / "docs/how-to/own-kernels.md", ROOT / "docs/how-to/own-kernels-hip.md"


def commands(page: Path) -> list[str]:
    block = re.search(r"```sh\n(.*?)```", page.read_text(), re.DOTALL)
    assert block is not None
    return block[1].splitlines()


def shown(page: Path, name: str) -> str:
    return section(page.read_text(encoding="utf-8"), name).removeprefix("```\n").removesuffix("```")


def run(command: str, folder: Path) -> str:
    program, *words = shlex.split(command)
    if program == "gpusim":
        with chdir(folder):
            done = invoked(words)
    else:
        assert program == "python"
        command_line, environment = [sys.executable, *words], {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command_line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the commands name, to write into."""
    shutil.copytree(ROOT / "examples/own-kernels", tmp_path / "examples/own-kernels")
    (tmp_path / "workloads/toolchain").mkdir(parents=True)
    shutil.copy(ROOT / "workloads/toolchain/opencl.h", tmp_path / "workloads/toolchain")
    return tmp_path


def compile_or_keep(command: str, build: bool, folder: Path) -> None:
    """The page's second command, or the committed object in its place."""
    if build:
        said = run(command, folder)
        assert "device library" in said


@pytest.mark.parametrize("build", [False, True])
def test_the_five_commands_for_opencl(build: bool, checkout: Path) -> None:
    if build and with_library() is None:
        pytest.skip("needs rocm-device-libs and a clang that reads it")
    arrays, compile_, disasm, execute, sweep = commands(PAGE)
    run(arrays, checkout)
    compile_or_keep(compile_, build, checkout)
    assert "row_norm:" in run(disasm, checkout)
    assert "verified               passed" in run(execute, checkout)
    result = json.loads((checkout / "out/row_norm.json").read_text())
    assert result["verification"]["passed"] is True
    if not build:  # once is enough
        printed = run(sweep, checkout)
        assert [line.split()[0] for line in printed.splitlines()[1:]] == ["64", "128", "256"]
        assert printed == shown(PAGE, "sweep"), "run .ci/generate"


@pytest.mark.parametrize("build", [False, True])
def test_the_five_commands_for_hip(build: bool, checkout: Path) -> None:
    if build and (hip_root() is None or with_library() is None):
        pytest.skip("needs libamdhip64-dev, rocm-device-libs and a clang that reads it")
    arrays, compile_, disasm, execute, compare = commands(HIP_PAGE)
    run(arrays, checkout)
    compile_or_keep(compile_, build, checkout)
    listing = run(disasm, checkout)
    assert "; void softmax<float, 256u>(float const*, float*, unsigned int)" in listing and "<double" not in listing
    run(execute, checkout)
    result = json.loads((checkout / "out/softmax.json").read_text())
    assert result["verification"]["passed"] is True
    if not build:  # once is enough
        printed = run(compare, checkout)
        assert [line.rpartition(">")[0] for line in printed.splitlines()[1:]] == [
            "softmax<float, 64",
            "softmax<float, 256",
            "softmax<double, 256",
        ]
        assert printed == shown(HIP_PAGE, "precision"), "run .ci/generate"


def test_the_page_names_every_key_of_the_file() -> None:
    from gpusim.config.exec import ArgumentSpec, ExecConfig

    page = PAGE.read_text()
    for key in [*ExecConfig.model_fields, *ArgumentSpec.model_fields]:
        assert re.search(rf"\b{key}\b", page), key
