"""Do the blocks of a shell run that pages show, and print what the page shows? Nightly, each page in its own folder.

Blocks of a page run one after another. What needs more than this machine has, or what a page only sketches, is a row
of NOT_RUN with its reason; what takes minutes is a row of LONG, and runs where GPUSIM_LONG_COMMANDS is set.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shell_blocks import ShellBlock, shell_blocks
from workloads.toolchain.compilers import with_library

ROOT = Path(__file__).parents[2]
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if shell_blocks(page))
FILES = {"tutorials/sweep.md": {"workgroups.yaml": 0}}  # files of the reader's, each the page's YAML block of a number
# part of a line that is not run: why
NOT_RUN = {
    "./program": "a program of the reader's",
    "PROGRAM": "a program of the reader's",
    "report sweep:1 --figure l2.pdf": "the sweep of another page",
    "report sweep:1 --figure gain.svg": "the sweep of another page",
    "report sweep:1 --figure sizes.png": "the sweep of another page",
    "report sweep:1 --figure rate.pdf": "the sweep of another page",
    "report sweep:1 --figure shares.pdf": "the sweep of another page",
    "report sweep:1 --figure front.pdf": "the sweep of another page",
    "report program.json": "what a program of the reader's wrote",
    "python program.py": "a program of the reader's",
    "gpusim suite kernels": "a folder of the reader's",
    "gpusim suite late": "what a program of the reader's did",
    "mine.onnx": "a network of the reader's",
    "mine.csv": "a table of the reader's",
    "--kernels DIR": "a folder of AMD's package",
    "apt install": "changes the machine",
    "apt download": "downloads a package",
    "graph_tool": "a folder of a package that is not downloaded",
    "own-kernels/aggregation": "a graph of a package that is not downloaded",
    "sections results/graphs": "changes a file of the project",
    "pip install": "changes the environment",
    "c++ -O2 tests/vendor/calls.cpp": "an executable, which needs AMD's libraries",
    "./calls": "needs AMD's libraries",
    "tests.vendor.packages": "downloads AMD's packages",
    "gpusim packages": "downloads gigabytes of packages",
    "cupy-folder": "packages that are not downloaded",
    "jax-folder": "packages that are not downloaded",
    "FOLDER": "a folder of AMD's packages",
    "llama-root": "a folder of AMD's packages",
    "{root}": "a folder of AMD's packages",
    "rocblas": "a folder of AMD's packages",
    "tinygrad": "needs tinygrad and AMD's compiler",
    "tests/hip/programs/train.py": "needs tinygrad and AMD's compiler",
    "triton_kernels.py": "needs Triton",
    "clinfo": "a program of another package",
    "--torch": "needs torchvision's models",
    "second_opinion DIR": "what a program of the reader's wrote",
    "gpusim correlate": "needs AMD's packages",
    "fit-products": "changes a file of the project",
    "--live": "serves until it is stopped",
    "curl -s": "asks what --live serves",
    "tcp://": "needs a cluster",
    "dask scheduler": "needs a cluster",
    "perf re": "needs a kernel's counters",
    ".ci/networks": "measures for hours",
    "torchvision_models": "measures for hours",
    "--renew": "changes recorded figures",
    "--check 40": "measures for hours",
    "--prove": "changes recorded figures",
    "--fail-below": "fails on a busy machine",
    "--csv results/": "changes a file of the project",
}
# part of a line that takes more than three minutes of a processor
LONG = (
    "net resnet18",
    "net resnet50",
    "net alexnet",
    "net llama-7b",
    "llama-gate",
    "fit-estimates alexnet",
    "estimate --fitted mine.json",
    "train-phase alexnet --store",
    "sweep sib_prefetch",
    "sweep core_clock --by-layer",
    "sweep resnet18",
    "compare 1 2",
    "reproduce icpe2018",
    "microbench",
    "--dnnmark",
    "workload.batch=512",
    "m: 2048",
    "--perturb 5",
)
COMPILED = ("own-kernels.md", "own-kernels-hip.md")  # pages that build kernels with the device library
LIMIT_S = 1200
_YAML = re.compile(r"```yaml\n(.*?)```", re.DOTALL)


def lines_run(text: str, left_out: tuple[str, ...]) -> str:
    """Return a block without the lines, or the loops, that have one of these parts."""
    commands = re.split(r"\n(?! |done)", text.rstrip())
    return "\n".join(command for command in commands if not any(part in command for part in left_out))


def test_each_line_that_is_not_run_is_on_a_page() -> None:
    text = "\n".join(block.text for page in PAGES for block in shell_blocks(page))
    assert [part for part in (*NOT_RUN, *LONG) if part not in text] == []
    assert lines_run("gpusim exec a\ngpusim hip -- ./program\n", ("./program",)) == "gpusim exec a"
    assert lines_run("for a in b; do\n    c\ndone\nd", ("c",)) == "d"


def test_output_that_a_page_shows_is_found_in_order() -> None:
    block = ShellBlock(ROOT, 1, "", "cycles   1,885\nbound by L2\n")
    assert block.missing("kernel a\ncycles 1,885\nx\nbound\n by L2") == ""
    assert block.missing("bound by L2\ncycles 1,885\n") == "bound by L2"
    assert ShellBlock(ROOT, 1, "", "run … done\n").missing("run 12 done") == ""
    assert block.missing("cycles 1,886\nbound by L2\n") == "cycles   1,885"


@pytest.mark.nightly
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    if page.name in COMPILED and with_library() is None:
        pytest.skip("no clang that reads AMD's device library")
    for name in ("sim_configs", "workloads", "tests", "results", "docs", "gpusim", ".ci"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")  # commands write beside what they read
    yaml = _YAML.findall(page.read_text(encoding="utf-8"))
    for name, number in FILES.get(page.relative_to(ROOT / "docs").as_posix(), {}).items():
        (tmp_path / name).write_text(yaml[number])
    commands = tmp_path / "commands"
    commands.mkdir()
    for name, options in {"gpusim": " -m gpusim", "python": ""}.items():
        (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable}{options} "$@"\n')
        (commands / name).chmod(0o755)
    path = f"{commands}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}
    left_out = (*NOT_RUN, *(() if os.environ.get("GPUSIM_LONG_COMMANDS") else LONG))
    for block in shell_blocks(page):
        script = lines_run(block.text, left_out)
        done = subprocess.run(
            ["bash", "-euc", script],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S,
        )  # fmt: skip
        where, output = f"{page}:{block.line}: {script}", f"{done.stdout}\n{done.stderr}"
        assert done.returncode == 0, f"{where}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        if script.splitlines() == block.text.splitlines():  # output of a block in part is not what the page shows
            missing = block.missing(output)
            assert not missing, f"{where}\nthe page shows, and it does not print:\n{missing}\n{output[-4000:]}"
