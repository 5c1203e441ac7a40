"""Puts errors into the timing core, one at a time, and lists those that no test notices.

python -m tests.mutate --room memory.cache --sample 40 --seed 1 > survivors.md

Each mutation is tried in a copy of the tree, on the tests that call the mutated function, quickest first, without the
compiler. A run that takes far longer than without the error counts as noticed ("time"): most such errors lose a
wake-up. What survives is equivalent or lacks a test: `docs/mutations.md` has the judgements.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutation.mutations import Mutation, mutations_of
from tests.structure.imports import ROOT, room_of, sources

# the first room of a module's that stands here says which tests may notice an error in it
TESTS = {
    "memory": ("tests/unit/memory", "tests/unit/core", "tests/exact"),
    "spartan": ("tests/unit/spartan",),
    "gpusim.core": ("tests/unit/core", "tests/exact", "tests/unit/memory"),
    "gpusim.jit": ("tests/unit/jit",),
}
_NOT_COPIED = (".*", "__pycache__", "docs", "out", "sim_configs/traces")
_STARTUP_S = 8.0  # of pytest
_SLOWDOWN = 3.0  # how much longer than without the error a run may take
CAUGHT, TIME, SURVIVED, UNREACHED = "caught", "time", "survived", "no test calls it"


@dataclass(frozen=True)
class Outcome:
    """What became of a mutation."""

    mutation: Mutation
    result: str
    tests: int


def folders_for(room: str) -> tuple[str, ...]:
    """The folders of tests that concern a room."""
    while room:
        if room in TESTS:
            return TESTS[room]
        room = room.rpartition(".")[0]
    raise SystemExit(f"no tests are known for that room; known: {', '.join(TESTS)} and the rooms within")


def _pytest(tree: Path, arguments: list[str], limit_s: float | None = None, **variables: str) -> int | None:
    """Run pytest in a tree without the compiler; None if it takes more CPU time than `limit_s`."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *arguments]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(tree), **variables}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # a mutated file may be as new and as long as the one before it
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=tree, env=environment, **quiet) as process:  # type: ignore[call-overload]
        if limit_s is not None:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (int(limit_s) + 1, int(limit_s) + 2))
        code = process.wait()
    return None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code


def _copy(folder: str) -> Path:
    tree = Path(tempfile.mkdtemp(dir=folder))
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*_NOT_COPIED), dirs_exist_ok=True)
    return tree


def reached(tree: Path, folders: tuple[str, ...], longest_s: float, kept: Path | None) -> dict[str, dict]:
    """For each test that passes: its seconds and the functions that it calls; from the file `kept` if it is there."""
    target = kept or tree / "reach.json"
    if not target.exists():
        print(f"which functions the tests of {', '.join(folders)} call ...", file=sys.stderr)
        variables = {"GPUSIM_REACH": str(target), "GPUSIM_REACH_LONGEST_S": str(longest_s)}
        _pytest(tree, ["-p", "tests.mutation.reach", *folders], **variables)
    tests = json.loads(target.read_text(encoding="utf-8"))
    if failing := [test for test, found in tests.items() if found["failed"] and not found["cut"]]:
        raise SystemExit(f"without any mutation these fail: {', '.join(failing)}")
    return {
        test: found for test, found in tests.items() if found["passed"] and (tree / test.partition("::")[0]).exists()
    }


class Trial:
    """Tries mutations in copies of the tree, several side by side."""

    def __init__(self, tests: dict[str, dict], trees: list[Path], all_s: float) -> None:
        self._tests, self._all_s = tests, all_s
        self._free: SimpleQueue[Path] = SimpleQueue()
        for tree in trees:
            self._free.put(tree)

    def chosen(self, mutation: Mutation) -> list[str]:
        """The tests to run, quickest first."""
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
        file = tree / mutation.file
        source = file.read_text(encoding="utf-8")
        try:
            file.write_text(mutation.applied(source), encoding="utf-8")
            code = _pytest(tree, ["-x", *chosen], limit_s)
        finally:
            file.write_text(source, encoding="utf-8")
            self._free.put(tree)
        result = TIME if code is None else SURVIVED if code == 0 else CAUGHT
        return Outcome(mutation, result, len(chosen))


def mutable(room: str) -> list[Mutation]:
    """All mutations of a room and of the rooms within it."""
    files = [
        str(path.relative_to(ROOT))
        for module, path in sources()
        if room_of(module) == room or room_of(module).startswith(room + ".")
    ]
    return [mutation for file in files for mutation in mutations_of(file, ROOT)]


def markdown(outcomes: list[Outcome]) -> Iterator[str]:
    """How many were noticed, and the table of the others."""
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


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--room", action="append", help=f"room to mutate, as memory.cache; again for more ({', '.join(TESTS)})"
    )
    parser.add_argument("--sample", type=int, default=40, help="mutations to try, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="copies of the tree to work in")
    parser.add_argument("--longest", type=float, default=10.0, metavar="S", help="leave tests out that take longer")
    parser.add_argument("--tests-seconds", type=float, default=60.0, metavar="S", help="tests for one mutation at most")
    parser.add_argument("--reach", type=Path, help="file that keeps which functions each test calls")
    parser.add_argument("--only", help="try those whose name, as file:line:column mutation, contains this")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="tests to choose from, in place of the rooms' own")
    parser.add_argument("--nice", type=int, default=10, help="how much others go first on this machine")
    parser.add_argument("--list", action="store_true", help="list the mutations and try none")
    return parser.parse_args()


def main() -> None:
    """The command."""
    arguments = _arguments()
    rooms = arguments.room or list(TESTS)
    mutations = [m for room in rooms for m in mutable(room) if not arguments.only or arguments.only in m.name]
    if arguments.sample and arguments.sample < len(mutations):
        mutations = random.Random(arguments.seed).sample(mutations, arguments.sample)
    if arguments.list:
        print("\n".join(m.name for m in mutations))
        return
    folders = tuple(arguments.tests or dict.fromkeys(folder for room in rooms for folder in folders_for(room)))
    os.nice(arguments.nice)
    with tempfile.TemporaryDirectory(prefix="gpusim-mutations-") as folder:
        trees = [_copy(folder) for _ in range(arguments.jobs)]
        kept = arguments.reach.resolve() if arguments.reach else None
        trial = Trial(reached(trees[0], folders, arguments.longest, kept), trees, arguments.tests_seconds)
        outcomes = []
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for n, outcome in enumerate(pool.map(trial.outcome, mutations), 1):
                outcomes.append(outcome)
                print(f"{n}/{len(mutations)} {outcome.result}: {outcome.mutation.name}", file=sys.stderr, flush=True)
    print("\n".join(markdown(outcomes)))


if __name__ == "__main__":
    main()
