"""What every command that runs a job does: run it, write its files, report its outcome, choose the exit code."""

import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import yaml

from gpusim.base.errors import UserError
from gpusim.base.extensions import known_kind
from gpusim.base.files import folder, write_together, write_whole
from gpusim.base.interrupt import OUT_OF_TIME, Interrupt
from gpusim.base.launch_selector import ALL_LAUNCHES, LaunchIdentity, LaunchSelector, parse_selector
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs
from gpusim.base.processors import limit_threads
from gpusim.base.progress import Reporter
from gpusim.cli.options import JobCommandOptions, LiveOptions, StoreOptions, parse_threads
from gpusim.results.live.view import live_view
from gpusim.results.records.exit_code import EXIT_NOT_AS_EXPECTED, describe_problems, exit_code, get_stop_reason
from gpusim.results.report import terminal
from gpusim.results.report.document import as_json, document
from gpusim.results.store.project import store_to_write
from gpusim.results.store.work import RunDescription
from gpusim.results.timeline.window import TimelineWindow, parse_window
from isa.object.names import short

if TYPE_CHECKING:
    from gpusim.jobs.running.job import Job
    from gpusim.results.records.record import CommandTimes, RunRecord
    from gpusim.results.store.file import StoreError
    from gpusim.results.store.keeper import MatchingRun, RunClock, StoreWriter
    from gpusim.results.store.outcome import RunOutcome
    from gpusim.results.timeline.dram_trace import DramTrace
    from gpusim.results.timeline.timeline import Timeline

LISTED_HOTSPOTS = 25
KEPT = ("config.yaml", "report.txt", "result.json")  # what --out writes


def overrides(options: JobCommandOptions) -> list[str]:
    """Return the values of `run:` of a configuration that the options say, each as `--set` takes it."""
    values = {
        "checked": "true" if options.checked else None,
        "hotspots": LISTED_HOTSPOTS if options.hotspots else None,
        "max_cycles": options.max_cycles,
        "every": options.every,
    }
    return [f"run.{name}={value}" for name, value in values.items() if value is not None]


class TimelineChoices(NamedTuple):
    """Choices of what a timeline shows."""

    cycles: TimelineWindow | None = None
    """Cycles of each launch; None: a timeline of launches, or none."""
    selector: LaunchSelector = ALL_LAUNCHES
    """Selects the launches."""
    dram_trace: Path | None = None
    """File for DRAM commands; None: none."""


@dataclass(frozen=True)
class JobRequest:
    """A job with everything that its command adds to it."""

    make: "Callable[[Reporter], Job]"
    """Creates the job."""
    work: RunDescription
    """Description of the work, by which the store finds equal runs."""
    inputs: Sequence[Path]
    """All files that the job reads."""
    outputs: Mapping[str, Path | None] = field(default_factory=dict)
    """Further output files by option."""
    markdown: bool = False
    """Print the tables as Markdown."""
    ended: "Callable[[Job], None] | None" = None
    """Called with the job after its run, before anything is written."""
    to_errors: bool = False
    """Print tables to standard error, as the program's own output goes to standard output."""
    also: "Callable[[Mapping[str, Any]], None] | None" = None
    """Writes further outputs from the JSON object."""
    shown: "Callable[[Mapping[str, Any], TextIO, bool], None] | None" = None
    """Prints the JSON object in a format of the job's kind; None: as a result screen."""
    not_launched: str = ""
    """Reason why launch options do not apply; empty where they do."""
    is_countable: bool = False
    """Its launches are known before it runs, for an estimate; otherwise an estimate needs similar stored runs."""


