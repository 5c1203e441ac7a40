"""The mutation scores of packages as they were measured last, and the table of them in docs/results/mutations.md.

`python -m tests.mutation.scores` renews the table from the file of scores, which `python -m tests.mutate --record`
writes.
"""

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from docs._site.pages import renewed, table
from tests.mutation.judges import without_compiler
from tests.mutation.mutations import Mutation, mutations_of
from tests.mutation.trial import CAUGHT, SURVIVED, TIME, UNREACHED, Outcome
from tests.structure.imports import ROOT, package_of, packages, sources

FILE = ROOT / "tests" / "mutation" / "scores.json"
PAGE = ROOT / "docs" / "results" / "mutations.md"
FORM = 2  # one more when other tests judge a mutation, or other mutations are made: rows of earlier forms are marked
RESULTS = (CAUGHT, TIME, SURVIVED, UNREACHED)


def mutable(package: str) -> list[Mutation]:
    """Return all mutations of a package's own modules."""
    files = [str(path.relative_to(ROOT)) for module, path in sources() if package_of(module) == package]
    return [mutation for file in files for mutation in mutations_of(file, ROOT)]


@dataclass(frozen=True)
class Score:
    """What became of a package's sample. possible: mutations that it was drawn from; files: of tests that judged it;
    form: of the command."""

    package: str
    date: str
    seed: int
    possible: int
    files: int
    counts: dict[str, int]
    unnoticed: list[str]
    form: int = 1

    @classmethod
    def of(cls, package: str, seed: int, possible: int, files: int, outcomes: list[Outcome]) -> "Score":
        """Sum up outcomes, as of today."""
        counts = Counter(outcome.result for outcome in outcomes)
        unnoticed = [f"{o.mutation.name} ({o.result})" for o in outcomes if o.result in (SURVIVED, UNREACHED)]
        today = datetime.now(UTC).date().isoformat()
        return cls(package, today, seed, possible, files, {r: counts[r] for r in RESULTS}, sorted(unnoticed), FORM)

    @property
    def tried(self) -> int:
        """The mutations of the sample."""
        return sum(self.counts.values())

    @property
    def noticed(self) -> int:
        """Those that some test noticed."""
        return self.counts[CAUGHT] + self.counts[TIME]


def read(file: Path = FILE) -> dict[str, Score]:
    """Read the scores of the packages that were judged."""
    held: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return {package: Score(package, **values) for package, values in held.items()}


def record(score: Score, file: Path = FILE) -> None:
    """Put a package's score in the place of its last one."""
    scores = {**read(file), score.package: score}
    held = {package: {k: v for k, v in vars(scores[package]).items() if k != "package"} for package in sorted(scores)}
    file.write_text(json.dumps(held, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def scores_table(scores: dict[str, Score]) -> str:
    """Make the table of all packages of the tree; of one that was never judged it says so."""
    rows = []
    for package in sorted(packages()):
        cells, score = [f"`{package}`", "off" if without_compiler(package) else "on"], scores.get(package)
        if score is None:
            rows.append([*cells, "", "", "not judged", "", "", "", ""])
        elif not score.possible:
            rows.append([*cells, "", "0", "nothing to mutate", "", "", "", score.date])
        else:
            share = f"{score.noticed} of {score.tried} ({100 * score.noticed / score.tried:.0f} %)"
            unnoticed = [str(score.counts[SURVIVED]), str(score.counts[UNREACHED])]
            date = score.date + " *" * (score.form < FORM)
            rows.append([*cells, str(score.files), str(score.possible), share, *unnoticed, str(score.seed), date])
    judged = [score for score in scores.values() if score.possible]
    tried, noticed = sum(s.tried for s in judged), sum(s.noticed for s in judged)
    head = ["package", "compiler", "test files", "possible", "noticed", "survived", "no test calls it", "seed", "date"]
    total = f"In all: {noticed} of {tried} noticed, in {len(judged)} of {len(packages())} packages."
    if any(score.form < FORM for score in judged):
        total += (
            " *: judged by an earlier form of the command, by other tests; the next run of a package replaces its row."
        )
    return f"{table(head, rows)}\n\n{total}"


def page() -> str:
    """Return docs/results/mutations.md with its table made anew."""
    return renewed(PAGE.read_text(encoding="utf-8"), {"scores": lambda: scores_table(read())})


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
