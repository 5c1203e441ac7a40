"""Do the five commands of docs/own-kernels.md lead from OpenCL C to metrics, as they stand there?"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from isa.object.code_object import load_code_object
from tests.support.figures import section

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/own-kernels.md"
COMMITTED = ROOT / "docs/own-kernels/row_norm.hsaco"
RELEASE = "19.1.7"  # of clang, whose output is committed


def commands() -> list[str]:
    block = re.search(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert block is not None
    return block[1].splitlines()


def run(command: str, folder: Path) -> str:
    words = shlex.split(command)
    programs = {
        "python": [sys.executable],
        "gpusim": [sys.executable, "-c", "from gpusim.cli.main import main; main()"],
    }
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*programs.get(words[0], words[:1]), *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with what the commands name, to write into."""
    for place in ("docs/own-kernels", "gpusim/opencl"):
        shutil.copytree(ROOT / place, tmp_path / place)
    return tmp_path


@pytest.mark.parametrize("with_clang", [False, True])
def test_the_five_commands(with_clang: bool, checkout: Path) -> None:
    arrays, compile_, disasm, execute, sweep = commands()
    run(arrays, checkout)
    if with_clang:
        if shutil.which("clang-19") is None:
            pytest.skip("clang-19 is not installed")
        run(compile_, checkout)
        if run("clang-19 -dumpversion", checkout).strip() == RELEASE:
            made, kept = (
                load_code_object(path).kernels["row_norm"] for path in (checkout / "out/row_norm.hsaco", COMMITTED)
            )
            assert (made.code, made.arguments) == (kept.code, kept.arguments)
    else:
        shutil.copy(COMMITTED, checkout / "out")
    assert "row_norm:" in run(disasm, checkout)
    assert "verification.passed" in run(execute, checkout)
    result = json.loads((checkout / "out/row_norm.json").read_text())
    assert result["verification"]["passed"] is True
    lines = run(sweep, checkout).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["64", "128", "256"]
    shown = section(PAGE.read_text(encoding="utf-8"), "sweep").splitlines()
    assert lines == shown[1:-1], "run .ci/generate"


def test_the_page_names_every_key_of_the_file() -> None:
    from gpusim.config.exec import ArgumentSpec, ExecConfig

    page = PAGE.read_text()
    for key in [*ExecConfig.model_fields, *ArgumentSpec.model_fields]:
        assert re.search(rf"\b{key}\b", page), key
