"""Puts errors into the code, one at a time, and lists those that no test notices.

python -m tests.mutate --package memory.cache --sample 40 --seed 1 > survivors.md

A sample is drawn from each package. Each mutation is tried in a copy of the tree, on the tests that call the mutated
function, quickest first; in packages that are compiled without the compiler. Which files of tests judge a module
follows
from what they import (`tests/mutation/judges.py`). A run that takes far longer than without the error counts as noticed
("time"): most such errors lose a wake-up. What survives is equivalent or lacks a test: `docs/results/mutations.md` has
the judgements, and the packages' scores as --record keeps them.
"""

import argparse
import os
import random
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.mutation.judges import MOST_FILES, judges, mode_of
from tests.mutation.mutations import Mutation
from tests.mutation.scores import PAGE, Score, mutable, page, record
from tests.mutation.trial import Outcome, Reached, Tree, Trial, markdown
from tests.structure.imports import packages


def packages_within(names: list[str]) -> list[str]:
    """Return the packages that have these names or lie within; all packages where none is named."""
    known = sorted(packages())
    found = [package for package in known if not names or any(f"{package}.".startswith(f"{name}.") for name in names)]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"'{unknown[0]}' is no package; the packages are {', '.join(known)}")
    return found


def drawn(package: str, size: int, seed: int, only: str = "") -> list[Mutation]:
    """Draw a sample of a package's mutations, all for size 0; what is drawn in one package changes no other's."""
    mutations = [m for m in mutable(package) if only in m.name]
    if 0 < size < len(mutations):
        return random.Random(f"{seed} {package}").sample(mutations, size)
    return mutations


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutate", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--package", action="append", default=[], help="package with those within, as memory.cache; again"
    )
    parser.add_argument("--sample", type=int, default=10, help="mutations of a package to try, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing")
    parser.add_argument("--record", action="store_true", help="keep the packages' scores and renew the page's table")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="copies of the tree to work in")
    parser.add_argument("--longest", type=float, default=2.0, metavar="S", help="leave tests out that take longer")
    parser.add_argument("--tests-seconds", type=float, default=8.0, metavar="S", help="tests for one mutation at most")
    parser.add_argument("--files", type=int, default=MOST_FILES, help="files of tests for a module at most")
    parser.add_argument("--reach", type=Path, help="file that keeps which functions each test calls")
    parser.add_argument("--only", default="", help="try those whose name, as file:line:column mutation, contains this")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="files of tests, in place of the modules' own")
    parser.add_argument("--nice", type=int, default=10, help="how much others go first on this machine")
    parser.add_argument("--list", action="store_true", help="list the mutations and try none")
    arguments = parser.parse_args()
    if arguments.record and (arguments.only or arguments.tests):
        parser.error("--record keeps samples of whole packages, judged by their own tests: not with --only or --tests")
    return arguments


def _tried(mutations: list[Mutation], trial: Trial, jobs: int) -> list[Outcome]:
    """Try mutations, several side by side, and say what becomes of each."""
    outcomes = []
    with ThreadPoolExecutor(jobs) as pool:
        for n, outcome in enumerate(pool.map(trial.outcome, mutations), 1):
            outcomes.append(outcome)
            print(f"{n}/{len(mutations)} {outcome.result}: {outcome.mutation.name}", file=sys.stderr, flush=True)
    return outcomes


def main() -> None:
    """Run the command."""
    arguments = _arguments()
    chosen = packages_within(arguments.package)
    if arguments.list:
        for package in chosen:
            print("\n".join(m.name for m in drawn(package, arguments.sample, arguments.seed, arguments.only)))
        return
    os.nice(arguments.nice)
    outcomes, reached = [], Reached(arguments.reach and arguments.reach.resolve(), arguments.longest)
    with (
        tempfile.TemporaryDirectory(prefix="gpusim-mutations-", ignore_cleanup_errors=True) as folder,
        ExitStack() as stack,
    ):
        trees: dict[str, list[Tree]] = {}
        for package in chosen:
            mode = mode_of(package)
            if mode not in trees:
                trees[mode] = [Tree(Path(folder) / f"{mode}{n}", mode) for n in range(arguments.jobs)]
                for tree in trees[mode]:
                    stack.callback(tree.close)
            mutations = drawn(package, arguments.sample, arguments.seed, arguments.only)
            files = arguments.tests or judges([m.file for m in mutations], arguments.files)
            tests = reached.of(files, trees[mode][0])
            found = _tried(mutations, Trial(tests, trees[mode], arguments.tests_seconds), arguments.jobs)
            outcomes += found
            if arguments.record:
                record(Score.of(package, arguments.seed, len(mutable(package)), len(files), found))
                PAGE.write_text(page(), encoding="utf-8")
    print("\n".join(markdown(outcomes)))


if __name__ == "__main__":
    main()
