"""What every command that runs a job does: run it, write its files, report its outcome, choose the exit code."""

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import yaml

from gpusim.base.errors import EXIT_INTERRUPTED
from gpusim.base.files import folder, write_together, write_whole
from gpusim.base.interrupt import INTERRUPTED, OUT_OF_TIME, Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.progress import Reporter
from gpusim.cli.options import JobOptions
from gpusim.cli.timeline import drawing, window_of
from gpusim.report import terminal
from gpusim.report.document import as_json, document

if TYPE_CHECKING:
    from gpusim.jobs.job import Job
    from gpusim.results.record import RunRecord

EXIT_NOT_AS_EXPECTED = 1  # also a run that reached its timeout or its most cycles
LISTED_HOTSPOTS = 25
KEPT = ("config.yaml", "report.txt", "result.json")  # what --out writes


def overrides(options: JobOptions) -> list[str]:
    """Values of `run:` of a configuration that the options say, each as `--set` takes it."""
    said = {
        "checked": "true" if options.checked else None,
        "hotspots": LISTED_HOTSPOTS if options.hotspots else None,
        "max_cycles": options.max_cycles,
    }
    return [f"run.{name}={value}" for name, value in said.items() if value is not None]


def run_job(
    make: "Callable[[Reporter], Job]",
    options: JobOptions,
    inputs: Sequence[Path],
    outputs: Mapping[str, Path] = MappingProxyType({}),
    out: Path | None = None,
) -> int:
    """Run the job that `make` makes; returns the exit code.

    inputs: files that the job reads; outputs: those that it writes itself, by what asks for them; out: folder that gets
    the result, the report and the configuration.
    """
    written = {"--json": options.json_file, "--timeline": options.timeline, **outputs}
    check_outputs(written, inputs)
    if out is not None:
        folder(out)
        check_outputs(written | {f"--out {out}: {name}": out / name for name in KEPT}, inputs)
    cycles = window_of(options.timeline, options.window)
    reporter = Reporter(options.quiet)
    from gpusim.jobs import runner  # imports the compiled core: up to a second

    with Interrupt() as interrupt:
        try:
            with interrupt.timeout(options.timeout_s):
                job = make(reporter)
                with drawing(options.timeline, cycles, reporter) as drawn:
                    records = runner.run(job, reporter, interrupt, drawn)
        except KeyboardInterrupt:
            if interrupt.reason != OUT_OF_TIME:
                raise
            reporter.say(f"{OUT_OF_TIME}: nothing was simulated")
            return EXIT_NOT_AS_EXPECTED
        _write(job, records, options, out)
    stopped = next((record.stopped_by for record in records if record.partial), "")
    if stopped:
        reporter.say(f"{stopped}: the results are partial")
        return EXIT_INTERRUPTED if stopped == INTERRUPTED else EXIT_NOT_AS_EXPECTED
    wrong = any(r.verification is not None and not r.verification.passed for r in records)
    return EXIT_NOT_AS_EXPECTED if wrong else 0


def _write(job: "Job", records: "list[RunRecord]", options: JobOptions, out: Path | None) -> None:
    """Write the result where it is asked for; files first: the reader of what is printed may have gone."""
    result = document(job.resolved(), records, [variant.name for variant in job.variants])
    to_output = options.json_file == STANDARD_OUTPUT
    if options.json_file is not None and not to_output:
        write_whole(options.json_file, as_json(result))
    if out is not None:
        text = io.StringIO()
        terminal.show(records, text)
        contents = (
            yaml.safe_dump(job.resolved(), sort_keys=False, allow_unicode=True),
            text.getvalue(),
            as_json(result),
        )
        write_together({out / name: content for name, content in zip(KEPT, contents, strict=True)})
    if to_output:
        sys.stdout.write(as_json(result))
    if not options.quiet:
        terminal.show(records, sys.stderr if to_output else sys.stdout)