def run_job(request: JobRequest, options: JobCommandOptions, storing: StoreOptions, live: LiveOptions) -> int:
    """Run a job, or find what an equal one left in the store; returns the exit code.

    Args:
        request: The job.
        options: Options of the command.
        storing: Store, and whether it is used.
        live: Options of the live view.
    """
    _check_options(request, options)
    if options.estimate:
        _estimate(request, storing)
        return 0
    written: dict[str, Path | None] = {
        "--json": options.json_file, "--timeline": options.timeline, "--dram-trace": options.dram_trace,
        **request.outputs,
        "--store": store_to_write(storing.store),
    }  # fmt: skip
    check_outputs(written, request.inputs)
    if options.out is not None:
        folder(options.out)
        kept_files = {f"--out {options.out}: {name}": options.out / name for name in KEPT}
        check_outputs(written | kept_files, request.inputs)
    terminal.PrintOptions(options.sections, options.details).chosen()
    cycles = resolve_window(options.timeline, options.window)
    of_launches = choose_timeline_kind(request.work.kind, options) == "launches"
    selector = resolve_timeline_selector(options, of_launches)
    _check_dram_trace(request.work.kind, options, of_launches)
    limit_threads(parse_threads(options.threads))
    reporter = Reporter(options.quiet)
    if request.to_errors:
        reporter.on_terminal = False  # a bar would be drawn over what the program prints
    with opened_store(storing, again=options.timeline is not None or options.dram_trace is not None) as keeper:
        found = keeper.found(request.work) if keeper is not None else None
        if keeper is not None and found is not None:
            return _show_found(request, options, reporter, keeper, found)
        with live_view(live.live, f"{request.work.kind} {request.work.title}", reporter):
            drawn = TimelineChoices(None if of_launches else cycles, selector, options.dram_trace)
            return _run(request, options, drawn, reporter, keeper)


def _show_found(
    request: JobRequest, options: JobCommandOptions, reporter: Reporter, keeper: "StoreWriter", match: "MatchingRun"
) -> int:
    """Write and print the result of a run that the store has; returns the exit code."""
    from gpusim.results.store.records import parse_records

    reporter.say(match.sentence(keeper.path))
    records, variants, about = parse_records(match.content, request.work.kind)
    _write(request, records, variants, about, options)
    return exit_code(records)


def _estimate(request: JobRequest, storing: StoreOptions) -> None:
    """Print what the job would cost: by like runs of the store, and by bounds, of which the store may know nothing."""
    from gpusim.jobs.estimates.run_costs import CostEstimator, job_remarks
    from gpusim.jobs.estimates.views import cost_table
    from gpusim.results.store.project import store_to_read

    path = store_to_write(storing.store) or store_to_read(None)
    estimator, remarks = CostEstimator(path, request.work.kind), list[str]()
    cost = estimator.from_similar(request.work)
    rows = [] if cost is None else [(f"{request.work.title}, by like runs", cost)]
    if request.is_countable:
        job = request.make(Reporter(quiet=True))
        rows.append((f"{request.work.title}, by bounds", estimator.from_launches(job)))
        remarks = job_remarks(job)
    elif cost is None:
        why = f"what {request.work.kind} launches is known once it runs"
        raise UserError(f"--estimate: {path} has no like run, and {why}: run it once, with --store {path}")
    cost_table(rows, estimator.notes(*remarks)).show(sys.stdout)


def _check_options(request: JobRequest, options: JobCommandOptions) -> None:
    """Raise UserError for an option of launches, where a kind of job has no such launches."""
    for option, value in options.of_launches().items():
        if request.not_launched and value is not None:
            raise UserError(f"{option}: {request.not_launched}")


def choose_timeline_kind(kind: str, options: JobCommandOptions) -> str:
    """Say what a timeline shows, 'cycles' or 'launches'; raises UserError for what a kind of job has not."""
    known = known_kind(kind)
    usual = known.timelines[0] if options.window is None else "cycles"
    wanted = options.timeline_of or usual
    if options.timeline is None:
        if options.timeline_of is not None:
            raise UserError(f"--timeline-of {wanted}: says what a timeline shows; --timeline FILE names its file")
        return usual
    if wanted == "launches" and options.window is not None:
        raise UserError(f"--window {options.window}: says which cycles are shown; of launches all are")
    if wanted not in known.timelines:
        option = f"--timeline-of {wanted}" if options.window is None else f"--window {options.window}"
        raise UserError(f"{option}: {known.no_cycles}")
    return wanted


