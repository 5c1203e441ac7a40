"""What a start does without: a module that is imported where nothing needs it costs every start its time."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from gpusim.base.jit import JIT_DISABLED
from gpusim.cli.lazy import CommandEntry
from gpusim.cli.main import SECTIONS
from gpusim.results.store import file

DRAWING = {"matplotlib", "networkx", "perfetto", "google.protobuf", "torch"}
COMPILER = {"numba", "gpusim.base.jit.compile"}
HEAVY = {"numpy", "pydantic", "llvmlite", "yaml", "simpy", "rich.table", "isa", *DRAWING, *COMPILER}


@cache
def imported(script: str) -> frozenset[str]:
    """The modules that a process holds after `script`, with the packages they lie in."""
    script += "\nimport sys; print(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return frozenset(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("script", ["import gpusim", "from gpusim.cli.main import invoke; invoke(['--help'])"])
def test_the_package_and_its_help_import_next_to_nothing(script: str) -> None:
    assert imported(script) & HEAVY == set()


def test_a_device_imports_no_workloads() -> None:
    found = imported("import gpusim; gpusim.Device('r9nano', quiet=True).queue()")
    assert {name for name in found if name.split(".")[0] in ("workloads", *DRAWING, *COMPILER)} == set()


def test_a_store_is_asked_without_the_simulator(tmp_path: Path) -> None:
    file.writable(tmp_path / "s.db").close()
    found = imported(f"import gpusim; gpusim.open_store({str(tmp_path / 's.db')!r}).table('runs')")
    assert (
        found & {"numpy", "pydantic", "yaml", "gpusim.model.core", "gpusim.config", "isa", *DRAWING, *COMPILER} == set()
    )


STORED = """
import os
os.chdir({folder!r})
from gpusim.cli.main import invoke
from gpusim.config.exec import load_exec
from gpusim.model.core.facts import RunFacts
from gpusim.results.store.work import describe_exec
from gpusim.results.store.keeper import StoreWriter, RunClock
from gpusim.results.store.outcome import build_outcome
from gpusim.results.records.record import RunRecord
from pathlib import Path
facts = RunFacts.of(kernel={{"name": "k", "cycles": 1, "clock_ghz": 1.0}})
outcome = build_outcome([RunRecord(False, "k", [facts])], [""], 0)
with StoreWriter(Path("gpusim.db")) as keeper:
    keeper.keep(describe_exec(*load_exec("vector_add")), outcome, RunClock())
assert invoke(["exec", "vector_add", "--store"]) == 0
"""


def test_what_is_found_in_a_store_needs_no_simulator(tmp_path: Path) -> None:
    found = imported(STORED.format(folder=str(tmp_path)))
    assert (
        found & {"gpusim.model.core.simulator", "gpusim.model.core.loop", "gpusim.jobs.running", *DRAWING, *COMPILER}
        == set()
    )


EXEC = """
from gpusim.cli.main import invoke
sizes = [f"arguments.{name}={{fill: 1, dtype: float32, shape: [64]}}" for name in "abc"]
sets = ["global_size=[64]", "arguments.n.value=64", *sizes, "arguments.c.expected=2"]
assert invoke(["exec", "vector_add", *(word for s in sets for word in ("--set", s))]) == 0
"""


RUN = """
from gpusim.cli.main import invoke
sets = ["workload.batch=1", "workload.layer.input_channels=16", "workload.layer.output_channels=32"]
sets += ["workload.data=synthetic", "run.engine=on"]
assert invoke(["run", "layerA", *(word for s in sets for word in ("--set", s)), "--quiet"]) == 0
"""


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize("script", [EXEC, RUN])
def test_a_run_with_a_warm_cache_needs_neither_compiler_nor_drawing(script: str) -> None:
    found = imported(script)
    if found & COMPILER:  # it has compiled what was not in the cache
        found = imported.__wrapped__(script)
    assert "isa.execution.interpreter" in found
    assert found & {*DRAWING, *COMPILER} == set()


NOT_ASKED_FOR = {
    *("gpusim.results.live.server", "gpusim.results.live.sender", "gpusim.results.live.snapshot", "http.server"),
    *("gpusim.results.store.keeper", "gpusim.results.store.outcome", "gpusim.results.store.file", "sqlite3", "tomllib"),
    *(
        "gpusim.model.sampling.sampler",
        "gpusim.model.core.sampled",
        "gpusim.model.core.steering",
        "gpusim.model.core.engine_link",
    ),
    *("gpusim.results.report.page", "gpusim.config.workload", "workloads.operators.tiling", "numpy.random"),
}


COMMAND_FILES = {
    command.place.rpartition(".")[0]
    for rows in SECTIONS.values()
    for row in rows.values()
    for command in ([row] if isinstance(row, CommandEntry) else row.commands.values())
}


def test_a_run_without_more_imports_no_more() -> None:
    found = imported(EXEC)
    assert found & NOT_ASKED_FOR == set()
    assert found & COMMAND_FILES == {"gpusim.cli.exec"}


@pytest.mark.parametrize(
    ("lines", "files"),
    [
        ((["exec", "--help"],), {"gpusim.cli.exec"}),
        ((["results", "show", "--help"],), {"gpusim.cli.results"}),
        ((["results", "--help"], ["--help"], ["exce"]), set()),
    ],
)
def test_only_the_command_that_is_named_is_imported(lines: tuple[list[str], ...], files: set[str]) -> None:
    calls = "; ".join(f"invoke({words})" for words in lines)
    assert imported(f"from gpusim.cli.main import invoke; {calls}") & COMMAND_FILES == files


EVERY_HELP = """
from gpusim.cli.main import command_line, invoke
for name, command in command_line().commands.items():
    for below in getattr(command, "commands", [None]):
        assert invoke([name, *([below] if below else []), "--help"]) == 0
"""


def test_the_help_of_no_command_imports_what_it_would_run() -> None:
    found = imported(EVERY_HELP)
    assert found >= COMMAND_FILES
    assert found & HEAVY == {"pydantic"}  # Typer's own, for the types of options
