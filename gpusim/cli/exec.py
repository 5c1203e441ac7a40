"""`gpusim exec`."""

from collections.abc import Sequence
from pathlib import Path

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import write_whole
from gpusim.base.interrupt import Interrupt
from gpusim.base.progress import Reporter
from gpusim.cli.timeline import drawing, window_of
from gpusim.config.exec import load_exec
from gpusim.report import terminal
from gpusim.report.document import as_json

EXIT_NOT_AS_EXPECTED = 1
LISTED_HOTSPOTS = 25


def exec_command(
    name: str,
    sets: Sequence[str],
    json_file: Path | None,
    quiet: bool,
    checked: bool,
    hotspots: bool,
    timeline: Path | None,
    window: str | None,
) -> int:
    """Execute a kernel as its file says and report its metrics; returns the exit code."""
    options = ["run.checked=true"] * checked + [f"run.hotspots={LISTED_HOTSPOTS}"] * hotspots
    config, path = load_exec(name, [*sets, *options])
    if json_file is not None and not json_file.absolute().parent.is_dir():
        raise UserError(f"--json {json_file}: folder {json_file.absolute().parent} does not exist")
    cycles = window_of(timeline, window)
    reporter = Reporter(quiet)
    with Interrupt() as interrupt:
        from gpusim.run.exec import execute  # imports the compiled core: seconds on the first start

        with drawing(timeline, cycles, reporter) as drawn:
            result = execute(config, path, reporter, interrupt, drawn)
    if json_file is not None:
        write_whole(json_file, as_json(result.to_dict()))
    if not quiet:
        terminal.show([result.record])
    if result.partial:
        reporter.say("interrupted: the results are partial")
        return EXIT_INTERRUPTED
    verification = result.record.verification
    return EXIT_NOT_AS_EXPECTED if verification is not None and not verification.passed else 0
