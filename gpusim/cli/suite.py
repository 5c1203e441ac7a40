"""`gpusim suite`: a folder of kernels and programs, run, verified, tabulated, beside measured times."""

import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpusim.base.formats import PERCENT, RATIO
from gpusim.base.outputs import check_outputs, put
from gpusim.base.progress import Reporter
from gpusim.base.sums import plain_sum
from gpusim.cli.options import CsvOption, JobsOption, JsonOption, MarkdownOption, QuietOption, SetOption

if TYPE_CHECKING:
    from gpusim.study.suite import SuiteOutcome


@dataclass(frozen=True)
class SuiteRunOptions:
    """Options of a suite's runs."""

    gpu: Annotated[
        str | None,
        typer.Option("--gpu", metavar="GPU", help="GPU of all entries. [default: as files say; programs: r9nano]"),
    ] = None
    measured: Annotated[
        Path | None,
        typer.Option(
            "--measured",
            metavar="FILE",
            help="Compare with measured times: CSV with name and kernel_us or host_us, in microseconds.",
        ),
    ] = None
    jobs: JobsOption = None
    timeout_s: Annotated[
        float | None, typer.Option("--timeout", metavar="SECONDS", min=0.001, help="Stop each entry after this time.")
    ] = None
    """Wall time limit of each entry in seconds; None: no limit."""
    store: Annotated[
        Path | None, typer.Option("--store", metavar="FILE", help="Keep each entry's result in this store.")
    ] = None


def suite(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Executions' files, recorded launches, programs, suite.yaml.")
    ],
    sets: SetOption,
    options: SuiteRunOptions,
    json_file: JsonOption = None,
    csv_file: CsvOption = None,
    markdown: MarkdownOption = False,
    quiet: QuietOption = False,
) -> int:
    """Run all kernels and programs of a folder, and print a row for each: verdict, time, measured time.

    --set takes values of the GPU. The exit code is 1 if any entry is wrong, partial or failed.
    """
    import json

    from gpusim.cli.views import SUITE, SUITE_MEASURED
    from gpusim.results.records.exit_code import EXIT_NOT_AS_EXPECTED
    from gpusim.study.suite import SuiteOptions, find_entries, read_measured, run_suite

    entries = find_entries(folder)
    names = [entry.name for entry in entries]
    measured = {} if options.measured is None else read_measured(options.measured, names)
    inputs = [] if options.measured is None else [options.measured]
    check_outputs({"--json": json_file, "--csv": csv_file}, inputs)
    reporter = Reporter(quiet)
    store = None if options.store is None else str(options.store.absolute())
    each = SuiteOptions(options.gpu, sets, options.timeout_s, store)

    def report(outcome: "SuiteOutcome") -> None:
        reporter.say(f"{outcome.entry.name}: {outcome.verdict}{f': {outcome.problem}' if outcome.problem else ''}")

    jobs = options.jobs or len(os.sched_getaffinity(0))
    outcomes = run_suite(folder, entries, each, jobs, report)
    rows = [_row(outcome, measured.get(outcome.entry.name, {})) for outcome in outcomes]
    view = SUITE if options.measured is None else SUITE_MEASURED
    table = view.table(rows, str(folder), [*_summary(rows)])
    if json_file is not None:
        put(json_file, json.dumps({"kind": "suite", "folder": str(folder), "rows": rows}, indent=2) + "\n")
    if csv_file is not None:
        put(csv_file, table.csv())
    if markdown:
        sys.stdout.write(table.markdown())
    elif not quiet and json_file is None and csv_file is None:
        table.show(sys.stdout)
    return 0 if all(outcome.is_good for outcome in outcomes) else EXIT_NOT_AS_EXPECTED


def _row(outcome: "SuiteOutcome", measured_us: Mapping[str, float]) -> dict[str, Any]:
    """Return what is known of an entry; the ratio is of the modelled time to the measured one."""
    from gpusim.study.suite import MEASURED

    launches = outcome.metric("total.launches")
    row = {
        "name": outcome.entry.name,
        "kind": "program" if outcome.entry.is_program else "kernel",
        "verdict": outcome.verdict,
        "is_good": outcome.is_good,
        "problem": outcome.problem,
        "launches": launches if launches is not None else outcome.metric("host.launches"),
        "cycles": outcome.metric("kernel.cycles"),
        **{column: outcome.metric(path) for column, path in MEASURED.items()},
    }
    column = next((name for name in MEASURED if name in measured_us), None)
    time_us = row[column] if column is not None and not outcome.problem else None
    row["measured_us"] = measured_us[column] if column is not None else None
    row["ratio"] = time_us / measured_us[column] if time_us and column is not None else None
    return row


def _summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    good = sum(row["is_good"] for row in rows)
    lines = [f"{good} of {len(rows)} entries as expected"]
    ratios = [row["ratio"] for row in rows if row["ratio"]]
    if ratios:
        mean = math.exp(plain_sum(map(math.log, ratios)) / len(ratios))
        error = plain_sum(abs(ratio - 1) for ratio in ratios) / len(ratios)
        lines.append(
            f"{len(ratios)} measured: geometric mean {RATIO(mean)} of the measured times, mean error {PERCENT(error)}"
        )
    return lines
