"""A suite: a folder of kernels and programs, each run by itself, beside the times that a card has measured.

A kernel is an execution's file (`.yaml`, as `gpusim exec` takes it); a recorded launch is a folder with its own
(`gpusim hip --record`). A program is an executable ELF file; where programs need arguments, `suite.yaml` in the folder
names them with their command lines.
"""

import csv
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gpusim.base.errors import EXIT_USER_ERROR, UserError, unknown_name
from gpusim.base.plain_data import parse_as, read_json
from gpusim.config.exec import EXAMPLE_FOLDER
from gpusim.config.files import Document, find_config_folder, read

SUITE_FILE = "suite.yaml"
_RECORDED = "launch.yaml"  # of a recorded launch (gpusim.jobs.hip.launch_files)
MEASURED = {"kernel_us": "kernel.time_us", "host_us": "host.time_us"}  # column of measured times → metric
_ELF = b"\x7fELF"


class SuiteFile(NamedTuple):
    """What `suite.yaml` says."""

    programs: dict[str, str]
    """Command lines by name; the folder is the current one of each."""


@dataclass(frozen=True)
class SuiteEntry:
    """A kernel or program of a suite."""

    name: str
    """Name: of the file without its suffix, or as `suite.yaml` has it."""
    kind: str
    """Command that runs it: `exec` or `hip`."""
    arguments: tuple[str, ...]
    """The execution's file, or the program with its arguments."""

    @property
    def is_program(self) -> bool:
        """Whether it is a program, not a kernel."""
        return self.kind == "hip"


@dataclass(frozen=True)
class SuiteOptions:
    """Options of every run of a suite."""

    gpu: str | None = None
    """GPU; None: that of each file, and the R9 Nano for programs."""
    sets: Sequence[str] = ()
    """Configuration values, as `--set` takes them for a GPU."""
    timeout_s: float | None = None
    """Wall time limit of each run in seconds; None: no limit."""
    store: str | None = None
    """Store that keeps the results; None: none."""


@dataclass(frozen=True)
class SuiteOutcome:
    """Outcome of one entry."""

    entry: SuiteEntry
    """Entry."""
    verdict: str
    """`verified`, `WRONG`, `not compared`, `exit N` of a program, `partial`, or `failed`."""
    problem: str
    """Message of a run that failed; empty: none."""
    result: Mapping[str, Any] | None
    """JSON object of the result; None: there is none."""

    @property
    def is_good(self) -> bool:
        """Whether the run ended as expected."""
        return self.verdict in ("verified", "not compared", "exit 0")

    def metric(self, path: str) -> Any:
        """Return a metric of the result; None where there is none."""
        value: Any = self.result
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value


