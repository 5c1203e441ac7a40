"""`gpusim check-sampling`: what sampling promises, held to launches that are simulated in whole too."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gpusim.base.errors import EXIT_INTERRUPTED
from gpusim.base.files import write_whole
from gpusim.base.interrupt import Interrupt
from gpusim.base.outputs import STANDARD_OUTPUT, check_outputs, put
from gpusim.base.picture import check_format, require_matplotlib
from gpusim.base.progress import Reporter, reporting
from gpusim.cli.options import (
    ConfidenceOption,
    ErrorOption,
    JobsOption,
    JsonOption,
    MarkdownOption,
    QuietOption,
    shares,
)


def check_sampling(
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only cases whose name is, or begins with, this; repeatable."),
    ] = None,
    error: ErrorOption = None,
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
    list_: Annotated[bool, typer.Option("--list", help="List the cases and exit.")] = False,
    quiet: QuietOption = False,
) -> int:
    """Simulate a suite of launches in whole and sampled: errors, truths within their bars, instructions saved."""
    if list_:
        from gpusim.lab.checks.sampling.cases import CASES

        for case in CASES.values():
            print(f"{case.name:<44}  {case.kind:<18}  {case.what}")
        return 0
    from gpusim.model.sampling.spec import SamplingSpec
    from gpusim.results.report.document import as_json

    spec = SamplingSpec.model_validate(shares(error, confidence))
    check_outputs({"--json": json_file, "--picture": picture}, [])
    if picture is not None:
        check_format(picture)
        require_matplotlib("check-sampling")
    from gpusim.base.processors import default_jobs  # imports the compiled core: up to a second
    from gpusim.lab.checks.sampling import views
    from gpusim.lab.checks.sampling.cases import select_cases
    from gpusim.lab.checks.sampling.measure import measure, read_outcomes, renewed

    before = [] if update is None else read_outcomes(update)
    cases, reporter = select_cases(only or []), Reporter(quiet)
    with Interrupt() as interrupt, reporting(reporter):
        interrupt.deferred = True
        outcomes = measure(cases, spec, jobs or default_jobs(), reporter, lambda: interrupt.asked)
        interrupt.deferred = False
    if update is not None:
        outcomes = renewed(before, outcomes)
    if json_file is not None:
        put(json_file, as_json(views.document(outcomes, spec)))
    if picture is not None:
        write_whole(picture, views.picture(outcomes).file(picture.suffix.lower()))
    printed = sys.stderr if json_file == STANDARD_OUTPUT else sys.stdout
    if markdown:
        printed.write(views.markdown(outcomes))
    elif not quiet:
        print("\n".join(views.lines(views.summary(outcomes))), file=printed)
    return EXIT_INTERRUPTED if interrupt.asked else 0
