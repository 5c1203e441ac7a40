"""What examples print: scripts of examples/own-kernels, and queries of a timeline."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docs._site.pages import ROOT, table
from gpusim.base.formats import FIXED_0
from tests.support.trace_reader import read_trace

REASONS = ("memory_dependency", "execution_dependency", "memory_throttle", "instruction_fetch")


def sweep() -> str:
    """docs/how-to/own-kernels.md: what examples/own-kernels/sweep.py prints."""
    return _printed("arrays.py", "sweep.py")


def precision() -> str:
    """docs/how-to/own-kernels-hip.md: what examples/own-kernels/precision.py prints."""
    return _printed("logits.py", "precision.py")


def _printed(inputs: str, script: str) -> str:
    """What an example's script prints when its input is there, of the committed code objects."""
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copytree(ROOT / "examples/own-kernels", Path(scratch) / "examples/own-kernels")
        for name in (inputs, script):
            command = [sys.executable, f"examples/own-kernels/{name}"]
            environment = {**os.environ, "PYTHONPATH": str(ROOT)}
            done = subprocess.run(command, cwd=scratch, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return "```\n" + done.stdout.rstrip("\n") + "\n```"


def _vector_add_trace() -> Path:
    from gpusim.cli.main import invoke

    path = Path(tempfile.mkdtemp()) / "vector_add.pftrace"
    assert invoke(["exec", "vector_add", "--quiet", "--timeline", str(path)]) == 0
    return path


def miss_steps() -> str:
    """docs/how-to/timeline.md: the first query's answer, of the shipped vector_add."""
    steps: dict[str, list[float]] = {}
    for request in read_trace(_vector_add_trace()).slices:
        if request.name == "load miss":
            for step in request.inside:
                steps.setdefault(step.name, []).append(step.cycles)
    rows = [[name, str(len(c)), f"{int(sum(c)) // len(c)}", FIXED_0(max(c))] for name, c in steps.items()]
    return table(["step", "requests", "mean_cycles", "max_cycles"], rows)


def waits() -> str:
    """docs/how-to/timeline.md: the second query's answer."""
    cycles: dict[tuple[str, str], float] = {}
    for part in read_trace(_vector_add_trace()).slices:
        if part.category in REASONS:
            key = (part.category, str(part.notes.get("at", "")))
            cycles[key] = cycles.get(key, 0.0) + part.cycles
    most = sorted(cycles.items(), key=lambda item: -item[1])[:5]
    return table(["reason", "instruction", "cycles"], [[*key, FIXED_0(total)] for key, total in most])
