"""What every command that runs a job does: run it, write its files, report its outcome, choose the exit code."""

import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from gpusim.base.files import folder, write_together, write_whole
from gpusim.base.interrupt import OUT_OF_TIME, Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.progress import Reporter
from gpusim.cli.options import JobOptions, LiveOptions, StoreOptions
from gpusim.cli.storing import begun, kept, opened_store
from gpusim.cli.timeline import drawing, window_of
from gpusim.live.view import live_view
from gpusim.report import terminal
from gpusim.report.document import as_json, document
from gpusim.results.exit_code import EXIT_NOT_AS_EXPECTED, exit_code, stopped_by
from gpusim.store.project import store_to_write
from gpusim.store.work import Work
from gpusim.timeline.window import Window

if TYPE_CHECKING:
    from gpusim.jobs.job import Job
    from gpusim.results.record import RunRecord
    from gpusim.store.keeper import Keeper
    from gpusim.store.outcome import Outcome

LISTED_HOTSPOTS = 25
KEPT = ("config.yaml", "report.txt", "result.json")  # what --out writes


def overrides(options: JobOptions) -> list[str]:
    """Return the values of `run:` that the options say, each as `--set` takes it."""
    said = {
        "checked": "true" if options.checked else None,
        "hotspots": LISTED_HOTSPOTS if options.hotspots else None,
        "max_cycles": options.max_cycles,
    }
    return [f"run.{name}={value}" for name, value in said.items() if value is not None]


@dataclass(frozen=True)
class JobAsked:
    """A job as a command has it. inputs: all files that it reads; outputs: what it writes, by what asks for them."""

    make: "Callable[[Reporter], Job]"
    work: Work
    inputs: Sequence[Path]
    outputs: Mapping[str, Path] = field(default_factory=dict)


def run_job(
    asked: JobAsked, options: JobOptions, storing: StoreOptions, live: LiveOptions, out: Path | None = None
) -> int:
    """Run a job, or find what an equal one left in the store; returns the exit code.

    out: folder that gets the result, the report and the configuration.
    """
    written = {"--json": options.json_file, "--timeline": options.timeline, **asked.outputs}
    written |= {"--store": store_to_write(storing.store)}
    check_outputs(written, asked.inputs)
    if out is not None:
        folder(out)
        check_outputs(written | {f"--out {out}: {name}": out / name for name in KEPT}, asked.inputs)
    terminal.Wanted(options.sections, options.details).check()
    cycles = window_of(options.timeline, options.window)
    reporter = Reporter(options.quiet)
    with opened_store(storing, again=options.timeline is not None) as keeper:
        found = keeper.found(asked.work) if keeper is not None else None
        if keeper is not None and found is not None:
            from gpusim.store.records import restored

            records = restored(found.content["records"])
            reporter.say(found.sentence(keeper.path))
            _write(asked.work, records, found.content["variants"], options, out)
            return exit_code(records)
        with live_view(live.live, f"{asked.work.kind} {asked.work.title}", reporter):
            return _run(asked, options, cycles, reporter, keeper, out)


def _run(
    asked: JobAsked, options: JobOptions, cycles: Window, reporter: Reporter, keeper: "Keeper | None", out: Path | None
) -> int:
    from gpusim.jobs import runner  # imports the simulator: half a second

    started = begun(keeper)

    def outcome() -> "Outcome":
        from gpusim.store.outcome import of_records

        return of_records(records, variants, code)

    with Interrupt() as interrupt:
        try:
            with interrupt.timeout(options.timeout_s):
                job = asked.make(reporter)
                with drawing(options.timeline, cycles, reporter) as drawn:
                    records = runner.run(job, reporter, interrupt, drawn)
        except KeyboardInterrupt:
            if interrupt.reason != OUT_OF_TIME:
                raise
            reporter.say(f"{OUT_OF_TIME}: nothing was simulated")
            return EXIT_NOT_AS_EXPECTED
        code, variants = exit_code(records), [variant.name for variant in job.variants]
        with kept(keeper, asked.work, outcome, started, reporter):
            _write(asked.work, records, variants, options, out)
    stopped = stopped_by(records)
    if stopped:
        reporter.say(f"{stopped}: the results are partial")
    return code


def _write(
    work: Work, records: "list[RunRecord]", variants: Sequence[str], options: JobOptions, out: Path | None
) -> None:
    """Write the result where it is asked for; files first: the reader of what is printed may have gone."""
    wanted = terminal.Wanted(options.sections, options.details)
    configuration = dict(work.configuration)
    result = document(configuration, records, variants)
    to_output = options.json_file == STANDARD_OUTPUT
    if options.json_file is not None and not to_output:
        write_whole(options.json_file, as_json(result))
    if out is not None:
        text = io.StringIO()
        terminal.show(result, text, wanted)
        contents = (
            yaml.safe_dump(configuration, sort_keys=False, allow_unicode=True),
            text.getvalue(),
            as_json(result),
        )
        write_together({out / name: content for name, content in zip(KEPT, contents, strict=True)})
    if to_output:
        sys.stdout.write(as_json(result))
    if not options.quiet:
        terminal.show(result, sys.stderr if to_output else sys.stdout, wanted)
