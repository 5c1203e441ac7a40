"""`gpusim bench` of this checkout, or of a second one, against another one's, by turns:
`python -m docs._site.bench_pairs THEN [--now NOW] [--pairs N] [--only CASE] [--set PATH=VALUE | --short [--gpu NAME]]`.

Prints the table of docs/performance.md. Each measurement is a process of its own; of a case's times the least counts,
as whatever else the host does only adds to them. `--set` changes the machine of the later one alone: where its model
differs, it can be given the machine that was. `--short`, for a busy host: a process of each checkout, which run
launches of a sixteenth of a case's size by turns; of many short ones some find the host quiet. `--gpu`: with `--short`,
the GPU of both. `.ci/speed` does so for the GPUs in `results/speed.json`, whose ratios `--recorded` compares with, and
`--record` renews.
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
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from docs._site.pages import table
from gpusim.base.formats import FIXED_1, FIXED_2, FIXED_3, GROUPED_0, PERCENT_CHANGE

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
        cycles = ", ".join(GROUPED_0(run["cycles"] / 1e3).replace(",", " ") for run in (then[0], now[0]))
        middle = ratios[len(ratios) // 2]
        rows.append([f"`{case}`", f"{FIXED_3(old)}, {FIXED_3(new)}", FIXED_2(new / old), FIXED_2(middle), cycles])
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    mean = math.exp(sum(map(math.log, least)) / len(least))
    rows.append(["geometric mean", "", FIXED_2(mean), "", ""])
    return table(["case", "CPU seconds: then, now", "ratio", "middle pair", "thousand simulated cycles"], rows)


def short_rows(before: Path, after: Path, cases: Sequence[str], pairs: int, gpu: str | None) -> list[list[str]]:
    """A row a case: CPU milliseconds of short launches, their ratio by the least, the tenth and the middle one."""
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker(checkout, gpu)) for checkout in (before, after)]
        for worker in workers:
            assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
        rows = [_short_row(case, workers, pairs) for case in cases]
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.close()
    return rows


def short_table(rows: list[list[str]]) -> str:
    """The table of `short_rows`, with the mean of their ratios."""
    mean = math.exp(sum(math.log(float(row[2])) for row in rows) / len(rows))
    whole = [*rows, ["geometric mean", "", FIXED_3(mean), "", "", ""]]
    heads = ["case", "CPU ms: then, now", "ratio", "at a tenth", "in the middle", "simulated cycles"]
    return table(heads, whole)


def speeds(rows: list[list[str]]) -> dict[str, float]:
    """How fast the later checkout is by case, as a share of the earlier one's speed: above 1 it is the faster."""
    return {row[0].strip("`"): round(1 / float(row[2]), 3) for row in rows}


def drift_table(recorded: dict[str, float], measured_now: dict[str, float]) -> str:
    """A row a case: speed by the base's as recorded, as measured now, and the change in per cent."""
    rows = []
    for case, speed in measured_now.items():
        before = recorded.get(case)
        drift = "not recorded" if before is None else PERCENT_CHANGE(speed / before - 1)
        rows.append([f"`{case}`", "" if before is None else FIXED_3(before), FIXED_3(speed), drift])
    return table(["case", "recorded", "now", "drift"], rows)


def _worker(checkout: Path, gpu: str | None) -> "subprocess.Popen[str]":
    command = [sys.executable, str(HERE / "docs/_site/bench_worker.py"), *([f"gpu={gpu}"] if gpu else [])]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=checkout, env=environment, stdin=pipe, stdout=pipe, text=True)


def _short_row(case: str, workers: Sequence["subprocess.Popen[str]"], pairs: int) -> list[str]:
    taken: tuple[list[float], list[float]] = ([], [])
    cycles = [0, 0]
    for pair in range(pairs):
        for side in (0, 1) if pair % 2 else (1, 0):
            worker = workers[side]
            assert worker.stdin is not None and worker.stdout is not None
            print(case, file=worker.stdin, flush=True)
            cpu_s, simulated = worker.stdout.readline().split()
            taken[side].append(1000 * float(cpu_s))
            cycles[side] = int(simulated)
    then, now = map(sorted, taken)
    ratios = [FIXED_3(now[at] / then[at]) for at in (0, len(then) // 10, len(then) // 2)]
    row = [f"`{case}`", f"{FIXED_1(then[0])}, {FIXED_1(now[0])}", *ratios, ", ".join(map(str, dict.fromkeys(cycles)))]
    print(" | ".join(row), file=sys.stderr, flush=True)
    return row


def main() -> None:
    """The command."""
    from gpusim.lab.checks.bench.cases import CASES

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("then", type=Path, metavar="THEN", help="another working tree of the project")
    parser.add_argument("--now", type=Path, metavar="NOW", default=HERE, help="a third one, in place of this")
    parser.add_argument("--pairs", type=int, help="pairs of runs a case; 5 by default")
    parser.add_argument("--only", action="append", default=[], metavar="CASE", help="this case; repeatable")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="for the later one alone")
    parser.add_argument("--short", action="store_true", help="short launches, 60 pairs by default")
    parser.add_argument("--gpu", metavar="NAME", help="with --short: another GPU than the bench's, for both")
    parser.add_argument("--recorded", type=Path, metavar="FILE", help="with --short and --gpu: print drift from these")
    parser.add_argument("--record", action="store_true", help="with --recorded: put the new ratios into the file")
    given = parser.parse_args()
    cases = given.only or [case.name for case in CASES]
    if given.short:
        rows = short_rows(given.then.resolve(), given.now.resolve(), cases, given.pairs or 60, given.gpu)
        print(short_table(rows))
        if given.recorded is not None:
            file = json.loads(given.recorded.read_text("utf-8"))
            ratios = file["speed"][given.gpu]
            print(f"\nSpeed on {given.gpu} as a share of {file['base']}'s:\n\n{drift_table(ratios, speeds(rows))}")
            if given.record:
                ratios.update(speeds(rows))
                given.recorded.write_text(json.dumps(file, indent=1) + "\n", "utf-8")
        return
    print(pairs_table(given.then.resolve(), given.now.resolve(), cases, given.pairs or 5, given.set))


if __name__ == "__main__":
    main()
