"""`gpusim check-sampling`: what sampling promises, held to launches that are simulated in whole too."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpusim.base.errors import EXIT_INTERRUPTED, UserError
from gpusim.base.files import write_whole
from gpusim.base.formats import GROUPED_0
from gpusim.base.interrupt import Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs, put
from gpusim.base.picture import check_format, require_matplotlib
from gpusim.base.progress import Reporter, reporting
from gpusim.cli.options import ConfidenceOption, JobsOption, JsonOption, MarkdownOption, QuietOption, shares

if TYPE_CHECKING:
    from gpusim.lab.checks.sampling.case import SamplingCase
    from gpusim.model.sampling.spec import SamplingSpec


class Suite(StrEnum):
    """Launches that sampling is tried on."""

    WRITTEN = "written"
    GENERATED = "generated"


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """Options of a measurement of either suite."""

    only: Sequence[str]
    """Beginnings of the names of cases; none: all."""
    jobs: int | None
    """Worker processes; None: as many as there are processors."""
    json_file: Path | None
    """File for the results; None: none."""
    markdown: bool
    """Print a page."""
    list_only: bool
    """List the cases alone."""
    quiet: bool
    """Print no figures."""

    @property
    def workers(self) -> int:
        """Return the number of worker processes."""
        from gpusim.base.processors import default_jobs  # imports the compiled core: up to a second

        return self.jobs or default_jobs()

    def print_results(self, page: str, lines: Sequence[str]) -> None:
        """Print results as a page or as lines.

        Args:
            page: The page.
            lines: The lines.
        """
        printed = sys.stderr if self.json_file == STANDARD_OUTPUT else sys.stdout
        if self.markdown:
            printed.write(page)
        elif not self.quiet:
            print("\n".join(lines), file=printed)


def check_sampling(
    suite: Annotated[
        Suite, typer.Argument(help="Launches that are chosen by hand, or many small ones that a seed decides.")
    ] = Suite.WRITTEN,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only cases whose name is, or begins with, this; repeatable."),
    ] = None,
    error: Annotated[
        list[str] | None,
        typer.Option(
            "--error",
            metavar="PERCENT",
            help="Wanted half-width of the cycles; generated: repeatable. [default: 1%; generated: 0.5%, 1%, 3%]",
        ),
    ] = None,
    confidence: ConfidenceOption = None,
    jobs: JobsOption = None,
    json_file: JsonOption = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw errors with their bars into an .svg or .png (needs Matplotlib)."),
    ] = None,
    markdown: MarkdownOption = False,
    update: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An earlier result (--json): cases that --only leaves out are its."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="generated: decides all of the launches.")] = None,
    launches: Annotated[int | None, typer.Option(min=1, help="generated: how many. [default: 300]")] = None,
    scale: Annotated[
        int | None, typer.Option(min=1, help="generated: factor of the launches' instructions. [default: 1]")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="List the cases and exit.")] = False,
    quiet: QuietOption = False,
) -> int:
    """Simulate a suite of launches in whole and sampled: errors, truths within their bars, instructions saved.

    generated: rows of --json's file that today's model made are not measured again, so that a stopped measurement goes
    on. What it will cost is shown first.
    """
    options = CheckOptions(
        only=only or [], jobs=jobs, json_file=json_file, markdown=markdown, list_only=list_, quiet=quiet
    )
    if suite is Suite.GENERATED:
        for option, file in (("--picture", picture), ("--update", update)):
            if file is not None:
                raise UserError(f"{option}: belongs to the written suite")
        from gpusim.lab.checks.sampling.generated import generated_cases
        from gpusim.lab.checks.sampling.generated_suite import LAUNCHES

        if seed is None:
            raise UserError("--seed: is missing: any whole number, which decides the generated launches")
        cases = generated_cases(seed, launches or LAUNCHES, scale or 1)
        return _check_generated(seed, cases, _specs(error, confidence), options)
    for option, number in (("--seed", seed), ("--launches", launches), ("--scale", scale)):
        if number is not None:
            raise UserError(f"{option}: belongs to the generated suite: check-sampling generated {option} {number}")
    if error and len(error) > 1:
        raise UserError("--error: the written suite is measured for one; check-sampling generated takes several")
    return _check_written(_specs(error or ["1%"], confidence)[0], options, picture, update)


def _specs(errors: Sequence[str] | None, confidence: str | None) -> "list[SamplingSpec]":
    from gpusim.lab.checks.sampling.generated_suite import ERRORS
    from gpusim.model.sampling.spec import SamplingSpec

    values = [shares(error, None)["error"] for error in errors] if errors else ERRORS
    return [SamplingSpec.model_validate({**shares(None, confidence), "error": value}) for value in values]


def _check_written(spec: "SamplingSpec", options: CheckOptions, picture: Path | None, update: Path | None) -> int:
    from gpusim.lab.checks.sampling import views
    from gpusim.lab.checks.sampling.cases import CASES, select_cases
    from gpusim.lab.checks.sampling.measure import measure, read_outcomes, renewed
    from gpusim.results.report.document import as_json

    if options.list_only:
        for case in CASES.values():
            print(f"{case.name:<44}  {case.kind:<18}  {case.what}")
        return 0
    check_outputs({"--json": options.json_file, "--picture": picture}, [])
    if picture is not None:
        check_format(picture)
        require_matplotlib("check-sampling")
    before = [] if update is None else read_outcomes(update)
    cases, reporter = select_cases(list(options.only)), Reporter(options.quiet)
    with Interrupt() as interrupt, reporting(reporter):
        interrupt.deferred = True
        outcomes = measure(cases, [spec], options.workers, reporter, lambda: interrupt.asked)
        interrupt.deferred = False
    if update is not None:
        outcomes = renewed(before, outcomes)
    if options.json_file is not None:
        put(options.json_file, as_json(views.document(outcomes, spec)))
    if picture is not None:
        write_whole(picture, views.picture(outcomes).file(picture.suffix.lower()))
    options.print_results(views.markdown(outcomes), views.lines(views.summary(outcomes)))
    return EXIT_INTERRUPTED if interrupt.asked else 0


def _check_generated(
    seed: int, cases: "list[SamplingCase]", specs: "Sequence[SamplingSpec]", options: CheckOptions
) -> int:
    from gpusim.lab.checks.sampling import generated_suite as suite
    from gpusim.lab.checks.sampling.generated_views import generated_lines, generated_markdown

    path = options.json_file
    if path == STANDARD_OUTPUT:
        raise UserError("--json -: generated rows need a file, from which a stopped measurement goes on")
    if options.only:
        cases = [case for case in cases if case.name.startswith(tuple(options.only))]
        if not cases:
            raise UserError(f"--only {' '.join(options.only)}: no launch of seed {seed} has such a name (--list)")
    pending = suite.pending_cases(cases, specs, suite.stored_rows(path))
    cost = (
        f"{len(pending)} of {len(cases)} launches are to be measured:"
        f" about {GROUPED_0(suite.expected_seconds(pending, len(specs)))} s of processor time"
    )
    if options.list_only:
        for case in cases:
            print(f"{case.name:<28}  {case.what}")
        print(cost)
        return 0
    check_outputs({"--json": path}, [])
    reporter = Reporter(options.quiet)
    with Interrupt() as interrupt, reporting(reporter):
        reporter.say(cost)
        interrupt.deferred = True
        rows = suite.measure_generated(cases, specs, options.workers, reporter, lambda: interrupt.asked, path)
        interrupt.deferred = False
    options.print_results(generated_markdown(rows), generated_lines([row for row in rows if row.seed == seed]))
    return EXIT_INTERRUPTED if interrupt.asked else 0
