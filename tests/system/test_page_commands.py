"""Do the blocks of a shell run that pages show: nightly, each page in a folder of its own, block after block?

What a page only sketches, or what needs more than this machine has, is a row of NOT_RUN with its reason.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shell_blocks import shell_blocks
from workloads.toolchain.compilers import with_library

ROOT = Path(__file__).parents[2]
# pages that are run, and the files of theirs that a block needs: name → number of the page's YAML block
PAGES: dict[str, dict[str, int]] = {
    "docs/how-to/own-kernels.md": {},
    "docs/how-to/own-kernels-hip.md": {},
    "docs/how-to/stored-results.md": {},
    "docs/how-to/timeline.md": {},
    "docs/tutorials/kernel.md": {},
    "docs/tutorials/network.md": {},
    "docs/tutorials/sweep.md": {"workgroups.yaml": 0},
}
# part of a line that is not run: why
NOT_RUN = {
    "./program": "a program of the reader's",
    "gpusim suite kernels": "a folder of the reader's",
    "net resnet18": "an iteration of half an hour",
}
COMPILED = ("own-kernels.md", "own-kernels-hip.md")  # pages that build kernels with the device library
LIMIT_S = 1200
_YAML = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


def lines_run(text: str) -> str:
    """Return a block without the lines that are not run."""
    return "\n".join(line for line in text.splitlines() if not any(part in line for part in NOT_RUN))


def test_each_line_that_is_not_run_is_on_a_page() -> None:
    text = "\n".join(block.text for page in PAGES for block in shell_blocks(ROOT / page))
    assert [part for part in NOT_RUN if part not in text] == []
    assert lines_run("gpusim exec a\ngpusim hip -- ./program\n") == "gpusim exec a"


@pytest.mark.nightly
@pytest.mark.parametrize("page", PAGES, ids=lambda page: Path(page).stem)
def test_blocks_of_a_page_run(page: str, tmp_path: Path) -> None:
    if Path(page).name in COMPILED and with_library() is None:
        pytest.skip("no clang that reads AMD's device library")
    for name in ("sim_configs", "workloads", "tests", "results"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")  # commands write beside what they read
    yaml = _YAML.findall((ROOT / page).read_text(encoding="utf-8"))
    for name, number in PAGES[page].items():
        (tmp_path / name).write_text(yaml[number])
    commands = tmp_path / "commands"
    commands.mkdir()
    for name, options in {"gpusim": " -m gpusim", "python": ""}.items():
        (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable}{options} "$@"\n')
        (commands / name).chmod(0o755)
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    for block in shell_blocks(ROOT / page):
        script = lines_run(block.text)
        done = subprocess.run(
            ["bash", "-euc", script],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S,
        )  # fmt: skip
        assert done.returncode == 0, f"{page}:{block.line}: {script}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