def _run(
    request: JobRequest,
    options: JobCommandOptions,
    choices: TimelineChoices,
    reporter: Reporter,
    keeper: "StoreWriter | None",
) -> int:
    """Run the job, and write what was asked for."""
    from gpusim.jobs.running import runner  # imports the simulator: half a second

    started = None
    with Interrupt() as interrupt:
        try:
            with interrupt.timeout(options.timeout_s):
                found = keeper.wait(request.work, reporter.say) if keeper is not None else None
                if keeper is not None and found is not None:
                    return _show_found(request, options, reporter, keeper, found)
                if keeper is not None:
                    from gpusim.results.store.keeper import RunClock

                    started = RunClock()
                job = request.make(reporter)
                drawn_file = None if choices.cycles is None else options.timeline
                with drawing(drawn_file, choices, reporter) as drawn, tracing(choices.dram_trace, reporter) as trace:
                    records = runner.run(job, reporter, interrupt, drawn or trace)
        except KeyboardInterrupt:
            if interrupt.reason != OUT_OF_TIME:
                raise
            problem_line = f"{OUT_OF_TIME}: nothing was simulated"
            reporter.say_if_quiet(f"gpusim: {request.work.title}: {problem_line}")
            reporter.say(problem_line)
            return EXIT_NOT_AS_EXPECTED
        code, variants = exit_code(records), [variant.name for variant in job.variants]
        if request.ended is not None:
            request.ended(job)
        if options.timeline is not None and choices.cycles is None:
            from gpusim.results.timeline.launches import write_launches

            commands = {record.variant: _select(record.commands, choices.selector) for record in records}
            for line in write_launches(options.timeline, commands):
                reporter.say(line)
            launches = [_identify(one) for record in records for one in record.commands if one.number]
            if not any(map(choices.selector.selects, launches)):
                reporter.say(f"--timeline-only {choices.selector.explain_nothing(launches)}")
        problem = None
        if keeper is not None and started is not None:
            from gpusim.results.store.outcome import build_outcome

            outcome = build_outcome(records, variants, code, job.about)
            problem = _not_kept(keeper, request.work, outcome, started, reporter)
        _write(request, records, variants, job.about, options)
        if problem is not None:
            raise problem
    stopped = get_stop_reason(records)
    if stopped:
        reporter.say(f"{stopped}: the results are partial")
    return code


def _write(
    request: JobRequest,
    records: "list[RunRecord]",
    variants: Sequence[str],
    about: Mapping[str, Any],
    options: JobCommandOptions,
) -> None:
    """Write the result where it is asked for; files first: the reader of what is printed may have gone."""
    wanted = terminal.PrintOptions(options.sections, options.details)
    configuration = dict(request.work.configuration)
    result = document(configuration, records, variants, about)
    to_output = options.json_file == STANDARD_OUTPUT
    if options.json_file is not None and not to_output:
        write_whole(options.json_file, as_json(result))
    if request.also is not None:
        request.also(result)
    if options.out is not None:
        text = io.StringIO()
        _show(request, result, text, wanted)
        contents = (
            yaml.safe_dump(configuration, sort_keys=False, allow_unicode=True),
            text.getvalue(),
            as_json(result),
        )
        write_together({options.out / name: content for name, content in zip(KEPT, contents, strict=True)})
    if to_output:
        sys.stdout.write(as_json(result))
    printed = sys.stderr if to_output or request.to_errors else sys.stdout
    if request.markdown and request.shown is None:
        from gpusim.results.report.many import as_markdown

        printed.write(as_markdown(result))
    elif request.markdown or not options.quiet:
        _show(request, result, printed, wanted)
    else:
        for finding in result.get("findings") or ():  # of a program under watch: the errors that it was run for
            print(finding["text"], file=sys.stderr)
        for line in describe_problems(records):
            Reporter(quiet=True).say_if_quiet(f"gpusim: {request.work.title}: {line}")


def _show(request: JobRequest, result: Mapping[str, Any], out: TextIO, wanted: terminal.PrintOptions) -> None:
    """Print a result as its kind is printed; sections and details as of any other."""
    if request.shown is None or wanted.sections or wanted.details:
        terminal.show(result, out, wanted)
    else:
        request.shown(result, out, request.markdown)


