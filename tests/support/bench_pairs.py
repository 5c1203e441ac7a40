"""`gpusim bench` of this checkout, or of a second one, against another one's, by turns:
`python -m tests.support.bench_pairs THEN [--now NOW] [--pairs N] [--only CASE] [--set PATH=VALUE]`.

Prints the table of docs/performance.md. Each measurement is a process of its own; of a case's times the least counts,
as whatever else the host does only adds to them. `--set` changes the machine of the later one alone: where its model
differs, it can be given the machine that was.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.pages import table

HERE = Path(__file__).resolve().parents[2]


def measured(checkout: Path, case: str, sets: Sequence[str]) -> dict[str, Any]:
    """One measurement of one case, as `gpusim bench --history` keeps it; raises CalledProcessError if it fails."""
    project = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))
    module, function = project["project"]["scripts"]["gpusim"].split(":")
    with tempfile.TemporaryDirectory() as folder:
        history = Path(folder) / "history.jsonl"
        arguments = ["gpusim", "bench", "--only", case, "--history", str(history), *(f"--set={text}" for text in sets)]
        start = f"import sys; sys.argv = {arguments!r}; from {module} import {function}; sys.exit({function}())"
        environment = {**os.environ, "PYTHONPATH": str(checkout)}
        ended = subprocess.run(
            [sys.executable, "-c", start], cwd=checkout, env=environment, capture_output=True, text=True
        )
        if not history.exists():  # a case that another roofline bounds ends with code 1, and is measured
            sys.stderr.write(ended.stderr)
            raise subprocess.CalledProcessError(ended.returncode, arguments)
        return json.loads(history.read_text("utf-8").splitlines()[-1])


def pairs_table(before: Path, after: Path, cases: Sequence[str], pairs: int, sets: Sequence[str]) -> str:
    """A row a case: CPU seconds, their ratio by the least and by the middle pair, simulated cycles."""
    rows, least = [], []
    for case in cases:
        then: list[dict[str, Any]] = []
        now: list[dict[str, Any]] = []
        for _ in range(pairs):
            then.append(measured(before, case, ()))
            now.append(measured(after, case, sets))
        old, new = (min(float(run["cpu_s"]) for run in runs) for runs in (then, now))
        ratios = sorted(b["cpu_s"] / a["cpu_s"] for a, b in zip(then, now, strict=True))
        least.append(new / old)
        cycles = ", ".join(f"{run['cycles'] / 1e3:,.0f}".replace(",", " ") for run in (then[0], now[0]))
        middle = ratios[len(ratios) // 2]
        rows.append([f"`{case}`", f"{old:.3f}, {new:.3f}", f"{new / old:.2f}", f"{middle:.2f}", cycles])
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    mean = math.exp(sum(map(math.log, least)) / len(least))
    rows.append(["geometric mean", "", f"{mean:.2f}", "", ""])
    return table(["case", "CPU seconds: then, now", "ratio", "middle pair", "thousand simulated cycles"], rows)


def main() -> None:
    """The command."""
    from gpusim.bench.cases import CASES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("then", type=Path, metavar="THEN", help="another working tree of the project")
    parser.add_argument("--now", type=Path, metavar="NOW", default=HERE, help="a third one, in place of this")
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs a case")
    parser.add_argument("--only", action="append", default=[], metavar="CASE", help="this case; repeatable")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="for the later one alone")
    given = parser.parse_args()
    cases = given.only or [case.name for case in CASES]
    print(pairs_table(given.then.resolve(), given.now.resolve(), cases, given.pairs, given.set))


if __name__ == "__main__":
    main()
