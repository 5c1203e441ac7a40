"""What every command that runs a job does: run it, report its outcome, write its files, choose the exit code."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import folder, write_together, write_whole
from gpusim.base.interrupt import INTERRUPTED, OUT_OF_TIME, Interrupt
from gpusim.base.progress import Reporter
from gpusim.cli.timeline import drawing, window_of
from gpusim.report import terminal
from gpusim.report.document import as_json, document

if TYPE_CHECKING:
    from gpusim.run.job import Job

EXIT_NOT_AS_EXPECTED = 1  # also a run that reached its timeout or its most cycles
LISTED_HOTSPOTS = 25


def run_job(
    make: "Callable[[Reporter], Job]",
    *,
    quiet: bool,
    json_file: Path | None = None,
    out: Path | None = None,
    timeline: Path | None = None,
    window: str | None = None,
    timeout_s: float | None = None,
) -> int:
    """Run the job that `make` makes; returns the exit code.

    json_file: gets the result as one JSON object; out: folder that gets it, the report and the configuration;
    timeout_s: wall time for the job, which is then stopped as by Ctrl-C.
    """
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise UserError(f"--json {json_file}: folder {json_file.absolute().parent} does not exist")
    if json_file is not None and json_file.is_dir():
        raise UserError(f"--json {json_file}: is a folder; a file is needed")
    if out is not None:
        folder(out)
    cycles = window_of(timeline, window)
    reporter = Reporter(quiet)
    with Interrupt() as interrupt:
        try:
            with interrupt.timeout(timeout_s):
                from gpusim.run import runner  # the compiled core: seconds on the first start, so Ctrl-C is ready first

                job = make(reporter)
                with drawing(timeline, cycles, reporter) as drawn:
                    records = runner.run(job, reporter, interrupt, drawn)
        except KeyboardInterrupt:
            if interrupt.reason != OUT_OF_TIME:
                raise
            reporter.say(f"{OUT_OF_TIME}: nothing was simulated")
            return EXIT_NOT_AS_EXPECTED
    if not quiet:
        terminal.show(records)
    result = document(job.resolved(), records, [variant.name for variant in job.variants])
    if json_file is not None:
        write_whole(json_file, as_json(result))
    if out is not None:
        text = io.StringIO()
        terminal.show(records, text)
        write_together(
            {
                out / "config.yaml": yaml.safe_dump(job.resolved(), sort_keys=False, allow_unicode=True),
                out / "report.txt": text.getvalue(),
                out / "result.json": as_json(result),
            }
        )
    stopped = next((record.stopped_by for record in records if record.partial), "")
    if stopped:
        reporter.say(f"{stopped}: the results are partial")
        return EXIT_INTERRUPTED if stopped == INTERRUPTED else EXIT_NOT_AS_EXPECTED
    wrong = any(r.verification is not None and not r.verification.passed for r in records)
    return EXIT_NOT_AS_EXPECTED if wrong else 0