def resolve_window(timeline: Path | None, window: str | None) -> TimelineWindow:
    """Return the window that the options name; raises UserError if they do not fit together."""
    if window is not None and timeline is None:
        raise UserError(f"--window {window}: says what a timeline shows; --timeline FILE names its file")
    return TimelineWindow() if window is None else parse_window(window)


def resolve_timeline_selector(options: JobCommandOptions, of_launches: bool) -> LaunchSelector:
    """Return which launches the timeline shows.

    Args:
        options: Options of the command.
        of_launches: The timeline shows launches and streams, not cycles.

    Returns:
        The selector.

    Raises:
        UserError: There is no timeline, or a condition that it cannot judge.
    """
    if options.timeline_only and options.timeline is None:
        raise UserError(
            f"--timeline-only {options.timeline_only[0]}: says what a timeline shows; --timeline FILE names its file"
        )
    selector = parse_selector("--timeline-only", options.timeline_only)
    if selector.streams and not of_launches:
        raise UserError("--timeline-only stream: a timeline of cycles knows no streams: --timeline-of launches does")
    return selector


def _identify(command: "CommandTimes") -> LaunchIdentity:
    return LaunchIdentity(command.name, command.number, command.stream, short(command.name))


def _select(commands: "Sequence[CommandTimes]", selector: LaunchSelector) -> "Sequence[CommandTimes]":
    """Return the commands that a timeline shows: where launches are selected, these alone, and no copies."""
    if not selector.conditions:
        return commands
    return [command for command in commands if command.number and selector.selects(_identify(command))]


@contextmanager
def drawing(file: Path | None, choices: TimelineChoices, reporter: Reporter) -> Iterator["Timeline | None"]:
    """Open the timeline to draw into, None without a file; at the end the reporter says what was written."""
    if file is None:
        yield None
        return
    from gpusim.results.timeline.timeline import Timeline  # imports the compiled core

    timeline = Timeline(file, choices.cycles, choices.selector)
    try:
        with timeline:
            yield timeline
    finally:
        for line in timeline.summary():
            reporter.say(line)


@contextmanager
def tracing(file: Path | None, reporter: Reporter) -> Iterator["DramTrace | None"]:
    """Open the file of DRAM commands, None without one; at the end the reporter says what was written."""
    if file is None:
        yield None
        return
    from gpusim.results.timeline.dram_trace import DramTrace  # imports the compiled core

    trace = DramTrace(file)
    try:
        with trace:
            yield trace
    finally:
        for line in trace.summary():
            reporter.say(line)


def _check_dram_trace(kind: str, options: JobCommandOptions, of_launches: bool) -> None:
    """Raise UserError for a trace of DRAM that a job of a kind cannot have, or not beside its timeline."""
    if options.dram_trace is None:
        return
    option = f"--dram-trace {options.dram_trace}"
    if "cycles" not in known_kind(kind).timelines:
        raise UserError(f"{option}: {known_kind(kind).no_cycles}")
    if options.timeline is not None and not of_launches:
        raise UserError(f"{option}: not together with a timeline of cycles; --timeline-of launches, or two runs")


@contextmanager
def opened_store(options: StoreOptions, again: bool = False) -> Iterator["StoreWriter | None"]:
    """Open the store that the options or `gpusim.toml` name, if any; raises UserError before any work is done.

    again: the work has to be done whatever is in the store.
    """
    path = store_to_write(options.store)
    if path is None:
        if options.fresh:
            raise UserError("--fresh: says that equal work in a store does not count; --store FILE names a store")
        yield None
        return
    from gpusim.results.store.keeper import StoreWriter  # where there is a store: most starts need none

    with StoreWriter(path, options.fresh or again) as keeper:
        yield keeper


def _not_kept(
    keeper: "StoreWriter", work: RunDescription, outcome: "RunOutcome", started: "RunClock", reporter: Reporter
) -> "StoreError | None":
    """Keep what was run; returns the error of a store that fails, for when the result is written elsewhere."""
    from gpusim.results.store.file import StoreError

    try:
        reporter.say(keeper.keep(work, outcome, started).sentence(keeper.path))
    except StoreError as error:
        return StoreError(f"{error} (the result is not in it)")
    return None