def find_entries(folder: Path) -> list[SuiteEntry]:
    """Find the kernels and programs of a folder.

    Args:
        folder: The folder.

    Returns:
        Kernels, then programs, by name.

    Raises:
        UserError: There is nothing to run, a file is damaged, or two entries have one name.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: is no folder")
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUITE_FILE)
    kernels = [
        SuiteEntry(path.stem, "exec", (str(path),))
        for path in files
        if path.suffix in (".yaml", ".yml") and find_config_folder(Document(path, read(path))) == EXAMPLE_FOLDER
    ]
    kernels += [SuiteEntry(path.parent.name, "exec", (str(path),)) for path in sorted(folder.glob(f"*/{_RECORDED}"))]
    suite_file = folder / SUITE_FILE
    if suite_file.exists():
        lines = parse_as(SuiteFile, read(suite_file), str(suite_file)).programs
        programs = [SuiteEntry(name, "hip", _command_line(suite_file, name, line)) for name, line in lines.items()]
    else:
        programs = [SuiteEntry(path.name, "hip", (f"./{path.name}",)) for path in files if _is_program(path)]
    entries = [*kernels, *programs]
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{folder}: '{name}' is the name of two entries")
    if not entries:
        raise UserError(
            f"{folder}: has nothing to run: executions' files (.yaml), recorded launches, programs, or {SUITE_FILE}"
        )
    return entries


def run_suite(
    folder: Path,
    entries: Sequence[SuiteEntry],
    options: SuiteOptions,
    jobs: int,
    report: Callable[[SuiteOutcome], None],
) -> list[SuiteOutcome]:
    """Run the entries of a suite, each in a process of its own.

    Args:
        folder: Folder of the suite, in which programs run.
        entries: Entries.
        options: Options of every run.
        jobs: Most runs at a time.
        report: Called with each outcome as it is known.

    Returns:
        The outcomes in the order of the entries.
    """
    outcomes: dict[str, SuiteOutcome] = {}
    with tempfile.TemporaryDirectory(prefix="gpusim-suite-") as scratch, ThreadPoolExecutor(jobs) as pool:
        runs = [
            pool.submit(_run, folder, entry, options, Path(scratch) / f"{number}.json")
            for number, entry in enumerate(entries)
        ]
        for run in as_completed(runs):
            outcome = run.result()
            outcomes[outcome.entry.name] = outcome
            report(outcome)
    return [outcomes[entry.name] for entry in entries]


def read_measured(path: Path, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Read a table of measured times: CSV with `name` and `kernel_us`, `host_us` or both.

    Args:
        path: File of the table.
        names: Names of the entries.

    Returns:
        Times in microseconds by name and column.

    Raises:
        UserError: The table cannot be read, has other columns, an unknown name, or a time that is none.
    """
    try:
        rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(), skipinitialspace=True))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    columns = [column for column in MEASURED if rows and column in rows[0]]
    if not rows or "name" not in rows[0] or not columns:
        raise UserError(f"{path}: line 1: a table of measured times has the columns name and {' or '.join(MEASURED)}")
    times: dict[str, dict[str, float]] = {}
    for number, row in enumerate(rows, 2):
        where = f"{path}: line {number}"
        if row["name"] not in names:
            raise UserError(f"{where}: {unknown_name('entry', row['name'] or '', names)}")
        known = {column: row[column] for column in columns if row[column]}
        times[row["name"]] = {column: _time(f"{where}: {column}", text) for column, text in known.items()}
    return times


def _time(place: str, text: str) -> float:
    try:
        time_us = float(text)
    except ValueError:
        time_us = 0.0
    if not 0 < time_us < float("inf"):
        raise UserError(f"{place}: '{text}' is no time in microseconds above 0")
    return time_us


def _is_program(path: Path) -> bool:
    """Tell whether a file is an executable ELF file of the host, not a code object."""
    if not os.access(path, os.X_OK):
        return False
    with path.open("rb") as file:
        head = file.read(20)
    return head[:4] == _ELF and head[18:20] != b"\xe0\x00"  # EM_AMDGPU


def _command_line(path: Path, name: str, line: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise UserError(f"{path}: programs.{name}: is no command line: {error}") from None
    if not words:
        raise UserError(f"{path}: programs.{name}: is empty; a command line is needed")
    return words


def _options(entry: SuiteEntry, options: SuiteOptions) -> Iterator[str]:
    prefix = "" if entry.is_program else "gpu."
    if options.gpu is not None:
        yield from ("--gpu", options.gpu) if entry.is_program else ("--set", f"gpu={options.gpu}")
    for assignment in options.sets:
        yield from ("--set", prefix + assignment.removeprefix("gpu."))
    if options.timeout_s is not None:
        yield from ("--timeout", str(options.timeout_s))
    if options.store is not None:
        yield from ("--store", options.store)


def _run(folder: Path, entry: SuiteEntry, options: SuiteOptions, file: Path) -> SuiteOutcome:
    """Run an entry in a process of its own; what it prints is kept for the message of a failure alone."""
    command = [sys.executable, "-m", "gpusim", entry.kind, *_options(entry, options), "--json", str(file), "--quiet"]
    end = ["--", *entry.arguments] if entry.is_program else list(entry.arguments)
    where = folder if entry.is_program else None
    done = subprocess.run([*command, *end], cwd=where, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    problem = lines[-1].removeprefix("gpusim: ").removeprefix("error: ") if lines else f"ended with {done.returncode}"
    if not file.exists():
        return SuiteOutcome(entry, "failed", problem, None)
    result = read_json(file)
    verdict = _verdict(entry, result, done.returncode)
    return SuiteOutcome(entry, verdict, problem if done.returncode or verdict == "WRONG" else "", result)


def _verdict(entry: SuiteEntry, result: Mapping[str, Any], code: int) -> str:
    if result["partial"]:
        return "partial"
    if entry.is_program:
        return f"exit {result['exit_code']}"
    passed = (result.get("verification") or {}).get("passed")
    if passed is None:
        return "failed" if code == EXIT_USER_ERROR else "not compared"
    return "verified" if passed else "WRONG"
