"""What a start does without: a module that is imported where nothing needs it costs every start its time."""

import subprocess
import sys

import pytest

from gpusim.jit import JIT_DISABLED

DRAWING = {"matplotlib", "networkx", "perfetto", "google.protobuf", "torch"}
COMPILER = {"numba", "gpusim.jit.compile"}


def imported(script: str) -> set[str]:
    """The modules that a process holds after `script`, with the packages they lie in."""
    script += "\nimport sys; print(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("script", ["import gpusim", "from gpusim.cli.main import invoke; invoke(['--help'])"])
def test_the_package_and_its_help_import_next_to_nothing(script: str) -> None:
    heavy = {"numpy", "pydantic", "llvmlite", "yaml", "simpy", "rich.table", "isa", *DRAWING, *COMPILER}
    assert imported(script) & heavy == set()


def test_a_device_imports_no_workloads() -> None:
    found = imported("import gpusim; gpusim.Device('r9nano', quiet=True)")
    assert {name for name in found if name.split(".")[0] in ("workloads", *DRAWING, *COMPILER)} == set()


EXEC = """
from gpusim.cli.main import invoke
sizes = [f"arguments.{name}={{fill: 1, dtype: float32, shape: [64]}}" for name in "abc"]
sets = ["global_size=[64]", "arguments.n.value=64", *sizes, "arguments.c.expected=2"]
assert invoke(["exec", "vector_add", *(word for s in sets for word in ("--set", s))]) == 0
"""


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_a_run_with_a_warm_cache_needs_neither_compiler_nor_drawing() -> None:
    imported(EXEC)  # compiles what is not in the cache
    found = imported(EXEC)
    assert "isa.execution.interpreter" in found
    assert found & {*DRAWING, *COMPILER} == set()
