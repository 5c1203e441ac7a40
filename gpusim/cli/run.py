"""`gpusim run`."""

import io
from collections.abc import Sequence
from pathlib import Path

import yaml

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import folder, write_together, write_whole
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.cli.timeline import drawing, window_of
from gpusim.config.run import load_run
from gpusim.report import terminal
from gpusim.report.document import as_json, document
from gpusim.results.record import RunRecord

EXIT_NOT_VERIFIED = 1
LISTED_HOTSPOTS = 25


def run_command(
    name: str,
    engine: str | None,
    sets: Sequence[str],
    json_file: Path | None,
    out: Path | None,
    quiet: bool,
    verify: bool | None,
    checked: bool | None,
    hotspots: bool,
    timeline: Path | None,
    window: str | None,
) -> int:
    """Run a configuration and write its result; returns the exit code. The options override `run:` of the file."""
    listed = LISTED_HOTSPOTS if hotspots else None
    options = {"engine": engine, "verify": verify, "checked": checked, "hotspots": listed}
    overrides = [f"run.{key}={str(value).lower()}" for key, value in options.items() if value is not None]
    config = load_run(name, [*sets, *overrides])
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise UserError(f"--json {json_file}: folder {json_file.absolute().parent} does not exist")
    if json_file is not None and json_file.is_dir():
        raise UserError(f"--json {json_file}: is a folder; a file is needed")
    if out is not None:
        folder(out)
    cycles = window_of(timeline, window)
    reporter = Reporter(quiet)
    with Interrupt() as interrupt:
        from gpusim.run import runner  # imports the compiled core: seconds on the first start, so Ctrl-C is ready first

        with drawing(timeline, cycles, reporter) as drawn:
            records = runner.run(config, reporter, interrupt, drawn)
    if not quiet:
        terminal.show(records)
    result = document(config.resolved(), records)
    if json_file is not None:
        write_whole(json_file, as_json(result))
    if out is not None:
        text = io.StringIO()
        terminal.show(records, text)
        write_together(
            {
                out / "config.yaml": yaml.safe_dump(config.resolved(), sort_keys=False, allow_unicode=True),
                out / "report.txt": text.getvalue(),
                out / "result.json": as_json(result),
            }
        )
    return _exit_code(records, reporter)


def _exit_code(records: Sequence[RunRecord], reporter: Reporter) -> int:
    if any(r.partial for r in records):
        reporter.say("interrupted: the results are partial")
        return EXIT_INTERRUPTED
    wrong = [r.kernel for r in records if r.verification is not None and not r.verification.passed]
    for kernel in wrong:
        reporter.say(f"{kernel}: the result differs from NumPy's by more than the bound")
    return EXIT_NOT_VERIFIED if wrong else 0
