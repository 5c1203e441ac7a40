"""Tries errors in copies of the tree, each on the tests that call the function it is in, quickest first."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from gpusim.base.jit.cache_folders import chosen as cache_folder
from tests.mutation.mutations import Mutation
from tests.structure.imports import ROOT

_NOT_COPIED = (".git", ".venv", ".cache", "*_cache", ".hypothesis", "__pycache__", "*.egg-info", "build", "dist", "out")
_STARTUP_S = 8.0  # of pytest
_SLOWDOWN = 3.0  # how much longer than without the error a run may take
CAUGHT, TIME, SURVIVED, UNREACHED = "caught", "time", "survived", "no test calls it"


@dataclass(frozen=True)
class Outcome:
    """What became of a mutation, and how many tests were chosen for it."""

    mutation: Mutation
    result: str
    tests: int


class Tree:
    """A copy of the tree in which pytest runs, in folders of its own. mode: how it is tried (`judges.mode_of`).

    Errors in what keeps files must not reach the user's own: home, temporary files and compiled code are the copy's.
    """

    def __init__(self, folder: Path, mode: str) -> None:
        self.mode = mode
        self.path = folder / "tree"
        shutil.copytree(ROOT, self.path, ignore=shutil.ignore_patterns(*_NOT_COPIED))
        for name in ("home", "tmp"):
            (folder / name).mkdir()
        kept = cache_folder()
        if mode == "compiled" and kept is not None and kept.is_dir():
            shutil.copytree(kept, folder / "code", ignore=shutil.ignore_patterns("*.lock"), symlinks=True)
        own = {"HOME": folder / "home", "TMPDIR": folder / "tmp", "GPUSIM_CACHE_DIR": folder / "code"}
        variables = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        variables |= {name: str(value) for name, value in own.items()} | {"PYTHONPATH": str(self.path)}
        variables["NUMBA_DISABLE_JIT"] = "1" if mode == "plain" else "0"
        command = [sys.executable, "-m", "tests.mutation.server"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._server = subprocess.Popen(command, cwd=self.path, env=variables, text=True, **pipes)
        self._written = 0

    def pytest(self, arguments: Iterable[str], limit_s: float | None = None, **variables: str) -> int | None:
        """Run pytest; return its exit code, None if it takes more processor time than `limit_s`."""
        always = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0"]
        order = {"arguments": [*always, *arguments], "limit_s": limit_s, "variables": variables}
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(json.dumps(order) + "\n")
        self._server.stdin.flush()
        code = json.loads(self._server.stdout.readline())
        return None if code is None else int(code)

    def tried(self, mutation: Mutation, arguments: Iterable[str], limit_s: float) -> int | None:
        """Run pytest with an error in the tree."""
        file = self.path / mutation.file
        source, times = file.read_text(encoding="utf-8"), file.stat()
        self._written += 1
        try:
            file.write_text(mutation.applied(source), encoding="utf-8")
            # Python tells a kept module from a new one by length and second alone
            os.utime(file, (times.st_mtime + self._written, times.st_mtime + self._written))
            return self.pytest(arguments, limit_s)
        finally:
            file.write_text(source, encoding="utf-8")
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    def close(self) -> None:
        """End the server."""
        assert self._server.stdin
        self._server.stdin.close()
        self._server.wait()


@dataclass
class Reached:
    """Which functions the tests of which files call, as found so far; `kept`: the file that keeps it for later runs."""

    kept: Path | None = None
    longest_s: float = 10.0
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kept and self.kept.exists():
            self.files = json.loads(self.kept.read_text(encoding="utf-8"))

    def of(self, files: Iterable[str], tree: Tree) -> dict[str, dict[str, Any]]:
        """Return, for each test in the files that passes, its seconds and the functions that it calls.

        What fails without any error is told: it says nothing.
        """
        files = list(files)
        for file in files:
            if f"{tree.mode} {file}" in self.files:
                continue
            print(f"which functions the tests of {file} call ...", file=sys.stderr, flush=True)
            self.files[f"{tree.mode} {file}"] = self._collected(file, tree)
            if self.kept:
                self.kept.write_text(json.dumps(self.files), encoding="utf-8")
        tests = {test: held for file in files for test, held in self.files[f"{tree.mode} {file}"].items()}
        if failing := [test for test, held in tests.items() if held["failed"] and not held["cut"]]:
            print(f"these fail without any error and are left out: {', '.join(failing)}", file=sys.stderr)
        return {test: held for test, held in tests.items() if held["passed"] and "functions" in held}

    def _collected(self, file: str, tree: Tree) -> dict[str, dict[str, Any]]:
        """Run a file's tests in a process of their own, in which it alone imports what it needs."""
        with tempfile.NamedTemporaryFile(suffix=".json") as target:
            variables = {"GPUSIM_REACH": target.name, "GPUSIM_REACH_LONGEST_S": str(self.longest_s)}
            tree.pytest(["-p", "tests.mutation.reach", file], **variables)
            text = Path(target.name).read_text(encoding="utf-8")
        return json.loads(text) if text else {}


class Trial:
    """Tries mutations on tests, in one of several trees at a time."""

    def __init__(self, tests: dict[str, dict[str, Any]], trees: list[Tree], all_s: float) -> None:
        self._tests, self._all_s = tests, all_s
        self._free: SimpleQueue[Tree] = SimpleQueue()
        for tree in trees:
            self._free.put(tree)

    def chosen(self, mutation: Mutation) -> list[str]:
        """Return the tests to run, quickest first."""
        function = f"{mutation.file}:{mutation.function}"
        calling = [(found["seconds"], test) for test, found in self._tests.items() if function in found["functions"]]
        chosen, total = [], 0.0
        for seconds, test in sorted(calling):
            if total + seconds > self._all_s:
                break
            total += seconds
            chosen.append(test)
        return chosen

    def outcome(self, mutation: Mutation) -> Outcome:
        """Try one mutation."""
        chosen = self.chosen(mutation)
        if not chosen:
            return Outcome(mutation, UNREACHED, 0)
        limit_s = _STARTUP_S + _SLOWDOWN * sum(self._tests[test]["seconds"] for test in chosen)
        tree = self._free.get()
        try:
            code = tree.tried(mutation, ["-x", *chosen], limit_s)
        finally:
            self._free.put(tree)
        result = TIME if code is None else SURVIVED if code == 0 else CAUGHT
        return Outcome(mutation, result, len(chosen))


def markdown(outcomes: list[Outcome]) -> Iterator[str]:
    """Yield the lines of a report: how many were noticed, and the table of the others."""
    counts = Counter(outcome.result for outcome in outcomes)
    yield f"{len(outcomes)} mutations: " + ", ".join(f"{counts[r]} {r}" for r in (CAUGHT, TIME, SURVIVED, UNREACHED))
    yield ""
    yield "| where | function | mutation | tests |"
    yield "|---|---|---|---|"
    for o in sorted(outcomes, key=lambda o: (o.mutation.file, o.mutation.start)):
        if o.result in (SURVIVED, UNREACHED):
            m = o.mutation
            what = m.what.replace("|", "\\|")
            yield f"| {m.file}:{m.start[0]}:{m.start[1]} | `{m.function}` | {what} | {o.tests or 'none'} |"
